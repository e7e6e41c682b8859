"""The runs of all combinations of expansion and recrawl policy: their means, ranking and tables.

"The paper" is Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.
`TrackingPoint` defines the measures: crawl performance is the share of the targets that were crawled, discovery
performance that of those crawled or seen linked to, and lift how much more likely pages are targets than any page that
has had a link.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.recrawl_samplers import RECRAWL_SAMPLERS
from lycosa_lab.results import Row
from lycosa_lab.statistics import finite_or_none, summary
from lycosa_lab.tracking import EXPANSIONS, TrackingPoint

GAI, AI, SAMPLE = "crawl-gai", "crawl-ai", "sample-u"  # expansions, by their names in `EXPANSIONS`
MEASURES = {
    "crawl": "crawl performance",
    "discovery": "discovery performance",
    "lift_crawled": "lift of pages crawled",
    "lift_known": "lift of pages crawled or seen",
}

Pair = tuple[str, str]  # the name of an expansion (how new pages are chosen) and of a recrawl policy
PAPER_BEST = (GAI, "or")  # of all pairs, by the figure of the paper; OR: in proportion to the out-links
PAIRS: Sequence[Pair] = [(expansion, policy) for expansion in EXPANSIONS for policy in RECRAWL_SAMPLERS]
# By crawls a day and pair: the points of each run, in order of time.
Runs = Mapping[tuple[float, Pair], Sequence[Sequence[TrackingPoint]]]


def point_row(point: TrackingPoint) -> dict[str, float]:
    """A point of a run as plain data."""
    return {key: round(float(value), 6) for key, value in msgspec.structs.asdict(point).items()}


def runs_of(jobs: Sequence[JsonValue], outcomes: Sequence[JsonValue]) -> Runs:
    """The outcomes by crawls a day and combination."""
    runs: dict[tuple[float, Pair], list[Sequence[TrackingPoint]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        points = msgspec.convert(outcome["points"], list[TrackingPoint], strict=False)
        runs.setdefault((float(job["crawls"]), (job["expansion"], job["policy"])), []).append(points)
    return runs


def second_half(runs: Runs, rate: float, pair: Pair, measure: str) -> list[float]:
    """For each run the mean of a measure over the second half of the time.

    rate: crawls a day.
    """
    values_by_run = [[getattr(point, measure) for point in run] for run in runs[rate, pair]]
    return [float(np.mean(run[len(run) // 2 :])) for run in values_by_run]


def name_of(pair: Pair) -> str:
    return " + ".join(pair)


def mean_and_error(values: Sequence[float]) -> str:
    found = summary(values)
    return f"{found.mean:.3g} ± {found.standard_error:.2g}"


def ranked(runs: Runs, rate: float, measure: str) -> list[tuple[float, Pair]]:
    """The pairs by a measure, the best first."""
    means = [(summary(second_half(runs, rate, pair, measure)).mean, pair) for pair in PAIRS]
    return sorted(means, key=lambda row: -row[0])


def rates_in(runs: Runs) -> list[float]:
    return sorted({rate for rate, _ in runs})


def combination_rows(runs: Runs) -> list[Row]:
    rows: list[Row] = []
    for (rate, pair), runs_of_pair in runs.items():
        row: dict[str, JsonValue] = {"crawls_a_day": rate, "expansion": pair[0], "policy": pair[1]}
        for measure in MEASURES:
            found = summary(second_half(runs, rate, pair, measure))
            row[measure] = round(found.mean, 6)
            row[f"{measure}_error"] = finite_or_none(round(found.standard_error, 6))
        # Numbers of pages at the end: crawled, and crawled or seen linked to.
        row["crawled"] = round(float(np.mean([run[-1].crawled for run in runs_of_pair])), 1)
        row["known"] = round(float(np.mean([run[-1].known for run in runs_of_pair])), 1)
        rows.append(row)
    return rows


def over_time_rows(runs: Runs, rate: float) -> list[Row]:
    return [
        {
            "expansion": pair[0],
            "policy": pair[1],
            "day": round(points[0].day, 3),
            **{
                measure: round(float(np.mean([getattr(point, measure) for point in points])), 6) for measure in MEASURES
            },
        }
        for pair in PAIRS
        for points in zip(*runs[rate, pair], strict=True)
    ]


def run_rows(runs: Runs, rate: float, outcome_by_run: Sequence[JsonValue], world_seeds: Sequence[int]) -> list[Row]:
    """The results of the paper's best combination in each run, with the seeds of the worlds if they differ."""
    found = {measure: second_half(runs, rate, PAPER_BEST, measure) for measure in MEASURES}
    return [
        {
            "run": run,
            "world_seed": world_seeds[run] if world_seeds else None,
            "pages with a link": first["pages"],
            "targets": first["targets"],
            **{measure: round(values[run], 6) for measure, values in found.items()},
        }
        for run, first in enumerate(outcome_by_run)
    ]
