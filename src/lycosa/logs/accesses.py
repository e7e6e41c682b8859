"""Page views as columns of numbers, and which users are groups rather than single people.

A group is a user who makes too many accesses in a day or in a minute for one person, such as a proxy that many share or
a robot. Accesses are all lines of a log that name a user and a time, pictures and failures among them, as
the paper means its limits: "multiple access entries in the trace may actually correspond to the different parts
(images, frames and html) of the same user access". A day is a calendar day and a minute a clock minute, both UTC.

Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery. KDD 2002.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .access_log import Int32Array, Int64Array, Mask

MAX_PER_DAY = 2000  # accesses of a user that is no group
MAX_PER_MINUTE = 100  # likewise
MINUTES_PER_DAY = 1440
_MERGE_AT = 1 << 22  # rows added since the last merge from which the parts are merged again
_USER_PAGE_MULTIPLIER = np.uint64(0x9E37_79B9_7F4A_7C15)  # odd, as that of the time: for hashing
_TIME_MULTIPLIER = np.uint64(0xC2B2_AE3D_27D4_EB4F)


class Accesses(NamedTuple):
    """Users, pages and times of page views, one row each."""

    users: Int32Array
    pages: Int32Array
    moments: Int64Array  # milliseconds since the epoch

    @classmethod
    def joined(cls, *parts: "Accesses") -> "Accesses":
        """The rows of several, one after the other."""
        users = np.concatenate([np.zeros(0, np.int32), *(part.users for part in parts)])
        pages = np.concatenate([np.zeros(0, np.int32), *(part.pages for part in parts)])
        moments = np.concatenate([np.zeros(0, np.int64), *(part.moments for part in parts)])
        return cls(users, pages, moments)

    def only(self, selected: "np.ndarray[Any, np.dtype[Any]] | slice") -> "Accesses":
        """The rows of a mask, of indices or of a slice."""
        return Accesses(self.users[selected], self.pages[selected], self.moments[selected])

    def by_time(self) -> "Accesses":
        """The rows sorted by time; equal times keep their order."""
        if (np.diff(self.moments) >= 0).all():
            return self
        return self.only(np.argsort(self.moments, kind="stable"))

    def not_repeated(self, before: "Accesses") -> Mask:
        """Whether each row (user, page and time) is neither among those of `before` nor equal to an earlier one."""
        rows = Accesses.joined(before, self) if len(before.users) else self
        new = np.ones(len(rows.users), np.bool_)
        suspects = np.flatnonzero(rows._may_be_repeated())
        suspected = rows.only(suspects)
        order = np.lexsort((suspected.moments, suspected.pages, suspected.users))
        ordered = suspected.only(order)
        same = np.ones(max(0, len(order) - 1), np.bool_)
        for column in ordered:
            same &= column[1:] == column[:-1]
        new[suspects[order[1:][same]]] = False
        return new[len(before.users) :]

    def _may_be_repeated(self) -> Mask:
        """Whether the 64-bit hash of a row equals that of another: sorting hashes is faster than sorting rows."""
        codes = self.users.astype(np.uint64)
        codes <<= np.uint64(32)
        codes |= self.pages.astype(np.uint64)
        codes *= _USER_PAGE_MULTIPLIER
        codes += self.moments.astype(np.uint64) * _TIME_MULTIPLIER
        ordered = np.sort(codes)
        repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.isin(codes, repeated) if len(repeated) else np.zeros(len(codes), np.bool_)


class MinuteCounts(NamedTuple):
    """How many accesses each user had in each minute in which there were any; in order of user and minute."""

    users: Int32Array
    minutes: Int32Array  # since the epoch
    counts: Int32Array

    @classmethod
    def of(cls, users: Int32Array, moments: Int64Array) -> "MinuteCounts":
        """From one row for each access, with milliseconds since the epoch."""
        keys = (users.astype(np.int64) << 32) | (moments // 60_000)
        keys.sort()
        return cls._summed(keys, np.ones(len(keys), np.int32))

    @classmethod
    def merged(cls, parts: "Sequence[MinuteCounts]") -> "MinuteCounts":
        """The sum of several: counts of the same user and minute are added up."""
        nothing = np.zeros(0, np.int64)
        keys = np.concatenate([nothing, *((part.users.astype(np.int64) << 32) | part.minutes for part in parts)])
        order = np.argsort(keys)
        keys = keys[order]
        return cls._summed(keys, np.concatenate([nothing.astype(np.int32), *(part.counts for part in parts)])[order])

    def of_users(self, chosen: Mask) -> "MinuteCounts":
        """The rows of the users for whom `chosen` is true."""
        kept = chosen[self.users]
        return self if kept.all() else MinuteCounts(self.users[kept], self.minutes[kept], self.counts[kept])

    @classmethod
    def _summed(cls, keys: Int64Array, counts: Int32Array) -> "MinuteCounts":
        keys, counts = sum_by_key(keys, counts)
        return cls((keys >> 32).astype(np.int32), (keys & 0xFFFF_FFFF).astype(np.int32), counts)


def sum_by_key(keys: Int64Array, counts: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Each of the sorted keys once, with the sum of its counts."""
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(first)
    return keys[starts], np.add.reduceat(counts, starts, dtype=np.int32) if len(starts) else counts


@dataclass
class MinuteCounter:
    """Accumulates counts per user and minute; memory grows with these pairs, not with the accesses."""

    _parts: list[MinuteCounts] = field(default_factory=list)
    _rows_since_merge: int = 0

    def add(self, part: MinuteCounts) -> None:
        self._parts.append(part)
        self._rows_since_merge += len(part.users)
        if self._rows_since_merge > _MERGE_AT:
            self._parts = [MinuteCounts.merged(self._parts)]
            self._rows_since_merge = 0

    def total(self) -> MinuteCounts:
        """The sum of everything added; may be called only once."""
        parts, self._parts = self._parts, []
        return MinuteCounts.merged(parts)


def find_groups(minutes: MinuteCounts, *, max_per_day: int, max_per_minute: int) -> Int32Array:
    """The users with more than `max_per_day` accesses in some day or `max_per_minute` in some minute, in order."""
    over_minute_limit = minutes.users[minutes.counts > max_per_minute]
    keys = (minutes.users.astype(np.int64) << 32) | (minutes.minutes // MINUTES_PER_DAY)
    days, totals = sum_by_key(keys, minutes.counts)
    over_day_limit = (days[totals > max_per_day] >> 32).astype(np.int32)
    return np.union1d(over_minute_limit, over_day_limit).astype(np.int32)
