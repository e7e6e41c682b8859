"""The rows of a catalog as records: fields are columns, and SQL is generated from their names.

Rows are read by a `RowReader`, which converts columns to the types of the fields. They are written as the records at
the end of this file, and links as `Link`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from lycosa.vocabulary.records import (
    CheckedUrl,
    Count,
    Host,
    JsonValue,
    Outcome,
    PastFetch,
    Score,
    Seconds,
    Timestamp,
    Url,
)

from .errors import DamagedRowError
from .events import RecordLocation

ExportRow = dict[str, Any]  # a page of an export: values by column

PLACE_COLUMNS = ("file", "place", "length")  # of a field `place`; the column `place` is only the offset in the file
R = TypeVar("R", bound=Struct)
Number = Annotated[int, Meta(ge=1)]
Status = Annotated[int, Meta(ge=0, le=999)]


# ---------------------------------------------------------------- rows that are read


class PageScore(NamedTuple):
    """A page of the collection, reduced to its relevance."""

    number: Number  # order of arrival, from 1
    url: CheckedUrl
    at: Timestamp  # when it was fetched
    relevance: Score | None


class PageRow(Struct, frozen=True, gc=False):
    """A page of the collection."""

    number: Number  # order of arrival, from 1
    url: CheckedUrl
    host: Host
    title: str
    language: str  # ISO 639-1, empty if unknown
    relevance: Score | None  # 0 to 1
    digest: int  # 64-bit hash of the words
    fingerprint: int  # 64 bits, few of which differ between near-duplicates; 0 for short pages
    at: Timestamp  # when the stored version was fetched
    bytes: Count  # of the body as sent
    depth: Count  # links from a seed
    found_on: CheckedUrl | None  # None for seeds
    priority: Score  # by which it was first fetched
    because: Mapping[str, JsonValue]  # the parts of the priority
    anchor: str  # of the link on `found_on`
    duplicate_of: CheckedUrl | None  # an earlier page with nearly the same text
    status: Status | None  # of HTTP
    place: RecordLocation | None  # in the archive
    etag: str
    last_modified: str
    truncated: str  # "length" or "time" if the body was truncated
    standing: Score | None  # importance on the Web, 0 to 1
    looked_at: Timestamp  # last request
    vanished_at: Timestamp | None  # when it was found to be gone; None while it exists
    vanished_why: str
    is_copy: bool  # its text is that of an earlier page, word for word, and its links are not followed
    links_beyond: Count  # links beyond the limit per page (`max_links`), which were not read
    needs_script: bool  # hardly any text or links, but scripts

    @property
    def state(self) -> str:
        return "kept" if self.vanished_at is None else "vanished"

    @property
    def past(self) -> PastFetch:
        """The latest fetch that returned this version, for a conditional request."""
        return PastFetch(self.url, self.at, Outcome.OK, self.status, self.digest, self.etag, self.last_modified)


class FetchRow(Struct, frozen=True, gc=False):
    """One request and its outcome."""

    url: CheckedUrl
    at: Timestamp
    outcome: Outcome
    status: Status | None
    elapsed: Seconds
    detail: str  # what went wrong, for people
    digest: int  # 64-bit hash of the words of the page; 0 without one
    settled: bool  # False if another attempt follows
    place: RecordLocation | None
    left_out: str  # str of a LeftOut if the page was not kept, else empty


class LookRow(Struct, frozen=True, gc=False):
    """A look: one fetch of a stored page, and what it found."""

    look: Number  # 1 for the first fetch of the page
    at: Timestamp
    change: str  # "new" for the first fetch, else a Change
    status: Status | None
    digest: int | None  # of the new version, if there was one
    bytes: Count | None
    links: Count | None
    new_links: Count  # link targets that are not in the previous version
    place: RecordLocation | None


class RefreshState(Struct, frozen=True, gc=False):
    """The data of a page for refresh policies."""

    number: Number
    url: CheckedUrl
    relevance: Score | None
    standing: Score | None
    looked_at: Timestamp
    vanished_at: Timestamp | None


class ShortPageRow(Struct, frozen=True, gc=False):
    """A few columns of a page, by which search results are sorted and filtered."""

    number: Number
    url: CheckedUrl
    host: Host
    language: str
    relevance: Score | None
    standing: Score | None
    at: Timestamp


class ChangeRow(Struct, frozen=True, gc=False):
    """A page that was found changed, vanished or returned."""

    url: CheckedUrl
    title: str
    change: str
    at: Timestamp


class Freshness(Struct, frozen=True):
    """How up to date a collection is."""

    looked_again: int  # pages fetched again
    changed: int  # pages that were found changed at least once
    vanished: int  # pages that no longer exist
    oldest_look: Timestamp | None  # the earliest of the last fetches of the pages that exist
    latest_look: Timestamp | None  # the latest fetch of any page, vanished ones included


class InLinkRow(Struct, frozen=True, gc=False):
    """A page of the collection that links to a URL."""

    url: CheckedUrl
    relevance: Score | None
    anchor: str
    rel: str


class VisitRow(Struct, frozen=True, gc=False):
    """A visit, reduced to the links that may be followed."""

    url: CheckedUrl
    outcome: Outcome
    relevance: Score | None  # None without a page
    priority: Score | None  # by which it was fetched; None without a page
    links: tuple[CheckedUrl, ...]  # those that may be followed: without nofollow links, and none of a copy


class SkipRow(Struct, frozen=True, gc=False):
    """A URL that was skipped and has not been fetched since, and why."""

    url: CheckedUrl
    reason: str
    found_on: CheckedUrl | None
    at: Timestamp


class ExampleRow(Struct, frozen=True, gc=False):
    """An example page, good or bad."""

    url: CheckedUrl
    good: bool
    at: Timestamp
    outcome: Outcome
    place: RecordLocation | None


class RunRow(Struct, frozen=True, gc=False):
    """A run: a crawl, or a refresh of the collection."""

    at: Timestamp
    strategy: str
    seeds: tuple[CheckedUrl, ...]
    scope: JsonValue
    first_page: Count  # number of the first page that the run may store
    stopped_at: Timestamp | None
    stop_reason: str | None
    refresh: JsonValue = None  # of a refresh: policy, budget and the share of it for new pages; None for a crawl


class Omissions(Struct, frozen=True):
    """What the crawl found but the collection lacks; numbers of URLs unless stated otherwise."""

    left_out: dict[str, int]  # pages that were parsed but not kept, by reason (str of a LeftOut)
    unexplained: int  # such pages of an older version, which did not record the reason
    near_duplicates: int  # stored pages with nearly or exactly the text of another, whose links are followed
    copies: int  # stored pages with exactly the text of another, whose links are not followed
    truncated: dict[str, int]  # truncated pages, by cause: length or time
    pages_of_many_links: int  # pages with more links than are read
    links_beyond: Count  # their links that were not read
    needs_script: int  # pages with hardly any text or links, but scripts
    other_types: dict[str, int]  # not HTML, by the detail of the fetch
    forbidden: int  # by robots.txt
    skipped: dict[str, int]  # links that were skipped and not fetched since, by reason without its detail
    # By registered domain over its share: requests to others while it had a better URL. Several may be passed over for
    # one request.
    passed_over: dict[str, int] = {}


class Totals(NamedTuple):
    """The size of a collection."""

    pages: int
    relevant: int  # pages
    bytes: Count


class Summary(Struct, frozen=True):
    """A collection in numbers."""

    pages: int
    relevant: int
    unscored: int  # pages whose relevance is not known, as after an import before the first crawl
    harvest_rate: float  # share of pages that are relevant
    mean_standing: float | None
    hosts: dict[str, int]  # pages of each, largest first
    outcomes: dict[str, int]
    skipped: dict[str, int]  # by reason
    languages: dict[str, int]
    bytes: Count
    first_at: Timestamp | None
    last_at: Timestamp | None
    freshness: Freshness
    omissions: Omissions
    runs: tuple[RunRow, ...]


class RowReader(Generic[R]):
    """Converts rows, selected by `columns`, to records of one type.

    A field is read from the column of its name, or from the SQL expression given for it; the field `place` from the
    columns of a RecordLocation, which may all be NULL.

    expressions: the SQL expressions, by field.
    convert: functions that convert the values of some fields first, by field.

    >>> RowReader(RefreshState, {"looked_at": "coalesce(looked_at, at)"}).columns
    'number, url, relevance, standing, coalesce(looked_at, at), vanished_at'
    """

    def __init__(
        self,
        row_type: type[R],
        expressions: Mapping[str, str] | None = None,
        convert: Mapping[str, Callable[[Any], Any]] | None = None,
    ):
        fields = row_type.__struct_fields__
        self.expressions: list[str] = []
        for field in fields:
            self.expressions.extend(PLACE_COLUMNS if field == "place" else [(expressions or {}).get(field, field)])
        self.columns = ", ".join(self.expressions)
        self._row_type = row_type
        self._place = fields.index("place") if "place" in fields else None
        self._fields = fields
        self._conversions = list((convert or {}).items())

    def __call__(self, row: Iterable[Any]) -> R:
        """The record of a row; raises DamagedRowError for a value of the wrong type."""
        values = list(row)
        if self._place is not None:
            file, offset, length = values[self._place : self._place + 3]
            values[self._place : self._place + 3] = [None if file is None else (file, offset, length)]
        by_field = dict(zip(self._fields, values, strict=True))
        damaged = "a row"
        try:
            for field, function in self._conversions:
                damaged = f"the column {field} of a row"
                by_field[field] = function(by_field[field])
            damaged = "a row"
            return msgspec.convert(by_field, self._row_type)
        except (DamagedRowError, msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
            raise DamagedRowError(f"{damaged} is damaged: {error}"[:200]) from None


def from_json(text: str, *, what: str = "the value") -> JsonValue:
    """The value of a JSON column; raises DamagedRowError if it is not JSON.

    what: names the column or the like, for the message.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise DamagedRowError(f"{what} is not JSON: {error}"[:200]) from None


