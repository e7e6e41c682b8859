"""Entries of lists that several screens share (a `…Line` each), with sanitised one-line texts; and paging."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from lycosa.collection.rows import PageRow, RunRow
from lycosa.collection.search_index import Hit
from lycosa.run.reasons import reasons_in_words
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import printable
from lycosa.vocabulary.urls import normalise

MAX_COUNTED = 25  # entries of a list of counts


class Counted(Struct, frozen=True):
    name: str
    count: int


class PageLine(Struct, frozen=True):
    """A page in a list."""

    number: int  # in the order in which pages were stored, from 1
    url: str
    host: str
    title: str
    language: str
    relevance: float | None
    standing: float | None
    at: float  # when it was fetched, in seconds since the epoch
    state: str  # kept, or vanished from the Web
    label: str  # good, bad or empty
    why: str  # the reasons for its priority, in words


class HitLine(Struct, frozen=True):
    url: str
    host: str
    title: str
    snippet: str  # matching words are between « and »
    relevance: float | None
    label: str  # good, bad or empty


def checked_url(text: str) -> Url:
    """The normalised URL of a request; raises UsageError if it is not one."""
    url = normalise(text[:4_000])
    if url is None:
        raise UsageError("not a URL; write http://… or https://…")
    return url


def without_paths(message: str, folder: Path) -> str:
    """A message for the user, with the path of the collection replaced by its name."""
    return printable(message.replace(str(folder), folder.name), 500)


def clamp_page(page: int, total: int, per_page: int) -> tuple[int, int, int]:
    """The page number brought into range, the last page, and the offset of the first entry of the page."""
    last = max(1, -(-total // per_page))
    page = max(1, min(page, last))
    return page, last, (page - 1) * per_page


def named_counts(counts: Mapping[str, int]) -> list[Counted]:
    return [Counted(printable(name, 120), count) for name, count in list(counts.items())[:MAX_COUNTED]]


def page_line(row: PageRow, labels: Mapping[Url, str], *, max_factors: int | None = 2) -> PageLine:
    return PageLine(
        number=row.number,
        url=row.url,
        host=row.host,
        title=printable(row.title),
        language=printable(row.language, 20),
        relevance=row.relevance,
        standing=row.standing,
        at=row.at,
        state=row.state,
        label=labels.get(row.url, ""),
        why=printable(reasons_in_words(row.because, max_factors=max_factors), 600),
    )


def hit_line(hit: Hit, labels: Mapping[Url, str]) -> HitLine:
    return HitLine(
        hit.url,
        hit.host,
        printable(hit.title),
        printable(hit.snippet, 500),
        hit.relevance,
        labels.get(Url(hit.url), ""),
    )


def strategy_or_policy(run: RunRow) -> str:
    """The strategy of a crawl, or the policy of a refresh."""
    return printable(f"refresh by {run.refresh.get('policy')}" if isinstance(run.refresh, dict) else run.strategy, 60)
