"""How well strategies keep up with the most linked pages while links come and go.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.

The targets are the pages with the most links of the last `WINDOW` days. A crawl fetches new pages by a strategy, its
expansion, and fetched pages again by a recrawl policy; `PAIRS` has all combinations. The lift of some pages is how much
more likely they are targets than any page that has had a link.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import ClaimKind, Findings
from lycosa_lab.study import Size
from lycosa_lab.tracking import Tracker, track
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.blogs import BlogPosts

from .claims import clever_not_better, crawled_lift, gai_or_best, lift_over_20
from .figures import by_rate_figure, over_time_figure
from .shared import WINDOW, TrackingInputs, day_length, inputs_of, is_default, require_timed, world_seed, worlds_of
from .tables import MEASURES, PAIRS, combination_rows, over_time_rows, point_row, run_rows, runs_of

EXPAND = 0.5  # probability that a fetch is for a new page
SOURCE_COUNT = 5  # best linked pages that are fetched first, so that no crawl is stuck in a small component


class AuthorityTracking:
    name = "authority-tracking"
    summary = "How well strategies and recrawl policies keep up with the most linked pages while links come and go."
    scales: Mapping[str, Size] = {
        "small": {
            "nodes": 600_000,
            "links": 68_000,
            "k": 75,  # number of targets
            "nodes_per_target": 600,  # at least; a smaller world has fewer targets
            "crawls": [20, 40, 100],  # fetches a day
            "runs": 5,
        },
        "paper": {
            "nodes": 3_000_000,
            "links": 340_000,
            "k": 500,
            "nodes_per_target": 400,
            "crawls": [100, 200, 500],
            "runs": 5,
        },
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"kind": "blog-posts", "nodes": size["nodes"], "links": size["links"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        day_length(require_timed(world))
        has_default = is_default(world, size, seed)
        return [
            {
                "crawls": crawls,
                "expansion": expansion,
                "policy": policy,
                "seed": 1_000 * seed + 10 * run,
                "world": run if has_default else 0,  # index of the world among those of `prepare`
            }
            for crawls in size["crawls"]
            for run in range(size["runs"])
            for expansion, policy in PAIRS
        ]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> list[TrackingInputs]:
        return [inputs_of(each, size) for each in worlds_of(world, size, seed)]

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        inputs: TrackingInputs = prepared[job["world"]]
        seed = job["seed"]
        sources = np.random.default_rng(seed).permutation(inputs.well_linked)[:SOURCE_COUNT].tolist()
        pair = {"expansion": job["expansion"], "policy": job["policy"]}
        tracker = Tracker(inputs.graph, **pair, expand=EXPAND, seconds_per_day=inputs.seconds_per_day, seed=seed)
        points = track(
            tracker,
            inputs.moments,
            sources=sources,
            begin=inputs.begin,
            crawls_a_day=job["crawls"],
            seconds_per_day=inputs.seconds_per_day,
        )
        return {
            "points": [point_row(each) for each in points],
            "pages": len(inputs.graph),
            "targets": inputs.target_count,
            "day": inputs.seconds_per_day,
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        runs = runs_of(self.jobs(world, size, seed), outcomes)
        main_rate = float(size["crawls"][len(size["crawls"]) // 2])
        outcome_by_run = outcomes[: size["runs"] * len(PAIRS) : len(PAIRS)]  # of each run
        seeds = [world_seed(seed, run) for run in range(size["runs"])] if is_default(world, size, seed) else []
        set_up = {
            "pages with a link": round(float(np.mean([outcome["pages"] for outcome in outcome_by_run]))),
            "targets": min(outcome["targets"] for outcome in outcome_by_run),
            "day in seconds": outcome_by_run[0]["day"],
            "window in days": WINDOW,
            "crawls a day": main_rate,
            "expand": EXPAND,
            "runs": size["runs"],
            "worlds": len(seeds) or 1,
        }
        # The lift grows with the tail of in-degrees, which in that world was chosen to match the lifts.
        kind: ClaimKind = "calibration" if world.name == BlogPosts.name else "paper"
        return Findings(
            claims=[
                gai_or_best(runs, main_rate),
                lift_over_20(runs, main_rate, kind),
                crawled_lift(runs, main_rate, kind),
                clever_not_better(runs, main_rate),
            ],
            tables={
                "combinations": combination_rows(runs),
                "over-time": over_time_rows(runs, main_rate),
                "runs": run_rows(runs, main_rate, outcome_by_run, seeds),
                "set-up": [set_up],
            },
            figures={
                **{measure: over_time_figure(runs, main_rate, measure, title) for measure, title in MEASURES.items()},
                "crawls-a-day": by_rate_figure(runs),
            },
        )
