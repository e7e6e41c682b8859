"""Decodes bytes as browsers do: by byte order mark, header, meta tag, UTF-8 if valid, else by detection."""

import codecs
import re

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET_IN_HEADER = re.compile(r"charset\s*+=\s*+[\"']?+\s*+([^\s\"';,]++)", re.IGNORECASE)
_CHARSET_IN_META = re.compile(rb"<meta[^<>]+?charset\s*+=\s*+[\"']?+\s*+([A-Za-z0-9_:.-]++)", re.IGNORECASE)
_META_LIMIT = 1024  # bytes that the HTML standard searches for the meta tag
_PYTHON_NAMES = {  # WHATWG encodings that have another name in Python, or of which pages use a superset
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-user-defined": "latin-1",
}


def decode(content: bytes, content_type: str = "") -> str:
    """The text of a page; bytes that cannot be decoded become U+FFFD."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    declared = _declared_encoding(content, content_type)
    if declared:
        return content.decode(declared, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        if error.start > len(content) - 4 and error.reason == "unexpected end of data":
            return content.decode("utf-8", "replace")  # UTF-8, truncated within a character
    from resiliparse.parse.encoding import detect_encoding  # imported late, here and below: many commands parse no page

    guessed = _codec(detect_encoding(content) or "") or "windows-1252"
    return content.decode(guessed, "replace")


def _declared_encoding(content: bytes, content_type: str) -> str | None:
    in_header = _CHARSET_IN_HEADER.search(content_type) if "charset" in content_type.lower() else None
    encoding = _codec(in_header[1]) if in_header else None
    if encoding:
        return encoding
    in_meta = _CHARSET_IN_META.search(content[:_META_LIMIT])
    if not in_meta:
        return None
    encoding = _codec(in_meta[1].decode("ascii"))
    # A page whose meta tag is readable as ASCII is not UTF-16, whatever it declares.
    return "utf-8" if encoding and encoding.startswith("utf-16") else encoding


def _codec(label: str) -> str | None:
    from resiliparse.parse.encoding import map_encoding_to_html5

    name = map_encoding_to_html5(label.strip().lower()[:40], False)
    if not name or name == "replacement":
        return None
    name = _PYTHON_NAMES.get(name, name)
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None
