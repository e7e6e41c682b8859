"""Texts on many everyday subjects, to stand for what is off the topic when nobody says what is."""

from functools import cache
from importlib.resources import files


@cache
def background() -> tuple[str, ...]:
    """Some eighty paragraphs, most in English, some in German, French and Spanish."""
    text = files(__package__).joinpath("background.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)
