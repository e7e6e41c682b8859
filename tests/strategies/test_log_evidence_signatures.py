"""The features by which readers are compared."""

import json
import tracemalloc

import numpy as np
import pytest

from lycosa.strategies.log_evidence import ClosestClasses, WordSignatures, compressed, decompressed
from pages import page_of_terms
from strategies.reading_people import Digits, visit_to


def words_of(signatures: WordSignatures, words: str) -> list[int]:
    return signatures.of(page_of_terms({word: 1 for word in words.split()})).tolist()  # noqa: C420


def test_rare_words_are_no_features() -> None:
    signatures = WordSignatures()
    assert words_of(signatures, "sun moon") == []
    assert words_of(signatures, "sun star") == []
    assert words_of(signatures, "sun moon") == [0]
    assert words_of(signatures, "moon sun") == [0, 1]


def test_features_are_no_more_than_said_and_no_page_has_more_than_twenty() -> None:
    signatures = WordSignatures(size=30)
    pages = [" ".join(f"word{n + shift}" for n in range(100)) for shift in (0, 0, 0, 0, 50, 50, 50, 50)]
    found = [words_of(signatures, page) for page in pages]
    assert max(map(len, found)) <= 20
    assert len(found[3]) == 20
    assert {feature for features in found for feature in features} <= set(range(30))


def test_the_most_frequent_words_count() -> None:
    signatures = WordSignatures()
    terms = {f"word{n}": 1 for n in range(50)} | {"sun": 5, "moon": 4}
    for _ in range(3):
        found = signatures.of(page_of_terms(terms))
    assert len(found) == 20
    assert len(signatures.of(page_of_terms({"sun": 1, "moon": 1}))) == 2


def test_words_that_may_become_features_are_bounded() -> None:
    signatures = WordSignatures()
    for number in range(1_000):
        words_of(signatures, " ".join(f"word{number}-{n}" for n in range(20)))
    assert len(signatures.state()["pages"][0]) <= 4_096


def test_restored_signatures_are_the_same() -> None:
    first, second = WordSignatures(size=3), WordSignatures(size=3)
    for words in ("sun moon", "sun moon star", "sun"):
        words_of(first, words)
    second.restore(json.loads(json.dumps(first.state())))
    for words in ("sun moon", "moon star", "star sea", "sea sun", "sea"):
        assert words_of(first, words) == words_of(second, words)


def test_a_page_has_the_five_classes_closest_to_it() -> None:
    signatures = ClosestClasses(Digits())
    assert signatures.size == 8
    assert signatures.of(visit_to("a", True, classes="7214365").page).tolist() == [1, 2, 3, 4, 7]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint16, np.int32])
def test_columns_become_text_and_come_back(kind: type[np.generic]) -> None:
    column = np.array([0, 1, 100, 7], kind)
    back = decompressed(json.loads(json.dumps(compressed(column))), kind, max_length=len(column))
    assert back.tolist() == column.tolist()
    assert (back.dtype, len(decompressed(compressed(column[:0]), kind, max_length=0))) == (column.dtype, 0)


def test_a_column_that_would_grow_beyond_its_limit_is_refused_before_it_does() -> None:
    bomb = compressed(np.zeros(50_000_000, np.uint8))
    tracemalloc.start()
    with pytest.raises(ValueError, match="longer than 100"):
        decompressed(bomb, np.int32, max_length=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("text", ["", "AAAA", compressed(np.arange(9))[:8]])
def test_a_damaged_column_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="damaged"):
        decompressed(text, np.int8, max_length=100)
