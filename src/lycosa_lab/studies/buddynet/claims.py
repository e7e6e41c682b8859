"""The claims of the paper (Shao 2007, see the package), computed from the tables.

`runs` has a row for each algorithm and run, with and without churn (peers that come and go); its metrics are those of
`runs.metrics_of`: `answered` is the share of queries that got a response, `fetched` that of those that led to a
download, `path_length` the number of queries sent before the first response.
"""

import math
from collections.abc import Sequence

from lycosa_lab.results import Claim, Row
from lycosa_lab.statistics import SIGNIFICANT, finite_or_none, holds_or_none, holm, paired_t, summary
from lycosa_lab.tables import nan_if_none

from .runs import BUDDYNET, SHORTCUTS, WALK, WALK_WITH_BUDDY_LIST, WALK_WITH_INDEXES, WALK_WITH_INDEXES_BY_ALL
from .tables import PAPER, REPLICATION_METRICS, column_of, mean_of, values_of


def static_order(runs: Sequence[Row]) -> Claim:
    return _order(
        runs,
        churns=False,
        id="buddynet.static-order",
        text="Where peers stay: messages per query and path length are lowest with BuddyNet, then interest shortcuts,"
        " then random walks; paired t-tests over runs, corrected for there being four",
    )


def churn_order(runs: Sequence[Row]) -> Claim:
    return _order(
        runs,
        churns=True,
        id="buddynet.churn-order",
        text="Where peers come and go: the same order, and the largest share of queries that got a response with"
        " BuddyNet; paired t-tests over runs, corrected for there being six. As published, a response counts even if"
        " the peer it names is down by then; `fetched` counts those that led to a download",
    )


def _order(runs: Sequence[Row], *, churns: bool, id: str, text: str) -> Claim:
    pairs = [
        (metric, less, more)
        for metric in ("messages", "path_length")
        for less, more in ((BUDDYNET, SHORTCUTS), (SHORTCUTS, WALK))
    ]
    pairs += [("answered", less, BUDDYNET) for less in (WALK, SHORTCUTS)] if churns else []
    p, reason = _runs_below(runs, churns, pairs)
    return Claim(
        id=id,
        kind="paper",
        text=text,
        paper="; ".join(_published(name, churns) for name in (WALK, SHORTCUTS, BUDDYNET)),
        measured="; ".join(_measured_line(runs, name, churns) for name in (WALK, SHORTCUTS, BUDDYNET)),
        p=finite_or_none(p),
        holds=holds_or_none(not reason, p),
        reason=reason if holds_or_none(not reason, p) is False else "",
    )


def _runs_below(runs: Sequence[Row], churns: bool, pairs: Sequence[tuple[str, str, str]]) -> tuple[float, str]:
    """Tests whether each metric is lower with the first algorithm than with the second, by paired t-tests over runs:
    the largest corrected p, and the tests that are not significant, as text.

    pairs: the metric, and the two algorithms.
    """
    samples = [
        (
            f"{metric} of {less} below {more}",
            values_of(runs, less, churns, metric),
            values_of(runs, more, churns, metric),
        )
        for metric, less, more in pairs
    ]
    return _significantly_below(samples)


def _significantly_below(samples: Sequence[tuple[str, list[float], list[float]]]) -> tuple[float, str]:
    """The largest p of paired t-tests, corrected by Holm's method, and the tests that are not significant, as text.

    samples: for each test a label, and the values that should be lower than the others, which follow.
    """
    tests = [paired_t(less, more) for _, less, more in samples]
    corrected = holm([test.p for test in tests])
    failures = [
        f"{label}: {_mean(less):.4g} and {_mean(more):.4g}, p = {corrected_p:.2g}"
        for (label, less, more), test, corrected_p in zip(samples, tests, corrected, strict=True)
        if test.difference >= 0 or corrected_p >= SIGNIFICANT
    ]
    p = math.nan if not corrected or any(math.isnan(each) for each in corrected) else max(corrected)
    return p, f"not significant: {'; '.join(failures)}" if failures else ""


def _mean(values: Sequence[float]) -> float:
    return summary(values).mean


def _published(name: str, churns: bool) -> str:
    published = PAPER[churns, name]
    return f"{name} {published.messages} messages, path {published.path_length}, answered {published.answered:.2f}"


def _measured_line(runs: Sequence[Row], name: str, churns: bool) -> str:
    messages, back, path, answered, fetched = (
        mean_of(runs, name, churns, metric)
        for metric in ("messages", "messages_back", "path_length", "answered", "fetched")
    )
    return (
        f"{name} {messages:.0f} messages ({back:.0f} if responses took the way back), path {path:.0f},"
        f" answered {answered:.3f} (fetched {fetched:.3f})"
    )


