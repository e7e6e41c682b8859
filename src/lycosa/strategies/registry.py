"""Strategies by name, built-in ones and those of plug-ins, with their requirements and options.

Options are the constructor keywords that a recipe can express: numbers, strings, booleans, and lists and tables of
these. The crawl itself fills in the keywords named in `FILLED_IN_BY_CRAWL`, if the constructor has them.
"""

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import PluginError, UsageError
from lycosa.vocabulary.plugins import distribution_of, find_by_name, names_of, plugins, require_members
from lycosa.vocabulary.records import JsonValue

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

ENTRY_POINT_GROUP: Literal["lycosa.strategies"] = "lycosa.strategies"  # of strategies
NEEDS = frozenset(("log", "map"))  # the guides that a strategy may require: an access log, a map of earlier crawls
FILLED_IN_BY_CRAWL = frozenset(  # keywords of constructors that are no options of the user
    (
        "topic_words",  # counts of the words of the topic; None if it is not given in words
        "split",  # splits a text into words, normalised like `topic_words`
        "judge",  # returns the current model of the topic's words, or None
        "example_urls",  # URLs of the examples from which the topic was learnt
        "hash_seed",  # a number that depends on the recipe, against computed collisions; 0 in the lab
        "domain_reach",  # log of the reach of a URL's domain, by the recipe's table, minus that of the median domain
        "access_log",
        "inner",  # the strategy that another one wraps
        "crawl_map",
        "topic_of",  # returns the topic of a page, by a taxonomy
        "map_priority",  # priority of links of the map, from the table [map] of the recipe
        "share",  # factor of the priorities of other links, from the table [map] too
        "half_life",  # days after which an access of the log counts half, from the table [logs] of the recipe
    )
)


# Strategies that use only the links of a page, so that history can be replayed to them without texts. Subclasses are
# not included, as they may use more.
LINK_ONLY_STRATEGIES: frozenset[type] = frozenset((BaselineFocused, BestFirst, BreadthFirst, RandomOrder))
_REQUIRED_MEMBERS = (
    "name",
    "scale",
    "exhaustive",
    "uses_standing",
    "start",
    "learn",
    "propose",
    "merge",
    "state",
    "restore",
)


class Option(Struct, frozen=True):
    """One option of a strategy."""

    name: str
    type: Any  # as the constructor declares it
    default: JsonValue

    @property
    def type_name(self) -> str:
        """The type in words, for messages."""
        return _type_name(self.type)


class Entry(Struct, frozen=True):
    """A registered strategy; calling it with keywords creates one.

    make: its class.
    passes_on_to: the class to which its constructor passes its `**` keywords, if it has any.
    """

    make: Callable[..., Strategy]
    passes_on_to: type | None = None

    @property
    def needs(self) -> frozenset[str]:
        """The guides that it requires, of "log" and "map"."""
        return frozenset(getattr(self.make, "needs", ()))

    @property
    def options(self) -> Mapping[str, Option]:
        """The options that the user may set, by name."""
        passed_on = {} if self.passes_on_to is None else _options_of(self.passes_on_to)
        return {**_options_of(self.make), **passed_on}

    def __call__(self, *arguments: Any, **options: Any) -> Strategy:
        return self.make(*arguments, **options)

    def takes(self, keyword: str) -> bool:
        """Whether the constructor has this keyword, either an option or one of `FILLED_IN_BY_CRAWL`."""
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
    """Whether there is such a strategy; does not load a plug-in."""
    return name in STRATEGIES or name in plugins(ENTRY_POINT_GROUP)


def strategy_names() -> str:
    """The names of all strategies, for messages."""
    return names_of(STRATEGIES, ENTRY_POINT_GROUP)


def find_strategy(name: str) -> Entry:
    """The strategy of this name; one that is not built in is loaded from its plug-in."""
    found: Any = find_by_name(STRATEGIES, ENTRY_POINT_GROUP, name, what="strategy")
    if isinstance(found, Entry):
        return found
    require_members(found, ENTRY_POINT_GROUP, name, attributes=_REQUIRED_MEMBERS, what="a strategy")
    entry = Entry(found)
    if required := next((each.name for each in inspect.signature(found).parameters.values() if _is_required(each)), ""):
        whose = distribution_of(plugins(ENTRY_POINT_GROUP)[name])
        raise PluginError(
            f"the plug-in {name!r} of {whose} has no default for its argument {required!r}; a strategy is also made"
            " without a crawl, so every argument of its constructor needs one"
        )
    if unknown := sorted(entry.needs - NEEDS):
        whose = distribution_of(plugins(ENTRY_POINT_GROUP)[name])
        raise PluginError(f"the plug-in {name!r} of {whose} needs {unknown[0]!r}; there are {', '.join(sorted(NEEDS))}")
    return entry


def check_options(name: str, options: Mapping[str, JsonValue], *, where: str = "") -> dict[str, Any]:
    """Checks options and converts them to the types of the constructor; UsageError for wrong ones.

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
                f"{where}the option {key} of the strategy {name} must be {known[key].type_name}, not {value!r}"
            ) from None
    return checked


def parse_options(assignments: Sequence[str]) -> dict[str, JsonValue]:
    """Parses options of the form `key=value`, with TOML values; anything that is not TOML is a string.

    >>> parse_options(["target=0.8", "form=linear", "weights={words = 2.0}"])
    {'target': 0.8, 'form': 'linear', 'weights': {'words': 2.0}}
    """
    options: dict[str, JsonValue] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"cannot use the option {assignment!r}; write it as KEY=VALUE")
        try:
            options[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[key.strip()] = value.strip()
    return options


def _is_required(parameter: inspect.Parameter) -> bool:
    is_variadic = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and not is_variadic


@cache
def _options_of(make: Callable[..., Any]) -> Mapping[str, Option]:
    keywords = {
        name: parameter
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in FILLED_IN_BY_CRAWL
    }
    constructor = inspect.unwrap(getattr(make, "__init__", make))
    annotations = {name: hint for name, hint in getattr(constructor, "__annotations__", {}).items() if name in keywords}
    try:
        # Types of other keywords may be known to type checkers only (`if TYPE_CHECKING`).
        hints = get_type_hints(
            SimpleNamespace(__annotations__=annotations), globalns=getattr(constructor, "__globals__", {})
        )
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise PluginError(
            f"the options of the strategy {make.__module__}.{make.__qualname__} have a type that cannot be read "
            f"({error}); import it at run time, not only if TYPE_CHECKING"
        ) from None
    return {
        name: Option(name, hints[name], parameter.default)
        for name, parameter in keywords.items()
        if _is_plain(hints.get(name))
    }


def _is_plain(type_hint: Any) -> bool:
    """Whether values of a type can be written in a recipe."""
    if type_hint in (int, float, bool, str, NoneType):
        return True
    origin, arguments = get_origin(type_hint), get_args(type_hint)
    if origin is Literal:
        return all(isinstance(argument, str) for argument in arguments)
    return origin in (Union, UnionType, Mapping, Sequence, list, dict) and all(map(_is_plain, arguments))


def _type_name(type_hint: Any) -> str:
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", NoneType: "none"}
    if type_hint in words:
        return words[type_hint]
    origin, arguments = get_origin(type_hint), get_args(type_hint)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin in (Union, UnionType):
        return " or ".join(_type_name(argument) for argument in arguments if argument is not NoneType)
    if origin in (Mapping, dict):
        return f"a table whose values are each {_type_name(arguments[1])}"
    return f"a list, each part {_type_name(arguments[0])}"
