"""Seven features of a page that correlate with its standing, computed from the page alone.

They are those of Pant and Srinivasan (Predicting Web Page Status, 2010), with skewed counts as ln(1 + x), and finite
for any page. Two of them use tables: `Background` has the document frequencies of words, `Traffic` the reach of
domains. A node is a page of a lab graph, whose "URL" is a number without host, path or words (`is_node`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log, log1p

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Codes, JsonValue, Page, Url
from lycosa.vocabulary.text import codes_of
from lycosa.vocabulary.urls import host_of, is_node, path_of, site_of

from .model_tree import Floats, checked_integer

CHARACTERISTIC_TERMS = 10  # number of terms with the highest tf·idf that determine the specificity of a page
FEATURES = {  # name -> what it is, in the order of all rows of features
    "information volume": "ln(1 + words), stop words, numbers and single letters not counted",
    "information location": "folders between the host and the file name of the URL",
    "information specificity": "mean IDF of the characteristic terms of the page, those of the highest tf·idf",
    "information brokerage": "ln(1 + other pages it links to)",
    "link ratio": "links per word",
    "quantitative ratio": "share of its words that are numbers",
    "domain traffic": "ln(1 + reach of the registered domain)",
}
MAX_TERMS = 200_000  # of a background; the rarest are left out
MAX_TERM_LENGTH = 200  # characters
MAX_REACH = 1e15  # of a domain
_MAX_PAGES = 1 << 53
_NO_CODE = np.uint64((1 << 64) - 1)


class Background:
    """Inverse document frequencies over some pages: IDF(w) = 1 + ln((1 + pages) / (1 + pages with w)).

    Words of no page count like those of one page, so that pages of the background itself are measured like others.

    containing: word -> number of pages with it; words of one page may be left out.
    """

    def __init__(self, containing: Mapping[str, int], pages: int):
        self._containing = {term: count for term, count in containing.items() if count > 1}
        self.pages = pages
        self.max_idf = 1.0 + log((1 + max(pages, 1)) / 2)  # IDF of what is in one page, or in none
        codes = codes_of(self._containing)
        order = np.argsort(codes)
        counts = np.fromiter(self._containing.values(), np.float64, len(self._containing))
        self._codes = np.append(codes[order], _NO_CODE)  # the last is for all other words
        self._idfs = np.append((1.0 + np.log((1.0 + pages) / (1.0 + counts)))[order], self.max_idf)

    @classmethod
    def of(cls, pages: Iterable[Page]) -> "Background":
        """The background of some pages."""
        containing: Counter[str] = Counter()
        count = 0
        for page in pages:
            count += 1
            containing.update(page.terms.keys())
        return cls.from_counts(containing, count)

    @classmethod
    def from_counts(cls, containing: Counter[str], pages: int) -> "Background":
        """The background by document frequencies, cut to the `MAX_TERMS` most common words.

        containing: the number of pages that contain each word.
        """
        shared = {term: count for term, count in containing.items() if count > 1 and _is_one_word(term)}
        if len(shared) > MAX_TERMS:
            shared = dict(Counter(shared).most_common(MAX_TERMS))
        return cls(shared, pages)

    def __len__(self) -> int:
        """The number of words that are in more than one page."""
        return len(self._containing)

    def idf(self, codes: Codes) -> Floats:
        """The IDF of each word, given by its code."""
        indices = self._codes.searchsorted(codes)
        found: Floats = np.where(self._codes[indices] == codes, self._idfs[indices], self.max_idf)
        return found

    def to_plain(self) -> JsonValue:
        return {"pages": self.pages, "containing": self._containing}

    @classmethod
    def from_plain(cls, plain: JsonValue) -> "Background":
        """The inverse of `to_plain`. Raises KeyError, TypeError or ValueError for anything else."""
        pages, saved = checked_integer(plain["pages"], 0, _MAX_PAGES), plain["containing"]
        if not isinstance(saved, dict) or len(saved) > MAX_TERMS:
            raise ValueError(f"the background is not a table of up to {MAX_TERMS} words")
        if not all(map(_is_one_word, saved)):
            raise ValueError(f"a word has a blank in it or more than {MAX_TERM_LENGTH} characters")
        return cls({term: checked_integer(count, 1, pages) for term, count in saved.items()}, pages)


def _is_one_word(term: str) -> bool:
    return len(term) <= MAX_TERM_LENGTH and term.split() == [term]


class Traffic:
    """ln(1 + reach) of the registered domain of a page, from a table.

    A domain that is not in the table counts like the median one (`unlisted_value`); without a table, all count 0.

    reach: registered domain -> reach, in any unit, the same for all.
    unlisted_value: value of domains that are not in the table, instead of the median.
    """

    def __init__(self, reach: Mapping[str, float] | None = None, *, unlisted_value: float | None = None):
        self._reach = reach or {}
        values = np.fromiter(self._reach.values(), np.float64, len(self._reach))
        if not ((values >= 0.0) & (values <= MAX_REACH)).all():
            raise UsageError(f"the reach of a domain must be a number from 0 to {MAX_REACH:g}; correct the table")
        median = float(np.median(np.log1p(values))) if len(values) else 0.0
        self.unlisted_value = median if unlisted_value is None else unlisted_value

    def __len__(self) -> int:
        """The number of domains in the table."""
        return len(self._reach)

    def of(self, url: Url) -> float:
        if not self._reach or is_node(url):
            return self.unlisted_value
        reach = self._reach.get(site_of(host_of(url)))
        return self.unlisted_value if reach is None else log1p(reach)


class FeatureExtractor:
    """Computes the seven features of pages, given a background and a table of traffic.

    background: without one, specificity is 0 for all pages.
    characteristic: number of characteristic terms of a page.
    """

    def __init__(
        self,
        background: Background | None = None,
        traffic: Traffic | None = None,
        *,
        characteristic: int = CHARACTERISTIC_TERMS,
    ):
        self.background = background
        self.traffic = traffic if traffic is not None else Traffic()
        self.characteristic = characteristic

    def of(self, page: Page) -> tuple[float, ...]:
        """The features of a page, in the order of `FEATURES`."""
        return (
            information_volume(page),
            information_location(page.url),
            self.specificity(page.words.term_counts),
            information_brokerage(page),
            link_ratio(page),
            quantitative_ratio(page),
            self.traffic.of(page.url),
        )

    def specificity(self, term_counts: tuple[Codes, Codes]) -> float:
        """`information_specificity`; 0 if there is no background."""
        if self.background is None:
            return 0.0
        return information_specificity(term_counts, self.background, self.characteristic)


def information_volume(page: Page) -> float:
    """ln(1 + words), stop words, numbers and single letters not counted."""
    return log1p(int(page.words.term_counts[1].sum()))


def information_location(url: Url) -> float:
    """The number of folders between the host and the file name; 0 for a node."""
    return 0.0 if is_node(url) else float(path_of(url).partition("?")[0].count("/") - 1)


def information_specificity(
    term_counts: tuple[Codes, Codes], background: Background, characteristic: int = CHARACTERISTIC_TERMS
) -> float:
    """Mean IDF of the `characteristic` terms of a page that have the highest tf·idf; 0 for a page without terms.

    The publications do not say how they choose the characteristic terms; this procedure is our own. Terms that tie for
    the last places share them.
    """
    codes, counts = term_counts
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
    """ln(1 + other pages it links to), each page counted once."""
    others = {link.target for link in page.links}
    others.discard(page.url)
    return log1p(len(others))


def link_ratio(page: Page) -> float:
    """links / max(1, words)."""
    return len(page.links) / max(1, page.words.length)


def quantitative_ratio(page: Page) -> float:
    """The share of its words that are numbers: numbers / max(1, words)."""
    return page.words.numbers / max(1, page.words.length)
