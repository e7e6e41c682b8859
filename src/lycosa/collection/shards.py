"""Shards: parts of a collection, each a collection of its own, in which one worker of a crawl works.

    make     makes the shards: the rows of the catalog and the waiting URLs, by the registered domain of their URL
    crawl    each worker opens one shard, and crawls there as in any collection
    gather   moves pages, archive files and waiting URLs of all shards into the collection, and removes the shards

A shard has an empty archive of its own; its earlier pages are read from the archive of the collection. Until the shards
are gathered, the collection stays as it was when they were made. The journal of upkeep says how far this has come, so
that after a kill an incomplete deal is undone, and complete shards are gathered.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from heapq import merge
from itertools import chain, count
from operator import itemgetter
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, NamedTuple, Self

import msgspec
from msgspec import Struct

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.key_table import KeySet
from lycosa.vocabulary.records import Candidate, Count, Outcome, Timestamp, Url
from lycosa.vocabulary.urls import key_of

from .archive import end_of_archive
from .catalog import Catalog
from .collection import CATALOG, lock_collection
from .errors import SHARDS, disk_errors
from .folder import check_folder
from .outbox import OUTBOX_TABLE, Outbox
from .queries import HAS_PERSONAL_PAGES, HOLDS_KEY, PASSED_OVER_KEY, SITE_SKIPS_KEY
from .schema import sql_url_test
from .upkeep_journal import UpkeepTask, delete_upkeep_journal, read_upkeep_journal, write_upkeep_journal

_DEALT_STATE = "dealt"  # key in the state of a shard's catalog: the last rows that were dealt
_GATHERED_STATE = "gathered"  # key in the state of the collection's catalog: the last deal that was gathered
_FRONTIER = "arrival, url, priority, candidate"
_COPIED_WHOLE = ("examples", "runs")  # tables that every shard has
_NOT_COPIED = ("position", "indexed_up_to")  # keys of the state that are about the archive and index of the collection

OwnerOf = Callable[[Url], int]  # the number of the shard that a URL belongs to


class _Dealt(Struct, frozen=True):
    """The last rows that were dealt to a shard, by table; later ones are its own."""

    deal: str  # random, the same for all shards that are dealt together
    pages: Count
    fetches: Count
    skips: Count
    frontier: Count
    site_skips: Count  # number of links skipped for SkipReason.SITE


class NewPages(NamedTuple):
    """The pages that a shard has added to its collection."""

    folder: Path
    numbers: dict[int, int]  # in the collection, by number in the shard


def shard_folders(folder: Path) -> list[Path]:
    """The shards of a collection, in order; none if it has none at present."""
    parent = folder / SHARDS
    if not parent.is_dir():
        return []
    with disk_errors(parent):
        return sorted(path for path in parent.iterdir() if path.name.isdigit() and path.is_dir())


def shard_folder(folder: Path, number: int) -> Path:
    """The folder of a shard of the collection."""
    return folder / SHARDS / f"{number:02d}"


def has_shards(folder: Path) -> bool:
    """Whether the collection has shards to be gathered, or to be removed."""
    upkeep = read_upkeep_journal(folder)
    return upkeep is not None and upkeep.task == "shards"


def may_be_behind(folder: Path) -> bool:
    """Whether the shards may have to catch up with their archives; these are where they were."""
    return read_upkeep_journal(folder) == UpkeepTask("shards", "crawling")


# ---------------------------------------------------------------- dealing


def make_shards(
    folder: Path, number_of_shards: int, owner_of: OwnerOf, *, examples: Mapping[Url, bool] | None = None
) -> list[Path]:
    """Makes the shards of a collection, which must be locked, and closed with everything applied.

    examples: whether each page that defines the topic is a good one; all shards can read these, to train a model.
    """
    deal = token_hex(8)
    write_upkeep_journal(folder, UpkeepTask("shards"))
    with disk_errors(folder):
        shutil.rmtree(folder / SHARDS, ignore_errors=True)
        shards = [shard_folder(folder, number) for number in range(number_of_shards)]
        for shard in shards:
            (shard / "archive").mkdir(parents=True)
    with closing(Catalog(folder / CATALOG, writable=False)) as whole, whole.reporting_errors():
        for number, shard in enumerate(shards):
            with closing(Catalog(shard / CATALOG, writable=True)) as part, part.reporting_errors():
                _deal_catalog(whole, part, deal, partial(_is_owned, owner_of=owner_of, number=number))
                _add_examples(whole, part, examples or {})
                part.commit(None)
    write_upkeep_journal(folder, UpkeepTask("shards", "crawling"))
    return shards


def _is_owned(url: Url, *, owner_of: OwnerOf, number: int) -> bool:
    return owner_of(url) == number


def _deal_catalog(whole: Catalog, part: Catalog, deal: str, is_owned: Callable[[Url], bool]) -> None:
    whole.connection.create_function("owned", 1, sql_url_test(is_owned))
    last: dict[str, int] = {}
    for table, key in (("pages", "number"), ("fetches", "rowid"), ("skips", "rowid")):
        condition = "owned(url)" + (" AND settled AND NOT again" if table == "fetches" else "")
        _copy(whole.connection, part.connection, table, condition, with_rowid=table != "pages")
        (last[table],) = part.connection.execute(f"SELECT coalesce(max({key}), 0) FROM {table}").fetchone()
    for table in _COPIED_WHOLE:
        _copy(whole.connection, part.connection, table, "1")
    has_frontier = whole.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'frontier'").fetchone()
    last["frontier"] = 0
    if has_frontier:
        (statement,) = whole.connection.execute("SELECT sql FROM sqlite_master WHERE name = 'frontier'").fetchone()
        part.connection.execute(statement)
        _copy(whole.connection, part.connection, "frontier", "owned(url)")
        (last["frontier"],) = part.connection.execute("SELECT coalesce(max(arrival), 0) FROM frontier").fetchone()
    part.connection.execute(OUTBOX_TABLE)
    states = whole.connection.execute("SELECT key, value FROM state").fetchall()
    part.connection.executemany(
        "INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)",
        [(key, value) for key, value in states if key not in _NOT_COPIED],
    )
    dealt = _Dealt(deal, **last, site_skips=part.get_state(SITE_SKIPS_KEY, int) or 0)
    part.put_state(_DEALT_STATE, msgspec.to_builtins(dealt))
    part.put_state("indexed_up_to", dealt.pages)


def _add_examples(whole: Catalog, part: Catalog, examples: Mapping[Url, bool]) -> None:
    """Makes pages of the crawl examples of a shard; these are not gathered."""
    for url, is_good in examples.items():
        rows = whole.connection.execute("SELECT at, file, place, length FROM pages WHERE url = ?", (url,))
        part.connection.executemany(
            "INSERT OR IGNORE INTO examples (url, good, outcome, at, file, place, length) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(url, is_good, Outcome.OK.value, *row) for row in rows],
        )


def _copy(
    source: sqlite3.Connection, target: sqlite3.Connection, table: str, condition: str, *, with_rowid: bool = False
) -> None:
    """Copies the rows of a table for which a condition holds."""
    columns = [name for _, name, *_ in source.execute(f"PRAGMA table_info({table})")]
    columns = ["rowid", *columns] if with_rowid else columns
    names = ", ".join(columns)
    rows = source.execute(f"SELECT {names} FROM {table} WHERE {condition}")
    target.executemany(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)


# ---------------------------------------------------------------- gathering


def remove_useless_shards(folder: Path) -> None:
    """Removes shards that were not complete when they were made, which no worker has used, and gathered ones."""
    upkeep = read_upkeep_journal(folder)
    if upkeep is not None and upkeep.task == "shards" and upkeep.stage in ("making", "removing"):
        remove_shards(folder)


def remove_shards(folder: Path) -> None:
    """Removes all shards, which were gathered or never used, and the entry in the journal of upkeep."""
    write_upkeep_journal(folder, UpkeepTask("shards", "removing"))
    with disk_errors(folder):
        if (folder / SHARDS).exists():
            shutil.rmtree(folder / SHARDS)
    delete_upkeep_journal(folder)


def gather_archives(folder: Path) -> None:
    """Moves the WARC files of all shards into the archive of the collection, which is locked, and removes the shards:
    for a rebuild, which needs nothing else, and so works if their catalogs are damaged. Safe to repeat after a kill."""
    with ExitStack() as stack:
        shards = shard_folders(folder)
        for shard in shards:
            check_folder(shard)
            stack.enter_context(closing(lock_collection(shard)))
        for shard in shards:
            _move_archive(shard, folder)
    remove_shards(folder)


def gather(folder: Path, *, flags: Sequence[str] = ()) -> list[NewPages]:
    """Moves everything that the shards have into the collection, which must be locked and closed; returns the new
    numbers of their pages. All shards must be closed, with everything applied.

    Safe to repeat after a kill; the shards are left for `remove_shards`.

    flags: keys of the state that are true for the collection if they are for any shard.
    """
    shards = shard_folders(folder)
    with ExitStack() as stack:
        for shard in shards:
            check_folder(shard)
            stack.enter_context(closing(lock_collection(shard)))  # a worker may begin after its coordinator was killed
        write_upkeep_journal(folder, UpkeepTask("shards", "gathering"))
        for shard in shards:
            _move_archive(shard, folder)
        whole = stack.enter_context(closing(Catalog(folder / CATALOG, writable=True)))
        stack.enter_context(whole.reporting_errors())
        parts = [_Part.opened(shard, stack) for shard in shards]
        if not parts or whole.get_state(_GATHERED_STATE) == parts[0].dealt.deal:  # killed after the commit
            return []
        new_pages = _gather_pages(whole, parts)
        _gather_skips(whole, parts)
        _gather_frontier(whole, parts)
        _gather_states(whole, parts, flags)
        whole.put_state(_GATHERED_STATE, parts[0].dealt.deal)
        whole.commit(end_of_archive(folder / "archive"))
    return new_pages


class _Part(NamedTuple):
    """A shard that is gathered."""

    folder: Path
    catalog: Catalog
    dealt: _Dealt

    @classmethod
    def opened(cls, shard: Path, stack: ExitStack) -> Self:
        catalog = stack.enter_context(closing(Catalog(shard / CATALOG, writable=False)))
        stack.enter_context(catalog.reporting_errors())
        dealt: _Dealt | None = catalog.get_state(_DEALT_STATE, _Dealt)
        if dealt is None:
            raise CollectionError(f"{shard} is no shard of a crawl; remove {shard.parent}, then go on")
        return cls(shard, catalog, dealt)

    def rows(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        yield from self.catalog.connection.execute(sql, values)

    @property
    def number_of_new_pages(self) -> int:
        ((number,),) = self.rows("SELECT count(*) FROM pages WHERE number > ?", self.dealt.pages)
        return int(number)


def _move_archive(shard: Path, folder: Path) -> None:
    """Moves the WARC files of a shard, and their indexes, into the archive of the collection."""
    with disk_errors(folder):
        for path in sorted((shard / "archive").iterdir()):
            path.rename(folder / "archive" / path.name)


def _gather_pages(whole: Catalog, parts: Sequence[_Part]) -> list[NewPages]:
    """Adds the pages, fetches and links of the shards; the pages are numbered in the order of their fetches."""
    insert = whole.connection.executemany
    arrivals = sorted(
        (at, index, number)
        for index, part in enumerate(parts)
        for at, number in part.rows("SELECT at, number FROM pages WHERE number > ?", part.dealt.pages)
    )
    new_numbers: list[dict[int, int]] = [{} for _ in parts]
    for new_number, (_, index, number) in enumerate(arrivals, whole.last_number_added + 1):
        new_numbers[index][number] = new_number
    for part, numbers in zip(parts, new_numbers, strict=True):
        last = part.dealt.pages
        for column in ("relevance", "standing"):  # of earlier pages, which a model may have scored again
            sql = f"SELECT {column}, number, {column} FROM pages WHERE number <= ?"
            insert(f"UPDATE pages SET {column} = ? WHERE number = ? AND {column} IS NOT ?", part.rows(sql, last))
        for table, key in (("pages", "number"), ("links", "source")):
            columns = [key, *(name for name in _columns(whole.connection, table) if name != key)]
            rows = part.rows(f"SELECT {', '.join(columns)} FROM {table} WHERE {key} > ? ORDER BY {key}", last)
            renumbered = ((numbers[row[0]], *row[1:]) for row in rows if row[0] in numbers)
            insert(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", renumbered)
        names = _columns(whole.connection, "fetches")
        sql = f"SELECT {', '.join(names)} FROM fetches WHERE rowid > ? ORDER BY rowid"
        insert(
            f"INSERT INTO fetches ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            part.rows(sql, part.dealt.fetches),
        )
    return [NewPages(part.folder, numbers) for part, numbers in zip(parts, new_numbers, strict=True)]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


def _gather_skips(whole: Catalog, parts: Sequence[_Part]) -> None:
    """Adds the skips of the shards, except those of URLs that were visited by the shard that owns them."""
    names = _columns(whole.connection, "skips")
    sql = f"SELECT {', '.join(names)} FROM skips WHERE rowid > ? ORDER BY rowid"
    rows = chain.from_iterable(part.rows(sql, part.dealt.skips) for part in parts)
    insert = f"INSERT OR IGNORE INTO skips ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    whole.connection.executemany(insert, rows)
    whole.connection.executemany("DELETE FROM skips WHERE key = ?", ((key_of(url),) for url in whole.visited()))


def _gather_frontier(whole: Catalog, parts: Sequence[_Part]) -> None:
    """Replaces the waiting URLs by those of the shards, and those on their way between two of them, numbered again: a
    shard that ran empty and caught up after a kill may have used the arrivals of another."""
    connection = whole.connection
    connection.execute("DELETE FROM frontier")
    # A URL may wait in the shard where it was found and be known in its own, if it was on its way when a crawl ended.
    known = KeySet(map(hash, whole.visited()))
    arrivals = count(1)
    for row in chain(_in_order(parts, "<="), _in_order(parts, ">"), _unsent(parts)):
        if (key := hash(row[0])) not in known:
            known.add(key)
            insert = f"INSERT INTO frontier ({_FRONTIER}) VALUES (?, ?, ?, ?)"
            connection.execute(insert, (next(arrivals), *row))


def _in_order(parts: Sequence[_Part], comparison: Literal["<=", ">"]) -> Iterator[tuple[Any, ...]]:
    """URL, priority and candidate of what waits, by arrival: at most, or above, the last that was dealt to a shard."""
    sql = f"SELECT {_FRONTIER} FROM frontier WHERE arrival {comparison} ? ORDER BY arrival"
    rows = merge(*(part.rows(sql, part.dealt.frontier) for part in parts), key=itemgetter(0))
    return (row[1:] for row in rows)


def _unsent(parts: Sequence[_Part]) -> Iterator[tuple[str, float, bytes]]:
    """URL, priority and candidate of what has not arrived in the shard that owns it."""
    for part in parts:
        for row in Outbox(part.catalog.connection).rows():
            try:
                yield row.url, msgspec.json.decode(row.candidate, type=Candidate).priority, row.candidate
            except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
                continue  # damaged


def _gather_states(whole: Catalog, parts: Sequence[_Part], flags: Sequence[str]) -> None:
    """Combines the states of the shards: counts are added, and the strategy goes on with what the shard with the most
    pages has learnt."""
    for key in (HAS_PERSONAL_PAGES, *flags):
        if any(part.catalog.get_state(key) for part in parts):
            whole.put_state(key, True)
    site_skips = sum((part.catalog.get_state(SITE_SKIPS_KEY, int) or 0) - part.dealt.site_skips for part in parts)
    if site_skips:
        whole.put_state(SITE_SKIPS_KEY, (whole.get_state(SITE_SKIPS_KEY, int) or 0) + site_skips)
    passed_over = {
        site: number
        for part in parts
        for site, number in part.catalog.passed_over().items()
        if number > whole.passed_over().get(site, 0)
    }
    if passed_over:
        whole.put_state(PASSED_OVER_KEY, {**whole.passed_over(), **passed_over})
    holds = [part.catalog.get_state(HOLDS_KEY, dict[str, Timestamp]) or {} for part in parts]
    hosts = {host for each in holds for host in each}  # a shard also knows the holds that all had at the start
    whole.put_state(HOLDS_KEY, {host: max(each.get(host, 0.0) for each in holds) for host in sorted(hosts)})
    largest = max(parts, key=lambda part: part.number_of_new_pages)
    whole.put_state("strategy_state", largest.catalog.get_state("strategy_state"))
