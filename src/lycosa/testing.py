"""Checks of the laws that plug-ins must obey, for the tests of their own packages.

    from lycosa.testing import check_strategy

    def test_it_keeps_the_laws_of_strategies():
        check_strategy(ShortestUrl)

Each `check_…` raises AssertionError with the broken law and the world, page or table that shows it. Worlds are made by
the standard library's `random` from fixed seeds: checks are deterministic and need neither a network nor a testing
library. The laws take their example as an argument, so that a test can supply more.
"""

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from html import escape
from random import Random
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.export import COLUMNS
from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.memory import MemoryFrontier
from lycosa.logs import AccessLog
from lycosa.loop import Loop
from lycosa.reading import Reader, page_of_text
from lycosa.refresh import HistoryTable, RefreshPolicy
from lycosa.strategies import BreadthFirst
from lycosa.strategies.base import BaseStrategy, SupportsRejudge
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Relevance, Strategy
from lycosa.vocabulary.records import Candidate, Fetch, JsonValue, Outcome, Page, Skip, SkipReason, Url, Visit

TOPIC_WORDS = ("bee", "hive", "honey", "wax", "queen", "swarm", "drone", "comb")
WORDS = (*TOPIC_WORDS, "ship", "sail", "harbour", "anchor", "cake", "sugar", "flour", "stone")
ODD_SCORES: tuple[float | None, ...] = (None, 0.0, 1.0, -1.0, 7.5, math.inf, -math.inf, math.nan)  # of faulty models

# ------------------------------------------------------------ worlds


class SmallWeb(Struct, frozen=True):
    """A small web in memory."""

    pages: Mapping[Url, bytes]  # HTML
    moved: Mapping[Url, Url] = {}  # redirects
    relevances: Mapping[Url, float] = {}  # 0.5 if missing
    standings: Mapping[Url, float] = {}  # unknown if missing
    seed: int | None = None  # of the random numbers that it was made from

    @property
    def home(self) -> Url:
        return next(iter(self.pages))

    def visit(self, candidate: Candidate) -> Visit:
        """The visit of a candidate: of a page, of a redirect, or of nothing."""
        url = candidate.url
        if url in self.moved:
            return Visit(candidate, Fetch(url, Outcome.MOVED, 0.0, status=301, location=self.moved[url]))
        if url not in self.pages:
            return Visit(candidate, Fetch(url, Outcome.GONE, 0.0, status=404))
        fetch = Fetch(url, Outcome.OK, 0.0, status=200, content=self.pages[url])
        page = _read(url, self.pages[url])
        return Visit(candidate, fetch, page, relevance=self.relevances.get(url, 0.5), standing=self.standings.get(url))

    def access_log(self) -> AccessLog:
        """An access log in which two users read all pages, one forwards, one backwards."""
        urls_read = {"ann": list(self.pages), "bob": list(self.pages)[::-1]}
        return AccessLog.of((user, url, at) for user, urls in urls_read.items() for at, url in enumerate(urls))

    def __str__(self) -> str:
        return f"a world of {len(self.pages)} pages" + ("" if self.seed is None else f", seed {self.seed}")


MakeStrategy = Callable[[SmallWeb], Strategy]  # a strategy for a world, with its access log if needed


@lru_cache(maxsize=10_000)
def _read(url: Url, html: bytes) -> Page | None:
    return Reader()(Fetch(url, Outcome.OK, 0.0, status=200, content=html))


def random_world(seed: int, *, pages: int = 12) -> SmallWeb:
    """Pages on four hosts that link to one another at random; the first few are mostly on the topic."""
    random = Random(seed)
    urls = [Url(f"http://h{number % 4}.example/{random.choice(WORDS)}/{number}") for number in range(pages)]
    links = {url: [random.choice(urls) for _ in range(random.randrange(7))] for url in urls}
    html = {url: html_page(" ".join(random.choices(WORDS, k=40)), links[url]) for url in urls}
    relevances = {url: round(random.random() ** (1 + number / 4), 3) for number, url in enumerate(urls)}
    return SmallWeb(html, relevances=relevances, seed=seed)


