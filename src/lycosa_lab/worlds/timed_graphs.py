"""Graphs whose links have times: read from files of lines `FROM TO TIME`, seen through a sliding window
(`WindowedGraph`), and as worlds (`TimedLinkGraph`, `TimedGraphWorld`)."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.standing.graph_files import (
    bad_line,
    compact_numbers,
    graph_file_start,
    graph_from_edges,
    graph_line_blocks,
    parse_node,
    parse_rows,
)
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue

from .graphs import LinkGraph

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]

DAY = 86_400.0  # seconds
WEEK = 7 * DAY
_TIMES = "times.npz"
_LINE_RULE = "a line must be FROM TO TIME, two node numbers and seconds since 1970"
_MILLISECONDS_FROM = 1e11  # times of at least this are milliseconds: as seconds they would be after the year 5138
_TOO_LARGE_FROM = 1e14  # times of at least this are rejected


class TimedLinks(Struct, frozen=True):
    """Links in order of time, and how many were left out."""

    sources: Ints
    targets: Ints
    times: Floats  # seconds
    node_count: int
    names: Ints | None = None  # the numbers of the nodes in the file, if these leave gaps
    self_links: int = 0  # number left out of links of a node to itself
    repeated: int = 0  # number left out of links that occur again at the same time


def sort_timed_links(
    sources: Ints, targets: Ints, times: Floats, node_count: int, *, names: Ints | None = None
) -> TimedLinks:
    """Links sorted by time (equal times keep their order), without self-links and duplicates."""
    is_self_link = sources == targets
    sources, targets, times = (column[~is_self_link] for column in (sources, targets, times))
    order = np.lexsort((targets, sources, times))
    is_new = np.zeros(len(order), np.bool_)
    for column in (sources, targets, times):
        ordered = column[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    is_new[:1] = True
    kept = np.sort(order[is_new])  # the first of each
    kept = kept[np.argsort(times[kept], kind="stable")]
    return TimedLinks(
        sources[kept], targets[kept], times[kept], node_count, names, int(is_self_link.sum()), len(order) - len(kept)
    )


def has_times(path: Path) -> bool:
    """Whether the first line of data in a file has three columns, the first a number."""
    start = graph_file_start(path)
    words = [line.split() for line in start.split(b"\n")[:20] if line.strip() and not line.startswith((b"#", b"%"))]
    data = [row for row in words if row[0].isdigit()]
    return bool(data) and words.index(data[0]) <= 1 and len(data[0]) == 3  # a header line may come first


def read_timed_links(path: Path) -> TimedLinks:
    """The links of a file, which may come in any order.

    Nodes are numbers; a header line and lines that begin with # or % are skipped. Times are seconds since 1970, with or
    without decimals; if all times of a file are milliseconds, they are converted. Self-links and repeated lines are
    left out. Negative and missing times, microseconds or finer, and a mix of seconds and milliseconds are errors.
    """
    read: list[tuple[Ints, Ints, Floats]] = []
    for first_line, block in graph_line_blocks(path):
        rows = parse_rows(block, 3)
        if rows is None:
            read.append(_rows_by_line(path, first_line, block, may_have_header=not read))
        else:
            read.append((np.arange(first_line, first_line + len(rows)), rows[:, :2], rows[:, 2].astype(np.float64)))
    lines, ends, times = (np.concatenate(columns) for columns in zip(*read, strict=True)) if read else _no_rows()
    if not len(lines):
        raise UsageError(f"{path}:1: no links in it; {_LINE_RULE}")
    times = _in_seconds(path, times, lines)
    sources, targets = ends[:, 0], ends[:, 1]
    size, names = compact_numbers(sources, targets)
    if names is not None:
        sources, targets = (np.searchsorted(names, nodes) for nodes in (sources, targets))
    return sort_timed_links(sources, targets, times, size, names=names)


def _no_rows() -> tuple[Ints, Ints, Floats]:
    return np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros(0)


def _rows_by_line(path: Path, first_line: int, block: bytes, *, may_have_header: bool) -> tuple[Ints, Ints, Floats]:
    """The line numbers, the two ends and the times of the links in a block, parsed line by line."""
    lines, ends, times = [], [], []
    for line, text in enumerate(block.split(b"\n"), first_line):
        words = text.decode("utf-8", "replace").split()
        if not words or words[0].startswith(("#", "%")):
            continue
        is_header, may_have_header = may_have_header and words[0].isalpha(), False
        if is_header:
            continue
        if len(words) != 3:
            missing = "the time is missing; " if len(words) == 2 else ""
            raise bad_line(path, line, " ".join(words), missing + _LINE_RULE)
        lines.append(line)
        ends.append([parse_node(path, line, word) for word in words[:2]])
        times.append(_parse_time(path, line, words[2]))
    return np.array(lines, np.int64), np.array(ends, np.int64).reshape(-1, 2), np.array(times, np.float64)


def _parse_time(path: Path, line: int, word: str) -> float:
    try:
        time = float(word)
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time >= 0):
        raise bad_line(path, line, word, "a time must be seconds since 1970, from 0 on")
    return time


def _in_seconds(path: Path, times: Floats, lines: Ints) -> Floats:
    """The times in seconds, whether the file has seconds or milliseconds."""
    is_too_large = times >= _TOO_LARGE_FROM
    if is_too_large.any():
        first = int(is_too_large.argmax())
        raise bad_line(
            path, int(lines[first]), f"{times[first]:.0f}", "a time must be seconds or milliseconds since 1970"
        )
    is_large = times >= _MILLISECONDS_FROM
    if is_large.all():
        return times / 1000.0
    if is_large.any():
        is_other = is_large != is_large[0]
        raise UsageError(
            f"{path}:{lines[is_other][0]}: some times are seconds and some milliseconds; write all of them as seconds"
        )
    return times


class WindowedGraph:
    """Links with times, seen through a sliding window: at time t the graph has the links of [t - window, t].

    Several links from one node to another within the window count as one, which exists from the first of them until the
    window has passed the last.

    Kumar, Novak, Raghavan, Tomkins: On the bursty evolution of blogspace (WWW Journal, 2005).
    """

    def __init__(self, links: TimedLinks, *, window: float = WEEK):
        if not window > 0:
            raise UsageError(f"the window of a graph with times must be longer than 0 seconds, not {window}")
        self.links = links
        self.window = window
        order = np.argsort(links.sources, kind="stable")  # by source, then by time
        self._targets = links.targets[order].astype(np.int64)
        self._times = np.ascontiguousarray(links.times[order])
        self._row_starts = np.zeros(links.node_count + 1, np.int64)
        np.cumsum(np.bincount(links.sources, minlength=links.node_count), out=self._row_starts[1:])
        # Reading single numbers is faster from memory views than from arrays.
        self._target_at, self._time_at, self._row_start_at = self._targets.data, self._times.data, self._row_starts.data

    def __len__(self) -> int:
        """How many nodes there are."""
        return self.links.node_count

    @property
    def begin(self) -> float:
        """When the first link is made."""
        return float(self.links.times[0])

    @property
    def end(self) -> float:
        """When the last link is made."""
        return float(self.links.times[-1])

    def targets_at(self, node: int, time: float) -> list[int]:
        """The targets that a node links to at a time, each once, the oldest link first."""
        return list(dict.fromkeys(self.targets_between(*self.span(node, time))))

    def span(self, node: int, time: float) -> tuple[int, int]:
        """The range of positions of the links of a node within the window at a time, for `targets_between`."""
        begin, end = self._row_start_at[node], self._row_start_at[node + 1]
        low = bisect_left(self._time_at, time - self.window, begin, end)
        return low, bisect_right(self._time_at, time, low, end)

    def targets_between(self, low: int, high: int) -> list[int]:
        """The targets of a range of links, with repetitions."""
        return self._target_at[low:high].tolist()

    def links_at(self, time: float) -> tuple[Ints, Ints]:
        """The links at a time: sources and targets, each pair once."""
        low, high = np.searchsorted(self.links.times, [time - self.window, np.nextafter(time, np.inf)])
        keys = np.unique(self.links.sources[low:high].astype(np.int64) * len(self) + self.links.targets[low:high])
        return keys // len(self), keys % len(self)

    def window_degrees(self) -> "WindowDegrees":
        """In- and out-degrees within a window that moves forward in time."""
        return WindowDegrees(self)

    @cached_property
    def intervals(self) -> tuple[Ints, Ints, Floats, Floats]:
        """The time intervals, ends included, in which each link exists: sources, targets, begins, ends."""
        links = self.links
        order = np.lexsort((links.times, links.targets, links.sources))
        sources, targets, times = links.sources[order], links.targets[order], links.times[order]
        continues = np.zeros(len(order), np.bool_)
        continues[1:] = (sources[1:] == sources[:-1]) & (targets[1:] == targets[:-1]) & (np.diff(times) <= self.window)
        first = np.flatnonzero(~continues)
        last = np.append(first[1:], len(order)) - 1
        return sources[first], targets[first], times[first], times[last] + self.window


class WindowDegrees:
    """In- and out-degrees of the nodes of a `WindowedGraph`, updated as the window moves forward."""

    def __init__(self, graph: WindowedGraph):
        self._graph = graph
        sources, targets, begins, ends = graph.intervals
        starting, ending = np.argsort(begins, kind="stable"), np.argsort(ends, kind="stable")
        # Times, sources and targets of the links, sorted by the time at which they begin and at which they end.
        self._starting = begins[starting], sources[starting], targets[starting]
        self._ending = ends[ending], sources[ending], targets[ending]
        self._started = self._ended = 0
        self.time = -np.inf
        self.in_degrees = np.zeros(len(graph), np.int64)
        self.out_degrees = np.zeros(len(graph), np.int64)
        self.has_appeared = np.zeros(len(graph), np.bool_)  # nodes that had a link by now, in or out

    def move_to(self, time: float) -> None:
        """Moves the window to a later time."""
        if time < self.time:
            raise ValueError(f"the window is at {self.time} and cannot move back to {time}")
        begins, sources, targets = self._starting
        started = int(np.searchsorted(begins, time, side="right"))
        self._count(sources[self._started : started], targets[self._started : started], 1)
        ends, ended_sources, ended_targets = self._ending
        ended = int(np.searchsorted(ends, time, side="left"))
        self._count(ended_sources[self._ended : ended], ended_targets[self._ended : ended], -1)
        self.has_appeared[sources[self._started : started]] = True
        self.has_appeared[targets[self._started : started]] = True
        self._started, self._ended, self.time = started, ended, time

    def _count(self, sources: Ints, targets: Ints, change: int) -> None:
        np.add.at(self.out_degrees, sources, change)
        np.add.at(self.in_degrees, targets, change)

    def most_linked(self, k: int) -> Ints:
        """The k nodes of the highest in-degree, ties by number; fewer if fewer have in-links."""
        nodes = np.flatnonzero(self.in_degrees)
        degrees = self.in_degrees[nodes]
        if len(nodes) > k:
            cutoff = np.partition(degrees, len(nodes) - k)[len(nodes) - k]
            nodes, degrees = nodes[degrees >= cutoff], degrees[degrees >= cutoff]
        return nodes[np.lexsort((nodes, -degrees))[:k]]


class TimedLinkGraph(LinkGraph):
    """A graph whose links have times; without a window, it has all links, each once."""

    name = "timed"

    def __init__(self, links: TimedLinks, *, options: Mapping[str, JsonValue] | None = None):
        self.timed_links = links
        keys = np.unique(links.sources.astype(np.int64) * links.node_count + links.targets)
        sources, targets = (ends.astype(np.int32) for ends in (keys // links.node_count, keys % links.node_count))
        super().__init__(graph_from_edges(sources, targets, links.node_count, links.names), options=options)

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        links = self.timed_links
        days = round(float(links.times[-1] - links.times[0]) / DAY, 2) if len(links.times) else 0.0
        counts = {"timed_links": len(links.times), "days": days}
        left_out = {"self_links": links.self_links, "repeated": links.repeated}
        return {**super().facts, **counts, **left_out}

    def windowed(self, window: float = WEEK) -> WindowedGraph:
        """The graph seen through a sliding window, in seconds."""
        return WindowedGraph(self.timed_links, window=window)

    def save(self, folder: Path) -> None:
        super().save(folder)
        links = self.timed_links
        left_out = np.array([links.self_links, links.repeated])
        np.savez(folder / _TIMES, sources=links.sources, targets=links.targets, times=links.times, left_out=left_out)

    @classmethod
    def load(cls, folder: Path) -> Self:
        graph = LinkGraph.load(folder)
        try:
            with np.load(folder / _TIMES) as saved:
                sources, targets, times = (saved[key] for key in ("sources", "targets", "times"))
                left_out = saved["left_out"].tolist()
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise UsageError(f"{folder} holds no timed graph that can be read ({error}); make it again") from None
        world = cls.__new__(cls)
        names = graph.graph.names if isinstance(graph.graph.names, np.ndarray) else None
        links = TimedLinks(sources, targets, times, len(graph), names, *left_out)
        TimedLinkGraph.__init__(world, links, options=graph.options)
        return world


class TimedGraphWorld(TimedLinkGraph):
    """The timed links of a file: `FROM TO TIME` on each line, plain or gzipped, in any order."""

    def __init__(self, *, path: str = ""):
        if not path:
            raise UsageError("this world needs its data: give timed:path=FILE, such as sx-askubuntu-a2q.txt.gz")
        if not Path(path).is_file():
            raise UsageError(f"there is no file {path}; say timed:path=FILE")
        super().__init__(read_timed_links(Path(path)), options={"path": Path(path).name})
