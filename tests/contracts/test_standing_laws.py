"""What holds of every standing: a number within 0 and 1 for any page, the same for the same page."""

import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.standing import StandingModel, learn, prior
from lycosa.vocabulary.contracts import Standing
from lycosa.vocabulary.records import Link, Page, Url
from pages import GivenWords


def page(terms: dict[str, int], folders: int, links: int) -> Page:
    targets = tuple(Link(Url(f"http://b.example/{number}")) for number in range(links))
    return Page(Url("http://a.example/" + "x/" * folders), "", "", "", GivenWords(terms), targets)


TAUGHT = [(page({"spider": 1 + k % 7, f"word{k % 5}": 2}, k % 4, k % 6), k % 6 + k / 40) for k in range(40)]
REACH = {"a.example": 3.0, "b.example": 5.0}


def _loaded() -> StandingModel:
    plain = json.loads(json.dumps(learn(TAUGHT, traffic=REACH).to_plain()))
    return StandingModel.from_plain(plain, traffic=REACH)


MAKERS: dict[str, Callable[[], Standing]] = {
    "learnt": lambda: learn(TAUGHT, traffic=REACH),
    "saved and loaded": _loaded,
    "learnt from too little": lambda: learn(TAUGHT[:3]),
    "prior": prior,
}

STANDINGS = {name: make() for name, make in MAKERS.items()}
AGAIN = {name: make() for name, make in MAKERS.items()}

WORDS = st.sampled_from(["spider", "word1", "1999"]) | st.text(min_size=1, max_size=5).filter(
    lambda word: [word] == word.split() and word.isprintable()
)
PAGES = st.builds(
    page, st.dictionaries(WORDS, st.integers(1, 10**7), max_size=12), st.integers(0, 9), st.integers(0, 30)
)


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDINGS)
@given(page=PAGES)
def test_standing_lies_within_0_and_1(name: str, page: Page) -> None:
    value = STANDINGS[name].standing(page)
    assert isinstance(value, float) and math.isfinite(value)
    assert 0.0 <= value <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDINGS)
@given(page=PAGES)
def test_the_same_page_has_the_same_standing(name: str, page: Page) -> None:
    standing = STANDINGS[name]
    assert standing.standing(page) == standing.standing(page) == AGAIN[name].standing(page)
