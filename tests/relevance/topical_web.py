"""A made-up web: every page is three quarters common words and one quarter words of its topic, both Zipf."""

import random
from collections import Counter
from itertools import accumulate

from lycosa.vocabulary.records import Page
from pages import page_of_terms

TOPICS = 10


class TopicalWeb:
    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._common_weights = list(accumulate(1 / (rank + 1) for rank in range(3000)))
        self._topic_weights = list(accumulate(1 / (rank + 3) for rank in range(400)))

    def on_topic(self, count: int) -> list[Page]:
        return [self._page(0) for _ in range(count)]

    def off_topic(self, count: int) -> list[Page]:
        return [self._page(self._random.randrange(1, TOPICS)) for _ in range(count)]

    def _page(self, topic: int, words: int = 400) -> Page:
        common = self._random.choices(range(3000), cum_weights=self._common_weights, k=words * 3 // 4)
        own = self._random.choices(range(400), cum_weights=self._topic_weights, k=words // 4)
        terms = Counter([f"c{number}" for number in common] + [f"t{topic}w{number}" for number in own])
        return page_of_terms(terms)


def page_of(text: str) -> Page:
    return page_of_terms(Counter(text.lower().split()), text=text)
