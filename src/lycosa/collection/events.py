"""What a collection remembers: the events of a crawl in their order, and where each lies in the archive."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from lycosa.vocabulary.records import Candidate, CheckedUrl, Count, Fetch, Moment, Outcome, Plain, Score, Url, Visit


class RecordLocation(NamedTuple):
    """Where an event's first record lies; the rest of its records follow directly."""

    file: str
    offset: Count
    length: Count


class ArchivePosition(NamedTuple):
    """A moment in the archive: everything in earlier files, and in this one up to the offset."""

    file: str
    offset: Count


class RunStart(Struct, frozen=True, tag_field="lycosa", tag="run"):
    """A crawl run started; its strategy may differ from the run before."""

    at: Moment
    strategy: str
    seeds: tuple[CheckedUrl, ...]
    scope: Plain = None
    utility: Plain = None  # how the strategy weighs relevance against standing
    refresh: Plain = None  # of a run that sees pages again: its policy, budget and share of expansion
    map: Plain = None  # of past crawls that guides the strategy: its atlas, topic and priority
    logs: Plain = None  # access log that guides the strategy: its file, half-life and least number of users
    options: Mapping[str, Plain] | UnsetType = UNSET  # of the strategy; not written where none are set
    quotas: Mapping[str, int] | UnsetType = UNSET  # pages of one host and of one site; not written where none are set
    authority: str | UnsetType = UNSET  # hash of the table of ranks that counted; not written where none did
    sitemap_seeds: int | UnsetType = UNSET  # how many of the seeds, the last ones, sitemaps name; not written for none


class Attempt(Struct, frozen=True):
    """A fetch that failed and will be tried again."""

    candidate: Candidate
    fetch: Fetch


class FetchedExample(Struct, frozen=True):
    """A page that somebody called good or bad, fetched for training."""

    url: Url
    good: bool
    fetch: Fetch


class Scores(Struct, frozen=True, tag_field="lycosa", tag="scores"):
    """Pages judged anew; replaces their earlier relevance, or standing, where it is named."""

    at: Moment
    reason: str
    relevance: dict[str, Score]
    standing: dict[str, Score] = {}


class Stop(Struct, frozen=True, tag_field="lycosa", tag="stop"):
    """A crawl run ended."""

    at: Moment
    reason: str


Event = RunStart | Visit | Attempt | FetchedExample | Scores | Stop


def fetch_of(event: Event) -> Fetch | None:
    """What the event fetched, if it is about a fetch."""
    return event.fetch if isinstance(event, (Visit, Attempt, FetchedExample)) else None


def is_revisit(fetch: Fetch) -> bool:
    """Whether the archive has the body already, and is to keep only that it was seen again."""
    return fetch.outcome is Outcome.UNCHANGED and not fetch.body


def is_not_modified(fetch: Fetch) -> bool:
    """Whether the server said that what the archive has is still so."""
    return fetch.status == 304 and is_revisit(fetch)
