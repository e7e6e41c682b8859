"""The recipe of a collection: lycosa.toml, parsed into frozen records and checked.

Names of strategies and models are checked here; `make_strategy` creates a strategy from its name.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from lycosa.frontier.admission import Scope, Traps
from lycosa.frontier.quotas import Quotas
from lycosa.frontier.shared_limits import SITE_SHARE
from lycosa.logs import AccessLog
from lycosa.reading.html import MAX_LINKS
from lycosa.reading.words import terms_of
from lycosa.relevance import predicates
from lycosa.relevance.predicates import Predicate
from lycosa.relevance.registry import LINEAR, is_trainer, trainer_names
from lycosa.strategies.hunter import WordWeights
from lycosa.strategies.registry import STRATEGIES, check_options, find_strategy, is_strategy, strategy_names
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import RecipeError, UsageError, explain_validation_error
from lycosa.vocabulary.files import read_regular_file
from lycosa.vocabulary.personal_headers import is_personal_header
from lycosa.vocabulary.plugins import instantiate
from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.text import printable, quoted, tokens_of
from lycosa.vocabulary.url_files import NumberedLine, content_lines, read_url_file, url_of_bare_host
from lycosa.vocabulary.urls import normalise, without_final_dot

FILE_NAME = "lycosa.toml"
_MAX_BYTES = 1_000_000
_MAX_DEPTH = 200  # of nested tables
DEFAULT_STRATEGY = "hunter"  # if the recipe names none
FORMER_DEFAULT_STRATEGY = "adaptive"  # which `lycosa new` wrote into recipes before

_PROXY = re.compile(r"(\w+://)?[^/\s]*[^/\s:]:\d{1,5}/?")  # the web knows the schemes
NotNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Percent = Annotated[str, Meta(pattern=r"^[0-9]{1,3}(\.[0-9]{1,9})?%\Z", examples=["20%"])]


class Topic(Struct, frozen=True, forbid_unknown_fields=True):
    """What the collection is about. If several keys are given, the first one here decides."""

    predicate: Predicate | None = None  # a combination of these and others by all, any and not
    function: str = ""  # package.module:function of a page, which returns 0 to 1 or a boolean
    keywords: tuple[str, ...] = ()  # words, phrases or /regular expressions/: any of them
    examples: str = ""  # file of pages that are on the topic: URLs, file names or texts, one a line
    negatives: str = ""  # file of pages that are not
    model: str = LINEAR  # that is trained on the examples
    text: str = ""  # the topic in words
    stem: bool = True  # compare words by their stems, by the language of the page


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    """When to stop. `pages` and `bytes` count the whole collection, `minutes` and `requests` this run."""

    pages: Annotated[int, Meta(ge=1)] | None = None
    minutes: Annotated[float, Meta(ge=0)] | None = None
    bytes: Annotated[int, Meta(ge=1)] | None = None
    dry_after: Annotated[int, Meta(ge=0)] = 1_000  # stop when this many pages in a row were not relevant; 0: never
    requests: Annotated[int, Meta(ge=1)] | None = None  # without those for robots.txt
    recall: Annotated[float, Meta(gt=0, le=1)] | None = None  # stop when this share of the relevant pages was found
    per_host: AtLeastOne | Percent | None = None  # pages of one host, or their share of `pages`
    per_site: AtLeastOne | Percent | None = None  # the same for a registered domain, with its subdomains

    def quotas(self) -> Quotas:
        """The quotas in pages: a share of p % is max(1, ⌊pages · p / 100⌋)."""
        return Quotas(self._quota("per_host", self.per_host), self._quota("per_site", self.per_site))

    def _quota(self, key: str, bound: int | str | None) -> int | None:
        if not isinstance(bound, str):
            return bound
        flag, share = f"--{key.replace('_', '-')}", Fraction(bound.removesuffix("%")) / 100
        if not 0 < share <= 1:
            raise UsageError(f"{flag} {bound}: a share of the pages is more than 0 and at most 100%")
        if self.pages is None:
            raise UsageError(
                f"{flag} {bound} is a share of the pages asked for, and none are: say how many with --pages, "
                f"or give {flag} a number of pages"
            )
        return max(1, int(share * self.pages))


_DEFAULT_PER_ADDRESS = 4
_SLOW_SLOTS_PER_FETCH = 4  # additional fetches from slow hosts per concurrent fetch
_MAX_SLOW_SLOTS = 256


class Requests(Struct, frozen=True, forbid_unknown_fields=True):
    """How requests are made."""

    delay: NotNegative = 1.0  # seconds between two requests to one host
    # concurrent requests to one address or registered domain, including the delay after each; 0 for no limit
    per_address: Annotated[int, Meta(ge=0)] | None = None
    # of the last 100 requests, for a registered domain of several hosts while others are free; 1 for no limit
    site_share: Annotated[float, Meta(gt=0, le=1)] = SITE_SHARE
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 16  # fetches in flight
    timeout: Annotated[float, Meta(gt=0, le=3_600)] = 10.0  # seconds for a whole request
    max_body: Annotated[int, Meta(ge=1, le=100_000_000)] = 1_000_000  # bytes of a body; longer ones are truncated
    max_links: Annotated[int, Meta(ge=1, le=100_000)] = MAX_LINKS  # read of one page
    retries: Annotated[int, Meta(ge=0, le=100)] = 2  # after a timeout, a 5xx or a busy host
    proxy: str = ""  # scheme://host:port
    cookies: str = ""
    headers: Mapping[str, str] = {}

    @property
    def are_personal(self) -> bool:
        """Whether hosts may know by cookies or headers who asks."""
        return bool(self.cookies) or any(map(is_personal_header, self.headers))

    @property
    def address_limit(self) -> int | None:
        """`per_address`; by default 4, or no limit if there is no delay."""
        if self.per_address is None:
            return _DEFAULT_PER_ADDRESS if self.delay else None
        return self.per_address or None

    @property
    def slow_slots(self) -> int | None:
        """The number of additional concurrent fetches from slow hosts."""
        return min(_SLOW_SLOTS_PER_FETCH * self.concurrency, _MAX_SLOW_SLOTS) if self.concurrency > 1 else None


class UtilityOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the strategies that weigh relevance against standing, the importance of a page on the Web."""

    target: Share | None = None  # mean relevance to keep while maximising standing; None for the strategy's default
    alpha: Share = 0.5  # initial weight of relevance; constant for `utility`
    form: Literal["cobb-douglas", "linear"] = "cobb-douglas"


