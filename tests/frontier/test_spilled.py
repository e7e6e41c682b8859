"""A frontier that has hardly anything in memory does what one does that has everything there."""

import gc
import sqlite3
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.frontier import host_queues, spilled
from lycosa.frontier.admission import Admission
from lycosa.frontier.durable import DurableFrontier
from lycosa.frontier.quotas import Quotas
from lycosa.frontier.spilled import SpilledEntries
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary import key_table
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Skip, Url
from lycosa.vocabulary.urls import host_of


def url(host: int, page: int) -> Url:
    return Url(f"http://h{host}.site{host % 2}.example/{page}")


hosts, pages = st.integers(0, 5), st.integers(0, 9)
priorities = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(hosts, pages, priorities), max_size=12)),
        st.tuples(st.just("put"), st.lists(st.tuples(hosts, pages, priorities), min_size=8, max_size=20)),
        st.tuples(st.just("take"), st.integers(1, 4)),
        st.tuples(st.just("settle"), st.booleans()),
        st.tuples(st.just("requeue"), st.none()),
        st.tuples(st.just("postpone"), st.none()),
        st.tuples(st.just("wait"), st.floats(0, 3)),
        st.tuples(st.just("hold"), st.tuples(hosts, st.floats(0, 5))),
        st.tuples(st.just("acquire"), hosts),
        st.tuples(st.just("observe"), st.tuples(hosts, st.floats(0, 3))),
        st.tuples(st.just("settle waiting"), st.tuples(hosts, pages)),
        st.tuples(st.just("block"), st.lists(hosts, max_size=2)),
        st.tuples(st.just("boost"), st.lists(hosts, max_size=2)),
        st.tuples(st.just("forget"), st.none()),
        st.tuples(st.just("save"), st.none()),
        st.tuples(st.just("open again"), st.none()),
    ),
    max_size=40,
)
options = st.fixed_dictionaries(
    {
        "delay": st.sampled_from([0.0, 1.0]),
        "limit": st.sampled_from([7, 1_000]),
        "per_address": st.sampled_from([None, 1, 2]),
        "site_share": st.sampled_from([1.0, 0.02, 0.03]),  # of a hundred requests
        "slow_slots": st.sampled_from([None, 1]),
    }
)


class LatestOffer(BestFirst):
    """Ranks what is offered again by the latest offer, be it lower."""

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered


class Driver:
    """A frontier and what happens to it."""

    def __init__(self, in_memory: int, options: dict[str, object], quotas: Quotas, make_strategy: Callable[[], object]):
        self._connection = sqlite3.connect(":memory:")
        self._in_memory, self._options, self._quotas = in_memory, options, quotas
        self._make_strategy = make_strategy
        self.clock = SimulatedClock()
        self.settled: list[Url] = []
        self._open()

    def _open(self) -> None:
        self.frontier = DurableFrontier(
            self._connection,
            in_memory=self._in_memory,
            clock=self.clock,
            admission=Admission(quotas=self._quotas),
            **self._options,
        )
        self.frontier.restore_settled(self.settled)
        self.frontier.set_quotas(self._quotas)
        self.frontier.rank_by(self._make_strategy())
        self.in_flight: list[Candidate] = []

    def step(self, what: str, how: object) -> object:
        frontier, now = self.frontier, self.clock.now()
        match what, how:
            case "put", offers:
                return _told(frontier.put([Candidate(url(h, p), x, depth=1) for h, p, x in offers]))
            case "take", count:
                taken = [each for _ in range(count) if (each := frontier.take(now)) is not None]
                self.in_flight += taken
                return taken
            case "settle", is_kept:
                if self.in_flight:
                    done = self.in_flight.pop(0)
                    self.settled.append(done.url)
                    return _told(frontier.settle(done.url, is_kept=is_kept))
            case "settle waiting", (h, p):
                if all(each.url != url(h, p) for each in self.in_flight):
                    self.settled.append(url(h, p))
                    return _told(frontier.settle(url(h, p)))
            case "requeue", _:
                if self.in_flight:
                    frontier.requeue(self.in_flight.pop(0))
            case "postpone", _:
                if self.in_flight:
                    frontier.postpone(self.in_flight.pop(0))
            case "wait", seconds:
                self.clock._now += seconds
            case "hold", (h, seconds):
                frontier.hold(host_of(url(h, 0)), now + seconds)
            case "acquire", h:
                host = host_of(url(h, 0))
                moment = frontier.acquire_or_retry_at(host, now)
                if moment is None:
                    frontier.release(host, now)
                return moment
            case "observe", (h, seconds):
                frontier.observe(host_of(url(h, 0)), seconds)
            case "block", blocked:
                return sorted(_told(frontier.block(tuple(host_of(url(h, 0)) for h in blocked))))
            case "boost", boosted:
                frontier.boost([host_of(url(h, 0)) for h in boosted])
            case "forget", _:
                frontier.clear_waiting()
            case "save", _:
                frontier.save()
            case "open again", _:
                frontier.save()
                self._open()
        return None

    def seen(self) -> object:
        frontier = self.frontier
        known = [frontier.is_known(url(h, p)) for h in range(6) for p in range(10)]
        return len(frontier), known, frontier.next_ready_at(), frontier.resting_beyond(self.clock.now())


