"""Figures of a log, for `lycosa logs show`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lycosa.vocabulary.records import Url

from .access_log import SECONDS_PER_DAY, AccessLog
from .entries import DESCRIPTIONS, Drop
from .log_file import MIN_USERS, ImportedFile, open_log

HOUR = 3600.0
DAYS_BY_HOUR = 4.0  # a log of fewer days is shown by the hour
MAX_BARS = 400  # a longer log is shown by several days


@dataclass(frozen=True)
class Activity:
    """Accesses in consecutive spans of equal length."""

    start: float
    span: float  # seconds
    counts: Sequence[int]


@dataclass(frozen=True)
class LogSummary:
    """Figures of a log."""

    files: Sequence[ImportedFile]
    min_users: int
    lines: int
    accesses: int
    users: int
    pages: int
    first: float | None
    last: float | None
    days: int  # calendar days with an access, UTC
    groups: int
    dropped: Mapping[str, int]  # by reason, the most frequent first
    rare_pages: int  # left out since fewer than `min_users` people read them
    rare_accesses: int
    most_read: Sequence[tuple[Url, int, int]]  # page, people, accesses
    activity: Activity


def summarise(path: Path, *, max_listed: int = 10) -> LogSummary:
    """The figures of a log; pages read by too few users are only counted."""
    with open_log(path) as log:
        files, groups = log.imports(), len(log.groups())
        least = log.settings().get(MIN_USERS, 1)
        everything = log.access_log()
    access_log = everything.with_at_least(least)
    dropped = Counter[str]()
    for file in files:
        dropped.update(file.dropped)
    dropped[DESCRIPTIONS[Drop.GROUP]] += max(
        0, sum(file.used for file in files) - everything.accesses
    )  # users found to be groups by a later import
    times = access_log.times
    return LogSummary(
        files=files,
        min_users=least,
        lines=sum(file.lines for file in files),
        accesses=access_log.accesses,
        users=access_log.users,
        pages=len(access_log.urls),
        first=float(times.min()) if len(times) else None,
        last=float(times.max()) if len(times) else None,
        days=len(np.unique(times // SECONDS_PER_DAY)),
        groups=groups,
        dropped={reason: count for reason, count in dropped.most_common() if count},
        rare_pages=len(everything.urls) - len(access_log.urls),
        rare_accesses=everything.accesses - access_log.accesses,
        most_read=_most_read(access_log, max_listed),
        activity=_activity(access_log),
    )


def _most_read(access_log: AccessLog, limit: int) -> list[tuple[Url, int, int]]:
    starts, _ = access_log.users_by_url
    people = np.diff(starts)
    times_read = np.bincount(access_log.walks, minlength=len(people))
    order = np.lexsort((-times_read, -people))[:limit]
    return [(access_log.urls[each], int(people[each]), int(times_read[each])) for each in order.tolist()]


def _activity(access_log: AccessLog) -> Activity:
    times = access_log.times
    if not len(times):
        return Activity(0.0, HOUR, ())
    first, last = float(times.min()), float(times.max())
    span = HOUR if last - first < DAYS_BY_HOUR * SECONDS_PER_DAY else SECONDS_PER_DAY
    if (last - first) / span > MAX_BARS:
        span *= -(-(last - first) // (span * MAX_BARS))
    start = first // span * span
    return Activity(start, span, np.bincount(((times - start) // span).astype(np.int64)).tolist())
