"""Compares pages fetched again with their stored versions."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection import Collection
from lycosa.collection.event_records import DECODED_HEADER
from lycosa.collection.rows import LookRow, PageRow
from lycosa.collection.warc import digest
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Change, Fetch, Outcome, PastFetch, Url, Visit

MAX_NOT_MODIFIED = 7  # responses 304 in a row before an unconditional request: some servers always send them
MAX_FAILURES = 3  # in a row, after which a page counts as vanished
MIN_FAILING_TIME = 86_400.0  # seconds since the last success before a failing page may count as vanished
_PERMANENT_REDIRECTS = frozenset((301, 308))  # status codes
_GONE_STATUSES = frozenset((404, 410))


class _KnownPage(Struct, frozen=True):
    """A stored page and its latest looks."""

    page: PageRow
    not_modified: int  # responses 304 in a row
    failures: int  # in a row
    succeeded_at: float  # time of the last success

    @property
    def is_gone(self) -> bool:
        return self.page.vanished_at is not None


class RecrawlMemory:
    """Compares responses with the latest stored versions of pages.

    Digests decide, not headers: neither a body that the archive has nor one that differs only in markup, with the same
    words and links, is a change. A 304 is trusted without a body, but not for ever.
    """

    def __init__(self, collection: Collection, urls: Iterable[Url] = (), *, clock: Clock):
        self._collection = collection
        self._clock = clock
        self._known: dict[Url, _KnownPage] = {}
        self._payload_digests: dict[Url, str] = {}
        self.load(urls)

    def load(self, urls: Iterable[Url]) -> None:
        """Loads the stored versions of pages, before they are fetched again."""
        catalog = self._collection.catalog
        for url in urls:
            page = catalog.page(url)
            if page is not None:
                self._known[url] = _known_page(page, catalog.looks(page.number))

    def past(self, url: Url) -> PastFetch | None:
        """The earlier fetch, for a conditional request; None if the request is to be unconditional."""
        known = self._known[url]
        page = known.page
        if known.is_gone or known.not_modified >= MAX_NOT_MODIFIED or not (page.etag or page.last_modified):
            return None
        return page.past

    def compared(self, fetch: Fetch) -> Fetch:
        """The fetch, with the outcome UNCHANGED if its content is that of the latest version, and without its body if
        the archive has the same bytes."""
        page = self._known[fetch.url].page
        if fetch.outcome is not Outcome.OK or page.place is None:
            return fetch
        stored = self._collection.archive.fetch_at(page.place)
        if stored.body == fetch.body and stored.header("content-encoding") == fetch.header("content-encoding"):
            self._payload_digests[fetch.url] = digest(fetch.body)
            return replace(fetch, outcome=Outcome.UNCHANGED, body=b"", content=b"", truncated="")
        if stored.content != fetch.content:
            return fetch
        if stored.header(DECODED_HEADER) is not None:  # the archive has it decoded
            self._payload_digests[fetch.url] = digest(stored.body)
            return replace(fetch, outcome=Outcome.UNCHANGED, body=b"", content=b"", truncated="")
        return replace(fetch, outcome=Outcome.UNCHANGED)  # the same content in another encoding

    def with_change(self, visit: Visit) -> Visit:
        """The visit with its `change` set."""
        url = visit.candidate.url
        known = self._known[url]
        visit = replace(visit, known=replace(known.page.past, payload=self._payload_digests.pop(url, "")))
        if visit.fetch.outcome is Outcome.REFUSED:
            return replace(visit, change=Change.REFUSED)
        if visit.fetch.outcome is Outcome.UNCHANGED:
            return replace(visit, change=Change.RETURNED if known.is_gone else Change.UNCHANGED)
        if visit.page is not None and visit.is_kept:
            return self._compare_page(visit, known)
        if self._is_gone(visit, known):
            return replace(visit, change=Change.STILL_GONE if known.is_gone else Change.VANISHED)
        return replace(visit, change=Change.STILL_GONE if known.is_gone else Change.FAILED)

    def _compare_page(self, visit: Visit, known: _KnownPage) -> Visit:
        assert visit.page is not None
        stored_links = self._collection.catalog.link_targets(known.page.number)
        targets = dict.fromkeys(link.target for link in visit.page.links)
        if visit.page.digest == known.page.digest and targets.keys() == stored_links and not known.is_gone:
            fetch = replace(visit.fetch, outcome=Outcome.UNCHANGED)
            return Visit(visit.candidate, fetch, known=visit.known, change=Change.UNCHANGED)
        new_links = tuple(target for target in targets if target not in stored_links)
        change = Change.RETURNED if known.is_gone else Change.CHANGED
        return replace(visit, change=change, new_links=new_links)

    def _is_gone(self, visit: Visit, known: _KnownPage) -> bool:
        fetch = visit.fetch
        match fetch.outcome:
            case Outcome.OK | Outcome.UNWANTED:  # noindex, in another language, or not a page
                return True
            case Outcome.FORBIDDEN:
                return False
            case _:
                if fetch.status in _GONE_STATUSES or fetch.status in _PERMANENT_REDIRECTS:
                    return True
                has_failed_long = self._clock.now() - known.succeeded_at >= MIN_FAILING_TIME
                return known.failures + 1 >= MAX_FAILURES and has_failed_long


def _known_page(page: PageRow, looks: list[LookRow]) -> _KnownPage:
    not_modified = failures = 0
    succeeded_at = page.at
    for look in looks:
        if look.change in (Change.FAILED, Change.REFUSED):
            failures += look.change == Change.FAILED
            continue
        failures, succeeded_at = 0, look.at
        not_modified = not_modified + 1 if look.status == 304 else 0
    return _KnownPage(page, not_modified, failures, succeeded_at)
