from pathlib import Path

from lycosa import __version__
from lycosa.collection import Collection
from lycosa.reading import Reader, main_text
from lycosa.reading.decode import decode
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Fetch, Page
from lycosa.web.encodings import decoded


def open_collection(folder: Path, *, clock: Clock, reader: Reader, writable: bool = False, afresh: bool = False) -> Collection:
    """The collection in a folder, with the parts it borrows from the rest of Lycosa."""

    def searchable(fetch: Fetch, page: Page | None) -> tuple[str, str]:
        page = page or reader(fetch)
        html = decode(fetch.content, fetch.header("content-type") or "")
        return (page.title if page else ""), main_text(html)

    return Collection.open(
        folder,
        clock=clock,
        decode=decoded,
        software=f"lycosa/{__version__}",
        searchable=searchable,
        writable=writable,
        afresh=afresh,
    )
