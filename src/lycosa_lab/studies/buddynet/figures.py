"""The paper's figures 5.5 and 5.7 to 5.12.

A hit is a query that an index or a buddy answered, without a walk. Windows are stretches of successive queries.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lycosa.pictures import GroupedBar, Series, grouped_bars, line_chart
from lycosa.pictures.svg import COLOURS, FAINT, GRID, INK, PAPER, element, empty_figure, figure, text
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Figure, Row
from lycosa_lab.worlds.peer_networks import PeerNetwork

from .runs import ALGORITHMS, BUDDYNET, WALK, WALK_WITH_BUDDY_LIST
from .tables import PAPER as PUBLISHED
from .tables import PAPER_HIT_RATE, PAPER_TRANSFERS, column_of, mean_of

MAX_COLOURS = 6  # of interests
_REPLICATION_TITLE = "share of peers that have a file, mean over all files"  # of an axis


def all_figures(
    world: PeerNetwork,
    runs: Sequence[Row],
    windows: Sequence[Row],
    replicated: Sequence[Row],
    cluster: Mapping[str, JsonValue],
    neighbourhood: Mapping[str, JsonValue],
) -> dict[str, Figure]:
    copies = world.sharing.libraries.transposed(world.sharing.item_count).lengths()
    return {
        "messages": _bars(runs, "messages", "Messages per query (tables 5.2 to 5.4)"),
        "paths": _bars(runs, "path_length", "Path length (tables 5.2 to 5.4)"),
        "answered": _bars(runs, "answered", "Share of queries that got a response (tables 5.2 to 5.4)"),
        "architecture": _architecture(neighbourhood),
        "degrees": _ranked("Neighbours (figure 5.7)", "neighbours", np.diff(world.graph.offsets), "peers"),
        "copies": _ranked("Copies of files (figure 5.8)", "copies", copies, "files"),
        "replication-messages": _replication(replicated, "messages", "Messages by replication (figure 5.9 a)"),
        "replication-paths": _replication(replicated, "path_length", "Path length by replication (figure 5.9 b)"),
        "replication-hits": _replicated_hits(replicated),
        "transfers": _transfers(windows),
        "hits": _hits(windows),
        "clusters": _clusters(cluster),
    }


def _bars(runs: Sequence[Row], metric: str, title: str) -> Figure:
    shown = {"": metric, ": back": "messages_back"} if metric == "messages" else {"": metric}
    groups = {}
    for churns, label in ((False, "static"), (True, "churn")):
        for suffix, column in shown.items():
            groups[f"{label}{suffix}"] = [GroupedBar(name, mean_of(runs, name, churns, column)) for name in ALGORITHMS]
        groups[f"{label}: paper"] = [
            GroupedBar(name, float(getattr(PUBLISHED.get((churns, name)), metric, math.nan))) for name in ALGORITHMS
        ]
    back = " Back: if responses went back through all peers that their query came through, as in the paper."
    return Figure(
        title,
        "Means over runs, second half of the queries, where peers stay (static) and where they come and go (churn), and"
        f" what the paper reports, where it does.{back if metric == 'messages' else ''}",
        grouped_bars(groups, title=title, y_title=metric.replace("_", " ")),
    )


def _log_points(numbers: Sequence[float], counts: Sequence[float]) -> list[tuple[float, float]]:
    return [(math.log10(x), math.log10(y)) for x, y in zip(numbers, counts, strict=True) if x > 0 and y > 0]


def _ranked(title: str, quantity: str, values: NDArray[Any], owners: str) -> Figure:
    ordered = np.sort(values)[::-1]
    ranks = np.unique(np.geomspace(1, max(1, len(ordered)), 80).round().astype(int))
    points = _log_points(ranks.tolist(), ordered[ranks - 1].tolist())
    return Figure(
        title,
        f"{owners.capitalize()} from the one with most {quantity} down; both axes are logarithmic.",
        line_chart(
            [Series(quantity, points)],
            title=title,
            x_title=f"{owners} in order, log10 of their place",
            y_title=f"{quantity}, log10",
        ),
    )


def _replication(rows: Sequence[Row], metric: str, title: str) -> Figure:
    series = []
    for peers in dict.fromkeys(row["peers"] for row in rows):
        own = [row for row in rows if row["peers"] == peers]
        for algorithm, paper_name in ((WALK, "walk"), (BUDDYNET, "buddynet")):
            series.append(_logarithmic(f"{algorithm}, {peers} peers", own, column_of(algorithm, metric)))
            series.append(_logarithmic(f"{algorithm}, {peers}: paper", own, f"paper_{paper_name}_{metric}"))
    return Figure(
        title,
        "By the share of peers that have a file, the mean over all files of the catalogue, and what the paper reports,"
        " for the two ends only; the vertical axis is logarithmic.",
        line_chart(series, title=title, x_title=_REPLICATION_TITLE, y_title=f"{metric.replace('_', ' ')}, log10"),
    )


def _logarithmic(name: str, rows: Sequence[Row], column: str) -> Series:
    known = [(row["replication"], row[column]) for row in rows if row[column] is not None]
    return Series(name, [(factor, math.log10(max(0.01, value))) for factor, value in known])


def _replicated_hits(rows: Sequence[Row]) -> Figure:
    title = "Hit rate by replication (figure 5.9 c)"
    series = [
        Series(
            name,
            [(row["replication"], row[column]) for row in rows if row["peers"] == peers and row[column] is not None],
        )
        for peers in dict.fromkeys(row["peers"] for row in rows)
        for name, column in ((f"{peers} peers", "hit_rate"), (f"{peers} peers: paper", "paper_hit_rate"))
    ]
    return Figure(
        title,
        "The share of BuddyNet's queries that an index or a buddy answered, and what the paper reports.",
        line_chart(series, title=title, x_title=_REPLICATION_TITLE, y_title="hit rate", y_range=(0.0, 1.0)),
    )


def _over_queries(windows: Sequence[Row], names: Sequence[str], column: str) -> list[Series]:
    return [
        Series(
            f"{name}, peers {'come and go' if churns else 'stay'}",
            [(row["until"], row[column]) for row in windows if row["algorithm"] == name and row["churns"] is churns],
        )
        for name in names
        for churns in (False, True)
    ]


def _transfers(windows: Sequence[Row]) -> Figure:
    title = "Index transfers (figure 5.10)"
    return Figure(
        title,
        "Whole indexes transferred so far; in the first run, and what the paper reports.",
        line_chart(
            [*_over_queries(windows, (BUDDYNET,), "transfers_so_far"), Series("paper", list(PAPER_TRANSFERS.items()))],
            title=title,
            x_title="queries",
            y_title="transfers",
        ),
    )


def _hits(windows: Sequence[Row]) -> Figure:
    title = "Hit rate (figure 5.11)"
    since, rate = PAPER_HIT_RATE
    last = max((float(row["until"]) for row in windows), default=0.0)
    paper = Series("paper", [(float(since), rate), (max(last, float(since)), rate)])
    return Figure(
        title,
        "The share of queries, stretch by stretch, that an index or a buddy answered; in the first run. In the paper it"
        " stays at about 80 %.",
        line_chart(
            [*_over_queries(windows, (BUDDYNET, WALK_WITH_BUDDY_LIST), "hit_rate"), paper],
            title=title,
            x_title="queries",
            y_title="hit rate",
            y_range=(0.0, 1.0),
        ),
    )


def _clusters(cluster: Mapping[str, JsonValue]) -> Figure:
    title = "Buddies in two dimensions (figure 5.12)"
    places, interests = cluster["places"], cluster["only_interest"]
    distances = {
        each: _distance_from_middle(places, interests, each)
        for each in sorted({each for each in interests if each >= 0})
    }
    farthest = sorted(distances, key=lambda each: -distances[each])[:MAX_COLOURS]
    colours = dict(zip(farthest, COLOURS, strict=False))
    width, height, edge = 760.0, 520.0, 30.0
    xs, ys = ([place[axis] for place in places] for axis in (0, 1))
    spans = [max(values) - min(values) or 1.0 for values in (xs, ys)]
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    order = sorted(range(len(places)), key=lambda peer: interests[peer] in colours)  # coloured ones on top
    for peer in order:
        x = edge + (width - 2 * edge) * (xs[peer] - min(xs)) / spans[0]
        y = height - edge - (height - 2 * edge) * (ys[peer] - min(ys)) / spans[1]
        colour = colours.get(interests[peer], "#b8bfc6")
        parts.append(element("circle", cx=x, cy=y, r=3.0, fill=colour, fill_opacity=0.75))
    return Figure(
        title,
        "Every dot is a peer; near each other are those with the same buddies. Coloured are peers with one interest"
        f" only, of the {MAX_COLOURS} interests whose peers stand farthest from the middle.",
        figure(width, height, parts, title=title),
    )


def _distance_from_middle(places: Sequence[Sequence[float]], interests: Sequence[int], interest: int) -> float:
    """The distance from the centre of the centroid of peers with only this interest."""
    own = [place for place, each in zip(places, interests, strict=True) if each == interest]
    return math.hypot(*(sum(place[axis] for place in own) / len(own) for axis in (0, 1)))


def _architecture(found: Mapping[str, JsonValue]) -> Figure:
    title = "A peer, its neighbours and its buddies (figure 5.5)"
    width, height = 760.0, 420.0
    neighbours = [peer for peer in found["neighbours"] if peer not in found["buddies"]]
    drawn_peers = [*((peer, "neighbour") for peer in neighbours), *((peer, "buddy") for peer in found["buddies"])]
    if not drawn_peers:
        return Figure(title, "Nobody has buddies yet.", empty_figure(width, height, title=title))
    middle_x, middle_y = width / 2, height / 2
    lines, dots = [], []
    for index, (peer, kind) in enumerate(drawn_peers):
        angle = 2 * math.pi * index / len(drawn_peers)
        x, y = middle_x + 250 * math.cos(angle), middle_y + 165 * math.sin(angle)
        is_indexed = peer in found["indexed"]
        colour = COLOURS[0] if kind == "buddy" else FAINT
        style = {"stroke_dasharray": "4 4"} if kind == "neighbour" else {}
        thick = 4.0 if is_indexed else 1.5
        lines.append(element("line", x1=middle_x, y1=middle_y, x2=x, y2=y, stroke=colour, stroke_width=thick, **style))
        dots.append(element("circle", cx=x, cy=y, r=17.0, fill=PAPER, stroke=colour, stroke_width=2.0))
        dots.append(text(x, y + 4.5, str(peer), fill=INK, text_anchor="middle", font_size=11))
    dots.append(element("circle", cx=middle_x, cy=middle_y, r=20.0, fill=GRID, stroke=INK, stroke_width=2.0))
    dots.append(text(middle_x, middle_y + 4.5, str(found["peer"]), fill=INK, text_anchor="middle", font_size=11))
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER), *lines, *dots]
    return Figure(
        title,
        "The peer of the first run that holds most indexes: neighbours on the overlay (dashed), buddies (lines), and"
        " buddies whose index it holds (bold).",
        figure(width, height, parts, title=title),
    )
