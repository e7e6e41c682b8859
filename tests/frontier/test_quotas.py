"""However fetches end and overlap, no host and no site gets more pages than it may have, and nothing gets lost."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.frontier.admission import Admission
from lycosa.frontier.durable import DurableFrontier
from lycosa.frontier.lanes import Lanes
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.quotas import Quotas
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import REFRESH, Candidate, SkipReason, Url
from lycosa.vocabulary.urls import host_of, site_of

HOSTS = ["a.one.org", "b.one.org", "c.one.org", "two.org", "d.two.org"]
MAKE = {
    "memory": MemoryFrontier,
    "durable": lambda **options: DurableFrontier(sqlite3.connect(":memory:"), **options),
}
every_frontier = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
Make = Callable[..., MemoryFrontier]


def candidates(per_host: int) -> list[Candidate]:
    urls = [Url(f"http://{host}/{page}") for page in range(per_host) for host in HOSTS]
    return [Candidate(url, (sum(url.encode()) % 89) / 89) for url in urls]


def frontier_with(make: Make, quotas: Quotas, **options: object) -> MemoryFrontier:
    return make(clock=SimulatedClock(), admission=Admission(quotas=quotas), delay=0.0, **options)


@pytest.mark.slow
@every_frontier
@given(
    per_host=st.none() | st.integers(1, 6),
    per_site=st.none() | st.integers(1, 9),
    concurrency=st.integers(1, 5),
    ends=st.lists(st.sampled_from(["kept", "gone", "again"]), max_size=60),
    order=st.randoms(use_true_random=False),
)
def test_each_url_is_fetched_or_skipped_and_no_quota_is_exceeded(
    make: Make, per_host: int | None, per_site: int | None, concurrency: int, ends: list[str], order: Random
) -> None:
    frontier = frontier_with(make, Quotas(per_host, per_site))
    offered = candidates(4)
    skips = frontier.put(offered)
    in_flight: list[Candidate] = []
    fetched: list[Url] = []
    hosts: Counter[str] = Counter()
    sites: Counter[str] = Counter()
    while True:
        while len(in_flight) < concurrency and (candidate := frontier.take(0.0)):
            in_flight.append(candidate)
        if not in_flight:
            break
        candidate = in_flight.pop(order.randrange(len(in_flight)))
        end = ends.pop() if ends else "kept"
        if end == "again":
            frontier.requeue(candidate)
            continue
        fetched.append(candidate.url)
        hosts[host_of(candidate.url)] += end == "kept"
        sites[site_of(candidate.url)] += end == "kept"
        skips += frontier.settle(candidate.url, is_kept=end == "kept")
    assert len(frontier) == 0
    assert frontier.next_ready_at() is None
    assert Counter([*fetched, *(skip.candidate.url for skip in skips)]) == Counter(each.url for each in offered)
    assert all(skip.reason is SkipReason.QUOTA for skip in skips)
    assert per_host is None or max(hosts.values()) <= per_host
    assert per_site is None or max(sites.values()) <= per_site
    for skip in skips:  # only where one more would have been too many
        host, site = host_of(skip.candidate.url), site_of(skip.candidate.url)
        assert hosts[host] == per_host or sites[site] == per_site


@every_frontier
def test_a_link_to_a_full_host_is_skipped_once_with_the_quota_it_exceeds(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_host=1))
    frontier.put([Candidate(Url("http://two.org/1"), 0.9), Candidate(Url("http://two.org/2"), 0.8)])
    first = frontier.take(0.0)
    assert first is not None
    (dropped,) = frontier.settle(first.url, is_kept=True)
    assert (dropped.candidate.url, dropped.why) == ("http://two.org/2", "quota: its host has 1 page")
    (refused,) = frontier.put([Candidate(Url("http://two.org/3"), 0.9), Candidate(Url("http://d.two.org/"), 0.1)][:1])
    assert refused.reason is SkipReason.QUOTA
    assert frontier.put([dropped.candidate, refused.candidate]) == []
    assert frontier.put([Candidate(Url("http://d.two.org/"), 0.1)]) == []
    assert len(frontier) == 1


@every_frontier
def test_where_fetches_in_flight_may_fill_a_site_its_other_hosts_wait_for_them(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_site=1))
    frontier.put([Candidate(Url(f"http://{host}/"), 0.5) for host in HOSTS])
    first, other = frontier.take(0.0), frontier.take(0.0)
    assert first is not None and other is not None
    assert {site_of(first.url), site_of(other.url)} == {"one.org", "two.org"}
    assert frontier.take(0.0) is None
    assert frontier.next_ready_at() is None
    assert frontier.settle(first.url) == []  # it brought no page
    second = frontier.take(0.0)
    assert second is not None and site_of(second.url) == site_of(first.url)
    assert frontier.take(0.0) is None
    assert {site_of(skip.candidate.url) for skip in frontier.settle(second.url, is_kept=True)} == {site_of(first.url)}


@every_frontier
def test_a_host_that_lost_what_it_had_does_not_keep_the_others_of_its_site_waiting(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_site=1), limit=2)
    frontier.put([Candidate(Url("http://a.one.org/"), 0.9), Candidate(Url("http://b.one.org/"), 0.5)])
    first = frontier.take(0.0)
    assert first is not None and frontier.take(0.0) is None  # b.one.org waits for it
    frontier.put([Candidate(Url("http://c.one.org/"), 0.7)])
    assert frontier.take(0.0) is None  # and so does c.one.org
    (evicted,) = frontier.put([Candidate(Url("http://two.org/"), 0.8)])
    assert evicted.candidate.url == "http://b.one.org/"
    frontier.settle(first.url)
    taken = {candidate.url for candidate in (frontier.take(0.0), frontier.take(0.0)) if candidate is not None}
    assert taken == {"http://two.org/", "http://c.one.org/"}


@every_frontier
def test_a_host_that_loses_what_it_has_after_it_resumed_does_not_either(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_site=1))
    frontier.put([Candidate(Url(f"http://{host}/"), 0.5) for host in ("a.one.org", "b.one.org", "c.one.org")])
    first = frontier.take(0.0)
    assert first is not None and frontier.take(0.0) is None
    frontier.settle(first.url)
    frontier.settle(Url("http://b.one.org/"))
    last = frontier.take(0.0)
    assert last is not None and last.url == "http://c.one.org/"


@every_frontier
def test_where_a_host_and_its_site_fill_at_once_each_skip_names_its_own_quota(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_host=2, per_site=3))
    frontier.settle(Url("http://b.one.org/0"), is_kept=True)
    frontier.settle(Url("http://a.one.org/0"), is_kept=True)
    frontier.put(
        [Candidate(Url(f"http://{host}/{page}"), 0.5) for page in (1, 2) for host in ("a.one.org", "b.one.org")]
    )
    skips = frontier.settle(Url("http://a.one.org/1"), is_kept=True)
    assert {skip.candidate.url: skip.detail for skip in skips} == {
        "http://a.one.org/2": "its host has 2 pages",
        "http://b.one.org/1": "its site has 3 pages",
        "http://b.one.org/2": "its site has 3 pages",
    }


@every_frontier
def test_a_visit_read_again_counts_once(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_host=2))
    for _ in range(3):
        frontier.settle(Url("http://two.org/1"), is_kept=True)
    assert frontier.put([Candidate(Url("http://two.org/2"), 0.5)]) == []


@every_frontier
def test_quotas_that_are_raised_let_in_what_they_kept_out_once_it_is_put_anew(make: Make) -> None:
    frontier = frontier_with(make, Quotas(per_site=1))
    frontier.settle(Url("http://a.one.org/0"), is_kept=True)
    assert len(frontier.put(candidates(1))) == 2  # those of b.one.org and c.one.org; the third is settled
    frontier.set_quotas(Quotas(per_site=3))
    frontier.clear_waiting()
    assert frontier.put(candidates(1)) == []
    assert len(frontier) == 4


def test_pages_seen_again_are_no_new_pages_of_their_host() -> None:
    clock = SimulatedClock()
    links = MemoryFrontier(clock=clock, admission=Admission(quotas=Quotas(per_host=1)), delay=0.0)
    links.settle(Url("http://two.org/1"), is_kept=True)
    again = Candidate(Url("http://two.org/1"), 0.5, lane=REFRESH)
    links.put([Candidate(Url("http://a.one.org/"), 0.5)])
    lanes = Lanes(links, [again], requests=2, expand=0.5, random=Random(1), clock=clock, delay=0.0)
    taken = [lanes.take(0.0), lanes.take(0.0)]
    for candidate in taken:
        assert candidate is not None
        assert lanes.settle(candidate.url, is_kept=True) == []
    assert links.put([Candidate(Url("http://two.org/2"), 0.5)])[0].why == "quota: its host has 1 page"
