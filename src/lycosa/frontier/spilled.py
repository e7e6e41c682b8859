"""Waiting URLs that are not in memory: a linked list of records per host, in a temporary file."""

from array import array
from collections.abc import Iterator, Set
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from struct import Struct as BinaryFormat

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.key_table import KeyTable
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.scratch_file import ScratchFile

# Rank, order, key of the URL, and the number of the next record in the list of its host. The last record of a list has
# the order 0 and the key of the host.
_RECORD = BinaryFormat("<dqqq")
_RECORD_SIZE = _RECORD.size
_MAX_LISTINGS = 4_096  # best dormant hosts kept in a heap
_MAX_SITES_APART = 64  # sites whose dormant hosts have a heap of their own; beyond that, only those asked for last
_READ_AHEAD = 8  # records
_MAX_RANKED = 1_000_000  # entries whose rank is in memory; the frontier looks up others in its table of the catalog
_DOUBLE, _BITS = BinaryFormat("<d"), BinaryFormat("<Q")  # a rank, and its bits as an integer
_MAX_TAKEN = 4_096  # entries taken from a list that had to be sorted
_MIN_COMPACTED = 1 << 26  # bytes; a file larger than this and four times its current records is compacted

BOOST = 1e6  # by which the rank of a boosted URL is lower: one that the user put first

DormantListing = tuple[float, int, int]  # rank and order of the best entry of a host, and the number of its list


class QueueEntry(Struct, order=True, gc=False):
    """A waiting URL in the queue of its host; the smallest is the best."""

    rank: float  # minus the priority, and less by `BOOST` if the URL is boosted
    order: int  # first come, first served among equals
    url: Url
    retries_and_hops: tuple[int, int] | None = None  # failed attempts and redirects, if there are any

    @property
    def rank_without_boost(self) -> float:
        """Minus the priority, if that is from 0 to 1; that of a boosted URL is rounded."""
        return self.rank + BOOST if self.rank < -BOOST / 2 else self.rank


class _DormantHeap:
    """A heap of the best dormant hosts of one site, or of all other sites; filled when it is needed."""

    __slots__ = ("listed_up_to", "listings")

    def __init__(self) -> None:
        self.listings: list[DormantListing] = []  # an outdated listing is dropped when popped
        self.listed_up_to = (-inf, 0)  # every dormant host up to this rank is listed


