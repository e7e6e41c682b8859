"""Lift curves: the paper's figures 2 and 3, and others beyond the paper; and what is learnt, as bars.

A lift curve has the share P(U) of the pages crawled so far that satisfy the predicate. A field is a group of topics; a
listed page is one that the world's directory lists.
"""

from collections.abc import Sequence

from lycosa.pictures import GroupedBar, Series, grouped_bars, line_chart
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Figure
from lycosa_lab.studies.collaborative.runs import POINTS

from .shared import (
    COLLABORATIVE,
    COMBINED,
    DRAWS,
    FAST_DECAY,
    FROM_LISTED_SEEDS,
    INTELLIGENT,
    INTELLIGENT_RUNS,
    REDUCED_LOGS,
    SHUFFLED,
    SINGLE_FACTORS,
    SLOW_DECAY,
)
from .tables import CollaborativeTables, first_tenth, second_tenth

Y_TITLE = "P(U), the share of pages that satisfy the predicate"


def all_figures(tables: CollaborativeTables) -> dict[str, Figure]:
    found = {  # as the paper's figures 2 and 3
        f"field-{number}": _field(outcome, f"As figure {number + 1} of the paper")
        for number, outcome in enumerate(tables.largest_fields(), 1)
    }
    over = f"Means over {len(tables.predicates)} topics."
    found["predicates"] = _lifts(
        tables, "All predicates", over, (COLLABORATIVE, COMBINED, INTELLIGENT, *INTELLIGENT_RUNS[:1])
    )
    found["factors"] = _lifts(tables, "The three factors", over, (COLLABORATIVE, *SINGLE_FACTORS))
    found["privacy"] = _lifts(tables, "Less of the log", over, (COLLABORATIVE, *REDUCED_LOGS))
    found["ageing"] = _lifts(tables, "Old accesses fade", over, (COLLABORATIVE, SLOW_DECAY, FAST_DECAY))
    found["control"] = _lifts(tables, "Readers, and chance", over, (COLLABORATIVE, SHUFFLED))
    found["listed"] = _lifts(tables, "From listed pages", over, FROM_LISTED_SEEDS)
    found["learns"] = _learns(tables)
    return found


def _label(crawl_name: str) -> str:
    return f"{crawl_name}, best of {len(INTELLIGENT_RUNS)}" if crawl_name == INTELLIGENT else crawl_name


def _field(outcome: JsonValue, caption: str) -> Figure:
    title = f"Lift curves, predicate {outcome['aim']}"
    pages = outcome["pages"]
    page_counts = [max(1, pages * point // POINTS) for point in range(1, POINTS + 1)]
    series = [
        Series(
            _label(crawl_name), list(zip(map(float, page_counts), outcome["crawls"][crawl_name]["lift"], strict=True))
        )
        for crawl_name in (COLLABORATIVE, INTELLIGENT, COMBINED)
    ]
    svg = line_chart(series, title=title, x_title="pages crawled", y_title=Y_TITLE, percent=True, y_range=(0.0, 1.0))
    return Figure(title, f"{caption}; the log has {outcome['targets']} pages that satisfy the predicate.", svg)


def _lifts(tables: CollaborativeTables, title: str, caption: str, crawl_names: Sequence[str]) -> Figure:
    series = [
        Series(_label(crawl_name), tables.mean_lift(crawl_name))
        for crawl_name in crawl_names
        if crawl_name in tables.crawl_names
    ]
    title = f"Lift curves: {title[0].lower()}{title[1:]}"
    svg = line_chart(
        series, title=title, x_title="share of the crawl", y_title=Y_TITLE, percent=True, y_range=(0.0, 1.0)
    )
    return Figure(title, caption, svg)


def _learns(tables: CollaborativeTables) -> Figure:
    title = "What is learnt: P(U) of the first and of the second tenth of the pages"
    groups = {
        predicate: [GroupedBar("first tenth", first), GroupedBar("second tenth", second)]
        for predicate, first, second in zip(
            tables.predicates,
            tables.means_over_draws(first_tenth),
            tables.means_over_draws(second_tenth),
            strict=True,
        )
    }
    svg = grouped_bars(groups, title=title, y_title="P(U)")
    return Figure(title, f"The collaborative crawler from no seeds, topic by topic; means of {len(DRAWS)} runs.", svg)
