"""Lift curves: the harvest rate P(U), which is the share of pages crawled that satisfy a predicate, along a crawl."""

from collections.abc import Sequence

from lycosa.vocabulary.records import RELEVANT, Plain

from .simulation import Step

POINTS = 50  # of a curve
TENTHS = 10


def lift_of(steps: Sequence[Step], pages: int) -> Plain:
    """A crawl that was to bring so many pages: how many it brought, how many satisfy, and P(U) along it.

    What a crawl did not bring because it ran dry counts as pages that do not satisfy.
    """
    good = [0]
    for step in steps[:pages]:
        good.append(good[-1] + (step.relevance >= RELEVANT))
    good += [good[-1]] * (pages + 1 - len(good))
    tenths = [_share(good, pages * tenth // TENTHS, pages * (tenth + 1) // TENTHS) for tenth in range(TENTHS)]
    return {
        "crawled": min(len(steps), pages),
        "good": good[-1],
        "harvest": _share(good, 0, pages),
        "tenths": tenths,
        "lift": [_share(good, 0, max(1, pages * point // POINTS)) for point in range(1, POINTS + 1)],
    }


def _share(good: Sequence[int], start: int, end: int) -> float:
    return round((good[end] - good[start]) / max(1, end - start), 6)
