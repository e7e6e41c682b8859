"""A robots.txt as large as may be read, of rules that have to be tried one by one."""

import asyncio
import tracemalloc

import pytest

from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.web.robots import RobotsWeb

_RULES = ("User-agent: *\n" + "".join(f"Disallow: /*a{number}*b\n" for number in range(25_000))).encode()


class _EveryHost:
    """Has the same robots.txt on every host."""

    def __init__(self) -> None:
        self.robots = 0

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return Fetch(url, Outcome.OK, 0.0)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        self.robots += 1
        return Fetch(url, Outcome.OK, 0.0, content=_RULES)

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
