"""Everything about one URL: the stored copy, its text and versions, and the path of links to it."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.rows import PageRow
from lycosa.frontier.durable import waiting_candidate
from lycosa.run.explanation import link_path_to
from lycosa.run.export import labels_of
from lycosa.run.open import html_of, main_text_of, open_for_reading
from lycosa.run.reasons import Factor, factors_of, reasons_in_words, shown_priority
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import Candidate, Url
from lycosa.vocabulary.text import printable

from .lines import HitLine, PageLine, hit_line, page_line
from .versions import MAX_VERSIONS, LookLine, look_line

MAX_SIMILAR = 6
_MAX_PARAGRAPHS = 200
_MAX_TEXT = 40_000  # characters
_MAX_HTML = 5_000_000  # characters

_LOADING_TAGS = re.compile(r"<(?:link|base|meta)(?=[\s/>])[^>]*+>?", re.IGNORECASE)


class PathStep(Struct, frozen=True):
    """A page on the path to another one, and why it was fetched."""

    url: str
    title: str
    is_stored: bool
    relevance: float | None = None
    standing: float | None = None
    priority: float | None = None
    depth: int | None = None  # number of links from a seed
    anchor: str = ""
    why: str = ""  # the reasons for its priority, in words
    factors: list[Factor] = []


class PageView(Struct, frozen=True):
    """The screen of one URL."""

    url: str
    state: str  # stored, vanished, waiting or unknown
    page: PageLine | None
    duplicate_of: str | None  # URL of the stored page of which it is a near-duplicate
    truncated: str  # why its body was cut off: length or time; empty if it was not
    text: list[str]  # paragraphs
    way: list[PathStep]  # from a seed; the last one is the page itself
    versions: list[LookLine]
    similar: list[HitLine]
    label: str  # good, bad or empty


def page_view(folder: Path, url: Url) -> PageView:
    """Everything about a URL."""
    labels = labels_of(folder)
    with open_for_reading(folder) as collection:
        catalog = collection.catalog
        row = catalog.page(url)
        if row is None:
            with catalog.reporting_errors():
                waiting = waiting_candidate(catalog.connection, url)
            way = [_step(waiting)] if waiting is not None else []
            state = "waiting" if waiting is not None else "unknown"
            return PageView(url, state, None, None, "", [], way, [], [], labels.get(url, ""))
        text = main_text_of(collection.archive.fetch_at(row.place))[:_MAX_TEXT] if row.place else ""
        return PageView(
            url=row.url,
            state="stored" if row.vanished_at is None else "vanished",
            page=page_line(row, labels, max_factors=None),
            duplicate_of=row.duplicate_of,
            truncated=row.truncated,
            text=[printable(line, 4_000) for line in text.splitlines() if line.strip()][:_MAX_PARAGRAPHS],
            way=[*map(_step, link_path_to(catalog, row)), _step(row)],
            versions=[look_line(look) for look in catalog.looks(row.number)[-MAX_VERSIONS:]],
            similar=_similar(collection, row.url, labels),
            label=labels.get(row.url, ""),
        )


def _similar(collection: Collection, url: Url, labels: Mapping[Url, str]) -> list[HitLine]:
    try:
        return [hit_line(hit, labels) for hit in collection.search.similar(url, limit=MAX_SIMILAR)]
    except LycosaError:  # the index is of an older version, or damaged: the page can be shown without
        return []


def stored_html(folder: Path, url: Url, look: int | None = None) -> str:
    """The stored HTML of a page, the latest or of its n-th fetch (`look`), without elements that load other files."""
    with open_for_reading(folder) as collection:
        row = collection.catalog.page(url)
        place = row.place if row else None
        if row is not None and look is not None:
            place = next((each.place for each in collection.catalog.looks(row.number) if each.look == look), None)
        if place is None:
            raise UsageError("the collection has no such page")
        return inert_html(html_of(collection.archive.fetch_at(place))[:_MAX_HTML])


def inert_html(html: str) -> str:
    """HTML without <link>, <base> and <meta> elements, which can load or redirect to other URLs.

    Scripts, forms and all other requests are blocked by the Content-Security-Policy of the response. Each element is
    replaced by a space, since the text around it could otherwise join into a new tag.

    >>> inert_html('<p>Bees<LINK rel=preconnect href="//other.example/">, <li<base >nk>')
    '<p>Bees , <li nk>'
    """
    return _LOADING_TAGS.sub(" ", html)


def _step(found: PageRow | Candidate | Url) -> PathStep:
    if isinstance(found, str):
        return PathStep(found, "", is_stored=False)
    is_page = isinstance(found, PageRow)
    return PathStep(
        url=found.url,
        title=printable(found.title) if isinstance(found, PageRow) else "",
        is_stored=is_page,
        relevance=found.relevance if isinstance(found, PageRow) else None,
        standing=found.standing if isinstance(found, PageRow) else None,
        priority=shown_priority(found.priority, found.because),
        depth=found.depth,
        anchor=printable(found.anchor, 200),
        why=printable(reasons_in_words(found.because), 1_000),
        factors=factors_of(found.because),
    )
