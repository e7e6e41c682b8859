"""A collection as the content of a peer.

It answers queries from the search index, delivers stored pages as WARC records, and keeps a summary of itself, which
is built page by page between other work and follows the collection as it grows.

A page is shared depending on its URL and on the address that it came from, the WARC-IP-Address of its record: a public
name may lead to a private machine. A page without that address is withheld, and so is one that was requested with
cookies or the like, which others might not be sent. What others get to know of a page is read from its records in the
archive, not from catalog or search index.
"""

import asyncio
import tempfile
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Protocol

import msgspec
import numpy as np
from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.foreign import ForeignFetches
from lycosa.collection.rows import PageRow, signed
from lycosa.collection.search_index import MAX_TEXT, SearchIndex, one_safe_line
from lycosa.reading import Reader
from lycosa.reading.stop_words import STOP_WORDS
from lycosa.reading.words import FoldedWords
from lycosa.run.open import bring_index_up_to_date, may_all_be_personal
from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.hosts import why_not_public_address, why_url_refused
from lycosa.vocabulary.records import Codes, Fetch, Url
from lycosa.vocabulary.text import codes_of, folded, tokens_of
from lycosa.vocabulary.urls import normalise
from lycosa.web.encodings import decoded

from .content import ContentSummary, LookupResult, SummaryDelta
from .messages import MAX_PAYLOAD_BYTES, CollectionStatistics, Item, PeerHit, Target
from .peer_folder import PeerFolder
from .ranking import has_all_words, query_words
from .summary import (
    MAX_FOREIGN_BYTES,
    MAX_TERMS,
    PAGES_PER_SEGMENT,
    BadSummaryError,
    Segment,
    SegmentedSummary,
    byte_budget,
    term_budget,
)

SUMMARY_FILE = "summary"
UPDATE_SECONDS = 60.0  # between two checks of the collection
CHECKS_PER_UPDATE = 10  # after so many, even a few new pages are added
MIN_UPDATE_BYTES, MIN_UPDATE_TERMS = 1 << 12, 1 << 14  # minimum budget of a segment for a few new pages
MAX_SEGMENTS = 8  # above which the whole summary is built again
MIN_NEW_SHARE = 0.05  # share of new pages that justifies a segment at once
MAX_RECORD = 16 << 20  # bytes of an uncompressed WARC record
MAX_TIMESTAMP = 1e11  # seconds since the epoch, the limit of a message
_MAX_NEW_PAGES = 64  # not in the summary yet, that are read for one query to find their addresses
MAX_LOOKUP_SECONDS = 0.25  # of the processor, after which a query of another peer gets the hits found so far
_MAX_TITLE, _MAX_SNIPPET = 300, 600  # characters
_MAX_SAMPLE_BYTES = 1 << 18  # bytes read of a page to check a claim
_MESSAGE_OVERHEAD = 8192  # bytes of a frame beside the record, at most
_MIN_TRUE_SHARE = 0.8  # of the words of title and snippet that must be on the page
_STOP_WORD_CODES = np.sort(codes_of(STOP_WORDS))
ReportPages = Callable[[int, int], None]  # takes the number of pages done, and of all


class PageText(Struct, frozen=True, gc=False):
    """The text of a stored page."""

    title: str
    text: str
    codes: Codes  # of its words in order, those of the title first
    title_words: int  # number of words of the title
    address: str = ""  # that it came from; empty if unknown
    is_personal: bool = False  # requested with cookies or the like

    def count(self, code: np.uint64) -> int:
        """The number of occurrences of a word, counted twice in the title."""
        return int((self.codes == code).sum()) + int((self.codes[: self.title_words] == code).sum())

    @property
    def size(self) -> int:
        return len(self.text) + len(self.title) + self.codes.nbytes + 200