def unsigned(number: int) -> int:
    """A 64-bit hash from an INTEGER, which is signed in SQLite."""
    return number & (1 << 64) - 1


def signed(number: int) -> int:
    """A 64-bit hash as an INTEGER."""
    return number - (1 << 64) if number >> 63 else number


_LOOKED_AT = {"looked_at": "coalesce(looked_at, at)"}  # the column is NULL until a page is fetched again
read_page = RowReader(
    PageRow,
    _LOOKED_AT,
    {"digest": unsigned, "fingerprint": unsigned, "because": from_json, "is_copy": bool, "needs_script": bool},
)
read_fetch = RowReader(FetchRow, convert={"outcome": Outcome, "digest": unsigned, "settled": bool})
read_look = RowReader(LookRow, convert={"digest": lambda digest: None if digest is None else unsigned(digest)})
read_example = RowReader(ExampleRow, convert={"good": bool, "outcome": Outcome})
read_run = RowReader(
    RunRow,
    convert={
        "seeds": lambda seeds: tuple(msgspec.json.decode(seeds)),
        "scope": from_json,
        "refresh": lambda refresh: from_json(refresh) if refresh else None,
    },
)
read_visit = RowReader(
    VisitRow,
    {
        "url": "fetches.url",
        # One value a visit: as rows of their own, links take twice as long to read.
        "links": "(SELECT json_group_array(target) FROM links"
        " WHERE source = pages.number AND NOT pages.is_copy AND instr(rel, 'nofollow') = 0)",
    },
    {"outcome": Outcome, "links": from_json},
)
read_skip = RowReader(SkipRow)
read_refresh_state = RowReader(RefreshState, _LOOKED_AT)
read_short_page = RowReader(ShortPageRow)
read_change = RowReader(ChangeRow, {"url": "pages.url", "title": "pages.title", "at": "looks.at"})
read_in_link = RowReader(
    InLinkRow, {"url": "pages.url", "relevance": "pages.relevance", "anchor": "links.anchor", "rel": "links.rel"}
)


