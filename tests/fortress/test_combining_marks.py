"""Pages of combining marks, which Unicode has sorted where text is composed, in time quadratic in their number."""

import time
import unicodedata

import pytest

from lycosa.collection import SearchIndex
from lycosa.collection.search_index import _MARKS, MAX_TEXT

_CLASSES = sorted({unicodedata.combining(chr(code)) for code in range(0x300, 0x370)} - {0}, reverse=True)
_MARKS_OF = {unicodedata.combining(chr(code)): chr(code) for code in range(0x300, 0x370)}
_URL = "http://a.example/"
MAX_SECONDS = 1.0  # of the processor; the first of these texts took 6 s


@pytest.mark.parametrize(
    "text",
    [
        "honey " + "".join(_MARKS_OF[each] * (MAX_TEXT // len(_CLASSES)) for each in _CLASSES),
        "honey a" + "\u0315\u0300" * (MAX_TEXT // 2),
        "honey " + "é" + "\u0f73\u0315\u0300" * (MAX_TEXT // 3),
    ],
    ids=["one class after the other", "two classes in turn", "a mark that becomes two"],
)
def test_marks_without_end_cost_linear_time(tmp_path, text: str) -> None:
    index = SearchIndex(tmp_path / "search", text_of=lambda url: text)
    began = time.process_time()
    index.add(_URL, "a.example", "honey", text)
    index.commit()
    assert [hit.url for hit in index.search("honey")] == [_URL]
    index.similar(_URL)
    assert time.process_time() - began < MAX_SECONDS
    index.close()


def test_no_mark_is_overlooked() -> None:
    """Every character that is sorted is one that ends a run after 30."""
    sorted_ones = [
        character
        for character in map(chr, range(0x110000))
        if unicodedata.combining(character) or unicodedata.combining(unicodedata.normalize("NFD", character)[0])
    ]
    assert [character for character in sorted_ones if not _MARKS.match(character * 31)] == []


def test_words_are_composed_as_before(tmp_path) -> None:
    text = "Zu\u0308rich, Vie\u0323\u0302t Nam " + "\u2014" * 40 + " cafe\u0301"
    index = SearchIndex(tmp_path / "search", text_of=lambda url: text)
    index.add(_URL, "a.example", "", text)
    index.commit()
    for query in ("z\u00fcrich", "vi\u1ec7t", "caf\u00e9"):
        assert len(index.search(query)) == 1
    index.close()
