"""A cache of the words of pages, so that pages can be scored again without reading the archive."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.databases import open_database
from lycosa.vocabulary.records import Codes, Url

from .schema import sql_url_test

WORDS_FILE = "words.sqlite"
MAX_CACHED_PAGES = 20_000  # the latest pages, some 8 KB each
_SCHEMA = """
CREATE TABLE counts (number INTEGER PRIMARY KEY, at REAL NOT NULL, codes BLOB, counts BLOB, vector BLOB);
CREATE TABLE terms (url TEXT PRIMARY KEY, at REAL NOT NULL, words TEXT NOT NULL, counts BLOB);
CREATE TABLE made_by (what TEXT);
"""
_MAX_ROW_BYTES = 2_000_000  # the words of longer pages are not cached
_TRIM_INTERVAL = 1_000  # pages added
_READ_BATCH = 100  # pages


class CachedWords(NamedTuple):
    """The words of one page."""

    number: int  # of the page
    at: float  # when it was fetched
    codes: Codes  # 64-bit hashes of its terms
    counts: NDArray[np.unsignedinteger]  # of each term
    vector: NDArray[np.float32]  # the embedding of the page by word vectors; empty if it was not computed


class PageWords:
    """A cache of words: callers read what is missing, or of another version of the page, from the archive.

    The words of stored pages are `CachedWords`; those of training pages are terms (stemmed words without stop words and
    numbers) with their counts. A version of a
    page is identified by the time of its fetch. If the file cannot be used, nothing is cached.

    made_by: names everything that the words depend on, such as the stemmer; a file with another value is discarded.
    """

    def __init__(self, path: Path, *, made_by: str):
        self._path = path
        self._made_by = made_by
        self._connection = self._opened()
        self._added_since_trim = 0

    def _opened(self) -> sqlite3.Connection | None:
        for _ in range(2):
            connection = None
            with suppress(sqlite3.Error):
                connection = open_database(self._path, mode="rwc", max_value_size=_MAX_ROW_BYTES)
                connection.execute("PRAGMA page_size = 32768")  # several rows per page, and little waste
                # In a WAL, the words would be written twice; nobody else reads them meanwhile.
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("PRAGMA synchronous = OFF")  # what a crash destroys is computed again
                connection.execute("PRAGMA secure_delete = ON")  # for forgotten pages
                if not _statements(connection):
                    connection.executescript(_SCHEMA)
                    connection.execute("INSERT INTO made_by (what) VALUES (?)", (self._made_by,))
                    connection.commit()
                # In an untrusted file, a view or a trigger could run for ever.
                is_ours = _statements(connection) == _own_statements()
                if is_ours and connection.execute("SELECT what FROM made_by").fetchone() == (self._made_by,):
                    return connection
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()
            self.remove(self._path)
        return None

    @staticmethod
    def remove(path: Path) -> None:
        """Deletes the file, which must not be open."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)

    def put(self, words: CachedWords) -> None:
        """Caches the words of a page, instead of those of its other versions."""
        counts = np.minimum(words.counts, 0xFFFF).astype("<u2").tobytes()
        codes, vector = words.codes.astype("<u8").tobytes(), words.vector.astype("<f4").tobytes()
        self._write(
            "INSERT OR REPLACE INTO counts (number, at, codes, counts, vector) VALUES (?, ?, ?, ?, ?)",
            *(words.number, words.at, codes, counts, vector),
        )
        self._added_since_trim += 1
        if self._added_since_trim >= _TRIM_INTERVAL:
            self._added_since_trim = 0
            self._write("DELETE FROM counts WHERE number <= (SELECT max(number) FROM counts) - ?", MAX_CACHED_PAGES)

    def count(self) -> int:
        """The number of pages whose words are cached."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                (count,) = self._connection.execute("SELECT count(*) FROM counts").fetchone()
                return int(count)
        return 0

    def words_after(self, number: int) -> Iterator[CachedWords]:
        """The words of the pages with a higher number, in order."""
        while rows := self._next_rows(number):
            for number, at, codes, counts, vector in rows:
                are_bytes = type(codes) is type(counts) is type(vector) is bytes
                if are_bytes and len(codes) % 8 == len(vector) % 4 == 0 and len(counts) * 4 == len(codes):
                    yield CachedWords(
                        number,
                        at,
                        np.frombuffer(codes, "<u8"),
                        np.frombuffer(counts, "<u2"),
                        np.frombuffer(vector, "<f4"),
                    )

    def _next_rows(self, number: int) -> list[tuple[int, float, bytes, bytes, bytes]]:
        sql = "SELECT number, at, codes, counts, vector FROM counts WHERE number > ? ORDER BY number LIMIT ?"
        if self._connection is not None:
            with suppress(sqlite3.Error):
                return self._connection.execute(sql, (number, _READ_BATCH)).fetchall()
        return []

    def put_terms(self, url: Url, at: float, terms: Mapping[str, int]) -> None:
        """Caches the terms of a training page."""
        counts = np.fromiter(terms.values(), "<u4", len(terms)).tobytes()
        sql = "INSERT OR REPLACE INTO terms (url, at, words, counts) VALUES (?, ?, ?, ?)"
        self._write(sql, url, at, " ".join(terms), counts)

    def terms(self, url: Url, at: float) -> dict[str, int] | None:
        """The terms of this version of a training page, in order; None if they are not cached."""
        if self._connection is None:
            return None
        try:
            sql = "SELECT words, counts FROM terms WHERE url = ? AND at = ?"
            joined, packed = self._connection.execute(sql, (url, at)).fetchone() or (None, None)
        except (sqlite3.Error, UnicodeEncodeError):
            return None
        if not isinstance(joined, str) or not isinstance(packed, bytes) or len(packed) % 4:
            return None
        words, counts = joined.split(" ") if joined else [], np.frombuffer(packed, "<u4").tolist()
        return dict(zip(words, counts, strict=True)) if len(words) == len(counts) else None

    def forget(self, is_forgotten: Callable[[Url], bool], remaining: set[int]) -> None:
        """Removes the terms of forgotten URLs, and the words of all pages but the remaining ones, given by number."""
        if self._connection is None:
            return
        try:
            self._connection.create_function("forgotten", 1, sql_url_test(is_forgotten))
            self._connection.execute("DELETE FROM terms WHERE forgotten(url)")
            cached = [number for (number,) in self._connection.execute("SELECT number FROM counts")]
            removed = [(number,) for number in cached if number not in remaining]
            self._connection.executemany("DELETE FROM counts WHERE number = ?", removed)
            self._connection.commit()
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
        """Writes a row; if that fails, as on a full disk, nothing is cached from then on."""
        if self._connection is not None:
            try:
                self._connection.execute(sql, values)
            except (sqlite3.Error, UnicodeEncodeError):
                self.close()


def _statements(connection: sqlite3.Connection) -> list[str]:
    """The first statements of the schema of a file, enough to tell whether it is ours."""
    found = connection.execute("SELECT coalesce(sql, '') FROM sqlite_master ORDER BY name LIMIT 10")
    return [statement for (statement,) in found]


@cache
def _own_statements() -> list[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _statements(connection)
