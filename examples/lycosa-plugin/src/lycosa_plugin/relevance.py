"""The relevance model `naive-bayes`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any, Self

from lycosa import Page

Terms = Mapping[str, int]


class NaiveBayes:
    """P(good | words) by multinomial naive Bayes with Laplace smoothing.

    log odds = sum over words of log(P(word | good) / P(word | bad)), divided by the number of words, so that long pages
    are not surer than short ones; words that were in no example say nothing.
    """

    def __init__(self, weights: Mapping[str, float]):
        self._weights = dict(weights)

    @classmethod
    def train(
        cls, good: Sequence[Terms], bad: Sequence[Terms], unlabelled: Sequence[Terms], background: Sequence[Terms]
    ) -> Self:
        """Learns from pages as words and how often they occur; unlabelled pages of the crawl are not used."""
        of_good, of_bad = _counted(good), _counted([*bad, *background])
        words = sorted({*of_good, *of_bad})
        all_good, all_bad = of_good.total() + len(words), of_bad.total() + len(words)
        return cls({word: log((of_good[word] + 1) / all_good) - log((of_bad[word] + 1) / all_bad) for word in words})

    def relevance(self, page: Page) -> float:
        known = {word: count for word, count in page.terms.items() if word in self._weights}
        if not known:
            return 0.0
        odds = sum(count * self._weights[word] for word, count in known.items()) / sum(known.values())
        return 1.0 / (1.0 + exp(-4.0 * odds))

    def to_plain(self) -> Any:
        return self._weights

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        return cls(plain)


def _counted(pages: Sequence[Terms]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for terms in pages:
        counts.update(terms)
    return counts
