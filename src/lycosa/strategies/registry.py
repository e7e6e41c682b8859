"""Strategies by name: Lycosa's own and those of plug-ins, what each needs and which options it has.

Options are the keywords of a strategy's constructor that can be written down: numbers, words, truth values, and lists
and tables of these. What a crawl itself knows, a strategy gets by asking for it: a keyword named in `GIVEN`.
"""

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import PluginError, UsageError
from lycosa.vocabulary.plugins import distribution_of, find_piece, names_of, plugins, require_members
from lycosa.vocabulary.records import Plain

from .authority import CrawlAI, CrawlGAI
from .best_first import BaselineFocused, BestFirst
from .collaborative import Collaborative, Combined
from .guided import Guided
from .hunter import Hunter
from .infospiders import InfoSpiders
from .linkage import Intelligent
from .log_evidence import LogEvidence
from .mapped import Mapped
from .pagerank import PageRank
from .unfocused import BreadthFirst, RandomOrder
from .utility import Adaptive, InLinks, Utility

GROUP: Literal["lycosa.strategies"] = "lycosa.strategies"
NEEDS = frozenset(("log", "map"))
GIVEN = frozenset(  # keywords that a crawl fills in, not its user
    (
        "topic_words",  # how often the topic says which words; None where it is not given in words
        "split",  # gives the words of a text as `topic_words` spells them
        "judge",  # gives the present model of the topic's words, None where there is none
        "example_urls",  # URLs of the examples from which the topic was learnt
        "domain_reach",  # log of the reach of a URL's domain by the table of the recipe, less that of the median domain
        "access_log",
        "inner",  # the strategy that another one wraps
        "crawl_map",
        "topic_of",
        "map_priority",  # these two as the table [map] of the recipe says
        "share",
        "half_life",  # as the table [logs] says
    )
)


# Strategies that read nothing of a page but its links, so that they can be led again through visits without text; a
# strategy derived from one of these may read more.
BY_LINKS_ALONE: frozenset[type] = frozenset((BaselineFocused, BestFirst, BreadthFirst, RandomOrder))
_CONTRACT = ("name", "scale", "exhaustive", "uses_standing", "start", "learn", "propose", "merge", "state", "restore")


class Option(Struct, frozen=True):
    """One option of a strategy."""

    name: str
    type: Any  # as the constructor declares it
    default: Plain

    @property
    def kind(self) -> str:
        """The type, for people."""
        return _kind(self.type)


class Entry(Struct, frozen=True):
    """A strategy that can be made by its name; called with keywords, it makes one.

    make: its class.
    passes_on_to: the class to which its constructor passes its `**` keywords, if it has any.
    """

    make: Callable[..., Strategy]
    passes_on_to: type | None = None

    @property
    def needs(self) -> frozenset[str]:
        """Of "log" and "map", what it is nothing without."""
        return frozenset(getattr(self.make, "needs", ()))

    @property
    def options(self) -> Mapping[str, Option]:
        """What its user may set, by name."""
        passed_on = {} if self.passes_on_to is None else _options_of(self.passes_on_to)
        return {**_options_of(self.make), **passed_on}

    def __call__(self, *given: Any, **options: Any) -> Strategy:
        return self.make(*given, **options)

    def takes(self, keyword: str) -> bool:
        """Whether the constructor has this keyword, be it an option or one that the crawl fills in."""
        return keyword in self.options or keyword in inspect.signature(self.make).parameters


STRATEGIES: Mapping[str, Entry] = {
    Adaptive.name: Entry(Adaptive),
    BaselineFocused.name: Entry(BaselineFocused),
    BestFirst.name: Entry(BestFirst),
    BreadthFirst.name: Entry(BreadthFirst),
    Collaborative.name: Entry(Collaborative, passes_on_to=LogEvidence),
    Combined.name: Entry(Combined, passes_on_to=LogEvidence),
    CrawlAI.name: Entry(CrawlAI),
    CrawlGAI.name: Entry(CrawlGAI),
    Guided.name: Entry(Guided, passes_on_to=LogEvidence),
    Hunter.name: Entry(Hunter),
    InfoSpiders.name: Entry(InfoSpiders),
    InLinks.name: Entry(InLinks),
    Intelligent.name: Entry(Intelligent),
    Mapped.name: Entry(Mapped),
    PageRank.name: Entry(PageRank),
    RandomOrder.name: Entry(RandomOrder),
    Utility.name: Entry(Utility),
}


