"""Whether people return to those who served them, and how many of these are worth remembering.

Shao: Exploring social networks in computer systems (Princeton University 2007), section 5.2.

A trace has downloads in order of time: a consumer asked for an item, and a provider served it. P(j, N) is the share of
the providers that served consumer j at least N times which served it again.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lycosa.pictures import Series, line_chart
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Claim, ClaimKind, Figure, Findings, Row
from lycosa_lab.statistics import SIGNIFICANT, finite_or_none, p_of_trend, summary
from lycosa_lab.study import Size
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.peer_networks import Floats, Generator, Ints, PeerNetwork, RaggedArray, Trace
from lycosa_lab.worlds.timed_graphs import TimedLinkGraph

SHUFFLES = 99  # permutations of providers, for the p-value


def times_served(trace: Trace) -> tuple[Ints, Ints]:
    """For each pair of peers of which one served the other: the consumer, and how often it was served (T(j, i))."""
    width = int(trace.providers.max()) + 1 if len(trace) else 1
    pairs, counts = np.unique(trace.consumers.astype(np.int64) * width + trace.providers, return_counts=True)
    return pairs // width, counts


def return_probability(served: tuple[Ints, Ints], past: int) -> tuple[Ints, Floats]:
    """P(j, N): of the providers that served consumer j at least N = `past` times, the share that served it again.

    `served` is the result of `times_served`. Consumers without such providers are left out.
    """
    consumers, counts = served
    size = int(consumers.max()) + 1 if len(consumers) else 0
    known = np.bincount(consumers[counts >= past], minlength=size)
    again = np.bincount(consumers[counts > past], minlength=size)
    with_providers = np.flatnonzero(known)
    return with_providers, again[with_providers] / known[with_providers]


def permute_providers(trace: Trace, groups: Ints, rng: Generator) -> Trace:
    """The same downloads, with providers permuted within each group."""
    providers = np.empty_like(trace.providers)
    providers[np.argsort(groups, kind="stable")] = trace.providers[np.lexsort((rng.random(len(trace)), groups))]
    return Trace(trace.consumers, trace.items, providers, trace.times)


def permuted_returns(trace: Trace, groups: Ints, past_counts: Sequence[int], *, seed: int) -> Floats:
    """The mean of P(j, N) for each N of `past_counts`, a row for each permutation of providers within groups of
    downloads; NaN without consumers."""
    rng = np.random.default_rng([seed, 14])
    means = np.full((SHUFFLES, len(past_counts)), np.nan)
    for row in means:
        served = times_served(permute_providers(trace, groups, rng))
        for index, past in enumerate(past_counts):
            shares = return_probability(served, past)[1]
            if len(shares):
                row[index] = shares.mean()
    return means


def rows_by_consumer(trace: Trace, *, minimum: int) -> list[Ints]:
    """The row numbers of the downloads of each consumer that has `minimum` or more."""
    order = np.argsort(trace.consumers, kind="stable")
    ends = np.flatnonzero(np.diff(trace.consumers[order])) + 1
    return [rows for rows in np.split(order, ends) if len(rows) >= minimum]


def hits_of_provider(providers: Sequence[int], size: int | None) -> int:
    """The number of hits of the provider in an LRU list of that size (None: unlimited)."""
    recent: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for provider in providers:
        hits += provider in recent
        _touch(recent, provider, size)
    return hits


def hits_of_holders(providers: Sequence[int], items: Sequence[int], libraries: RaggedArray, size: int | None) -> int:
    """The number of times that a peer on such a list has the item; the most recent one is then the provider.

    `libraries` are the items of each peer.
    """
    recent: OrderedDict[int, None] = OrderedDict()
    hits = 0
    holders = _holders_among(providers, items, libraries)
    for provider, item in zip(providers, items, strict=True):
        holder = next((peer for peer in reversed(recent) if peer in holders[item]), None) if item in holders else None
        hits += holder is not None
        _touch(recent, provider if holder is None else holder, size)
    return hits


def _holders_among(providers: Sequence[int], items: Sequence[int], libraries: RaggedArray) -> dict[int, set[int]]:
    """Which of these providers have each of these items; items that none has are left out."""
    known = np.unique(providers)
    rows = [libraries.row(int(provider)) for provider in known]
    owned, owners = np.concatenate(rows), np.repeat(known, [len(row) for row in rows])
    are_wanted = np.isin(owned, items)
    holders: dict[int, set[int]] = {}
    for item, owner in zip(owned[are_wanted].tolist(), owners[are_wanted].tolist(), strict=True):
        holders.setdefault(item, set()).add(owner)
    return holders


def _touch(recent: OrderedDict[int, None], provider: int, size: int | None) -> None:
    recent[provider] = None
    recent.move_to_end(provider)
    if size is not None and len(recent) > size:
        recent.popitem(last=False)


PAST_COUNTS = (1, 2, 3, 5, 10)  # N: earlier downloads from the same provider
LIST_SIZES = (2, 5, 10, 20, None)  # None: unlimited
MIN_QUERIES = 10  # of people whose lists are evaluated
MIN_CONSUMERS = 20  # for a curve
SUFFICIENT_SHARE = 0.8  # of what an unlimited list gives
POINTS = 100  # of a curve
BUDDY_LIST_SIZE = 10  # for which the claim is made
# From the text of the paper: percentage of people with less, and the value there
PAPER_RETURNS = {1: (70.0, 0.5), 2: (50.0, 0.5), 10: (35.0, 1.0)}
PAPER_LIST = {2: ((50.0, 0.3), (90.0, 0.8))}


class InterestLocality:
    name = "interest-locality"
    summary = "How often people come back to those who served them before, and how often a short list of these will do."
    scales: Mapping[str, Size] = {
        "small": {"consumers": 9_000, "providers": 19_000, "files": 13_000},
        "paper": {"consumers": 90_000, "providers": 190_000, "files": 130_000},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        # If people had files of their own, the most active ones would ask for more files than there were that week.
        # queries: as many per person as was measured, instead of a given mean.
        return {"kind": FileSharing.name, **size, "least_queries": 1, "queries": "null", "own_files": 0.0}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        trace_of(world)
        return [{"list": list_size} for list_size in LIST_SIZES]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> tuple[Trace, list[Any], RaggedArray | None]:
        trace = trace_of(world)
        libraries = world.sharing.libraries if isinstance(world, PeerNetwork) else None
        return trace, rows_by_consumer(trace, minimum=MIN_QUERIES), libraries

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        trace, rows_of_active, libraries = prepared
        rates, holder_rates = [], []  # hits per download of each consumer
        for rows in rows_of_active:
            providers = trace.providers[rows].tolist()
            rates.append(hits_of_provider(providers, job["list"]) / len(rows))
            if libraries is not None:
                items = trace.items[rows].tolist()
                holder_rates.append(hits_of_holders(providers, items, libraries, job["list"]) / len(rows))
        return {
            "list": job["list"],  # its size
            "consumers": len(rates),
            "hit_rate": _mean(rates),  # the provider is on the list
            "hit_rate_if_asked": _mean(holder_rates) if holder_rates else None,  # some peer on the list has the item
            "median": _mean([float(np.median(rates))]) if rates else None,
            "best_tenth": _mean([float(np.quantile(rates, 0.9))]) if rates else None,
            "curve": _sorted_curve(np.array(rates)),
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        trace = trace_of(world)
        served = times_served(trace)
        returns = [(past, *return_probability(served, past)) for past in PAST_COUNTS]
        curves = {past: shares for past, _, shares in returns if len(shares) >= MIN_CONSUMERS}
        by_chance = permuted_returns(trace, _groups(world, trace), list(curves), seed=seed)
        lists = [{key: value for key, value in outcome.items() if key != "curve"} for outcome in outcomes]
        kind: ClaimKind = "calibration" if isinstance(world, FileSharing) else "paper"
        return_rows = _return_rows(curves, by_chance)
        return Findings(
            claims=[_repeats(return_rows, _trend(returns), kind), _suffices(lists, _is_drawn(world), kind)],
            tables={"returns": return_rows, "lists": lists, "trace": _trace_rows(trace)},
            figures={
                "activity": _ranked_figure("Activity (figure 5.1)", "downloads", np.bincount(trace.consumers)),
                "interaction": _ranked_figure("Interaction (figure 5.2)", "people served by", np.bincount(served[0])),
                "returns": _returns_figure(curves),
                "lists": _lists_figure(outcomes),
            },
        )


def trace_of(world: StudyWorld) -> Trace:
    """Who was served by whom; in a graph whose links have times, each link is a service."""
    if isinstance(world, PeerNetwork):
        trace = world.sharing.trace
    elif isinstance(world, TimedLinkGraph):
        links = world.timed_links
        trace = Trace(links.sources, np.zeros(len(links.sources), np.int64), links.targets, links.times)
    else:
        raise UsageError(
            f"interest-locality needs people who ask others, which a {world.name} world does not have; choose"
            " file-sharing, lastfm:path=FOLDER or timed:path=FILE"
        )
    if not len(trace):
        raise UsageError("interest-locality needs people who are served by others, and there is none; give other data")
    return trace


def _groups(world: StudyWorld, trace: Trace) -> Ints:
    """Groups of downloads within which providers are permuted: categories of files, or a single group."""
    groups = world.sharing.categories_of(trace.items) if isinstance(world, PeerNetwork) else None
    return np.zeros(len(trace), np.int64) if groups is None else groups


def _is_drawn(world: StudyWorld) -> bool:
    """Whether providers were drawn at random, since the trace does not name them."""
    return isinstance(world, PeerNetwork) and not world.knows_providers


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 6) if values else None


def _sorted_curve(values: Any) -> list[list[float]]:
    """The quantiles of some values, as [share, value]."""
    if not len(values):
        return []
    levels = np.linspace(0.0, 1.0, POINTS + 1)
    return [[round(float(x), 4), round(float(y), 5)] for x, y in zip(levels, np.quantile(values, levels), strict=True)]


def _return_rows(curves: Mapping[int, Any], by_chance: Floats) -> list[Row]:
    return [
        {
            "past": past,
            "consumers": len(shares),
            "mean": round(float(shares.mean()), 6),
            "by_chance": round(summary(permuted.tolist()).mean, 6) if (permuted == permuted).any() else None,
            # Not `>=`: a permutation without such consumers (NaN) is no evidence against chance.
            "p": (1 + int((~(permuted < shares.mean())).sum())) / (1 + len(permuted)),
            "above_half": round(float((shares > 0.5).mean()), 6),
            "certain": round(float((shares == 1.0).mean()), 6),
        }
        for (past, shares), permuted in zip(curves.items(), by_chance.T, strict=True)
    ]


def _trend(returns: Sequence[tuple[int, Any, Any]]) -> float:
    """The p-value of Page's test over the consumers with a value for every number of past downloads."""
    usable = [(people, shares) for _, people, shares in returns if len(shares) >= MIN_CONSUMERS]
    if len(usable) < 3:
        return math.nan
    common_people = usable[0][0]
    for people, _ in usable[1:]:
        common_people = np.intersect1d(common_people, people)
    return p_of_trend([shares[np.searchsorted(people, common_people)].tolist() for people, shares in usable])


