"""Relevance as a rule: the words, phrases and patterns a page must have."""

import re
from collections.abc import Callable, Sequence
from typing import Literal

from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import Page
from lycosa.vocabulary.scripts import has_unspaced
from lycosa.vocabulary.tokens import tokens_of

_Test = Callable[[Page], bool]


class Keywords:
    """1 if the page has what the rule asks for, else 0; with `need="share"`, the share of the rules that hold.

    Each rule is a word, a phrase of several words, or a regular expression between slashes, searched in title and text.
    Words and phrases are compared with the words of the page as they are written, in lower case; what a script without
    blanks writes is found within longer runs of it.
    """

    def __init__(self, rules: Sequence[str], *, need: Literal["any", "all", "share"] = "any"):
        if need not in ("any", "all", "share"):
            raise RecipeError(f"keywords can need 'any', 'all' or 'share' of the rules, not {need!r}")
        self._tests = [_test(rule) for rule in rules]
        if not self._tests:
            raise RecipeError("keywords without a rule; give words, phrases, or /regular expressions/")
        self._need = need

    def relevance(self, page: Page) -> float:
        if self._need == "any":
            return float(any(test(page) for test in self._tests))
        if self._need == "all":
            return float(all(test(page) for test in self._tests))
        return sum(test(page) for test in self._tests) / len(self._tests)


def _test(rule: str) -> _Test:
    rule = rule.strip()
    if len(rule) > 2 and rule.startswith("/") and rule.endswith("/"):
        return _pattern(rule[1:-1])
    words = tokens_of(rule)
    if not words:
        raise RecipeError(f"keyword {rule!r} has no word; give words, phrases, or /regular expressions/")
    if len(words) == 1 and not _is_half_a_pair(words[0]):
        word = words[0]
        return lambda page: word in page.tokens
    before, after = ("" if _is_half_a_pair(word) else " " for word in (words[0], words[-1]))
    phrase = f"{before}{' '.join(words)}{after}"
    return lambda page: phrase in f" {' '.join(page.tokens)} "


def _is_half_a_pair(word: str) -> bool:
    """Whether it is one character of a script without blanks, which a page has together with its neighbour."""
    return len(word) == 1 and bool(has_unspaced(word))


def _pattern(pattern: str) -> _Test:
    try:
        search = re.compile(pattern, re.IGNORECASE).search
    except re.error as error:
        raise RecipeError(f"keyword /{pattern}/ is not a regular expression: {error}") from None
    return lambda page: bool(search(page.title) or search(page.text))
