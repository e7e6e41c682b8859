"""Turns a fetch into a page: decoding, parsing, words, language and fingerprints. Pure functions."""

from .html import main_text
from .markdown import markdown_of
from .passages import passages
from .reader import Reader, page_of_html, page_of_text

__all__ = ["Reader", "main_text", "markdown_of", "page_of_html", "page_of_text", "passages"]
