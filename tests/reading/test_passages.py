from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.passages import passages

TEXTS = st.text(st.sampled_from("ab .!?\n#蜂蜜。\"'-é\u2028"), max_size=300)


@given(TEXTS, st.integers(1, 20))
def test_nothing_is_lost_or_said_twice(text, words):
    assert "".join("".join(passages(text, words)).split()) == "".join(text.split())


@given(st.lists(st.text("ab.", min_size=1, max_size=5), max_size=200), st.integers(1, 20))
def test_passages_are_of_about_as_many_words(given_words, words):
    *others, last = passages(" ".join(given_words), words) or [""]
    assert all(max(1, words // 2) <= len(passage.split()) <= words for passage in others)
    assert len(last.split()) <= words


def test_they_end_with_sections_paragraphs_and_sentences_where_they_can():
    assert passages("a b c\n\n# d e f g", 5) == ["a b c", "# d e f g"]
    assert passages("a b c\nd. e f g", 5) == ["a b c", "d. e f g"]
    assert passages("a b c. d e f g", 5) == ["a b c.", "d e f g"]
    assert passages("a b c d e f g", 5) == ["a b c d e", "f g"]


def test_two_characters_of_a_script_without_blanks_are_a_word():
    assert passages("蜂蜜は甘い。蜜蜂が集める。", 3) == ["蜂蜜は甘い。", "蜜蜂が集める。"]


def test_a_text_without_words_has_no_passage():
    assert passages(" \n ", 5) == []
