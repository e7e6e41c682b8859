"""Confidence intervals of the harvest rate, the share of stored pages that are relevant."""

from math import exp, log, sqrt
from typing import Literal

Calibration = Literal["crawl", "negatives", "rule"]  # what tells relevant pages from others

_Z_90 = 1.645  # z-score of an interval that covers 90 %
_ERROR = {  # standard deviation of logit(true share) - logit(estimate), over crawls whose truth is known
    "crawl": 0.6,
    "negatives": 1.1,  # which may be nearer to the topic than what a crawl meets, or further away
}


def harvest_interval(relevant: int, pages: int, calibration: Calibration = "crawl") -> tuple[float, float]:
    """The interval in which the true share of relevant pages lay in nine of ten crawls whose truth is known:

        logit(share) = logit(h) ± 1.645 * sqrt(error² + 1 / (n * h * (1 - h))),    h = (relevant + 1/2) / (n + 1)

    The error is 0.6 for models that the crawl itself calibrates, as it was found on Wikipedia for Schools, 1.1 for
    those that negatives calibrate, as the league and the demo have it, and none for a rule, which is the truth by
    itself.

    >>> low, high = harvest_interval(60, 300)
    >>> round(low, 2), round(high, 2)
    (0.08, 0.41)
    >>> harvest_interval(60, 300, "rule")
    (0.2, 0.2)
    """
    if calibration == "rule":
        return (relevant / pages, relevant / pages) if pages else (0.0, 0.0)
    if not pages:
        return 0.0, 1.0
    rate = (relevant + 0.5) / (pages + 1.0)
    middle = log(rate / (1.0 - rate))
    error = _Z_90 * sqrt(_ERROR[calibration] ** 2 + 1.0 / (pages * rate * (1.0 - rate)))
    low, high = (1.0 / (1.0 + exp(-(middle + side * error))) for side in (-1.0, 1.0))
    return min(low, relevant / pages), max(high, relevant / pages)


def wilson_interval(good: int, drawn: int) -> tuple[float, float]:
    """The Wilson score interval of a share, 90 %, where `good` of `drawn` pages drawn at random have the property.

    >>> low, high = wilson_interval(12, 20)
    >>> round(low, 2), round(high, 2)
    (0.42, 0.76)
    """
    if not drawn:
        return 0.0, 1.0
    share, weight = good / drawn, _Z_90**2 / drawn
    middle = (share + weight / 2) / (1 + weight)
    half = _Z_90 / (1 + weight) * sqrt(share * (1 - share) / drawn + weight / (4 * drawn))
    return max(0.0, middle - half), min(1.0, middle + half)
