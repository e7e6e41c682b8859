"""Compares pages fetched again with their stored versions. A look is one fetch of a stored page."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection import Collection
from lycosa.collection.event_records import DECODED_HEADER
from lycosa.collection.rows import LookRow, PageRow
from lycosa.collection.warc import sha1_digest
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Change, Fetch, Outcome, PastFetch, Url, Visit

MAX_NOT_MODIFIED = 7  # responses 304 in a row before an unconditional request: some servers always send them
MAX_FAILURES = 3  # in a row, after which a page counts as vanished
MIN_FAILING_TIME = 86_400.0  # seconds since the last success before a failing page may count as vanished
_PERMANENT_REDIRECTS = frozenset((301, 308))  # status codes
_VANISHED_STATUSES = frozenset((404, 410))


class _StoredPage(Struct, frozen=True):
    """The latest stored version of a page, and what its latest looks have found."""

    page: PageRow
    not_modified: int  # number of responses 304 in a row
    failures: int  # number of failed looks in a row
    succeeded_at: float  # time of the last look that did not fail

    @property
    def had_vanished(self) -> bool:
        """Whether the page counted as vanished before this look."""
        return self.page.vanished_at is not None


class RefreshMemory:
    """Compares responses with the latest stored versions of pages.

    Content decides, not headers: neither a body that the archive has nor one that differs only in markup, with the same
    words and links, is a change. A 304 is trusted without a body, but only `MAX_NOT_MODIFIED` times in a row.
    """

    def __init__(self, collection: Collection, urls: Iterable[Url] = (), *, clock: Clock):
        self._collection = collection
        self._clock = clock
        self._stored: dict[Url, _StoredPage] = {}
        self._payload_digests: dict[Url, str] = {}  # SHA-1 of the bodies that are the same as the stored ones
        self.load(urls)

    def load(self, urls: Iterable[Url]) -> None:
        """Loads the stored versions of pages, before they are fetched again."""
        catalog = self._collection.catalog
        for url in urls:
            page = catalog.page(url)
            if page is not None:
                self._stored[url] = _stored_page(page, self._requested(url, catalog.looks(page.number)))

    def _requested(self, url: Url, looks: list[LookRow]) -> Iterator[LookRow]:
        """The looks for which the page was requested: neither its address was refused nor did robots.txt forbid it."""
        for look in looks:
            may_be_forbidden = look.change == Change.FAILED and look.status is None
            if look.change != Change.REFUSED and not (may_be_forbidden and (url, look.at) in self._forbidden):
                yield look

    @cached_property
    def _forbidden(self) -> frozenset[tuple[Url, float]]:
        """URL and time of the looks that robots.txt forbade; reading them scans all fetches."""
        return frozenset(self._collection.catalog.forbidden_looks())

    def past(self, url: Url) -> PastFetch | None:
        """The earlier fetch, for a conditional request; None if the request is to be unconditional."""
        stored = self._stored[url]
        page = stored.page
        if stored.had_vanished or stored.not_modified >= MAX_NOT_MODIFIED or not (page.etag or page.last_modified):
            return None
        return page.past

    def compared(self, fetch: Fetch) -> Fetch:
        """The fetch, with the outcome UNCHANGED if its content is that of the latest version, and without its body if
        the archive has the same bytes."""
        page = self._stored[fetch.url].page
        if fetch.outcome is not Outcome.OK or page.place is None:
            return fetch
        archived = self._collection.archive.fetch_at(page.place)
        if archived.body == fetch.body and archived.header("content-encoding") == fetch.header("content-encoding"):
            self._payload_digests[fetch.url] = sha1_digest(fetch.body)
            return replace(fetch, outcome=Outcome.UNCHANGED, body=b"", content=b"", truncated="")
        if archived.content != fetch.content:
            return fetch
        if archived.header(DECODED_HEADER) is not None:  # the archive has it decoded
            self._payload_digests[fetch.url] = sha1_digest(archived.body)
            return replace(fetch, outcome=Outcome.UNCHANGED, body=b"", content=b"", truncated="")
        return replace(fetch, outcome=Outcome.UNCHANGED)  # the same content in another encoding

    def with_change(self, visit: Visit) -> Visit:
        """The visit with its `change` set."""
        url = visit.candidate.url
        stored = self._stored[url]
        visit = replace(visit, known=replace(stored.page.past, payload=self._payload_digests.pop(url, "")))
        if visit.fetch.outcome is Outcome.REFUSED:
            return replace(visit, change=Change.REFUSED)
        if visit.fetch.outcome is Outcome.UNCHANGED:
            return replace(visit, change=Change.RETURNED if stored.had_vanished else Change.UNCHANGED)
        if visit.page is not None and visit.is_kept:
            return self._compare_page(visit, stored)
        if stored.had_vanished:
            return replace(visit, change=Change.STILL_GONE)
        return replace(visit, change=Change.VANISHED if self._has_vanished_now(visit, stored) else Change.FAILED)

    def _compare_page(self, visit: Visit, stored: _StoredPage) -> Visit:
        assert visit.page is not None
        stored_links = self._collection.catalog.link_targets(stored.page.number)
        targets = dict.fromkeys(link.target for link in visit.page.links)
        has_same_words = visit.page.digest == stored.page.digest
        if has_same_words and targets.keys() == stored_links and not stored.had_vanished:
            fetch = replace(visit.fetch, outcome=Outcome.UNCHANGED)
            return Visit(visit.candidate, fetch, known=visit.known, change=Change.UNCHANGED)
        new_links = tuple(target for target in targets if target not in stored_links)
        change = Change.RETURNED if stored.had_vanished else Change.CHANGED
        return replace(visit, change=change, new_links=new_links)

    def _has_vanished_now(self, visit: Visit, stored: _StoredPage) -> bool:
        """Whether a page that existed so far counts as vanished after a visit that stored no version of it."""
        fetch = visit.fetch
        match fetch.outcome:
            case Outcome.OK | Outcome.UNWANTED:  # noindex, in another language, or not a page
                return True
            case Outcome.FORBIDDEN:
                return False
            case _:
                if fetch.status in _VANISHED_STATUSES or fetch.status in _PERMANENT_REDIRECTS:
                    return True
                has_failed_long = self._clock.now() - stored.succeeded_at >= MIN_FAILING_TIME
                return stored.failures + 1 >= MAX_FAILURES and has_failed_long


def _stored_page(page: PageRow, looks: Iterable[LookRow]) -> _StoredPage:
    """looks: those for which the page was requested, oldest first."""
    not_modified = failures = 0
    succeeded_at = page.at
    for look in looks:
        if look.change == Change.FAILED:
            failures += 1
            continue
        failures, succeeded_at = 0, look.at
        not_modified = not_modified + 1 if look.status == 304 else 0
    return _StoredPage(page, not_modified, failures, succeeded_at)
