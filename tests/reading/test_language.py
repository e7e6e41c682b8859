import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.language import language_of

ENGLISH = "The spider does not wait in a web but runs after what it wants to eat, and carries its young on its back."
GERMAN = "Die Spinne wartet nicht im Netz, sondern läuft ihrer Beute nach und trägt die Jungen auf dem Rücken."


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        (ENGLISH, "", "en"),
        (GERMAN, "en", "de"),
        (ENGLISH + "\x00\x1b[31m\ufffe", "", "en"),
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "", "ja"),
        ("", "fr-CA", "fr"),
        ("bavu stol teastacucha", "PT", "pt"),
        ("bavu stol", "x-klingon", ""),
        ("", "", ""),
    ],
)
def test_checked_the_text_tells_its_language_or_the_page_does(text: str, declared: str, language: str) -> None:
    assert language_of(text, declared, prefer_detected=True) == language


def test_unchecked_the_page_tells_its_language_or_the_text_does() -> None:
    assert language_of(GERMAN, "en") == "en"
    assert language_of(GERMAN, "") == "de"


@pytest.mark.parametrize(
    ("declared", "language"),
    [("eng", "en"), ("deu-DE", "de"), ("GER", "de"), ("zh-Hant", "zh"), ("iw", "he"), ("haw", ""), ("xx-Arab", "")],
)
def test_a_declared_language_has_two_letters_or_none(declared: str, language: str) -> None:
    assert language_of("", declared) == language


def test_where_the_declared_language_has_no_code_of_two_letters_the_text_tells() -> None:
    assert language_of(GERMAN, "gsw") == "de"


@pytest.mark.slow
@given(st.text(max_size=200), st.text(max_size=20) | st.from_regex("[a-z]{2,3}(-[A-Z]{2})?", fullmatch=True))
def test_any_text_has_a_language_of_two_letters_or_none(text: str, declared: str) -> None:
    assert len(language_of(text, declared)) in (0, 2)
