"""A robots.txt as large as may be read, of rules that have to be tried one by one."""

import asyncio
import gc
import time
import tomllib
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from protego import Protego

from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Host, Outcome, PastFetch, Url
from lycosa.vocabulary.urls import host_of
from lycosa.web.robots import RobotsWeb

_RULES = ("User-agent: *\n" + "".join(f"Disallow: /*a{number}*b\n" for number in range(25_000))).encode()
_CLOCK = SimulatedClock(1.0)
_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


class _EveryHost:
    """Has the same robots.txt on every host."""

    def __init__(self, rules: bytes = _RULES) -> None:
        self.robots = 0
        self._rules = rules

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return Fetch(url, Outcome.OK, 0.0)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        self.robots += 1
        return Fetch(url, Outcome.OK, 0.0, content=self._rules)

    async def close(self) -> None: ...


def _ask(every: _EveryHost, *, hosts: int, pages: int) -> None:
    async def ask() -> None:
        web = RobotsWeb(every, user_agent="lycosa/1", clock=SimulatedClock(1.0))
        for number in range(pages):
            await web.fetch(Url(f"http://h{number % hosts}.example/{number}"))

    asyncio.run(ask())


@pytest.mark.slow
def test_a_robots_txt_of_wildcards_is_read_once_on_each_of_many_hosts() -> None:
    every = _EveryHost()
    _ask(every, hosts=20, pages=60)
    assert every.robots == 20


