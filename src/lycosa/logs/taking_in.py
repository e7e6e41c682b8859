"""What a file came to, written into a log: less groups, less what is there already."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .accesses import Accesses
from .dropping import SAYS, Drop
from .gathering import Gathered, PageNumbers, UserNumbers
from .groups import MINUTES_A_DAY, MOST_A_DAY, MOST_A_MINUTE, Minutes, groups_among
from .log_file import A_DAY, A_MINUTE, LogFile
from .readings import Numbers
from .url_column import UrlColumn

ROWS_A_BLOB = 1 << 22
URLS_A_BLOB = 1 << 17  # of at most 2 KB each: far from what SQLite takes as one value


class TakenIn(NamedTuple):
    used: int
    dropped: Mapping[str, int]


def take_in(
    log: LogFile, gathered: Gathered, users: UserNumbers, pages: PageNumbers, settings: Mapping[str, int]
) -> TakenIn:
    """Writes what was gathered, within the transaction that is under way."""
    for cache in (users.spelt, pages.told, pages.untold):
        cache.clear()  # room for what follows
    minutes = gathered.minutes.total()
    groups = _groups(log, minutes, settings)
    single = np.ones(len(users), np.bool_)
    single[groups] = False
    _write_minutes(log, minutes.of_users(single))
    del minutes
    dropped = {SAYS[why]: gathered.dropped[why] for why in Drop if why in gathered.dropped}
    found = gathered.accesses().by_time()
    found = _less(found, single[found.users], Drop.GROUP, dropped)
    found = _less(found, found.not_repeated(_at_the_time_of(found, log)), Drop.DUPLICATE, dropped)
    log.connection.execute("INSERT INTO users VALUES (NULL, ?)", (b"".join(users.new()),))
    users.keep()
    log.connection.executemany("INSERT OR IGNORE INTO groups VALUES (?)", [(each,) for each in groups.tolist()])
    _write_accesses(log, _write_urls(log, found, pages))
    return TakenIn(len(found.users), dropped)


def _groups(log: LogFile, minutes: Minutes, settings: Mapping[str, int]) -> Numbers:
    """All groups, those of before and those that are found now, days of before being counted too."""
    known = log.groups()
    if not len(minutes.users):
        return known
    first, last = int(minutes.minutes.min()), int(minutes.minutes.max())
    first -= first % MINUTES_A_DAY
    last += MINUTES_A_DAY - 1 - last % MINUTES_A_DAY
    before = log.minutes(first, last)
    found = groups_among(
        Minutes.together([before, minutes]) if len(before.users) else minutes,
        most_a_day=settings.get(A_DAY, MOST_A_DAY),
        most_a_minute=settings.get(A_MINUTE, MOST_A_MINUTE),
    )
    return np.union1d(known, found).astype(np.int32)


def _less(
    found: Accesses, kept: "np.ndarray[tuple[int], np.dtype[np.bool_]]", why: Drop, dropped: dict[str, int]
) -> Accesses:
    gone = len(kept) - int(np.count_nonzero(kept))
    if not gone:
        return found
    dropped[SAYS[why]] = gone
    return found.only(kept)


def _at_the_time_of(found: Accesses, log: LogFile) -> Accesses:
    if not len(found.moments):
        return found
    return log.accesses(int(found.moments[0]), int(found.moments[-1]))


def _write_urls(log: LogFile, found: Accesses, pages: PageNumbers) -> Accesses:
    """Writes the new pages that are left; they get the numbers that follow those of before."""
    new = pages.new()
    read = np.unique(found.pages)
    read = read[read >= pages.known]
    numbers = np.arange(pages.known + len(new), dtype=np.int32)
    numbers[read] = pages.known + np.arange(len(read), dtype=np.int32)
    for start in range(0, len(read), URLS_A_BLOB):
        part = UrlColumn.of(new[each - pages.known] for each in read[start : start + URLS_A_BLOB].tolist())
        log.connection.execute("INSERT INTO urls VALUES (NULL, ?, ?)", (part.text, part.ends.astype("<i8").tobytes()))
    pages.keep(read.tolist())
    return found._replace(pages=numbers[found.pages])


def _write_accesses(log: LogFile, found: Accesses) -> None:
    for place in _blobs(len(found.users)):
        rows = found.only(place)
        blobs = (rows.users.astype("<i4"), rows.pages.astype("<i4"), rows.moments.astype("<i8"))
        log.connection.execute(
            "INSERT INTO accesses VALUES (NULL, ?, ?, ?, ?, ?)",
            (int(rows.moments[0]), int(rows.moments[-1]), *(blob.tobytes() for blob in blobs)),
        )


def _write_minutes(log: LogFile, minutes: Minutes) -> None:
    order = np.argsort(minutes.minutes, kind="stable")  # so that a blob is of a short time
    for place in _blobs(len(order)):
        rows = Minutes(*(column[order[place]] for column in minutes))
        log.connection.execute(
            "INSERT INTO minutes VALUES (NULL, ?, ?, ?, ?, ?)",
            (int(rows.minutes[0]), int(rows.minutes[-1]), *(column.astype("<i4").tobytes() for column in rows)),
        )


def _blobs(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_A_BLOB) for start in range(0, rows, ROWS_A_BLOB))
