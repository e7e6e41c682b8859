"""Many runs of many combinations: their means, as tables and pictures."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from lycosa.lab.recrawls import RECRAWLS
from lycosa.lab.results import Figure, Row
from lycosa.lab.statistics import summary
from lycosa.lab.tracking import EXPANSIONS, Standing
from lycosa.pictures import Series, line_chart
from lycosa.vocabulary.records import Plain

GAI, AI, SAMPLE = "crawl-gai", "crawl-ai", "sample-u"
MEASURES = {
    "crawl": "crawl performance",
    "discovery": "discovery performance",
    "lift_crawled": "lift of pages crawled",
    "lift_known": "lift of pages crawled or seen",
}

Pair = tuple[str, str]  # how it expands, how it recrawls
PAIRS: Sequence[Pair] = [(expansion, policy) for expansion in EXPANSIONS for policy in RECRAWLS]
SHOWN: Sequence[Pair] = [*((GAI, policy) for policy in RECRAWLS), (AI, "or"), (SAMPLE, "or")]
Runs = Mapping[tuple[float, Pair], Sequence[Sequence[Standing]]]  # by crawls a day and pair: runs of moments


def runs_of(jobs: Sequence[Plain], outcomes: Sequence[Plain]) -> Runs:
    runs: dict[tuple[float, Pair], list[Sequence[Standing]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        standings = msgspec.convert(outcome["standings"], list[Standing], strict=False)
        runs.setdefault((float(job["crawls"]), (job["expansion"], job["policy"])), []).append(standings)
    return runs


def late(runs: Runs, crawls: float, pair: Pair, what: str) -> list[float]:
    """For each run the mean of a measure over the second half of the time."""
    every = [[getattr(standing, what) for standing in run] for run in runs[crawls, pair]]
    return [float(np.mean(run[len(run) // 2 :])) for run in every]


def name_of(pair: Pair) -> str:
    return " + ".join(pair)


def said(values: Sequence[float]) -> str:
    found = summary(values)
    return f"{found.mean:.3g} ± {found.standard_error:.2g}"


def ranked(runs: Runs, crawls: float, what: str) -> list[tuple[float, Pair]]:
    """The pairs by a measure, the best first."""
    means = [(summary(late(runs, crawls, pair, what)).mean, pair) for pair in PAIRS]
    return sorted(means, key=lambda row: -row[0])


def rates_in(runs: Runs) -> list[float]:
    return sorted({rate for rate, _ in runs})


def combinations(runs: Runs) -> list[Row]:
    rows: list[Row] = []
    for (rate, pair), every in runs.items():
        row: dict[str, Plain] = {"crawls_a_day": rate, "expansion": pair[0], "policy": pair[1]}
        for what in MEASURES:
            found = summary(late(runs, rate, pair, what))
            row[what] = round(found.mean, 6)
            row[f"{what}_error"] = None if math.isnan(found.standard_error) else round(found.standard_error, 6)
        row["crawled"] = round(float(np.mean([run[-1].crawled for run in every])), 1)
        row["known"] = round(float(np.mean([run[-1].known for run in every])), 1)
        rows.append(row)
    return rows


def over_time(runs: Runs, crawls: float) -> list[Row]:
    return [
        {
            "expansion": pair[0],
            "policy": pair[1],
            "day": round(at_once[0].day, 3),
            **{what: round(float(np.mean([getattr(each, what) for each in at_once])), 6) for what in MEASURES},
        }
        for pair in PAIRS
        for at_once in zip(*runs[crawls, pair], strict=True)
    ]


def picture(runs: Runs, crawls: float, what: str, title: str) -> Figure:
    series = []
    for pair in SHOWN:
        points = list(zip(*runs[crawls, pair], strict=True))
        every = [summary([getattr(each, what) for each in point]) for point in points]
        places = [(point[0].day, each.mean) for point, each in zip(points, every, strict=True)]
        series.append(Series(name_of(pair), places, [each.standard_error for each in every]))
    return Figure(
        title[0].upper() + title[1:],
        f"As figure 2 of the paper, {crawls:g} crawls a day. Means over runs; thin bars are standard errors.",
        line_chart(series, title=title, x_title="day", y_title=title, percent=what in ("crawl", "discovery")),
    )


def sweep(runs: Runs) -> Figure:
    series = []
    for pair in SHOWN:
        every = [summary(late(runs, rate, pair, "lift_crawled")) for rate in rates_in(runs)]
        points = [(rate, each.mean) for rate, each in zip(rates_in(runs), every, strict=True)]
        series.append(Series(name_of(pair), points, [each.standard_error for each in every]))
    title = "lift of pages crawled, by crawls a day"
    return Figure(
        "Lift of pages crawled, by crawls a day",
        "Over the second half of the time; the paper does not say how many crawls there were. Means over runs.",
        line_chart(series, title=title, x_title="crawls a day", y_title=title),
    )
