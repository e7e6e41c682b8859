"""Sources of seeds for a topic or a site. Each source fails independently, with a message.

The user's SearXNG searches for words; the indexes of Common Crawl and the Wayback Machine, sitemaps and llms.txt list
the pages of hosts. Responses are untrusted: bounded, normalised, and restricted to URLs that may be crawled.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from lycosa import __version__
from lycosa.collection.events import Attempt
from lycosa.recipe import Requests
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.hosts import is_private, why_url_refused
from lycosa.vocabulary.records import REQUEST_FAILURES, Fetch, Host, Outcome, Skip, Url, Visit
from lycosa.vocabulary.text import counted, printable
from lycosa.vocabulary.urls import host_of, hostname_of, join, normalise, origin_of
from lycosa.web.http import LiveWeb, user_agent
from lycosa.web.outcomes import outcome_in_words
from lycosa.web.robots import RobotsWeb, TextWeb

from .crawl import ALLOW_PRIVATE_HINT
from .host_slots import CurrentSlots
from .live import require_contact_for
from .options import CommandSettings
from .sitemaps import urls_in_sitemaps

COMMON_CRAWL = "https://index.commoncrawl.org"
WAYBACK = "https://web.archive.org/cdx/search/cdx"
TIMEOUT = 60.0  # seconds for a whole request: indexes are slow
DELAY = 1.0  # seconds between two requests to one host
MAX_BYTES = 20_000_000  # of one answer
MAX_PAGES = 50  # pages of results that are requested of one source
_MAX_HOPS = 5  # redirects
_MAX_POSTPONED = 10  # times that a fetch may be postponed by the delay after robots.txt or a redirect
_MAX_WAIT = 300.0  # seconds; a host that asks for more is given up
_ROWS_PER_ANSWER = 5_000  # of the Wayback Machine
_MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^\s<>)]{1,2048})")
_BARE_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]{1,2048}")


class FoundSeeds(Struct, frozen=True, rename={"source": "way"}):  # the key in JSON, kept for compatibility
    """The URLs of one source."""

    source: str
    urls: tuple[Url, ...]
    problem: str = ""  # why there are no more; empty if nothing went wrong


@dataclass(frozen=True, kw_only=True)
class SeedSources:
    """The sources to use.

    host_urls: a URL of each host whose pages are wanted.
    words: to search for.
    searxng: address of the user's SearXNG, which may be private.
    """

    host_urls: Sequence[Url] = ()
    words: str = ""
    searxng: str = ""
    common_crawl: str = ""  # address of the index; empty if it is not used
    wayback: str = ""  # likewise
    sitemap: bool = False
    llms_txt: bool = False
    limit: int = 1_000  # number of URLs of each source


class _SourceFailedError(LycosaError):
    """A source failed; `status` is that of its response, if it had one."""

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status


@dataclass
class _Client:
    """Makes requests one at a time with a delay for each host, follows redirects, and reports errors."""

    web: TextWeb
    clock: Clock
    delay: float
    slots: CurrentSlots = field(default_factory=CurrentSlots)
    not_before: dict[Host, float] = field(default_factory=dict)  # holds: no request before this time
    failures: dict[Host, str] = field(default_factory=dict)  # why the latest request got no answer, if it got none

    async def text(self, url: Url) -> bytes:
        """The content at a URL; raises _SourceFailedError if there is none."""
        for _ in range(_MAX_HOPS + 1):
            fetch = await self._fetch_when_allowed(url)
            if fetch.outcome is Outcome.MOVED and fetch.location is not None:
                url = fetch.location
                continue
            return _content(fetch)
        raise _SourceFailedError("too many redirects")

    async def json(self, url: Url) -> Any:
        content = await self.text(url)
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            start = printable(content[:80].decode("utf-8", "replace"), 60)
            raise _SourceFailedError(f"{host_of(url)} did not answer with JSON, but with {start!r}") from None

    async def _fetch_when_allowed(self, url: Url) -> Fetch:
        """One fetch, after the delay of its host, which the host may have extended."""
        host = host_of(url)
        self.slots.connect(self)
        for _ in range(_MAX_POSTPONED):
            wait = self.not_before.get(host, 0.0) - self.clock.now()
            if wait > _MAX_WAIT:
                raise _SourceFailedError(f"{host} has asked to wait for {counted(max(1, round(wait / 60)), 'minute')}")
            await self.clock.sleep_until(self.not_before.get(host, 0.0))
            fetch = await self.web.fetch_any_type(url, limit=MAX_BYTES)
            self.release(host, self.clock.now())
            self.hold(host, fetch.host_not_before or 0.0)
            if fetch.outcome is not Outcome.POSTPONED:
                break
        return fetch

    # HostSlots, for robots.txt and redirects: requests are made one at a time here, so that only the delay matters.

    @property
    def has_delay(self) -> bool:
        return self.delay > 0.0

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        free_at = self.not_before.get(host, 0.0)
        return free_at if free_at > now else None

    def release(self, host: Host, now: float) -> None:
        self.hold(host, now + self.delay)

    def hold(self, host: Host, until: float) -> None:
        self.not_before[host] = max(until, self.not_before.get(host, 0.0))

    def claim_address(self, host: Host, address: str) -> bool:
        return True

    # Journal, for sitemaps.

    def record(self, event: Visit | Attempt) -> None:
        fetch, host = event.fetch, host_of(event.fetch.url)
        self.hold(host, fetch.host_not_before or 0.0)
        if fetch.outcome in REQUEST_FAILURES:
            self.failures[host] = _failure_in_words(fetch)
        else:
            self.failures.pop(host, None)

    def record_skips(self, skips: Sequence[Skip]) -> None:
        """Records nothing."""


def _failure_in_words(fetch: Fetch) -> str:
    reason = outcome_in_words(fetch.outcome, fetch.status, fetch.detail)
    return f"{reason}; {ALLOW_PRIVATE_HINT}" if fetch.outcome is Outcome.REFUSED else reason


def _content(fetch: Fetch) -> bytes:
    if fetch.outcome is not Outcome.OK:
        raise _SourceFailedError(f"{host_of(fetch.url)}: {_failure_in_words(fetch)}", fetch.status)
    if fetch.truncated:
        raise _SourceFailedError(f"{host_of(fetch.url)}: the answer was cut at {len(fetch.content):,} bytes")
    return fetch.content


async def find_seeds(
    sources: SeedSources, settings: CommandSettings, contact: str, *, clock: Clock, delay: float = DELAY
) -> AsyncIterator[FoundSeeds]:
    """The URLs of each source, as they arrive."""
    services = [Url(url) for url in (sources.searxng, sources.common_crawl, sources.wayback) if url]
    site_urls = sources.host_urls if sources.sitemap or sources.llms_txt else ()
    require_contact_for([*services, *site_urls], contact, settings.resolve, None)

    def make_web(*, allow_private: bool) -> LiveWeb:
        return LiveWeb(
            user_agent=user_agent(__version__, contact),
            clock=clock,
            timeout=TIMEOUT,
            allow_private=allow_private,
            allow_public=bool(contact),
            resolve=settings.resolve,
        )

    # The user's SearXNG may be on a private network.
    is_searxng_private = bool(sources.searxng) and is_private(hostname_of(sources.searxng))
    searxng_web, public_web = (
        make_web(allow_private=is_searxng_private or settings.allow_private),
        make_web(allow_private=settings.allow_private),
    )
    slots = CurrentSlots()
    robots = RobotsWeb(public_web, user_agent=user_agent(__version__, contact), clock=clock, slots=slots)
    client, site_client = _Client(public_web, clock, delay), _Client(robots, clock, delay, slots)
    try:
        if sources.searxng:
            yield await _collect("SearXNG", sources, settings, _searxng, _Client(searxng_web, clock, delay), sources)
        if sources.common_crawl:
            yield await _collect("Common Crawl", sources, settings, _common_crawl, client, sources)
        if sources.wayback:
            yield await _collect("Wayback Machine", sources, settings, _wayback, client, sources)
        if sources.sitemap:
            yield await _collect("sitemap", sources, settings, _sitemaps, robots, site_client, sources)
        if sources.llms_txt:
            yield await _collect("llms.txt", sources, settings, _llms_txt, site_client, sources)
    finally:
        await searxng_web.close()
        await public_web.close()


class _Urls:
    """Distinct URLs that may be crawled, up to a limit."""

    def __init__(self, limit: int, *, allow_private: bool):
        self._limit = limit
        self._allow_private = allow_private
        self.found: dict[Url, None] = {}
        self.problems: list[str] = []

    @property
    def is_full(self) -> bool:
        return len(self.found) >= self._limit

    def add(self, text: object) -> None:
        if not isinstance(text, str) or len(text) > 2_048 or self.is_full:
            return
        try:
            url = normalise(text)
        except UnicodeEncodeError:
            return
        if url is not None and why_url_refused(url, allow_private=self._allow_private) is None:
            self.found[url] = None


async def _collect(
    source: str,
    sources: SeedSources,
    settings: CommandSettings,
    ask: Callable[..., Awaitable[None]],
    *arguments: object,
) -> FoundSeeds:
    urls = _Urls(sources.limit, allow_private=settings.allow_private)
    try:
        await ask(urls, *arguments)
    except _SourceFailedError as error:
        urls.problems.append(str(error))
    return FoundSeeds(source, tuple(urls.found), "; ".join(dict.fromkeys(urls.problems)))


async def _searxng(urls: _Urls, client: _Client, sources: SeedSources) -> None:
    """https://docs.searxng.org/dev/search_api.html"""
    for page in range(1, MAX_PAGES + 1):
        query = urlencode({"q": sources.words, "format": "json", "pageno": page})
        try:
            answer = await client.json(Url(f"{sources.searxng.rstrip('/')}/search?{query}"))
        except _SourceFailedError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                raise _SourceFailedError(f"{error}; its settings.yml has to list json under search: formats") from None
            raise
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list):
            raise _SourceFailedError("the answer has no results; is it a SearXNG?")
        before = len(urls.found)
        for result in results:
            if isinstance(result, dict):
                urls.add(result.get("url"))
        if urls.is_full or len(urls.found) == before:
            return


