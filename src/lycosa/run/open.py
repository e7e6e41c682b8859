"""Opens collections, supplying the functions of other packages that they need."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from lycosa import __version__
from lycosa.collection import Collection
from lycosa.collection.catalog import Catalog
from lycosa.collection.collection import CATALOG, SearchableText
from lycosa.collection.upkeep_journal import read_upkeep_journal
from lycosa.reading import Reader, main_text
from lycosa.reading.decode import decode
from lycosa.reading.html import parse_html
from lycosa.recipe import FILE_NAME, Recipe, load_recipe
from lycosa.vocabulary.clock import Clock, WallClock
from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.records import Fetch, Page, Url
from lycosa.vocabulary.text import counted
from lycosa.web.encodings import decoded

from .trust import check_collection


def open_collection(
    folder: Path,
    *,
    clock: Clock,
    reader: Reader,
    writable: bool = False,
    rebuild: bool = False,
    index_later: bool = False,
    part_of: Path | None = None,
) -> Collection:
    """Opens the collection in a folder; `Collection.open` explains the options.

    reader: parses stored pages again, where the search index lacks their text.
    """
    check_collection(folder)

    def extract_text(fetch: Fetch, page: Page | None) -> SearchableText:
        # `page.main`, by markup alone, costs nothing more; `main_text_of` recognises more, but takes long.
        page = page or reader(fetch)
        return SearchableText(page.title, page.main, page.language) if page else SearchableText("", "")

    return Collection.open(
        folder,
        clock=clock,
        decode=decoded,  # Content-Encoding, such as gzip
        software=f"lycosa/{__version__}",
        extract_text=extract_text,
        writable=writable,
        rebuild=rebuild,
        index_later=index_later,
        part_of=part_of,
    )


def reader_of(recipe: Recipe, *, is_left_out: Callable[[Url], bool] | None = None) -> Reader:
    """The page reader for a recipe.

    is_left_out: whether links to a URL are dropped when a page is read; None drops none.
    """
    return Reader(
        stem=recipe.topic.stem,
        check_language=bool(recipe.scope.languages),
        max_links=recipe.requests.max_links,
        is_left_out=is_left_out,
    )


def open_for_reading(folder: Path) -> Collection:
    """Opens the collection in a folder for reading; maintenance that was interrupted by a kill is finished first."""
    if read_upkeep_journal(folder) is not None:  # the journal of upkeep, which exists only while it runs
        from .upkeep import finish_upkeep  # here, because of a circular import

        finish_upkeep(folder, clock=WallClock())
    return open_collection(folder, clock=WallClock(), reader=reader_of(load_recipe(folder, for_reading=True)))


def has_personal_pages(folder: Path) -> bool:
    """Whether a collection has pages that were requested with cookies or the like; True if that cannot be read."""
    try:
        with closing(Catalog(folder / CATALOG, writable=False)) as catalog:
            return catalog.has_personal_pages() or may_all_be_personal(folder, catalog)
    except CollectionError:
        return (folder / CATALOG).exists()


def may_all_be_personal(folder: Path, catalog: Catalog) -> bool:
    """Whether any page may have been requested with cookies or the like: an older version, which left no trace of that,
    has stored some, and the recipe has cookies or such headers, or cannot be read."""
    if catalog.records_personal_pages():
        return False
    try:
        return load_recipe(folder, for_reading=True).requests.are_personal
    except LycosaError:
        return (folder / FILE_NAME).exists()


def bring_index_up_to_date(folder: Path, *, notify: Callable[[str], None]) -> None:
    """Adds missing pages to the search index; tells the user if that is impossible, as during a crawl."""
    with open_for_reading(folder) as collection:
        missing, is_outdated = collection.pages_not_indexed(), collection.search.is_outdated()
    if not missing and not is_outdated:
        return
    recipe = load_recipe(folder, for_reading=True)
    try:
        with open_collection(folder, clock=WallClock(), reader=reader_of(recipe), writable=True):
            if missing:
                state = "was made by an older version; building it again" if is_outdated else "is behind; adding to it"
                notify(f"the search index {state}: {counted(missing, 'page')}")
            # That is all: closing a writable collection brings its index up to date.
    except CollectionError as error:
        if missing:
            notify(f"{counted(missing, 'page')} cannot be searched yet: {error}")


def html_of(fetch: Fetch) -> str:
    """The HTML of a fetched page, its bytes decoded by their character encoding."""
    return decode(fetch.content, fetch.header("content-type") or "")


def main_text_of(fetch: Fetch) -> str:
    """The main text of a fetched page, without navigation and the like; by markup alone if that finds none."""
    html = html_of(fetch)
    return main_text(html) or " ".join(parse_html(html, fetch.url).main.split())
