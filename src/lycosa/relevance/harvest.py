"""Confidence intervals of the harvest rate, the share of stored pages that are relevant."""

from math import exp, log, sqrt
from typing import Literal

Calibration = Literal["crawl", "negatives", "rule"]  # how relevance is calibrated

_Z_90 = 1.645  # z-score of an interval that covers 90 %
# Standard deviation of logit(true share) below and above logit(estimate), over crawls whose truth is known.
_LOGIT_ERRORS = {
    "crawl": (0.9, 1.8),  # the estimate is too low if most of a crawl is on the topic
    "negatives": (3.0, 0.6),  # it is too high if the pages of a crawl are nearer to the topic than the negatives
}


def harvest_interval(relevant: int, pages: int, calibration: Calibration = "crawl") -> tuple[float, float]:
    """A 90 % interval for the true share of relevant pages, fitted on crawls whose truth is known:

        logit(share) = logit(h) ± 1.645 * sqrt(error² + 1 / (n * h * (1 - h))),    h = (relevant + 1/2) / (n + 1)

    where n is the number of stored pages, `relevant` the number of those with a relevance of 0.5 or more, and error the
    standard deviation of logit(share) around logit(h) in large crawls: below and above, 0.9 and 1.8 for models
    calibrated by the crawl itself, 3.0 and 0.6 for those calibrated by negatives, as measured on the development topics
    of the study `league` (docs/studies/league.md). A rule has no error, since it defines the truth. The interval is
    widened, if need be, to include relevant / n. It is too narrow where nearly every page is relevant.

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
    below, above = (
        _Z_90 * sqrt(error**2 + 1.0 / (pages * rate * (1.0 - rate))) for error in _LOGIT_ERRORS[calibration]
    )
    low, high = (1.0 / (1.0 + exp(-logit)) for logit in (middle - below, middle + above))
    return min(low, relevant / pages), max(high, relevant / pages)


def wilson_interval(good: int, drawn: int) -> tuple[float, float]:
    """The 90 % Wilson score interval of a share, if `good` of `drawn` random pages have the property.

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
