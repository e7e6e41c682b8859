"""Which of many topics a page is about: naive Bayes over a taxonomy."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import Codes, JsonValue, Page

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_TOPICS = 1_000
MAX_TERMS = 200_000  # of the vocabulary; the rarest words are left out
MAX_CELLS = 16_000_000  # words times topics: 128 MB
MAX_COUNT = 1 << 40  # of pages of a topic, or of a word in them
MAX_PAGES = 10_000  # of a topic, used for training
_FORMAT = "multinomial naive Bayes, 1"


class Taxonomy:
    """Multinomial naive Bayes over some topics:

        P(t | page) ∝ P(t) Π_w P(w | t)^count(w),  P(t) = pages_t / pages,
        P(w | t) = (count(w in t) + smoothing) / (count(all words in t) + smoothing * words).

    Words of no example are ignored. A topic "none of the others" needs examples of its own.

    pages: number of examples of each topic.
    codes: the known words, as sorted 64-bit hashes.
    counts: how often each known word (rows) occurs in the examples of each topic (columns).
    smoothing: pseudo-count of every word in every topic.

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
        self._index_of_topic = {topic: index for index, topic in enumerate(self.topics)}

    @classmethod
    def train(
        cls, examples: Mapping[str, Iterable[Page]], *, seed: int = 0, smoothing: float = 1.0, limit: int = MAX_PAGES
    ) -> "Taxonomy":
        """A taxonomy trained on pages of each topic; of a topic with more than `limit`, on a random sample."""
        random = Random(seed)
        training = {
            topic: _sample([page for page in pages if _has_words(page)], limit, random)
            for topic, pages in examples.items()
        }
        return cls._from_samples(training, smoothing)

    @classmethod
    def recall_by_topic(
        cls, examples: Mapping[str, Iterable[Page]], *, seed: int = 0, smoothing: float = 1.0, limit: int = MAX_PAGES
    ) -> dict[str, float]:
        """The recall of each topic: the share of its pages that are classified as it, trained on two thirds of the
        examples and tested on the others."""
        random = Random(seed)
        training: dict[str, list[Page]] = {}
        held_out: dict[str, list[Page]] = {}
        for topic, given in examples.items():
            pages = _sample([page for page in given if _has_words(page)], limit, random)
            if len(pages) < 2:
                raise RecipeError(f"the topic {topic!r} has too few pages to learn from some and try others; give two")
            random.shuffle(pages)
            cut = min(len(pages) - 1, round(2 * len(pages) / 3))
            training[topic], held_out[topic] = pages[:cut], pages[cut:]
        taxonomy = cls._from_samples(training, smoothing)
        return {
            topic: sum(taxonomy.best(page) == topic for page in pages) / len(pages) for topic, pages in held_out.items()
        }

    @classmethod
    def _from_samples(cls, training: Mapping[str, Sequence[Page]], smoothing: float) -> "Taxonomy":
        if not 0.0 < smoothing < float("inf"):
            raise RecipeError(f"the smoothing must be above 0, not {smoothing:g}")
        if not 2 <= len(training) <= MAX_TOPICS:
            raise RecipeError(f"a taxonomy has 2 to {MAX_TOPICS} topics, not {len(training)}")
        for topic, pages in training.items():
            if not pages:
                raise RecipeError(f"no example of the topic {topic!r} has a word in it; give a page with text")
        bags = {topic: _BagOfWords(pages) for topic, pages in training.items()}
        codes = _commonest(list(bags.values()), min(MAX_TERMS, MAX_CELLS // len(bags)))
        counts = np.zeros((len(codes), len(bags)), np.int64)
        for index, bag in enumerate(bags.values()):
            is_known = np.isin(bag.codes, codes)
            counts[codes.searchsorted(bag.codes[is_known]), index] = bag.counts[is_known]
        return cls({topic: len(pages) for topic, pages in training.items()}, codes, counts, smoothing=smoothing)

    def probabilities(self, page: Page) -> Floats:
        """P(topic | page) for all topics, in the order of `topics`."""
        probabilities = self._log_joint(page)
        np.exp(probabilities - probabilities.max(), out=probabilities)  # minus the maximum, to avoid underflow
        probabilities /= probabilities.sum()
        return probabilities

    def probability(self, page: Page, topic: str) -> float:
        return float(self.probabilities(page)[self._topic_index(topic)])

    def best(self, page: Page) -> str:
        """The most probable topic."""
        return self.topics[int(self._log_joint(page).argmax())]

    def relevance_model(self, topic: str) -> "TopicRelevance":
        """The relevance model of one of the topics."""
        return TopicRelevance(self, self._topic_index(topic))

    def _log_joint(self, page: Page) -> Floats:
        """ln P(topic, page) for all topics, up to a constant."""
        codes, counts = page.words.term_counts
        indices = self._codes.searchsorted(codes)
        indices[indices == len(self._codes)] = 0
        is_known = self._codes[indices] == codes
        log_joint: Floats = counts[is_known].astype(np.float64) @ self._weights.take(indices[is_known], axis=0)
        log_joint += self._priors
        return log_joint

    def _topic_index(self, topic: str) -> int:
        if topic not in self._index_of_topic:
            raise RecipeError(f"no topic {topic!r} in the taxonomy; there are {', '.join(self.topics)}")
        return self._index_of_topic[topic]

    def to_plain(self) -> JsonValue:
        """The taxonomy as JSON-compatible data: the words as codes, and the sparse counts of each topic."""
        topics = {}
        for index, topic in enumerate(self.topics):
            words = self._counts[:, index].nonzero()[0]
            topics[topic] = {
                "pages": int(self._pages[index]),
                "words": words.tolist(),
                "counts": self._counts[words, index].tolist(),
            }
        return {"kind": _FORMAT, "smoothing": self._smoothing, "codes": self._codes.tolist(), "topics": topics}

    @classmethod
    def from_plain(cls, plain: JsonValue, *, source: str = "the taxonomy") -> "Taxonomy":
        """The inverse of `to_plain`; `source` names the taxonomy in errors."""
        try:
            if plain["kind"] != _FORMAT:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_FORMAT!r}")
            smoothing, topics, codes = plain["smoothing"], plain["topics"], _codes(plain["codes"])
            if not isinstance(smoothing, float | int) or not 0.0 < smoothing <= 1e6:
                raise ValueError("the smoothing is no number above 0")
            if not isinstance(topics, dict) or not 2 <= len(topics) <= MAX_TOPICS:
                raise ValueError(f"topics are not a table of 2 to {MAX_TOPICS}")
            if len(codes) * len(topics) > MAX_CELLS:
                raise ValueError(f"{len(codes)} words are too many for {len(topics)} topics")
            counts = np.zeros((len(codes), len(topics)), np.int64)
            for index, saved in enumerate(topics.values()):
                words = _integers(saved["words"], 0, len(codes) - 1)
                if len(words) != len(saved["counts"]):
                    raise ValueError("words and counts differ in number")
                counts[words, index] = _integers(saved["counts"], 1, MAX_COUNT)
            pages = {topic: int(_integers([saved["pages"]], 1, MAX_COUNT)[0]) for topic, saved in topics.items()}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}; train it again with lycosa map topics") from None
        return cls(pages, codes, counts, smoothing=float(smoothing))


