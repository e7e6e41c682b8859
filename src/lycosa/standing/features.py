"""Seven things that a page shows of itself and that go with its standing.

They are those of Pant and Srinivasan (Predicting Web Page Status, 2010), skewed counts as ln(1 + x). No page, however
empty or strange, has one that is not a finite number.
"""

from math import log1p

import numpy as np

from lycosa.vocabulary.records import Codes, Page, Url
from lycosa.vocabulary.urls import path_of

from .background import Background
from .traffic import Traffic

CHARACTERISTIC = 10  # terms of a page that say how special its words are
FEATURES = {  # name -> what it is, in the order of all rows of features
    "information volume": "ln(1 + words), stop words, numbers and single letters not counted",
    "information location": "folders between the host and the file name of the URL",
    "information specificity": "mean IDF of the characteristic terms of the page, those of the highest tf·idf",
    "information brokerage": "ln(1 + other pages it links to)",
    "link ratio": "links per word",
    "quantitative ratio": "share of its words that are numbers",
    "domain traffic": "ln(1 + reach of the registered domain)",
}


class Features:
    """Measures the seven features of pages against a fixed background and a fixed table of traffic.

    background: without one, specificity is 0 for all pages.
    characteristic: how many terms of a page are its characteristic ones.
    """

    def __init__(
        self,
        background: Background | None = None,
        traffic: Traffic | None = None,
        *,
        characteristic: int = CHARACTERISTIC,
    ):
        self.background = background
        self.traffic = traffic if traffic is not None else Traffic()
        self.characteristic = characteristic

    def of(self, page: Page) -> tuple[float, ...]:
        """The features of a page, in the order of `FEATURES`."""
        return (
            information_volume(page),
            information_location(page.url),
            self.specificity(page.words.counted),
            information_brokerage(page),
            link_ratio(page),
            quantitative_ratio(page),
            self.traffic.of(page.url),
        )

    def specificity(self, counted: tuple[Codes, Codes]) -> float:
        """How special the words of a page are, 0 where there is no background."""
        if self.background is None:
            return 0.0
        return information_specificity(counted, self.background, self.characteristic)


def information_volume(page: Page) -> float:
    """ln(1 + words), stop words, numbers and single letters not counted."""
    return log1p(int(page.words.counted[1].sum()))


def information_location(url: Url) -> float:
    """How many folders lie between the host and the file name; the nodes of a graph lie in none."""
    return float(path_of(url).partition("?")[0].count("/") - 1) if isinstance(url, str) else 0.0


def information_specificity(
    counted: tuple[Codes, Codes], background: Background, characteristic: int = CHARACTERISTIC
) -> float:
    """Mean IDF of the terms of a page, here counted, that have the highest tf·idf.

    How publications find the characteristic terms is not public; this procedure is our own. Terms that tie for the
    last places share them. A page without terms is as little special as can be: 0.
    """
    codes, counts = counted
    if not len(codes):
        return 0.0
    idf = background.idf(codes)
    if len(codes) <= characteristic:
        return float(idf.mean())
    weights = idf * counts
    last = np.partition(weights, -characteristic)[-characteristic]
    ahead, tied = idf[weights > last], idf[weights == last]
    return float(ahead.sum() + (characteristic - len(ahead)) * tied.mean()) / characteristic


def information_brokerage(page: Page) -> float:
    """ln(1 + other pages it links to); links to itself are not counted, and two to one page are one."""
    others = {link.target for link in page.links}
    others.discard(page.url)
    return log1p(len(others))


def link_ratio(page: Page) -> float:
    """Links per word; a page without words counts as one of one word."""
    return len(page.links) / max(1, page.words.length)


def quantitative_ratio(page: Page) -> float:
    """The share of its words that are numbers; 0 without words."""
    return page.words.numbers / max(1, page.words.length)
