"""The words of the synthetic world: real ones that are in every text, and for what its first topics talk about; of a
made-up language otherwise.

One table holds every word three times: as it is, at the end of a sentence, and at the beginning of one. A word that
several topics share stands there for each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

import numpy as np
from numpy.typing import NDArray

from lycosa.reading.stop_words import STOP_WORDS
from lycosa.worlds.words import COMMON, TOPICS

from .counter_rng import Floats, Ints, key, uniforms


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FUNCTION_WORDS = _words(
    """the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which
    one you were all her she there would their we him been has when who will no more if out so up said what its about"""
)
SECTION_NAMES = _words("news guides stories people places tools history letters gallery lessons archive notes reviews")
FOLDERS = _words("old new winter summer spring autumn north south first second third misc")
GENERIC_ANCHORS = ("read more", "here", "this page", "see also", "details", "a note", "continue", "full story")
_ONSETS = _words("b d f g h k l m n p r s t v w z")
_VOWELS = _words("a e i o u")
_ENDS = ("", *_words("n r l s m t k nd rk"))

BACKGROUND, RARE, PER_TOP, PER_LEAF = 6000, 20_000, 300, 320  # words
POOL = 300  # words that topics of any kind share
OF_ITS_OWN, OF_ITS_TOP = 0.2, 0.35  # of a leaf's words; the others are of the pool
NUMBERS = 1200


_REAL_WORDS = STOP_WORDS.union(COMMON, TOPICS, *TOPICS.values())


def random_words(seed: int) -> Iterator[str]:
    """Words that nobody wrote, none twice, none a real word that is used too."""
    syllables = ["".join(parts) for parts in product(_ONSETS, _VOWELS)]
    short = len(syllables) ** 2 * len(_ENDS)
    shift = key(seed, "words") % short
    for number in range(short * len(syllables)):
        longer, place = divmod(number, short)
        place = (place * 19_777 + shift) % short  # neighbours in the table shall not look alike
        rest, end = divmod(place, len(_ENDS))
        first, second = divmod(rest, len(syllables))
        middle = syllables[longer - 1] if longer else ""
        word = syllables[first] + middle + syllables[second] + _ENDS[end]
        if word not in _REAL_WORDS:
            yield word


@dataclass(frozen=True)
class Vocabulary:
    """Where the words of each kind begin in the table."""

    table: NDArray[np.object_]  # each word as it is, then each with a full stop, then each with a capital letter
    size: int
    numbers: int
    background: int
    rare: int
    tops: NDArray[np.int64]
    leaves: NDArray[np.int64]
    names: tuple[str, ...]  # of the leaves, "top/leaf"
    top_of_leaf: NDArray[np.int64]

    def words(self, ids: NDArray[np.int64]) -> list[str]:
        found: list[str] = self.table[ids].tolist()
        return found

    def related(self, topics: Ints, u: Floats) -> Ints:
        """For each topic one of the same top, by a number in [0, 1)."""
        firsts = np.searchsorted(self.top_of_leaf, np.arange(len(self.tops) + 1))
        top = self.top_of_leaf[topics]
        related: Ints = firsts[top] + (u * (firsts[top + 1] - firsts[top])).astype(np.int64)
        return related


def make_vocabulary(seed: int, topics: int) -> tuple[Vocabulary, Iterator[str]]:
    """The words of a world, and more that occur in no text, for the names of its sites."""
    words_left = random_words(seed)
    count_of_tops = max(1, round(topics**0.5))
    top_of_leaf = np.sort((uniforms(key(seed, "tops"), topics) * count_of_tops).astype(np.int64))
    top_of_leaf[:count_of_tops] = np.arange(count_of_tops)[:topics]  # none is empty
    top_of_leaf.sort()
    background = len(FUNCTION_WORDS) + NUMBERS
    rare = background + BACKGROUND
    tops = rare + RARE + PER_TOP * np.arange(count_of_tops)
    leaves = rare + RARE + PER_TOP * count_of_tops + PER_LEAF * np.arange(topics)
    others = BACKGROUND - len(COMMON) + RARE + count_of_tops * PER_TOP
    plain = [*FUNCTION_WORDS, *_number_words(seed), *COMMON, *islice(words_left, others)]
    pool = list(islice(words_left, POOL))
    known = [(name, *words) for name, words in TOPICS.items()]
    for leaf, top in enumerate(top_of_leaf.tolist()):
        of_top = plain[tops[top] : tops[top] + PER_TOP]
        its_own = chain(known[leaf] if leaf < len(known) else (), words_left)
        plain += _leaf_words(key(seed, "leaf words", leaf), its_own, of_top, pool)
    names = tuple(
        f"{plain[tops[top]]}/{plain[leaf]}" for top, leaf in zip(top_of_leaf.tolist(), leaves.tolist(), strict=True)
    )
    table = np.array([*plain, *(word + "." for word in plain), *(word.capitalize() for word in plain)], dtype=object)
    found = Vocabulary(table, len(plain), len(FUNCTION_WORDS), background, rare, tops, leaves, names, top_of_leaf)
    return found, words_left


def _leaf_words(start: int, unused: Iterator[str], of_top: Sequence[str], pool: Sequence[str]) -> list[str]:
    """The words of a leaf: first its name, then some of its own, some of its top's and some that others use too."""
    kinds, picks = uniforms(start, 2 * PER_LEAF).reshape(2, PER_LEAF).tolist()
    kinds[0] = 0.0
    words = []
    for kind, pick in zip(kinds, picks, strict=True):
        if kind < OF_ITS_OWN:
            words.append(next(unused))
        else:
            shared = of_top if kind < OF_ITS_OWN + OF_ITS_TOP else pool
            words.append(shared[int(pick * len(shared))])
    return words


def _number_words(seed: int) -> list[str]:
    sizes = 10.0 ** (1.0 + 3.0 * uniforms(key(seed, "numbers"), NUMBERS))
    return [str(int(size)) for size in sizes]
