"""Tiny access logs by the names of people and pages, and the paper's formulas written down once more, slowly."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from lycosa.logs.access_log import AccessLog
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, Visit
from pages import GivenWords
from strategies.visits import url_of

Walks = Mapping[str, str]  # what each person read, one letter a page, in the order of time


def log_of(walks: Walks) -> AccessLog:
    return AccessLog.of((who, url_of(name), float(at)) for who, walk in walks.items() for at, name in enumerate(walk))


def visit_to(name: str, satisfies: bool, *, classes: str = "", words: str = "") -> Visit:
    """A visit of a page; `classes` are those a taxonomy of digits finds closest to it."""
    url = url_of(name)
    page = Page(url, classes, "", "", GivenWords(dict.fromkeys(words.split(), 1)), ())
    return Visit(Candidate(url, 0.5), Fetch(url, Outcome.OK, 0.0), page, relevance=0.9 if satisfies else 0.1)


class Digits:
    """A taxonomy whose classes are digits; a page is closest to those in its title."""

    topics = tuple("01234567")

    def probabilities(self, page: Page) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return np.array([1.0 / (2 + page.title.find(topic)) if topic in page.title else 0.0 for topic in self.topics])


class SlowFormulas:
    """The three ratios of any page, computed from nothing but the log and the pages visited."""

    def __init__(
        self,
        walks: Walks,
        visits: Sequence[tuple[str, bool, str]],
        *,
        significance: float,
        around: int,
        smoothing: float,
        trials: str,
        base: str = "crawl",
    ):
        self.walks = walks
        self.satisfies = {name: good for name, good, _ in visits}
        self.classes = {name: classes for name, _, classes in visits}
        self.t, self.n, self.s, self.trials, self.base = significance, around, smoothing, trials, base
        self.usual = (sum(self.satisfies.values()) + 0.5) / (len(visits) + 1)

    def share(self, pages: Sequence[str], usual: float | None = None) -> float:
        """The smoothed share of pages that satisfy the predicate, beside what is usual, mostly P(U)."""
        usual = self.usual if usual is None else usual
        good = sum(self.satisfies[page] for page in pages)
        return (good + self.s * usual) / (len(pages) + self.s) / usual

    def frequency(self, name: str) -> float:
        log = 0.0
        for walk in self.walks.values():
            read = sorted(set(walk) & set(self.satisfies))
            if name not in walk or not read:
                continue
            raw = sum(self.satisfies[page] for page in read) / len(read)
            trials = len(self.satisfies) if self.trials == "crawl" else len(read)
            deviation = math.sqrt(self.usual * (1 - self.usual) / trials)
            if abs(raw - self.usual) >= self.t * deviation * (1 - 1e-12):
                log += math.log(max(self.share(read), 1e-12))
        return log

    def of_signature(self, who: str) -> float | None:
        read = sorted(set(self.walks[who]) & set(self.satisfies))
        features = sorted({digit for page in read for digit in self.classes[page]})
        if not features:
            return None
        usual = self.usual if self.base == "crawl" else self.usual * self.share(read)
        if usual == 0.0:
            return 1.0
        met = [[page for page in read if digit in self.classes[page]] for digit in features]
        return sum(self.share(pages, usual) for pages in met) / len(features)

    def signature(self, name: str) -> float:
        known = {who: ratio for who in self.walks if (ratio := self.of_signature(who)) is not None}
        if not known:
            return 0.0
        mean = sum(known.values()) / len(known)
        deviation = math.sqrt(max(0.0, sum(ratio**2 for ratio in known.values()) / len(known) - mean**2))
        logs = [
            math.log(max(ratio, 1e-12))
            for who, ratio in known.items()
            if name in self.walks[who]
            and (self.t == 0 or (deviation > 1e-6 and abs(ratio - mean) >= self.t * deviation))
        ]
        return sum(logs)

    def locality(self) -> set[str]:
        near = set()
        for walk in self.walks.values():
            for place, page in enumerate(walk):
                if self.satisfies.get(page):
                    around = walk[max(0, place - self.n) : place] + walk[place + 1 : place + 1 + self.n]
                    near |= set(around) - {page}
        return near

    def temporal(self, name: str) -> float:
        inside = self.locality()
        visited = [page for page in self.satisfies if any(page in walk for walk in self.walks.values())]
        if not any(self.satisfies[page] for page in visited):
            return 0.0
        alike = [page for page in visited if (page in inside) == (name in inside)]
        return math.log(max(self.share(alike), 1e-12)) if alike else 0.0
