"""Figures of a log, for `lycosa logs show`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lycosa.vocabulary.records import Url

from .access_log import SECONDS_PER_DAY, AccessLog
from .entries import DESCRIPTIONS, DropReason
from .log_file import MIN_USERS_SETTING, ImportedFile, open_log_file

SECONDS_PER_HOUR = 3600.0
MAX_DAYS_BY_HOUR = 4.0  # a longer log is shown by the day
MAX_BARS = 400  # a log of more days is shown by several days


@dataclass(frozen=True)
class Activity:
    """The number of accesses in consecutive periods of equal length, each one bar of a chart."""

    start: float  # seconds since the epoch
    bar_seconds: float  # the length of a period
    counts: Sequence[int]


class PageReaders(NamedTuple):
    """By how many users a page was read, and how often."""

    url: Url
    users: int
    accesses: int


@dataclass(frozen=True)
class LogSummary:
    """Figures of a log: numbers of lines, accesses, users, pages and so on."""

    files: Sequence[ImportedFile]
    min_users: int  # pages that fewer users read are left out of `accesses`, `users` and `pages`
    lines: int
    accesses: int
    users: int
    pages: int
    first: float | None  # access, in seconds since the epoch
    last: float | None
    days: int  # calendar days with an access, UTC
    groups: int  # users with too many requests for one person, such as proxies and robots, which were dropped
    dropped: Mapping[str, int]  # by reason, the most frequent first
    rare_pages: int  # left out since fewer than `min_users` people read them
    rare_accesses: int
    most_read: Sequence[PageReaders]  # by the most users first
    activity: Activity


def summarise(path: Path, *, max_listed: int = 10) -> LogSummary:
    """The figures of a log; pages read by too few users are only counted."""
    with open_log_file(path) as log:
        files, groups = log.imports(), len(log.groups())
        min_users = log.settings().get(MIN_USERS_SETTING, 1)
        everything = log.access_log()
    access_log = everything.with_min_users(min_users)
    dropped = Counter[str]()
    for file in files:
        dropped.update(file.dropped)
    # A later import may find that users are groups; their accesses are then dropped.
    dropped[DESCRIPTIONS[DropReason.GROUP]] += max(0, sum(file.used for file in files) - everything.access_count)
    times = access_log.times
    return LogSummary(
        files=files,
        min_users=min_users,
        lines=sum(file.lines for file in files),
        accesses=access_log.access_count,
        users=access_log.users,
        pages=len(access_log.urls),
        first=float(times.min()) if len(times) else None,
        last=float(times.max()) if len(times) else None,
        days=len(np.unique(times // SECONDS_PER_DAY)),
        groups=groups,
        dropped={reason: count for reason, count in dropped.most_common() if count},
        rare_pages=len(everything.urls) - len(access_log.urls),
        rare_accesses=everything.access_count - access_log.access_count,
        most_read=_most_read(access_log, max_listed),
        activity=_activity(access_log),
    )


def _most_read(access_log: AccessLog, limit: int) -> list[PageReaders]:
    starts, _ = access_log.users_by_url
    users = np.diff(starts)
    accesses = np.bincount(access_log.url_ids, minlength=len(users))
    order = np.lexsort((-accesses, -users))[:limit]
    return [PageReaders(access_log.urls[each], int(users[each]), int(accesses[each])) for each in order.tolist()]


def _activity(access_log: AccessLog) -> Activity:
    times = access_log.times
    if not len(times):
        return Activity(0.0, SECONDS_PER_HOUR, ())
    first, last = float(times.min()), float(times.max())
    bar_seconds = SECONDS_PER_HOUR if last - first < MAX_DAYS_BY_HOUR * SECONDS_PER_DAY else SECONDS_PER_DAY
    if (last - first) / bar_seconds > MAX_BARS:
        bar_seconds *= -(-(last - first) // (bar_seconds * MAX_BARS))
    start = first // bar_seconds * bar_seconds
    return Activity(start, bar_seconds, np.bincount(((times - start) // bar_seconds).astype(np.int64)).tolist())
