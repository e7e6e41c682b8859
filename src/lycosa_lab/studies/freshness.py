"""Which refresh policy keeps a collection freshest, and how near it comes to the optimal schedule.

A look is one fetch of a stored page. Freshness is the share of the time for which pages have not changed since the last
look, in the mean over pages; weighted freshness is weighted by their importance.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lycosa.pictures import Series, line_chart
from lycosa.refresh import POLICIES, policy_for
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.freshness import (
    ESTIMATED,
    KNOWN,
    UNUSED,
    ChangingPages,
    optimal_freshness,
    require_synthetic,
    simulate_refresh,
)
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.statistics import summary
from lycosa_lab.study import Size
from lycosa_lab.tables import rounded
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_lab.worlds.synthetic.plan import Options

BY_RATE = ("crawl-value", "lambda")  # policies that need change rates
WITHOUT_LINKS = ("uniform", "fixed", *BY_RATE)  # policies that need no links, which are cheap to run with many budgets
NEARLY_OPTIMAL = 0.97  # of the optimum
AUTHORITY_QUANTILE = 0.9  # of in-links from which a page is an authority


class FreshnessStudy:
    name = "freshness"
    summary = "How fresh each refresh policy keeps a collection in a changing world, compared with the optimum."
    scales: Mapping[str, Size] = {
        "small": {"world_pages": 1_500, "days": 200, "measured_from": 100, "budgets": [0.02, 0.05, 0.1], "repeats": 3},
        "paper": {
            "world_pages": 2_500,
            "days": 365,
            "measured_from": 120,
            "budgets": [0.01, 0.02, 0.05, 0.1, 0.2],
            "repeats": 3,
        },
    }
    main_budget = 0.05  # of the pages, a day

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": 10}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return [
            {"policy": policy, "rates": rates, "budget": budget, "repeat": repeat, "seed": seed}
            for budget in size["budgets"]
            for policy in (POLICIES if budget == self.main_budget else WITHOUT_LINKS)
            for rates in ((ESTIMATED, KNOWN) if policy in BY_RATE else (UNUSED,))
            for repeat in range(size["repeats"])
        ]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> tuple[Sequence[ChangingPages], int]:
        page_sets = [
            ChangingPages.of(each, days=size["days"]) for each in self._worlds(require_synthetic(world), size, seed)
        ]
        for pages in page_sets:
            pages.next_change(np.arange(1), 0.0)  # computes all change times before workers fork
        return page_sets, size["measured_from"]

    def _worlds(self, world: SyntheticWorld, size: Size, seed: int) -> Iterator[SyntheticWorld]:
        """For each repeat, a generated world if the study runs on its default world, else the given one."""
        yield world
        default_options = self.default_world(size)
        if world.options == Options(**default_options, seed=seed):
            for repeat in range(1, size["repeats"]):
                yield SyntheticWorld(**default_options, seed=1_000 * seed + repeat)

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        page_sets, measured_from = prepared
        pages = page_sets[job["repeat"] % len(page_sets)]
        budget = max(1, round(job["budget"] * len(pages)))
        authority_in_links = float(np.quantile(pages.world.plan.in_links, AUTHORITY_QUANTILE))
        measured = simulate_refresh(
            pages,
            policy_for(job["policy"], seed=job["seed"] * 1_000 + job["repeat"]),
            budget=budget,
            rates=job["rates"],
            measured_from=measured_from,
            authority_in_links=authority_in_links if job["budget"] == self.main_budget else None,
        )
        best = optimal_freshness(pages.importance, pages.rates, budget)
        world_seed = pages.world.options.seed
        return {
            **job,
            **measured,
            "world_seed": world_seed,
            "pages": len(pages),
            "looks_a_day": budget,
            "best": best,  # weighted freshness of the optimal schedule
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        rows = _rows(outcomes)
        main_rows = [row for row in rows if row["budget"] == self.main_budget]
        return Findings(
            claims=[_near_optimal(rows, self.main_budget), _policies(main_rows)],
            tables={"policies": rows, "days": _day_rows(outcomes, self.main_budget)},
            figures={
                "over-time": _over_time(outcomes, self.main_budget, size["measured_from"]),
                "by-budget": _by_budget(rows),
            },
        )


def _rows(outcomes: Sequence[JsonValue]) -> list[Row]:
    """One row for each policy, kind of rates and budget: means over repeats, and standard errors between them."""
    rows: list[Row] = []
    settings = list(dict.fromkeys((each["budget"], each["policy"], each["rates"]) for each in outcomes))
    for budget, policy, rates in settings:
        same = [each for each in outcomes if (each["budget"], each["policy"], each["rates"]) == (budget, policy, rates)]
        weighted = summary(each["weighted_freshness"] for each in same)
        fresh = summary(each["freshness"] for each in same)
        shares = summary(each["weighted_freshness"] / each["best"] for each in same)
        looks = sum(each["looks"] for each in same)
        rows.append(
            {
                "budget": budget,
                "looks_a_day": _mean_of(same, "looks_a_day"),
                "policy": policy,
                "rates": rates,
                "freshness": rounded(fresh.mean),
                "freshness_error": rounded(fresh.standard_error),
                "weighted_freshness": rounded(weighted.mean),
                "weighted_freshness_error": rounded(weighted.standard_error),
                "optimum": _mean_of(same, "best"),
                "share_of_optimum": rounded(shares.mean),
                "share_of_optimum_error": rounded(shares.standard_error),
                "changed_per_look": rounded(sum(each["found_changed"] for each in same) / looks),
                "new_pages_per_1000_looks": _per_1000(same, "new_pages", looks),
                "new_authorities_per_1000_looks": _per_1000(same, "new_authorities", looks),
                "authorities_found": _mean_of(same, "authorities_found"),
                "pages": _mean_of(same, "pages"),
                "worlds": len({each["world_seed"] for each in same}),
            }
        )
    return rows


def _mean_of(same: Sequence[JsonValue], column: str) -> float | None:
    known = [each[column] for each in same if each[column] is not None]
    return rounded(sum(known) / len(known)) if known else None


def _per_1000(same: Sequence[JsonValue], column: str, looks: int) -> float | None:
    return None if same[0][column] is None else rounded(1_000 * sum(each[column] for each in same) / looks)


def _day_rows(outcomes: Sequence[JsonValue], budget: float) -> list[Row]:
    return [
        {"policy": each["policy"], "rates": each["rates"], "day": day, "weighted_freshness": value}
        for each in outcomes
        if each["budget"] == budget and each["repeat"] == 0
        for day, value in enumerate(each["curve"], start=1)
        if day % 5 == 0
    ]


def _near_optimal(rows: Sequence[Row], main_budget: float) -> Claim:
    own = [row for row in rows if row["policy"] == "crawl-value"]
    known, estimated = (
        {row["budget"]: row["share_of_optimum"] for row in own if row["rates"] == rates} for rates in (KNOWN, ESTIMATED)
    )
    errors = {(row["budget"], row["rates"]): row["share_of_optimum_error"] for row in own}
    failures = [
        f"with known rates {known[budget]:.3f} at {budget:.0%}" for budget in known if known[budget] < NEARLY_OPTIMAL
    ]
    if estimated[main_budget] < NEARLY_OPTIMAL:
        failures.append(f"with its own estimates {estimated[main_budget]:.3f} at {main_budget:.0%}")
    return Claim(
        id="freshness.crawl-value-near-optimal",
        kind="beyond",
        text=f"The greedy crawl value keeps at least {NEARLY_OPTIMAL} of the weighted freshness of the best schedule"
        f" that knows all change rates: with rates estimated from its own looks at a budget of {main_budget:.0%} of the"
        " pages a day, and with known rates at every budget",
        paper=None,
        measured=f"estimated {_shares_line(estimated, ESTIMATED, errors)}; known {_shares_line(known, KNOWN, errors)}",
        holds=not failures,
        reason="; ".join(failures),
    )


def _shares_line(shares: Mapping[float, float], rates: str, errors: Mapping[tuple[float, str], float | None]) -> str:
    return ", ".join(f"{_with_error(share, errors[budget, rates])} at {budget:.0%}" for budget, share in shares.items())


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.1g}"


def _policies(main_rows: Sequence[Row]) -> Claim:
    best_first = sorted(main_rows, key=lambda row: -row["weighted_freshness"])
    return Claim(
        id="freshness.policies",
        kind="beyond",
        text="Time-averaged freshness, weighted by importance (unweighted in brackets), and new authorities found per"
        " 1000 looks, of every policy at an equal budget",
        paper=None,
        measured="; ".join(
            f"{_name(row)} {_with_error(row['weighted_freshness'], row['weighted_freshness_error'])}"
            f" ({row['freshness']:.3f}), {row['new_authorities_per_1000_looks']:.2f}"
            for row in best_first
        )
        + f"; optimum {main_rows[0]['optimum']:.3f}",
        holds=None,
    )


def _name(row: Mapping[str, JsonValue]) -> str:
    return f"{row['policy']}, rates known" if row["rates"] == KNOWN else str(row["policy"])


def _over_time(outcomes: Sequence[JsonValue], budget: float, measured_from: int) -> Figure:
    shown = [each for each in outcomes if each["budget"] == budget and each["rates"] != KNOWN and each["repeat"] == 0]
    series = [Series(each["policy"], _smoothed(each["curve"])) for each in shown]
    title = "Weighted freshness over time"
    return Figure(
        title,
        f"Share of importance that is fresh, before the looks of the day, ten days each, in one world; {budget:.0%}"
        f" of the pages looked at each day, change rates estimated. The table measures from day {measured_from} on.",
        line_chart(series, title=title, x_title="days", y_title="weighted freshness", y_range=_range_of(series)),
    )


def _smoothed(curve: Sequence[float], window: int = 10) -> list[tuple[float, float]]:
    return [
        (start + (window + 1) / 2, float(np.mean(curve[start : start + window])))
        for start in range(0, len(curve) - window + 1, window)
    ]


def _by_budget(rows: Sequence[Row]) -> Figure:
    points_by_name: dict[str, list[tuple[float, float]]] = {}
    errors: dict[str, list[float]] = {}
    for row in rows:
        if row["policy"] in WITHOUT_LINKS:
            points_by_name.setdefault(_name(row), []).append((100 * row["budget"], row["share_of_optimum"]))
            errors.setdefault(_name(row), []).append(row["share_of_optimum_error"] or 0.0)
    series = [Series(name, points, errors[name]) for name, points in points_by_name.items()]
    title = "Weighted freshness by budget, as a share of the optimum"
    return Figure(
        title,
        "The optimum knows all change rates and looks at any moment; the policies look once a day. Where the rates are"
        " not known, each policy estimates them from its own looks. Thin bars are standard errors.",
        line_chart(
            series,
            title=title,
            x_title="looks a day, in percent of the pages",
            y_title="share of the optimum",
            y_range=_range_of(series),
        ),
    )


def _range_of(series: Sequence[Series]) -> tuple[float, float]:
    """The range of all points, rounded outwards to tenths."""
    values = [y for curve in series for _, y in curve.points]
    return (np.floor(10 * min(values)) / 10, np.ceil(10 * max(values)) / 10) if values else (0.0, 1.0)
