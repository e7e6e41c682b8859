"""The events of a crawl that the archive records, and their locations in it."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType, field

from lycosa.vocabulary.records import (
    Candidate,
    CheckedUrl,
    Count,
    Fetch,
    JsonValue,
    Outcome,
    Score,
    Timestamp,
    Url,
    Visit,
)


class RecordLocation(NamedTuple):
    """The location of an event's first record, called `place` in rows; its other records follow directly."""

    file: str  # name of the WARC file
    offset: Count  # bytes
    length: Count  # bytes, compressed


class ArchivePosition(NamedTuple):
    """A position in the archive: after everything in earlier files, and in this file up to the offset."""

    file: str  # name of the WARC file
    offset: Count  # bytes


class RunStart(Struct, frozen=True, tag_field="lycosa", tag="run"):
    """A crawl run started; its strategy may differ from the run before."""

    at: Timestamp
    strategy: str
    seeds: tuple[CheckedUrl, ...]
    scope: JsonValue = None
    utility: JsonValue = None  # how the strategy weighs relevance against standing
    refresh: JsonValue = None  # only for a refresh: its policy, its budget, and the share of the budget for new pages
    map: JsonValue = None  # topical map that guides the strategy: atlas, topic and priority
    # access log that guides the strategy: file, half-life and minimum number of readers
    access_log: JsonValue = field(default=None, name="logs")
    options: Mapping[str, JsonValue] | UnsetType = UNSET  # of the strategy; not written if there are none
    quotas: Mapping[str, int] | UnsetType = UNSET  # pages per host and per site; not written if there are none
    # hash of the rank lists used; not written if there were none
    rank_lists_digest: str | UnsetType = field(default=UNSET, name="authority")
    # number of seeds, the last ones, that are from sitemaps; not written for none
    sitemap_seed_count: int | UnsetType = field(default=UNSET, name="sitemap_seeds")


class Attempt(Struct, frozen=True):
    """A fetch that failed and will be tried again."""

    candidate: Candidate
    fetch: Fetch


class FetchedExample(Struct, frozen=True):
    """An example page, good or bad, fetched for training."""

    url: Url
    good: bool  # whether it is a positive example
    fetch: Fetch


class Scores(Struct, frozen=True, tag_field="lycosa", tag="scores"):
    """New scores of pages, by URL, which replace the earlier ones; `reason` is for people."""

    at: Timestamp
    reason: str
    relevance: dict[str, Score]
    standing: dict[str, Score] = {}


class RunStop(Struct, frozen=True, tag_field="lycosa", tag="stop"):
    """A crawl run ended."""

    at: Timestamp
    reason: str


Event = RunStart | Visit | Attempt | FetchedExample | Scores | RunStop


def fetch_of(event: Event) -> Fetch | None:
    """The fetch of an event, if it has one."""
    return event.fetch if isinstance(event, (Visit, Attempt, FetchedExample)) else None


def is_revisit(fetch: Fetch) -> bool:
    """Whether the archive has the body already, so that only a revisit is recorded."""
    return fetch.outcome is Outcome.UNCHANGED and not fetch.body


def is_not_modified(fetch: Fetch) -> bool:
    """Whether the response was a 304."""
    return fetch.status == 304 and is_revisit(fetch)
