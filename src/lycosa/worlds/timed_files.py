"""Links with times out of files: `FROM TO TIME` on each line, plain or gzipped. Trouble is told by line."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError

from .edge_lists import bad_line, beginning_of, blocks_of, node_number, numbered_anew, rows_at_once

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]

_RULE = "a line is to be FROM TO TIME, two node numbers and seconds since 1970"
_MILLISECONDS = 1e11  # times from here on are not in seconds, or they would be after the year 5138
_TOO_LARGE = 1e14  # nor are those from here on in milliseconds


class TimedLinks(Struct, frozen=True):
    """Links in the order of their times, and how many of a file's are not among them."""

    sources: Ints
    targets: Ints
    times: Floats  # seconds
    size: int  # nodes
    names: Ints | None = None  # the numbers of the nodes in the file, where these leave gaps
    self_links: int = 0  # left out
    repeated: int = 0  # left out: the same link at the same time


def timed_links(sources: Ints, targets: Ints, times: Floats, size: int, *, names: Ints | None = None) -> TimedLinks:
    """Links sorted by time (of equal times, by their order), less those to oneself and those told twice."""
    is_own = sources == targets
    sources, targets, times = (column[~is_own] for column in (sources, targets, times))
    order = np.lexsort((targets, sources, times))
    same = np.zeros(len(order), np.bool_)
    for column in (sources, targets, times):
        ordered = column[order]
        same[1:] |= ordered[1:] != ordered[:-1]
    same[:1] = True
    kept = np.sort(order[same])  # the first of each
    kept = kept[np.argsort(times[kept], kind="stable")]
    return TimedLinks(sources[kept], targets[kept], times[kept], size, names, int(is_own.sum()), len(order) - len(kept))


def tells_times(path: Path) -> bool:
    """Whether the first line of a file that tells anything has three columns of numbers."""
    words = [
        line.split()
        for line in beginning_of(path).split(b"\n")[:20]
        if line.strip() and not line.startswith((b"#", b"%"))
    ]
    told = [row for row in words if row[0].isdigit()]
    return bool(told) and words.index(told[0]) <= 1 and len(told[0]) == 3


def timed_links_in(path: Path) -> TimedLinks:
    """The links that a file tells.

    They may come in any order. Nodes are numbers; a first line that names the columns and lines that begin with # or %
    are passed over. Times are seconds since 1970, with or without decimals; a file all of whose times are milliseconds
    is taken as such. Links to oneself and repeated lines are left out. Refused are negative and missing times, those in
    microseconds or finer, and seconds mixed with milliseconds.
    """
    read = []
    for first, block in blocks_of(path):
        rows = rows_at_once(block, 3)
        if rows is None:
            read.append(_rows_by_line(path, first, block))
        else:
            read.append((np.arange(first, first + len(rows)), rows[:, :2], rows[:, 2].astype(np.float64)))
    lines, ends, times = (np.concatenate(columns) for columns in zip(*read, strict=True)) if read else _nothing()
    if not len(lines):
        raise UsageError(f"{path}:1: no links in it; {_RULE}")
    times = _in_seconds(path, times, lines)
    sources, targets = ends[:, 0], ends[:, 1]
    size, names = numbered_anew(sources, targets)
    if names is not None:
        sources, targets = (np.searchsorted(names, nodes) for nodes in (sources, targets))
    return timed_links(sources, targets, times, size, names=names)


def _nothing() -> tuple[Ints, Ints, Floats]:
    return np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros(0)


def _rows_by_line(path: Path, first: int, block: bytes) -> tuple[Ints, Ints, Floats]:
    """The numbers of the lines that tell a link, its two ends, its time."""
    lines, ends, times = [], [], []
    for line, text in enumerate(block.split(b"\n"), first):
        words = text.decode("utf-8", "replace").split()
        if not words or words[0].startswith(("#", "%")) or (line == 1 and words[0].isalpha()):
            continue
        if len(words) != 3:
            missing = "the time is missing; " if len(words) == 2 else ""
            raise bad_line(path, line, " ".join(words), missing + _RULE)
        lines.append(line)
        ends.append([node_number(path, line, word) for word in words[:2]])
        times.append(_time(path, line, words[2]))
    return np.array(lines, np.int64), np.array(ends, np.int64).reshape(-1, 2), np.array(times, np.float64)


def _time(path: Path, line: int, word: str) -> float:
    try:
        time = float(word)
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time >= 0):
        raise bad_line(path, line, word, "a time is to be seconds since 1970, from 0 on")
    return time


def _in_seconds(path: Path, times: Floats, lines: Ints) -> Floats:
    are_too_large = times >= _TOO_LARGE
    if are_too_large.any():
        first = int(are_too_large.argmax())
        raise bad_line(
            path, int(lines[first]), f"{times[first]:.0f}", "a time is to be seconds or milliseconds since 1970"
        )
    are_large = times >= _MILLISECONDS
    if are_large.all():
        return times / 1000.0
    if are_large.any():
        is_other = are_large != are_large[0]
        raise UsageError(
            f"{path}:{lines[is_other][0]}: some times are seconds and some milliseconds; write all of them as seconds"
        )
    return times
