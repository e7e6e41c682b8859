"""Area by strategy, and how the topic is found along the crawl."""

from collections.abc import Sequence

from lycosa.pictures import Bar, GroupedBar, bar_chart, grouped_bars, line_chart
from lycosa_lab.results import Figure
from lycosa_lab.statistics import bootstrap_interval, summary
from lycosa_lab.tables import ranked_by_mean

from .baselines import ORACLE, SCRIPT
from .claims import BEST_FIRST
from .tables import AREA, LeagueTables
from .tasks import STARTS

_MAX_CURVES = 8


def all_figures(tables: LeagueTables, default: str, *, seed: int) -> dict[str, Figure]:
    over = f"Means over {len(tables.topics(held_out=True))} held-out topics"
    ranked = ranked_by_mean(tables.scores(AREA))
    curves = _chosen(ranked, default)
    return {
        "area": Figure(
            "Area under the harvest curve",
            f"1 is a crawl that fetches nothing but the topic. {over}, with 95 % intervals; the default strategy is"
            f" {default}.",
            bar_chart(_bars(tables, ranked, default, seed=seed), title="Area under the harvest curve"),
        ),
        "harvest": Figure(
            "Pages of the topic found along the crawl",
            f"{over}; thin bars are standard errors.",
            line_chart(
                [tables.curve(name) for name in curves],
                title="Pages of the topic found along the crawl",
                x_title="percent of the budget",
                y_title="share of the topic found",
            ),
        ),
        "starts": Figure(
            "Area by where the crawl starts",
            f"{over}; thin bars are standard errors.",
            grouped_bars(
                {
                    f"from {start}": [
                        GroupedBar(name, each.mean, each.standard_error)
                        for name, values in tables.scores(AREA, start=start).items()
                        if name in curves
                        for each in [summary(values)]
                    ]
                    for start in STARTS
                },
                title="Area by where the crawl starts",
                y_title="area under the harvest curve",
            ),
        ),
    }


def _bars(tables: LeagueTables, ranked: Sequence[str], default: str, *, seed: int) -> list[Bar]:
    """A bar for each strategy, dark for the default."""
    scores = tables.scores(AREA)
    bars = []
    for name in ranked:
        low, high = bootstrap_interval(scores[name], seed=seed)
        part = None if name == default else 0.0
        bars.append(Bar(name, summary(scores[name]).mean, part, note=f"({low:.2f}–{high:.2f})"))
    return bars


def _chosen(ranked: Sequence[str], default: str) -> list[str]:
    """The curves to draw: the default, its baselines, and the best of the others."""
    wanted = dict.fromkeys((default, ORACLE, SCRIPT, BEST_FIRST, "breadth-first"))
    always = [name for name in wanted if name in ranked]
    others = [name for name in ranked if name not in always]
    return always + others[: _MAX_CURVES - len(always)]
