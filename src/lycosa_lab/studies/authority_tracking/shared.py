"""The inputs of all jobs: the links of a world over time, the times of measurement, and the targets.

The targets at a time are the pages of the highest in-degree, by links of the last `WINDOW` days.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.study import Size
from lycosa_lab.tracking import TrackingMoment, moments_of, without_isolated_nodes
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.blogs import BlogPosts
from lycosa_lab.worlds.timed_graphs import DAY, TimedLinkGraph, WindowedGraph

DAYS = 24  # number of longer "days" into which a long world is divided
MAX_DAYS = 60  # a world that lasts longer is divided into DAYS longer ones
WINDOW = 7  # days for which a link counts
FIRST_DAY = 1  # on which the crawl starts
POINTS_PER_DAY = 2
WELL_LINKED_COUNT = 20  # number of pages of the highest min(in-degree, out-degree)


class TrackingInputs(Struct, frozen=True):
    """The inputs of all crawls of one world."""

    graph: WindowedGraph
    seconds_per_day: float
    target_count: int  # at each time, or fewer if fewer pages are linked
    moments: list[TrackingMoment]  # the times of measurement, with the targets at each
    begin: float  # when the crawl begins, in seconds, as the times of links
    well_linked: NDArray[np.signedinteger[Any]]  # numbers of pages at the time it begins, the best linked first


def is_default(world: StudyWorld, size: Size, seed: int) -> bool:
    """Whether a world is the default one of the study."""
    defaults = {**(BlogPosts.__init__.__kwdefaults__ or {}), "nodes": size["nodes"], "links": size["links"]}
    return isinstance(world, BlogPosts) and world.settings == {**defaults, "seed": seed}


def world_seed(seed: int, run: int) -> int:
    """The seed of the world that is generated for a run."""
    return 1_000 * seed + run if run else seed


def worlds_of(world: StudyWorld, size: Size, seed: int) -> Iterator[TimedLinkGraph]:
    """For each run, a generated world if the study runs on its default world, else the given one."""
    first = require_timed(world)
    yield first
    if isinstance(first, BlogPosts) and is_default(first, size, seed):
        for run in range(1, size["runs"]):
            yield first.with_seed(world_seed(seed, run))


def inputs_of(world: TimedLinkGraph, size: Size) -> TrackingInputs:
    day = day_length(world)
    graph = without_isolated_nodes(world.windowed(WINDOW * day))
    target_count = _target_count(graph, size)
    times = np.arange(FIRST_DAY + 1 / POINTS_PER_DAY, (graph.end - graph.begin) / day, 1 / POINTS_PER_DAY)
    moments = moments_of(graph, (graph.begin + times * day).tolist(), k=target_count, seconds_per_day=day)
    begin = graph.begin + FIRST_DAY * day
    window = graph.window_degrees()
    window.move_to(begin)
    both_ways = np.minimum(window.in_degrees, window.out_degrees)
    return TrackingInputs(
        graph, day, target_count, moments, begin, np.argsort(-both_ways, kind="stable")[:WELL_LINKED_COUNT]
    )


def require_timed(world: StudyWorld) -> TimedLinkGraph:
    if isinstance(world, TimedLinkGraph):
        return world
    raise UsageError(
        f"authority-tracking needs links with times, which a {world.name} world does not have; choose blog-posts, or"
        " timed:path=FILE"
    )


def day_length(world: TimedLinkGraph) -> float:
    """The length of a day in seconds; UsageError for a world without targets for part of the time."""
    times = world.timed_links.times
    if not len(times):
        raise UsageError(
            "authority-tracking needs links from one page to another, and there is none; give another file"
        )
    duration = float(times[-1] - times[0])
    day = DAY if duration <= MAX_DAYS * DAY else duration / DAYS
    if duration < (FIRST_DAY + 2) * day:
        raise UsageError(
            f"authority-tracking needs links of {FIRST_DAY + 2} days or more, not of {duration / day:.1f}; give a"
            " longer file"
        )
    gaps = np.diff(times)
    longest = int(gaps.argmax())
    if gaps[longest] > WINDOW * day:
        length = "" if day == DAY else f" of {day:.0f} seconds, a {DAYS}th of the time,"
        raise UsageError(
            f"authority-tracking looks back {WINDOW} days{length} and no link is made for {gaps[longest] / day:.1f}"
            f" days, from {times[longest]:.0f} to {times[longest + 1]:.0f}; leave out the lines before or those after"
        )
    return day


def _target_count(graph: WindowedGraph, size: Size) -> int:
    """The number of targets: `k` of the scale, but at most one per `nodes_per_target` nodes."""
    nodes_per_target: int = size["nodes_per_target"]
    if len(graph) < nodes_per_target:
        raise UsageError(
            f"authority-tracking needs {nodes_per_target} pages or more that have a link, not {len(graph)}: of fewer,"
            " none is a target; give a larger file"
        )
    k: int = size["k"]
    return min(k, len(graph) // nodes_per_target)
