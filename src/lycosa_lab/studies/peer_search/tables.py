"""Tables of how well the algorithms searched, over all runs."""

from collections.abc import Sequence
from typing import NamedTuple

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import summary

# Names of algorithms; "walk+list" asks the buddies of a list first, but holds none of their indexes.
BUDDYNET, WALK_WITH_BUDDY_LIST, WALK, FLOOD, EVERYBODY = "buddynet", "walk+list", "random-walk", "flood", "everybody"
# Stages of a search: the peer's own pages, the indexes it holds of its buddies, the buddies themselves, and random
# walks; their columns have the share of hits found at each.
STAGES = ("home", "indexes", "buddies", "walking")
WINDOWS = 10  # into which the queries of a run are divided


class SearchSetting(NamedTuple):
    """How queries were searched for: the columns by which the rows of a table are grouped."""

    algorithm: str
    walkers: int
    limit: int  # number of hits at which a search ends


def setting_of(row: Row) -> SearchSetting:
    return SearchSetting(row["algorithm"], row["walkers"], row["limit"])


def summary_rows(by_peer: Sequence[Row]) -> list[Row]:
    """For each setting, means over peers and runs, and the standard error of recall over peers."""
    rows: list[Row] = []
    for setting in dict.fromkeys(map(setting_of, by_peer)):
        same = [row for row in by_peer if setting_of(row) == setting]
        recalls = summary(recalls_of(by_peer, setting))
        rows.append(
            {
                **setting._asdict(),
                "recall": round(recalls.mean, 4),
                "recall_error": None if recalls.n < 2 else round(recalls.standard_error, 4),
                **{column: _mean(same, column) for column in ("messages", "seconds", *STAGES)},
                "queries": sum(row["queries"] for row in same),
            }
        )
    return rows


def window_rows(runs: Sequence[JsonValue]) -> list[Row]:
    """For each setting and window of successive queries, means over runs."""
    all_windows = [row for outcome in runs for row in outcome["windows"]]
    rows: list[Row] = []
    for setting, until in dict.fromkeys((setting_of(row), row["until"]) for row in all_windows):
        same = [row for row in all_windows if setting_of(row) == setting and row["until"] == until]
        means = {column: _mean(same, column) for column in ("recall", "messages", "seconds", *STAGES)}
        rows.append({**setting._asdict(), "until": until, **means})
    return rows


def recalls_of(by_peer: Sequence[Row], setting: SearchSetting) -> list[float]:
    """One number for each peer, the mean over its runs; peers in order."""
    runs: dict[int, list[float]] = {}
    for row in by_peer:
        if setting_of(row) == setting:
            runs.setdefault(int(row["peer"]), []).append(float(row["recall"]))
    return [summary(runs[peer]).mean for peer in sorted(runs)]


def rows_of(rows: Sequence[Row], algorithm: str, limit: int) -> list[Row]:
    """The rows of an algorithm whose searches end at a number of hits."""
    return [row for row in rows if row["algorithm"] == algorithm and row["limit"] == limit]


def _mean(rows: Sequence[Row], column: str) -> float | None:
    known = [row[column] for row in rows if row[column] is not None]
    return round(sum(known) / len(known), 4) if known else None
