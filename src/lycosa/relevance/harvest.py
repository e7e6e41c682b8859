"""Confidence intervals of the harvest rate, the share of stored pages that are relevant."""

from math import exp, log, sqrt
from typing import Literal

Calibration = Literal["crawl", "negatives", "rule"]  # what tells relevant pages from others

_Z_90 = 1.645  # z-score of an interval that covers 90 %
_ERRORS = {  # by how much logit(estimate) exceeds logit(true share), or falls short of it, over crawls of known truth
    "crawl": (0.9, 1.8),  # too low where most of a crawl is on the topic, which a few examples do not tell
    "negatives": (3.0, 0.6),  # too high where what a crawl meets is nearer to the topic than the negatives are
}


def harvest_interval(relevant: int, pages: int, calibration: Calibration = "crawl") -> tuple[float, float]:
    """The interval in which the true share of relevant pages lay in nine of ten crawls whose truth is known:

        logit(share) = logit(h) ± 1.645 * sqrt(error² + 1 / (n * h * (1 - h))),    h = (relevant + 1/2) / (n + 1)

    The errors below and above are 0.9 and 1.8 for models that the crawl itself calibrates, 3.0 and 0.6 for those that
    negatives calibrate, as the development topics of the league have them; a rule has none, being the truth by itself.

    >>> low, high = harvest_interval(60, 300)
    >>> round(low, 2), round(high, 2)
    (0.05, 0.83)
    >>> low, high = harvest_interval(210, 300, "negatives")
    >>> round(low, 2), round(high, 2)
    (0.02, 0.86)
    >>> harvest_interval(60, 300, "rule")
    (0.2, 0.2)
    """
    if calibration == "rule":
        return (relevant / pages, relevant / pages) if pages else (0.0, 0.0)
    if not pages:
        return 0.0, 1.0
    rate = (relevant + 0.5) / (pages + 1.0)
    middle = log(rate / (1.0 - rate))
    below, above = (_Z_90 * sqrt(error**2 + 1.0 / (pages * rate * (1.0 - rate))) for error in _ERRORS[calibration])
    low, high = (1.0 / (1.0 + exp(-logit)) for logit in (middle - below, middle + above))
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
