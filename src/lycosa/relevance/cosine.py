"""Relevance as similarity to a topic text."""

from collections.abc import Mapping
from math import sqrt

from lycosa.vocabulary.records import Page


class Cosine:
    """relevance = c / (c + even), where c is the cosine between the term counts of a topic and of a page.

    Raw counts, as in Menczer, Pant and Srinivasan, Topical Web Crawlers, 2004. Pages on the topic of a few words rarely
    reach a cosine of 0.5, so the scale is transformed, keeping the order: a cosine of `even` is a relevance of 0.5.

    >>> from types import SimpleNamespace
    >>> page = SimpleNamespace(terms={"spider": 3, "silk": 4})
    >>> round(Cosine({"spider": 1, "web": 1}).relevance(page), 2)
    0.74
    """

    def __init__(self, topic_terms: Mapping[str, int], *, even: float = 0.15):
        if not 0.0 < even <= 1.0:
            raise ValueError(f"even is a cosine above 0 and up to 1, not {even}")
        norm = _norm(topic_terms)
        self._weights = {term: count / norm for term, count in topic_terms.items() if count > 0}
        self._even = even

    def relevance(self, page: Page) -> float:
        terms = page.terms
        weights = self._weights
        product = sum(weights[term] * terms[term] for term in weights.keys() & terms.keys())
        if not product:
            return 0.0
        cosine = product / _norm(terms)
        return cosine / (cosine + self._even)


def _norm(terms: Mapping[str, int]) -> float:
    return sqrt(sum(count * count for count in terms.values()))
