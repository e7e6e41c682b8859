"""The words of the pages of the synthetic world."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .counter_rng import Floats, Ints, stream_key, subkey, uniforms, uniforms_at
from .plan import Options, WorldPlan, topic_looseness
from .vocabulary import BACKGROUND, FUNCTION_WORDS, GENERIC_ANCHORS, NUMBERS, PER_LEAF, PER_TOP, RARE, Vocabulary

FUNCTION_SHARE = 0.42  # share of function words (the, of, and …)
SITE_SHARE, SITE_WORDS = 0.13, 12  # share of words that are specific to the site, and how many of these it has
FOOTER_WORDS = 12
LEAF_SHARE, TOP_SHARE = 0.075, 0.03  # shares of words of the (leaf) topic and its top-level topic, at strength 1
# The strength of a page's topic multiplies the shares of topical words: MAX_STRENGTH * u ** STRENGTH_SKEW, mostly weak.
MAX_STRENGTH, STRENGTH_SKEW = 2.4, 3.9
STRAY_PAGES = 0.3  # share of pages that also have words of another topic
OWN_WORDS = 24  # distinct words of each kind that a page uses repeatedly
TITLE_TOPICAL, ANCHOR_TOPICAL, CONTEXT_TOPICAL = 0.35, 0.35, 0.12  # probabilities of topical words, at strength 1
CONTEXT = np.array([-4, -3, -2, -1, 0, 1, 2])  # positions around a link of words that may be of its target's topic
CHUNK = 40  # words that are rewritten together

# Shifts of Zipf-Mandelbrot laws: the smaller, the more frequent are the first words of a kind.
TOPICAL_SHIFT, BACKGROUND_SHIFT, FUNCTION_SHIFT, UNIFORM = 0.5, 2.0, 3.0, 1e9
_JUST_BELOW_ONE = 1.0 - 1e-12  # keeps the last rank below the size of its kind

_SENTENCE_LENGTHS = (9, 14, 11, 17, 8, 13, 10)  # words
_PARAGRAPH_LENGTH = 5  # sentences
_MAX_WORDS = 1000
_CONTEXT_SIZE = len(CONTEXT)
_EDITION_STRIDE = 4096  # counters reserved for each edition of a text
_LINK_STRIDE = 32  # counters reserved for each link of a page
_PAGE_DRAWS = 16  # random numbers of a page before those of its own words

_FUNCTION, _NUMBER, _SITE, _RARE, _LEAF, _TOP, _STRAY, _BACKGROUND = range(8)
_SHIFTS = np.array(
    [FUNCTION_SHIFT, UNIFORM, UNIFORM, UNIFORM, TOPICAL_SHIFT, TOPICAL_SHIFT, TOPICAL_SHIFT, BACKGROUND_SHIFT]
)


def zipf(u: Floats, size: float, shift: float) -> NDArray[np.int64]:
    """Ranks from 0 to `size` - 1 with probability in proportion to about 1 / (r + shift); `u` are uniform."""
    ranks: NDArray[np.int64] = (shift * _JUST_BELOW_ONE * np.expm1(u * np.log1p(size / shift))).astype(np.int64)
    return ranks


def _sentence_pattern() -> tuple[Ints, Ints]:
    """The positions of the last words of sentences, and the numbers of words before the ends of paragraphs."""
    ends = np.cumsum(np.resize(_SENTENCE_LENGTHS, _MAX_WORDS // min(_SENTENCE_LENGTHS)))
    ends = ends[ends < _MAX_WORDS]
    return ends - 1, ends[_PARAGRAPH_LENGTH - 1 :: _PARAGRAPH_LENGTH]


_SENTENCE_ENDS, _PARAGRAPH_ENDS = _sentence_pattern()


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """The words of a page, and the positions of its links and paragraphs."""

    title: str
    words: list[str]
    anchors: list[str]
    offsets: list[int]  # number of words before each link
    paragraphs: list[int]  # number of words before the end of each paragraph


class TextGenerator:
    """Generates the words of pages; the same page in the same edition always has the same text."""

    def __init__(self, options: Options, plan: WorldPlan, words: Vocabulary):
        self._plan, self._words = plan, words
        self._topic_count = options.topics
        self._strength_factor = 1.0 / topic_looseness(options)  # of each topic
        self._site_share = SITE_SHARE * options.site_words
        self._footer_word_count = round(FOOTER_WORDS * options.site_words)
        self._page_key, self._token_key, self._site_key, self._link_key, self._entry_key = (
            stream_key(options.seed, purpose) for purpose in ("pages", "tokens", "sites", "links", "entries")
        )
        self.footer = lru_cache(maxsize=10_000)(self._footer)
        self._words_of_site = lru_cache(maxsize=10_000)(self._draw_words_of_site)
        sizes = [len(FUNCTION_WORDS), NUMBERS, RARE, words.size - words.rare, PER_LEAF, PER_TOP, PER_LEAF, BACKGROUND]
        self._log_ranges = np.log1p(np.array(sizes) / _SHIFTS)

    def generate(self, page: int, targets: Ints, editions: Ints | None = None) -> GeneratedText:
        """The words of a page with links to `targets`.

        editions: for each chunk of the text, the number of the change that wrote it.
        """
        count, size = int(self._plan.words[page]), self._words.size
        draws = uniforms(subkey(self._page_key, page), _PAGE_DRAWS + 4 * OWN_WORDS)
        counters = np.arange(2 * count)
        if editions is not None:
            counters += np.tile(np.repeat(editions, CHUNK)[:count], 2) * _EDITION_STRIDE
        u = uniforms_at(subkey(self._token_key, page), counters)
        strength = float(MAX_STRENGTH * draws[1] ** STRENGTH_SKEW * self._strength_factor[self._plan.topic[page]])
        ids = self._draw_word_ids(page, draws, strength, u[:count], u[count:])
        anchors, offsets = self._place_links(page, ids, targets, strength)
        # The table of words has each word again with a full stop (+ size) and with a capital letter (+ 2 * size).
        ends = _SENTENCE_ENDS[: _SENTENCE_ENDS.searchsorted(count - 1)]
        ids[ends] += size
        ids[ends + 1] += 2 * size
        ids[0] += 2 * size
        ids[-1] = ids[-1] % size + size
        paragraphs = _PARAGRAPH_ENDS[: _PARAGRAPH_ENDS.searchsorted(count - 20)].tolist()
        return GeneratedText(
            self._title(page, draws, strength), self._words.words(ids), anchors, offsets, [*paragraphs, count]
        )

    def description(self, page: int) -> str:
        """The description of a page in the directory: 10 to 25 words, most of them of its topic."""
        u = uniforms(subkey(self._entry_key, page), 51)
        count = 10 + int(u[0] * 16)
        source, pick = u[1 : 1 + count], u[26 : 26 + count]
        topic = self._plan.topic[page]
        ids = np.select(
            [source < 0.4, source < 0.55, source < 0.85],
            [
                self._words.leaves[topic] + zipf(pick, PER_LEAF, TOPICAL_SHIFT),
                self._words.tops[self._words.top_of_leaf[topic]] + zipf(pick, PER_TOP, TOPICAL_SHIFT),
                zipf(pick, len(FUNCTION_WORDS), FUNCTION_SHIFT),
            ],
            self._words.background + zipf(pick, BACKGROUND, BACKGROUND_SHIFT),
        )
        return " ".join(self._words.words(ids)).capitalize() + "."

    def _title(self, page: int, draws: Floats, strength: float) -> str:
        """Two to four words, each of the topic with probability TITLE_TOPICAL * strength."""
        count = 2 + int(draws[4] * 3)
        u = draws[5 : 5 + count]
        ids = np.where(
            draws[9 : 9 + count] < TITLE_TOPICAL * strength,
            self._words.leaves[self._plan.topic[page]] + zipf(u, PER_LEAF, TOPICAL_SHIFT),
            self._words.background + zipf(u, BACKGROUND, BACKGROUND_SHIFT),
        )
        return " ".join(self._words.words(ids)).capitalize()

    def _footer(self, site: int) -> str:
        """The footer of the pages of a site."""
        if not self._footer_word_count:
            return "All rights reserved."
        u = uniforms(subkey(self._site_key, site), SITE_WORDS + self._footer_word_count)[SITE_WORDS:]
        ids = self._words.background + zipf(u, BACKGROUND, BACKGROUND_SHIFT)
        return f"All rights reserved. Please write to us about {' '.join(self._words.words(ids))}."

    def _draw_words_of_site(self, site: int) -> Floats:
        """The words that are specific to a site, as uniform numbers in [0, 1) that stand for ranks of rare words."""
        return uniforms(subkey(self._site_key, site), SITE_WORDS)

    def _draw_word_ids(
        self, page: int, draws: Floats, strength: float, source: Floats, pick: Floats
    ) -> NDArray[np.int64]:
        """The indices of the words of the text: a kind for each, then a rank within the kind.

        draws: random numbers of the page, of which 0 to 3 decide on its topics.
        source, pick: uniform random numbers for the kind and for the rank of each word; `pick` is overwritten.
        """
        plan, words = self._plan, self._words
        topic = int(plan.topic[page])
        stray = LEAF_SHARE * draws[0] if draws[2] < STRAY_PAGES else 0.0
        shares = (FUNCTION_SHARE, plan.figures[page], self._site_share, plan.rarity[page], LEAF_SHARE * strength)
        kinds = np.cumsum((*shares, TOP_SHARE * strength, stray)).searchsorted(source, side="right")
        topical = (
            words.leaves[topic],
            words.tops[words.top_of_leaf[topic]],
            words.leaves[int(draws[3] * self._topic_count)],
        )
        # The index at which the words of each kind begin in the table.
        bases = np.array((0, words.numbers, words.rare, words.rare, *topical, words.background))
        # A page repeats a few site, rare and topical words instead of drawing from all of them.
        repeated_draws = draws[_PAGE_DRAWS:].reshape(4, OWN_WORDS)
        site_words = self._words_of_site(int(plan.site_of_page[page]))
        site_positions = (kinds == _SITE).nonzero()[0]
        pick[site_positions] = site_words[(pick[site_positions] * SITE_WORDS).astype(np.int64)]
        repeated_positions = ((kinds >= _RARE) & (kinds <= _STRAY)).nonzero()[0]
        pick[repeated_positions] = repeated_draws[
            kinds[repeated_positions] - _RARE, (pick[repeated_positions] * OWN_WORDS).astype(np.int64)
        ]
        pick *= self._log_ranges.take(kinds)
        ranks = np.expm1(pick) * (_SHIFTS * _JUST_BELOW_ONE).take(kinds)
        return bases.take(kinds) + ranks.astype(np.int64)

    def _place_links(
        self, page: int, ids: NDArray[np.int64], targets: Ints, strength: float
    ) -> tuple[list[str], list[int]]:
        """The anchor texts of links and their positions; replaces some words nearby by words of the target's topic."""
        count = len(targets)
        if not count:
            return [], []
        u = uniforms_at(
            subkey(self._link_key, page),
            targets[:, None].astype(np.int64) * _LINK_STRIDE + np.arange(2 * _CONTEXT_SIZE + 7),
        )
        offsets = ((np.arange(count) + 0.2 + 0.6 * u[:, -1]) * (len(ids) / count)).astype(np.int64)
        topical = self._words.leaves[self._plan.topic[targets]][:, None]
        topical = topical + zipf(u[:, _CONTEXT_SIZE : 2 * _CONTEXT_SIZE + 3], PER_LEAF, TOPICAL_SHIFT)
        is_replaced = u[:, :_CONTEXT_SIZE] < CONTEXT_TOPICAL * strength
        positions = (offsets[:, None] + CONTEXT).clip(0, len(ids) - 1)
        ids[positions[is_replaced]] = topical[:, :_CONTEXT_SIZE][is_replaced]
        words = self._words.table[topical[:, _CONTEXT_SIZE:]].tolist()
        is_topical = (u[:, 2 * _CONTEXT_SIZE + 3] < ANCHOR_TOPICAL * strength).tolist()
        lengths = (1 + u[:, 2 * _CONTEXT_SIZE + 4] * 3).astype(np.int64).tolist()
        phrases = (u[:, 2 * _CONTEXT_SIZE + 5] * len(GENERIC_ANCHORS)).astype(np.int64).tolist()
        anchors = [
            " ".join(words[:length]) if topical_anchor else GENERIC_ANCHORS[phrase]
            for words, topical_anchor, length, phrase in zip(words, is_topical, lengths, phrases, strict=True)
        ]
        return anchors, offsets.tolist()
