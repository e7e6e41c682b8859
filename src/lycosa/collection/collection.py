"""A collection: a folder that holds an archive, the catalog and search index made from it, and a lock."""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Fetch, Page, Url, Visit

from .archive import Archive
from .catalog import Catalog
from .events import Event, Place, Position, Scores
from .groups import Decode
from .search_index import MAX_TEXT, SearchIndex
from .trouble import told

MAX_WAITING = 20_000_000  # characters of text that wait to be indexed
Searchable = Callable[[Fetch, Page | None], tuple[str, str]]  # title and text of a page, read already or not


class Collection:
    """Records events: first in the archive, then in the catalog, and their pages in batches in the search index.

    `record` keeps an event in the archive; `checkpoint` makes everything so far durable in the catalog as well, along
    with what others wrote to `catalog.connection`. After a kill, `unapplied` are the events the catalog does not know.
    """

    def __init__(
        self,
        folder: Path,
        archive: Archive,
        catalog: Catalog,
        search: SearchIndex,
        *,
        searchable: Searchable,
        batch: int,
        lock: IO[str] | None,
    ):
        self.folder = folder
        self.archive = archive
        self.catalog = catalog
        self.search = search
        self._searchable = searchable
        self._batch = batch
        self._lock = lock
        self._texts: dict[int, tuple[str, str]] = {}  # title and text of pages that wait to be indexed, by number
        self._characters = 0  # in them
        self._applied: Position | None = None  # up to where in the archive the catalog was told
        self._reading: Position | None = None  # behind the event that `unapplied` gave last

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        clock: Clock,
        decode: Decode,
        searchable: Searchable,
        software: str,
        writable: bool = False,
        afresh: bool = False,
        max_bytes: int = 1 << 30,
        batch: int = 2000,
    ) -> "Collection":
        """Opens a folder; one writer at a time. `afresh` drops catalog and index, so that everything is unapplied."""
        if not folder.is_dir():
            raise CollectionError(f"there is no collection {folder}; make one with: lycosa new {folder.name}")
        if not writable and not (folder / "archive").exists():
            raise CollectionError(f"{folder.name} holds nothing yet; fill it with: lycosa crawl {folder.name}")
        lock = _locked(folder) if writable else None
        try:
            search = SearchIndex(folder / "search")
            if afresh and writable:
                _drop_catalog(folder)
                search.clear()
            archive = Archive(
                folder / "archive",
                software=software,
                clock=clock,
                decode=decode,
                writable=writable,
                max_bytes=max_bytes,
            )
            catalog = Catalog(folder / "catalog.sqlite", writable=writable)
            collection = cls(folder, archive, catalog, search, searchable=searchable, batch=batch, lock=lock)
            collection._applied = catalog.position()
            if writable:
                collection._mend()
        except BaseException:
            if lock:
                lock.close()
            raise
        return collection

    def __enter__(self) -> "Collection":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def record(self, event: Event) -> None:
        """Keeps what happened; events not yet applied come first."""
        self._insist_on_no_unapplied()
        self._take_in(event, self.archive.append(event))
        self._applied = self.archive.position()

    def unapplied(self) -> Iterator[tuple[Event, Place]]:
        """Events of the archive that the catalog does not know, for `apply`; visits come without their pages."""
        for event, place, end in self.archive.events_with_ends(self._applied):
            self._reading = end
            yield event, place
        self._applied = self.archive.position()

    def apply(self, event: Event, place: Place) -> None:
        """Takes into catalog and search index the event that `unapplied` just gave, its page read."""
        self._take_in(event, place)
        self._applied = self._reading

    def _take_in(self, event: Event, place: Place) -> None:
        number = self.catalog.add(event, place)
        if number is not None and isinstance(event, Visit) and event.page:
            title, text = self._searchable(event.fetch, event.page)
            self._texts[number] = (title, text[:MAX_TEXT])
            self._characters += min(len(text), MAX_TEXT)
        if isinstance(event, Scores):
            self.search.rescore(event.relevance)

    def checkpoint(self) -> None:
        """Makes everything so far durable; what was recorded later is replayed after a kill."""
        self.archive.sync()
        self.catalog.commit(self._applied)
        if len(self._texts) >= self._batch or self._characters >= MAX_WAITING:
            self._index()

    def close(self) -> None:
        """Checkpoints, indexes what waits, and lets others write."""
        try:
            if self._lock:
                self.checkpoint()
                self._index()
                self.archive.close()
            self.search.close()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Lets go as a kill would: what came after the last checkpoint stays in the archive for the next writer."""
        self.search.abandon()
        self.catalog.close()
        if self._lock:
            self._lock.close()

    def forget(self, is_forgotten: Callable[[Url], bool]) -> int:
        """Removes these URLs from archive, catalog and index; returns how many pages went."""
        self._insist_on_no_unapplied()
        self.checkpoint()
        self._index()
        urls = [page.url for page in self.catalog.pages() if is_forgotten(page.url)]
        # The index goes first: after a kill, the same command finishes what the catalog still lists.
        self.search.forget(set(urls))
        self.catalog.forget(is_forgotten)
        self.catalog.put_state("moving", True)  # a kill from here on: the next writer learns the places anew
        self.catalog.commit(self.archive.position())
        self.archive.forget(is_forgotten)
        self._relocate()
        self.catalog.vacuum()
        return len(urls)

    def _mend(self) -> None:
        if self.catalog.get_state("moving"):
            self.archive.recover(None)
            self._relocate()
        else:
            self.archive.recover(self.catalog.position())
        if not self.search.exists():
            self.catalog.put_state("indexed_up_to", 0)

    def _relocate(self) -> None:
        self.catalog.relocate(self.archive.places())
        self.catalog.put_state("moving", False)
        self._applied = self.archive.position()
        self.catalog.commit(self._applied)

    def _insist_on_no_unapplied(self) -> None:
        if self._applied != self.archive.position():
            name = self.folder.name
            raise CollectionError(f"the catalog of {name} is behind its archive; run: lycosa rebuild {name}")

    def _index(self) -> None:
        """Indexes the committed pages that are not in the index; reads from the archive what is not at hand."""
        known = self.catalog.indexed_up_to()
        texts, self._texts, self._characters = self._texts, {}, 0
        last = known
        first = min([known + 1, *texts])  # a page fetched again has an old number
        for page in self.catalog.pages(after=first - 1):
            if page.number <= known and page.number not in texts:
                continue
            found = texts.get(page.number)
            if found is None or page.number <= known:
                self.search.delete([page.url])
            if found is None and page.place:
                found = self._searchable(self.archive.fetch_at(page.place), None)
            title, text = found or (page.title, "")
            self.search.add(page.number, page.url, page.host, title, text, page.relevance)
            last = max(last, page.number)
        self.search.commit()
        if last > known:
            self.catalog.put_state("indexed_up_to", last)
            self.catalog.commit(self.catalog.position())


def _locked(folder: Path) -> IO[str]:
    path = folder / ".lock"
    with told(path):
        lock = path.open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        owner = lock.read(20).strip() or "unknown"
        lock.close()
        raise CollectionError(
            f"another crawl is running on {folder.name} (pid {owner}); wait for it or stop it"
        ) from error
    with told(path):
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
    return lock


def _drop_catalog(folder: Path) -> None:
    with told(folder):
        for path in folder.glob("catalog.sqlite*"):
            path.unlink()