def _told(skips: list[Skip]) -> list[tuple[Url, str, float]]:
    return [(skip.candidate.url, skip.why, skip.candidate.priority) for skip in skips]


@pytest.mark.slow
@given(
    steps=steps,
    options=options,
    quotas=st.sampled_from([Quotas(), Quotas(per_host=2), Quotas(per_site=3)]),
    make_strategy=st.sampled_from([BestFirst, BreadthFirst, LatestOffer]),
    in_memory=st.integers(0, 6),
    ranked=st.sampled_from([0, 3, 1_000]),
)
@settings(max_examples=100, deadline=None)
def test_what_is_in_memory_changes_nothing(
    steps: list[tuple[str, object]],
    options: dict[str, object],
    quotas: Quotas,
    make_strategy: Callable[[], object],
    in_memory: int,
    ranked: int,
) -> None:
    patched = pytest.MonkeyPatch()
    patched.setattr(spilled, "_MAX_RANKED", ranked)
    patched.setattr(host_queues, "_MIN_IN_MEMORY", 1)
    patched.setattr(host_queues, "_READ_BATCH", 2)
    patched.setattr(spilled, "_MAX_LISTINGS", 2)
    patched.setattr(spilled, "_MIN_COMPACTED", 0)
    try:
        all_there = Driver(1_000, options, quotas, make_strategy)
        hardly = Driver(in_memory, options, quotas, make_strategy)
        for what, how in steps:
            assert hardly.step(what, how) == all_there.step(what, how), (what, how)
            assert hardly.seen() == all_there.seen(), (what, how)
    finally:
        patched.undo()


def random_steps(seed: int) -> list[tuple[str, object]]:
    """A crawl of some tens of hosts of a few domains, of which one has most."""
    chance = Random(seed)
    domains = chance.choice([2, 5, 20])
    hosts = [f"h{number}.site{int(domains * chance.random() ** 2)}.example" for number in range(60)]
    steps: list[tuple[str, object]] = []
    for _ in range(200):
        links = [(chance.choice(hosts), chance.randint(0, 60)) for _ in range(chance.randint(0, 12))]
        offered = [(host, page, chance.choice([round(chance.random(), 1), chance.random()])) for host, page in links]
        steps += [("put", offered), ("take", chance.randint(0, 4))]
        steps += [("settle", chance.random()) for _ in range(chance.randint(0, 4))]
        steps.append(("wait", chance.choice([0.0, 0.05, 0.3, 1.0])))
    return steps


