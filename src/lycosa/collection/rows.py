"""The records a catalog answers with."""

from collections.abc import Mapping

from msgspec import Struct

from lycosa.vocabulary.records import Host, Outcome, PastFetch, Plain, Url

from .events import Place


class PageRow(Struct, frozen=True, gc=False):
    """A page of the collection."""

    number: int  # order of arrival, from 1
    url: Url
    host: Host
    title: str
    language: str
    relevance: float | None
    digest: int
    fingerprint: int
    at: float
    bytes: int
    depth: int
    found_on: Url | None
    priority: float
    because: Mapping[str, Plain]
    anchor: str
    duplicate_of: Url | None
    status: int | None
    place: Place | None
    etag: str
    last_modified: str
    truncated: str
    standing: float | None
    looked_at: float  # when it was last asked for
    vanished_at: float | None
    vanished_why: str

    @property
    def state(self) -> str:
        return "kept" if self.vanished_at is None else "vanished"

    @property
    def past(self) -> PastFetch:
        """What a conditional request needs to know of the page."""
        return PastFetch(self.url, self.at, Outcome.OK, self.status, self.digest, self.etag, self.last_modified)


class FetchRow(Struct, frozen=True, gc=False):
    """One request and how it ended."""

    url: Url
    at: float
    outcome: Outcome
    status: int | None
    elapsed: float
    detail: str
    digest: int
    settled: bool  # False where another attempt follows
    place: Place | None


class LookRow(Struct, frozen=True, gc=False):
    """One time that a page was seen, and what had become of it."""

    look: int  # 1 for the first
    at: float
    change: str  # "new" for the first, else a Change
    status: int | None
    digest: int | None  # of the version it brought; None where it brought none
    bytes: int | None
    links: int | None
    new_links: int  # targets that the version before did not link to
    place: Place | None


class Due(Struct, frozen=True, gc=False):
    """What decides when a page is to be seen again."""

    number: int
    url: Url
    relevance: float | None
    standing: float | None
    looked_at: float
    vanished_at: float | None


class LatestChange(Struct, frozen=True, gc=False):
    """A page that was found changed, vanished or returned."""

    url: Url
    title: str
    change: str
    at: float


class Freshness(Struct, frozen=True):
    """How well a collection is kept up with."""

    looked_again: int  # pages seen more than once
    changed: int  # pages that were found changed at least once
    vanished: int  # pages that are there no longer
    oldest_look: float | None  # at a page that is there
    latest_look: float | None


class Parent(Struct, frozen=True, gc=False):
    """A page of the collection that links to a URL."""

    url: Url
    relevance: float | None
    anchor: str
    rel: str


class SkipRow(Struct, frozen=True, gc=False):
    """A URL that was never fetched, and why."""

    url: Url
    reason: str
    found_on: Url | None
    at: float


class ExampleRow(Struct, frozen=True, gc=False):
    """A page somebody called good or bad."""

    url: Url
    good: bool
    at: float
    outcome: Outcome
    place: Place | None


class RunRow(Struct, frozen=True, gc=False):
    """A crawl run, from its first page on."""

    at: float
    strategy: str
    seeds: tuple[Url, ...]
    scope: Plain
    first_page: int
    stopped_at: float | None
    stop_reason: str | None
    refresh: Plain = None  # of a run that saw pages again: policy, budget, share of expansion


class Summary(Struct, frozen=True):
    """A collection in numbers."""

    pages: int
    relevant: int
    harvest_rate: float  # share of pages that are relevant
    mean_standing: float | None
    hosts: dict[str, int]  # pages of each, largest first
    outcomes: dict[str, int]
    skipped: dict[str, int]  # by reason
    languages: dict[str, int]
    bytes: int
    first_at: float | None
    last_at: float | None
    freshness: Freshness
    runs: tuple[RunRow, ...]