class PageTextCache:
    """Texts of stored pages, read from the archive, in a cache of about `cache_bytes`."""

    def __init__(self, collection: Collection, cache_bytes: int):
        self._collection = collection
        self._reader = Reader()
        self._texts: OrderedDict[tuple[str, str, int], PageText] = OrderedDict()
        self._bytes_cached, self._cache_bytes = 0, cache_bytes
        self._rows: dict[str, PageRow | None] = {}
        self.reads = 0  # since `begin`

    def begin(self) -> None:
        """Forgets the catalog rows of the last query, which may have changed."""
        self._rows.clear()
        self.reads = 0

    def row(self, url: str) -> PageRow | None:
        if url not in self._rows:
            self._rows[url] = self._collection.catalog.page(Url(url))
        return self._rows[url]

    def text(self, url: Url) -> PageText:
        page = self.row(url)
        if page is None or page.place is None:
            return _NO_TEXT
        key = (url, page.place.file, page.place.offset)
        known = self._texts.get(key)
        if known is None:
            self.reads += 1
            known = self._texts[key] = self.read(page)
            self._bytes_cached += known.size
            while self._bytes_cached > self._cache_bytes and len(self._texts) > 1:
                self._bytes_cached -= self._texts.popitem(last=False)[1].size
        else:
            self._texts.move_to_end(key)
        return known

    def read(self, page: PageRow) -> PageText:
        """The text of a page in its record; empty if the record is of another page."""
        fetch = self._collection.archive.fetch_at(page.place) if page.place else None
        return self.text_of(fetch) if fetch is not None and fetch.url == page.url else _NO_TEXT

    def text_of(self, fetch: Fetch) -> PageText:
        read = self._reader(fetch)
        if read is None:
            return _NO_TEXT
        text = read.main[:MAX_TEXT]
        words = FoldedWords(folded(f"{read.title} {text}")).codes
        title_words = len(FoldedWords(folded(read.title)).codes)
        return PageText(read.title, text, words, title_words, fetch.address, fetch.is_personal)


_NO_TEXT = PageText("", "", np.empty(0, np.uint64), 0)


def _fetch_in(record: bytes) -> Fetch | None:
    """The page in an untrusted WARC record, as `--take` would read it, or its beginning."""
    try:
        with tempfile.NamedTemporaryFile(suffix=".warc") as file:
            file.write(record)
            file.flush()
            return next(iter(ForeignFetches(Path(file.name), decode=decoded, max_bytes=_MAX_SAMPLE_BYTES)), None)
    except (LycosaError, OSError):
        return None


def _plain(text: str) -> str:
    return folded(text).decode("utf-8", "replace")


def _stem(word: str) -> str:
    """The prefix of a word that all its forms share."""
    return word[: max(3, len(word) - 3)]


def _made_up_word(rng: Random) -> str:
    return "".join(rng.choice("bdfgklmnprstv") + rng.choice("aeiou") for _ in range(rng.randint(3, 5)))


def unpack_record(url: str, body: bytes) -> bytes | None:
    """The WARC record in an untrusted gzip member for a URL; None if it is not the record of a page at that URL."""
    unpacked = _unpack(url, body)
    return None if unpacked is None else unpacked[0]


def _unpack(url: str, body: bytes) -> tuple[bytes, dict[bytes, bytes]] | None:
    """The record of a page, with its headers."""
    unpacker = zlib.decompressobj(16 + 15)
    try:
        record = unpacker.decompress(body, MAX_RECORD)
    except zlib.error:
        return None
    if not unpacker.eof or unpacker.unused_data or not record.startswith(b"WARC/1."):
        return None
    head, found, _ = record.partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    headers = {name.strip().lower(): value.strip().strip(b"<>") for name, _, value in lines}
    if not found or headers.get(b"warc-type") != b"response":
        return None
    return (record, headers) if headers.get(b"warc-target-uri") == url.encode("utf-8", "replace") else None


class SummaryBuild:
    """A summary being built: iterating reads one page per step, `finish_segment` makes a segment of the pages read.

    codes_of_page: the words of the page of this number; None if it is not shared.
    pages: the digests of all pages that the summary then covers, by number.
    wanted: numbers of the pages to read.
    replaces_all: whether the build replaces the summary, or is added to it.
    """

    def __init__(
        self,
        codes_of_page: Callable[[int], Codes | None],
        pages: dict[int, int],
        wanted: list[int],
        *,
        replaces_all: bool,
    ):
        self.pages = pages
        self.withheld: set[int] = set()  # pages that are not shared
        self.replaces_all = replaces_all
        self.segments: list[Segment] = []
        self._codes_of_page = codes_of_page
        self.wanted = wanted
        self._read: list[Codes] = []

    def __iter__(self) -> Iterator[int]:
        for done, number in enumerate(self.wanted, 1):
            codes = self._codes_of_page(number)
            if codes is None:
                self.withheld.add(number)
            self._read.append(np.empty(0, np.uint64) if codes is None else codes)
            yield done

    @property
    def has_full_segment(self) -> bool:
        return len(self._read) >= PAGES_PER_SEGMENT

    def finish_segment(self) -> None:
        """Makes a segment of the pages read; safe to call in another thread."""
        if self._read:
            max_bytes = byte_budget(len(self._read), len(self.pages))
            max_terms = term_budget(len(self._read), len(self.pages))
            if not self.replaces_all:
                max_bytes, max_terms = max(max_bytes, MIN_UPDATE_BYTES), max(max_terms, MIN_UPDATE_TERMS)
            self.segments.append(Segment.from_pages(self._read, max_bytes=max_bytes, max_terms=max_terms))
            self._read = []