def html_page(text: str, links: Iterable[str], *, rel: str = "") -> bytes:
    """A page with a text and links."""
    anchors = "".join(f'<p><a rel="{rel}" href="{escape(link)}">{escape(link[-8:])}</a></p>' for link in links)
    return f"<html><title>{escape(text[:20])}</title><body><p>{escape(text)}</p>{anchors}</body></html>".encode()


def crawl(
    world: SmallWeb,
    loop: Loop,
    seeds: Sequence[Url] | None = None,
    *,
    pages: int | None = None,
    from_seeds: bool = True,
) -> list[Visit]:
    """The visits of a sequential crawl, until nothing waits or there are `pages`.

    from_seeds: whether to start with the seeds instead of continuing with the frontier.
    """
    if from_seeds:
        loop.start([world.home] if seeds is None else seeds)
    visits: list[Visit] = []
    while (pages is None or sum(visit.page is not None for visit in visits) < pages) and (
        candidate := loop.frontier.take(0.0)
    ):
        visit = loop.step(candidate, world.visit(candidate).fetch, lambda candidate, _: world.visit(candidate))
        assert visit is not None
        visits.append(visit)
    return visits


def loop_for(strategy: Strategy, admission: Admission | None = None) -> Loop:
    """A loop around a strategy with nothing waiting."""
    return Loop(strategy, MemoryFrontier(clock=SimulatedClock(), delay=0.0, admission=admission))


def urls_of(visits: Iterable[Visit]) -> list[Url]:
    return [visit.candidate.url for visit in visits]


# ------------------------------------------------------------ strategies


def check_strategy(strategy: Callable[..., Strategy], *, worlds: int = 20) -> None:
    """Checks every law of strategies on random worlds.

    strategy: its class, which is called without options; use `functools.partial` to set some. One that `needs` a "log"
    gets the access log of each world.
    """
    needs = getattr(strategy, "needs", getattr(getattr(strategy, "func", None), "needs", ()))

    def make(world: SmallWeb) -> Strategy:
        return strategy(access_log=world.access_log()) if "log" in needs else strategy()

    has_a_name(make)
    follows_no_nofollow_link(make)
    learns_from_skips_and_failures(make)
    continues_after_dead_moved_and_refused_links(make)
    ends_when_its_seeds_are_refused(make)
    for seed in range(worlds):
        world, random = random_world(seed), Random(seed)
        visits_each_page_once(make, world)
        stays_within_links_and_budget(make, world, budget=random.randrange(1, 12))
        proposes_priorities_on_its_scale(make, world)
        resumes_where_it_stopped(make, world, stop_after=random.randrange(9))
        takes_over_from_another(make, world, after=random.randrange(1, 6))
        rejudges_only_what_waits(make, world, after=random.randrange(1, 6))
        scores = [(random.choice(ODD_SCORES), random.choice(ODD_SCORES)) for _ in range(8)]
        stays_finite_whatever_models_say(make, world, scores)
    for seed in range(worlds):
        names_the_page_of_each_link(make, random_world(seed))


def has_a_name(make: MakeStrategy) -> None:
    """Its `name` is a text, which runs record."""
    world = random_world(0)
    name = getattr(make(world), "name", None)
    _require(isinstance(name, str) and bool(name), "has a `name`", world)


def visits_each_page_once(make: MakeStrategy, world: SmallWeb) -> None:
    """Visits no page twice, and every reachable page if it is exhaustive."""
    strategy = make(world)
    visited = urls_of(crawl(world, loop_for(strategy)))
    _require(len(visited) == len(set(visited)), "visits no page twice", world)
    reachable = set(urls_of(crawl(world, loop_for(BreadthFirst()))))
    if strategy.exhaustive:
        _require(set(visited) >= reachable, "calls itself exhaustive and so visits every reachable page", world)


def stays_within_links_and_budget(make: MakeStrategy, world: SmallWeb, *, budget: int) -> None:
    """Every candidate is a seed, a known link, or a page of its access log; the crawl stops at the budget."""
    strategy = make(world)
    known_urls = {world.home, *(world.pages if "log" in getattr(strategy, "needs", ()) else ())}
    visits = crawl(world, loop_for(strategy), pages=budget)
    for visit in visits:
        _require(visit.candidate.url in known_urls, "proposes only seeds and links that it has seen", world)
        known_urls.update(link.target for link in visit.page.links) if visit.page else None
    _require(len(visits) <= len(world.pages), "ends", world)


