"""The claims of the study, computed from the tables.

Recall is the share of the ten best pages of an index of all collections that a search finds. `by_peer` has a row for
each peer and run, `searches` their means; a round is one comparison with peers in processes.
"""

from collections.abc import Sequence

from lycosa_lab.results import Claim, Row
from lycosa_lab.statistics import finite_or_none, holds_or_none, paired_t

from .tables import BUDDYNET, EVERYBODY, FLOOD, WALK, recalls_of, rows_of, setting_of

MIN_RECALL = 0.8  # share of the ten best pages
MIN_OVERLAP = 0.9  # of the ten best hits
MESSAGE_MARGIN = 0.15  # share


def recall_claim(searches: Sequence[Row], by_peer: Sequence[Row], limit: int) -> Claim:
    """Whether BuddyNet's searches that end at `limit` hits find most of the best pages, and more than random walks."""
    (buddynet,) = rows_of(searches, BUDDYNET, limit)
    walk = walk_of_equal_cost(searches, buddynet, limit)
    buddynet_recalls, walk_recalls = (recalls_of(by_peer, setting_of(row)) for row in (buddynet, walk))
    test = paired_t(buddynet_recalls, walk_recalls)
    failures = []
    if buddynet["recall"] < MIN_RECALL:
        failures.append(f"recall {buddynet['recall']:.3f}")
    if not test.is_gain_or_unknown:
        failures.append("not significantly above the walk")
    if walk["messages"] < buddynet["messages"]:
        failures.append("no walk took as many messages")
    others = [*rows_of(searches, FLOOD, limit), *rows_of(searches, EVERYBODY, limit)]
    other_limits = [row for row in searches if row["algorithm"] == BUDDYNET and row["limit"] != limit]
    return Claim(
        id="peer-search.recall",
        kind="beyond",
        text=f"Once buddies are learnt (second half of the queries), a search that stops at {limit} hits finds"
        f" at least {MIN_RECALL} of the ten best pages that one index of all collections finds, and more than random"
        " walks that take at least as many messages; paired t-test over peers, each with its mean over runs",
        paper=None,
        measured="; ".join(
            [
                _recall_line("buddynet", buddynet),
                _recall_line(f"{walk['walkers']} walkers", walk),
                *(_recall_line(str(row["algorithm"]), row) for row in others),
                *(_recall_line(f"buddynet where {row['limit']} are enough", row) for row in other_limits),
            ]
        ),
        holds=holds_or_none(not failures, test.p),
        p=finite_or_none(test.p),
        reason="; ".join(failures) if holds_or_none(not failures, test.p) is False else "",
    )


def walk_of_equal_cost(searches: Sequence[Row], buddynet: Row, limit: int) -> Row:
    """The walk with the fewest walkers that takes at least as many messages; the largest if none does."""
    walks = sorted(rows_of(searches, WALK, limit), key=lambda row: int(row["walkers"]))
    return next((row for row in walks if row["messages"] >= buddynet["messages"]), walks[-1])


def agreement_claim(rounds: Sequence[Row], reason: str) -> Claim:
    """Whether the simulation agrees with peers in processes.

    reason: why these could not be compared; empty if they were.
    """
    queries = sum(int(row["queries"]) for row in rounds)
    overlap = sum(float(row["overlap"]) * int(row["queries"]) for row in rounds) / max(1, queries)
    deviations = [f"overlap {overlap:.3f}"] if overlap < MIN_OVERLAP else []
    deviations += [
        f"{row['round']}: messages {_message_ratio(row):.2f} of simulated"
        for row in rounds
        if abs(_message_ratio(row) - 1) > MESSAGE_MARGIN
    ]
    return Claim(
        id="peer-search.simulation-agrees",
        kind="beyond",
        text="Peers in processes on loopback and peers in a simulated network, with the same initial knowledge and"
        f" the same queries, find the same: at least {MIN_OVERLAP} of the ten best hits in the mean over all queries,"
        f" with a number of messages within {MESSAGE_MARGIN:.0%}, both when they know only neighbours, and"
        " when they have learnt whom to ask. Each has random walks of its own, so two simulations differ, too",
        paper=None,
        measured="; ".join(
            f"{row['round']}: overlap {row['overlap']:.3f} (of two simulations {row['overlap_by_chance']:.3f}),"
            f" messages {row['messages_real']:.1f} and {row['messages_simulated']:.1f}, median answer"
            f" {row['median_ms_real']:.0f} ms"
            for row in rounds
        )
        or "nothing",
        holds=None if reason else not deviations,
        reason=reason or "; ".join(deviations),
    )


def _message_ratio(row: Row) -> float:
    return float(row["messages_real"]) / max(1e-9, float(row["messages_simulated"]))


def _recall_line(name: str, row: Row) -> str:
    error = "" if row["recall_error"] is None else f" ± {row['recall_error']:.2g}"
    return f"{name} {row['recall']:.3f}{error} with {row['messages']:.1f} messages"
