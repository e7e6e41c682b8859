"""The options of one run: flags of the command line and keywords of `lycosa.crawl`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, nan
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict, TypeVar, cast, get_args, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.frontier.admission import Scope
from lycosa.recipe import (
    Logs,
    Map,
    Percent,
    Recipe,
    check_strategy,
    check_takes_log,
    check_takes_map,
    hosts_in,
    languages_in,
    seeds_in,
)
from lycosa.strategies.registry import ENTRY_POINT_GROUP, STRATEGIES, check_options, find_strategy, parse_options
from lycosa.user_config import checked_contact, user_contact
from lycosa.vocabulary.errors import UsageError, explain_validation_error
from lycosa.vocabulary.plugins import instantiate
from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.text import whole_number

MAX_WORKERS = 64  # processes of one crawl


@dataclass(frozen=True)
class Flag:
    """How an option is written on the command line, and what it does.

    name: of the flag, if it differs from that of the option.
    parse: converts the text, given with the name of the flag for messages, into the value.
    """

    help: str
    metavar: str | None = None
    name: str | None = None
    min: float | None = None
    max: float | None = None
    parse: Callable[[Any, str], object] | None = None


class RequestOptions(TypedDict, total=False):
    """The options of every command that makes requests."""

    contact: Annotated[
        str | None, Flag("Your e-mail address or web page, sent to hosts with every request of this run.", "ADDRESS")
    ]
    allow_private: Annotated[bool, Flag("Also connect to loopback and private addresses.")]
    resolve: Annotated[
        Sequence[str], Flag("Reach HOST (or *, every host) at this address. Repeatable.", "HOST=ADDR:PORT")
    ]


class FetchOptions(RequestOptions, total=False):
    """The options of every run that fetches."""

    minutes: Annotated[float | None, Flag("Stop after N minutes.", "N", min=0)]
    delay: Annotated[float | None, Flag("Wait this long between two requests to one host.", "SECONDS", min=0)]
    per_address: Annotated[
        int | None,
        Flag(
            "Maximum concurrent requests to one address or registered domain; 0: no limit. "
            "[4; no limit with --delay 0]",
            "N",
            min=0,
        ),
    ]
    concurrency: Annotated[int | None, Flag("Number of simultaneous fetches.", "N", min=1)]


class ScopeOptions(TypedDict, total=False):
    """The scope of one run, or of a new recipe and so of all its runs."""

    hosts: Annotated[
        Sequence[str],
        Flag("Only this host and its subdomains. Repeatable.", "HOST", "--include-host", parse=hosts_in),
    ]
    exclude_hosts: Annotated[
        Sequence[str], Flag("Skip this host. Repeatable.", "HOST", "--exclude-host", parse=hosts_in)
    ]
    urls: Annotated[Sequence[str], Flag("Only URLs like 'https://*/wiki/*'. Repeatable.", "PATTERN", "--include-url")]
    exclude_urls: Annotated[Sequence[str], Flag("Skip URLs like '*/login*'. Repeatable.", "PATTERN", "--exclude-url")]
    stay: Annotated[bool, Flag("Stay on the sites of the seeds.")]
    languages: Annotated[
        Sequence[str],
        Flag("Only pages in this language, such as en. Repeatable.", "CODE", "--language", parse=languages_in),
    ]
    keep_noindex: Annotated[bool, Flag("Also keep pages marked noindex, for example on your own sites.")]


class CrawlOptions(FetchOptions, ScopeOptions, total=False):
    """The options of one crawl; the recipe decides those that are not given.

    Each option is declared here once, as keyword of `lycosa.crawl` and as flag of `lycosa crawl`. Numbers replace those
    of the recipe; hosts, patterns and languages are added to it.
    """

    workers: Annotated[
        int | None,
        Flag("Crawl with N processes, each with registered domains of its own. [1]", "N", min=1, max=MAX_WORKERS),
    ]
    pages: Annotated[int | None, Flag("Stop when the collection has N pages (earlier runs included).", "N", min=1)]
    max_bytes: Annotated[
        int | None, Flag("Stop when the pages have N bytes (earlier runs included).", "N", "--bytes", min=1)
    ]
    stop_at_recall: Annotated[
        float | None,
        Flag(
            "Stop when this share (above 0, up to 1) of the relevant pages within reach has very likely been found.",
            "SHARE",
            "--stop-at-recall",
            parse=lambda text, flag: _positive_share(text, flag),
        ),
    ]
    per_host: Annotated[
        int | str | None,
        Flag(
            "Keep at most N pages of one host, or this share of --pages, such as 20%.",
            "N|N%",
            "--per-host",
            parse=lambda text, flag: _count_or_percent(text, flag),
        ),
    ]
    per_site: Annotated[
        int | str | None,
        Flag(
            "The same for a registered domain and its subdomains.",
            "N|N%",
            "--per-site",
            parse=lambda text, flag: _count_or_percent(text, flag),
        ),
    ]
    dry_after: Annotated[int | None, Flag("Stop when N pages in a row were off topic. 0: never.", "N", min=0)]
    strategy: Annotated[str | None, Flag(f"One of: {', '.join(STRATEGIES)}, or that of an installed plug-in.", "NAME")]
    options: Annotated[
        Mapping[str, JsonValue],
        Flag(
            "Set an option of the strategy, such as window=50. Repeatable.",
            "KEY=VALUE",
            "--option",
            parse=lambda text, flag: parse_options(text),
        ),
    ]
    target: Annotated[
        float | None,
        Flag(
            "Keep the mean relevance at SHARE or more; above that, prefer important pages. 1: relevance only.",
            "SHARE",
            min=0,
            max=1,
        ),
    ]
    atlas: Annotated[
        str | Path | None, Flag("Use what earlier crawls learned (see lycosa map build).", "ATLAS", "--map")
    ]
    map_topic: Annotated[str | None, Flag("Topic whose map to use; needed if the atlas has several.", "TOPIC")]
    map_priority: Annotated[
        float | None,
        Flag("Priority of the map's links: higher for known pages, lower for new ones. [0.6]", "SHARE", min=0, max=1),
    ]
    taxonomy: Annotated[
        str | Path | None,
        Flag("Taxonomy that recognises topics; pages on related ones lead to the map's portals.", "FILE"),
    ]
    logs: Annotated[str | Path | None, Flag("Prefer pages that people visited (see lycosa logs import).", "LOG")]
    log_half_life: Annotated[float | None, Flag("Visits this old count half as much as the latest.", "DAYS")]
    min_users: Annotated[int | None, Flag("Leave out pages that fewer than N people read. [1]", "N", min=1)]
    seeds: Annotated[Sequence[str], Flag("Also start from this URL. Repeatable.", "URL", "--seed")]
    sitemaps: Annotated[bool, Flag("Also start from the sitemaps of the seeds' hosts.")]


@cache
def flag_of(option: str) -> str:
    """How an option is written on the command line.

    >>> flag_of("hosts"), flag_of("log_half_life")
    ('--include-host', '--log-half-life')
    """
    _, flag = get_args(get_type_hints(CrawlOptions, include_extras=True)[option])
    return flag.name or f"--{option.replace('_', '-')}"


class CommandSettings(NamedTuple):
    """Settings given with the command of one run that are not part of the recipe."""

    sitemaps: bool = False
    allow_private: bool = False
    resolve: tuple[str, ...] = ()
    seeds: tuple[Url, ...] = ()  # in addition to those of the recipe
    workers: int = 1
    names_strategy: bool = False  # whether the strategy is that of the command, not of the recipe


def check_keywords(given: Mapping[str, object], options: type) -> None:
    """Raises TypeError for a keyword that is not an option."""
    for name in given.keys() - options.__annotations__.keys():
        raise TypeError(f"no keyword {name!r}; there are {', '.join(options.__annotations__)}")


def settings_of(options: CrawlOptions | FetchOptions | RequestOptions) -> CommandSettings:
    """Checks the options and returns the settings among them."""
    resolve = tuple(_list_of("resolve", options.get("resolve", ())))
    if resolve:
        from lycosa.web.http import curl_connect_to  # here, since every command loads this file and few make requests

        for entry in resolve:
            curl_connect_to(entry)
    given = cast(CrawlOptions, options)
    seeds = _list_of("seeds", given.get("seeds", ()))
    return CommandSettings(
        bool(options.get("sitemaps")),
        options.get("allow_private", False),
        resolve,
        tuple(seeds_in(seeds, flag_of("seeds"))),
        _workers_of(given.get("workers")),
        given.get("strategy") is not None,
    )


def _workers_of(workers: int | None) -> int:
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise UsageError(f"workers is a number from 1 to {MAX_WORKERS}, not {workers}")
    return workers or 1


def _list_of(option: str, values: Sequence[str]) -> Sequence[str]:
    """The values of an option; UsageError for a single string, whose characters would each be taken for a value."""
    if isinstance(values, str):
        raise UsageError(f"{option}: give a list, such as [{values[:100]!r}]")
    return values


def scope_with_options(scope: Scope, options: ScopeOptions) -> Scope:
    """The scope with the options added to it."""
    hosts = _list_of("hosts", options.get("hosts", ()))
    exclude_hosts = _list_of("exclude_hosts", options.get("exclude_hosts", ()))
    languages = _list_of("languages", options.get("languages", ()))
    return replace(
        scope,
        hosts=(*scope.hosts, *hosts_in(hosts, "hosts")),
        exclude_hosts=(*scope.exclude_hosts, *hosts_in(exclude_hosts, "exclude_hosts")),
        urls=(*scope.urls, *_list_of("urls", options.get("urls", ()))),
        exclude_urls=(*scope.exclude_urls, *_list_of("exclude_urls", options.get("exclude_urls", ()))),
        stay_on_sites=scope.stay_on_sites or options.get("stay", False),
        languages=(*scope.languages, *languages_in(languages, "languages")),
        keep_noindex=scope.keep_noindex or options.get("keep_noindex", False),
    )


def changed_recipe(recipe: Recipe, options: CrawlOptions | FetchOptions | RequestOptions) -> Recipe:
    """The recipe with the options of one run; the contact is that of the options, the recipe or the user's settings."""
    given = cast(CrawlOptions, options)
    strategy = given.get("strategy") or recipe.strategy
    target, strategy_options = given.get("target"), given.get("options", {})
    check_strategy(strategy)
    entry = find_strategy(strategy)
    if target is not None and not entry.takes("target"):
        strategies_with_target = ", ".join(name for name, each in STRATEGIES.items() if each.takes("target"))
        raise UsageError(f"the strategy {strategy} has no target; those that have one are {strategies_with_target}")
    if strategy == recipe.strategy:  # options of the recipe belong to its strategy
        overridden = () if target is None else ("target",)  # the flag overrides the recipe
        strategy_options = {
            **{key: value for key, value in recipe.options.items() if key not in overridden},
            **strategy_options,
        }
    checked = check_options(strategy, strategy_options)
    instantiate(lambda: entry(**checked), ENTRY_POINT_GROUP, strategy)  # raises for values out of range
    map_ = _with_options(
        recipe.map,
        atlas=_absolute(given.get("atlas")),
        topic=given.get("map_topic"),
        priority=given.get("map_priority"),
        taxonomy=_absolute(given.get("taxonomy")),
    )
    if map_.atlas:
        check_takes_map(strategy)
    elif "map" in entry.needs or map_ != Map():
        raise UsageError(f"no map given; name its atlas with {flag_of('atlas')}")
    log = _with_options(
        recipe.logs,
        file=_absolute(given.get("logs")),
        half_life=given.get("log_half_life"),
        min_users=given.get("min_users"),
    )
    if log.file:
        check_takes_log(strategy)
    elif "log" in entry.needs or log != Logs():
        reason = f"the strategy {strategy} needs an access log: " if "log" in entry.needs else ""
        raise UsageError(f"{reason}no access log given; name one, made by lycosa logs import, with {flag_of('logs')}")
    contact = checked_contact(given.get("contact") or "", flag_of("contact")) or recipe.contact or user_contact()
    return replace(
        recipe,
        contact=contact,
        strategy=strategy,
        options=strategy_options,
        utility=_with_options(recipe.utility, target=target),
        map=map_,
        logs=log,
        scope=scope_with_options(recipe.scope, given),
        requests=_with_options(
            recipe.requests,
            delay=given.get("delay"),
            per_address=given.get("per_address"),
            concurrency=given.get("concurrency"),
        ),
        stop=_with_options(
            recipe.stop,
            pages=given.get("pages"),
            minutes=given.get("minutes"),
            bytes=given.get("max_bytes"),
            dry_after=given.get("dry_after"),
            recall=given.get("stop_at_recall"),
            per_host=given.get("per_host"),
            per_site=given.get("per_site"),
        ),
    )