def proposes_priorities_on_its_scale(make: MakeStrategy, world: SmallWeb) -> None:
    """Priorities are finite, within 0 and 1 on the unit scale, and every candidate has a `because`."""
    strategy = make(world)
    proposed = list(strategy.start([world.home]))
    for visit in crawl(world, loop_for(make(world))):
        strategy.learn(visit)
        proposed += strategy.propose(visit)
    for candidate in proposed:
        _check_candidate(strategy, candidate, world)


def names_the_page_of_each_link(make: MakeStrategy, world: SmallWeb) -> None:
    """A candidate has the page that links to it as `found_on`, and is one link deeper; seeds have neither. Candidates
    from an access log need not be linked."""
    strategy = make(world)
    for candidate in strategy.start([world.home]):
        _require(candidate.depth == 0, f"gives seeds the depth 0, not {candidate.depth}", world)
    seen: dict[Url, Visit] = {}
    for visit in crawl(world, loop_for(make(world))):
        seen[visit.candidate.url] = visit
        strategy.learn(visit)
        for candidate in strategy.propose(visit):
            if candidate.found_on is None and "log" in getattr(strategy, "needs", ()):
                continue
            source = seen.get(candidate.found_on) if candidate.found_on is not None else None
            is_link = source is not None and any(link.target == candidate.url for link in source.open_links())
            found_on = "no page" if candidate.found_on is None else candidate.found_on
            _require(is_link, f"names a visited page with the link as `found_on`, not {found_on}", world)
            assert source is not None
            depth = source.candidate.depth + 1
            _require(candidate.depth == depth, f"gives this link the depth {depth}, not {candidate.depth}", world)


def stays_finite_whatever_models_say(
    make: MakeStrategy, world: SmallWeb, scores: Sequence[tuple[float | None, float | None]]
) -> None:
    """Priorities and state stay in bounds for any relevance and standing, including NaN."""
    strategy = make(world)
    if strategy.scale != "unit":
        return
    visits = crawl(world, loop_for(BreadthFirst()))
    for visit, (relevance, standing) in zip(visits, scores, strict=False):
        visit = replace(visit, relevance=relevance, standing=standing)
        strategy.learn(visit)
        for candidate in strategy.propose(visit):
            _check_candidate(strategy, candidate, world, f", for a page of relevance {relevance}, standing {standing}")
    try:
        _through_json(strategy.state(), world)
    except AssertionError as error:
        raise AssertionError(f"{error}, after pages of relevance and standing {scores}") from error


def resumes_where_it_stopped(make: MakeStrategy, world: SmallWeb, *, stop_after: int) -> None:
    """Stopped after any page, saved as JSON and restored, it continues as if it had not been stopped: it visits the
    same pages in the same order, and proposes the same for the same reasons. Pages also have standings.
    """
    standings = {url: (number * 7 % 10) / 10 for number, url in enumerate(world.pages)}
    world = replace(world, standings=standings)
    uninterrupted = urls_of(crawl(world, loop_for(make(world))))
    first, second, third = (make(world) for _ in range(3))
    loop = loop_for(first)
    visited_before = urls_of(crawl(world, loop, pages=stop_after))
    for strategy in (second, third):
        strategy.restore(_through_json(first.state(), world))
        if isinstance(strategy, BaseStrategy):
            strategy.restore_visited(visited_before)
    loop.use_strategy(second)
    rest = crawl(world, loop, from_seeds=False)
    _require(visited_before + urls_of(rest) == uninterrupted, "goes on as if it had not been stopped", world)
    for visit in rest:
        first.learn(visit)
        third.learn(visit)
        is_same = list(first.propose(visit)) == list(third.propose(visit))
        _require(is_same, "proposes the same, for the same reasons, once it was saved and restored", world)


def takes_over_from_another(make: MakeStrategy, world: SmallWeb, *, after: int) -> None:
    """After replaying the visits of another strategy, it continues from there; an exhaustive one visits everything."""
    loop = loop_for(BreadthFirst())
    visited_before = crawl(world, loop, pages=after)
    strategy = make(world)
    loop.rerank_from_history(strategy, [world.home], visited_before)
    visited = urls_of(visited_before) + urls_of(crawl(world, loop, from_seeds=False))
    _require(len(visited) == len(set(visited)), "visits no page that another strategy has visited before it", world)
    if strategy.exhaustive:
        reachable = set(urls_of(crawl(world, loop_for(BreadthFirst()))))
        _require(set(visited) >= reachable, "goes on to every reachable page where it takes over from another", world)


