"""How fast strategies find the most linked pages of a static graph.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section II.

The targets, or authorities, are the k nodes of the highest in-degree. A crawl also ranks the nodes that it has fetched,
by their apparent in-degree: the links to them from nodes that it has fetched.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from lycosa.pictures import line_chart
from lycosa.standing.graph_files import graph_from_edges
from lycosa.strategies import CrawlAI, CrawlGAI
from lycosa.vocabulary.arrays import concatenated_ranges
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue, Page, Url
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.simulation import crawl
from lycosa_lab.statistics import finite_or_none, paired_t, spearman, summary
from lycosa_lab.study import Size
from lycosa_lab.tables import mean_curve
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.graphs import LinkGraph

Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]

BEST_LINKED = 8  # nodes with the most links in both directions


class Performance(Struct, frozen=True):
    """What a crawl has found of the targets."""

    nodes: int  # number of nodes fetched so far
    crawl: float  # crawl performance: the share of the targets that it has fetched
    rank: float  # rank performance: the share that are among the k best of its own ranking


class Linkers(Struct, frozen=True):
    """Among the nodes that link to authorities, the share that are well linked themselves."""

    share: float  # mean over the authorities
    spread: float  # standard deviation between authorities
    by_chance: float  # the expected spread if the linkers of all authorities were drawn from the same nodes


def as_graph(world: StudyWorld) -> LinkGraph:
    """The distinct links of a world, without self-links."""
    size = len(world)
    if isinstance(world, LinkGraph):
        sources, targets = np.repeat(np.arange(size), world.out_degrees()), world.graph.targets
    else:
        sources, targets = _arcs_of(world)
    keys = np.unique(sources.astype(np.int64) * size + targets)
    sources, targets = keys // size, keys % size
    is_other = sources != targets
    return LinkGraph(graph_from_edges(sources[is_other].astype(np.int32), targets[is_other].astype(np.int32), size))


def _arcs_of(world: StudyWorld) -> tuple[Ints, Ints]:
    numbers: dict[Url, int] = {url: number for number, url in enumerate(world.urls())}
    arcs = [(number, numbers[target]) for url, number in numbers.items() for target in world.out_links(url)]
    pairs = np.array(arcs, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def most_linked(graph: LinkGraph, k: int) -> Bools:
    """Which nodes are the k of the highest in-degree; among ties, those with the lowest numbers."""
    degrees = graph.in_degrees()
    are_targets = np.zeros(len(graph), np.bool_)
    are_targets[np.lexsort((np.arange(len(graph)), -degrees))[:k]] = True
    return are_targets


def linkers_of(graph: LinkGraph, k: int, well_linked_count: int) -> Linkers:
    """How the linkers of the 2 k most linked nodes differ; the `well_linked_count` most linked nodes are well linked.

    A greedy crawl sees mostly the links of well linked nodes. Ranking by these is as good as ranking by any others if
    the linkers of all authorities are alike.
    """
    are_well_linked = most_linked(graph, well_linked_count)
    have_well_linked_source = np.repeat(are_well_linked, graph.out_degrees())  # link by link
    links_from_well_linked = np.bincount(graph.graph.targets, weights=have_well_linked_source, minlength=len(graph))
    are_authorities = most_linked(graph, 2 * k) & (graph.in_degrees() > 0)
    linker_counts, well_linked_counts = graph.in_degrees()[are_authorities], links_from_well_linked[are_authorities]
    shares, overall_share = well_linked_counts / linker_counts, well_linked_counts.sum() / linker_counts.sum()
    by_chance = np.sqrt(np.mean(overall_share * (1 - overall_share) / linker_counts))
    return Linkers(float(shares.mean()), float(shares.std()), float(by_chance))


def performances(graph: LinkGraph, order: Ints, are_targets: Bools, points: Sequence[int]) -> Iterator[Performance]:
    """The performance of a crawl, which fetched nodes in this order, after each of these numbers of nodes.

    Its own ranking takes the k crawled nodes of the highest apparent in-degree, which counts only links of crawled
    nodes. For ties at the cutoff, it is the mean over all ways to break them.
    """
    k = int(are_targets.sum())
    apparent_degrees = np.zeros(len(graph), np.int64)
    done = 0
    for point in points:
        new = order[done:point]
        np.add.at(apparent_degrees, _link_targets_of(graph, new), 1)
        done = max(done, min(point, len(order)))
        crawled = order[:done]
        found = float(are_targets[crawled].sum()) / k
        yield Performance(done, found, _expected_hits(apparent_degrees[crawled], are_targets[crawled], k) / k)


def _link_targets_of(graph: LinkGraph, nodes: Ints) -> Ints:
    """The nodes to which some nodes link, concatenated."""
    offsets, targets = graph.graph.offsets, graph.graph.targets
    found: Ints = targets[concatenated_ranges(offsets[nodes], np.diff(offsets)[nodes])]
    return found


def _expected_hits(degrees: Ints, are_targets: Bools, k: int) -> float:
    """The expected number of targets among the k of the highest degrees."""
    if len(degrees) <= k:
        return float(are_targets.sum())
    cutoff = np.partition(degrees, len(degrees) - k)[len(degrees) - k]
    above, at_cutoff = degrees > cutoff, degrees == cutoff
    probability = (k - above.sum()) / at_cutoff.sum()
    return float(are_targets[above].sum() + probability * are_targets[at_cutoff].sum())


def choose_source(graph: LinkGraph, seed: int) -> int:
    """The node from which a crawl starts: a random one of the largest strongly connected component that contains one of
    the best linked nodes."""
    size, targets, outs = len(graph), graph.graph.targets, graph.out_degrees()
    sources = np.repeat(np.arange(size, dtype=np.int32), outs)
    backward = LinkGraph(graph_from_edges(targets, sources, size))
    best = np.argsort(-np.minimum(graph.in_degrees(), outs), kind="stable")[:BEST_LINKED].tolist()
    covered: set[int] = set()
    members = np.zeros(0, np.int64)
    for node in best:
        if node not in covered:
            found = np.flatnonzero(graph.reachable(node) & backward.reachable(node))
            covered.update(found.tolist())
            members = max(members, found, key=len)
    return int(np.random.default_rng(seed).choice(members))


Floats = NDArray[np.float64]

# Crawl-GAI fetches the node of the highest apparent in-degree, Crawl-AI draws one with a probability proportional to
# it; samples draw nodes by their true degrees (`SAMPLES`), as no crawler could.
GAI, AI, SAMPLE_I, SAMPLE_IO = "crawl-gai", "crawl-ai", "sample-i", "sample-io"
PUBLISHED = (GAI, AI, SAMPLE_I, SAMPLE_IO)  # those that the paper compares here
ALGORITHMS = (*PUBLISHED, "sample-u")
POINTS = 60  # of a curve
FIRST_FIFTH, MIDDLE = slice(0, POINTS // 5), POINTS // 2 - 1  # indices of points
CRAWL_SHARE = 0.3  # of the nodes: length of a crawl
LENGTHS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.3)  # shares of the nodes crawled, in the table of means
MIN_NODES_PER_TARGET = 100

SAMPLES: Mapping[str, Callable[[Ints, Ints], Floats]] = {  # baselines: weight of a node by in-degree and out-degree
    "sample-u": lambda ins, outs: np.ones(len(ins)),
    "sample-i": lambda ins, outs: ins.astype(np.float64),
    "sample-io": lambda ins, outs: (ins + outs).astype(np.float64),
}

Curves = Mapping[str, np.ndarray[tuple[int, int], np.dtype[np.float64]]]  # by algorithm: one row for each run


class AuthorityStatic:
    name = "authority-static"
    summary = "How fast strategies find the most linked pages of a graph, and whether they know which these are."
    scales: Mapping[str, Size] = {
        "small": {"nodes": 40_000, "links": 182_900, "k": 233, "runs": 5},  # k: number of targets
        "paper": {"nodes": 343_743, "links": 1_571_772, "k": 2_000, "runs": 5},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"kind": "blogs", "nodes": size["nodes"], "links": size["links"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return [{"algorithm": name, "seed": 1_000 * seed + run} for run in range(size["runs"]) for name in ALGORITHMS]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> Any:
        graph = as_graph(world)
        if not graph.in_degrees().any():
            raise UsageError(
                f"authority-static needs links between pages, and this {world.name} world has none; give a graph that"
                " has some, such as --world blogs"
            )
        return graph, most_linked(graph, _target_count(world, size))

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        graph, are_targets = prepared
        points = [max(1, round(CRAWL_SHARE * len(graph) * (number + 1) / POINTS)) for number in range(POINTS)]
        order = _crawl_order(job["algorithm"], graph, count=points[-1], seed=job["seed"])
        at_points = list(performances(graph, order, are_targets, points))
        return {
            "nodes": points,
            "crawled": len(order),
            "crawl": [round(each.crawl, 6) for each in at_points],
            "rank": [round(each.rank, 6) for each in at_points],
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        crawls, ranks = _curves(outcomes, "crawl"), _curves(outcomes, "rank")
        nodes = outcomes[0]["nodes"]
        shortest = min(outcome["crawled"] for outcome in outcomes)
        linkers = linkers_of(as_graph(world), _target_count(world, size), well_linked_count=nodes[MIDDLE])
        return Findings(
            claims=[_start_faster(crawls), _greedy_worst(crawls, ranks, linkers), _order_reverses(crawls, ranks)],
            tables={
                "means": _means(crawls, ranks),
                "curves": _rows(nodes, crawls, ranks),
                "set-up": [
                    {
                        "targets": _target_count(world, size),
                        "nodes": len(world),
                        "crawl": nodes[-1],  # length of a crawl, in nodes
                        "shortest": shortest,  # the same of the shortest one
                    }
                ],
                "linkers": [{name: round(value, 4) for name, value in asdict(linkers).items()}],
            },
            figures={
                "crawl-performance": _figure("Crawl performance", "targets brought home", nodes, crawls),
                "rank-performance": _figure("Rank performance", "targets that its own ranking has", nodes, ranks),
            },
        )


def _target_count(world: StudyWorld, size: Size) -> int:
    """The number of targets: that of the scale, but at most one node in a hundred."""
    k: int = size["k"]
    return max(1, min(k, len(world) // MIN_NODES_PER_TARGET))


def _crawl_order(algorithm: str, graph: LinkGraph, *, count: int, seed: int) -> Any:
    """The nodes that an algorithm fetches, in order."""
    if algorithm in SAMPLES:
        return sample_nodes(algorithm, graph.in_degrees(), graph.out_degrees(), count=count, seed=seed)
    strategy: Strategy = CrawlAI(seed=seed) if algorithm == AI else CrawlGAI()
    source: Any = choose_source(graph, seed)
    steps = crawl(strategy, [source], read=graph.read, judge=_unjudged, pages=count, buffer=len(graph))
    return np.array([step.url for step in steps], np.int64)


def sample_nodes(name: str, in_degrees: Ints, out_degrees: Ints, *, count: int, seed: int) -> Ints:
    """`count` nodes of a weighted sample without replacement, in the order drawn; never nodes of weight 0.

    Each node gets an exponential arrival time with rate `weight`; those with the smallest times are the sample.
    """
    weights = SAMPLES[name](in_degrees, out_degrees)
    nodes = np.flatnonzero(weights > 0)
    arrival_times = np.random.default_rng(seed).exponential(size=len(nodes)) / weights[nodes]
    if count < len(nodes):
        first = np.argpartition(arrival_times, count)[:count]
        nodes, arrival_times = nodes[first], arrival_times[first]
    return nodes[np.argsort(arrival_times)]


def _unjudged(page: Page) -> float:
    return 0.0


def _curves(outcomes: Sequence[JsonValue], measure: str) -> Curves:
    jobs = [ALGORITHMS[number % len(ALGORITHMS)] for number in range(len(outcomes))]
    return {
        name: np.array([outcome[measure] for outcome, job in zip(outcomes, jobs, strict=True) if job == name])
        for name in ALGORITHMS
    }


def _start_faster(crawls: Curves) -> Claim:
    early = {name: curves[:, FIRST_FIFTH].mean(axis=1) for name, curves in crawls.items()}
    tests = {name: paired_t(early[name].tolist(), early[SAMPLE_I].tolist()) for name in (GAI, AI)}
    failures = [f"{name} is not above {SAMPLE_I}" for name, test in tests.items() if not test.difference > 0]
    return Claim(
        id="authority-static.crawlers-start-faster",
        kind="paper",
        text=f"Over the first fifth of the crawl, {GAI} and {AI} have both found more of the targets than {SAMPLE_I},"
        " which knows every in-degree",
        paper="Crawl-GAI and Crawl-AI find high-indegree nodes even faster than Sample-I, at least at the beginning",
        measured="; ".join(f"{name} {summary(early[name].tolist()):.3f}" for name in ALGORITHMS),
        p=finite_or_none(max(test.p for test in tests.values())),
        holds=not failures,
        reason=_why_not_faster(failures, crawls) if failures else "",
    )


def _why_not_faster(failures: Sequence[str], crawls: Curves) -> str:
    begun = ", ".join(f"{name} has {crawls[name][:, 0].mean():.1%} of them" for name in (GAI, AI, SAMPLE_I))
    return (
        f"{'; '.join(failures)}: from one page a crawl sees what lies near it, and here that holds few of the targets"
        f" (after a sixtieth of the crawl {begun})"
    )


def _greedy_worst(crawls: Curves, ranks: Curves, linkers: Linkers) -> Claim:
    middle = {name: ranks[name][:, MIDDLE] for name in ALGORITHMS}
    others = [name for name in PUBLISHED if name != GAI]
    means = {name: float(middle[name].mean()) for name in PUBLISHED}
    tests = [paired_t(middle[GAI].tolist(), middle[name].tolist()) for name in others]
    holds = all(means[GAI] < means[name] for name in others)
    return Claim(
        id="authority-static.greedy-ranks-worst",
        kind="paper",
        text=f"At mid-crawl, {GAI}'s rank performance is the lowest of {', '.join(PUBLISHED)} ({ALGORITHMS[-1]}, which"
        " the paper leaves out here, finds too little to rank)",
        paper="the greedy Crawl-GAI algorithm is the worst for this measure",
        measured="; ".join(f"{name} {summary(middle[name].tolist()):.3f}" for name in ALGORITHMS),
        p=finite_or_none(max(test.p for test in tests)),
        holds=holds,
        reason="" if holds else _why_not_worst(means, crawls, ranks, linkers),
    )


def _why_not_worst(means: Mapping[str, float], crawls: Curves, ranks: Curves, linkers: Linkers) -> str:
    lowest = min(means, key=lambda name: means[name])
    missed = {name: _missed_share(crawls, ranks, name) for name in PUBLISHED}
    worst = max(missed, key=lambda name: missed[name])
    found_share = crawls[lowest][:, MIDDLE].mean()
    return (
        f"{lowest} is lowest, which has found {found_share:.0%} of the targets by then; of those found over the"
        f" first fifth, the rankings miss {', '.join(f'{name} {missed[name]:.0%}' for name in PUBLISHED)}:"
        f" {worst}'s is the worst judge of what it has, the others have less to judge. The share of well linked"
        f" pages among the linkers of an authority is {linkers.share:.0%} ± {linkers.spread:.3f}, where chance alone"
        f" would make it ± {linkers.by_chance:.3f}: the more alike these are, the better does a ranking by the links"
        " of well linked pages do"
    )


def _missed_share(crawls: Curves, ranks: Curves, name: str) -> float:
    """The share of targets found in the first fifth of the crawl that the algorithm's own ranking misses."""
    found, known = crawls[name][:, FIRST_FIFTH].mean(), ranks[name][:, FIRST_FIFTH].mean()
    return float(1 - known / found) if found else 0.0


