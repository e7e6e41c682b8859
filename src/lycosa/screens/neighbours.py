"""The outgoing links of a page, and the pages of the collection that link to it."""

from pathlib import Path

from msgspec import Struct, field

from lycosa.collection.queries import Selection
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import printable

MAX_NEIGHBOURS = 50  # outgoing, and as many incoming links


class LinkLine(Struct, frozen=True):
    url: str
    anchor: str
    relevance: float | None
    is_stored: bool


class NeighboursView(Struct, frozen=True):
    """The screen of the links of one page."""

    url: str
    title: str
    link_count: int = field(name="links")  # all outgoing links
    leads_to: list[LinkLine]  # the first links
    linked_from: list[LinkLine]  # the first pages that link to it
    has_more_in_links: bool


def neighbours_view(folder: Path, url: Url) -> NeighboursView:
    """The first outgoing and incoming links of a page; the incoming ones need a scan of the table of links."""
    with open_for_reading(folder) as collection:
        catalog = collection.catalog
        row = catalog.page(url)
        if row is None:
            raise UsageError("the collection has no such page")
        links = catalog.links(row.number)
        shown = links[:MAX_NEIGHBOURS]
        selection = Selection(urls=frozenset(link.target for link in shown))
        stored = {page.url: page for page in catalog.short_pages(selection, "oldest", MAX_NEIGHBOURS)}
        parents = catalog.parents(row.url, limit=MAX_NEIGHBOURS + 1)
    return NeighboursView(
        url=row.url,
        title=printable(row.title),
        link_count=len(links),
        leads_to=[
            LinkLine(
                link.target,
                printable(link.anchor, 200),
                stored[link.target].relevance if link.target in stored else None,
                is_stored=link.target in stored,
            )
            for link in shown
        ],
        linked_from=[
            LinkLine(each.url, printable(each.anchor, 200), each.relevance, is_stored=True)
            for each in parents[:MAX_NEIGHBOURS]
        ],
        has_more_in_links=len(parents) > MAX_NEIGHBOURS,
    )