def rejudges_only_what_waits(make: MakeStrategy, world: SmallWeb, *, after: int) -> None:
    """A `rejudge`, if there is one, takes relevances, and standings or None; it returns waiting URLs only, and as
    other candidates are."""
    strategy = make(world)
    if not isinstance(strategy, SupportsRejudge):
        return
    frontier = MemoryFrontier(clock=SimulatedClock(), delay=0.0)
    visited = urls_of(crawl(world, Loop(strategy, frontier), pages=after))
    scores = {str(url): number % 3 / 2 for number, url in enumerate(visited)}
    for relevances, standings in ((scores, None), ({}, scores), ({}, None)):
        try:
            candidates = list(strategy.rejudge(relevances, standings))
        except TypeError as error:
            message = f"broken law: `rejudge` takes relevances, and standings or None ({error}); shown by {world}"
            raise AssertionError(message) from error
        for candidate in candidates:
            _require(frontier.is_waiting(candidate.url), f"rejudges waiting URLs only, not {candidate.url}", world)
            _check_candidate(strategy, candidate, world, ", when it rejudges")


def follows_no_nofollow_link(make: MakeStrategy) -> None:
    """A link with rel=nofollow is not proposed."""
    home = Url("http://a.example/")
    world = SmallWeb({home: html_page("text", ["http://a.example/1"], rel="nofollow")})
    strategy = make(SmallWeb({}))
    visit = world.visit(Candidate(home, 1.0))
    _require(list(strategy.propose(visit)) == [], "follows no link that asks not to be followed", world)


def learns_from_skips_and_failures(make: MakeStrategy) -> None:
    """Skips and failures of unknown URLs neither raise nor yield candidates."""
    strategy, candidate = make(SmallWeb({})), Candidate(Url("http://a.example/"), 0.5)
    for event in (
        Skip(candidate, SkipReason.TRAP, "host is full"),
        Visit(candidate, Fetch(candidate.url, Outcome.FAILED, 0.0)),
    ):
        strategy.learn(event)
        _require(list(strategy.propose(event)) == [], "proposes nothing instead of what it never asked for", None)


def continues_after_dead_moved_and_refused_links(make: MakeStrategy) -> None:
    """Dead and refused links do not end the crawl, and redirects are followed; a strategy that is not exhaustive may
    leave out links."""
    home, host = Url("http://a.example/"), "http://a.example"
    moved = {Url(f"{host}/moved{n}"): Url(f"{host}/{n}") for n in range(4)}
    dead = [Url(f"{host}/dead{n}") for n in range(4)]
    refused = [Url(f"http://b.example/{n}") for n in range(4)]
    targets = {url: html_page(f"number {url}", [home]) for url in moved.values()}
    pages = {home: html_page("Many links.", [*moved, *dead, *refused]), **targets}
    world = SmallWeb(pages, moved)
    log_world = SmallWeb(dict.fromkeys((*pages, *moved, *dead, *refused), b""))
    strategy = make(log_world)
    loop = loop_for(strategy, Admission(Scope(exclude_hosts=("b.example",))))
    visited = set(urls_of(crawl(world, loop)))
    followed = {moved[url] for url in visited.intersection(moved)}
    expected = {*pages, *moved, *dead} if strategy.exhaustive else {*visited.difference(refused), home, *followed}
    _require(visited == expected, "goes on where links are dead, moved or refused", world)


def ends_when_its_seeds_are_refused(make: MakeStrategy) -> None:
    """If no seed may be fetched, the crawl ends."""
    world = SmallWeb({Url("http://a.example/"): html_page("text", [])})
    loop = loop_for(make(SmallWeb({})), Admission(Scope(hosts=("b.example",))))
    _require(crawl(world, loop) == [], "ends where its seeds are refused", world)