# ---------------------------------------------------------------- rows that are written

# Here, `place` is the column: the byte offset of a record in the WARC file `file`, where it has `length` bytes. In rows
# that are read, the three are one RecordLocation.


class NewPage(Struct, frozen=True, gc=False):
    """The columns of a page that do not depend on its version."""

    number: int
    url: Url
    host: Host
    depth: int
    found_on: Url | None
    priority: float
    because: str  # JSON
    anchor: str


class Version(Struct, frozen=True, gc=False):
    """The columns of a page that change with every version."""

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
    settled: bool  # False if another attempt follows
    file: str | None
    place: int | None
    length: int | None
    again: bool  # whether a stored page was fetched again
    left_out: str  # str of a LeftOut if the page was not kept, else empty


class NewSkip(Struct, frozen=True, gc=False):
    """A row of `skips`."""

    key: int  # 64-bit hash of the URL
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
    """A row of `runs`, without its end."""

    at: float
    strategy: str
    seeds: str  # JSON
    scope: str  # JSON
    first_page: int  # number of the first page that the run may store
    refresh: str | None  # JSON


class NewLook(Struct, frozen=True, gc=False):
    """A row of `looks`, without its page and its number, which are looked up by URL."""

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


class LastLook(Struct, frozen=True, gc=False):
    """The time of the last request of a page, and its validators if the response had any."""

    looked_at: float
    etag: str | None
    last_modified: str | None


class Vanishing(Struct, frozen=True, gc=False):
    """When a page vanished, and why; None and empty if it has returned."""

    vanished_at: float | None
    vanished_why: str


class NewTarget(Struct, frozen=True, gc=False):
    """A row of `new_links`."""

    page: int
    look: int
    target: Url


def columns_of(*row_types: type[Struct]) -> tuple[str, ...]:
    """The columns of rows of these types, concatenated."""
    return tuple(column for row_type in row_types for column in row_type.__struct_fields__)


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
