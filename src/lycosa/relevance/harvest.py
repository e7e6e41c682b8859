"""How far the harvest rate can be trusted: the share of pages that a model calls relevant is an estimate."""

from math import exp, log, sqrt

MODEL_ERROR = 0.6  # standard deviation of logit(true share) - logit(estimate), over crawls whose truth is known
_NORMAL = 1.645  # quantile of the normal distribution, for an interval that covers 90 %


def harvest_interval(relevant: int, pages: int, *, by_rule: bool = False) -> tuple[float, float]:
    """The interval in which the true share of relevant pages lies in nine crawls of ten, by experience:

        logit(share) = logit(h) ± 1.645 * sqrt(0.6² + 1 / (n * h * (1 - h))),    h = (relevant + 1/2) / (n + 1)

    0.6 is the error of models taught by a few examples, as it was found on crawls of Wikipedia for Schools.

    by_rule: whether the topic is a rule, which is the truth by itself.

    >>> low, high = harvest_interval(60, 300)
    >>> round(low, 2), round(high, 2)
    (0.08, 0.41)
    >>> harvest_interval(60, 300, by_rule=True)
    (0.2, 0.2)
    """
    if not pages:
        return (0.0, 0.0) if by_rule else (0.0, 1.0)
    if by_rule:
        return relevant / pages, relevant / pages
    rate = (relevant + 0.5) / (pages + 1.0)
    middle = log(rate / (1.0 - rate))
    error = _NORMAL * sqrt(MODEL_ERROR**2 + 1.0 / (pages * rate * (1.0 - rate)))
    low, high = (1.0 / (1.0 + exp(-(middle + side * error))) for side in (-1.0, 1.0))
    return min(low, relevant / pages), max(high, relevant / pages)
