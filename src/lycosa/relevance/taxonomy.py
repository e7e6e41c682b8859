"""Which of many topics a page is about: naive Bayes over a taxonomy."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import Codes, Page, Plain

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_TOPICS = 1_000
MAX_TERMS = 200_000  # words that are known; the rarest are left out
MAX_CELLS = 16_000_000  # words times topics: 128 MB
MAX_COUNT = 1 << 40  # of pages of a topic, or of a word in them
MOST_PAGES = 10_000  # of a topic that are learnt from
_KIND = "multinomial naive Bayes, 1"


class Taxonomy:
    """The chance of each of some topics that a page is about it, given its words: multinomial naive Bayes.

    A page is a bag of words, each drawn from its topic's words independently of the others; a topic is as likely
    beforehand as it has example pages. Words that were in no example say nothing. That there is a topic for whatever
    is none of the others ("others") is for the examples to say.

    pages: examples of each topic.
    codes: the words that are known, as sorted codes.
    counts: how often each of them (rows) occurs in the examples of each topic (columns).
    smoothing: how often a word counts as seen in a topic where it was never seen.

    McCallum, Nigam: A comparison of event models for naive Bayes text classification (AAAI 1998).
    """

    def __init__(self, pages: Mapping[str, int], codes: Codes, counts: Counts, *, smoothing: float = 1.0):
        self.topics = tuple(pages)
        self._pages = np.array(list(pages.values()), np.int64)
        self._codes = codes
        self._counts = counts
        self._smoothing = smoothing
        smoothed = counts + smoothing
        self._weights: Floats = np.log(smoothed)  # of a word for a topic: log P(word | topic)
        self._weights -= np.log(smoothed.sum(axis=0))
        self._priors: Floats = np.log(self._pages / self._pages.sum())
        self._places = {topic: place for place, topic in enumerate(self.topics)}

    @classmethod
    def train(
        cls, examples: Mapping[str, Iterable[Page]], *, seed: int = 0, smoothing: float = 1.0, most: int = MOST_PAGES
    ) -> "Taxonomy":
        """A taxonomy learnt from pages on each topic; of a topic with more than `most`, some drawn by chance."""
        chance = Random(seed)
        learnt = {
            topic: _drawn([page for page in pages if _says(page)], most, chance) for topic, pages in examples.items()
        }
        return cls._of(learnt, smoothing)

    @classmethod
    def accuracy(
        cls, examples: Mapping[str, Iterable[Page]], *, seed: int = 0, smoothing: float = 1.0, most: int = MOST_PAGES
    ) -> dict[str, float]:
        """The share of pages of each topic that are told to be on it, learnt from two thirds, tried on the others."""
        chance = Random(seed)
        learnt: dict[str, list[Page]] = {}
        tried: dict[str, list[Page]] = {}
        for topic, given in examples.items():
            pages = _drawn([page for page in given if _says(page)], most, chance)
            if len(pages) < 2:
                raise RecipeError(f"the topic {topic!r} has too few pages to learn from some and try others; give two")
            chance.shuffle(pages)
            cut = min(len(pages) - 1, round(2 * len(pages) / 3))
            learnt[topic], tried[topic] = pages[:cut], pages[cut:]
        taxonomy = cls._of(learnt, smoothing)
        return {
            topic: sum(taxonomy.best(page) == topic for page in pages) / len(pages) for topic, pages in tried.items()
        }

    @classmethod
    def _of(cls, learnt: Mapping[str, Sequence[Page]], smoothing: float) -> "Taxonomy":
        if not 0.0 < smoothing < float("inf"):
            raise RecipeError(f"the smoothing must be above 0, not {smoothing:g}")
        if not 2 <= len(learnt) <= MAX_TOPICS:
            raise RecipeError(f"a taxonomy has 2 to {MAX_TOPICS} topics, not {len(learnt)}")
        for topic, pages in learnt.items():
            if not pages:
                raise RecipeError(f"no example of the topic {topic!r} has a word in it; give a page with text")
        bags = {topic: _Bag(pages) for topic, pages in learnt.items()}
        codes = _commonest(list(bags.values()), min(MAX_TERMS, MAX_CELLS // len(bags)))
        counts = np.zeros((len(codes), len(bags)), np.int64)
        for place, bag in enumerate(bags.values()):
            is_known = np.isin(bag.codes, codes)
            counts[codes.searchsorted(bag.codes[is_known]), place] = bag.counts[is_known]
        return cls({topic: len(pages) for topic, pages in learnt.items()}, codes, counts, smoothing=smoothing)

    def chances(self, page: Page) -> Floats:
        """P(topic | page) for all topics in their order; they sum to 1."""
        likely = self._log_likely(page)
        np.exp(likely - likely.max(), out=likely)
        likely /= likely.sum()
        return likely

    def chance(self, page: Page, topic: str) -> float:
        return float(self.chances(page)[self._place(topic)])

    def best(self, page: Page) -> str:
        """The likeliest topic."""
        return self.topics[int(self._log_likely(page).argmax())]

    def judge(self, topic: str) -> "TopicOfMany":
        """Judges pages by how likely they are about one of the topics."""
        return TopicOfMany(self, self._place(topic))

    def _log_likely(self, page: Page) -> Floats:
        """How likely topic and page are together, as a logarithm, up to a number that all topics share."""
        codes, counts = page.words.counted
        places = self._codes.searchsorted(codes)
        places[places == len(self._codes)] = 0
        is_known = self._codes[places] == codes
        likely: Floats = counts[is_known].astype(np.float64) @ self._weights.take(places[is_known], axis=0)
        likely += self._priors
        return likely

    def _place(self, topic: str) -> int:
        if topic not in self._places:
            raise RecipeError(f"no topic {topic!r} in the taxonomy; there are {', '.join(self.topics)}")
        return self._places[topic]

    def to_plain(self) -> Plain:
        """The taxonomy as JSON can say it: the words as codes, and for each topic which of them how often."""
        topics = {}
        for place, topic in enumerate(self.topics):
            words = self._counts[:, place].nonzero()[0]
            topics[topic] = {
                "pages": int(self._pages[place]),
                "words": words.tolist(),
                "counts": self._counts[words, place].tolist(),
            }
        return {"kind": _KIND, "smoothing": self._smoothing, "codes": self._codes.tolist(), "topics": topics}

    @classmethod
    def from_plain(cls, plain: Plain, *, source: str = "the taxonomy") -> "Taxonomy":
        """A taxonomy that was saved; `source` names it where it cannot be used."""
        try:
            if plain["kind"] != _KIND:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_KIND!r}")
            smoothing, topics, codes = plain["smoothing"], plain["topics"], _codes(plain["codes"])
            if not isinstance(smoothing, float | int) or not 0.0 < smoothing <= 1e6:
                raise ValueError("the smoothing is no number above 0")
            if not isinstance(topics, dict) or not 2 <= len(topics) <= MAX_TOPICS:
                raise ValueError(f"topics are not a table of 2 to {MAX_TOPICS}")
            if len(codes) * len(topics) > MAX_CELLS:
                raise ValueError(f"{len(codes)} words are too many for {len(topics)} topics")
            counts = np.zeros((len(codes), len(topics)), np.int64)
            for place, saved in enumerate(topics.values()):
                words = _integers(saved["words"], 0, len(codes) - 1)
                if len(words) != len(saved["counts"]):
                    raise ValueError("words and counts differ in number")
                counts[words, place] = _integers(saved["counts"], 1, MAX_COUNT)
            pages = {topic: int(_integers([saved["pages"]], 1, MAX_COUNT)[0]) for topic, saved in topics.items()}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}; have it learnt anew") from None
        return cls(pages, codes, counts, smoothing=float(smoothing))


class TopicOfMany:
    """Relevance as the chance that a page is about one topic rather than the others of a taxonomy."""

    def __init__(self, taxonomy: Taxonomy, place: int):
        self._taxonomy = taxonomy
        self._place = place

    def relevance(self, page: Page) -> float:
        return float(self._taxonomy.chances(page)[self._place])


class _Bag:
    """The words of some pages: how often each occurs, and in how many pages."""

    def __init__(self, pages: Sequence[Page]):
        counted = [page.words.counted for page in pages]
        codes = np.concatenate([codes for codes, _ in counted])
        self.codes, places, self.containing = np.unique(codes, return_inverse=True, return_counts=True)
        weights = np.concatenate([counts for _, counts in counted])
        self.counts: Counts = np.bincount(places, weights, minlength=len(self.codes)).astype(np.int64)


def _commonest(bags: Sequence[_Bag], most: int) -> Codes:
    """The words that are in the most pages, as sorted codes."""
    codes, places = np.unique(np.concatenate([bag.codes for bag in bags]), return_inverse=True)
    if len(codes) <= most:
        return codes
    containing = np.bincount(places, np.concatenate([bag.containing for bag in bags]), minlength=len(codes))
    return np.sort(codes[np.argsort(-containing, kind="stable")[:most]])


def _says(page: Page) -> bool:
    return len(page.words.counted[0]) > 0


def _drawn(pages: list[Page], most: int, chance: Random) -> list[Page]:
    return pages if len(pages) <= most else chance.sample(pages, most)


def _codes(saved: Plain) -> Codes:
    if not isinstance(saved, list) or not 1 <= len(saved) <= MAX_TERMS or not all(type(code) is int for code in saved):
        raise ValueError(f"codes are not a list of 1 to {MAX_TERMS} whole numbers")
    codes = np.array(saved, np.uint64)
    if len(codes) > 1 and not (codes[1:] > codes[:-1]).all():
        raise ValueError("codes are not in order")
    return codes


def _integers(saved: Plain, least: int, most: int) -> Counts:
    if not isinstance(saved, list) or not all(type(number) is int and least <= number <= most for number in saved):
        raise ValueError(f"there is more than whole numbers from {least} to {most}")
    return np.array(saved, np.int64)
