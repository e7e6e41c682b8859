"""Waiting URLs that are not in memory: a linked list of records per host, in a temporary file."""

from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from struct import Struct as Packing

import numpy as np
from msgspec import Struct

from lycosa.vocabulary.key_table import KeyTable
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.scratch_file import ScratchFile

_RECORD = Packing("<dqqq")  # rank, order, key of the URL, offset of the host's next record
_SIZE = _RECORD.size
_END = -1
_MAX_LISTED = 4_096  # best dormant hosts kept in a heap
_READ_AHEAD = 8  # records
_MAX_RANKED = 1_000_000  # entries whose rank is in memory; others are looked up in the table
_DOUBLE, _BITS = Packing("<d"), Packing("<Q")
_MAX_TAKEN = 4_096  # entries taken from a list that had to be sorted
_WASTE = 1 << 26  # bytes of the file; if it is also three times larger than its records, it is compacted

Listing = tuple[float, int, int]  # rank and order of the best entry of a host, and its slot


class QueueEntry(Struct, order=True, gc=False):
    """A waiting URL in the queue of its host; the smallest is the best."""

    rank: float  # minus the priority
    order: int  # first come, first served among equals
    url: Url
    retries_and_hops: tuple[int, int] | None = None  # failed attempts and redirects, if there are any


