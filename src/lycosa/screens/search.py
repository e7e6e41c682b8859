"""Full-text search with facets and sorting."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection import Collection
from lycosa.collection.queries import Selection, ShortPageOrder
from lycosa.collection.rows import PageRow, ShortPageRow
from lycosa.collection.search_index import MAX_EXAMINED, MAX_FACETED, SNIPPET
from lycosa.run.export import LABELS, labels_of, moment_of
from lycosa.run.open import main_text_of, open_for_reading
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import printable

from .lines import HitLine, clamp_page, hit_line

HITS_PER_PAGE = 10
ORDERS: dict[str, str] = {  # with their names on the screen
    "": "best match",
    "relevance": "relevance",
    "standing": "importance",
    "newest": "newest first",
    "oldest": "oldest first",
}
PERIODS = {"1d": "last day", "7d": "last week", "30d": "last month", "365d": "last year"}
_MIN_SCORES = {"0.95": "0.95 or more", "0.8": "0.8 or more", "0.5": "0.5 or more"}
_MAX_FACET_VALUES = 12
_MIN_PREFIX = 2  # letters that an unfinished word must have to match as a prefix, too

Order = Literal["", "relevance", "standing", "newest", "oldest"]


class SearchRequest(Struct, frozen=True):
    """A search: query, facets, order and page."""

    query: str = ""
    host: str = ""
    language: str = ""
    min_relevance: float | None = None
    min_standing: float | None = None
    since: str = ""  # one of PERIODS
    label: str = ""  # good or bad
    order: Order = ""
    page: int = 1

    def chosen(self) -> dict[str, str]:
        """The selected facets, by parameter."""
        given = {
            "host": self.host,
            "language": self.language,
            "min_relevance": "" if self.min_relevance is None else f"{self.min_relevance:g}",
            "min_standing": "" if self.min_standing is None else f"{self.min_standing:g}",
            "since": self.since,
            "label": self.label,
        }
        return {name: value for name, value in given.items() if value}


class FacetValue(Struct, frozen=True):
    value: str  # for the parameter
    text: str
    count: int  # among the first results


class Facet(Struct, frozen=True):
    """A property by which results can be filtered, with its values."""

    parameter: str
    title: str
    values: list[FacetValue]


class SearchView(Struct, frozen=True):
    """The results of a search."""

    asked: SearchRequest
    chosen: dict[str, str]  # facets, by parameter
    total: int
    is_partial: bool  # whether there may be more results than were examined
    looked_at: int  # how many of the results were examined, if it is partial
    not_indexed: int  # the newest pages, which cannot be found yet
    page: int
    last_page: int
    hits: list[HitLine]
    facets: list[Facet]  # of the first results
    milliseconds: float


class _Found(Struct, frozen=True):
    hits: list[HitLine]
    total: int
    is_partial: bool
    facet_pages: Sequence[ShortPageRow]  # the first results, whose facets are counted


def search_view(folder: Path, asked: SearchRequest, *, now: float, is_being_typed: bool = False) -> SearchView:
    """A page of results; without a query, of all pages. Beyond the last page, the last one.

    is_being_typed: whether the user is still typing, so that the last word also matches as a prefix.
    """
    began = time.perf_counter()
    labels = labels_of(folder)
    asked = replace(asked, page=max(1, min(asked.page, MAX_EXAMINED // HITS_PER_PAGE)))
    filters = Selection(
        hosts=(asked.host.lower(),) if asked.host else (),
        languages=(asked.language,) if asked.language else (),
        min_relevance=asked.min_relevance,
        min_standing=asked.min_standing,
        since=moment_of(asked.since, now=now) if asked.since else None,
        urls=frozenset(url for url, label in labels.items() if label == asked.label) if asked.label else None,
    )
    with open_for_reading(folder) as collection:
        query = with_prefix_search(asked.query) if is_being_typed else asked.query
        find = partial(_search_index, collection, query) if query.strip() else partial(_list_pages, collection)
        found = find(asked, filters, labels)
        page, last_page, _ = clamp_page(asked.page, min(found.total, MAX_EXAMINED), HITS_PER_PAGE)
        if page != asked.page:
            asked = replace(asked, page=page)
            found = find(asked, filters, labels)
        not_indexed = collection.pages_not_indexed()
    return SearchView(
        asked=replace(asked, query=asked.query[:500]),
        chosen=asked.chosen(),
        total=found.total,
        is_partial=found.is_partial,
        looked_at=MAX_EXAMINED,
        not_indexed=not_indexed,
        page=asked.page,
        last_page=last_page,
        hits=found.hits,
        facets=_facets(found.facet_pages, labels, now),
        milliseconds=round(1e3 * (time.perf_counter() - began), 1),
    )


def _search_index(
    collection: Collection, query: str, asked: SearchRequest, filters: Selection, labels: Mapping[Url, str]
) -> _Found:
    """Results of the index; fields that it lacks are filtered by the catalog, among the first MAX_EXAMINED results."""
    catalog = collection.catalog
    needs_catalog = bool(set(asked.chosen()) - {"host", "language"})  # which the index has

    def choose(urls: Sequence[str]) -> Sequence[str]:
        candidates = frozenset(map(Url, urls))
        selection = replace(filters, urls=candidates if filters.urls is None else candidates & filters.urls)
        pages = catalog.short_pages(selection, asked.order or "newest", MAX_EXAMINED)
        if asked.order:
            return [page.url for page in pages]
        kept = {page.url for page in pages}
        return [url for url in urls if url in kept]

    found = collection.search.search_page(
        query,
        offset=(asked.page - 1) * HITS_PER_PAGE,
        limit=HITS_PER_PAGE,
        host=asked.host.lower() or None,
        language=asked.language or None,
        choose=choose if needs_catalog or asked.order else None,
    )
    facet_pages = catalog.short_pages(Selection(urls=frozenset(map(Url, found.facet_urls))), "newest", MAX_FACETED)
    return _Found([hit_line(hit, labels) for hit in found.hits], found.total, found.is_partial, facet_pages)


def _list_pages(collection: Collection, asked: SearchRequest, filters: Selection, labels: Mapping[Url, str]) -> _Found:
    """Pages of the catalog, by default most relevant first."""
    catalog = collection.catalog
    order: ShortPageOrder = asked.order or "relevance"
    start = (asked.page - 1) * HITS_PER_PAGE
    first = catalog.short_pages(filters, order, max(MAX_FACETED, start + HITS_PER_PAGE))
    rows = [row for each in first[start : start + HITS_PER_PAGE] if (row := catalog.page(each.url)) is not None]
    hits = [_hit_of_row(collection, row, labels) for row in rows]
    return _Found(hits, catalog.count_selected(filters), False, first[:MAX_FACETED])


def _hit_of_row(collection: Collection, row: PageRow, labels: Mapping[Url, str]) -> HitLine:
    text = main_text_of(collection.archive.fetch_at(row.place)) if row.place is not None else ""
    return HitLine(
        url=row.url,
        host=row.host,
        title=printable(row.title),
        snippet=printable(text, SNIPPET),
        relevance=row.relevance,
        label=labels.get(row.url, ""),
    )


def _facets(pages: Sequence[ShortPageRow], labels: Mapping[Url, str], now: float) -> list[Facet]:
    """The facets of some pages, with counts of their values."""
    period_starts = {period: moment_of(period, now=now) for period in PERIODS}
    scores = {
        name: [score for page in pages if (score := getattr(page, name)) is not None]
        for name in ("relevance", "standing")
    }
    found = [
        ("host", "Hosts", _most_common(page.host for page in pages)),
        ("language", "Languages", _most_common(page.language for page in pages)),
        *(
            (
                f"min_{name}",
                title,
                [
                    FacetValue(value, text, sum(score >= float(value) for score in scores[name]))
                    for value, text in _MIN_SCORES.items()
                ],
            )
            for name, title in (("relevance", "Relevance"), ("standing", "Importance"))
        ),
        (
            "since",
            "Fetched",
            [
                FacetValue(value, text, sum(page.at >= period_starts[value] for page in pages))
                for value, text in PERIODS.items()
            ],
        ),
        (
            "label",
            "Labels",
            [FacetValue(label, label, sum(labels.get(page.url) == label for page in pages)) for label in LABELS],
        ),
    ]
    return [
        Facet(parameter, title, values)
        for parameter, title, counted in found
        if (values := [each for each in counted if each.count])
    ]


def _most_common(values: Iterable[str]) -> list[FacetValue]:
    counts = Counter(value for value in values if value).most_common(_MAX_FACET_VALUES)
    return [FacetValue(value, printable(value, 120), count) for value, count in counts]


def with_prefix_search(query: str) -> str:
    """The query with its last word also matched as a prefix.

    >>> with_prefix_search("honey be"), with_prefix_search('"honey be"'), with_prefix_search("honey ")
    ('honey (be OR be*)', '"honey be"', 'honey ')
    """
    words = query.split()
    last = words[-1] if words and query.endswith(words[-1]) else ""
    is_word = len(last) >= _MIN_PREFIX and last.replace("_", "a").isalnum() and last not in ("AND", "OR", "NOT")
    if not is_word or query.count('"') % 2:
        return query
    return f"{query.removesuffix(last)}({last} OR {last}*)"
