"""The URLs in sitemaps, which are fetched by a small crawl of their own, with a frontier."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from contextlib import aclosing, suppress

from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Journal, Loop
from lycosa.recipe import Requests
from lycosa.strategies.base import BaseStrategy
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Candidate, Fetch, Host, Outcome, PastFetch, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, origin_of, site_of
from lycosa.web.robots import RobotsWeb, TextWeb
from lycosa.web.sitemaps import MAX_BYTES, parse_sitemap, unzipped

from .crawl import Assessor, Crawl, EverySeedRefusedError, Status
from .host_slots import CurrentSlots

_MAX_SITEMAPS = 1_000  # downloads
_MAX_PER_HOST = 100  # so that one host cannot use up the total
_MAX_BYTES_PER_HOST = 50_000_000  # unzipped: ten seconds of parsing, and the largest size of one sitemap
_SITEMAP, _SITEMAP_OF_INDEX = 1, 2  # depths: an index lists sitemaps, but not other indexes


class SitemapUrls:
    """The URLs listed in sitemaps, in the order of the sitemaps, and how many sitemaps robots.txt files name.

    sites: those whose sitemaps are read; each gets an equal share of the limit.
    """

    def __init__(self, limit: int = 50_000, sites: int = 1):
        self.limit = limit
        self.sitemaps_in_robots = 0
        self.foreign = 0  # URLs left out, because the sitemap is not one of their site
        self._share = max(1, limit // max(1, sites))
        self._listed: dict[int, list[Url]] = {}  # by the position of the sitemap among all
        self._count_of: Counter[str] = Counter()  # by site

    def add(self, position: int, pages: Iterable[Url], sites: Container[str]) -> None:
        """Adds the pages that a sitemap of some sites lists."""
        listed = self._listed[position] = []
        for page in pages:
            site = site_of(page)
            if site not in sites:
                self.foreign += 1
            elif self._count_of[site] < self._share and not self.is_full:
                self._count_of[site] += 1
                listed.append(page)

    @property
    def is_full(self) -> bool:
        return self._count_of.total() >= self.limit

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
    host_urls: Iterable[Url] = (),
    default_path: str = "",
    limit: int = 50_000,
    slots: CurrentSlots | None = None,
    journal: Journal | None = None,
    holds: Mapping[Host, float] = {},
    interrupted: Callable[[], bool] = lambda: False,
) -> SitemapUrls:
    """The first `limit` URLs in these sitemaps and those they refer to; sitemaps that cannot be read are left out.

    robots: reads the sitemaps that robots.txt names, of the hosts of `host_urls`.
    default_path: path of the sitemap of a host whose robots.txt names none.
    journal: gets every fetch, including those to be retried.
    holds: hosts that may not be requested yet, and until when.
    """
    robots_urls = [Url(f"{origin}/robots.txt") for origin in dict.fromkeys(map(origin_of, host_urls))]
    sitemaps = list(sitemaps)
    result = SitemapUrls(limit, len(set(map(site_of, (*robots_urls, *sitemaps)))))
    strategy = _SitemapStrategy(result, frozenset(robots_urls), default_path)
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


class _SitemapStrategy(BaseStrategy):
    """Goes from robots.txt to its sitemaps, and from an index to its sitemaps."""

    name = "sitemaps"
    scale = "order"  # only the order of its priorities is meaningful
    exhaustive = False  # it does not propose every link

    def __init__(self, result: SitemapUrls, robots_urls: frozenset[Url], default_path: str):
        self._result = result
        self._robots_urls = robots_urls
        self._default_path = default_path
        self._proposed: Counter[Host] = Counter()  # sitemaps proposed
        self._proposed_for: Counter[str] = Counter()  # the same by the site that named them
        self._max_per_site = max(1, _MAX_SITEMAPS // max(1, len(set(map(site_of, robots_urls)))))
        # By position: the sites whose robots.txt names the sitemap, or its index. Only their URLs may be in it.
        self._sites: dict[int, set[str]] = {}
        self._positions: dict[Url, int] = {}
        self._bytes_read: Counter[Host] = Counter()  # of sitemaps read, unzipped

    def start(self, seeds: Sequence[Url]) -> list[Candidate]:
        robots_urls = [seed for seed in seeds if seed in self._robots_urls]
        others = [seed for seed in seeds if seed not in self._robots_urls]
        candidates = [Candidate(url, 1.0) for url in robots_urls]
        return candidates + [each for url in others for each in self._sitemaps([url], _SITEMAP, {site_of(url)})]

    def propose(self, event: Visit | Skip) -> list[Candidate]:
        if isinstance(event, Skip) or event.fetch.outcome is not Outcome.OK:
            return []
        candidate, fetch = event.candidate, event.fetch
        if candidate.url in self._robots_urls:
            named = [Url(line) for line in fetch.content.decode().splitlines()]
            self._result.sitemaps_in_robots += len(named)
            if not named and self._default_path:
                named = [Url(origin_of(candidate.url) + self._default_path)]
            return self._sitemaps(named, _SITEMAP, {site_of(candidate.url)})
        content = unzipped(fetch.content)
        host = host_of(fetch.url)
        self._bytes_read[host] += len(content)
        if self._bytes_read[host] > _MAX_BYTES_PER_HOST:
            return []
        pages, sitemaps = parse_sitemap(fetch.url, content, self._result.limit)
        position = -int(candidate.priority)
        sites = self._sites.get(position, set())
        self._result.add(position, pages, sites)
        return self._sitemaps(sitemaps, _SITEMAP_OF_INDEX, sites) if candidate.depth == _SITEMAP else []

    def _sitemaps(self, urls: Sequence[Url], depth: int, sites: Set[str]) -> list[Candidate]:
        """Candidates with priority minus their position, so that sitemaps are fetched, and pages listed, in order."""
        candidates = []
        for url in urls[:_MAX_SITEMAPS]:
            if (known := self._positions.get(url)) is not None:
                self._sites[known] |= sites
                continue
            host = host_of(url)
            is_within_share = any(self._proposed_for[site] < self._max_per_site for site in sites)
            if is_within_share and self._proposed[host] < _MAX_PER_HOST and self._proposed.total() < _MAX_SITEMAPS:
                self._proposed[host] += 1
                self._proposed_for.update(sites)
                position = self._proposed.total()
                self._positions[url], self._sites[position] = position, set(sites)
                candidates.append(Candidate(url, -float(position), depth=depth))
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
            return await self._web.fetch_any_type(url, limit=MAX_BYTES)
        sitemaps = await self._robots.sitemaps(url)
        if isinstance(sitemaps, Fetch):
            return sitemaps
        return Fetch(url, Outcome.OK, self._clock.now(), content="\n".join(sitemaps).encode())

    async def close(self) -> None:
        await self._web.close()