def _count_or_percent(text: str, flag: str) -> int | str:
    if number := whole_number(text):
        return number
    try:
        return msgspec.convert(text, Percent)
    except msgspec.ValidationError:
        raise UsageError(f"{flag} is a number of pages, or a share of them such as 20%, not {text[:100]!r}") from None


def _positive_share(text: str, flag: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = nan
    if not 0 < share <= 1:
        raise UsageError(f"{flag} is a share above 0 and up to 1, not {text[:100]!r}")
    return share


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


S = TypeVar("S", bound=Struct)


_OPTION_OF_FIELD = {  # options whose name differs from the field of the recipe that they replace
    "bytes": "max_bytes",
    "recall": "stop_at_recall",
    "topic": "map_topic",
    "priority": "map_priority",
    "file": "logs",
    "half_life": "log_half_life",
}


def _with_options(settings: S, **options: object) -> S:
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{_OPTION_OF_FIELD.get(key, key)} must be a number, not {value}")
    changed = replace(settings, **given)
    try:
        msgspec.convert(msgspec.to_builtins(changed), type(settings))
    except msgspec.ValidationError as error:
        field, _, problem = explain_validation_error(error, type(settings)).partition(":")
        raise UsageError(f"{_OPTION_OF_FIELD.get(field, field)}:{problem}") from None
    return changed