def _repeats(rows: Sequence[Row], p: float, kind: ClaimKind) -> Claim:
    means = [float(row["mean"]) for row in rows]
    failures = []
    if not (len(means) > 1 and all(after > before for before, after in pairwise(means))):
        failures.append(
            "the mean does not rise from each N to the next" if len(means) > 1 else "the trace is too short"
        )
    if not p < SIGNIFICANT:
        failures.append("too few for a trend" if math.isnan(p) else f"no sure trend over people (p = {p:.2g})")
    if rows and not rows[0]["p"] < SIGNIFICANT:
        failures.append(f"P(j,{rows[0]['past']}) is not significantly above chance (p = {rows[0]['p']:.2g})")
    return Claim(
        id="interest-locality.repeats",
        kind=kind,
        text="The more often somebody served a person, the more likely they do again: the mean of P(j,N) rises with N"
        " from each N to the next, and by Page's trend test over people. As it would rise by selection alone, the mean"
        f" of P(j,1), which everybody has, is also above that of {SHUFFLES} traces with providers dealt anew, within"
        " categories of files where there are such",
        paper="P > .5 for 30 % of people at N = 1, 50 % at N = 2; P = 1 for 65 % at N = 10",
        measured="; ".join(
            f"N = {row['past']}: mean {row['mean']:.3f}{_by_chance(row)}, P > .5 for {row['above_half']:.0%}, P = 1"
            f" for {row['certain']:.0%} of {row['consumers']}"
            for row in rows
        )
        or "nobody was served often enough",
        p=finite_or_none(max([p, *(float(row["p"]) for row in rows[:1])])),
        holds=not failures,
        reason="; ".join(failures),
    )


