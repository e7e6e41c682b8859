"""The paper's figure 2, and the lift by crawls a day."""

from lycosa.pictures import line_chart
from lycosa_lab.recrawl_samplers import RECRAWL_SAMPLERS
from lycosa_lab.results import Figure
from lycosa_lab.tables import mean_curve

from .tables import AI, GAI, SAMPLE, Runs, name_of, rates_in, second_half

SHOWN = [*((GAI, policy) for policy in RECRAWL_SAMPLERS), (AI, "or"), (SAMPLE, "or")]


def over_time_figure(runs: Runs, rate: float, measure: str, title: str) -> Figure:
    series = []
    for pair in SHOWN:
        moments = list(zip(*runs[rate, pair], strict=True))  # of all runs at once
        samples = ([getattr(each, measure) for each in moment] for moment in moments)
        series.append(mean_curve(name_of(pair), (moment[0].day for moment in moments), samples))
    return Figure(
        title[0].upper() + title[1:],
        f"As figure 2 of the paper, {rate:g} crawls a day. Means over runs; thin bars are standard errors.",
        line_chart(series, title=title, x_title="day", y_title=title, percent=measure in ("crawl", "discovery")),
    )


def by_rate_figure(runs: Runs) -> Figure:
    rates = rates_in(runs)
    series = [
        mean_curve(name_of(pair), rates, (second_half(runs, rate, pair, "lift_crawled") for rate in rates))
        for pair in SHOWN
    ]
    title = "lift of pages crawled, by crawls a day"
    return Figure(
        "Lift of pages crawled, by crawls a day",
        "Over the second half of the time; the paper does not say how many crawls there were. Means over runs.",
        line_chart(series, title=title, x_title="crawls a day", y_title=title),
    )
