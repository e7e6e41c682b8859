"""Opening a collection, with the parts it borrows from the rest of Lycosa."""

from pathlib import Path

from lycosa import __version__
from lycosa.collection import Collection
from lycosa.reading import Reader, main_text
from lycosa.reading.decode import decode
from lycosa.reading.html import parse_html
from lycosa.recipe import load_recipe
from lycosa.vocabulary.clock import Clock, WallClock
from lycosa.vocabulary.records import Fetch, Page
from lycosa.web.encodings import decoded


def open_collection(
    folder: Path, *, clock: Clock, reader: Reader, writable: bool = False, afresh: bool = False
) -> Collection:
    """The collection in a folder, with the parts it borrows from the rest of Lycosa."""

    def searchable(fetch: Fetch, page: Page | None) -> tuple[str, str]:
        page = page or reader(fetch)
        return (page.title, page.main) if page else ("", "")

    return Collection.open(
        folder,
        clock=clock,
        decode=decoded,
        software=f"lycosa/{__version__}",
        searchable=searchable,
        writable=writable,
        afresh=afresh,
    )


def open_for_reading(folder: Path) -> Collection:
    """The collection in a folder, for those who change nothing."""
    recipe = load_recipe(folder, to_read=True)
    return open_collection(folder, clock=WallClock(), reader=Reader(stem=recipe.topic.stem))


def html_of(fetch: Fetch) -> str:
    """A fetched page as text."""
    return decode(fetch.content, fetch.header("content-type") or "")


def main_text_of(fetch: Fetch) -> str:
    """The text that a fetched page is about, without navigation and the like; all its text where no part stands out."""
    html = html_of(fetch)
    return main_text(html) or " ".join(parse_html(html, fetch.url).main.split())
