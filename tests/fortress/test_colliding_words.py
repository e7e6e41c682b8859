"""A word with the code of another, which a page can compute within a minute, changes nothing on other pages."""

from collections import Counter

import numpy as np
import pytest

from lycosa.reading.words import FoldedWords
from lycosa.relevance.svm import train
from lycosa.strategies.hunter import _word_ids, _WordIdCache
from lycosa.vocabulary.text import SEPARATOR, coded_words, codes_of, folded, secret_codes

HOSTILE = {  # words and separator with the same codes as these
    "qqkrthupynncppkrzehqefjtiduw": "beekeeping",
    "lqpmhdxwqvuaeeytaozgcmuiehui": "honey",
    "lmxswlecevtvvjrfmeuvmoskmxgy": SEPARATOR.decode(),
}


def test_the_words_have_the_same_codes() -> None:
    assert np.array_equal(codes_of(HOSTILE), codes_of(HOSTILE.values()))


@pytest.mark.parametrize("stem", ["porter", False], ids=["stemmed", "as written"])
def test_terms_that_are_remembered_of_words_are_not_those_of_others(stem: str | bool) -> None:
    for page in (" ".join(HOSTILE), "beekeeping with honey"):  # the caches are shared by all pages
        words = FoldedWords(folded(page), stem=stem)
        assert words.term_counts[0].tolist() == sorted(codes_of(words.terms).tolist())


def test_texts_with_the_code_of_the_separator_are_not_parted() -> None:
    assert [len(codes) for codes in FoldedWords(b"").codes_of([*HOSTILE, "two words"])] == [1, 1, 1, 2]


@pytest.mark.parametrize("differing_bit", [0, 16, 40])
def test_the_default_strategy_tells_words_apart_by_all_of_their_codes(differing_bit: int) -> None:
    known = codes_of(["honey"])
    similar, cache = known ^ np.uint64(1 << differing_bit), _WordIdCache()
    for codes in (similar, known, similar):
        assert cache.word_ids(codes).tolist() == _word_ids(codes).tolist()


def test_words_that_differ_anywhere_have_different_secret_codes() -> None:
    words = [letter * length for letter in "ab" for length in range(1, 65)]
    words += [
        "a" * place + "b" + "a" * (length - place - 1) for length in (9, 16, 17, 40, 64) for place in range(length)
    ]
    text = folded(" ".join(dict.fromkeys(words)))
    codes = secret_codes(text, coded_words(text))
    assert len(set(codes.tolist())) == len(set(words))


def test_a_word_has_the_same_secret_code_wherever_it_stands() -> None:
    words = [*HOSTILE, "bees", "beekeepers"]
    text = folded(" ".join(("of", *words, "and", *words)))
    codes = secret_codes(text, coded_words(text)).tolist()
    assert codes[1 : 1 + len(words)] == codes[-len(words) :]


def test_a_model_trained_on_examples_has_one_weight_for_words_of_the_same_code() -> None:
    good, bad = Counter({"beekeeping": 3, "hive": 1}), Counter({next(iter(HOSTILE)): 3, "ship": 1})
    for pages in ([good], [bad]), ([bad], [good]):
        weights = dict(zip(*(each.tolist() for each in train(*pages).weights_by_code()), strict=True))
        assert len(weights) == 3
        assert abs(weights[int(codes_of(["beekeeping"])[0])]) < 0.1  # it is on both