class TopicRelevance:
    """Relevance as P(topic | page) for one topic of a taxonomy."""

    def __init__(self, taxonomy: Taxonomy, index: int):
        self._taxonomy = taxonomy
        self._topic_index = index

    def relevance(self, page: Page) -> float:
        return float(self._taxonomy.probabilities(page)[self._topic_index])


class _BagOfWords:
    """The words of some pages: the count of each, and the number of pages with it."""

    def __init__(self, pages: Sequence[Page]):
        counted = [page.words.term_counts for page in pages]
        codes = np.concatenate([codes for codes, _ in counted])
        self.codes, indices, self.document_frequencies = np.unique(codes, return_inverse=True, return_counts=True)
        weights = np.concatenate([counts for _, counts in counted])
        self.counts: Counts = np.bincount(indices, weights, minlength=len(self.codes)).astype(np.int64)


def _commonest(bags: Sequence[_BagOfWords], limit: int) -> Codes:
    """The words that are in the most pages, as sorted codes."""
    codes, indices = np.unique(np.concatenate([bag.codes for bag in bags]), return_inverse=True)
    if len(codes) <= limit:
        return codes
    document_frequencies = np.bincount(
        indices, np.concatenate([bag.document_frequencies for bag in bags]), minlength=len(codes)
    )
    return np.sort(codes[np.argsort(-document_frequencies, kind="stable")[:limit]])


def _has_words(page: Page) -> bool:
    return len(page.words.term_counts[0]) > 0


def _sample(pages: list[Page], limit: int, random: Random) -> list[Page]:
    return pages if len(pages) <= limit else random.sample(pages, limit)


def _codes(saved: JsonValue) -> Codes:
    if not isinstance(saved, list) or not 1 <= len(saved) <= MAX_TERMS or not all(type(code) is int for code in saved):
        raise ValueError(f"codes are not a list of 1 to {MAX_TERMS} whole numbers")
    codes = np.array(saved, np.uint64)
    if len(codes) > 1 and not (codes[1:] > codes[:-1]).all():
        raise ValueError("codes are not in order")
    return codes


def _integers(saved: JsonValue, minimum: int, limit: int) -> Counts:
    if not isinstance(saved, list) or not all(type(number) is int and minimum <= number <= limit for number in saved):
        raise ValueError(f"there is more than whole numbers from {minimum} to {limit}")
    return np.array(saved, np.int64)
