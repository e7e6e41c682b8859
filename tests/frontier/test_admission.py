import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.frontier import admission as admission_module
from lycosa.frontier.admission import Admission, Scope, Traps
from lycosa.vocabulary import key_table
from lycosa.vocabulary.records import Candidate, Skip, Url
from lycosa.vocabulary.urls import host_of, site_of


def why(skip: Skip | None) -> str | None:
    return None if skip is None else skip.why


def refusal(url: str, *, depth: int = 0, sites: frozenset[str] = frozenset(), **scope: object) -> str | None:
    admission = Admission(Scope(**scope), sites=sites)
    return why(admission.refuse_or_count(Candidate(Url(url), 0.5, depth=depth)))


@pytest.mark.parametrize(
    ("url", "scope", "reason"),
    [
        ("http://a.org/x", {}, None),
        ("http://a.org/x", {"hosts": ("a.org",)}, None),
        ("http://www.a.org/x", {"hosts": ("a.org",)}, None),
        ("http://notа.org/x", {"hosts": ("a.org",)}, "scope: host not included"),
        ("http://evil-a.org/x", {"hosts": ("a.org",)}, "scope: host not included"),
        ("http://a.org:81/x", {"hosts": ("a.org:81",)}, None),
        ("http://a.org/x", {"exclude_hosts": ("a.org",)}, "scope: host excluded"),
        ("http://www.a.org./x", {"exclude_hosts": ("a.org",)}, "scope: host excluded"),
        ("http://a.org/wiki/x", {"urls": ("*/wiki/*",)}, None),
        ("http://a.org/talk/x", {"urls": ("*/wiki/*",)}, "scope: URL not included"),
        ("http://a.org/login?x", {"exclude_urls": ("*/login*", "*/logout*")}, "scope: URL excluded"),
    ],
)
def test_scope(url: str, scope: dict[str, object], reason: str | None) -> None:
    assert refusal(url, **scope) == reason


def test_staying_on_the_sites_of_the_seeds_includes_their_subdomains() -> None:
    sites = frozenset({"a.co.uk"})
    assert refusal("http://shop.a.co.uk/", stay_on_sites=True, sites=sites) is None
    assert refusal("http://b.co.uk/", stay_on_sites=True, sites=sites) == "scope: not on the sites of the seeds"


@pytest.mark.parametrize(
    ("url", "depth", "reason"),
    [
        ("http://a.org/" + "x" * 2_000, 0, "trap: URL too long"),
        ("http://a.org/x", 101, "trap: too many links from a seed"),
        ("http://a.org/" + "/".join("abcdefghijklmnopqrstuvw"), 0, "trap: path too deep"),
        ("http://a.org/a/b/a/b/a/b/a/b", 0, "trap: path repeats itself"),
        ("http://a.org/a/a/a/a", 0, "trap: path repeats itself"),
        ("http://a.org/a/a/a", 0, None),
        ("http://a.org/2024/01/02/a-long/but/honest/path", 0, None),
    ],
)
def test_traps(url: str, depth: int, reason: str | None) -> None:
    assert refusal(url, depth=depth) == reason


@pytest.mark.parametrize(
    ("traps", "url", "reason"),
    [
        (Traps(repeats=1), "http://a.org/a/a", "trap: path repeats itself"),
        (Traps(repeats=1), "http://a.org/a/b", None),
        (Traps(path_segments=2), "http://a.org/a/b/c", "trap: path too deep"),
        (Traps(path_segments=2), "http://a.org/a/b", None),
    ],
)
def test_low_limits_hold_for_short_paths(traps: Traps, url: str, reason: str | None) -> None:
    assert why(Admission(traps=traps).refuse_or_count(Candidate(Url(url), 0.5))) == reason


def test_an_endless_calendar_is_cut_and_its_host_goes_on() -> None:
    admission = Admission(traps=Traps(queries=10))
    reasons = [
        why(admission.refuse_or_count(Candidate(Url(f"http://a.org/calendar?day={day}"), 0.5))) for day in range(20)
    ]
    assert reasons == [None] * 10 + ["trap: too many queries on one path"] * 10
    assert admission.refuse_or_count(Candidate(Url("http://a.org/other?day=1"), 0.5)) is None


def test_a_host_takes_only_so_many() -> None:
    admission = Admission(traps=Traps(per_host=3))
    reasons = [why(admission.refuse_or_count(Candidate(Url(f"http://a.org/{page}"), 0.5))) for page in range(4)]
    assert reasons == [None, None, None, "trap: host is full"]
    assert admission.refuse_or_count(Candidate(Url("http://b.org/"), 0.5)) is None


NAMES = ("a.org", "www.a.org", "b.a.org", "a.org:81", "co.uk", "x.co.uk", "www.x.co.uk", "10.0.0.1", "10.0.0.1:8000")


@given(hosts=st.lists(st.sampled_from(NAMES), max_size=40), dropped=st.lists(st.integers(0, 39), max_size=40))
def test_urls_and_hosts_of_a_registered_domain_are_counted(hosts: list[str], dropped: list[int]) -> None:
    for max_pending in (1, 4, 1_000):
        admission, counted = Admission(), list(hosts)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admission_module, "_MAX_PENDING", max_pending)
            for host in hosts:
                admission.count(Url(f"http://{host}/"))
            for number in dropped:
                if counted:
                    admission.discount(Url(f"http://{counted.pop(number % len(counted))}/"))
        sites = Counter(site_of(host_of(f"http://{host}/")) for host in counted)
        for site in map(site_of, NAMES):
            counts = admission._site_counts
            assert counts.urls_of(site) == sites[site]
            assert counts.hosts_of(site) == len({host for host in counted if site_of(host) == site})


@pytest.mark.slow
def test_a_host_that_is_alone_on_its_domain_takes_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "_MIN_RECENT", 32)  # few keys in dictionaries, as in large tables
    admission = Admission()

    def count(numbers: range) -> int:
        for number in numbers:
            admission.count(Url(f"http://h{number}.example/"))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = count(range(30_000)), count(range(30_000, 90_000))
    finally:
        tracemalloc.stop()
    assert after - before < 20 * 60_000