def _check_candidate(strategy: Strategy, candidate: Candidate, world: SmallWeb, circumstances: str = "") -> None:
    priority = candidate.priority
    _require(math.isfinite(priority), f"offers finite priorities, not {priority}{circumstances}", world)
    is_on_scale = strategy.scale == "order" or 0.0 <= priority <= 1.0
    _require(is_on_scale, f"offers priorities within 0 and 1, as its scale says, not {priority}{circumstances}", world)
    _require(bool(candidate.because), f"says of every candidate why it is wanted, in `because`{circumstances}", world)
    is_finite = all(math.isfinite(number) for number in _numbers_in(candidate.because))
    _require(is_finite, f"gives reasons in finite numbers, not {candidate.because}{circumstances}", world)


def _numbers_in(because: Mapping[str, JsonValue]) -> Iterator[float]:
    for value in because.values():
        if isinstance(value, Mapping):
            yield from _numbers_in(value)
        elif isinstance(value, (int, float)):
            yield value


def _through_json(state: JsonValue, world: SmallWeb) -> JsonValue:
    """A state after a round trip through JSON."""
    try:
        return json.loads(json.dumps(state, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"broken law: its state is plain data ({error}); shown by {world}") from error


# ------------------------------------------------------------ relevance


def check_relevance(model: Any, *, pages: int = 50) -> None:
    """Checks that a model gives every page a number from 0 to 1, deterministically.

    model: an object with `relevance(page)`; or a class with `train` and `from_plain`, like `lycosa.relevance` plug-ins,
    which is then trained, saved and loaded.
    """
    if hasattr(model, "train"):
        check_trainer(model, pages=pages)
        return
    for seed in range(pages):
        judges_within_0_and_1(model, random_page(seed))


def check_trainer(trainer: Any, *, pages: int = 50) -> None:
    """Checks that models trained on the same pages, or saved as JSON and loaded, give the same scores."""
    random = Random(0)
    good = [_terms(random, TOPIC_WORDS) for _ in range(5)]
    bad = [_terms(random, WORDS[len(TOPIC_WORDS) :]) for _ in range(7)]
    crawled = [_terms(random, WORDS) for _ in range(9)]
    background = [_terms(random, WORDS[len(TOPIC_WORDS) :]) for _ in range(8)]
    none: list[dict[str, int]] = []
    for other_pages in ((bad, none, none), (bad, crawled, none), (none, none, background), (none, crawled, background)):
        first, again = trainer.train(good, *other_pages), trainer.train(good, *other_pages)
        loaded = trainer.from_plain(_through_json(first.to_plain(), SmallWeb({})))
        for seed in range(pages):
            page = random_page(seed)
            judges_within_0_and_1(first, page)
            value = first.relevance(page)
            _require(again.relevance(page) == value, "learns the same from the same pages", page.text)
            _require(loaded.relevance(page) == value, "judges the same once it was saved and loaded", page.text)


def judges_within_0_and_1(model: Relevance, page: Page) -> None:
    """The relevance of a page is a float from 0 to 1, and the same each time."""
    value = model.relevance(page)
    is_share = isinstance(value, float) and 0.0 <= value <= 1.0
    _require(is_share, f"gives a float within 0 and 1, not {value!r}", page.text)
    _require(model.relevance(page) == value, "gives the same page the same relevance", page.text)


def random_page(seed: int) -> Page:
    """A page of known and unknown words; that of seed 0 has none."""
    random = Random(seed)
    words = random.choices([*WORDS, "zyxt", "überall", "1234", "x" * 300], k=seed * 3)
    return page_of_text(Url(f"http://a.example/{seed}"), "A title" if seed % 2 else "", " ".join(words))


def _terms(random: Random, words: Sequence[str]) -> dict[str, int]:
    return {word: random.randrange(1, 9) for word in random.sample(words, 4)}


# ------------------------------------------------------------ refresh policies


def check_refresh_policy(policy: Callable[..., RefreshPolicy], *, tables: int = 40) -> None:
    """Checks every law of refresh policies on random histories.

    policy: its class, whose only required keyword is `seed`.
    """
    for seed in range(tables):
        random = Random(seed)
        table = random_table(seed, pages=random.randrange(12))
        chooses_within_the_budget(policy(seed=seed), table, now=random.uniform(-1e3, 1e3), budget=random.randrange(20))
    for number, table in enumerate((random_table(1, pages=0), random_table(2, pages=30), random_table(3, pages=30))):
        chooses_within_the_budget(policy(seed=number), table, now=20.0, budget=10)
        chooses_the_same_with_the_same_seed(policy, table)


def chooses_within_the_budget(policy: RefreshPolicy, table: HistoryTable, *, now: float, budget: int) -> None:
    """It chooses distinct rows of the table, no more than the budget, and does not change the table."""
    before = [column.copy() for column in _columns(table)]
    rows = policy.choose(table, now, budget)
    _require(rows.dtype == np.int64, f"chooses rows by their numbers (int64, not {rows.dtype})", table)
    chosen = rows.tolist()
    _require(len(chosen) <= max(0, min(budget, len(table))), "keeps within the budget", table)
    _require(len(set(chosen)) == len(chosen), "chooses no row twice", table)
    _require(set(chosen) <= set(range(len(table))), "chooses rows of the table", table)
    is_unchanged = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, _columns(table), strict=True))
    _require(is_unchanged, "leaves the table as it was", table)


