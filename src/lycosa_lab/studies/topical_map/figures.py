"""The paper's figures 4.6 to 4.10, 4.12 and 6.1, and the controls.

A page is good if P(topic | page) is above 0.5, seen if the first crawl fetched it, and else new. `shared` has the names
of the crawls, the constants.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lycosa.pictures import Series, histogram, line_chart
from lycosa.pictures.heat_map import heat_map
from lycosa_lab.results import Figure

from .shared import (
    AGAIN,
    BASELINE,
    BASELINE_LATER,
    BOTH_KINDS,
    CONTENT_CACHED,
    FIRST,
    MAPPED,
    MAPPED_AT_08,
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
    crawl_names: Sequence[str]
    curves: Mapping[str, str] = {"": "good"}  # what is counted, by the suffix of the labels of the curves
    has_optimum: bool = False  # whether it also has the curve of a crawl of good pages alone


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
        (BASELINE, RELATED, MAPPED, BOTH_KINDS),
        has_optimum=True,
    ),
    "controls": Chart(
        "Good pages, with the map and by remembering URLs or pages alone",
        "Content cached counts copies that cost no download.",
        (BASELINE, MAPPED, MAPPED_AT_08, URLS, CONTENT_CACHED),
    ),
    "half-a-year-on": Chart(
        "Good pages half a year after the first crawl, and on its day",
        "As figure 4.12 of the paper; what is gone counts as a download.",
        (BASELINE_LATER, MAPPED_LATER, URLS_LATER, BASELINE, MAPPED),
    ),
}


def all_figures(tables: MapTables) -> dict[str, Figure]:
    """All figures; charts of crawls that were not made are left out."""
    charts = {name: _chart_figure(chart, tables) for name, chart in CHARTS.items() if tables.has(chart.crawl_names[0])}
    return {"chances": _probability_figure(tables), **charts, "citations": _citation_figure(tables)}


def _chart_figure(chart: Chart, tables: MapTables) -> Figure:
    series = [
        Series(crawl_name + suffix, [(0.0, 0.0), *tables.mean_curve(crawl_name, name)])
        for crawl_name in chart.crawl_names
        if tables.has(crawl_name)
        for suffix, name in chart.curves.items()
    ]
    if chart.has_optimum:
        series.append(Series("optimal", [(0.0, 0.0), (float(tables.downloads), float(tables.downloads))]))
    svg = line_chart(series, title=chart.title, x_title="pages downloaded", y_title="pages")
    return Figure(chart.title, f"{chart.caption} Means over {len(tables.topics)} topics.", svg)


def _probability_figure(tables: MapTables) -> Figure:
    title = "Pages of the first crawls by their chance to be on the topic"
    counts = [sum(column) for column in zip(*(outcome["chances"] for outcome in tables.outcomes), strict=True)]
    svg = histogram(counts, split=0.5, split_label="good", title=title, x_title="P(topic | page)", y_title="pages")
    return Figure(title, f"As figure 4.6 of the paper: nearly all are near 0 or 1. {len(tables.topics)} crawls.", svg)


def _citation_figure(tables: MapTables) -> Figure:
    topics, counts = tables.citations()
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
