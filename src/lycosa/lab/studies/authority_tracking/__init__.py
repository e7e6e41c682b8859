"""How well strategies keep up with the most linked pages while links come and go.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from lycosa.lab.findings import Findings, Kind
from lycosa.lab.study import Size
from lycosa.lab.tracking import Standing, Tracker, compacted, moments_of, track
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain
from lycosa.worlds import StudyWorld
from lycosa.worlds.blog_posts import BlogPosts
from lycosa.worlds.timed import DAY, TimedGraph, TimeGraph

from .claims import crawled_lift, is_best, not_better, over_random
from .runs import MEASURES, PAIRS, combinations, over_time, picture, runs_of, sweep

DAYS = 24  # as many as a world that lasts too long is cut into
LONGEST = 60  # days; a world that lasts longer is taken to have DAYS longer ones
WINDOW = 7  # days
BEGIN = 1  # day on which the crawl begins
POINTS_A_DAY = 2
EXPAND = 0.5  # share of the looks that are at new pages
FEWEST_NODES = 400  # for each target
WELL_LINKED = 20  # pages that have most links both ways
SOURCES = 5  # of these, looked at first, so that no crawl is caught in a corner


class AuthorityTracking:
    name = "authority-tracking"
    says = "How well strategies and recrawl policies keep up with the most linked pages while links come and go."
    scales: Mapping[str, Size] = {
        "small": {"nodes": 600_000, "links": 68_000, "k": 75, "crawls": [20, 40, 100], "runs": 5},
        "paper": {"nodes": 3_000_000, "links": 340_000, "k": 500, "crawls": [100, 200, 500], "runs": 5},
    }

    def made_up_world(self, size: Size) -> Mapping[str, Plain]:
        return {"kind": "blog-posts", "nodes": size["nodes"], "links": size["links"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[Plain]:
        _day_in(_timed(world))
        return [
            {"crawls": crawls, "expansion": expansion, "policy": policy, "seed": 1_000 * seed + 10 * run}
            for crawls in size["crawls"]
            for run in range(size["runs"])
            for expansion, policy in PAIRS
        ]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> Any:
        graph, day = _graph_of(world)
        times = np.arange(BEGIN + 1 / POINTS_A_DAY, (graph.end - graph.begin) / day, 1 / POINTS_A_DAY)
        moments = moments_of(graph, (graph.begin + times * day).tolist(), k=_targets_in(graph, size), day=day)
        begin = graph.begin + BEGIN * day
        window = graph.sliding()
        window.move_to(begin)
        both_ways = np.minimum(window.in_degrees, window.out_degrees)
        return graph, day, moments, begin, np.argsort(-both_ways, kind="stable")[:WELL_LINKED]

    def work(self, world: StudyWorld, prepared: Any, job: Plain) -> Plain:
        graph, day, moments, begin, well_linked = prepared
        seed = job["seed"]
        sources = np.random.default_rng(seed).permutation(well_linked)[:SOURCES].tolist()
        pair = {"expansion": job["expansion"], "policy": job["policy"]}
        tracker = Tracker(graph, **pair, expand=EXPAND, day=day, seed=seed)
        standings = track(tracker, moments, sources=sources, begin=begin, crawls_a_day=job["crawls"], day=day)
        return {"standings": [plain_of(each) for each in standings]}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[Plain], seed: int) -> Findings:
        runs = runs_of(self.jobs(world, size, seed), outcomes)
        usual = float(size["crawls"][len(size["crawls"]) // 2])
        graph, day = _graph_of(world)
        set_up = {
            "pages with a link": len(graph),
            "targets": _targets_in(graph, size),
            "day in seconds": day,
            "window in days": WINDOW,
            "crawls a day": usual,
            "expand": EXPAND,
            "runs": size["runs"],
        }
        # The lift is the higher the heavier the tail of in-degrees, which in that world was set with lifts in view.
        kind: Kind = "calibration" if world.name == BlogPosts.name else "paper"
        return Findings(
            claims=[
                is_best(runs, usual),
                over_random(runs, usual, kind),
                crawled_lift(runs, usual, kind),
                not_better(runs, usual),
            ],
            tables={
                "combinations": combinations(runs),
                "over-time": over_time(runs, usual),
                "set-up": [set_up],
            },
            pictures={
                **{what: picture(runs, usual, what, title) for what, title in MEASURES.items()},
                "crawls-a-day": sweep(runs),
            },
        )


def _timed(world: StudyWorld) -> TimedGraph:
    if isinstance(world, TimedGraph):
        return world
    raise UsageError(
        f"authority-tracking needs links with times, which a {world.name} world has not; say blog-posts, or"
        " timed:path=FILE"
    )


def _day_in(world: TimedGraph) -> float:
    """The length of a day in seconds."""
    times = world.timed.times
    lasts = float(times[-1] - times[0])
    day = DAY if lasts <= LONGEST * DAY else lasts / DAYS
    if lasts < (BEGIN + 2) * day:
        raise UsageError(f"authority-tracking needs links of {BEGIN + 2} days or more, not of {lasts / day:.1f}")
    return day


def _graph_of(world: StudyWorld) -> tuple[TimeGraph, float]:
    """The links of a world as they come and go, and the length of a day in seconds."""
    timed = _timed(world)
    day = _day_in(timed)
    return compacted(timed.seen_through(WINDOW * day)), day


def _targets_in(graph: TimeGraph, size: Size) -> int:
    """As many as the scale says, but no more than one for so many nodes."""
    k: int = size["k"]
    return max(1, min(k, len(graph) // FEWEST_NODES))


def plain_of(standing: Standing) -> dict[str, float]:
    return {key: round(float(value), 6) for key, value in msgspec.structs.asdict(standing).items()}
