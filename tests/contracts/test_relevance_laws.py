"""What holds of every relevance: a number within 0 and 1 for any page, the same for the same page."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import (
    All,
    Cosine,
    Either,
    Function,
    Keywords,
    LinearModel,
    Not,
    Taxonomy,
    UrlPattern,
    train,
)
from lycosa.testing import judges_within_0_and_1
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.records import Page
from pages import page_of_terms

GOOD = [{"spider": 3, "hunt": 1, "leg": 8}, {"spider": 1, "web": 2, "silk": 2}]
BAD = [{"ship": 4, "sail": 2, "hunt": 1}, {"harbour": 1, "ship": 2}, {"cake": 3, "sugar": 2}]

TOPICS = {topic: list(map(page_of_terms, pages)) for topic, pages in {"spiders": GOOD, "others": BAD}.items()}

MAKERS: dict[str, Callable[[], Relevance]] = {
    "cosine": lambda: Cosine("spider, a web and a spider"),
    "svm": lambda: train(GOOD, BAD),
    "svm saved and loaded": lambda: LinearModel.from_plain(train(GOOD, BAD).to_plain()),
    "svm of one page each": lambda: train(GOOD[:1], BAD[:1]),
    "any keyword": lambda: Keywords(["spider", "wolf spider", "/sp[iy]der/"]),
    "all keywords": lambda: Keywords(["spider", "web"], need="all"),
    "share of keywords": lambda: Keywords(["spider", "web", "silk"], need="share"),
    "taxonomy": lambda: Taxonomy.train(TOPICS).relevance_model("spiders"),
    "url": lambda: UrlPattern(["http://*/", "/wiki/"]),
    "all": lambda: All([Cosine("spider"), Keywords(["web"], need="share")]),
    "either": lambda: Either([Cosine("spider"), UrlPattern(["*/none"])]),
    "not": lambda: Not(Cosine("spider")),
    "function": lambda: Function("here:length", lambda page: len(page.text) - 3.0),
}

RELEVANCES = {name: make() for name, make in MAKERS.items()}
AGAIN = {name: make() for name, make in MAKERS.items()}

WORDS = st.sampled_from(["spider", "web", "silk", "ship", "cake", "unheard"]) | st.text(min_size=1, max_size=5).filter(
    lambda word: [word] == word.split() and word.isprintable()
)
PAGES = st.builds(
    lambda terms: page_of_terms(terms, title="Spiders", text=" ".join(terms)),
    st.dictionaries(WORDS, st.integers(1, 10**7), max_size=12),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEVANCES)
@given(page=PAGES)
def test_relevance_lies_within_0_and_1(name: str, page: Page) -> None:
    judges_within_0_and_1(RELEVANCES[name], page)


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEVANCES)
@given(page=PAGES)
def test_the_same_page_has_the_same_relevance(name: str, page: Page) -> None:
    relevance = RELEVANCES[name]
    assert relevance.relevance(page) == relevance.relevance(page) == AGAIN[name].relevance(page)
