"""The paper's figures 4.6 to 4.10, 4.12 and 6.1, and the controls."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lycosa.lab.results import Figure
from lycosa.pictures import Series, histogram, line_chart
from lycosa.pictures.heat_map import heat_map

from .shared import (
    AGAIN,
    BASELINE,
    BASELINE_LATER,
    BOTH,
    CONTENT,
    FIRST,
    KEEN,
    MAPPED,
    MAPPED_LATER,
    RELATED,
    URLS,
    URLS_LATER,
)
from .tables import MapTables


class Chart(NamedTuple):
    """Curves of some crawls, their means over topics."""

    title: str
    caption: str
    kinds: Sequence[str]
    curves: Mapping[str, str] = {"": "good"}  # by what is said of each beside the kind of crawl
    has_optimum: bool = False


CHARTS: Mapping[str, Chart] = {
    "same-topic": Chart(
        "Good pages, crawling the same topic again",
        "As figure 4.7 of the paper.",
        (BASELINE, MAPPED, FIRST, AGAIN),
        has_optimum=True,
    ),
    "overlap": Chart(
        "Pages that the first crawl had seen",
        "As figure 4.8 of the paper.",
        (BASELINE, MAPPED, AGAIN, URLS),
        curves={"": "seen"},
    ),
    "new-pages": Chart(
        "Pages that the first crawl had not seen, and good ones among them",
        "As figure 4.9 of the paper.",
        (BASELINE, MAPPED),
        curves={", new": "new", ", new and good": "new_good"},
    ),
    "related-topic": Chart(
        "Good pages, with a map from a crawl of a related topic",
        "As figure 4.10 of the paper.",
        (BASELINE, RELATED, MAPPED, BOTH),
        has_optimum=True,
    ),
    "controls": Chart(
        "Good pages, with the map and by remembering URLs or pages alone",
        "Content cached counts copies that cost no download.",
        (BASELINE, MAPPED, KEEN, URLS, CONTENT),
    ),
    "half-a-year-on": Chart(
        "Good pages half a year after the first crawl, and on its day",
        "As figure 4.12 of the paper; what is gone counts as a download.",
        (BASELINE_LATER, MAPPED_LATER, URLS_LATER, BASELINE, MAPPED),
    ),
}


def all_figures(figures: MapTables) -> dict[str, Figure]:
    """Of all that was crawled."""
    charts = {name: _drawn(chart, figures) for name, chart in CHARTS.items() if figures.has(chart.kinds[0])}
    return {"chances": _chances(figures), **charts, "citations": _citations(figures)}


def _drawn(chart: Chart, figures: MapTables) -> Figure:
    series = [
        Series(kind + said, [(0.0, 0.0), *figures.mean_curve(kind, name)])
        for kind in chart.kinds
        if figures.has(kind)
        for said, name in chart.curves.items()
    ]
    if chart.has_optimum:
        series.append(Series("optimal", [(0.0, 0.0), (float(figures.downloads), float(figures.downloads))]))
    svg = line_chart(series, title=chart.title, x_title="pages downloaded", y_title="pages")
    return Figure(chart.title, f"{chart.caption} Means over {len(figures.topics)} topics.", svg)


def _chances(figures: MapTables) -> Figure:
    title = "Pages of the first crawls by their chance to be on the topic"
    counts = [sum(column) for column in zip(*(outcome["chances"] for outcome in figures.outcomes), strict=True)]
    svg = histogram(counts, split=0.5, split_label="good", title=title, x_title="P(topic | page)", y_title="pages")
    return Figure(title, f"As figure 4.6 of the paper: nearly all are near 0 or 1. {len(figures.topics)} crawls.", svg)


def _citations(figures: MapTables) -> Figure:
    topics, counts = figures.citations()
    title = "Links among topics in the first crawls"
    svg = heat_map(
        counts,
        title=title,
        x_title="topic linked to",
        y_title="topic of the page",
        names=topics,
        width=640.0,
        height=560.0,
    )
    return Figure(title, "As figure 6.1 of the paper, which shows the matrix of Chakrabarti et al. (2002).", svg)