class UpdatableContent(Protocol):
    """A content whose summary can be updated."""

    def pending_build(self, *, at_once: bool) -> SummaryBuild | None:
        """The build that brings the summary up to date; None if it is not due."""
        ...

    def use_build(self, build: SummaryBuild) -> None:
        """Uses a finished build from now on."""
        ...


class SummaryUpdates:
    """Updates a summary: at once when many pages are new, else at every `CHECKS_PER_UPDATE`-th check."""

    def __init__(self, content: UpdatableContent):
        self._content = content
        self._checks = 0

    async def update(self) -> None:
        """One check; yields to the event loop between pages."""
        self._checks += 1
        build = self._content.pending_build(at_once=self._checks % CHECKS_PER_UPDATE == 0)
        if build is None:
            return
        for _ in build:
            if build.has_full_segment:
                await asyncio.to_thread(build.finish_segment)
            await asyncio.sleep(0)  # a long page takes some tenths of a second
        await asyncio.to_thread(build.finish_segment)
        self._content.use_build(build)


class CollectionSummary:
    """The summary of a collection, with its version."""

    def __init__(self, summary: SegmentedSummary, version: int):
        self.summary = summary
        self.version = version

    def may_have(self, target: Target) -> bool:
        words = query_words(target) if isinstance(target, str) else ()
        if words and STOP_WORDS.issuperset(words):  # summaries have no stop words
            return True
        return self.summary.may_have(words)

    def find(self, target: Target, max_hits: int) -> tuple[PeerHit, ...]:
        return ()  # a summary has no URLs

    def packed(self) -> bytes:
        return self.summary.packed()


class _SavedSummary(Struct, frozen=True):
    """The summary as it is saved."""

    version: int
    since: list[int]  # the version in which each segment was added
    packed: bytes
    pages: dict[int, int]  # digest of each page in it, by number
    withheld: list[int]  # those that are not shared; missing in older files, which are rebuilt
    allow_private: bool
    may_all_be_personal: bool = False


