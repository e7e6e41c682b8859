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
    assert language_of(text, declared, check=True) == language


def test_unchecked_the_page_tells_its_language_or_the_text_does() -> None:
    assert language_of(GERMAN, "en") == "en"
    assert language_of(GERMAN, "") == "de"


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_has_a_language_or_none(text: str, declared: str) -> None:
    assert len(language_of(text, declared)) in (0, 2, 3)
