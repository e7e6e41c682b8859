"""Sources that are no single person: too many accesses in a day or in a minute.

Accesses are the lines of the log that name a user and a time, pictures and failures among them, since the limits are
meant so: "multiple access entries in the trace may actually correspond to the different parts (images, frames and
html) of the same user access". A day is a calendar day and a minute a clock minute, both UTC.

Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery. KDD 2002.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .readings import Mask, Numbers, Places

MOST_A_DAY = 2000
MOST_A_MINUTE = 100
MINUTES_A_DAY = 1440
_MERGED_AT = 1 << 22  # rows that wait to be added up


class Minutes(NamedTuple):
    """How many accesses each user had in each minute in which there were any; in order of user and minute."""

    users: Numbers
    minutes: Numbers  # since the epoch
    counts: Numbers

    @classmethod
    def of(cls, users: Numbers, moments: Places) -> "Minutes":
        """From one row for each access, with milliseconds since the epoch."""
        keys = (users.astype(np.int64) << 32) | (moments // 60_000)
        keys.sort()
        return cls._summed(keys, np.ones(len(keys), np.int32))

    @classmethod
    def together(cls, parts: "Sequence[Minutes]") -> "Minutes":
        """The same users' minutes from several, added up."""
        nothing = np.zeros(0, np.int64)
        keys = np.concatenate([nothing, *((part.users.astype(np.int64) << 32) | part.minutes for part in parts)])
        order = np.argsort(keys)
        keys = keys[order]
        return cls._summed(keys, np.concatenate([nothing.astype(np.int32), *(part.counts for part in parts)])[order])

    def of_users(self, chosen: Mask) -> "Minutes":
        """Those of some users; `chosen` says for each number whether it is one."""
        kept = chosen[self.users]
        return self if kept.all() else Minutes(self.users[kept], self.minutes[kept], self.counts[kept])

    @classmethod
    def _summed(cls, keys: Places, counts: Numbers) -> "Minutes":
        keys, counts = summed(keys, counts)
        return cls((keys >> 32).astype(np.int32), (keys & 0xFFFF_FFFF).astype(np.int32), counts)


def summed(keys: Places, counts: Numbers) -> tuple[Places, Numbers]:
    """Each of the keys once, which are in order, with the sum of its counts."""
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(first)
    return keys[starts], np.add.reduceat(counts, starts, dtype=np.int32) if len(starts) else counts


@dataclass
class MinuteCounts:
    """Adds up minutes as they come, in memory for those that differ."""

    _parts: list[Minutes] = field(default_factory=list)
    _waiting: int = 0

    def add(self, part: Minutes) -> None:
        self._parts.append(part)
        self._waiting += len(part.users)
        if self._waiting > _MERGED_AT:
            self._parts = [Minutes.together(self._parts)]
            self._waiting = 0

    def total(self) -> Minutes:
        """All that was added, which is handed over, not kept."""
        parts, self._parts = self._parts, []
        return Minutes.together(parts)


def groups_among(minutes: Minutes, *, most_a_day: int, most_a_minute: int) -> Numbers:
    """The users that are groups, in order."""
    hasty = minutes.users[minutes.counts > most_a_minute]
    keys = (minutes.users.astype(np.int64) << 32) | (minutes.minutes // MINUTES_A_DAY)
    days, totals = summed(keys, minutes.counts)
    busy = (days[totals > most_a_day] >> 32).astype(np.int32)
    return np.union1d(hasty, busy).astype(np.int32)