def chooses_the_same_with_the_same_seed(policy: Callable[..., RefreshPolicy], table: HistoryTable) -> None:
    """Two policies with the same seed choose the same, call after call."""
    one, other = policy(seed=5), policy(seed=5)
    for now in (10.0, 11.0, 12.0):
        is_same = one.choose(table, now, 7).tolist() == other.choose(table, now, 7).tolist()
        _require(is_same, "chooses the same with the same seed", table)


def random_table(seed: int, *, pages: int) -> HistoryTable:
    """Histories of pages, including extreme values: 0, very large, unknown."""
    random = Random(seed)

    def amounts() -> Any:
        extremes = (0.0, 1e-300, 1e300, math.nan, math.inf)
        return np.array([random.choice(extremes) if random.random() < 0.2 else random.random() for _ in range(pages)])

    return HistoryTable(
        urls=[Url(f"http://a.example/{number}") for number in range(pages)],
        importance=amounts(),
        fetched_at=np.array([random.uniform(0.0, 10.0) for _ in range(pages)]),
        fetches=np.full(pages, 2, dtype=np.int64),
        changes=np.array([random.randrange(2) for _ in range(pages)], dtype=np.int64),
        rate=amounts(),
        out_links=np.array([random.randrange(50) for _ in range(pages)], dtype=np.int64),
        yielded=amounts(),
        link_score=amounts(),
    )


def _columns(table: HistoryTable) -> list[Any]:
    return [getattr(table, field.name) for field in fields(table) if field.name != "urls"]


# ------------------------------------------------------------ exporters


def check_exporter(write: Callable[[Iterator[dict[str, Any]], BinaryIO], None], *, rows: int = 20) -> None:
    """Checks that an exporter accepts any rows, even none, is deterministic, and leaves the file open."""
    for count in (0, 1, rows):
        given_rows = iter(random_rows(count))
        out = io.BytesIO()
        write(given_rows, out)
        _require(next(given_rows, None) is None, "writes every row", f"{count} rows")
        _require(not out.closed, "leaves the file open, for it is not its own", f"{count} rows")
        again = io.BytesIO()
        write(iter(random_rows(count)), again)
        _require(again.getvalue() == out.getvalue(), "writes the same for the same rows", f"{count} rows")


def random_rows(count: int) -> list[dict[str, Any]]:
    """Rows like those of `lycosa export`, with difficult values: quotes, newlines, no title."""
    titles = ('A "title"', "two\nlines", "", "комб, <b>&amp;</b>", "=1+1")
    return [
        {
            **dict.fromkeys(COLUMNS),
            "url": f"http://h{number % 3}.example/{number}",
            "host": f"h{number % 3}.example",
            "title": titles[number % len(titles)],
            "relevance": None if number % 7 == 6 else number / (count + 1),
            "standing": None if number % 2 else 0.25,
            "number": number + 1,
            "at": "2024-05-06T07:08:09.000+00:00",
            "depth": number % 4,
            "language": "en",
            "status": 200,
            "bytes": 1_000 + number,
            "digest": f"{number:016x}",
            "state": "current",
            "looked_at": "2024-05-06T07:08:09.000+00:00",
        }
        for number in range(count)
    ]


def _require(is_obeyed: bool, law: str, example: object) -> None:
    if not is_obeyed:
        raise AssertionError(f"broken law: it {law}" + (f"; shown by {example}" if example is not None else ""))
