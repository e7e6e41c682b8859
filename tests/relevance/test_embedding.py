import io
import subprocess
import sys
from importlib.resources import as_file, files

import numpy as np
import pytest

import lycosa.relevance
from lycosa.reading.reader import page_of_text
from lycosa.relevance import background
from lycosa.relevance.embedding import (
    TABLE,
    Embedding,
    builtin_embedding,
    normalised,
    read_table,
    write_table,
)
from lycosa.vocabulary.records import Page, Url
from lycosa.vocabulary.text import codes_of
from pages import page_of_terms


def small_table() -> Embedding:
    """Bees and hives to the east, ships to the north, "the" nowhere in particular."""
    file = io.BytesIO()
    vectors = np.array([[2.0, 0.0], [0.0, 1.0], [0.01, 0.01]], np.float32)
    write_table(file, ["bee", "ship", "the", "bees"], np.array([0, 1, 2, 0]), vectors, normalised(vectors[:2]))
    file.seek(0)
    return read_table(file)


def page_of(text: str, *, stem: bool = False) -> Page:
    return page_of_text(Url("text:"), "", text, stem=stem)


def test_a_text_is_the_weighted_sum_of_its_words():
    table = small_table()
    assert len(table) == 4 and table.dimensions == 2
    assert table.embed_terms({"bee": 1, "ship": 2, "unheard": 5}) == pytest.approx([0.5**0.5, 0.5**0.5], abs=0.01)
    assert table.embed_terms({"bee": 3, "the": 1}) == pytest.approx([1.0, 0.0], abs=0.01)


def test_forms_of_a_word_share_its_vector():
    table = small_table()
    assert table.embed_terms({"bees": 1}).tolist() == table.embed_terms({"bee": 1}).tolist()


def test_terms_and_their_codes_say_the_same():
    table, page = small_table(), page_of("Ship, bee, ships", stem=True)
    expected = table.embed_terms({"bee": 1, "ship": 2})
    assert table.embed_counts(*page.words.term_counts).tolist() == pytest.approx(expected.tolist())


def test_other_counts_of_the_same_words_give_another_vector():
    table = small_table()
    codes = codes_of(["bee", "ship"])
    first, second = (table.embed_counts(codes, np.array(counts, np.uint64)) for counts in ([3, 1], [1, 3]))
    assert first.tolist() != second.tolist()
    assert table.embed_counts(codes, np.array([3, 1], np.uint64)).tolist() == first.tolist()


def test_texts_without_known_words_have_no_vector():
    table = small_table()
    assert table.embed_terms({}).tolist() == table.embed_terms({"unheard": 1}).tolist() == [0.0, 0.0]


def test_coverage_is_the_share_of_known_words():
    table = small_table()
    assert table.coverage(*page_of_terms({"bee": 1, "unheard": 3}).words.term_counts) == 0.25
    assert table.coverage(*page_of_terms({}).words.term_counts) == 0.0


def test_a_table_whose_parts_do_not_fit_is_refused():
    vectors, scales = np.ones((2, 2), np.int8), np.ones(2, np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        Embedding(codes_of(["bee", "ship"]), np.array([0, 2]), vectors, scales, normalised(vectors.astype(np.float32)))


TOPICS = {
    "cooking, recipes": "Heat the oven",
    "football": "The home side took the lead",
    "weather forecast": "A cold front",
    "geology, volcanoes": "The volcano had been quiet",
    "mathematics": "To prove that there are infinitely many primes",
}


@pytest.mark.parametrize("topic", TOPICS)
def test_the_shipped_table_finds_the_text_on_a_topic_by_its_name(topic: str):
    table, texts = builtin_embedding(), background()
    middle = table.background.mean(axis=0)
    vectors = normalised(np.stack([table.embed_terms(page_of(text).terms) for text in texts]) - middle)
    scores = vectors @ table.embed_terms(page_of(topic).terms)
    best = [texts[place] for place in np.argsort(-scores)[:3]]
    assert any(text.startswith(TOPICS[topic]) for text in best)


def test_the_shipped_table_knows_english_and_no_other_language():
    pages = [page_of(text) for text in background()]
    coverage = {True: [], False: []}
    for page in pages:
        coverage[page.language == "en"].append(builtin_embedding().coverage(*page.words.term_counts))
    assert min(coverage[True]) > 0.8 and max(coverage[False]) < 0.5


def test_stems_are_found_where_whole_words_are_not_known():
    text = "Volcanoes erupt where continental plates collide, and geologists study their activity."
    table = builtin_embedding()
    assert table.embed_terms(page_of(text, stem=True).terms) @ table.embed_terms(page_of(text).terms) > 0.7


def test_the_shipped_table_is_small_and_knows_many_words():
    table = builtin_embedding()
    with as_file(files(lycosa.relevance).joinpath(TABLE)) as path:
        assert path.stat().st_size < 10_000_000
    assert len(table) > 50_000 and table.background.shape[1] == table.dimensions
    assert np.abs(np.linalg.norm(table.background, axis=1) - 1.0).max() < 1e-5


@pytest.mark.slow
def test_the_table_is_read_only_when_it_is_asked_for():
    program = "import lycosa.relevance.embedding as e; print(e.builtin_embedding.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "0\n"


def test_the_table_ships_with_its_sources_and_licences():
    notice = files(lycosa.relevance).joinpath("embedding.txt").read_text(encoding="utf-8")
    for part in ("MIT", "all-MiniLM-L6-v2", "Apache", "WordNet 3.0, Copyright 2006 by Princeton University"):
        assert part in notice
