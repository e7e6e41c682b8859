"""Recall against the number of messages, and both over the queries.

Recall is the share of the ten best pages of an index of all collections that a search finds.
"""

from collections.abc import Mapping, Sequence

from lycosa.pictures import Series, line_chart
from lycosa_lab.results import Figure, Row

from .tables import BUDDYNET, EVERYBODY, FLOOD, WALK, WALK_WITH_BUDDY_LIST, rows_of

SHOWN_WALKERS = 8  # of the random walk that is shown over time


def all_figures(searches: Sequence[Row], windows: Sequence[Row], limit: int) -> Mapping[str, Figure]:
    """The figures; `limit` is the number of hits at which a search ends."""
    return {"cost": _by_cost(searches, limit), **_over_time(windows, limit)}


def _by_cost(searches: Sequence[Row], limit: int) -> Figure:
    walks = sorted(rows_of(searches, WALK, limit), key=lambda row: float(row["messages"]))
    buddynet = sorted((row for row in searches if row["algorithm"] == BUDDYNET), key=lambda row: float(row["messages"]))
    curves = {"random walk": walks, "buddynet": buddynet}
    curves |= {name: rows_of(searches, name, limit) for name in (WALK_WITH_BUDDY_LIST, FLOOD, EVERYBODY)}
    series = [
        Series(
            name,
            [(float(row["messages"]), float(row["recall"])) for row in rows],
            [float(row["recall_error"] or 0.0) for row in rows],
        )
        for name, rows in curves.items()
    ]
    title = "Recall of the ten best pages by messages"
    return Figure(
        title,
        "Second half of the queries. Random walks with 2 to 32 walkers; buddynet where 10 hits are enough and where"
        f" {limit} are, all others where {limit} are. Thin bars are standard errors over peers.",
        line_chart(series, title=title, x_title="messages for a query", y_title="recall@10", y_range=(0.0, 1.0)),
    )


def _over_time(windows: Sequence[Row], limit: int) -> dict[str, Figure]:
    shown = {
        "buddynet": rows_of(windows, BUDDYNET, limit),
        f"random walk, {SHOWN_WALKERS} walkers": [
            row for row in rows_of(windows, WALK, limit) if row["walkers"] == SHOWN_WALKERS
        ],
        "flood": rows_of(windows, FLOOD, limit),
    }
    pictures = {}
    for column, title, y_title in (
        ("recall", "Recall as buddies are learnt", "recall@10"),
        ("messages", "Messages as buddies are learnt", "messages for a query"),
    ):
        series = [
            Series(name, [(float(row["until"]), float(row[column])) for row in rows]) for name, rows in shown.items()
        ]
        pictures[f"{column}-over-time"] = Figure(
            title,
            "Means over runs, of ten stretches of the queries.",
            line_chart(
                series,
                title=title,
                x_title="queries",
                y_title=y_title,
                y_range=(0.0, 1.0) if column == "recall" else None,
            ),
        )
    return pictures
