"""The rows of a catalog as records: their fields are the columns, and SQL is made from the names of the fields.

Rows are read by a `RowReader`, which turns columns into the types of the fields. They are written as the records at the
end of this file, and links as the `Link` of a page.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from lycosa.vocabulary.records import CheckedUrl, Count, Host, Moment, Outcome, PastFetch, Plain, Score, Url

from .errors import DamagedRowError
from .events import RecordLocation

PLACE_COLUMNS = ("file", "place", "length")  # of a field `place`
R = TypeVar("R", bound=Struct)
Number = Annotated[int, Meta(ge=1)]
Status = Annotated[int, Meta(ge=0, le=999)]


# ---------------------------------------------------------------- rows that are read


class PageRow(Struct, frozen=True, gc=False):
    """A page of the collection."""

    number: Number  # order of arrival, from 1
    url: CheckedUrl
    host: Host
    title: str
    language: str
    relevance: Score | None
    digest: int
    fingerprint: int
    at: Moment
    bytes: Count
    depth: Count
    found_on: CheckedUrl | None
    priority: Score
    because: Mapping[str, Plain]
    anchor: str
    duplicate_of: CheckedUrl | None
    status: Status | None
    place: RecordLocation | None
    etag: str
    last_modified: str
    truncated: str
    standing: Score | None
    looked_at: Moment  # when it was last asked for
    vanished_at: Moment | None
    vanished_why: str
    is_copy: bool  # its text is that of `duplicate_of` word for word
    links_beyond: Count  # that were not read, as there are too many
    needs_script: bool

    @property
    def state(self) -> str:
        return "kept" if self.vanished_at is None else "vanished"

    @property
    def past(self) -> PastFetch:
        """What a conditional request needs to know of the page."""
        return PastFetch(self.url, self.at, Outcome.OK, self.status, self.digest, self.etag, self.last_modified)


class FetchRow(Struct, frozen=True, gc=False):
    """One request and how it ended."""

    url: CheckedUrl
    at: Moment
    outcome: Outcome
    status: Status | None
    elapsed: Score
    detail: str
    digest: int
    settled: bool  # False where another attempt follows
    place: RecordLocation | None
    left_out: str  # why the page is not kept, as a LeftOut is spelt; empty where it is, or there is none


class ObservationRow(Struct, frozen=True, gc=False):
    """One time that a page was seen, and what had become of it."""

    look: Number  # 1 for the first
    at: Moment
    change: str  # "new" for the first, else a Change
    status: Status | None
    digest: int | None  # of the version it brought; None where it brought none
    bytes: Count | None
    links: Count | None
    new_links: Count  # targets that the version before did not link to
    place: RecordLocation | None


class RefreshState(Struct, frozen=True, gc=False):
    """What decides when a page is to be refreshed."""

    number: Number
    url: CheckedUrl
    relevance: Score | None
    standing: Score | None
    looked_at: Moment
    vanished_at: Moment | None


class PageFacts(Struct, frozen=True, gc=False):
    """What pages are sorted and narrowed down by."""

    number: Number
    url: CheckedUrl
    host: Host
    language: str
    relevance: Score | None
    standing: Score | None
    at: Moment


class LatestChange(Struct, frozen=True, gc=False):
    """A page that was found changed, vanished or returned."""

    url: CheckedUrl
    title: str
    change: str
    at: Moment


class Freshness(Struct, frozen=True):
    """How well a collection is kept up with."""

    looked_again: int  # pages seen more than once
    changed: int  # pages that were found changed at least once
    vanished: int  # pages that are there no longer
    oldest_look: Moment | None  # at a page that is there
    latest_look: Moment | None


class InLinkRow(Struct, frozen=True, gc=False):
    """A page of the collection that links to a URL."""

    url: CheckedUrl
    relevance: Score | None
    anchor: str
    rel: str


class VisitRow(Struct, frozen=True, gc=False):
    """A visit as far as links go: where it led."""

    url: CheckedUrl
    outcome: Outcome
    relevance: Score | None  # None where there is no page
    links: tuple[CheckedUrl, ...]


class SkipRow(Struct, frozen=True, gc=False):
    """A URL that was never fetched, and why."""

    url: CheckedUrl
    reason: str
    found_on: CheckedUrl | None
    at: Moment


class ExampleRow(Struct, frozen=True, gc=False):
    """A page somebody called good or bad."""

    url: CheckedUrl
    good: bool
    at: Moment
    outcome: Outcome
    place: RecordLocation | None


class RunRow(Struct, frozen=True, gc=False):
    """A crawl run, from its first page on."""

    at: Moment
    strategy: str
    seeds: tuple[CheckedUrl, ...]
    scope: Plain
    first_page: Count
    stopped_at: Moment | None
    stop_reason: str | None
    refresh: Plain = None  # of a run that saw pages again: policy, budget, share of expansion


class Omissions(Struct, frozen=True):
    """What a collection lacks of what the crawl came across, in numbers of URLs where nothing else is said."""

    left_out: dict[str, int]  # pages that were read and not kept, by reason as a LeftOut is spelt
    unexplained: int  # the same by an older version, which did not note the reason
    near_duplicates: int  # pages that are kept and nearly the same as others; copies are not counted
    copies: int  # pages that are kept, and whose links were not followed
    truncated: dict[str, int]  # pages of which the end is missing, by what cut them: length or time
    pages_of_many_links: int  # pages some of whose links were not read
    links_beyond: Count  # those links
    needs_script: int  # pages with hardly any text and links, but scripts
    other_types: dict[str, int]  # what is not HTML, by how the fetch described it
    forbidden: int  # by robots.txt
    skipped: dict[str, int]  # links that were never fetched, by reason without its detail


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
    bytes: Count
    first_at: Moment | None
    last_at: Moment | None
    freshness: Freshness
    omissions: Omissions
    runs: tuple[RunRow, ...]


class RowReader(Generic[R]):
    """Makes records of one type out of rows that were selected by `columns`.

    A field is read from the column of its name, or from the SQL expression given for it; the field `place` from the
    columns of a RecordLocation, all NULL where there is none.

    >>> RowReader(RefreshState, {"looked_at": "coalesce(looked_at, at)"}).columns
    'number, url, relevance, standing, coalesce(looked_at, at), vanished_at'
    """

    def __init__(
        self,
        kind: type[R],
        expressions: Mapping[str, str] | None = None,
        convert: Mapping[str, Callable[[Any], Any]] | None = None,
    ):
        fields = kind.__struct_fields__
        self.names: list[str] = []
        for field in fields:
            self.names.extend(PLACE_COLUMNS if field == "place" else [(expressions or {}).get(field, field)])
        self.columns = ", ".join(self.names)
        self._kind = kind
        self._place = fields.index("place") if "place" in fields else None
        self._fields = fields
        self._conversions = list((convert or {}).items())

    def __call__(self, row: Iterable[Any]) -> R:
        """The record of a row; raises DamagedRowError where a value is not what the field takes."""
        values = list(row)
        if self._place is not None:
            file, offset, length = values[self._place : self._place + 3]
            values[self._place : self._place + 3] = [None if file is None else (file, offset, length)]
        plain = dict(zip(self._fields, values, strict=True))
        try:
            for field, function in self._conversions:
                plain[field] = function(plain[field])
            return msgspec.convert(plain, self._kind)
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
            raise DamagedRowError(f"a row is not as Lycosa writes it: {error}"[:200]) from None


def from_json(text: str) -> Plain:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, RecursionError) as error:
        raise DamagedRowError(f"it holds what is no JSON: {error}"[:200]) from None


def unsigned(number: int) -> int:
    """A 64-bit hash from an INTEGER, which is signed in SQLite."""
    return number & (1 << 64) - 1


def signed(number: int) -> int:
    """A 64-bit hash as an INTEGER."""
    return number - (1 << 64) if number >> 63 else number


read_page = RowReader(
    PageRow,
    {"looked_at": "coalesce(looked_at, at)"},
    {"digest": unsigned, "fingerprint": unsigned, "because": from_json, "is_copy": bool, "needs_script": bool},
)
read_fetch = RowReader(FetchRow, convert={"outcome": Outcome, "digest": unsigned, "settled": bool})
read_look = RowReader(ObservationRow, convert={"digest": lambda digest: None if digest is None else unsigned(digest)})
read_example = RowReader(ExampleRow, convert={"good": bool, "outcome": Outcome})
read_run = RowReader(
    RunRow,
    convert={
        "seeds": lambda seeds: tuple(msgspec.json.decode(seeds)),
        "scope": from_json,
        "refresh": lambda refresh: from_json(refresh) if refresh else None,
    },
)
read_skip = RowReader(SkipRow)
read_refresh_state = RowReader(RefreshState, {"looked_at": "coalesce(looked_at, at)"})
read_facts = RowReader(PageFacts)
read_change = RowReader(LatestChange, {"url": "pages.url", "title": "pages.title", "at": "looks.at"})
read_parent = RowReader(
    InLinkRow, {"url": "pages.url", "relevance": "pages.relevance", "anchor": "links.anchor", "rel": "links.rel"}
)


# ---------------------------------------------------------------- rows that are written


class NewPage(Struct, frozen=True, gc=False):
    """What is known of a page when it is first kept, beside its version."""

    number: int
    url: Url
    host: Host
    depth: int
    found_on: Url | None
    priority: float
    because: str  # JSON
    anchor: str


class Version(Struct, frozen=True, gc=False):
    """What every version of a page brings."""

    title: str
    language: str
    relevance: float | None
    digest: int
    fingerprint: int
    at: float
    bytes: int
    duplicate_of: Url | None
    status: int | None
    file: str | None
    place: int | None
    length: int | None
    etag: str
    last_modified: str
    truncated: str
    standing: float | None
    is_copy: bool
    links_beyond: int
    needs_script: bool


class NewFetch(Struct, frozen=True, gc=False):
    """A row of `fetches`."""

    url: Url
    at: float
    outcome: str
    status: int | None
    elapsed: float
    detail: str
    digest: int
    settled: bool
    file: str | None
    place: int | None
    length: int | None
    again: bool
    left_out: str


class NewSkip(Struct, frozen=True, gc=False):
    """A row of `skips`."""

    key: int
    url: Url
    reason: str
    found_on: Url | None
    at: float


class NewExample(Struct, frozen=True, gc=False):
    """A row of `examples`."""

    url: Url
    good: bool
    at: float
    outcome: str
    file: str | None
    place: int | None
    length: int | None


class NewRun(Struct, frozen=True, gc=False):
    """A row of `runs`, but for its end."""

    at: float
    strategy: str
    seeds: str  # JSON
    scope: str  # JSON
    first_page: int
    refresh: str | None  # JSON


class NewObservation(Struct, frozen=True, gc=False):
    """A row of `looks`, less its page and its number, which are found by the URL."""

    at: float
    change: str
    status: int | None
    digest: int | None
    bytes: int | None
    links: int | None
    new_links: int
    file: str | None
    place: int | None
    length: int | None


class LastObservation(Struct, frozen=True, gc=False):
    """When a page was last asked for, and its validators where the answer had some."""

    looked_at: float
    etag: str | None
    last_modified: str | None


class Vanishing(Struct, frozen=True, gc=False):
    """When a page vanished, and why; or that it is there again."""

    vanished_at: float | None
    vanished_why: str


class NewTarget(Struct, frozen=True, gc=False):
    """A row of `new_links`."""

    page: int
    look: int
    target: Url


def columns_of(*kinds: type[Struct]) -> tuple[str, ...]:
    """The columns that rows of these types, one behind the other, fill."""
    return tuple(column for kind in kinds for column in kind.__struct_fields__)


def insert_sql(table: str, *columns: str, verb: str = "INSERT") -> str:
    """An INSERT of some columns.

    >>> insert_sql("skips", "key", "url", verb="INSERT OR IGNORE")
    'INSERT OR IGNORE INTO skips (key, url) VALUES (?, ?)'
    """
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"


def update_sql(table: str, *columns: str, key: str) -> str:
    """An UPDATE of some columns, in the row with a key.

    >>> update_sql("pages", "title", "at", key="url")
    'UPDATE pages SET title = ?, at = ? WHERE url = ?'
    """
    return f"UPDATE {table} SET {', '.join(f'{column} = ?' for column in columns)} WHERE {key} = ?"