class SpilledEntries:
    """The entries that are not in memory, each as rank, order and the key of its URL; keys are hashes.

    A host with spilled entries has a numbered list of records; in memory are its best rank and order, even of an
    outdated entry, and the number of its first record. A list is sorted when something is taken from it. A host is
    *dormant* while none of its entries is in memory, and is then included in `best_dormant`. A site is the registered
    domain of a host, given by its key; the dormant hosts of some sites are listed apart from all others.
    """

    def __init__(self, folder: Path | None = None):
        self._folder = folder
        self.waiting = KeyTable()  # the order of each current entry, by the key of its URL; 0 for other keys
        self._rank_of = KeyTable()  # the bits of its rank, plus 1
        self._retries_and_hops: dict[int, tuple[int, int]] = {}  # by order, of entries that have any
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.waiting.clear()
        self._rank_of.clear()
        self._retries_and_hops.clear()
        self._file = ScratchFile(self._folder)
        self.list_of = KeyTable()  # the number of the list of each host, from 1, by the key of the host
        self._site_keys = array("q", [0])  # of the host of each list
        self._ranks = array("d", [inf])  # of the best entry; inf for a free list
        self._orders = array("I", [0])
        self._first_records = array("I", [0])  # their numbers
        self._is_sorted = bytearray(1)
        self._is_dormant = bytearray(1)
        self._free_lists: list[int] = []
        self._others = self._latest = _DormantHeap()  # of sites that are not listed apart; of the host woken last
        self._apart: dict[int, _DormantHeap] = {}  # by site

    def __len__(self) -> int:
        """The number of current entries."""
        return len(self.waiting)

    def orders(self) -> NDArray[np.int64]:
        """The orders of all current entries, in any order."""
        return self.waiting.numbers()

    @property
    def is_unused(self) -> bool:
        """Whether no entry was ever added since `clear`, so that no lookup can find one."""
        return len(self._ranks) == 1

    def has_entries(self, list_number: int) -> bool:
        """Whether a list is in use."""
        return self._ranks[list_number] != inf

    def list_for(self, host_key: int, site_key: int) -> int:
        """The number of the list of a host that is not dormant, created if needed."""
        list_number = self.list_of[host_key]
        if list_number:
            return list_number
        if self._free_lists:
            list_number = self._free_lists.pop()
        else:
            list_number = len(self._ranks)
            for column in (self._site_keys, self._ranks, self._orders, self._first_records):
                column.append(0)
            self._is_sorted.append(0)
            self._is_dormant.append(0)
        self.list_of[host_key], self._site_keys[list_number] = list_number, site_key
        self._set_best(list_number, inf, 0)
        self._first_records[list_number] = self._append_end(host_key)
        self._is_sorted[list_number], self._is_dormant[list_number] = 1, 0
        return list_number

    def _set_best(self, list_number: int, rank: float, order: int) -> None:
        self._ranks[list_number] = rank
        try:
            self._orders[list_number] = order
        except OverflowError:  # after four billion arrivals
            self._orders = array("q", self._orders)
            self._orders[list_number] = order

    def best(self, list_number: int) -> QueueEntry:
        """The best entry of a host, without its URL; it may be outdated."""
        return QueueEntry(self._ranks[list_number], self._orders[list_number], Url(""))

    def is_better(self, list_number: int, rank: float, order: int) -> bool:
        """Whether an entry ranks before all entries of a list."""
        best = self._ranks[list_number]
        return rank < best or (rank == best and order < self._orders[list_number])

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

    def add_entry(self, list_number: int, entry: QueueEntry) -> None:
        """Adds an entry to a host."""
        key = hash(entry.url)
        if entry.retries_and_hops:
            self._retries_and_hops[entry.order] = entry.retries_and_hops
        if len(self.waiting) < _MAX_RANKED:
            (bits,) = _BITS.unpack(_DOUBLE.pack(entry.rank))
            self._rank_of[key] = bits + 1
        else:
            self._rank_of[key] = 0
        self.add(list_number, entry.rank, entry.order, key)

    def add(self, list_number: int, rank: float, order: int, key: int) -> None:
        """Adds an entry by its fields; its rank is not kept in memory."""
        self.waiting[key] = order
        record = _RECORD.pack(rank, order, key, self._first_records[list_number])
        self._first_records[list_number] = self._file.append(record) // _RECORD_SIZE
        best = self._ranks[list_number]
        if rank > best or (rank == best and order > self._orders[list_number]):
            self._is_sorted[list_number] = 0
            return
        self._set_best(list_number, rank, order)
        if self._is_dormant[list_number]:
            self._list(list_number)

    def make_dormant(self, list_number: int) -> None:
        """Makes a host dormant."""
        self._is_dormant[list_number] = 1
        self._list(list_number)

    def wake(self, list_number: int) -> None:
        """Ends the dormancy of a host."""
        self._is_dormant[list_number] = 0
        self._latest = self._heap_of(list_number)

    def take(self, list_number: int, count: int) -> list[int]:
        """Removes the best entries of a host, at least `count` if it has so many; returns their orders, best first. A
        host without further entries loses its list."""
        if not self._is_sorted[list_number]:
            # A fraction of the list, so that repeated sorting costs little per entry.
            count = max(count, min(self._sort(list_number) // 8, _MAX_TAKEN))
        taken: list[int] = []
        for record, rank, order, key in self._records(self._first_records[list_number]):
            if not order:
                self.list_of[key] = 0
            elif self.waiting[key] != order:
                continue
            elif len(taken) == count:
                self._first_records[list_number] = record
                self._set_best(list_number, rank, order)
                return taken
            else:
                self.discard(key)
                taken.append(order)
        self._ranks[list_number], self._is_dormant[list_number] = inf, 0
        self._free_lists.append(list_number)
        return taken

    def _sort(self, list_number: int) -> int:
        """Sorts the list of a host; returns its length."""
        records, record, read, unpack = [], self._first_records[list_number], self._file.read, _RECORD.unpack
        while True:
            rank, order, key, following = unpack(read(record * _RECORD_SIZE, _RECORD_SIZE))
            if not order:
                break
            records.append((rank, order, key))
            record = following
        records.sort()
        self._write(list_number, records, record)
        return len(records)

    def _append_end(self, host_key: int) -> int:
        """Appends the last record of the list of a host; returns its number."""
        return self._file.append(_RECORD.pack(0.0, 0, host_key, 0)) // _RECORD_SIZE

    def _write(self, list_number: int, records: list[tuple[float, int, int]], end: int) -> None:
        """Replaces the list of a host by these sorted records before its last one, given by its number."""
        first = len(self._file) // _RECORD_SIZE
        data = b"".join([_RECORD.pack(*record, first + number) for number, record in enumerate(records[:-1], 1)])
        self._file.append(data + _RECORD.pack(*records[-1], end))
        self._first_records[list_number] = first
        rank, order, _ = records[0]
        self._set_best(list_number, rank, order)
        self._is_sorted[list_number] = 1

    def _records(self, record: int) -> Iterator[tuple[int, float, int, int]]:
        """The records of a list from one on, including outdated ones and the last one: number, rank, order and key of
        each."""
        start, data, order = 0, b"", -1
        while order:
            position = (record - start) * _RECORD_SIZE
            if not 0 <= position < len(data):
                start, position = record, 0
                data = self._file.read(record * _RECORD_SIZE, _RECORD_SIZE * _READ_AHEAD)
            rank, order, key, following = _RECORD.unpack_from(data, position)
            yield record, rank, order, key
            record = following

    # ------------------------------------------------------------ dormant hosts

    def list_apart(self, site_keys: Set[int]) -> None:
        """Lists the dormant hosts of these sites apart from now on."""
        if site_keys <= self._apart.keys():
            return
        if len(self._apart) >= _MAX_SITES_APART:
            self._apart, self._others = {}, _DormantHeap()
        for site_key in site_keys - self._apart.keys():
            self._apart[site_key] = _DormantHeap()

    def best_dormant(self) -> Iterator[tuple[int | None, DormantListing]]:
        """The dormant host with the best entry, which may be outdated, of each site listed apart, and of all others.

        Each comes with its site, or None.
        """
        for site_key in (None, *self._apart):
            if (listing := self.best_dormant_of(site_key)) is not None:
                yield site_key, listing

    def best_dormant_of(self, site_key: int | None) -> DormantListing | None:
        """The same of one site; None for all that are not listed apart."""
        heap = self._others if site_key is None else self._apart.get(site_key)
        while heap is not None:
            listings = heap.listings
            while listings:
                rank, order, list_number = listings[0]
                if (
                    self._is_dormant[list_number]
                    and self._ranks[list_number] == rank
                    and self._orders[list_number] == order
                    and self._heap_of(list_number) is heap
                ):
                    return listings[0]
                heappop(listings)
            if heap.listed_up_to[0] == inf or not self._list_best(heap, site_key):
                break
        return None

    def probable_next(self, count: int) -> list[int]:
        """The orders of some of the best entries of dormant hosts: the first items of a heap are among the smallest."""
        return [order for _, order, _ in self._latest.listings[:count]]

    def _heap_of(self, list_number: int) -> _DormantHeap:
        return self._apart.get(self._site_keys[list_number], self._others)

    def _list(self, list_number: int) -> None:
        """Pushes a dormant host onto its heap, unless it ranks behind `listed_up_to`."""
        listing, heap = (self._ranks[list_number], self._orders[list_number], list_number), self._heap_of(list_number)
        if listing[:2] <= heap.listed_up_to:
            heappush(heap.listings, listing)
            if len(heap.listings) > 4 * _MAX_LISTINGS:
                self._list_best(heap, None if heap is self._others else self._site_keys[list_number])

    def _list_best(self, heap: _DormantHeap, site_key: int | None) -> bool:
        """Lists the best dormant hosts of a heap; returns whether there are any."""
        is_listed, site_keys = np.frombuffer(self._is_dormant, np.bool_), np.frombuffer(self._site_keys, np.int64)
        if site_key is not None:
            is_listed = is_listed & (site_keys == site_key)
        elif self._apart:
            is_listed = is_listed & ~np.isin(site_keys, list(self._apart))
        (list_numbers,) = is_listed.nonzero()
        ranks = np.frombuffer(self._ranks)[list_numbers]
        orders = np.frombuffer(self._orders, self._orders.typecode)[list_numbers]
        heap.listed_up_to = (inf, 0)
        if len(list_numbers) > _MAX_LISTINGS:
            last_rank = np.partition(ranks, _MAX_LISTINGS - 1)[_MAX_LISTINGS - 1]
            (ties,) = (ranks == last_rank).nonzero()
            ties_listed = _MAX_LISTINGS - int((ranks < last_rank).sum())
            last_order = np.partition(orders[ties], ties_listed - 1)[ties_listed - 1]
            chosen = (ranks < last_rank) | ((ranks == last_rank) & (orders <= last_order))
            list_numbers, ranks, orders = list_numbers[chosen], ranks[chosen], orders[chosen]
            heap.listed_up_to = (float(last_rank), int(last_order))
        heap.listings = sorted(zip(ranks.tolist(), orders.tolist(), list_numbers.tolist(), strict=True))
        return bool(heap.listings)

    # ------------------------------------------------------------ the file

    def compact(self) -> None:
        """Rewrites the file if most of it is outdated."""
        if len(self._file) < _MIN_COMPACTED + 4 * _RECORD_SIZE * (len(self.waiting) + len(self.list_of)):
            return
        old, self._file = self._file, ScratchFile(self._folder)
        for list_number, best_rank in enumerate(self._ranks):
            if best_rank == inf:
                continue
            new, self._file = self._file, old
            *records, (_, _, _, host_key) = self._records(self._first_records[list_number])
            kept = sorted((rank, order, key) for _, rank, order, key in records if self.waiting[key] == order)
            self._file = new
            end = self._append_end(host_key)
            if kept:
                self._write(list_number, kept, end)
                if self._is_dormant[list_number]:
                    self._list(list_number)
            else:
                self._first_records[list_number], self._is_sorted[list_number] = end, 1
