"""The text a page is about, without navigation, footers and the like."""

from resiliparse.extract.html2text import extract_plain_text

from .shallow import shallow


def main_text(html: str) -> str:
    """The main text of a page, one paragraph a line; may be empty."""
    text: str = extract_plain_text(
        shallow(html), main_content=True, preserve_formatting=True, list_bullets=False, links=False, alt_texts=False
    )
    return text
