"""Predicates: conditions on a page, combined from models, keywords and URL patterns by all, any and not.

Each gives a relevance from 0 to 1; `all` is the minimum, `any` the maximum, `not` is 1 - x.

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
from lycosa.vocabulary.text import has_unspaced, tokens_of

from .function import load_function

_MAX_DEPTH = 20  # predicates within predicates
_KINDS = "topic, keywords, text, url, taxonomy, function, all, any, not"

_Test = Callable[[Page], bool]


class Keywords:
    """1 if any or all of some rules hold for a page, else 0; with `need="share"`, the share of the rules that hold.

    A rule is a word, a phrase of several words, or a regular expression between slashes, searched in title and text.
    Words and phrases are compared with the unstemmed words of the page, in lower case; in scripts written without
    blanks they are found within longer runs of characters.
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


def is_regular_expression(rule: str) -> bool:
    """Whether a rule is a regular expression: written between slashes."""
    rule = rule.strip()
    return len(rule) > 2 and rule.startswith("/") and rule.endswith("/")


def _test(rule: str) -> _Test:
    rule = rule.strip()
    if is_regular_expression(rule):
        return _pattern(rule[1:-1])
    words = tokens_of(rule)
    if not words:
        raise RecipeError(f"keyword {rule!r} has no word; give words, phrases, or /regular expressions/")
    if len(words) == 1 and not _is_one_unspaced(words[0]):
        word = words[0]
        return lambda page: word in page.tokens
    before, after = ("" if _is_one_unspaced(word) else " " for word in (words[0], words[-1]))
    phrase = f"{before}{' '.join(words)}{after}"
    return lambda page: phrase in f" {' '.join(page.tokens)} "


def _is_one_unspaced(word: str) -> bool:
    """Whether a word is a single character of a script without spaces: a page's words are pairs of such characters."""
    return len(word) == 1 and bool(has_unspaced(word))


def _pattern(pattern: str) -> _Test:
    try:
        search = re.compile(pattern, re.IGNORECASE).search
    except (re.error, OverflowError, RecursionError) as error:
        raise RecipeError(f"keyword /{pattern}/ is not a regular expression: {error}") from None
    return lambda page: bool(search(page.title) or search(page.text))


class UrlPattern:
    """1 if the URL of a page matches one of some patterns, else 0.

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
    pattern = pattern.strip()
    if not pattern:
        raise RecipeError("url with an empty pattern; give one such as https://*/wiki/*")
    try:
        return re.compile(pattern[1:-1] if is_regular_expression(pattern) else rf"\A{translate(pattern)}")
    except (re.error, OverflowError, RecursionError) as error:
        raise RecipeError(f"url {pattern!r} is not a regular expression: {error}") from None


class All:
    """The minimum of the parts; those after a 0 are not evaluated."""

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
    """The maximum of the parts; those after a 1 are not evaluated."""

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
    """1 - x of its part."""

    def __init__(self, part: Relevance):
        self._part = part

    def relevance(self, page: Page) -> float:
        return 1.0 - self._part.relevance(page)


Rules = Annotated[tuple[str, ...], Meta(min_length=1)]


class Predicate(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A predicate as written in a recipe: one kind in each table."""

    topic: bool | None = None  # true: the topic that the rest of [topic] names
    keywords: Rules | None = None  # words, phrases or /regular expressions/
    need: Literal["any", "all", "share"] = "any"  # how many of the keywords
    text: str | None = None  # a topic in words
    url: str | Rules | None = None  # patterns, any of them
    taxonomy: str | None = None  # file made by `lycosa map topics`
    about: str = ""  # topic of the taxonomy
    function: str | None = None  # package.module:function of a page
    all: Annotated[tuple["Predicate", ...], Meta(min_length=1)] | None = None
    any: Annotated[tuple["Predicate", ...], Meta(min_length=1)] | None = None
    not_: "Predicate | None" = field(default=None, name="not")

    def parts(self) -> Iterator[tuple[str, "Predicate"]]:
        """The predicates directly within, with their paths."""
        for name, predicates in (("all", self.all), ("any", self.any)):
            for number, part in enumerate(predicates or ()):
                yield f"{name}[{number}]", part
        if self.not_ is not None:
            yield "not", self.not_

    @property
    def asks_for_topic(self) -> bool:
        """Whether the topic that the rest of [topic] names is part of it."""
        return self.topic is True or any(part.asks_for_topic for _, part in self.parts())

    def functions(self) -> Iterator[str]:
        """The user's functions in it, as package.module:function."""
        if self.function is not None:
            yield self.function
        for _, part in self.parts():
            yield from part.functions()

    @property
    def runs_code(self) -> bool:
        return any(True for _ in self.functions())

    def kind(self) -> str:
        """The kind of predicate. Raises RecipeError if there is none or more than one."""
        kinds = ("topic", "keywords", "text", "url", "taxonomy", "function", "all", "any", "not_")
        given = [kind.rstrip("_") for kind in kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            what = f"both {' and '.join(given)}" if given else "nothing"
            raise RecipeError(f"says {what}; write one of {_KINDS}, and put several together with all or any")
        if self.need != "any" and self.keywords is None:
            raise RecipeError("need applies to keywords only")
        if bool(self.about) != (self.taxonomy is not None):
            raise RecipeError("taxonomy and about go together: the file that tells topics apart, and one of its topics")
        if self.topic is False:
            raise RecipeError("topic = false says nothing; write { not = { topic = true } }")
        return given[0]


Maker = Callable[[Predicate], Relevance]


def relevance_of(predicate: Predicate, makers: Mapping[str, Maker], *, where: str) -> Relevance:
    """The relevance model that a predicate describes.

    makers: functions, by kind, that make the models that depend on the collection: topic, text, taxonomy. A maker of
        `function` replaces the user's function, which is then not loaded.
    where: file and key, named in errors.
    """
    return _model_for(predicate, {**_MAKERS, **makers}, where, 0)


def check(predicate: Predicate, *, where: str) -> None:
    """Raises RecipeError for an invalid predicate, without needing a collection or the user's code."""
    placeholder = Keywords(["word"])
    kinds = ("topic", "text", "taxonomy", "function")
    relevance_of(predicate, dict.fromkeys(kinds, lambda _: placeholder), where=where)


def _model_for(predicate: Predicate, makers: Mapping[str, Maker], where: str, depth: int) -> Relevance:
    try:
        kind = predicate.kind()
        if depth > _MAX_DEPTH:
            raise RecipeError(f"more than {_MAX_DEPTH} predicates within one another; take some out")
        if kind in makers:
            return makers[kind](predicate)
    except UsageError as error:
        raise RecipeError(f"{where}: {error}") from None
    parts = [_model_for(part, makers, f"{where}.{name}", depth + 1) for name, part in predicate.parts()]
    return Not(parts[0]) if kind == "not" else All(parts) if kind == "all" else Either(parts)


def _keywords(predicate: Predicate) -> Relevance:
    return Keywords(predicate.keywords or (), need=predicate.need)


def _url(predicate: Predicate) -> Relevance:
    url = predicate.url or ()
    return UrlPattern([url] if isinstance(url, str) else url)


def _function(predicate: Predicate) -> Relevance:
    return load_function(predicate.function or "")


_MAKERS: Mapping[str, Maker] = {"keywords": _keywords, "url": _url, "function": _function}
