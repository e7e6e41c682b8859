"""Predicates: what a page shall be, put together from models, rules and patterns by all, any and not.

>>> from lycosa.reading import page_of_text
>>> tag = page_of_text("http://site.example/tag/bees", "Bees", "all about bees")
>>> All([Keywords(["bees"]), Not(UrlPattern(["*/tag/*"]))]).relevance(tag)
0.0
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import translate
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.errors import RecipeError, UsageError
from lycosa.vocabulary.records import Page

from .function import load_function
from .keywords import Keywords

_DEEPEST = 20  # predicates within predicates
_KINDS = "topic, keywords, text, url, taxonomy, function, all, any, not"


class UrlPattern:
    """1 if the URL of a page is like one of some patterns, else 0.

    A pattern is shell-style (`*`, `?`) and matches the whole URL, or a regular expression between slashes, searched
    in it.
    """

    def __init__(self, patterns: Sequence[str]):
        if not patterns:
            raise RecipeError("url without a pattern; give one such as https://*/wiki/* or /regular expression/")
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def relevance(self, page: Page) -> float:
        return float(any(pattern.search(page.url) for pattern in self._patterns))


def _compiled(pattern: str) -> re.Pattern[str]:
    if not pattern.strip():
        raise RecipeError("url with an empty pattern; give one such as https://*/wiki/*")
    is_regular = len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")
    try:
        return re.compile(pattern[1:-1] if is_regular else rf"\A{translate(pattern)}")
    except (re.error, OverflowError, RecursionError) as error:
        raise RecipeError(f"url {pattern!r} is not a regular expression: {error}") from None


class All:
    """As much as the part that holds least; what comes after one that does not hold at all is not asked."""

    def __init__(self, parts: Sequence[Relevance]):
        self._parts = parts

    def relevance(self, page: Page) -> float:
        least = 1.0
        for part in self._parts:
            least = min(least, part.relevance(page))
            if least == 0.0:
                break
        return least


class Either:
    """As much as the part that holds most; what comes after one that holds entirely is not asked."""

    def __init__(self, parts: Sequence[Relevance]):
        self._parts = parts

    def relevance(self, page: Page) -> float:
        most = 0.0
        for part in self._parts:
            most = max(most, part.relevance(page))
            if most == 1.0:
                break
        return most


class Not:
    """As much as the part does not hold."""

    def __init__(self, part: Relevance):
        self._part = part

    def relevance(self, page: Page) -> float:
        return 1.0 - self._part.relevance(page)


Rules = Annotated[tuple[str, ...], Meta(min_length=1)]


class Predicate(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A predicate as a recipe writes it: one kind in each table."""

    topic: bool | None = None  # true: the topic that the rest of [topic] names
    keywords: Rules | None = None  # words, phrases or /regular expressions/
    need: Literal["any", "all", "share"] = "any"  # how many of the keywords
    text: str | None = None  # a topic in words
    url: str | Rules | None = None  # patterns, any of them
    taxonomy: str | None = None  # file that tells topics apart, as `lycosa map topics` makes it
    about: str = ""  # topic of the taxonomy
    function: str | None = None  # package.module:function of a page
    all: Annotated[tuple["Predicate", ...], Meta(min_length=1)] | None = None
    any: Annotated[tuple["Predicate", ...], Meta(min_length=1)] | None = None
    not_: "Predicate | None" = field(default=None, name="not")

    def parts(self) -> Iterator[tuple[str, "Predicate"]]:
        """The predicates within, by where they stand."""
        for name, among in (("all", self.all), ("any", self.any)):
            for number, part in enumerate(among or ()):
                yield f"{name}[{number}]", part
        if self.not_ is not None:
            yield "not", self.not_

    @property
    def asks_for_topic(self) -> bool:
        return self.topic is True or any(part.asks_for_topic for _, part in self.parts())

    @property
    def runs_code(self) -> bool:
        return self.function is not None or any(part.runs_code for _, part in self.parts())

    def kind(self) -> str:
        """The one thing it says."""
        ways = ("topic", "keywords", "text", "url", "taxonomy", "function", "all", "any", "not_")
        said = [way.rstrip("_") for way in ways if getattr(self, way) is not None]
        if len(said) != 1:
            what = f"both {' and '.join(said)}" if said else "nothing"
            raise RecipeError(f"says {what}; write one of {_KINDS}, and put several together with all or any")
        if self.need != "any" and self.keywords is None:
            raise RecipeError("need goes with keywords alone")
        if bool(self.about) != (self.taxonomy is not None):
            raise RecipeError("taxonomy and about go together: the file that tells topics apart, and one of its topics")
        if self.topic is False:
            raise RecipeError("topic = false says nothing; write { not = { topic = true } }")
        return said[0]


Make = Callable[[Predicate], Relevance]


def relevance_of(predicate: Predicate, ways: Mapping[str, Make], *, where: str) -> Relevance:
    """What judges pages by a predicate.

    ways: makes what only a collection has at hand, by kind: topic, text, taxonomy. A `function` among them stands for
    the user's, so that it need not be loaded.
    where: file and key, for those who write the predicate.
    """
    return _made(predicate, {**_WAYS, **ways}, where, 0)


def check(predicate: Predicate, *, where: str) -> None:
    """Refuses a predicate that makes no sense, as far as can be told without a collection and the user's code."""
    unknown = Keywords(["word"])
    relevance_of(predicate, dict.fromkeys(("topic", "text", "taxonomy", "function"), lambda _: unknown), where=where)


def _made(predicate: Predicate, ways: Mapping[str, Make], where: str, depth: int) -> Relevance:
    try:
        kind = predicate.kind()
        if depth > _DEEPEST:
            raise RecipeError(f"more than {_DEEPEST} predicates within one another; take some out")
        if kind in ways:
            return ways[kind](predicate)
    except UsageError as error:
        raise RecipeError(f"{where}: {error}") from None
    parts = [_made(part, ways, f"{where}.{name}", depth + 1) for name, part in predicate.parts()]
    return Not(parts[0]) if kind == "not" else All(parts) if kind == "all" else Either(parts)


def _keywords(predicate: Predicate) -> Relevance:
    return Keywords(predicate.keywords or (), need=predicate.need)


def _url(predicate: Predicate) -> Relevance:
    url = predicate.url or ()
    return UrlPattern([url] if isinstance(url, str) else url)


def _function(predicate: Predicate) -> Relevance:
    return load_function(predicate.function or "")


_WAYS: Mapping[str, Make] = {"keywords": _keywords, "url": _url, "function": _function}