def taken_in(steps: list[tuple[str, object]], in_memory: int, **options: object) -> list[tuple[float, Url | None]]:
    """What is taken, and when."""
    clock = SimulatedClock()
    frontier = DurableFrontier(sqlite3.connect(":memory:"), in_memory=in_memory, clock=clock, **options)
    frontier.rank_by(BestFirst())
    in_flight: list[Url] = []
    taken: list[tuple[float, Url | None]] = []
    for step in steps:
        match step:
            case "put", offered:
                frontier.put([Candidate(Url(f"http://{host}/{page}"), x, depth=1) for host, page, x in offered])
            case "take", count:
                for _ in range(count):
                    candidate = frontier.take(clock.now())
                    taken.append((clock.now(), candidate and candidate.url))
                    in_flight += [candidate.url] if candidate else []
            case "settle", share if in_flight:
                frontier.settle(in_flight.pop(int(share * len(in_flight))), is_kept=True)
            case "wait", seconds:
                clock._now += seconds
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 1.0])
@pytest.mark.parametrize("limits", [{}, {"per_address": 1, "site_share": 1.0}, {"per_address": 1, "site_share": 0.25}])
def test_long_crawls_take_the_same_urls_at_the_same_times(delay: float, limits: dict[str, float]) -> None:
    for seed in range(8):
        steps = random_steps(seed)
        everything = taken_in(steps, 100_000, delay=delay, **limits)
        for in_memory in (5, 40):
            assert taken_in(steps, in_memory, delay=delay, **limits) == everything, (seed, in_memory)


def test_a_free_slot_goes_to_the_best_url_that_waits_for_it() -> None:
    """Even if a host was listed by a better one that no longer waits."""
    frontier = DurableFrontier(sqlite3.connect(":memory:"), clock=SimulatedClock(), delay=0.0, per_address=1)
    frontier.rank_by(BestFirst())
    first, last, gone, worse, better = (
        Url(f"http://{host}.site.example/{page}") for host, page in ("a1", "a2", "b1", "b2", "c1")
    )
    frontier.put([Candidate(first, 1.0), Candidate(last, 0.1)])
    assert taken_now(frontier) == first
    frontier.put([Candidate(gone, 0.9), Candidate(worse, 0.3), Candidate(better, 0.5)])
    assert taken_now(frontier) is None, "one request at a time"
    frontier.settle(gone)
    frontier.settle(first)
    assert taken_now(frontier) == better


def taken_now(frontier: DurableFrontier) -> Url | None:
    candidate = frontier.take(0.0)
    return None if candidate is None else candidate.url