class Map(Struct, frozen=True, forbid_unknown_fields=True):
    """A map from past crawls: pages on a topic, and portals, from which many of them are reached."""

    atlas: str = ""  # file made by `lycosa map build`
    topic: str = ""  # of the atlas; needed if it has several
    priority: Share = 0.6  # of links of the map: a higher one favours known pages, a lower one new pages
    share: Share = 0.6  # factor for the priorities of other links
    taxonomy: str = ""  # file made by `lycosa map topics`; pages on related topics then lead to portals


class Logs(Struct, frozen=True, forbid_unknown_fields=True):
    """An access log."""

    file: str = ""  # made by `lycosa logs import`
    half_life: Positive | None = None  # days after which an access counts half; None: all count the same
    min_users: AtLeastOne = 1  # pages that fewer people have read are left out


class StandingSource(Struct, frozen=True, forbid_unknown_fields=True):
    """The source for learning the standing of pages, their importance on the Web. If several are given, the first one
    here decides."""

    in_links: str = ""  # CSV file: URL, in-links
    collections: tuple[str, ...] = ()  # folders of collections whose links are counted
    graph: str = ""  # file of links between URLs, in a format of `lycosa world`
    traffic: str = ""  # CSV file: domain, reach (how many people visit it)
    authority: bool = True  # whether to use the lists read by `lycosa standing import`
    theta: float | None = None  # ln(1 + in-links) of a page of standing 0.5; None for the median of visited pages
    characteristic: AtLeastOne = 10  # number of characteristic words of a page


