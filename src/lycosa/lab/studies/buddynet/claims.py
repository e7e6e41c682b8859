"""What the paper claims of its buddies, each computed from the tables."""

import math
from collections.abc import Sequence

from lycosa.lab.findings import Claim, Row
from lycosa.lab.statistics import holm, paired_t, told

from .figures import PAPER, mean_of, values_of
from .jobs import BUDDYNET, INDEXED, LISTED, SHORTCUTS, WALK

SURE = 0.05


def static_order(runs: Sequence[Row]) -> Claim:
    return _order(
        runs,
        churns=False,
        id="buddynet.static-order",
        says="Where peers stay: messages per query and path length are lowest with BuddyNet, then interest shortcuts,"
        " then random walks; paired t-tests over runs, corrected for there being four",
    )


def churn_order(runs: Sequence[Row]) -> Claim:
    return _order(
        runs,
        churns=True,
        id="buddynet.churn-order",
        says="Where peers come and go: the same order, and the largest share of queries that got a response with"
        " BuddyNet; paired t-tests over runs, corrected for there being six. As published, a response counts even if"
        " the peer it names is down by then; `fetched` counts those that led to a download",
    )


def _order(runs: Sequence[Row], *, churns: bool, id: str, says: str) -> Claim:
    pairs = [
        (metric, less, more)
        for metric in ("messages", "path_length")
        for less, more in ((BUDDYNET, SHORTCUTS), (SHORTCUTS, WALK))
    ]
    pairs += [("success", less, BUDDYNET) for less in (WALK, SHORTCUTS)] if churns else []
    tests = [
        paired_t(values_of(runs, less, churns, metric), values_of(runs, more, churns, metric))
        for metric, less, more in pairs
    ]
    corrected = holm([test.p for test in tests])
    p = math.nan if any(math.isnan(each) for each in corrected) else max(corrected)
    wrong = [
        f"{metric} of {less} and {more}"
        for (metric, less, more), test, sure in zip(pairs, tests, corrected, strict=True)
        if not (test.difference < 0 and sure < SURE)
    ]
    return Claim(
        id=id,
        kind="paper",
        says=says,
        paper="; ".join(_published(name, churns) for name in (WALK, SHORTCUTS, BUDDYNET)),
        measured="; ".join(_said(runs, name, churns) for name in (WALK, SHORTCUTS, BUDDYNET)),
        p=told(p),
        holds=not wrong,
        reason="" if not wrong else f"not so, or not surely so: {', '.join(wrong)}",
    )


def _published(name: str, churns: bool) -> str:
    messages, path, success = PAPER[churns, name]
    return f"{name} {messages} messages, path {path}, success {success:.2f}"


def _said(runs: Sequence[Row], name: str, churns: bool) -> str:
    messages, path, success, fetched = (
        mean_of(runs, name, churns, metric) for metric in ("messages", "path_length", "success", "fetched")
    )
    return f"{name} {messages:.0f} messages, path {path:.0f}, success {success:.3f} (fetched {fetched:.3f})"


def factors(runs: Sequence[Row]) -> Claim:
    means = {name: mean_of(runs, name, False, "messages") for name in (WALK, LISTED, INDEXED, BUDDYNET)}
    listed = paired_t(values_of(runs, LISTED, False, "messages"), values_of(runs, INDEXED, False, "messages"))
    together = paired_t(values_of(runs, BUDDYNET, False, "messages"), values_of(runs, INDEXED, False, "messages"))
    wrong = []
    if not (listed.difference < 0 and listed.p < SURE):
        wrong.append(
            "a walk that sees what up to ten neighbours of every peer have needs a fraction of the steps, whoever they"
            " are; the list saves the walk only where a buddy has it"
        )
    if not (together.difference < 0 and together.p < SURE and means[BUDDYNET] < means[LISTED]):
        wrong.append("both together are not surely better than the better of them")
    return Claim(
        id="buddynet.factors",
        kind="paper",
        says="Of the parts, the list saves more messages than indexes of neighbours alone, and both with adaptation,"
        " which is BuddyNet, save most; paired t-tests over runs",
        paper="random-walk 3842, walk+list 1370, walk+index 3459, buddynet 1122 messages",
        measured=", ".join(f"{name} {mean:.0f}" for name, mean in means.items()) + " messages",
        p=told(max(listed.p, together.p)),
        holds=not wrong,
        reason="; ".join(wrong),
    )


def replication(rows: Sequence[Row]) -> Claim:
    gains = {
        (row["peers"], row["replication"]): (
            row[f"{WALK}_messages"] / row[f"{BUDDYNET}_messages"],
            row[f"{WALK}_path_length"] / row[f"{BUDDYNET}_path_length"] if row[f"{BUDDYNET}_path_length"] else math.inf,
        )
        for row in rows
    }
    wrong = [f"{peers} peers at {factor}" for (peers, factor), gain in gains.items() if min(gain) <= 1.0]
    return Claim(
        id="buddynet.replication",
        kind="paper",
        says="Whatever share of the peers has a file, in networks of 1 000 and 5 000, BuddyNet needs fewer messages and"
        " a shorter path than a random walk",
        paper="1 000 peers: 15.5 times fewer messages and a path 21.5 times shorter at .01, 173 and 77.5 times at 1;"
        " 5 000 peers: 7.1 and 4.9 times at .01",
        measured="; ".join(
            f"{peers} peers at {factor}: {messages:.3g} and {path:.3g} times"
            for (peers, factor), (messages, path) in gains.items()
        ),
        holds=not wrong,
        reason="" if not wrong else f"not so with {', '.join(wrong)}",
    )


def settles(runs: Sequence[Row]) -> Claim:
    before = values_of(runs, BUDDYNET, False, "transfers_before")
    after = values_of(runs, BUDDYNET, False, "transfers_after")
    test = paired_t(after, before)
    first, second = (sum(values) / len(values) for values in (before, after))
    return Claim(
        id="buddynet.index-transfers-settle",
        kind="paper",
        says="Fewer indexes are transferred per query in the second half of the queries than in the first; a paired"
        " t-test over runs",
        paper="4 % of the queries, then 3.3 %",
        measured=f"{first:.1%} of the queries, then {second:.1%}",
        p=told(test.p),
        holds=test.difference < 0 and test.p < SURE,
    )


def hit_rate(runs: Sequence[Row]) -> Claim:
    stay, go = (mean_of(runs, BUDDYNET, churns, "hit_rate") for churns in (False, True))
    of_index = mean_of(runs, BUDDYNET, False, "index_hit_rate")
    return Claim(
        id="buddynet.hit-rate",
        kind="paper",
        says="The share of queries that an index or a buddy answered, without a walk",
        paper="over 80 % from query 2 000 on; .86 with BuddyNet, .85 with the list alone",
        measured=f"{stay:.3f} where peers stay ({of_index:.3f} from indexes alone),"
        f" {mean_of(runs, LISTED, False, 'hit_rate'):.3f} with the list alone; {go:.3f} where they come and go",
        holds=None,
    )


def clusters(rows: Sequence[Row]) -> Claim:
    (row,) = rows
    return Claim(
        id="buddynet.clusters",
        kind="paper",
        says="Buddies have an interest in common more often than chance would have it: interests are dealt to peers"
        " anew a thousand times",
        paper="nodes form clusters, those of a cluster share interests (by inspection)",
        measured=f"{row['shared']:.1%} of {row['links']} pairs, {row['by_chance']:.1%} by chance",
        p=row["p"],
        holds=row["shared"] > row["by_chance"] and row["p"] < SURE,
    )
