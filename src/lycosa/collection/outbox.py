"""The outbox of a shard: URLs of other shards, a table of its catalog, saved with the visits that found them."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lycosa.vocabulary.records import Url

OUTBOX_TABLE = """
CREATE TABLE outbox (  -- URLs of other shards that these have not confirmed yet
    number INTEGER PRIMARY KEY,
    shard INTEGER NOT NULL,
    url TEXT NOT NULL,
    candidate BLOB NOT NULL  -- JSON
)"""


class OutboxRow(NamedTuple):
    """A URL on its way.

    shard: the number of the shard that owns it.
    candidate: as JSON.
    """

    number: int
    shard: int
    url: Url
    candidate: bytes


class Outbox:
    """What waits to be confirmed by other shards. Whoever owns the connection commits."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    @property
    def last_number(self) -> int:
        (number,) = self._connection.execute("SELECT coalesce(max(number), 0) FROM outbox").fetchone()
        return int(number)

    def rows(self) -> Iterator[OutboxRow]:
        """What is not confirmed, in the order in which it was added."""
        sql = "SELECT number, shard, url, candidate FROM outbox ORDER BY number"
        return map(OutboxRow._make, self._connection.execute(sql))

    def add(self, rows: Iterable[OutboxRow]) -> None:
        self._connection.executemany("INSERT INTO outbox (number, shard, url, candidate) VALUES (?, ?, ?, ?)", rows)

    def confirm(self, shard: int, last: int) -> None:
        """Removes what a shard has saved, up to a number."""
        self._connection.execute("DELETE FROM outbox WHERE shard = ? AND number <= ?", (shard, last))
