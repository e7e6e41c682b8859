"""The tables of the study, and the numbers that the paper publishes.

`runs` has a row for each algorithm and run, with and without churn (peers that come and go), by `runs.metrics_of`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import summary
from lycosa_lab.tables import nan_if_none, rounded

from .runs import ALGORITHMS, BUDDYNET, FLOOD, SHORTCUTS, WALK, WALK_WITH_BUDDY_LIST, WALK_WITH_INDEXES


class PublishedSearch(NamedTuple):
    """What the paper reports of an algorithm, in the means over queries."""

    messages: int
    path_length: int
    answered: float  # share of queries


# By whether peers come and go, and algorithm: tables 5.2 (static), 5.3 (churn) and 5.4 (factors).
PAPER = {
    (False, WALK): PublishedSearch(3_842, 88, 0.97),
    (False, SHORTCUTS): PublishedSearch(1_370, 31, 0.98),
    (False, BUDDYNET): PublishedSearch(1_122, 28, 0.98),
    (False, WALK_WITH_BUDDY_LIST): PublishedSearch(1_370, 31, 0.98),
    (False, WALK_WITH_INDEXES): PublishedSearch(3_459, 67, 0.99),
    (True, WALK): PublishedSearch(6_607, 139, 0.88),
    (True, SHORTCUTS): PublishedSearch(4_419, 78, 0.87),
    (True, BUDDYNET): PublishedSearch(2_299, 26, 0.92),
}
PAPER_HITS = {(False, WALK_WITH_BUDDY_LIST): 0.85, (False, BUDDYNET): 0.86}
# messages and path length of walk and BuddyNet; and the hit rate
PAPER_REPLICATION = {
    (1_000, 0.01): ((2_015, 172), (130, 8.02), 0.50),
    (1_000, 1.0): ((428, 31), (2.47, 0.4), 0.998),
    (5_000, 0.01): ((7_628, 366), (1_070, 75), 0.31),
    (5_000, 1.0): ((1_222, 88), (3.8, 0.34), None),
}
PAPER_TRANSFERS = {2_000: 100, 10_000: 408, 20_000: 740}  # so far, by query (figure 5.10)
PAPER_HIT_RATE = (2_000, 0.8)  # from this query on, about so much (figure 5.11)
METRICS = ("messages", "messages_back", "path_length", "answered", "fetched", "hit_rate", "index_hit_rate")
REPLICATION_METRICS = ("messages", "path_length")  # where copies are varied
WITH_ERRORS = ("messages", "path_length", "answered")  # metrics whose standard errors are in the table


def values_of(runs: Sequence[Row], algorithm: str, churns: bool, metric: str) -> list[float]:
    """One number per run, in order."""
    rows = [row for row in runs if row["algorithm"] == algorithm and row["churns"] is churns]
    return [nan_if_none(row[metric]) for row in sorted(rows, key=lambda row: row["run"])]


def mean_of(runs: Sequence[Row], algorithm: str, churns: bool, metric: str) -> float:
    return summary(values_of(runs, algorithm, churns, metric)).mean


def summary_rows(runs: Sequence[Row]) -> list[Row]:
    """A row for each algorithm, static and with churn: means over runs, their standard errors, and the paper's."""
    rows: list[Row] = []
    for churns in (False, True):
        for algorithm in (*ALGORITHMS, FLOOD):
            # Not the number of peers, as in the other tables, but whether there is churn:
            row: dict[str, JsonValue] = {"peers": "come and go" if churns else "stay", "algorithm": algorithm}
            for metric in METRICS:
                found = summary(values_of(runs, algorithm, churns, metric))
                row[metric] = rounded(found.mean)
                if metric in WITH_ERRORS:
                    row[f"{metric}_error"] = rounded(found.standard_error)
            published = PAPER.get((churns, algorithm))
            row |= {f"paper_{field}": getattr(published, field, None) for field in PublishedSearch._fields}
            row["paper_hit_rate"] = PAPER_HITS.get((churns, algorithm))
            rows.append(row)
    return rows


def window_rows(searches: Sequence[JsonValue]) -> list[Row]:
    """Of the first run: hits, messages and cumulative index transfers over the queries."""
    rows: list[Row] = []
    for outcome in searches:
        if outcome["run"] == 0:
            for algorithm, windows in outcome["windows"].items():
                total = 0
                for window in windows:
                    total += window["transfers"]
                    setting = {"churns": outcome["churns"], "algorithm": algorithm}
                    rows.append({**setting, **window, "transfers_so_far": total})
    return rows


def replica_rows(replicas: Sequence[JsonValue]) -> list[Row]:
    """A row for each network of each run in which copies were varied."""
    return [
        {
            "run": each["run"],
            "peers": each["peers"],
            "replication": each["factor"],
            **{
                column_of(algorithm, metric): each["found"][algorithm][metric]
                for algorithm in (WALK, BUDDYNET)
                for metric in REPLICATION_METRICS
            },
            "hit_rate": each["found"][BUDDYNET]["hit_rate"],
        }
        for each in replicas
    ]


def replication_rows(replicas: Sequence[Row]) -> list[Row]:
    """The means of these over runs, and the paper's."""
    rows: list[Row] = []
    for peers, factor in dict.fromkeys((each["peers"], each["replication"]) for each in replicas):
        same = [each for each in replicas if (each["peers"], each["replication"]) == (peers, factor)]
        row: dict[str, JsonValue] = {"peers": peers, "replication": factor}
        columns = [column_of(algorithm, metric) for algorithm in (WALK, BUDDYNET) for metric in REPLICATION_METRICS]
        for column in (*columns, "hit_rate"):
            row[column] = rounded(summary(nan_if_none(each[column]) for each in same).mean)
        walk, buddies, hits = PAPER_REPLICATION.get((peers, factor), ((None, None), (None, None), None))
        row |= {"paper_walk_messages": walk[0], "paper_walk_path_length": walk[1]}
        row |= {"paper_buddynet_messages": buddies[0], "paper_buddynet_path_length": buddies[1], "paper_hit_rate": hits}
        rows.append(row)
    return rows


def column_of(algorithm: str, metric: str) -> str:
    return f"{algorithm}_{metric}"