def _by_chance(row: Row) -> str:
    return "" if row["by_chance"] is None else f" ({row['by_chance']:.3f} dealt anew)"


def _suffices(rows: Sequence[Row], is_drawn: bool, kind: ClaimKind) -> Claim:
    column = "hit_rate_if_asked" if is_drawn else "hit_rate"
    rates = {row["list"]: row[column] for row in rows}
    unlimited_rate, short_rate = rates[None], rates[BUDDY_LIST_SIZE]
    share = short_rate / unlimited_rate if unlimited_rate else math.nan
    by_size = ", ".join(f"{size or '∞'}: {rate:.3f}" for size, rate in rates.items()) if unlimited_rate else ""
    suffices = bool(unlimited_rate) and bool(share >= SUFFICIENT_SHARE)
    note = "hits are whatever one on the list has, since who served whom is not known" if is_drawn else ""
    return Claim(
        id="interest-locality.small-list-suffices",
        kind=kind,
        text=f"A list of the {BUDDY_LIST_SIZE} last used gives at least {SUFFICIENT_SHARE:.0%} of the hits of an"
        f" unlimited one, for people who ask {MIN_QUERIES} times or more",
        paper="20 very close to unlimited; 2: median over .3, above .8 for the best tenth",
        measured=f"mean hit rate {by_size}; {BUDDY_LIST_SIZE} has {share:.0%} of unlimited"
        f"{f' ({note})' if note else ''}"
        if unlimited_rate
        else "no hits",
        holds=suffices,
        reason=""
        if suffices
        else f"{share:.0%} are less than {SUFFICIENT_SHARE:.0%}"
        if unlimited_rate
        else "there are no hits",
    )


