"""Media types, as a Content-Type header names them."""

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})


def media_type(content_type: str) -> str:
    """The type without its parameters, lower case.

    >>> media_type("Text/HTML; charset=utf-8")
    'text/html'
    """
    return content_type.partition(";")[0].partition(",")[0].strip().lower()