def factors(runs: Sequence[Row]) -> Claim:
    algorithms = (WALK, WALK_WITH_BUDDY_LIST, WALK_WITH_INDEXES, BUDDYNET, WALK_WITH_INDEXES_BY_ALL)
    pairs = [
        ("messages", less, more)
        for less, more in (
            (WALK_WITH_BUDDY_LIST, WALK_WITH_INDEXES),
            (BUDDYNET, WALK_WITH_INDEXES),
            (BUDDYNET, WALK_WITH_BUDDY_LIST),
        )
    ]
    p, reason = _runs_below(runs, False, pairs)
    return Claim(
        id="buddynet.factors",
        kind="paper",
        text="Of the parts, the list saves more messages than indexes of neighbours alone, and both with adaptation,"
        " which is BuddyNet, save most; paired t-tests over runs, corrected for there being three. Whoever asks holds"
        " indexes, and nobody else, with both; where all hold those of neighbours is reported beside",
        paper="random-walk 3842, walk+list 1370, walk+index 3459, buddynet 1122 messages",
        measured=", ".join(f"{name} {mean_of(runs, name, False, 'messages'):.0f}" for name in algorithms) + " messages",
        p=finite_or_none(p),
        holds=holds_or_none(not reason, p),
        reason=reason if holds_or_none(not reason, p) is False else "",
    )


def replication(replicas: Sequence[Row]) -> Claim:
    settings = list(dict.fromkeys((row["peers"], row["replication"]) for row in replicas))
    samples, gains = [], []
    for peers, factor in settings:
        same = [row for row in replicas if (row["peers"], row["replication"]) == (peers, factor)]
        ratios = []
        for metric in REPLICATION_METRICS:
            less, more = ([nan_if_none(row[column_of(name, metric)]) for row in same] for name in (BUDDYNET, WALK))
            samples.append((f"{metric} of {BUDDYNET} below {WALK}, {peers} peers at {factor}", less, more))
            ratios.append(_mean(more) / _mean(less) if _mean(less) else math.inf)
        gains.append(f"{peers} peers at {factor}: {ratios[0]:.3g} and {ratios[1]:.3g} times")
    p, reason = _significantly_below(samples)
    return Claim(
        id="buddynet.replication",
        kind="paper",
        text="Whatever share of the peers has a file, in networks of 1 000 and 5 000, BuddyNet needs fewer messages and"
        " a shorter path than a random walk; a paired t-test over runs for each, corrected for there being several",
        paper="1 000 peers: 15.5 times fewer messages and a path 21.5 times shorter at .01, 173 and 77.5 times at 1;"
        " 5 000 peers: 7.1 and 4.9 times at .01",
        measured="; ".join(gains),
        p=finite_or_none(p),
        holds=holds_or_none(not reason, p),
        reason=reason if holds_or_none(not reason, p) is False else "",
    )


def index_transfers_settle(runs: Sequence[Row]) -> Claim:
    before = values_of(runs, BUDDYNET, False, "transfers_before")
    after = values_of(runs, BUDDYNET, False, "transfers_after")
    p, reason = _significantly_below([("transfers per query after below before", after, before)])
    return Claim(
        id="buddynet.index-transfers-settle",
        kind="paper",
        text="Fewer indexes are transferred per query in the second half of the queries than in the first; a paired"
        " t-test over runs",
        paper="4 % of the queries, then 3.3 %",
        measured=f"{_mean(before):.1%} of the queries, then {_mean(after):.1%}",
        p=finite_or_none(p),
        holds=holds_or_none(not reason, p),
        reason=reason if holds_or_none(not reason, p) is False else "",
    )


def hit_rate(runs: Sequence[Row]) -> Claim:
    static_rate, churn_rate = (mean_of(runs, BUDDYNET, churns, "hit_rate") for churns in (False, True))
    index_rate = mean_of(runs, BUDDYNET, False, "index_hit_rate")
    return Claim(
        id="buddynet.hit-rate",
        kind="paper",
        text="The share of queries that an index or a buddy answered, without a walk",
        paper="over 80 % from query 2 000 on; .86 with BuddyNet, .85 with the list alone",
        measured=f"{static_rate:.3f} where peers stay ({index_rate:.3f} from indexes alone),"
        f" {mean_of(runs, WALK_WITH_BUDDY_LIST, False, 'hit_rate'):.3f} with the list alone;"
        f" {churn_rate:.3f} where they come and go",
        holds=None,
    )


def clusters(rows: Sequence[Row]) -> Claim:
    (row,) = rows
    more = row["shared"] > row["by_chance"] and row["p"] < SIGNIFICANT
    return Claim(
        id="buddynet.clusters",
        kind="paper",
        text="Buddies have an interest in common more often than chance would have it: interests are dealt to peers"
        " anew a thousand times",
        paper="nodes form clusters, those of a cluster share interests (by inspection)",
        measured=f"{row['shared']:.1%} of {row['links']} pairs, {row['by_chance']:.1%} by chance",
        p=row["p"],
        holds=more,
        reason="" if more else f"not significantly more than by chance: p = {row['p']:.2g}",
    )