class SpilledEntries:
    """The entries that are not in memory, each as rank, order and the key of its URL.

    A host with spilled entries has a slot: its best rank and order, even if that entry is outdated, and the offset of
    its list of records. A list is sorted when something is taken from it. A host is *dormant* while none of its entries
    is in memory, and is then included in `best_dormant`.
    """

    def __init__(self, folder: Path | None = None):
        self._folder = folder
        self.waiting = KeyTable()  # the order of each current entry, by the key of its URL
        self._rank_of = KeyTable()  # the bits of its rank, plus 1
        self._retries_and_hops: dict[int, tuple[int, int]] = {}  # by order, of entries that have any
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.waiting.clear()
        self._rank_of.clear()
        self._retries_and_hops.clear()
        self._file = ScratchFile(self._folder)
        self.slots = KeyTable()  # of hosts, by key; numbered from 1
        self._hosts = array("q", [0])  # the key of the host of each slot
        self._ranks = array("d", [inf])  # inf for a free slot
        self._orders = array("q", [0])
        self._places = array("q", [_END])  # of the first record
        self._is_sorted = bytearray(1)
        self._is_dormant = bytearray(1)
        self._free: list[int] = []
        self._near: list[Listing] = []  # heap of dormant hosts; an outdated listing is dropped when popped
        self._all_up_to = (inf, 0)  # every dormant host up to this rank is listed

    def __len__(self) -> int:
        """The number of current entries."""
        return len(self.waiting)

    @property
    def is_unused(self) -> bool:
        """Whether no entry was ever added since `clear`, so that no lookup can find one."""
        return len(self._hosts) == 1

    def has_entries(self, slot: int) -> bool:
        """Whether a slot is in use."""
        return self._ranks[slot] != inf

    def slot_for(self, host: int) -> int:
        """The slot of a host that is not dormant, created if needed."""
        slot = self.slots[host]
        if slot:
            return slot
        if self._free:
            slot = self._free.pop()
        else:
            slot = len(self._hosts)
            for column in (self._hosts, self._orders, self._places):
                column.append(0)
            self._ranks.append(inf)
            self._is_sorted.append(0)
            self._is_dormant.append(0)
        self.slots[host], self._hosts[slot] = slot, host
        self._ranks[slot], self._orders[slot], self._places[slot] = inf, 0, _END
        self._is_sorted[slot], self._is_dormant[slot] = 1, 0
        return slot

    def best(self, slot: int) -> QueueEntry:
        """The best entry of a host, without its URL; it may be outdated."""
        return QueueEntry(self._ranks[slot], self._orders[slot], Url(""))

    def is_better(self, slot: int, rank: float, order: int) -> bool:
        """Whether an entry ranks before all entries of a slot."""
        best = self._ranks[slot]
        return rank < best or (rank == best and order < self._orders[slot])

    @property
    def has_all_ranks(self) -> bool:
        """Whether the rank of every entry is in memory."""
        return len(self._rank_of) == len(self.waiting)

    def entry_of(self, url: Url, order: int) -> QueueEntry | None:
        """The entry of a URL, given its order; None if its rank is not in memory."""
        bits = self._rank_of[hash(url)]
        if not bits:
            return None
        (rank,) = _DOUBLE.unpack(_BITS.pack(bits - 1))
        return QueueEntry(rank, order, url, self._retries_and_hops.get(order))

    def discard(self, key: int) -> None:
        """Marks the entry of a URL, given by its key, as outdated."""
        self._retries_and_hops.pop(self.waiting[key], None)
        self.waiting[key] = self._rank_of[key] = 0

    def add_entry(self, slot: int, entry: QueueEntry) -> None:
        """Adds an entry to a host."""
        key = hash(entry.url)
        if entry.retries_and_hops:
            self._retries_and_hops[entry.order] = entry.retries_and_hops
        has_room = len(self.waiting) < _MAX_RANKED
        (bits,) = _BITS.unpack(_DOUBLE.pack(entry.rank))
        self._rank_of[key] = bits + 1 if has_room else 0
        self.add(slot, entry.rank, entry.order, key)

    def add(self, slot: int, rank: float, order: int, key: int) -> None:
        """Adds a record only, without making the entry current."""
        self.waiting[key] = order
        self._places[slot] = self._file.append(_RECORD.pack(rank, order, key, self._places[slot]))
        best = self._ranks[slot]
        if rank > best or (rank == best and order > self._orders[slot]):
            self._is_sorted[slot] = 0
            return
        self._ranks[slot], self._orders[slot] = rank, order
        if self._is_dormant[slot]:
            self._list(slot)

    def rest(self, slot: int) -> None:
        """Makes a host dormant."""
        self._is_dormant[slot] = 1
        self._list(slot)

    def wake(self, slot: int) -> None:
        """Ends the dormancy of a host."""
        self._is_dormant[slot] = 0

    def take(self, slot: int, count: int) -> list[int]:
        """Removes the best entries of a host, at least `count` if it has so many; returns their orders, best first. A
        host without further entries loses its slot."""
        if not self._is_sorted[slot]:
            # A fraction of the list, so that repeated sorting costs little per entry.
            count = max(count, min(self._sort(slot) // 8, _MAX_TAKEN))
        taken: list[int] = []
        records = self._records(self._places[slot])
        for place, rank, order, key in records:
            if self.waiting[key] != order:
                continue
            if len(taken) == count:
                self._places[slot], self._ranks[slot], self._orders[slot] = place, rank, order
                return taken
            self.discard(key)
            taken.append(order)
        self.slots[self._hosts[slot]] = 0
        self._ranks[slot], self._is_dormant[slot] = inf, 0
        self._free.append(slot)
        return taken

    def _sort(self, slot: int) -> int:
        """Sorts the list of a host; returns its length."""
        records, place, read, unpack = [], self._places[slot], self._file.read, _RECORD.unpack
        while place != _END:
            rank, order, key, place = unpack(read(place, _SIZE))
            records.append((rank, order, key))
        records.sort()
        self._write(slot, records)
        return len(records)

    def _write(self, slot: int, records: list[tuple[float, int, int]]) -> None:
        """Replaces the list of a host by these sorted records."""
        place = len(self._file)
        data = b"".join(
            [_RECORD.pack(*record, place + _SIZE * number) for number, record in enumerate(records[:-1], 1)]
        )
        self._places[slot] = self._file.append(data + _RECORD.pack(*records[-1], _END))
        self._ranks[slot], self._orders[slot], _ = records[0]
        self._is_sorted[slot] = 1

    def _records(self, place: int) -> Iterator[tuple[int, float, int, int]]:
        """The records of a list from an offset on, including outdated ones: offset, rank, order and key of each."""
        start, data = 0, b""
        while place != _END:
            at = place - start
            if not 0 <= at < len(data):
                start, at = place, 0
                data = self._file.read(place, _SIZE * _READ_AHEAD)
            rank, order, key, next_place = _RECORD.unpack_from(data, at)
            yield place, rank, order, key
            place = next_place

    # ------------------------------------------------------------ dormant hosts

    def best_dormant(self) -> Listing | None:
        """The dormant host with the best entry, which may be outdated."""
        while True:
            near = self._near
            while near:
                rank, order, slot = near[0]
                if self._is_dormant[slot] and self._ranks[slot] == rank and self._orders[slot] == order:
                    return near[0]
                heappop(near)
            if self._all_up_to[0] == inf or not self._list_best():
                return None

    def probable_next(self, count: int) -> list[int]:
        """The orders of some of the best entries of dormant hosts: the first items of a heap are among the smallest."""
        return [order for _, order, _ in self._near[:count]]

    def _list(self, slot: int) -> None:
        listing = self._ranks[slot], self._orders[slot], slot
        if listing[:2] <= self._all_up_to:
            heappush(self._near, listing)
            if len(self._near) > 4 * _MAX_LISTED:
                self._list_best()

    def _list_best(self) -> bool:
        """Lists the best dormant hosts; returns whether there are any."""
        (slots,) = np.frombuffer(self._is_dormant, np.uint8).nonzero()
        ranks = np.frombuffer(self._ranks)[slots]
        orders = np.frombuffer(self._orders, np.int64)[slots]
        self._all_up_to = (inf, 0)
        if len(slots) > _MAX_LISTED:
            last = np.partition(ranks, _MAX_LISTED - 1)[_MAX_LISTED - 1]
            (ties,) = (ranks == last).nonzero()
            room = _MAX_LISTED - int((ranks < last).sum())
            last_order = np.partition(orders[ties], room - 1)[room - 1]
            chosen = (ranks < last) | ((ranks == last) & (orders <= last_order))
            slots, ranks, orders = slots[chosen], ranks[chosen], orders[chosen]
            self._all_up_to = (float(last), int(last_order))
        self._near = sorted(zip(ranks.tolist(), orders.tolist(), slots.tolist(), strict=True))
        return bool(self._near)

    # ------------------------------------------------------------ the file

    def compact(self) -> None:
        """Rewrites the file if most of it is outdated."""
        if len(self._file) < _WASTE + 4 * _SIZE * len(self.waiting):
            return
        old, self._file = self._file, ScratchFile(self._folder)
        for slot, best_rank in enumerate(self._ranks):
            if best_rank == inf:
                continue
            new, self._file = self._file, old
            records = self._records(self._places[slot])
            kept = sorted((rank, order, key) for _, rank, order, key in records if self.waiting[key] == order)
            self._file = new
            if kept:
                self._write(slot, kept)
                if self._is_dormant[slot]:
                    self._list(slot)
            else:
                self._places[slot], self._is_sorted[slot] = _END, 1