def _order_reverses(crawls: Curves, ranks: Curves) -> Claim:
    early = {name: float(crawls[name][:, FIRST_FIFTH].mean()) for name in PUBLISHED}
    middle = {name: float(ranks[name][:, MIDDLE].mean()) for name in PUBLISHED}
    rho = spearman(list(early.values()), list(middle.values())).rho
    return Claim(
        id="authority-static.order-reverses",
        kind="paper",
        text="The order by rank performance is nearly that by crawl performance reversed",
        paper="the relative order of the algorithms has nearly reversed",
        measured=f"by crawl performance over the first fifth {_in_order(early)}; by rank performance at mid-crawl"
        f" {_in_order(middle)}; Spearman's ρ of the two {rho:.2f}; missed by the rankings over the first fifth "
        + ", ".join(f"{name} {_missed_share(crawls, ranks, name):.0%}" for name in PUBLISHED),
        holds=None,
    )


def _in_order(values: Mapping[str, float]) -> str:
    return " > ".join(f"{name} {values[name]:.3f}" for name in sorted(values, key=lambda name: -values[name]))


def _means(crawls: Curves, ranks: Curves) -> list[Row]:
    rows: list[Row] = []
    for measure, curves in (("crawl", crawls), ("rank", ranks)):
        for label, span in _table_spans().items():
            for name in ALGORITHMS:
                found = summary(curves[name][:, span].mean(axis=1).tolist())
                rows.append(
                    {
                        "measure": f"{measure} performance {label}",
                        "strategy": name,
                        "mean": found.mean,
                        "standard_error": finite_or_none(found.standard_error),
                    }
                )
    return rows


def _table_spans() -> Mapping[str, slice]:
    """The parts of the curves in the table of means."""
    ends = {f"at {length:.0%} of the nodes": round(length / CRAWL_SHARE * POINTS) - 1 for length in LENGTHS}
    return {"over the first fifth": FIRST_FIFTH, **{label: slice(end, end + 1) for label, end in ends.items()}}


def _rows(nodes: Sequence[int], crawls: Curves, ranks: Curves) -> list[Row]:
    return [
        {
            "algorithm": name,
            "nodes": count,
            "crawl": round(float(crawls[name][:, point].mean()), 6),
            "rank": round(float(ranks[name][:, point].mean()), 6),
        }
        for name in ALGORITHMS
        for point, count in enumerate(nodes)
    ]


def _figure(title: str, y_title: str, nodes: Sequence[int], curves: Curves) -> Figure:
    series = [mean_curve(name, nodes, (column.tolist() for column in curves[name].T)) for name in ALGORITHMS]
    return Figure(
        title,
        "As figure 1 of the paper: the share of the most linked pages, by nodes crawled. Means over runs; thin bars are"
        " standard errors.",
        line_chart(series, title=title, x_title="nodes crawled", y_title=y_title, percent=True),
    )
