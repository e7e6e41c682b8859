"""The paper's figures 5 to 7, and the cost."""

from lycosa.pictures import Bar, GroupedBar, bar_chart, grouped_bars, line_chart
from lycosa_lab.assessors import LEARNERS
from lycosa_lab.results import Figure
from lycosa_lab.statistics import summary

from .runs import CRAWLERS
from .tables import TopicDrivenTables


def all_figures(tables: TopicDrivenTables) -> dict[str, Figure]:
    groups = {
        assessor: [
            GroupedBar(name, each.mean, each.standard_error)
            for name, values in tables.accepted(assessor).items()
            for each in [summary(values)]
        ]
        for assessor in LEARNERS
    }
    topics = f"Means over {len(tables.outcomes)} topics; thin bars are standard errors."
    costs = [Bar(name, summary(values).mean) for name, values in tables.milliseconds().items()]
    return {
        "classifiers": Figure(
            "Share of pages accepted by the classifiers",
            f"As figure 5 of the paper. {topics}",
            grouped_bars(groups, title="Share of pages accepted by the classifiers", y_title="share of pages"),
        ),
        "ranks": Figure(
            "Mean rank among the pooled pages",
            f"As figure 6 of the paper: lower is better. {topics}",
            line_chart(
                [tables.curve(name, "rank") for name in CRAWLERS],
                title="Mean rank of the pages fetched so far",
                x_title="pages fetched",
                y_title="mean rank",
            ),
        ),
        "similarity": Figure(
            "Mean similarity to the topic",
            f"As figure 7 of the paper: higher is better. {topics}",
            line_chart(
                [tables.curve(name, "similarity") for name in CRAWLERS],
                title="Mean similarity of the pages fetched so far",
                x_title="pages fetched",
                y_title="mean tf·idf cosine",
            ),
        ),
        "cost": Figure(
            "Cost of the strategies",
            "Processor milliseconds for each page, fetching, reading and similarity not counted.",
            bar_chart(costs, title="Processor ms per page"),
        ),
    }
