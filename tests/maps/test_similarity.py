"""Sketches of pages resemble each other as their texts do."""

import numpy as np
import pytest

from lycosa.maps import SketchSimilarity, text_sketch
from pages import page_of_terms


def page(words: str, times: int = 3):
    return page_of_terms(dict.fromkeys(words.split(), times))


def cosine(one, other) -> float:
    resemblance = SketchSimilarity({5: text_sketch(one), 9: text_sketch(other)})
    return float(resemblance(np.array([5]), np.array([9]))[0])


def many(start: int, count: int = 40) -> str:
    return " ".join(f"word{number}" for number in range(start, start + count))


def test_the_cosine_of_sketches_is_near_that_of_the_words():
    assert cosine(page(many(0)), page(many(0))) == pytest.approx(1.0, abs=0.01)
    assert cosine(page(many(0)), page(many(20))) == pytest.approx(0.5, abs=0.25)
    assert cosine(page(many(0)), page(many(100))) < 0.3


def test_pages_without_words_or_sketch_resemble_none():
    assert cosine(page(""), page(many(0))) == 0.0
    resemblance = SketchSimilarity({1: None, 2: b"short", 3: text_sketch(page(many(0)))})
    assert resemblance(np.array([1, 2, 3]), np.array([3, 3, 3])).tolist() == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
