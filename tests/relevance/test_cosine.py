import pytest

from lycosa.reading import page_of_html
from lycosa.relevance import Cosine
from lycosa.vocabulary.records import Page, Url
from pages import page_of_terms


def page(**terms: int) -> Page:
    return page_of_terms(terms)


def test_a_cosine_of_even_is_one_half() -> None:
    topic = Cosine("spider", midpoint=0.6)
    assert topic.relevance(page(spider=3, ship=4)) == pytest.approx(0.5)


def test_the_order_is_that_of_the_cosine() -> None:
    topic = Cosine("spider web")
    pages = [page(ship=2), page(spider=1, ship=9), page(spider=1, ship=1), page(spider=1, web=1)]
    scores = [topic.relevance(one) for one in pages]
    assert scores == sorted(scores) and len(set(scores)) == 4
    assert scores[0] == 0.0


def test_pages_and_topics_without_words_are_irrelevant() -> None:
    assert Cosine("spider").relevance(page()) == 0.0
    assert Cosine("").relevance(page(spider=1)) == 0.0


@pytest.mark.parametrize(("language", "text"), [("de", "Die Biene fliegt."), ("en", "Bees of the hive."), ("", "bee")])
def test_the_topic_is_stemmed_as_the_page_is(language: str, text: str) -> None:
    page = page_of_html(Url("http://a.example/"), f"<html lang='{language}'><p>{text}", stem=True)
    assert Cosine("Bienen, bees").relevance(page) > 0.5


def test_even_is_a_cosine() -> None:
    with pytest.raises(ValueError, match="midpoint"):
        Cosine("spider", midpoint=0.0)
