"""Text from strangers is inert once it is visible."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.text import printable


def test_escape_sequences_and_controls_lose_their_power():
    assert printable("\x1b]0;title\x07red\x1b[31m \x9b2J\x00end\x7f") == "]0;titlered end"


def test_bidirectional_overrides_and_hidden_characters_go():
    assert printable("a\u202eb\u2066c\u200bd\ufeffe\u00adf\u061cg") == "abcdefg"


def test_all_white_space_becomes_single_blanks():
    assert printable("  a\t\r\n b\u2028c\u00a0\u3000d  ") == "a b c d"


def test_letters_of_any_script_and_emoji_stay():
    for text in ("Bienenkönigin", "ミツバチ", "می‌خواهم", "👩‍🌾 honey"):
        assert printable(text) == text


def test_long_text_is_cut_with_an_ellipsis():
    assert printable("word " * 100, 12) == "word word w…"
    assert printable("x" * 200) == "x" * 200 and len(printable("x" * 201)) == 200


@pytest.mark.slow
@given(st.text(), st.integers(1, 50))
def test_nothing_but_one_short_harmless_line_is_left(text, limit):
    line = printable(text, limit)
    assert len(line) <= limit and line == line.strip() and "  " not in line
    assert all(c in "\u200c\u200d" or unicodedata.category(c)[0] != "C" for c in line)
    assert printable(line, limit) == line
