"""A collection: a folder with an archive, the catalog and search index derived from it, and a lock."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.locks import Lock, open_lock_file
from lycosa.vocabulary.records import Change, Fetch, Page, Url, Visit
from lycosa.vocabulary.text import quoted
from lycosa.vocabulary.urls import host_of

from .archive import Archive
from .catalog import Catalog
from .errors import disk_errors
from .event_records import Decode
from .events import ArchivePosition, Event, RecordLocation
from .queries import RECORDS_PERSONAL_PAGES
from .rows import PageRow
from .search_index import SearchIndex
from .upkeep_journal import UpkeepTask, delete_upkeep_journal, read_upkeep_journal, write_upkeep_journal

CATALOG, _SEARCH = "catalog.sqlite", "search"
_OLD_SEARCH = "search.old"  # while it is being replaced
_REBUILT_CATALOG, _REBUILT_SEARCH = "rebuilt.sqlite", "rebuilt-search"
_INSTALL_TIMEOUT = 10.0  # seconds that a reader waits for a process that replaces catalog and index
_INDEX_INTERVAL = 60.0  # seconds after which pages of a running crawl are indexed, however few
_MAX_INDEXED_AT_ONCE = 100  # pages of a running crawl, which stands still meanwhile: less than a second
_MAX_INDEXED_ON_CLOSE = 500  # pages; with `index_later`, more wait for the first search
_MAX_TEXT_CHARACTERS = 8_000_000  # of texts kept in memory to be indexed; more are read from the archive


class SearchableText(NamedTuple):
    """The searchable parts of a page."""

    title: str
    text: str
    language: str = ""  # ISO 639-1, empty if unknown


ExtractText = Callable[[Fetch, Page | None], SearchableText]  # from a fetch, and its page if it is parsed already


class Collection:
    """Records events: first in the archive, then in the catalog, and pages in batches in the search index.

    `record` appends an event to the archive; `checkpoint` also makes everything so far durable in the catalog, along
    with other tables in `catalog.connection`. An event is applied when it is in catalog and index; after a kill,
    `unapplied` yields those of the archive that are not.

    index_later: whether many pages may be left to the first search to be indexed: of those of a running crawl, a
        hundred are indexed each minute. Indexing a page takes longer than everything else that is done to store it,
        and many collections are never searched.
    is_part: whether it is a shard, which has no search index.
    """

    def __init__(
        self,
        folder: Path,
        archive: Archive,
        catalog: Catalog,
        *,
        clock: Clock,
        extract_text: ExtractText,
        index_batch: int,
        lock: Lock | None,
        rebuild: bool = False,
        index_later: bool = False,
        is_part: bool = False,
    ):
        self.folder = folder
        self.archive = archive
        self.catalog = catalog
        self.search = SearchIndex(
            folder / (_REBUILT_SEARCH if rebuild else _SEARCH),
            text_of=self._text_of_url,
            relevance_of=self._relevance_of,
        )
        self._extract_text = extract_text
        self._index_batch = index_batch
        self._clock = clock
        self._index_committed_at = clock.now()
        self._lock = lock
        self.is_rebuild = rebuild  # a new catalog and index, not installed yet
        self._added: set[int] = set()  # numbers of pages added to the index since its last commit
        self._index_later = index_later
        self._is_part = is_part
        self._texts: dict[int, SearchableText] = {}  # of pages that are not indexed yet, by number
        self._room_for_texts = _MAX_TEXT_CHARACTERS  # characters left
        self._indexed_up_to = catalog.indexed_up_to()
        self.rebuild_message = ""  # what was done about an interrupted rebuild, for people; empty if there was none
        self.index_was_outdated = False  # whether this writer removed an index of an older version
        self._index_may_lack_pages = True  # after a kill between the commits of catalog and index
        self._applied: ArchivePosition | None = None  # the position up to which the catalog is complete
        self._yielded_up_to: ArchivePosition | None = None  # the end of the last event that `unapplied` yielded

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        clock: Clock,
        decode: Decode,
        extract_text: ExtractText,
        software: str,
        writable: bool = False,
        rebuild: bool = False,
        index_later: bool = False,
        max_bytes: int = 1 << 30,
        index_batch: int = 10_000,
        part_of: Path | None = None,
    ) -> "Collection":
        """Opens a folder; one writer at a time.

        part_of: the folder of the collection of which this is a shard.

        max_bytes: size of a WARC file from which the next one is started.
        index_batch: number of added pages from which a checkpoint commits the search index too.
        rebuild: starts a new catalog and index, to which no event is applied yet; they replace the existing ones when
        the collection is closed, so that an interrupted rebuild changes nothing.
        """
        if not folder.is_dir():
            raise CollectionError(f"there is no collection {folder}; make one with: lycosa new {quoted(folder)}")
        if not writable and not (folder / "archive").exists():
            raise CollectionError(f"{folder} holds nothing yet; fill it with: lycosa crawl {quoted(folder)}")
        if not writable:
            recover_rebuild(folder)
        lock = lock_collection(folder) if writable else None
        catalog: Catalog | None = None
        try:
            rebuild_message = _recover_rebuild(folder) if writable else ""
            rebuild = rebuild and writable
            if rebuild:
                forgets = read_upkeep_journal(folder) == UpkeepTask("forget")
                write_upkeep_journal(folder, UpkeepTask("rebuild", forgets=forgets))
            archive = Archive(
                folder / "archive",
                software=software,
                clock=clock,
                decode=decode,
                writable=writable,
                max_bytes=max_bytes,
                part_of=part_of / "archive" if part_of else None,
            )
            catalog = Catalog(folder / (_REBUILT_CATALOG if rebuild else CATALOG), writable=writable)
            if writable and not catalog.last_number_added and (not rebuild or _records_personal_pages(folder)):
                catalog.put_state(RECORDS_PERSONAL_PAGES, True)
            collection = cls(
                folder,
                archive,
                catalog,
                clock=clock,
                extract_text=extract_text,
                index_batch=index_batch,
                lock=lock,
                rebuild=rebuild,
                index_later=index_later and not rebuild,
                is_part=part_of is not None,
            )
            collection._applied = catalog.position()
            collection.rebuild_message = rebuild_message
            if writable:
                collection._recover()
        except BaseException:
            if catalog is not None:
                catalog.close()
            if lock:
                lock.close()
            raise
        return collection

    def __enter__(self) -> "Collection":
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is None:
            self.close()
        else:
            self.close_without_checkpoint()

    def record(self, event: Event) -> None:
        """Records an event; all events of the archive must have been applied."""
        self._require_all_applied()
        self._apply(event, self.archive.append(event))
        self._applied = self.archive.position()

    def unapplied(self) -> Iterator[tuple[Event, RecordLocation]]:
        """The events of the archive that the catalog lacks, for `apply`; visits without parsed pages."""
        for event, place, end in self.archive.events_with_ends(self._applied):
            self._yielded_up_to = end
            yield event, place
        self._applied = self.archive.position()

    def apply(self, event: Event, place: RecordLocation) -> None:
        """Adds the event just yielded by `unapplied`, with its page parsed, to catalog and search index."""
        self._apply(event, place)
        self._applied = self._yielded_up_to

    def _apply(self, event: Event, place: RecordLocation) -> None:
        number = self.catalog.add(event, place)
        if number is not None and isinstance(event, Visit) and not self._is_part:
            self._update_index(event, number)

    def _update_index(self, visit: Visit, number: int) -> None:
        """Updates a page in the search index; removes a vanished one."""
        url = visit.candidate.url
        if self._index_later:
            self._keep_for_index(visit, number)
            return
        if number in self._added or number <= self._indexed_up_to or visit.change is not None:
            self.search.delete([url])
        self._added.add(number)
        if visit.page is not None and visit.is_kept:
            self.search.add(url, host_of(url), *self._extract_text(visit.fetch, visit.page))
        elif visit.change is Change.RETURNED and (page := self.catalog.page(url)) is not None:
            self._reindex(page)

    def _keep_for_index(self, visit: Visit, number: int) -> None:
        """Marks a page to be indexed later, and keeps its text if there are few."""
        if number <= self._indexed_up_to and visit.change is None:
            self.catalog.add_stale(visit.candidate.url)  # pages fetched again are marked by the catalog
        if (earlier := self._texts.pop(number, None)) is not None:
            self._room_for_texts += len(earlier.text)
        if visit.page is None or not visit.is_kept or not self._room_for_texts:
            return
        text = self._extract_text(visit.fetch, visit.page)
        self._texts[number], self._room_for_texts = text, self._room_for_texts - len(text.text)
        if len(self._texts) > _MAX_INDEXED_ON_CLOSE or self._room_for_texts < 0:  # left to the first search
            self._texts, self._room_for_texts = {}, 0

    def _reindex(self, page: PageRow) -> None:
        self.search.delete([page.url])
        if page.place and page.vanished_at is None:
            text = self._texts.get(page.number) or self._extract_text(self.archive.fetch_at(page.place), None)
            self.search.add(page.url, page.host, *text)

    def pages_not_indexed(self) -> int:
        """The number of pages that are missing or outdated in the search index."""
        up_to = self.catalog.indexed_up_to() if self.search.exists() and not self.search.is_outdated() else 0
        return self.catalog.count_not_indexed(up_to)

    def checkpoint(self) -> None:
        """Makes everything so far durable; after a kill, only later events are replayed."""
        self.archive.sync()
        self.catalog.commit(self._applied)
        if self._is_part:
            return
        is_index_due = self._clock.now() - self._index_committed_at > _INDEX_INTERVAL
        if len(self._added) >= self._index_batch or (is_index_due and self._added):
            self._commit_index()
        elif is_index_due and self._index_later:
            if self.pages_not_indexed() <= _MAX_INDEXED_AT_ONCE:
                self._commit_index()
            else:
                self._index_some(_MAX_INDEXED_AT_ONCE)

    def close(self) -> None:
        """Checkpoints, commits the search index unless `index_later` applies, and releases the lock."""
        try:
            if self._lock:
                self.checkpoint()
                if not self._is_part and (not self._index_later or self.pages_not_indexed() <= _MAX_INDEXED_ON_CLOSE):
                    self._commit_index()
                self.archive.close()
            self.search.close()
            if self.is_rebuild:
                with disk_errors(self.folder):  # without pages there is no new index, but the old one must go
                    (self.folder / _REBUILT_SEARCH).mkdir(exist_ok=True)
                self.catalog.close()
                write_upkeep_journal(self.folder, UpkeepTask("rebuild", "installing"))
                self.is_rebuild = False
                _install_rebuilt(self.folder)
                delete_upkeep_journal(self.folder)
        finally:
            self.close_without_checkpoint()

    def close_without_checkpoint(self) -> None:
        """Closes as after a kill: events since the last checkpoint stay in the archive for the next writer."""
        self.search.abandon()
        self.catalog.close()
        self.archive.abandon()
        if self.is_rebuild:
            _undo_rebuild(self.folder)
        if self._lock:
            self._lock.close()

    def forget(self, is_forgotten: Callable[[Url], bool]) -> int:
        """Removes these URLs from archive, catalog and index; returns the number of removed pages."""
        self._require_all_applied()
        self.checkpoint()
        if not self._index_later:
            self._commit_index()
        self._drop_texts()
        urls = [page.url for page in self.catalog.pages() if is_forgotten(page.url)]
        # The index is first: after a kill, the same command continues with what the catalog still lists.
        self.search.forget(set(urls))
        self.catalog.forget(is_forgotten)
        self._indexed_up_to = self.catalog.indexed_up_to()
        self.catalog.put_state("moving", True)  # after a kill from here on, the next writer updates the locations
        self.catalog.commit(self.archive.position())
        self.archive.forget(is_forgotten)
        self._relocate()
        return len(urls)

    def compact(self) -> bool:
        """Overwrites deleted rows on disk; False while another program reads them.

        Everything must be committed.
        """
        return self.catalog.vacuum()

    def _recover(self) -> None:
        if self.catalog.get_state("moving"):
            self.archive.recover(None)
            self._relocate()
        else:
            self.archive.recover(self.catalog.position())
        self.search.drop_leftovers()
        self.index_was_outdated = self.search.is_outdated()
        if self.index_was_outdated:
            self.search.clear()
        if not self.search.exists():
            self.catalog.put_state("indexed_up_to", 0)
            self._indexed_up_to = 0

    def _relocate(self) -> None:
        self.catalog.relocate(self.archive.fetch_locations())
        self.catalog.put_state("moving", False)
        self._applied = self.archive.position()
        self.catalog.commit(self._applied)

    def _require_all_applied(self) -> None:
        if self._applied != self.archive.position():
            name = self.folder
            raise CollectionError(f"the catalog of {name} is behind its archive; run: lycosa rebuild {quoted(name)}")

    def text_of(self, page: PageRow) -> str:
        """The main text of a page, read from the archive."""
        return self._extract_text(self.archive.fetch_at(page.place), None).text if page.place else ""

    def _text_of_url(self, url: str) -> str:
        page = self.catalog.page(Url(url))
        return self.text_of(page) if page else ""

    def _relevance_of(self, url: str) -> float | None:
        page = self.catalog.page(Url(url))
        return page.relevance if page else None

    def _commit_index(self) -> None:
        """Makes all committed pages searchable, including those left by an earlier writer.

        The catalog is always committed first, so that the index never has a page that the catalog lacks.
        """
        if self._index_may_lack_pages:
            for page in chain(self.catalog.pages(after=self._indexed_up_to), self.catalog.stale_pages()):
                if page.number not in self._added:
                    self._reindex(page)
            self._index_may_lack_pages = self._index_later
            self._drop_texts()
        self.search.commit()
        self._index_committed_at = self._clock.now()
        self._added.clear()
        self._indexed_up_to = self.catalog.last_number()
        self.catalog.put_state("indexed_up_to", self._indexed_up_to)
        self.catalog.clear_all_stale()
        self.catalog.commit(self.catalog.position())

    def _index_some(self, limit: int) -> None:
        """Makes committed pages searchable that are missing in the index, in order, then those that are outdated there;
        at most `limit` in all."""
        indexed: list[int] = []
        for page in self.catalog.pages(after=self._indexed_up_to, limit=limit):
            self._reindex(page)
            indexed.append(page.number)
            self._indexed_up_to = page.number
        for page in self.catalog.stale_pages(limit=limit - len(indexed)):
            self._reindex(page)
            indexed.append(page.number)
        for number in indexed:
            self._texts.pop(number, None)
        self.search.commit()
        self._index_committed_at = self._clock.now()
        self.catalog.put_state("indexed_up_to", self._indexed_up_to)
        self.catalog.clear_stale(indexed)
        self.catalog.commit(self.catalog.position())

    def _drop_texts(self) -> None:
        self._texts, self._room_for_texts = {}, _MAX_TEXT_CHARACTERS


def lock_collection(folder: Path) -> Lock:
    """Locks a collection for writing; raises CollectionError if another process does."""
    path = folder / ".lock"
    with disk_errors(path):
        file = open_lock_file(path)
    try:
        lock = Lock(file)
    except OSError as error:
        file.seek(0)
        owner = file.read(20).strip() or "unknown"
        file.close()
        raise CollectionError(
            f"another process is writing to {folder} (pid {owner}); wait for it or stop it"
        ) from error
    with disk_errors(path):
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    return lock


def _records_personal_pages(folder: Path) -> bool:
    """Whether the archive records for every page if it was requested with cookies; False if the catalog is unusable."""
    try:
        with closing(Catalog(folder / CATALOG, writable=False)) as catalog:
            return catalog.records_personal_pages()
    except CollectionError:
        return False


def recover_rebuild(folder: Path) -> str:
    """Finishes or undoes an interrupted rebuild; returns what was done, for people, empty if nothing.

    While another process rebuilds, the old files can be read; while it replaces the files, this waits for it.
    """
    give_up_at = time.monotonic() + _INSTALL_TIMEOUT
    while (upkeep := read_upkeep_journal(folder)) is not None and upkeep.task == "rebuild":
        try:
            with closing(lock_collection(folder)):
                return _recover_rebuild(folder)
        except CollectionError:  # another process works on it, or the folder is not writable
            if upkeep.stage == "making" or time.monotonic() > give_up_at:
                break
            time.sleep(0.02)
    return ""


def _recover_rebuild(folder: Path) -> str:
    """Like `recover_rebuild`, for the holder of the lock."""
    upkeep = read_upkeep_journal(folder)
    if upkeep is None or upkeep.task != "rebuild":
        _drop_rebuilt(folder)  # leftovers without a journal: a rebuild never continues with them
        return ""
    if upkeep.stage == "installing":
        _install_rebuilt(folder)
        _drop_rebuilt(folder)
        delete_upkeep_journal(folder)
        return "a rebuild that was broken off at its end is finished now"
    _undo_rebuild(folder)
    return f"a rebuild was broken off, and has changed nothing; again: lycosa rebuild {quoted(folder)}"


def _undo_rebuild(folder: Path) -> None:
    """Removes the files of a rebuild; a removal that it was to complete is left to the next session."""
    _drop_rebuilt(folder)
    upkeep = read_upkeep_journal(folder)
    if upkeep is not None and upkeep.completes_removal:
        write_upkeep_journal(folder, UpkeepTask("forget"))
    else:
        delete_upkeep_journal(folder)


def _drop_rebuilt(folder: Path) -> None:
    """Removes the files of an interrupted rebuild."""
    with disk_errors(folder):
        for path in folder.glob(f"{_REBUILT_CATALOG}*"):
            path.unlink()
        for path in (*folder.glob(f"{_REBUILT_SEARCH}*"), folder / _OLD_SEARCH):
            shutil.rmtree(path, ignore_errors=True)


def _install_rebuilt(folder: Path) -> None:
    """Replaces catalog and index by the new ones, which are closed.

    Safe to repeat after a kill between any two steps.
    """
    with disk_errors(folder):
        if (folder / _REBUILT_CATALOG).exists():
            for path in folder.glob(f"{CATALOG}-*"):  # journals of the old one
                path.unlink()
            (folder / _REBUILT_CATALOG).replace(folder / CATALOG)
        if (folder / _REBUILT_SEARCH).exists():
            shutil.rmtree(folder / _OLD_SEARCH, ignore_errors=True)
            if (folder / _SEARCH).exists():
                shutil.rmtree((folder / _SEARCH).rename(folder / _OLD_SEARCH))
            (folder / _REBUILT_SEARCH).rename(folder / _SEARCH)
