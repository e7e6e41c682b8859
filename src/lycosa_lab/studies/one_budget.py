"""How to split one request budget between finding new pages and refreshing those of the collection."""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.pictures import Series, line_chart
from lycosa.refresh import CrawlValue
from lycosa.strategies import Utility
from lycosa.vocabulary.records import Plain
from lycosa_lab.evolution import evolving
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.shared_budget import Days, share_budget
from lycosa_lab.statistics import summary
from lycosa_lab.study import Size
from lycosa_lab.tables import rounded
from lycosa_lab.topics import topics_of
from lycosa_lab.worlds import StudyWorld

MEASURES = ("worth", "fresh", "held", "freshness", "authorities", "new_authorities")
CURVES = {"pages fresh": "freshness", "authorities held": "authorities", "new ones held": "new_authorities"}
GOOD_ENOUGH = 0.95  # of the best share's worth


class OneBudget:
    name = "one-budget"
    says = "How the split of one budget between new pages and known ones changes what a collection is worth."
    scales: Mapping[str, Size] = {
        "small": {
            "world_pages": 8_000,
            "topics": 3,
            "start_pages": 150,
            "days": 60,
            "budgets": [0.05, 0.1, 0.2],
            "expand": [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0],
        },
        "paper": {
            "world_pages": 20_000,
            "topics": 6,
            "start_pages": 150,
            "days": 120,
            "budgets": [0.05, 0.1, 0.2],
            "expand": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        },
    }

    def default_world(self, size: Size) -> Mapping[str, Plain]:
        return {"pages": size["world_pages"], "topics": 8}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[Plain]:
        return [
            {"topic": topic.name, "budget": budget, "expand": expand, "seed": seed}
            for topic in topics_of(world, size["topics"])
            for budget in size["budgets"]
            for expand in size["expand"]
        ]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> tuple[Days, Size]:
        return Days(evolving(world), size["days"]), size

    def work(self, world: StudyWorld, prepared: Any, job: Plain) -> Plain:
        days, size = prepared
        (topic,) = (each for each in topics_of(world, size["topics"]) if each.name == job["topic"])
        numbers = [days.on[0].number(url) for url in topic.seeds]
        shared = share_budget(
            days,
            topic.name,
            [number for number in numbers if number is not None],
            strategy=Utility(),
            policy=CrawlValue(seed=job["seed"]),
            start_pages=size["start_pages"],
            requests=max(1, round(job["budget"] * size["start_pages"])),
            expand=job["expand"],
            measured_from=size["days"] - size["days"] // 4,
            seed=job["seed"],
        )
        return {**job, **shared, "freshness": shared["fresh"] / max(1.0, shared["held"])}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[Plain], seed: int) -> Findings:
        rows = _rows(outcomes)
        return Findings(
            claims=[_best_split(rows)],
            tables={"splits": rows, "topics": list(outcomes)},
            figures={"worth": _worth_figure(rows), "found": _found_figure(rows)},
        )


def _rows(outcomes: Sequence[Plain]) -> list[Row]:
    """Means over topics of each budget and split, and their share of the best split of the same budget."""
    rows: list[dict[str, Plain]] = []
    for budget, expand in dict.fromkeys((each["budget"], each["expand"]) for each in outcomes):
        same = [each for each in outcomes if (each["budget"], each["expand"]) == (budget, expand)]
        known = {name: [each[name] for each in same if each[name] is not None] for name in MEASURES}
        worth = summary(known["worth"])
        rows.append(
            {
                "budget": budget,
                "expand": expand,
                **{name: rounded(summary(values).mean) for name, values in known.items()},
                "worth_standard_error": rounded(worth.standard_error),
                "topics": len(same),
            }
        )
    best = {budget: max(row["worth"] for row in rows if row["budget"] == budget) for budget in _budgets(rows)}
    return [{**row, "share_of_best": rounded(row["worth"] / best[row["budget"]])} for row in rows]


def _best_split(rows: Sequence[Row]) -> Claim:
    recommended = _recommended(rows)
    splits = []
    for budget in _budgets(rows):
        own = [row for row in rows if row["budget"] == budget]
        best = max(own, key=lambda row: row["worth"])
        near = [row["expand"] for row in own if row["share_of_best"] >= GOOD_ENOUGH]
        splits.append(
            f"at {budget:.0%} a day {best['expand']:g} (at least {GOOD_ENOUGH:.0%} of its worth from {min(near):g} to"
            f" {max(near):g}; {own[0]['share_of_best']:.0%} at {own[0]['expand']:g}, {own[-1]['share_of_best']:.0%} at"
            f" {own[-1]['expand']:g})"
        )
    return Claim(
        id="one-budget.best-split",
        kind="beyond",
        says="The share of requests spent on new pages at which the fresh pages on the topic are worth most, for each"
        " budget (requests a day, of the pages at the start), and the one share that is best for all of them",
        paper=None,
        measured=f"{'; '.join(splits)}; for all budgets {recommended:g}",
        holds=None,
    )


def _recommended(rows: Sequence[Row]) -> float:
    """The share whose worth, relative to the best of each budget, is highest in the mean."""
    shares = list(dict.fromkeys(row["expand"] for row in rows))
    mean = {share: summary(row["share_of_best"] for row in rows if row["expand"] == share).mean for share in shares}
    return float(max(shares, key=lambda share: mean[share]))


def _worth_figure(rows: Sequence[Row]) -> Figure:
    title = "What a collection is worth, by the share of requests for new pages"
    series = [
        Series(
            f"{budget:.0%} a day",
            [(row["expand"], row["share_of_best"]) for row in rows if row["budget"] == budget],
        )
        for budget in _budgets(rows)
    ]
    return Figure(
        title,
        "The standing of all fresh pages on the topic, summed, in the last quarter of the days, as a share of that of"
        " the best split; means over topics. Budgets are requests a day, of the pages at the start.",
        line_chart(series, title=title, x_title="share of requests for new pages", y_title="worth, of the best"),
    )


def _found_figure(rows: Sequence[Row]) -> Figure:
    budget = _budgets(rows)[len(_budgets(rows)) // 2]
    own = [row for row in rows if row["budget"] == budget]
    series = [
        Series(name, [(row["expand"], row[column]) for row in own if row[column] is not None])
        for name, column in CURVES.items()
    ]
    title = f"Freshness and authorities, {budget:.0%} a day"
    return Figure(
        title,
        "Of the pages on the topic that are held, the share that is fresh; of the topic's authorities, and of those of"
        " them born since the start, the share that is held. Only who looks again sees the links to new pages.",
        line_chart(series, title=title, x_title="share of requests for new pages", y_title="share"),
    )


def _budgets(rows: Sequence[Mapping[str, Plain]]) -> list[float]:
    return list(dict.fromkeys(row["budget"] for row in rows))
