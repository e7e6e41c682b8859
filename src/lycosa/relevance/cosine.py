"""Relevance as similarity to a topic text."""

from math import sqrt

import numpy as np

from lycosa.vocabulary.records import Page


class Cosine:
    """relevance = c / (c + midpoint), where c is the cosine between the term counts of a topic and of a page.

    Raw counts, as in Menczer, Pant and Srinivasan, Topical Web Crawlers, 2004. For a topic of a few words, even
    relevant pages rarely reach a cosine of 0.5, so the scale is transformed monotonically: a cosine of `midpoint`
    becomes 0.5. Since the language of a few words is uncertain, they are stemmed like those of each page.

    topic: a text on the topic.

    >>> from lycosa.reading import page_of_text
    >>> page = page_of_text("http://a.example/", "", "spider silk spider silk spider silk silk")
    >>> round(Cosine("spider web").relevance(page), 2)
    0.74
    """

    def __init__(self, topic: str, *, midpoint: float = 0.15):
        if not 0.0 < midpoint <= 1.0:
            raise ValueError(f"midpoint is a cosine above 0 and up to 1, not {midpoint}")
        self._topic = topic
        self._midpoint = midpoint

    def relevance(self, page: Page) -> float:
        terms, weights = np.unique(page.words.codes_of([self._topic])[0], return_counts=True)
        codes, counts = page.words.term_counts
        _, topic_index, page_index = np.intersect1d(terms, codes, assume_unique=True, return_indices=True)
        counts = counts.astype(np.float64)
        product = float(weights[topic_index] @ counts[page_index])
        if not product:
            return 0.0
        cosine = product / sqrt(float(weights @ weights) * float(counts @ counts))
        return cosine / (cosine + self._midpoint)
