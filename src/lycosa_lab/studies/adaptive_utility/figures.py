"""The paper's figures 8 to 11 and 14 (d), and how much is left to gain: the front of topicality and status.

The front has the true topicality and the status of all pages of every setting, for each kind of crawler.
"""

from math import ceil, floor

from lycosa.pictures import Series, line_chart
from lycosa_lab.crawl_tables import STATUS, STATUS_OF_ALL, TOPICALITY, TRUE_TOPICALITY, CrawlTables
from lycosa_lab.measures import points_along
from lycosa_lab.results import Figure, Row
from lycosa_lab.test_bed import ALPHA_POINTS

from .runs import ADAPTIVE, ADAPTIVE_07, ADAPTIVE_AND_TOPIC_ONLY, CRAWLERS, FIXED_HALF, START_ALPHA


def all_figures(tables: CrawlTables, long: CrawlTables) -> dict[str, Figure]:
    points = points_along(tables.pages, ALPHA_POINTS)
    alphas = [
        Series(setting, [(0.0, START_ALPHA), *zip(map(float, points), tables.alpha(setting), strict=True)])
        for setting in ADAPTIVE
    ]
    means = {measure: tables.means(measure) for measure in (TRUE_TOPICALITY, STATUS_OF_ALL)}
    front = [
        Series(name, [(means[TRUE_TOPICALITY][setting], means[STATUS_OF_ALL][setting]) for setting in settings])
        for name, settings in CRAWLERS.items()
    ]
    heights = list(means[STATUS_OF_ALL].values())
    return {
        "topicality": tables.curve_figure(TOPICALITY, ADAPTIVE, figure="8 (a)"),
        "topicality-by-target": tables.bar_figure(TOPICALITY, [FIXED_HALF, *ADAPTIVE], figure="8 (b)"),
        "status": tables.curve_figure(STATUS, ADAPTIVE, figure="9 (a)"),
        "status-by-target": tables.bar_figure(STATUS, [FIXED_HALF, *ADAPTIVE], figure="9 (b)"),
        "alpha": Figure(
            "α along the crawl",
            f"As figure 10 of the paper: means over {len(tables.outcomes)} topics. The crawler's own examples, with"
            " which it begins, are judged by models that have not seen them.",
            line_chart(alphas, title="α along the crawl", x_title="pages fetched", y_title="α", y_range=(0.0, 1.0)),
        ),
        "long-topicality": long.curve_figure(TOPICALITY, ADAPTIVE_AND_TOPIC_ONLY, figure="11 (a)"),
        "long-status": long.curve_figure(STATUS, ADAPTIVE_AND_TOPIC_ONLY, figure="11 (b)"),
        "map-adaptive": tables.heat_map_figure(ADAPTIVE_07, figure="14 (d)"),
        "front": Figure(
            "How much is left to gain",
            "Topicality by the world's own truth and mean status of all pages, for fixed weights α = 0 to 1, for"
            " targets δ = .6 to .9, as published and with links that stay comparable (ranked), and for a greedy"
            " crawler that knows the truth; up and to the right is better.",
            line_chart(
                front,
                title="How much is left to gain",
                x_title="share of pages truly on topic",
                y_title="mean ln(1 + in-links) of all pages",
                y_range=(floor(min(heights)), ceil(max(heights))),
            ),
        ),
    }


def front_rows(tables: CrawlTables) -> list[Row]:
    return [
        {
            "crawler": crawler,
            "setting": setting,
            TRUE_TOPICALITY: round(tables.mean(TRUE_TOPICALITY, setting), 6),
            STATUS_OF_ALL: round(tables.mean(STATUS_OF_ALL, setting), 6),
        }
        for crawler, settings in CRAWLERS.items()
        for setting in settings
    ]
