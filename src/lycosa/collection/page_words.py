"""The words of pages, kept beside the catalog, so that pages are judged again without being read from the archive."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Codes, Url

FILE = "words.sqlite"
MAX_KEPT = 20_000  # pages whose words are kept, the latest; some 6 KB each
_SCHEMA = """
CREATE TABLE counts (number INTEGER PRIMARY KEY, at REAL NOT NULL, codes BLOB, counts BLOB, vector BLOB);
CREATE TABLE terms (url TEXT PRIMARY KEY, at REAL NOT NULL, words TEXT NOT NULL, counts BLOB);
CREATE TABLE made_by (what TEXT);
"""
_LONGEST_ROW = 2_000_000  # bytes; the words of longer pages are not kept
_TRIM_EVERY = 1_000  # pages that are kept
_READ_AT_ONCE = 100  # pages


class KeptWords(NamedTuple):
    """The words of one page."""

    number: int
    at: float  # when it was fetched
    codes: Codes
    counts: NDArray[np.unsignedinteger]
    vector: NDArray[np.float32]


class PageWords:
    """A cache: what is not in it, or of another version of the page, is read from the archive by whoever asks.

    A page is identified by its number and the time of its fetch. Where the file cannot be used, nothing is kept.

    made_by: what the words depend on; those made otherwise are dropped.
    """

    def __init__(self, path: Path, *, made_by: str):
        self._path = path
        self._made_by = made_by
        self._connection = self._opened()
        self._put_since_trimmed = 0

    def _opened(self) -> sqlite3.Connection | None:
        for _ in range(2):
            with suppress(sqlite3.Error):
                connection = sqlite3.connect(self._path)
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA page_size = 32768")  # several rows to a page, and little room left over
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = OFF")  # whatever a crash takes is read again
                connection.execute("PRAGMA secure_delete = ON")  # as pages are to be forgotten
                if not _statements(connection):
                    connection.executescript(_SCHEMA)
                    connection.execute("INSERT INTO made_by VALUES (?)", (self._made_by,))
                    connection.commit()
                # Of somebody else's, a view or a trigger might compute without end.
                is_ours = _statements(connection) == _own_statements()
                if is_ours and connection.execute("SELECT what FROM made_by").fetchone() == (self._made_by,):
                    return connection
                connection.close()
            self.remove(self._path)
        return None

    @staticmethod
    def remove(path: Path) -> None:
        """Deletes the file, as long as nobody has it open."""
        for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            with suppress(OSError):
                each.unlink(missing_ok=True)

    def put(self, words: KeptWords) -> None:
        """Keeps the words of a page."""
        counts = np.minimum(words.counts, 0xFFFF).astype("<u2").tobytes()
        codes, vector = words.codes.astype("<u8").tobytes(), words.vector.astype("<f4").tobytes()
        self._write(
            "INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?, ?)", words.number, words.at, codes, counts, vector
        )
        self._put_since_trimmed += 1
        if self._put_since_trimmed >= _TRIM_EVERY:
            self._put_since_trimmed = 0
            self._write("DELETE FROM counts WHERE number <= (SELECT max(number) FROM counts) - ?", MAX_KEPT)

    def count(self) -> int:
        """Of how many pages words are kept."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                return int(self._connection.execute("SELECT count(*) FROM counts").fetchone()[0])
        return 0

    def after(self, number: int) -> Iterator[KeptWords]:
        """The words of the pages with a higher number, in order."""
        while rows := self._some_after(number):
            for number, at, codes, counts, vector in rows:
                if len(codes) % 8 == 0 and len(counts) * 4 == len(codes):
                    times, vector_of_page = np.frombuffer(counts, "<u2"), np.frombuffer(vector, "<f4")
                    yield KeptWords(number, at, np.frombuffer(codes, "<u8"), times, vector_of_page)

    def _some_after(self, number: int) -> list[tuple[int, float, bytes, bytes, bytes]]:
        sql = "SELECT number, at, codes, counts, vector FROM counts WHERE number > ? ORDER BY number LIMIT ?"
        if self._connection is not None:
            with suppress(sqlite3.Error):
                return self._connection.execute(sql, (number, _READ_AT_ONCE)).fetchall()
        return []

    def put_terms(self, url: Url, at: float, terms: Mapping[str, int]) -> None:
        """Keeps the terms of a page that models are trained on."""
        counts = np.fromiter(terms.values(), "<u4", len(terms)).tobytes()
        self._write("INSERT OR REPLACE INTO terms VALUES (?, ?, ?, ?)", url, at, " ".join(terms), counts)

    def terms(self, url: Url, at: float) -> dict[str, int] | None:
        """The terms of this version of a page, in their order, if they were kept."""
        if self._connection is None:
            return None
        try:
            sql = "SELECT words, counts FROM terms WHERE url = ? AND at = ?"
            row = self._connection.execute(sql, (url, at)).fetchone()
        except (sqlite3.Error, UnicodeEncodeError):
            return None
        if row is None or len(row[1]) % 4:
            return None
        words, counts = row[0].split(" ") if row[0] else [], np.frombuffer(row[1], "<u4").tolist()
        return dict(zip(words, counts, strict=True)) if len(words) == len(counts) else None

    def forget(self, is_forgotten: Callable[[Url], bool], numbers: set[int]) -> None:
        """Removes the words of URLs that are forgotten, and those of all pages but these."""
        if self._connection is None:
            return
        try:
            self._connection.create_function("forgotten", 1, lambda url: bool(is_forgotten(Url(url))))
            self._connection.execute("DELETE FROM terms WHERE forgotten(url)")
            known = [number for (number,) in self._connection.execute("SELECT number FROM counts")]
            gone = [(number,) for number in known if number not in numbers]
            self._connection.executemany("DELETE FROM counts WHERE number = ?", gone)
            self._connection.commit()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            self.close()
            self.remove(self._path)

    def commit(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.commit()

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _write(self, sql: str, *values: object) -> None:
        """Writes a row; where that fails, such as on a full disk, nothing is kept from then on."""
        if self._connection is not None:
            try:
                self._connection.execute(sql, values)
            except (sqlite3.Error, UnicodeEncodeError):
                self.close()


def _statements(connection: sqlite3.Connection) -> list[str]:
    """What a file consists of; no more than is needed to tell whether it is ours."""
    found = connection.execute("SELECT coalesce(sql, '') FROM sqlite_master ORDER BY name LIMIT 10")
    return [statement for (statement,) in found]


@cache
def _own_statements() -> list[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _statements(connection)