def found_on_pages(first: int, count: int) -> list[list[Candidate]]:
    """Links of pages, twenty each, a fifth of which wait already."""
    return [
        [
            Candidate(Url(f"http://h{number % 997}.example/{number}"), (number * 37 % 1_009) / 1_009, depth=1)
            for number in (*range(20 * page, 20 * page + 16), *range(20 * page // 2, 20 * page // 2 + 4))
        ]
        for page in range(first, first + count)
    ]


@pytest.mark.slow
def test_memory_and_statements_do_not_grow_with_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "_MIN_RECENT", 32)  # few keys in dictionaries, as in large tables
    connection = sqlite3.connect(tmp_path / "frontier.sqlite")
    frontier = DurableFrontier(connection, clock=SimulatedClock(), delay=0.0, in_memory=400)
    frontier.rank_by(BestFirst())
    statements: list[str] = []
    sizes, costs = [], []
    tracemalloc.start()
    try:
        for first in range(0, 1_200, 200):
            connection.set_trace_callback(statements.append)
            for page in found_on_pages(first, 200):
                frontier.put(page)
            for _ in range(20):
                taken = frontier.take(0.0)
                assert taken is not None
                frontier.settle(taken.url)
            connection.set_trace_callback(None)
            frontier.save()
            connection.commit()
            costs.append(len(statements))
            statements.clear()
            gc.collect()
            sizes.append((len(frontier), tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    (few, before), (many, after) = sizes[1], sizes[-1]
    assert many > few + 10_000
    assert after - before < 100 * (many - few)
    assert len(frontier._waiting) <= 400
    assert len(frontier._host_queues._queues) <= 400
    assert max(costs) <= 2 * 20  # for what is taken; what is put needs none


def test_a_host_without_waiting_links_costs_nothing() -> None:
    frontier = DurableFrontier(sqlite3.connect(":memory:"), clock=SimulatedClock(), delay=0.0, in_memory=10)
    frontier.put([Candidate(Url(f"http://h{number}.example/"), 0.5) for number in range(300)])
    assert frontier._spilled is not None and len(frontier._spilled.list_of) >= 290
    while (taken := frontier.take(0.0)) is not None:
        frontier.settle(taken.url)
    assert len(frontier._spilled.list_of) == len(frontier._host_queues._queues) == len(frontier) == 0


def test_a_file_of_entries_that_were_taken_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "_MIN_COMPACTED", 10_000)
    entries = SpilledEntries()
    list_number = entries.list_for(1, 0)
    for order in range(1, 2_001):
        entries.add(list_number, float(-order), order, order)
        if order > 10:
            entries.waiting[order - 10] = 0
        entries.compact()
    assert len(entries._file) < 20_000
    assert entries.take(list_number, 100) == list(range(2_000, 1_990, -1))
    assert len(entries.list_of) == len(entries) == 0


@pytest.mark.slow
def test_a_dormant_host_takes_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "_MIN_RECENT", 32)  # few keys in dictionaries, as in large tables
    entries = SpilledEntries()

    def add(hosts: range) -> int:
        for host in hosts:
            list_number = entries.list_for(hash(f"h{host}.example"), 0)
            entries.add(list_number, -0.5, host, hash(f"http://h{host}.example/"))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = add(range(1, 30_001)), add(range(30_001, 90_001))
    finally:
        tracemalloc.stop()
    assert after - before < 58 * 60_000  # 26 for its list, and 13 each for its key and for that of its URL


def test_billions_of_arrivals_are_told_apart() -> None:
    entries = SpilledEntries()
    orders = [1, 2**32 - 1, 2**32, 2**32 + 1]
    for host, order in enumerate(orders):
        list_number = entries.list_for(host + 1, 0)
        entries.add(list_number, -0.5, order, 100 + host)
        entries.make_dormant(list_number)
    taken = []
    while (listing := entries.best_dormant_of(None)) is not None:
        assert listing[:2] == (-0.5, entries.best(listing[2]).order)
        taken += entries.take(listing[2], 1)
    assert taken == orders


def test_a_save_writes_one_row_after_the_other() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = DurableFrontier(connection, clock=SimulatedClock(), delay=0.0)
    frontier.put([Candidate(url(0, page), 0.5, url(1, 0), "an anchor") for page in range(2_000)])
    connection.execute("SELECT count(*) FROM frontier")
    tracemalloc.start()
    try:
        frontier.save()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * 2_000


def test_a_candidate_that_was_prefetched_before_it_was_saved_is_complete() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = DurableFrontier(connection, in_memory=4, clock=SimulatedClock(), admission=Admission(), delay=0.0)
    put = [
        Candidate(url(host, 0), 1 - host / 100, url(99, 0), f"anchor {host}", {"page": 0.5}, 2) for host in range(40)
    ]
    frontier.put(put)
    taken = []
    while (candidate := frontier.take(0.0)) is not None:
        taken.append(candidate)
        frontier.save()
    assert taken == put


def test_a_host_that_was_parked_twice_is_forgotten_once() -> None:
    frontier = DurableFrontier(sqlite3.connect(":memory:"), clock=SimulatedClock(), delay=0.0, per_address=1)
    frontier.rank_by(BestFirst())
    for host, page, priority in (("a", 1, 0.3), ("b", 1, 0.3), ("a", 2, 0.1), ("b", 2, 0.9)):
        frontier.put([Candidate(Url(f"http://{host}.site.example/{page}"), priority)])
    for priority in (0.9, 0.3, 0.3, 0.1):
        taken = frontier.take(0.0)
        assert taken is not None and taken.priority == priority
        if len(frontier) == 2:
            assert frontier.take(0.0) is None  # one request at a time
        frontier.settle(taken.url)


def test_dormant_hosts_of_a_domain_over_its_share_are_not_read_while_others_are_idle() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = DurableFrontier(
        connection, clock=SimulatedClock(), delay=0.0, in_memory=10, per_address=1_000, site_share=0.02
    )
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(Url(f"http://h{number}.farm.example/"), 0.9) for number in range(200)])
    frontier.put([Candidate(Url(f"http://www.site{number}.example/"), 0.5) for number in range(50)])
    frontier.save()
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    taken = []
    while len(taken) < 50 and (candidate := frontier.take(0.0)) is not None:
        taken.append(candidate)
        frontier.put([Candidate(Url(f"http://late{number}.example/{len(taken)}"), 0.3) for number in range(10)])
    assert ["farm" in each.url for each in taken] == [True] * 2 + [False] * 48
    assert frontier.passed_over == {"farm.example": 48}
    assert len(statements) <= 2 * len(taken)