async def _common_crawl(urls: _Urls, client: _Client, sources: SeedSources) -> None:
    """The latest index of https://index.commoncrawl.org: captures, one JSON object a line."""
    indexes = await client.json(Url(f"{sources.common_crawl.rstrip('/')}/collinfo.json"))
    newest = indexes[0] if isinstance(indexes, list) and indexes and isinstance(indexes[0], dict) else {}
    api = normalise(str(newest.get("cdx-api", "")))
    if api is None:
        raise _SourceFailedError("collinfo.json names no index")
    for host_url in sources.host_urls:
        parameters = [("url", f"{host_of(host_url)}/*"), ("output", "json"), ("filter", "=status:200")]
        parameters += [("filter", "=mime-detected:text/html"), ("fl", "url")]
        try:
            count = await client.json(Url(f"{api}?{urlencode([*parameters, ('showNumPages', 'true')])}"))
            pages = count.get("pages") if isinstance(count, dict) else None
            for page in range(min(pages if isinstance(pages, int) else 0, MAX_PAGES)):
                content = await client.text(Url(f"{api}?{urlencode([*parameters, ('page', page)])}"))
                _add_lines(urls, content)
                if urls.is_full:
                    return
        except _SourceFailedError as error:  # 404: the index has no pages of that host
            urls.problems.append(f"of {host_of(host_url)}: {error}")


