"""The text a page is about, without navigation, footers and the like."""

from resiliparse.extract.html2text import extract_plain_text

from .shallow import shallow

_MOST_TAGS = 20_000  # the extraction is quadratic in the number of siblings; what comes later is left out


def main_text(html: str) -> str:
    """The main text of a page, one paragraph a line; may be empty."""
    beginning = "<".join(shallow(html).split("<", _MOST_TAGS)[:_MOST_TAGS])
    text: str = extract_plain_text(
        beginning, main_content=True, preserve_formatting=True, list_bullets=False, links=False, alt_texts=False
    )
    return text
