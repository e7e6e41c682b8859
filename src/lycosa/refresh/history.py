"""The histories of pages: the table from which refresh policies choose.

    history_of(observations, *, importance={}, unknown_rate=…) -> HistoryTable
    Observation(url, at, changed=False, out_links=0, new_links=0, link_score=0.0)

The observations of a page are in order of time; those of several pages may be mixed. A request that returned no page is
not an observation. The rows of the table are the pages in the order of their first observation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Url

from .rates import UNKNOWN_RATE, change_rates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class HistoryTable:
    """One row for each page; all columns have the same length. Time has any unit, the same everywhere."""

    urls: Sequence[Url]
    importance: Floats  # relevance × standing, or another measure of how much a page matters
    fetched_at: Floats  # time of the last fetch; NaN if never fetched
    fetches: Ints  # number of fetches
    changes: Ints  # number of fetches that found it changed
    rate: Floats  # changes per unit of time, as estimated
    out_links: Ints  # links seen on it so far
    yielded: Floats  # new links per unit of time at the latest fetch; NaN before the second fetch
    link_score: Floats  # sum of the known in-links of those new links' targets; NaN before the second fetch

    def __len__(self) -> int:
        return len(self.urls)

    def ages(self, now: float) -> Floats:
        """Time since the last fetch: infinite if there was none, 0 if the clock was set back since."""
        return np.where(np.isnan(self.fetched_at), np.inf, np.maximum(0.0, now - self.fetched_at))

    def only(self, mask: Sequence[bool]) -> Self:
        """The rows for which `mask` is true."""
        columns = [field.name for field in fields(self) if field.name != "urls"]
        rows = np.flatnonzero(mask)
        return replace(
            self,
            urls=[self.urls[row] for row in rows.tolist()],
            **{name: getattr(self, name)[rows] for name in columns},
        )


class Observation(NamedTuple):
    """A fetch that returned a page, or found it unchanged."""

    url: Url
    at: float  # time, in the unit of the table
    changed: bool = False  # since the previous observation; ignored in the first
    out_links: int = 0  # links on the page
    new_links: int = 0  # of these, links that the previous observation did not have
    link_score: float = 0.0  # sum of the known in-links of the new links' targets


def history_of(
    observations: Iterable[Observation], *, importance: Mapping[Url, float] = {}, unknown_rate: float = UNKNOWN_RATE
) -> HistoryTable:
    """The table of all observed pages; the importance of a page not in `importance` is 1.

    An observation dated no later than the one before it, as after the clock was set back, counts as a fetch, but is
    left out of the estimates of change rate and yield.
    """
    row_of: dict[Url, int] = {}
    fetched_at: list[float] = []
    fetches: list[int] = []
    changes: list[int] = []
    out_links: list[int] = []
    yielded: list[float] = []
    link_score: list[float] = []
    rows: list[int] = []
    intervals: list[float] = []
    changed: list[bool] = []
    for observation in observations:
        row = row_of.setdefault(observation.url, len(row_of))
        if row == len(fetched_at):
            fetched_at.append(observation.at)
            fetches.append(1)
            changes.append(0)
            out_links.append(observation.out_links)
            yielded.append(np.nan)
            link_score.append(np.nan)
            continue
        interval = observation.at - fetched_at[row]
        fetched_at[row] = observation.at
        fetches[row] += 1
        changes[row] += observation.changed
        out_links[row] += observation.new_links
        link_score[row] = observation.link_score
        if interval > 0:
            yielded[row] = observation.new_links / interval
            rows.append(row)
            intervals.append(interval)
            changed.append(observation.changed)
    return HistoryTable(
        urls=list(row_of),
        importance=np.array([importance.get(url, 1.0) for url in row_of], dtype=np.float64),
        fetched_at=np.array(fetched_at, dtype=np.float64),
        fetches=np.array(fetches, dtype=np.int64),
        changes=np.array(changes, dtype=np.int64),
        rate=change_rates(
            np.array(rows, dtype=np.int64),
            np.array(intervals, dtype=np.float64),
            np.array(changed, dtype=np.bool_),
            pages=len(row_of),
            unknown_rate=unknown_rate,
        ),
        out_links=np.array(out_links, dtype=np.int64),
        yielded=np.array(yielded, dtype=np.float64),
        link_score=np.array(link_score, dtype=np.float64),
    )