def _add_lines(urls: _Urls, content: bytes) -> None:
    for line in content.splitlines():
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(row, dict):
            urls.add(row.get("url"))


async def _wayback(urls: _Urls, client: _Client, sources: SeedSources) -> None:
    """https://github.com/internetarchive/wayback/tree/master/wayback-cdx-server: rows, and a key for the next page."""
    for host_url in sources.host_urls:
        parameters = [("url", f"{host_of(host_url)}/*"), ("output", "json"), ("fl", "original"), ("collapse", "urlkey")]
        parameters += [("filter", "statuscode:200"), ("filter", "mimetype:text/html")]
        parameters += [("limit", str(min(_ROWS_PER_ANSWER, sources.limit))), ("showResumeKey", "true")]
        key = ""
        try:
            for _ in range(MAX_PAGES):
                rows = await client.json(
                    Url(f"{sources.wayback}?{urlencode(parameters)}{f'&resumeKey={key}' if key else ''}")
                )
                if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
                    raise _SourceFailedError("the answer is no table of captures")
                has_more = len(rows) >= 2 and rows[-2] == [] and len(rows[-1]) == 1
                for row in rows[1 : -2 if has_more else None]:
                    urls.add(row[0] if row else None)
                key = re.sub(r"[^\w%+.*~-]", "", str(rows[-1][0])) if has_more else ""
                if urls.is_full:
                    return
                if not key:
                    break
        except _SourceFailedError as error:
            urls.problems.append(f"of {host_of(host_url)}: {error}")


async def _sitemaps(urls: _Urls, web: RobotsWeb, client: _Client, sources: SeedSources) -> None:
    for host_url in sources.host_urls:
        in_sitemaps = await urls_in_sitemaps(
            web,
            robots=web,
            host_urls=[host_url],
            default_path="/sitemap.xml",
            clock=client.clock,
            requests=Requests(delay=client.delay),
            limit=sources.limit,
            slots=client.slots,
            journal=client,
            holds=client.not_before,
        )
        for url in in_sitemaps.urls:
            urls.add(url)
        if urls.is_full:
            return
        if not in_sitemaps.urls:
            why = client.failures.get(host_of(host_url)) or "no sitemap that lists pages"
            urls.problems.append(f"of {host_of(host_url)}: {why}")


async def _llms_txt(urls: _Urls, client: _Client, sources: SeedSources) -> None:
    """https://llmstxt.org: Markdown that links to the pages of a site that are worth reading."""
    for host_url in sources.host_urls:
        if urls.is_full:
            return
        base = Url(f"{origin_of(host_url)}/llms.txt")
        try:
            text = (await client.text(base)).decode("utf-8", "replace")
        except _SourceFailedError as error:
            urls.problems.append(str(error))
            continue
        if text.lstrip()[:1] == "<":
            urls.problems.append(f"{host_of(host_url)}: /llms.txt is a web page")
            continue
        targets = (match[1] for match in _MARKDOWN_LINK.finditer(text))
        for target in islice(targets, 10 * sources.limit):
            urls.add(join(base, target))
        for match in islice(_BARE_URL.finditer(text), 10 * sources.limit):
            urls.add(match[0].rstrip(".,;:!?"))
