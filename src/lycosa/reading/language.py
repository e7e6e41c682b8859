"""The language a page is written in."""

import re

import pycld2

from .language_codes import two_letters_of

_READ = 800  # characters are enough to tell
_CODE = re.compile(r"[a-z]{2,3}(?![a-z])")


def language_of(text: str, declared: str = "", *, check: bool = False) -> str:
    """ISO 639-1 code that the page declares, else that its text tells; with `check`, the other way round."""
    if check:
        return _detected(text[:_READ]) or _code(declared)
    return _code(declared) or _detected(text[:_READ])


def _detected(sample: str) -> str:
    if not sample.isprintable():
        sample = "".join(character if character.isprintable() else " " for character in sample)
    try:
        is_reliable, _, guesses = pycld2.detect(sample.encode("utf-8", "replace"), isPlainText=True)
    except pycld2.error:
        return ""
    return _code(guesses[0][1]) if is_reliable else ""


def _code(tag: str) -> str:
    found = _CODE.match(tag.strip().lower())
    return two_letters_of(found[0]) if found else ""