class SharedCollection:
    """Shares a collection: hits are pages that have all words of a query, with the counts for scoring. `error` is why
    the last lookup failed, or None. Raises CollectionError if the search index cannot be used.

    allow_private: whether to share pages at private or unknown addresses, too; never personal ones.
    processor_time: seconds of the processor that this thread has used, which do not depend on other programs.
    """

    def __init__(
        self,
        collection: Collection,
        folder: PeerFolder,
        *,
        allow_private: bool = False,
        cache_bytes: int = 64 << 20,
        processor_time: Callable[[], float] = time.thread_time,
    ):
        self._collection = collection
        self._folder = folder
        self._allow_private = allow_private
        self._may_all_be_personal = may_all_be_personal(collection.folder, collection.catalog)
        self._texts = PageTextCache(collection, cache_bytes)
        self._processor_time = processor_time
        self._index = SearchIndex(collection.folder / "search", text_of=lambda url: self._texts.text(Url(url)).text)
        self._version = 0
        self._segments: list[Segment] = []
        self._segment_versions: list[int] = []  # the version in which each segment was added
        self._digests: dict[int, int] = {}  # digest of each page in the summary, by number
        self._withheld: set[int] = set()  # those of them that are not shared
        self._checked_data_version: int | None = None  # SQLite's data_version
        self.counts: Counter[str] = Counter()
        self.error: CollectionError | None = None
        self._load()
        # Raises if the index cannot be used, which `find` would show as empty.
        self._index.search_all_words(("any",), limit=1, where=lambda url: False)

    # ------------------------------------------------------------ the content of a peer

    def find(self, target: Target, max_hits: int) -> LookupResult:
        """The hits for other peers, as many as are read in `MAX_LOOKUP_SECONDS` after the first: a long page takes some
        tenths of a second, and nobody else is served meanwhile."""
        tried, began = 0, 0.0

        def is_shared_in_time(url: str) -> bool:
            nonlocal tried, began
            tried += 1
            now = self._processor_time()
            if tried <= 2:
                began = now
            elif now - began >= MAX_LOOKUP_SECONDS:
                self.counts["not_read_in_time"] += 1
                return False
            return self._is_shared(url)

        return self._find(target, max_hits, is_shared_in_time)

    def find_own(self, target: Target, max_hits: int) -> LookupResult:
        return self._find(target, max_hits, self._is_available)

    def _find(self, target: Target, max_hits: int, where: Callable[[str], bool]) -> LookupResult:
        words = query_words(target) if isinstance(target, str) else ()
        if not words or max_hits < 1:
            return LookupResult()
        self._texts.begin()
        try:
            found = self._index.search_all_words(words, limit=max_hits, where=where)
            hits = tuple(self._hit(hit.url, hit.snippet, codes_of(words)) for hit in found)
        except CollectionError as error:  # usually, another process is rewriting the index
            self.counts["index_unusable"] += 1
            self.error = error
            return LookupResult()
        self.error = None
        return LookupResult(hits, self._statistics(words)) if hits else LookupResult()

    def fetch(self, item: Item) -> bytes | None:
        """The WARC record of a stored page; None if there is none that may be shared."""
        url = normalise(item) if isinstance(item, str) else None
        if url is None or self._is_url_refused(url):
            return None
        try:
            page = self._collection.catalog.page(url)
            if page is None or page.place is None or page.vanished_at is not None:
                return None
            if page.place.length > MAX_PAYLOAD_BYTES - _MESSAGE_OVERHEAD:
                return None
            record = self._collection.archive.record_at(page.place)
            is_personal = self._collection.archive.fetch_at(page.place).is_personal
        except CollectionError:
            return None
        # An untrusted catalog may point to any bytes of the archive: send only the record of this page.
        unpacked = _unpack(url, record)
        if unpacked is None:
            return None
        came_from = unpacked[1].get(b"warc-ip-address", b"").decode("ascii", "replace")
        return record if self._may_share(came_from, is_personal=is_personal) else None

    def is_item(self, item: Item, body: bytes) -> bool:
        return isinstance(item, str) and unpack_record(item, body) is not None

    def is_plausible_hit(self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None) -> bool:
        """A page that claims to have every word of the query."""
        words = query_words(target) if isinstance(target, str) else ()
        return isinstance(hit.item, str) and has_all_words(words, statistics, hit)

    def body_matches_hit(
        self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None, body: bytes
    ) -> bool:
        """Whether a page has the words as often as its hit claims, and contains its title and snippet.

        Tolerant, because others may parse pages a little differently; lies differ more.
        """
        record = unpack_record(hit.item, body) if isinstance(hit.item, str) else None
        fetch = None if record is None else _fetch_in(record)
        if fetch is None or fetch.url != hit.item:
            return False
        text = self._texts.text_of(fetch)
        plain = _plain(f"{text.title} {text.text}")
        if 2 * hit.length + 20 < len(text.codes):
            return False
        shown = tokens_of(hit.title if fetch.truncated else f"{hit.title} {hit.snippet}")
        if sum(_plain(word) in plain for word in shown) < _MIN_TRUE_SHARE * len(shown):
            return False
        if fetch.truncated:  # the words may be in the missing part; a page that claims to be that long ranks low
            return True
        words = query_words(target) if isinstance(target, str) else ()
        if not all(_stem(_plain(word)) in plain for word in words):
            return False
        claimed = dict(zip(statistics.terms, hit.frequencies, strict=False)) if statistics else {}
        counts = (text.count(code) for code in codes_of(words))
        return all(claimed.get(word, 0) <= 2 * count + 2 for word, count in zip(words, counts, strict=True))

    def unanswerable_query(self, number: int) -> str | None:
        rng = Random(number)
        words = [_made_up_word(rng)]
        last = max(self._digests, default=0)
        for _ in range(8):
            page = next(self._collection.catalog.pages(after=rng.randrange(last), limit=1), None) if last else None
            if page is None or page.number in self._withheld or page.number not in self._digests or len(words) > 2:
                continue  # queries must not reveal what is withheld
            words += sorted(tokens_of(page.title), key=lambda word: (-len(word), word))[:1]
        rng.shuffle(words)
        return " ".join(words)

    def may_store(self, item: Item) -> bool:
        """A page at an address that may be crawled."""
        return isinstance(item, str) and not self._is_url_refused(item)

    def summary(self) -> CollectionSummary:
        return CollectionSummary(SegmentedSummary(self._segments), self._version)

    def changes(self, since: int) -> SummaryDelta | None:
        if not self._segment_versions or not self._segment_versions[0] <= since <= self._version:
            return None
        later = [segment for segment, at in zip(self._segments, self._segment_versions, strict=True) if at > since]
        return SummaryDelta(self._version, SegmentedSummary(later).packed())

    def unpack(self, packed: bytes, version: int) -> CollectionSummary:
        return CollectionSummary(SegmentedSummary.unpacked(packed), version)

    def update(self, held: ContentSummary, change: bytes, version: int) -> CollectionSummary:
        if not isinstance(held, CollectionSummary):
            raise BadSummaryError("the held summary is not one of a collection")
        return CollectionSummary(held.summary.extended(change), version)

    def _statistics(self, words: tuple[str, ...]) -> CollectionStatistics:
        summary = SegmentedSummary(self._segments)
        return CollectionStatistics(
            summary.pages, summary.words, words, tuple(summary.frequency(word) for word in words)
        )

    def _hit(self, url: str, snippet: str, codes: Codes) -> PeerHit:
        page, text = self._texts.row(url), self._texts.text(Url(url))
        assert page is not None  # as `_is_shared` holds
        counts = [text.count(code) for code in codes]
        return PeerHit(
            url,
            one_safe_line(text.title)[:_MAX_TITLE],
            snippet[:_MAX_SNIPPET],
            standing=min(max(page.standing or 0.0, 0.0), 1.0),
            relevance=min(max(page.relevance or 0.0, 0.0), 1.0),
            fetched_at=min(max(page.at, 0.0), MAX_TIMESTAMP),
            digest=f"{page.digest:016x}",
            length=max(1, len(text.codes)),
            frequencies=tuple(max(1, count) for count in counts),  # the index has matched each of them
        )

    def _is_available(self, url: str) -> bool:
        page = self._texts.row(url)
        return page is not None and page.vanished_at is None

    def _is_shared(self, url: str) -> bool:
        """Whether a page is shared. If it is not in the summary yet, its record is read to find its address; only a few
        are read per query, and the others must wait for the summary."""
        page = self._texts.row(url)
        if page is None or page.vanished_at is not None or self._is_url_refused(url):
            return False
        if self._digests.get(page.number) == signed(page.digest):
            if page.number in self._withheld:
                return False
        elif self._texts.reads >= _MAX_NEW_PAGES:
            self.counts["not_told_yet"] += 1
            return False
        text = self._texts.text(Url(url))
        return self._may_share(text.address, is_personal=text.is_personal)

    def _is_url_refused(self, url: str) -> bool:
        return why_url_refused(url, allow_private=self._allow_private) is not None

    def _may_share(self, address: str, *, is_personal: bool) -> bool:
        """Whether a page from an address may be shared; not if the address is unknown or the page is personal."""
        if is_personal or self._may_all_be_personal:
            return False
        return self._allow_private or why_not_public_address(address) is None

    # ------------------------------------------------------------ updating the summary

    @property
    def pages(self) -> int:
        """The number of pages in the summary that are shared."""
        return len(self._digests) - len(self._withheld)

    @property
    def withheld(self) -> int:
        """The number of pages that are not shared because they came, or may have come, from private addresses, or were
        requested with cookies or the like."""
        return len(self._withheld)

    def pending_build(self, *, at_once: bool = False) -> SummaryBuild | None:
        """The build that brings the summary up to date; None if it is, or if too few pages are new.

        at_once: also for a few new pages.
        """
        ((data_version,),) = self._collection.catalog.connection.execute("PRAGMA data_version")
        if data_version == self._checked_data_version and not at_once:
            return None  # no other process has written since
        sql = "SELECT number, digest FROM pages WHERE vanished_at IS NULL ORDER BY number"
        now: dict[int, int] = dict(self._collection.catalog.connection.execute(sql))
        new = [number for number, digest in now.items() if self._digests.get(number) != digest]
        gone = len(self._digests) + len(new) - len(now)  # or changed
        if not new and not gone:
            self._checked_data_version = data_version
            return None
        if (
            not self._segments
            or gone > 0.02 * len(self._digests)
            or len(self._segments) >= MAX_SEGMENTS + len(now) // PAGES_PER_SEGMENT
            or self._would_be_too_large(len(new), len(now))
        ):
            return SummaryBuild(self.codes_of_page, now, list(now), replaces_all=True)
        if at_once or len(new) >= MIN_NEW_SHARE * len(now):
            return SummaryBuild(self.codes_of_page, now, new, replaces_all=False)
        return None

    def _would_be_too_large(self, new_pages: int, total_pages: int) -> bool:
        """Whether the summary would exceed the limits of other peers if pages were added."""
        added_bytes = max(byte_budget(new_pages, total_pages), MIN_UPDATE_BYTES)
        added_terms = max(term_budget(new_pages, total_pages), MIN_UPDATE_TERMS)
        size = sum(segment.size for segment in self._segments) + added_bytes
        term_count = sum(segment.terms for segment in self._segments) + added_terms
        return size > MAX_FOREIGN_BYTES or term_count > MAX_TERMS

    def update_summary(self, report: ReportPages = lambda done, total: None) -> None:
        """Brings the summary up to date; `report` is called with the number of pages done and the total."""
        build = self.pending_build(at_once=True)
        if build is None:
            return
        for done in build:
            report(done, len(build.wanted))
            if build.has_full_segment:
                build.finish_segment()
        build.finish_segment()
        self.use_build(build)

    async def index_new_pages(self) -> None:
        """Indexes pages that a crawl has left to the first search; not possible while the crawl runs."""
        if self._collection.pages_not_indexed():
            await asyncio.to_thread(bring_index_up_to_date, self._collection.folder, notify=lambda line: None)

    def codes_of_page(self, number: int) -> Codes | None:
        """The words of a page without stop words; None for a page that is not shared."""
        page = next(self._collection.catalog.pages(after=number - 1, limit=1), None)
        if page is None or page.number != number:
            return np.empty(0, np.uint64)
        if self._is_url_refused(page.url):
            return None
        text = self._texts.read(page)
        if not self._may_share(text.address, is_personal=text.is_personal):
            return None
        indices = np.minimum(_STOP_WORD_CODES.searchsorted(text.codes), len(_STOP_WORD_CODES) - 1)
        without_stop_words: Codes = text.codes[_STOP_WORD_CODES[indices] != text.codes]
        return without_stop_words

    def use_build(self, build: SummaryBuild) -> None:
        """Uses a finished build from now on, and saves the summary."""
        self._version += 1
        if build.replaces_all:
            self._segments, self._segment_versions = list(build.segments), [self._version] * len(build.segments)
        else:
            self._segments += build.segments
            self._segment_versions += [self._version] * len(build.segments)
        # What was not read again stays withheld.
        self._withheld = build.withheld | (self._withheld & build.pages.keys()) - set(build.wanted)
        self._digests = build.pages
        packed = SegmentedSummary(self._segments).packed()
        saved = _SavedSummary(
            self._version,
            self._segment_versions,
            packed,
            self._digests,
            sorted(self._withheld),
            self._allow_private,
            self._may_all_be_personal,
        )
        self._folder.write(SUMMARY_FILE, msgspec.msgpack.encode(saved))

    def _load(self) -> None:
        data = self._folder.read(SUMMARY_FILE)
        if data is None:
            return
        try:
            saved = msgspec.msgpack.decode(data, type=_SavedSummary)
            segments = SegmentedSummary.unpacked(saved.packed).segments
        except (msgspec.DecodeError, BadSummaryError):
            return  # it will be rebuilt
        self._version = saved.version
        was_shared_alike = (saved.allow_private, saved.may_all_be_personal) == (
            self._allow_private,
            self._may_all_be_personal,
        )
        if len(segments) == len(saved.since) and was_shared_alike:
            self._segment_versions, self._segments, self._digests = saved.since, list(segments), saved.pages
            self._withheld = set(saved.withheld)
