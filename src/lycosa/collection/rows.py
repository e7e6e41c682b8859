"""The records a catalog answers with."""

from collections.abc import Mapping

from msgspec import Struct

from lycosa.vocabulary.records import Host, Outcome, Plain, Url

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
    runs: tuple[RunRow, ...]