def _trace_rows(trace: Trace) -> list[Row]:
    """The published figures of the Kazaa trace, and those of this trace."""
    asked = np.bincount(trace.consumers)
    asked = asked[asked > 0]
    partners = np.bincount(times_served(trace)[0])
    partners = partners[partners > 0]
    measured: dict[str, tuple[float, str]] = {
        "consumers": (len(asked), "> 90 000"),
        "providers": (len(np.unique(trace.providers)), "> 190 000"),
        "downloads": (len(trace), "1 200 000"),
        "files asked for": (len(np.unique(trace.items)), "~ 130 000"),
        "most downloads of one person": (int(asked.max()), "~ 10 000"),
        "people with fewer than 10 downloads": (round(float((asked < 10).mean()), 4), "~ .90"),
        "people served by 1": (round(float((partners == 1).mean()), 4), "> .75"),
        "people served by 1 or 2": (round(float((partners <= 2).mean()), 4), "> .85"),
        "people served by fewer than 10": (round(float((partners < 10).mean()), 4), "~ .95"),
        "people served by more than 100": (round(float((partners > 100).mean()), 4), "few"),
    }
    return [{"figure": figure, "measured": value, "paper": paper} for figure, (value, paper) in measured.items()]


def _ranked_figure(title: str, label: str, counts: Any) -> Figure:
    counts = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.linspace(0, max(0, len(counts) - 1), 4 * POINTS).round().astype(np.int64))
    points = [(100.0 * rank / len(counts), math.log10(counts[rank])) for rank in ranks] if len(counts) else []
    return Figure(
        title,
        "People from the most to the least active, in percent of them; the vertical axis is logarithmic.",
        line_chart([Series(label, points)], title=title, x_title="people, %", y_title=f"{label}, log10"),
    )


def _returns_figure(curves: Mapping[int, Any]) -> Figure:
    title = "Chance of coming back (figure 5.3)"
    series = [
        Series(f"{past} before", [(100 * x, y) for x, y in _sorted_curve(shares)]) for past, shares in curves.items()
    ]
    series += [Series(f"{past} before: paper", [point]) for past, point in PAPER_RETURNS.items()]
    return Figure(
        title,
        "P(j,N) of people in order: of those who served a person N times or more, the share that did so once more;"
        " and where the paper says its curves pass.",
        line_chart(series, title=title, x_title="people, %", y_title="P(j,N)", y_range=(0.0, 1.0)),
    )


def _lists_figure(outcomes: Sequence[JsonValue]) -> Figure:
    title = "Hit rate by size of list (figure 5.4)"
    series = [
        Series(f"{outcome['list'] or 'unlimited'}", [(100 * x, y) for x, y in outcome["curve"]]) for outcome in outcomes
    ]
    series += [Series(f"{size}: paper, at least", list(points)) for size, points in PAPER_LIST.items()]
    return Figure(
        title,
        f"People who asked {MIN_QUERIES} times or more, in order: how often who served them was on their list of those"
        " last used; and what the paper says its curve is above.",
        line_chart(series, title=title, x_title="people, %", y_title="hit rate", y_range=(0.0, 1.0)),
    )