class Waiting(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the frontier, which holds the URLs that wait to be fetched."""

    limit: AtLeastOne = 1_000_000  # waiting URLs; beyond it, the lowest tenth is evicted


class Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys and tables of lycosa.toml."""

    contact: str = ""  # your e-mail address or web page for site owners; sent in the User-Agent
    strategy: str = DEFAULT_STRATEGY
    options: Mapping[str, JsonValue] = {}  # keywords of the strategy's constructor
    seeds: str = ""  # file of URLs to start from; without one, the examples
    sitemaps: bool = False  # also start from the sitemaps in robots.txt of the seeds' hosts
    topic: Topic = field(default_factory=Topic)
    utility: UtilityOptions = field(default_factory=UtilityOptions)
    standing: StandingSource = field(default_factory=StandingSource)
    map: Map = field(default_factory=Map)
    logs: Logs = field(default_factory=Logs)
    scope: Scope = field(default_factory=Scope)
    requests: Requests = field(default_factory=Requests)
    stop: Budget = field(default_factory=Budget)
    traps: Traps = field(default_factory=Traps)  # limits by which sites with endless URLs are recognised
    waiting: Waiting = field(default_factory=Waiting)


def load_recipe(folder: Path, *, for_reading: bool = False, notify: Callable[[str], None] | None = None) -> Recipe:
    """The recipe in a collection's folder.

    for_reading: whether the collection is only read, so that plug-ins for its strategy and model need not be installed.
    notify: if given, an unknown strategy of a crawled collection is replaced by the default, with a message, instead of
    raising.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        if folder.exists():
            raise UsageError(f"{folder} is not a collection: it has no {FILE_NAME}; make one with: lycosa new NAME")
        raise UsageError(f"there is no collection {folder}; make it with: lycosa new {quoted(folder)}")
    try:
        text = read_regular_file(path, _MAX_BYTES).decode()
        if any(line.partition("=")[0].count(".") > _MAX_DEPTH for line in text.split("\n")):
            raise RecursionError  # parsing takes time quadratic in the depth
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f'{path}: not TOML: {error}; fix that line: key = "value"') from None
    except (OSError, ValueError) as error:  # not UTF-8, or a number with thousands of digits
        raise RecipeError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if notify is not None and not for_reading and (folder / "archive").exists():
        table = _with_known_strategy(table, str(path), notify)
    return recipe_of(table, str(path), for_reading=for_reading)


def _with_known_strategy(table: dict[str, Any], source: str, notify: Callable[[str], None]) -> dict[str, Any]:
    """A parsed recipe with an unknown strategy replaced by the default."""
    name = table.get("strategy", DEFAULT_STRATEGY)
    if not isinstance(name, str) or is_strategy(name):
        return table
    notify(
        f"{source}: no strategy {name[:100]!r}{_similar_strategy(name)} (is a plug-in not installed?); using the "
        f"default, {DEFAULT_STRATEGY}; there are {strategy_names()}"
    )
    return {**table, "strategy": DEFAULT_STRATEGY, "options": {}}


def recipe_of(table: Mapping[str, object], source: str, *, for_reading: bool = False) -> Recipe:
    """The recipe in a parsed TOML document, checked; `source` begins the messages of errors."""
    try:
        recipe = msgspec.convert(table, Recipe)
    except msgspec.ValidationError as error:
        raise RecipeError(f"{source}: {explain_validation_error(error, Recipe)}") from None
    except RecursionError:
        raise _too_deep(source) from None
    if not for_reading:
        _check_names(recipe, source)
    if recipe.requests.proxy and not _PROXY.fullmatch(recipe.requests.proxy):
        raise RecipeError(
            f"{source}: requests.proxy: cannot use {recipe.requests.proxy[:100]!r};"
            " write its host and port: http://proxy.example:3128"
        )
    if recipe.topic.predicate is not None:
        predicates.check(recipe.topic.predicate, where=f"{source}: topic.predicate")
    scope = replace(
        recipe.scope,
        hosts=hosts_in(recipe.scope.hosts, f"{source}: scope.hosts"),
        exclude_hosts=hosts_in(recipe.scope.exclude_hosts, f"{source}: scope.exclude_hosts"),
        languages=languages_in(recipe.scope.languages, f"{source}: scope.languages"),
    )
    return replace(recipe, scope=scope)


def _too_deep(source: str) -> RecipeError:
    return RecipeError(f"{source}: tables within tables too deep to read; write it with fewer")


def _check_names(recipe: Recipe, source: str) -> None:
    """Raises RecipeError for an unknown strategy or model; does not load plug-ins."""
    check_strategy(recipe.strategy, f"{source}: ")
    if recipe.strategy in STRATEGIES:  # options of a plug-in are checked when it is used
        check_options(recipe.strategy, recipe.options, where=f"{source}: options: ")
    if not is_trainer(recipe.topic.model):
        raise RecipeError(f"{source}: topic.model: no {recipe.topic.model!r}; there are {trainer_names()}")


def hosts_in(names: Iterable[str], source: str) -> tuple[str, ...]:
    """Host names in the form of normalised URLs."""
    hosts = tuple(without_final_dot(host.strip().lower()) for host in names)
    for host in hosts:
        if not is_host(host):
            raise RecipeError(f"{source}: not a host: {host[:100]!r}; write example.org, which includes its subdomains")
    return hosts


def is_host(text: str) -> bool:
    """Whether this is a valid host name, without scheme and path."""
    return re.fullmatch(r"[^\s/?#@*]+", text) is not None


def languages_in(names: Iterable[str], source: str) -> tuple[str, ...]:
    """Language codes in lower case."""
    codes = tuple(code.strip().lower() for code in names)
    for code in codes:
        if not re.fullmatch("[a-z]{2}", code):
            raise RecipeError(
                f"{source}: not the code of a language: {code[:100]!r}; write two letters, such as en or de"
            )
    return codes


def check_strategy(name: str, source: str = "") -> None:
    """Raises RecipeError for an unknown strategy."""
    if not is_strategy(name):
        raise RecipeError(f"{source}no strategy {name!r}{_similar_strategy(name)}; there are {strategy_names()}")


def _similar_strategy(name: str) -> str:
    nearest = get_close_matches(name, strategy_names().split(", "), n=1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def check_takes_map(name: str) -> None:
    """Raises UsageError for a strategy that cannot be combined with a map."""
    _require_unit_scale(name, "a map")


def check_takes_log(name: str) -> None:
    """Raises UsageError for a strategy that cannot be combined with an access log."""
    _require_unit_scale(name, "an access log")


def _require_unit_scale(name: str, what: str) -> None:
    """Raises UsageError unless the priorities of a strategy are numbers from 0 to 1, which can be compared with others;
    `what` is the guide that needs this."""
    if find_strategy(name)().scale != "unit":
        others = ", ".join(each for each, entry in STRATEGIES.items() if entry().scale == "unit")
        raise UsageError(f"the strategy {name} cannot use {what}; those that can are {others}")


def utility_for(strategy: str, utility: UtilityOptions) -> UtilityOptions:
    """The options with the strategy's target: its default if none is given, None if it has no target."""
    option = find_strategy(strategy).options.get("target")
    if option is None:
        return replace(utility, target=None)
    return utility if utility.target is not None else replace(utility, target=option.default)


def uses_standing(recipe: Recipe) -> bool:
    """Whether the strategy of a recipe, with its target and options, needs the standing of pages."""
    target = utility_for(recipe.strategy, recipe.utility).target
    options = {} if target is None else {"target": target}
    options |= check_options(recipe.strategy, recipe.options)
    return find_strategy(recipe.strategy)(**options).uses_standing


def make_strategy(
    name: str,
    *,
    topic_words: Mapping[str, int],
    stem: bool = False,
    language: str = "",
    utility_options: UtilityOptions = UtilityOptions(),
    judge: Callable[[], WordWeights | None] = lambda: None,
    example_urls: Collection[Url] = (),
    domain_reach: Callable[[Url], float] = lambda url: 0.0,
    access_log: AccessLog | None = None,
    hash_seed: int = 0,
    options: Mapping[str, JsonValue] = {},
) -> Strategy:
    """Creates a strategy, passing on those of the arguments that it accepts.

    stem, language: whether the topic's words are stemmed, and in which language.
    judge: returns the current model of the topic's words, or None.
    utility_options: weights and form of relevance against standing, for strategies that take them.
    example_urls: pages from which the topic was learnt.
    domain_reach: log of the reach of a URL's domain minus that of the median domain; 0 if unknown.
    access_log: guides the strategy.
    hash_seed: a number that depends on the recipe, against computed collisions; 0 in the lab.
    options: of the user for this strategy; they override the table [utility].
    """
    entry = find_strategy(name)
    available: dict[str, object] = {
        "topic_words": topic_words or None,
        "split": partial(_stems_of, language=language) if stem else tokens_of,
        "target": utility_for(name, utility_options).target,
        "judge": judge,
        "example_urls": example_urls,
        "domain_reach": domain_reach,
        "access_log": access_log,
        "hash_seed": hash_seed,
    }
    if name in STRATEGIES:  # a plug-in's options of these names have defaults and meanings of their own
        available |= {"alpha": utility_options.alpha, "form": utility_options.form}
    accepted = {keyword: value for keyword, value in available.items() if entry.takes(keyword)}
    keywords = {**accepted, **check_options(name, options)}
    return instantiate(lambda: entry(**keywords), "lycosa.strategies", name)


def _stems_of(text: str, *, language: str) -> Iterable[str]:
    return terms_of(tokens_of(text), stem=True, language=language)


def read_seeds(path: Path, *, notify: Callable[[str], None] = lambda line: None) -> list[Url]:
    """The URLs of a seed file: one a line, a browser's bookmarks, or OPML.

    notify: called with a message for each host name that is read as a URL, and if entries are left out.
    """
    url_file = read_url_file(path, "seeds")
    if url_file.left_out:
        notify(url_file.left_out_in_words(path))
    seeds = _seeds_of(url_file.lines, str(path), notify)
    if not seeds:
        raise RecipeError(f"{path}: no seeds; write one URL a line")
    return seeds


def seeds_in(lines: Iterable[str], source: str, *, notify: Callable[[str], None] = lambda line: None) -> list[Url]:
    """The distinct URLs in lines of `source`."""
    return _seeds_of(content_lines(lines), source, notify)


def _seeds_of(lines: Iterable[NumberedLine], source: str, notify: Callable[[str], None]) -> list[Url]:
    seeds: dict[Url, None] = {}
    for number, text in lines:
        url = normalise(text)
        if url is None and (url := url_of_bare_host(text)) is not None:
            notify(f"{source}:{number}: {text[:100]!r} is read as {url}")
        if url is None:
            raise RecipeError(
                f"{source}:{number}: not a URL that can be crawled: {text[:100]!r}; write http://… or https://…"
            )
        seeds[url] = None
    return list(seeds)


def toml_value(value: str | bool | float | Sequence[str]) -> str:
    """The value as TOML."""
    # For these types, JSON is valid TOML, except that TOML forbids this control character.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def recipe_text(*, name: str, topic_text: str, examples: str, negatives: str, seeds: str, contact: str = "") -> str:
    """The text of a new recipe: the given values, and all other keys as comments."""
    name = printable(name)
    return f"""# The recipe of the collection {name}. Everything has a default; what is said here, or by a flag, counts.

contact = {toml_value(contact)}  # your e-mail address or web page; else ~/.config/lycosa/config.toml has it
strategy = "{DEFAULT_STRATEGY}"  # {", ".join(STRATEGIES)}
seeds = {toml_value(seeds)}  # file of URLs to start from; empty: the examples
# sitemaps = true  # also start from the sitemaps that the seeds' hosts name in robots.txt

[topic]
examples = {toml_value(examples)}  # file of pages on the topic: URLs, file names or texts, one a line
negatives = {toml_value(negatives)}  # file of pages that are not
text = {toml_value(topic_text)}
# keywords = ["orchid", "/cattleya|vanda/"]  # instead: any of these words, phrases or /regular expressions/
# function = "package.module:function"  # instead: your own judgement of a page, 0 to 1
# model = "linear"  # what learns from the examples: this one, or that of a plug-in
# stem = false  # compare words as they are written, not by the stems that their language has
# [topic.predicate]  # or several ways put together by all, any and not; topic = true is what is said above
# all = [{{topic = true}}, {{keywords = ["orchid"]}}, {{not = {{url = "*/tag/*"}}}}]

[options]
# some_option = 0.5  # of the strategy, as --option some_option=0.5

[utility]
# target = 0.7  # mean relevance to keep; what it leaves free goes to importance; 1: the topic alone
# alpha = 0.5  # weight of relevance at the start; the rest is that of importance
# form = "linear"  # a weighted sum instead of a product, "cobb-douglas"

[standing]
# in_links = "in-links.csv"  # URL, in-links: to learn importance from; without it, a built-in model is used
# collections = ["../other"]  # instead: in-links counted in other collections
# graph = "links.gml"  # instead: a file of pages and links
# traffic = "traffic.csv"  # domain, reach
# authority = false  # leave out the public lists of ranks that lycosa standing import has read
# theta = 2.0  # ln(1 + in-links) of a page of importance one half; without it, the median
# characteristic = 10  # words of a page that decide how specialised it is

[map]
# atlas = "../atlas"  # what earlier crawls learned: made by lycosa map build
# topic = "bees"  # if the atlas has several
# priority = 0.6  # of its links; higher goes back to known pages, lower to new ones
# share = 0.6  # factor for the priorities of all other links
# taxonomy = "../topics"  # recognises related topics, whose pages then lead to portals: made by lycosa map topics

[logs]
# file = "../readers.log"  # pages that people visited: made by lycosa logs import
# half_life = 30  # days after which an access counts half
# min_users = 1  # pages that fewer people have read are left out

[scope]
# hosts = ["example.org"]  # only these hosts and their subdomains
# exclude_hosts = []
# urls = ["https://*/wiki/*"]  # only URLs like these
# exclude_urls = ["*/login*"]
# stay_on_sites = true  # only the sites of the seeds
# languages = ["en"]
# keep_noindex = true  # keep pages that ask not to be kept: for sites of your own, and legal deposit

[requests]
# delay = 1.0  # seconds between two requests to one host
# per_address = 4  # simultaneous requests to one address or registered domain; 0: no limit
# site_share = 0.25  # of the last requests, for a domain of several hosts while others are free; 1: no limit
# concurrency = 16
# timeout = 10.0
# max_body = 1000000  # bytes
# max_links = 5000  # read of one page
# retries = 2
# proxy = "http://proxy.example:3128"
# headers = {{ "Accept-Language" = "en" }}
# cookies = "name=value"

[stop]
# pages = 1000  # size of the collection, over all runs
# minutes = 60
# bytes = 1000000000
# dry_after = 1000  # stop when so many pages in a row were not relevant; 0: never
# recall = 0.9  # stop when this share of the relevant pages within reach was very likely found
# per_host = 50  # most pages of one host, over all runs; or a share of `pages`: "20%"
# per_site = "20%"  # the same for a registered domain with its subdomains
# requests = 5000  # of one run, without those for robots.txt

[traps]  # limits beyond which links are skipped or set aside: ordinary sites rarely reach them
# per_host = 20000  # URLs of one host
# per_site = 100000  # URLs of one registered domain
# site_urls = 10000  # URLs of one registered domain, and 100 more for each page kept of it
# site_hosts = 50  # hosts of one registered domain, and one more for every 4 pages kept of it
# depth = 100  # links from a seed
# url_length = 2000  # characters
# path_segments = 20  # parts of a path
# repeats = 3  # of one part in a path
# queries = 200  # different query strings on one path
# follow_copies = true  # also follow the links of pages that have the text of another word for word

[waiting]
# limit = 1000000  # URLs that wait; beyond it, those of the lowest priority are dropped
"""
