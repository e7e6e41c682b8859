"""Learning what is off the topic from the crawl itself, where only good examples were given.

A background of everyday texts is not the web that is crawled: whatever shares this web's common words looks good beside
it. So the pages of the crawl that are least like the examples become bad examples too.

Which ones is a matter of caution. If few pages of the crawl are on the topic, half of them can be taken; if most are,
half would be mostly wrong, and the model learns to refuse its own topic. The examples tell: each is placed by a model
that has not seen it, and pages lower than nine tenths of them are taken, up to half of the crawl, the lowest first.
"""

from collections.abc import Sequence
from math import inf
from typing import TypeVar

from lycosa.vocabulary.records import Page

from .learning import fit, train
from .svm import LinearModel, Terms, terms_in

RETRAIN_AT = (100, 300, 1000)  # pages in the collection
MOST = 0.5  # share of the crawl that may be taken as bad, where the examples say which
UNASKED = 0.2  # share that may be taken where they do not
FEWEST = 0.05  # share that is always taken: no crawl is that clean
_FOLDS = 5

X = TypeVar("X")


def least_like(
    scored: Sequence[tuple[float, X]], share: float = UNASKED, *, below: float = inf, fewest: float = FEWEST
) -> list[X]:
    """The things with the lowest scores that are under `below`: at most `share` of all, at least `fewest` of all."""
    ranked = sorted(scored, key=lambda pair: pair[0])
    under = sum(score < below for score, _ in ranked)
    taken = max(min(under, int(share * len(ranked))), int(fewest * len(ranked)))
    return [thing for _, thing in ranked[:taken]]


def floor_of(good: Sequence[Page | Terms], bad: Sequence[Page | Terms], *, seed: int = 0) -> float:
    """Where the lowest tenth of the good examples ends, each placed by a model that was learnt without it."""
    folds = min(_FOLDS, len(good))
    if folds < 2:
        return -1.0  # where the bad ones are
    distances: list[float] = []
    for fold in range(folds):
        model = fit([page for number, page in enumerate(good) if number % folds != fold], bad, seed=seed)
        distances.extend(model.distance(terms_in(page)) for page in good[fold::folds])
    return sorted(distances)[len(distances) // 10]


def retrain(
    good: Sequence[Page | Terms], bad: Sequence[Page | Terms], crawled: Sequence[Page | Terms], *, seed: int = 0
) -> LinearModel:
    """A model of the good pages against the bad ones and those of the crawl least like the good.

    The crawl is judged by a model of `good` and `bad` alone, so that no mistake of an earlier retraining is kept.
    """
    first = fit(good, bad, seed=seed)
    placed = [(first.distance(terms_in(page)), page) for page in crawled]
    negatives = least_like(placed, MOST, below=floor_of(good, bad, seed=seed))
    return train(good, [*bad, *negatives], seed=seed)
