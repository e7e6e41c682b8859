"""Fetch -> Page: decoding, parsing, words, language and fingerprints. Pure functions of what was fetched."""

from .html import main_text
from .reader import Reader, page_of_html, page_of_text

__all__ = ["Reader", "main_text", "page_of_html", "page_of_text"]
