"""The tables over all runs."""

from collections.abc import Sequence

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import summary

BUDDYNET, LISTED, WALK, FLOOD, EVERYBODY = "buddynet", "walk+list", "random-walk", "flood", "everybody"
STAGES = ("home", "indexes", "buddies", "walking")
WINDOWS = 10  # of queries per run
Way = tuple[str, int, int]  # algorithm, walkers, and the number of hits at which a search ends


def way_of(row: Row) -> Way:
    return row["algorithm"], row["walkers"], row["limit"]


def summary_rows(by_peer: Sequence[Row]) -> list[Row]:
    """Means over peers of their means over runs, with standard errors."""
    rows: list[Row] = []
    for way in dict.fromkeys(map(way_of, by_peer)):
        same = [row for row in by_peer if way_of(row) == way]
        recalls = summary(recalls_of(by_peer, way))
        rows.append(
            {
                "algorithm": way[0],
                "walkers": way[1],
                "limit": way[2],
                "recall": round(recalls.mean, 4),
                "recall_error": None if recalls.n < 2 else round(recalls.standard_error, 4),
                **{what: _mean(same, what) for what in ("messages", "seconds", *STAGES)},
                "queries": sum(row["queries"] for row in same),
            }
        )
    return rows


def window_rows(runs: Sequence[JsonValue]) -> list[Row]:
    """The same over windows of queries: means over runs."""
    every = [row for outcome in runs for row in outcome["windows"]]
    rows: list[Row] = []
    for way, until in dict.fromkeys((way_of(row), row["until"]) for row in every):
        same = [row for row in every if way_of(row) == way and row["until"] == until]
        means = {what: _mean(same, what) for what in ("recall", "messages", "seconds", *STAGES)}
        rows.append({"algorithm": way[0], "walkers": way[1], "limit": way[2], "until": until, **means})
    return rows


def recalls_of(by_peer: Sequence[Row], way: Way) -> list[float]:
    """One number for each peer, the mean over its runs; peers in order."""
    runs: dict[int, list[float]] = {}
    for row in by_peer:
        if way_of(row) == way:
            runs.setdefault(int(row["peer"]), []).append(float(row["recall"]))
    return [summary(runs[peer]).mean for peer in sorted(runs)]


def ways_of(rows: Sequence[Row], algorithm: str, limit: int) -> list[Row]:
    return [row for row in rows if row["algorithm"] == algorithm and row["limit"] == limit]


def _mean(rows: Sequence[Row], what: str) -> float | None:
    known = [row[what] for row in rows if row[what] is not None]
    return round(sum(known) / len(known), 4) if known else None
