"""A robots.txt as large as may be read, of rules that have to be tried one by one."""

import asyncio
import time
import tomllib
import tracemalloc
from pathlib import Path

import pytest

from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
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
