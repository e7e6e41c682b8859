"""Area under the harvest curve by strategy, and how the topic is found along the crawl, on held-out topics.

Nothing was fitted to held-out topics. A start is where a crawl begins: within the topic, or afar.
"""

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
    means_over = f"Means over {len(tables.topics(held_out=True))} held-out topics"
    ranked = ranked_by_mean(tables.scores(AREA))
    drawn = _drawn(ranked, default)
    return {
        "area": Figure(
            "Area under the harvest curve",
            f"1 is a crawl that fetches nothing but the topic. {means_over}, with 95 % intervals; the default strategy"
            f" is {default}.",
            bar_chart(_bars(tables, ranked, default, seed=seed), title="Area under the harvest curve"),
        ),
        "harvest": Figure(
            "Pages of the topic found along the crawl",
            f"{means_over}; thin bars are standard errors.",
            line_chart(
                [tables.curve(name) for name in drawn],
                title="Pages of the topic found along the crawl",
                x_title="percent of the budget",
                y_title="share of the topic found",
            ),
        ),
        "starts": Figure(
            "Area by where the crawl starts",
            f"{means_over}; thin bars are standard errors.",
            grouped_bars(
                {
                    f"from {start}": [
                        GroupedBar(name, area.mean, area.standard_error)
                        for name, values in tables.scores(AREA, start=start).items()
                        if name in drawn
                        for area in [summary(values)]
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
        dark_part = None if name == default else 0.0
        bars.append(Bar(name, summary(scores[name]).mean, dark_part, note=f"({low:.2f}–{high:.2f})"))
    return bars


def _drawn(ranked: Sequence[str], default: str) -> list[str]:
    """The strategies that get a curve: the default, its baselines, and the best of the others."""
    wanted = dict.fromkeys((default, ORACLE, SCRIPT, BEST_FIRST, "breadth-first"))
    always = [name for name in wanted if name in ranked]
    others = [name for name in ranked if name not in always]
    return always + others[: _MAX_CURVES - len(always)]
