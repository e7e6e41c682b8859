"""Page views as columns of numbers."""

from typing import Any, NamedTuple

import numpy as np

from .readings import Mask, Numbers, Places

_ODD, _OTHER_ODD = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F)


class Accesses(NamedTuple):
    """Who, what and when; one row for each."""

    users: Numbers
    pages: Numbers
    moments: Places  # milliseconds since the epoch

    @classmethod
    def joined(cls, *parts: "Accesses") -> "Accesses":
        """One after the other."""
        users = np.concatenate([np.zeros(0, np.int32), *(part.users for part in parts)])
        pages = np.concatenate([np.zeros(0, np.int32), *(part.pages for part in parts)])
        moments = np.concatenate([np.zeros(0, np.int64), *(part.moments for part in parts)])
        return cls(users, pages, moments)

    def only(self, kept: "np.ndarray[Any, np.dtype[Any]] | slice") -> "Accesses":
        """Those of a mask, or at some places."""
        return Accesses(self.users[kept], self.pages[kept], self.moments[kept])

    def by_time(self) -> "Accesses":
        """In order of time; of the same moment, as they were."""
        if (np.diff(self.moments) >= 0).all():
            return self
        return self.only(np.argsort(self.moments, kind="stable"))

    def not_repeated(self, before: "Accesses") -> Mask:
        """Whether each is neither among those of before nor the same as an earlier one: user, page and moment."""
        rows = Accesses.joined(before, self) if len(before.users) else self
        new = np.ones(len(rows.users), np.bool_)
        suspects = np.flatnonzero(rows._may_be_repeated())
        few = rows.only(suspects)
        order = np.lexsort((few.moments, few.pages, few.users))
        ordered = few.only(order)
        same = np.ones(max(0, len(order) - 1), np.bool_)
        for column in ordered:
            same &= column[1:] == column[:-1]
        new[suspects[order[1:][same]]] = False
        return new[len(before.users) :]

    def _may_be_repeated(self) -> Mask:
        """Whether the 64-bit code of a row is that of another, too: sorting codes is quicker than sorting rows."""
        codes = self.users.astype(np.uint64)
        codes <<= np.uint64(32)
        codes |= self.pages.astype(np.uint64)
        codes *= _ODD
        codes += self.moments.astype(np.uint64) * _OTHER_ODD
        ordered = np.sort(codes)
        repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.isin(codes, repeated) if len(repeated) else np.zeros(len(codes), np.bool_)
