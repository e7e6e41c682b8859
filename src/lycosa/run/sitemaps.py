"""The URLs in sitemaps, which are fetched by a small crawl of their own, with a frontier."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress

from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Journal, Loop
from lycosa.recipe import Requests
from lycosa.strategies.base import BaseStrategy
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Candidate, Fetch, Host, Outcome, PastFetch, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, origin_of
from lycosa.web.robots import RobotsWeb, TextWeb
from lycosa.web.sitemaps import MAX_BYTES, parse_sitemap, unzipped

from .crawl import Assessor, Crawl, EverySeedRefusedError, Status
from .host_slots import CurrentSlots

_MAX_SITEMAPS = 1_000  # downloads
_MAX_PER_HOST = 100  # so that one host cannot use up the total
_MAX_BYTES_PER_HOST = 50_000_000  # unzipped: ten seconds of parsing, and the largest size of one sitemap
_SITEMAP, _SITEMAP_OF_INDEX = 1, 2  # depths: an index lists sitemaps, but not other indexes


class SitemapUrls:
    """The URLs of sitemaps, in their order, and the number of sitemaps in robots.txt."""

    def __init__(self, limit: int = 50_000):
        self.limit = limit
        self.sitemaps_named = 0  # in robots.txt
        self._listed: dict[int, list[Url]] = {}  # by the position of the sitemap
        self._count = 0

    def add(self, number: int, pages: Sequence[Url]) -> None:
        self._listed[number] = list(pages[: self.limit - self._count])
        self._count += len(self._listed[number])

    @property
    def is_full(self) -> bool:
        return self._count >= self.limit

    @property
    def urls(self) -> list[Url]:
        return list(dict.fromkeys(url for _, pages in sorted(self._listed.items()) for url in pages))


async def urls_in_sitemaps(
    web: TextWeb,
    sitemaps: Iterable[Url] = (),
    *,
    clock: Clock,
    requests: Requests,
    robots: RobotsWeb | None = None,
    hosts_of: Iterable[Url] = (),
    default_path: str = "",
    limit: int = 50_000,
    slots: CurrentSlots | None = None,
    journal: Journal | None = None,
    holds: Mapping[Host, float] = {},
    interrupted: Callable[[], bool] = lambda: False,
) -> SitemapUrls:
    """The first `limit` URLs in these sitemaps and those they refer to; sitemaps that cannot be read are left out.

    robots: gives the sitemaps in robots.txt of the hosts of `hosts_of`.
    default_path: path of the sitemap of a host that lists none.
    journal: gets every fetch, including those to be retried.
    holds: hosts that may not be requested yet, and until when.
    """
    result = SitemapUrls(limit)
    robots_urls = [Url(f"{origin}/robots.txt") for origin in dict.fromkeys(map(origin_of, hosts_of))]
    strategy = _Sitemaps(result, frozenset(robots_urls), default_path)
    frontier = MemoryFrontier(clock=clock, delay=requests.delay, per_address=requests.address_limit)
    for host, until in holds.items():
        frontier.hold(host, until)
    crawl = Crawl(
        web=_SitemapWeb(web, robots, frozenset(robots_urls), clock),
        assess=Assessor(read=lambda fetch: None, judge=None),
        loop=Loop(strategy, frontier, journal=journal, clock=clock, retries=requests.retries),
        clock=clock,
        status=Status(interrupted=lambda: interrupted() or result.is_full),
        concurrency=requests.concurrency,
        slots=slots or CurrentSlots(),
    )
    crawl.loop.start((*robots_urls, *sitemaps))
    with suppress(EverySeedRefusedError):
        async with aclosing(crawl.visits()) as visits:
            async for _ in visits:
                pass
    return result


class _Sitemaps(BaseStrategy):
    """Goes from robots.txt to its sitemaps, and from an index to its sitemaps."""

    name = "sitemaps"
    scale = "order"
    exhaustive = False

    def __init__(self, result: SitemapUrls, robots_urls: frozenset[Url], default_path: str):
        self._result = result
        self._robots_urls = robots_urls
        self._default_path = default_path
        self._proposed: Counter[Host] = Counter()  # sitemaps proposed
        self._bytes_read: Counter[Host] = Counter()  # of sitemaps read, unzipped

    def start(self, seeds: Sequence[Url]) -> list[Candidate]:
        robots_urls = [seed for seed in seeds if seed in self._robots_urls]
        others = [seed for seed in seeds if seed not in self._robots_urls]
        return [Candidate(url, 1.0) for url in robots_urls] + self._sitemaps(others, _SITEMAP)

    def propose(self, event: Visit | Skip) -> list[Candidate]:
        if isinstance(event, Skip) or event.fetch.outcome is not Outcome.OK:
            return []
        candidate, fetch = event.candidate, event.fetch
        if candidate.url in self._robots_urls:
            named = [Url(line) for line in fetch.content.decode().splitlines()]
            self._result.sitemaps_named += len(named)
            if not named and self._default_path:
                named = [Url(origin_of(candidate.url) + self._default_path)]
            return self._sitemaps(named, _SITEMAP)
        content = unzipped(fetch.content)
        host = host_of(fetch.url)
        self._bytes_read[host] += len(content)
        if self._bytes_read[host] > _MAX_BYTES_PER_HOST:
            return []
        pages, sitemaps = parse_sitemap(fetch.url, content, self._result.limit)
        self._result.add(-int(candidate.priority), pages)
        return self._sitemaps(sitemaps, _SITEMAP_OF_INDEX) if candidate.depth == _SITEMAP else []

    def _sitemaps(self, urls: Sequence[Url], depth: int) -> list[Candidate]:
        """Candidates with falling priorities, so that sitemaps are fetched, and their pages listed, in order."""
        candidates = []
        for url in urls[:_MAX_SITEMAPS]:
            host = host_of(url)
            if self._proposed[host] < _MAX_PER_HOST and self._proposed.total() < _MAX_SITEMAPS:
                self._proposed[host] += 1
                candidates.append(Candidate(url, -float(self._proposed.total()), depth=depth))
        return candidates


class _SitemapWeb:
    """Answers requests for robots.txt with its sitemaps, one a line, and fetches sitemaps."""

    def __init__(self, web: TextWeb, robots: RobotsWeb | None, robots_urls: frozenset[Url], clock: Clock):
        self._web = web
        self._robots = robots
        self._robots_urls = robots_urls
        self._clock = clock

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        if url not in self._robots_urls or self._robots is None:
            return await self._web.fetch_text(url, limit=MAX_BYTES)
        sitemaps = await self._robots.sitemaps(url)
        if isinstance(sitemaps, Fetch):
            return sitemaps
        return Fetch(url, Outcome.OK, self._clock.now(), content="\n".join(sitemaps).encode())

    async def close(self) -> None:
        await self._web.close()
