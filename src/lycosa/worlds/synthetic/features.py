"""What can be told of a page by itself: its words against those of others, and seven features of its standing.

The features are those of Pant and Srinivasan (Predicting Web Page Status, 2010); counts as ln(1 + x).
"""

from collections.abc import Iterable, Mapping
from math import log, log1p, sqrt

from lycosa.vocabulary.records import Page
from lycosa.vocabulary.urls import host_of, path_of

CHARACTERISTIC = 10  # terms of a page that say how special its words are
FEATURES = (
    "information volume",
    "information location",
    "information specificity",
    "information brokerage",
    "link ratio",
    "quantitative ratio",
    "domain traffic",
)


class Idf:
    """How rare words are among some pages; those not met there are the rarest."""

    def __init__(self, containing: Mapping[str, int], pages: int):
        self._idf = {term: 1.0 + log((1 + pages) / (1 + count)) for term, count in containing.items()}
        self._new = 1.0 + log(1 + pages)

    def weights(self, page: Page) -> dict[str, float]:
        """The tf-idf vector of a page."""
        return {term: count * self._idf.get(term, self._new) for term, count in page.terms.items()}

    def of(self, term: str) -> float:
        return self._idf.get(term, self._new)


def idf_of(pages: Iterable[Page]) -> Idf:
    """Rarity as some pages show it."""
    containing: dict[str, int] = {}
    count = 0
    for page in pages:
        count += 1
        for term in page.terms:
            containing[term] = containing.get(term, 0) + 1
    return Idf(containing, count)


def similarity(one: Page, other: Page, idf: Idf) -> float:
    """Cosine of the tf-idf vectors of two pages."""
    first, second = idf.weights(one), idf.weights(other)
    norms = sqrt(sum(weight**2 for weight in first.values()) * sum(weight**2 for weight in second.values()))
    return sum(weight * second.get(term, 0.0) for term, weight in first.items()) / norms if norms else 0.0


def features_of(page: Page, idf: Idf, traffic: Mapping[str, float]) -> tuple[float, ...]:
    """The seven features, in the order of `FEATURES`."""
    weights = sorted(((weight, term) for term, weight in idf.weights(page).items()), reverse=True)
    characteristic = [idf.of(term) for _, term in weights[:CHARACTERISTIC]]
    words = max(1, len(page.tokens))
    numbers = sum(token.isdigit() for token in page.tokens)
    return (
        log1p(sum(page.terms.values())),
        float(path_of(page.url).count("/") - 1),
        sum(characteristic) / len(characteristic) if characteristic else 0.0,
        log1p(len(page.links)),
        len(page.links) / words,
        numbers / words,
        log1p(traffic.get(host_of(page.url), 0.0)),
    )
