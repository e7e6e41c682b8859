"""The URLs in sitemaps, which are fetched by a small crawl of their own, with a frontier.

Sites are served in turn, so that none can use up what others need, and what some leave others may have. The sitemaps
are chosen in waves: first every robots.txt is read, and the next wave is chosen when nothing of the last is left to
fetch. Thus no choice depends on which response came first.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain, islice
from typing import Any

from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Journal, Loop
from lycosa.recipe import Budget, Requests
from lycosa.strategies.base import BaseStrategy
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Candidate, Fetch, Host, Outcome, PastFetch, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, origin_of, site_of
from lycosa.web.robots import RobotsWeb, TextWeb
from lycosa.web.sitemaps import MAX_BYTES, parse_sitemap, unzipped

from .crawl import MAX_HOLD, Assessor, Crawl, EverySeedRefusedError, Status
from .host_slots import CurrentSlots

_MAX_SITEMAPS = 1_000  # number of downloads
_MAX_PER_HOST = 100  # so that one host cannot use up the total
_MAX_WAITING = 100_000  # sitemaps of all sites that wait for their turn; but each site may have `_MAX_PER_HOST`
_MAX_BYTES_PER_SITE = 50_000_000  # unzipped: ten seconds of parsing, and the largest size of one sitemap
_SITEMAP, _SITEMAP_OF_INDEX = 1, 2  # depths: an index lists sitemaps, but not other indexes


class SitemapUrls:
    """The URLs listed in sitemaps, in the order of the sitemaps, and how many sitemaps robots.txt files name.

    If there are more than the limit, each site has one in turn, and its first ones.

    sites: those whose URLs are wanted; the first ones come first if the last turn is not enough for all.
    """

    def __init__(self, limit: int = 50_000, sites: Iterable[str] = ()):
        self.limit = limit
        self.sitemaps_in_robots = 0  # number of them
        self._order = {site: order for order, site in enumerate(dict.fromkeys(sites))}
        self._sites_of: dict[int, set[str]] = {}  # by the position of the sitemap among all
        self._read: set[int] = set()  # positions
        self._listed: dict[int, dict[str, list[Url]]] = {}  # by position, then by site
        self._listed_count = 0  # number of URLs in `_listed`
        self._foreign = 0  # number of URLs that are not in `_listed`, because they were foreign

    def expect(self, position: int, sites: set[str]) -> None:
        """Announces a sitemap; `sites` are those that it may list URLs of, and may get more of them later."""
        self._sites_of[position] = sites

    def add(self, position: int, pages: Iterable[Url] = ()) -> None:
        """Adds the pages that an expected sitemap lists; none if it could not be read."""
        self._read.add(position)
        listed = self._listed.setdefault(position, {})
        for page in pages:
            site = site_of(page)
            if site in self._order:  # even if the sitemap is not known to be one of this site: it may be named later
                listed.setdefault(site, []).append(page)
                self._listed_count += 1
            else:
                self._foreign += 1
        if self._listed_count > 3 * self.limit + 2 * len(self._order):
            self._trim()

    @property
    def foreign(self) -> int:
        """The number of URLs left out, because the sitemap is not one of their site."""
        return self._foreign + sum(
            len(urls)
            for position, listed in self._listed.items()
            for site, urls in listed.items()
            if site not in self._sites_of[position]
        )

    @property
    def urls(self) -> list[Url]:
        found = self._by_site(self._sites_of)
        level = _level(map(len, found.values()), self.limit)
        left = self.limit - sum(min(len(urls), level) for urls in found.values())
        chosen: set[Url] = set()
        for site in sorted(found, key=self._order.__getitem__):
            urls = found[site]
            chosen.update(islice(urls, level + (left > 0)))
            left -= len(urls) > level
        listed = (urls for position in sorted(self._listed) for urls in self._listed[position].values())
        return [url for url in dict.fromkeys(chain.from_iterable(listed)) if url in chosen]

    def served_sites(self) -> set[str]:
        """The sites that need no more sitemaps: whatever these list, the URLs of the site are among those known."""
        if self._listed_count < self.limit:
            return set()
        level = _level(map(len, self._by_site(self._sites_of).values()), self.limit)  # it only falls with more URLs
        return {site for site, urls in self._by_site(self._read).items() if len(urls) > min(level, self.limit - 1)}

    def _by_site(self, positions: Iterable[int]) -> dict[str, dict[Url, None]]:
        """The URLs of each site in its sitemaps, in order, up to its first one that is not at these positions."""
        positions = set(positions)
        found: dict[str, dict[Url, None]] = {}
        ended: set[str] = set()
        for position in sorted(self._sites_of):
            if position not in positions:
                ended |= self._sites_of[position]
            for site, urls in self._listed.get(position, {}).items():
                if site in self._sites_of[position] and site not in ended:
                    found.setdefault(site, {}).update(dict.fromkeys(urls))
        return found

    def _trim(self) -> None:
        """Drops what cannot be among the URLs any more, and of what may be foreign all but the first."""
        found = self._by_site(self._sites_of)
        level = _level(map(len, found.values()), self.limit)
        wanted = {url for urls in found.values() for url in islice(urls, level + 1)}
        room = self.limit
        self._listed_count = 0
        for position in sorted(self._listed):
            listed = self._listed[position]
            for site, urls in listed.items():
                if site in self._sites_of[position]:
                    listed[site] = [url for url in urls if url in wanted]
                    wanted.difference_update(listed[site])
                else:
                    listed[site] = urls[:room]
                    self._foreign += len(urls) - len(listed[site])
                    room -= len(listed[site])
                self._listed_count += len(listed[site])


def _level(counts: Iterable[int], limit: int) -> int:
    """How many each may have if all have the same, and those that want less leave the rest to the others.

    >>> _level([1, 5, 9], 10), _level([1, 2, 3], 10), _level([1, 1, 1], 2)
    (4, 10, 0)
    """
    counts = sorted(counts)
    for index, count in enumerate(counts):
        share = limit // (len(counts) - index)
        if count > share:
            return share
        limit -= count
    return limit + sum(counts)


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
    minutes: float | None = None,
    began: float | None = None,
) -> SitemapUrls:
    """The first `limit` URLs in these sitemaps and those they refer to; sitemaps that cannot be read are left out.

    robots: reads the sitemaps that robots.txt names, of the hosts of `host_urls`.
    default_path: path of the sitemap of a host whose robots.txt names none.
    journal: gets every fetch, including those to be retried.
    holds: hosts that may not be requested yet, and until when.
    minutes: after which no more are fetched, since `began`, in seconds since the epoch.
    """
    robots_urls = [Url(f"{origin}/robots.txt") for origin in dict.fromkeys(map(origin_of, host_urls))]
    sitemaps = list(sitemaps)
    result = SitemapUrls(limit, map(site_of, (*robots_urls, *sitemaps)))
    strategy = _SitemapStrategy(result, robots_urls, default_path)
    frontier = _WaveFrontier(
        strategy.next_wave,
        clock=clock,
        delay=requests.delay,
        per_address=requests.address_limit,
        site_share=1.0,  # all are of the seeds' sites
    )
    for host, until in holds.items():
        frontier.hold(host, until)
    crawl = Crawl(
        web=_SitemapWeb(web, robots, frozenset(robots_urls), clock),
        assess=Assessor(read=lambda fetch: None, judge=None),
        loop=Loop(strategy, frontier, journal=journal, clock=clock, retries=requests.retries),
        clock=clock,
        status=Status(began=began, interrupted=lambda: interrupted() or strategy.is_complete),
        budget=Budget(minutes=minutes),
        concurrency=requests.concurrency,
        slots=slots or CurrentSlots(),
    )
    crawl.loop.start((*robots_urls, *sitemaps))
    with suppress(EverySeedRefusedError):
        async with aclosing(crawl.visits()) as visits:
            async for _ in visits:
                pass
    return result


class _WaveFrontier(MemoryFrontier):
    """Gets the next wave of candidates when the last one is fetched, but for hosts that asked for a long wait.

    That is one of more than `MAX_HOLD`, or several that are longer together: the pages of all sites wait for the
    sitemaps of each.
    """

    def __init__(self, next_wave: Callable[[], list[Candidate]], **options: Any):
        super().__init__(**options)
        self._next_wave = next_wave
        self._held_until: dict[str, float] = {}  # by registered domain, like the following
        self._waits: dict[str, float] = {}  # seconds for which one of its hosts was held

    def take(self, now: float) -> Candidate | None:
        while (candidate := super().take(now)) is None:
            if self._in_flight or self.is_ready_within(MAX_HOLD, now) or not (wave := self._next_wave()):
                break
            self.put(wave)
        return candidate

    def hold(self, host: Host, until: float) -> None:
        site, now = site_of(host), self._clock.now()
        held_until = max(now, self._held_until.get(site, now))
        self._waits[site] = wait = self._waits.get(site, 0.0) + max(0.0, until - held_until)
        self._held_until[site] = max(until, held_until)
        super().hold(host, until if wait <= MAX_HOLD else max(until, now + 2 * MAX_HOLD))


@dataclass
class _Sitemap:
    """A sitemap that a robots.txt, an index or the caller has named.

    sites: those whose robots.txt names the sitemap, its index, or a URL redirected to it. Only their URLs count.
    position: among all that are fetched; 0 while it waits.
    """

    url: Url
    depth: int
    sites: set[str]
    position: int = 0


class _Turns:
    """The sitemaps of a site that wait, and how many it has had."""

    def __init__(self, max_waiting: int):
        self.waiting: deque[_Sitemap] = deque(maxlen=max_waiting)  # if it is full, what is put first drops the last
        self.taken = 0  # number of sitemaps
        self.has_index = False

    @property
    def rank(self) -> int:
        """The number of its next turn; the first index does not count, as it is of no use without a sitemap."""
        return self.taken - self.has_index


class _SitemapStrategy(BaseStrategy):
    """Goes from robots.txt to its sitemaps, and from an index to its sitemaps, in waves."""

    name = "sitemaps"
    scale = "order"  # only the order of its priorities is meaningful
    exhaustive = False  # it does not propose every link

    def __init__(self, result: SitemapUrls, robots_urls: Sequence[Url], default_path: str):
        self._result = result
        self._named: dict[Url, list[Url] | None] = dict.fromkeys(robots_urls)  # None until robots.txt is read
        self._default_path = default_path
        self._from_caller: list[Url] = []
        self._children: dict[int, list[Url]] = {}  # by the position of their index
        self._known: dict[Url, _Sitemap] = {}
        self._max_waiting = _MAX_SITEMAPS  # of each site
        self._fetched: dict[int, _Sitemap] = {}  # by position
        self._unread: set[int] = set()  # positions
        self._fetched_on: Counter[Host] = Counter()
        self._turns: dict[str, _Turns] = {}  # by site
        self._bytes_read: Counter[str] = Counter()  # of sitemaps read, unzipped, by the sites that named them
        self.is_complete = False  # whether no sitemap left would change the URLs

    def start(self, seeds: Sequence[Url]) -> list[Candidate]:
        self._from_caller = [seed for seed in seeds if seed not in self._named]
        sites = dict.fromkeys(map(site_of, (*self._named, *self._from_caller)))
        self._max_waiting = min(_MAX_SITEMAPS, max(_MAX_PER_HOST, _MAX_WAITING // max(1, len(sites))))
        self._turns = {site: _Turns(self._max_waiting) for site in sites}
        return [Candidate(url, 1.0) for url in self._named]

    def propose(self, event: Visit | Skip) -> list[Candidate]:
        """Nothing at once, see `next_wave`; but reads what was fetched."""
        if isinstance(event, Skip):
            return []
        candidate, fetch = event.candidate, event.fetch
        if candidate.url in self._named:
            self._read_robots(candidate.url, fetch)
        elif (sitemap := self._known.get(candidate.url)) is not None:
            if fetch.outcome is Outcome.MOVED and fetch.location is not None:
                self._redirect(sitemap, fetch.location)
            else:
                self._read(sitemap, fetch)
                self.is_complete = self._needs_no_more()
        return []

    def _read_robots(self, url: Url, fetch: Fetch) -> None:
        is_read = fetch.outcome is Outcome.OK
        named = [Url(line) for line in fetch.content.decode().splitlines()] if is_read else []
        self._result.sitemaps_in_robots += len(named)
        if is_read and not named and self._default_path:
            named = [Url(origin_of(url) + self._default_path)]
        self._named[url] = named[: self._max_waiting]

    def _redirect(self, sitemap: _Sitemap, location: Url) -> None:
        """The sitemap at `location` is one of these sites too; it is fetched now, if it waited."""
        target = self._known.setdefault(location, sitemap)
        target.depth = min(target.depth, sitemap.depth)
        if target.position:
            target.sites |= sitemap.sites
        else:
            sitemap.sites |= target.sites
            target.sites, target.position = sitemap.sites, sitemap.position

    def _read(self, sitemap: _Sitemap, fetch: Fetch) -> None:
        self._unread.discard(sitemap.position)
        pages: list[Url] = []
        if fetch.outcome is Outcome.OK:
            content = unzipped(fetch.content)
            self._bytes_read.update(dict.fromkeys(sitemap.sites, len(content)))
            if any(self._bytes_read[site] <= _MAX_BYTES_PER_SITE for site in sitemap.sites):
                pages, sitemaps = parse_sitemap(fetch.url, content, self._result.limit)
                if sitemaps and sitemap.depth == _SITEMAP:
                    self._children[sitemap.position] = sitemaps[: self._max_waiting]
        self._result.add(sitemap.position, pages)

    def _needs_no_more(self) -> bool:
        served = self._result.served_sites()
        if not served or None in self._named.values():
            return False
        unread = (self._fetched[position].sites for position in (*self._unread, *self._children))
        return all(sites <= served for sites in unread) and all(
            site in served for site, turns in self._turns.items() if turns.waiting
        )

    def next_wave(self) -> list[Candidate]:
        """Candidates with priority minus their position, so that sitemaps are fetched, and pages listed, in order.

        Half of the downloads that are left: what an index among them names shall have its turn too.
        """
        self._queue_named()
        self._queue_children()
        left = _MAX_SITEMAPS - len(self._fetched)
        return [
            Candidate(sitemap.url, -float(sitemap.position), depth=sitemap.depth)
            for sitemap in islice(self._in_turn(), (left + 1) // 2)
        ]

    def _queue_named(self) -> None:
        for robots_url, named in self._named.items():
            self._queue(named or (), _SITEMAP, {site_of(robots_url)})
            self._named[robots_url] = named and []
        for url in self._from_caller:
            self._queue([url], _SITEMAP, {site_of(url)})
        self._from_caller = []

    def _queue_children(self) -> None:
        """Before what else waits of their sites, since the index was fetched for their sake."""
        for position in sorted(self._children, reverse=True):
            sites = self._fetched[position].sites
            for site in sites & self._turns.keys():
                self._turns[site].has_index = True
            self._queue(self._children[position], _SITEMAP_OF_INDEX, sites, first=True)
        self._children.clear()

    def _queue(self, urls: Iterable[Url], depth: int, sites: set[str], *, first: bool = False) -> None:
        sitemaps = []
        for url in dict.fromkeys(urls):
            sitemap = self._known.setdefault(url, _Sitemap(url, depth, set()))
            sitemap.sites |= sites
            if not sitemap.position:
                sitemaps.append(sitemap)
        for site in sites & self._turns.keys():
            waiting = self._turns[site].waiting
            if first:
                waiting.extendleft(reversed(sitemaps))
            else:
                waiting.extend(sitemaps[: self._max_waiting - len(waiting)])

    def _in_turn(self) -> Iterator[_Sitemap]:
        """The sitemaps to fetch next, of each site in turn, beginning with the site that has had the fewest."""
        served = self._result.served_sites()
        turns = [
            (each.rank, order, each)
            for order, (site, each) in enumerate(self._turns.items())
            if site not in served and self._bytes_read[site] <= _MAX_BYTES_PER_SITE
        ]
        heapify(turns)
        while turns:
            _, order, each = heappop(turns)
            sitemap = next(filter(self._may_be_fetched, _popped(each.waiting)), None)
            if sitemap is not None:
                each.taken += 1
                heappush(turns, (each.rank, order, each))
                self._fetched_on[host_of(sitemap.url)] += 1
                sitemap.position = len(self._fetched) + 1
                self._fetched[sitemap.position] = sitemap
                self._unread.add(sitemap.position)
                self._result.expect(sitemap.position, sitemap.sites)
                yield sitemap

    def _may_be_fetched(self, sitemap: _Sitemap) -> bool:
        return not sitemap.position and self._fetched_on[host_of(sitemap.url)] < _MAX_PER_HOST


def _popped(waiting: deque[_Sitemap]) -> Iterator[_Sitemap]:
    while waiting:
        yield waiting.popleft()


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
