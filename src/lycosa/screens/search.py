"""Full-text search with facets and sorting."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from lycosa.vocabulary.text import visible

from .lines import HitLine, hit_line, paged

HITS_PER_PAGE = 10
ORDERS: dict[str, str] = {  # as a user knows them
    "": "best match",
    "relevance": "relevance",
    "standing": "importance",
    "newest": "newest first",
    "oldest": "oldest first",
}
PERIODS = {"1d": "last day", "7d": "last week", "30d": "last month", "365d": "last year"}
_SHARES = {"0.95": "0.95 and more", "0.8": "0.8 and more", "0.5": "0.5 and more"}
_MAX_FACET_VALUES = 12  # of a facet
_MIN_TYPED = 2  # letters of a word that is being typed, from which on those that begin with it are found

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
    count: int  # among the first answers


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
    is_partial: bool  # whether there may be more answers than were looked at
    looked_at: int  # answers, where it is partial
    not_indexed: int  # the newest pages, which cannot be found yet
    page: int
    last_page: int
    hits: list[HitLine]
    facets: list[Facet]  # of the first answers
    milliseconds: float


class _Found(Struct, frozen=True):
    hits: list[HitLine]
    total: int
    is_partial: bool
    first: Sequence[ShortPageRow]  # of the first answers


def search_view(folder: Path, asked: SearchRequest, *, now: float, is_typed: bool = False) -> SearchView:
    """A page of results; without a query, of all pages.

    is_typed: whether the user is still typing, so that the last word also matches as a prefix.
    """
    began = time.perf_counter()
    labels = labels_of(folder)
    asked = replace(asked, page=max(1, min(asked.page, MAX_EXAMINED // HITS_PER_PAGE)))
    wanted = Selection(
        hosts=(asked.host.lower(),) if asked.host else (),
        languages=(asked.language,) if asked.language else (),
        min_relevance=asked.min_relevance,
        min_standing=asked.min_standing,
        since=moment_of(asked.since, now=now) if asked.since else None,
        urls=frozenset(url for url, label in labels.items() if label == asked.label) if asked.label else None,
    )
    with open_for_reading(folder) as collection:
        if asked.query.strip():
            query = with_prefix_search(asked.query) if is_typed else asked.query
            found = _by_words(collection, query, asked, wanted, labels)
        else:
            found = _all_pages(collection, asked, wanted, labels)
        not_indexed = collection.pages_not_indexed()
    _, last_page, _ = paged(asked.page, min(found.total, MAX_EXAMINED), HITS_PER_PAGE)
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
        facets=_facets(found.first, labels, now),
        milliseconds=round(1e3 * (time.perf_counter() - began), 1),
    )


def _by_words(
    collection: Collection, query: str, asked: SearchRequest, wanted: Selection, labels: Mapping[Url, str]
) -> _Found:
    """Results of the index; fields that it lacks are filtered by the catalog, among the first thousand hits."""
    catalog = collection.catalog
    is_chosen = bool(set(asked.chosen()) - {"host", "language"})  # which the index knows

    def choose(urls: Sequence[str]) -> Sequence[str]:
        candidates = frozenset(map(Url, urls))
        narrowed = replace(wanted, urls=candidates if wanted.urls is None else candidates & wanted.urls)
        facts = catalog.short_pages(narrowed, asked.order or "newest", MAX_EXAMINED)
        if asked.order:
            return [each.url for each in facts]
        kept = {each.url for each in facts}
        return [url for url in urls if url in kept]

    found = collection.search.search_page(
        query,
        offset=(asked.page - 1) * HITS_PER_PAGE,
        limit=HITS_PER_PAGE,
        host=asked.host.lower() or None,
        language=asked.language or None,
        choose=choose if is_chosen or asked.order else None,
    )
    first = catalog.short_pages(Selection(urls=frozenset(map(Url, found.facet_urls))), "newest", MAX_FACETED)
    return _Found([hit_line(hit, labels) for hit in found.hits], found.total, found.is_partial, first)


def _all_pages(collection: Collection, asked: SearchRequest, wanted: Selection, labels: Mapping[Url, str]) -> _Found:
    """Pages of the catalog, by default most relevant first."""
    catalog = collection.catalog
    order: ShortPageOrder = asked.order or "relevance"
    start = (asked.page - 1) * HITS_PER_PAGE
    first = catalog.short_pages(wanted, order, max(MAX_FACETED, start + HITS_PER_PAGE))
    rows = [row for each in first[start : start + HITS_PER_PAGE] if (row := catalog.page(each.url)) is not None]
    hits = [_listed(collection, row, labels) for row in rows]
    return _Found(hits, catalog.count_selected(wanted), False, first[:MAX_FACETED])


def _listed(collection: Collection, row: PageRow, labels: Mapping[Url, str]) -> HitLine:
    text = main_text_of(collection.archive.fetch_at(row.place)) if row.place is not None else ""
    return HitLine(
        url=row.url,
        host=row.host,
        title=visible(row.title),
        snippet=visible(text, SNIPPET),
        relevance=row.relevance,
        label=labels.get(row.url, ""),
    )


def _facets(first: Sequence[ShortPageRow], labels: Mapping[Url, str], now: float) -> list[Facet]:
    """The facets of some pages, with counts of their values."""
    begins = {period: moment_of(period, now=now) for period in PERIODS}
    shares = {name: [getattr(each, name) or 0.0 for each in first] for name in ("relevance", "standing")}
    found = [
        ("host", "Hosts", _most_common(each.host for each in first)),
        ("language", "Languages", _most_common(each.language for each in first)),
        *(
            (
                f"min_{name}",
                title,
                [
                    FacetValue(value, text, sum(share >= float(value) for share in shares[name]))
                    for value, text in _SHARES.items()
                ],
            )
            for name, title in (("relevance", "Relevance"), ("standing", "Importance"))
        ),
        (
            "since",
            "Fetched",
            [
                FacetValue(value, text, sum(each.at >= begins[value] for each in first))
                for value, text in PERIODS.items()
            ],
        ),
        (
            "label",
            "Labels",
            [FacetValue(label, label, sum(labels.get(each.url) == label for each in first)) for label in LABELS],
        ),
    ]
    return [
        Facet(parameter, title, values)
        for parameter, title, counted in found
        if (values := [each for each in counted if each.count])
    ]


def _most_common(values: Iterable[str]) -> list[FacetValue]:
    counts = Counter(value for value in values if value).most_common(_MAX_FACET_VALUES)
    return [FacetValue(value, visible(value, 120), count) for value, count in counts]


def with_prefix_search(query: str) -> str:
    """The query with its last word also matched as a prefix.

    >>> with_prefix_search("honey be"), with_prefix_search('"honey be"'), with_prefix_search("honey ")
    ('honey (be OR be*)', '"honey be"', 'honey ')
    """
    words = query.split()
    last = words[-1] if words and query.endswith(words[-1]) else ""
    is_word = len(last) >= _MIN_TYPED and last.replace("_", "a").isalnum() and last not in ("AND", "OR", "NOT")
    if not is_word or query.count('"') % 2:
        return query
    return f"{query.removesuffix(last)}({last} OR {last}*)"