@pytest.mark.slow
def test_a_robots_txt_of_wildcards_takes_little_memory() -> None:
    tracemalloc.start()
    _ask(_EveryHost(), hosts=1, pages=1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * len(_RULES)


class _HasDelay:
    """Slots of hosts that are always free, but between whose requests there is a delay."""

    has_delay = True

    def acquire(self, host: Host, now: float) -> float | None:
        return None

    def release(self, host: Host, now: float) -> None: ...

    def claim_address(self, host: Host, address: str) -> bool:
        return True

    def hold(self, host: Host, until: float) -> None: ...


class _LargeOnSome(_EveryHost):
    """Large robots.txt on some hosts, as large as is read, and a small one on the others; counts how often each is
    requested."""

    def __init__(self, large: bytes, host_of_large: Callable[[str], bool]) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self._large, self._is_large = large, host_of_large

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        host = host_of(url)
        self.asked[host] += 1
        small = b"User-agent: *\nDisallow: /shut\nSitemap: /map.xml\n"
        return Fetch(url, Outcome.OK, 0.0, content=self._large if self._is_large(host) else small)


async def _rounds(web: RobotsWeb, urls: Sequence[Url], *, rounds: int) -> dict[Url, Outcome]:
    """The outcomes of URLs that are fetched in turn, each again as long as it is postponed."""
    outcomes: dict[Url, Outcome] = {}
    for _ in range(rounds):
        for url in urls:
            if outcomes.get(url) in (None, Outcome.POSTPONED):
                outcomes[url] = (await web.fetch(url)).outcome
    return outcomes


_BLANK = b"\n" * 512_000
_JUNK = b"x\n" * 256_000
_MANY_RULES = b"User-agent: *\nAllow: /allowed\nAllow: /$\nAllow: /more\nDisallow: /shut\n" + b"".join(
    b"Disallow: /%d\n" % number for number in range(30_000)
)
_OTHER_ROBOTS = (
    b"".join(b"User-agent: r%d\nDisallow: /%d\n" % (n, n) for n in range(15_000)) + b"User-agent: *\nDisallow: /shut"
)


@pytest.mark.parametrize("large", [_BLANK, _JUNK, _MANY_RULES, _OTHER_ROBOTS])
def test_large_robots_txt_of_a_site_do_not_displace_those_of_others(large: bytes) -> None:
    """Each displaced the others before a page was fetched: robots.txt were requested for ever, and nothing else."""
    every = _LargeOnSome(large, lambda host: host.endswith("farm.example"))
    web = RobotsWeb(every, user_agent="lycosa/1", clock=_CLOCK, slots=_HasDelay())
    good = [Url(f"http://g{number}.example/") for number in range(5)]
    urls = [*good, *(Url(f"http://h{number}.farm.example/") for number in range(12))]
    outcomes = asyncio.run(_rounds(web, urls, rounds=2))
    assert set(outcomes.values()) == {Outcome.OK}
    asyncio.run(_rounds(web, [Url(f"{url}more") for url in urls], rounds=2))
    assert {every.asked[host_of(url)] for url in good} == {1}
    assert max(every.asked.values()) <= 2


def test_what_was_postponed_is_decided_even_if_the_rules_do_not_fit() -> None:
    every = _LargeOnSome(_MANY_RULES, lambda host: True)
    web = RobotsWeb(every, user_agent="lycosa/1", clock=_CLOCK, slots=_HasDelay())
    for path, outcome in (("shut", Outcome.FORBIDDEN), ("9000", Outcome.FORBIDDEN), ("allowed", Outcome.OK)):
        urls = [Url(f"http://{path}{number}.example/{path}") for number in range(12)]
        assert set(asyncio.run(_rounds(web, urls, rounds=2)).values()) == {outcome}
    assert max(every.asked.values()) == 1


def test_rules_that_were_dropped_take_no_memory() -> None:
    """They refer to each other in cycles, which a crawl hardly ever looks for: 700 MB in a minute."""
    every = _LargeOnSome(_MANY_RULES, lambda host: True)
    web = RobotsWeb(every, user_agent="lycosa/1", clock=_CLOCK, slots=_HasDelay())
    gc.collect()
    before = sum(isinstance(each, Protego) for each in gc.get_objects())
    gc.disable()
    try:
        asyncio.run(_rounds(web, [Url(f"http://h{number}.farm.example/") for number in range(40)], rounds=1))
        kept = sum(isinstance(each, Protego) for each in gc.get_objects()) - before - len(web._decisions)
    finally:
        gc.enable()
    assert kept <= 2 * 64_000_000 / (600 * 10_000) + 2


def test_sitemaps_are_known_even_if_the_rules_do_not_fit() -> None:
    every = _LargeOnSome(b"Sitemap: /map.xml\n" + _MANY_RULES, lambda host: True)
    web = RobotsWeb(every, user_agent="lycosa/1", clock=_CLOCK, slots=_HasDelay())
    hosts = [f"http://h{number}.example" for number in range(12)]
    for host in hosts:
        assert isinstance(asyncio.run(web.sitemaps(Url(f"{host}/robots.txt"))), Fetch)
    for host in hosts:
        assert asyncio.run(web.sitemaps(Url(f"{host}/robots.txt"))) == [f"{host}/map.xml"]
    assert max(every.asked.values()) == 1


def test_a_delay_is_kept_however_many_other_lines_there_are() -> None:
    rules = b"User-agent: *\n" + b"x: y\n" * 50_000 + b"Crawl-delay: 7\n" + b"Sitemap: /s\n" * 10_000
    web = RobotsWeb(_EveryHost(rules), user_agent="lycosa/1", clock=_CLOCK)
    assert asyncio.run(web.fetch(Url("http://a.example/"))).host_not_before == _CLOCK.now() + 7


def test_wildcards_of_one_rule_are_matched_in_linear_time() -> None:
    """Protego before 0.6.2 took 6 s for three of them and 400 characters, and hours for the 2,000 of a URL here."""
    rules = b"User-agent: *\nDisallow: /" + b"*a" * 20 + b"*b\n"
    web = RobotsWeb(_EveryHost(rules), user_agent="lycosa/1", clock=SimulatedClock(1.0))
    began = time.process_time()
    fetch = asyncio.run(web.fetch(Url("http://a.example/" + "a" * 1_900)))
    assert fetch.outcome is Outcome.OK
    assert time.process_time() - began < 1.0


def test_no_protego_is_installed_that_takes_long_or_overlooks_rules() -> None:
    dependencies = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    (oldest,) = (each.partition(">=")[2] for each in dependencies if each.startswith("protego>="))
    assert tuple(map(int, oldest.split("."))) >= (0, 7)


@pytest.mark.parametrize("path", ["/a=b", "//secret", "/?q=caf%C3%A9"])
def test_a_rule_forbids_every_path_that_it_names(path: str) -> None:
    web = RobotsWeb(_EveryHost(f"User-agent: *\nDisallow: {path}\n".encode()), user_agent="lycosa/1", clock=_CLOCK)
    assert asyncio.run(web.fetch(Url(f"http://a.example{path}"))).outcome is Outcome.FORBIDDEN