def is_strategy(name: str) -> bool:
    """Whether there is such a strategy; a plug-in of that name is not loaded for it."""
    return name in STRATEGIES or name in plugins(GROUP)


def strategy_names() -> str:
    """All there are, for messages."""
    return names_of(STRATEGIES, GROUP)


def find_strategy(name: str) -> Entry:
    """The strategy of this name, loaded from its plug-in where it is not Lycosa's own."""
    found: Any = find_piece(STRATEGIES, GROUP, name, what="strategy")
    if isinstance(found, Entry):
        return found
    require_members(found, GROUP, name, has=_CONTRACT, what="a strategy")
    entry = Entry(found)
    if unknown := sorted(entry.needs - NEEDS):
        whose = distribution_of(plugins(GROUP)[name])
        raise PluginError(f"the plug-in {name!r} of {whose} needs {unknown[0]!r}; there are {', '.join(sorted(NEEDS))}")
    return entry


def check_options(name: str, options: Mapping[str, Plain], *, where: str = "") -> dict[str, Any]:
    """Options of a strategy as its constructor wants them; a mistake is one line that names those there are.

    >>> check_options("pagerank", {"damping": 1, "every": 10})
    {'damping': 1.0, 'every': 10}
    """
    known = find_strategy(name).options
    checked = {}
    for key, value in options.items():
        if key not in known:
            there_are = ", ".join(known) or "none"
            raise UsageError(f"{where}the strategy {name} has no option {key!r}; there are {there_are}")
        try:
            checked[key] = msgspec.convert(value, known[key].type)
        except msgspec.ValidationError:
            raise UsageError(
                f"{where}the option {key} of the strategy {name} is to be {known[key].kind}, not {value!r}"
            ) from None
    return checked


def parse_options(assignments: Sequence[str]) -> dict[str, Plain]:
    """Options from `key=value` texts, the values as TOML has them; what is not TOML is a word.

    >>> parse_options(["target=0.8", "form=linear", "weights={words = 2.0}"])
    {'target': 0.8, 'form': 'linear', 'weights': {'words': 2.0}}
    """
    options: dict[str, Plain] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"cannot use the option {assignment!r}; write it as KEY=VALUE")
        try:
            options[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[key.strip()] = value.strip()
    return options


@cache
def _options_of(make: Callable[..., Any]) -> Mapping[str, Option]:
    parameters = inspect.signature(make).parameters
    hints = get_type_hints(getattr(make, "__init__", make)) if parameters else {}
    return {
        name: Option(name, hints[name], parameter.default)
        for name, parameter in parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in GIVEN and _is_plain(hints.get(name))
    }


def _is_plain(declared: Any) -> bool:
    """Whether values of a type can be written in a recipe."""
    if declared in (int, float, bool, str, NoneType):
        return True
    origin, parts = get_origin(declared), get_args(declared)
    if origin is Literal:
        return all(isinstance(part, str) for part in parts)
    return origin in (Union, UnionType, Mapping, Sequence, list, dict) and all(map(_is_plain, parts))


def _kind(declared: Any) -> str:
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", NoneType: "none"}
    if declared in words:
        return words[declared]
    origin, parts = get_origin(declared), get_args(declared)
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin in (Union, UnionType):
        return " or ".join(_kind(part) for part in parts if part is not NoneType)
    if origin in (Mapping, dict):
        return f"a table whose values are each {_kind(parts[1])}"
    return f"a list, each part {_kind(parts[0])}"
