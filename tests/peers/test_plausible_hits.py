"""Which hits of strangers can be answers, as far as can be told without the page."""

import pytest

from lycosa_peers.content import Items
from lycosa_peers.messages import CollectionStatistics, PeerHit
from sharing import add_pages, shared

HONEY, BEES = "honey", "bees"
TOLD = CollectionStatistics(10, 1000, (HONEY, BEES), (3, 2))


@pytest.fixture
def content(tmp_path):
    pages = {"http://a.example/": ("Bees", "bees make honey"), "http://127.0.0.1/": ("Bees", "honey of bees")}
    with shared(add_pages(tmp_path / "c", pages)) as content:
        yield content


@pytest.mark.parametrize(
    ("hit", "told", "may"),
    [
        (PeerHit("http://b.example/", frequencies=(1, 2)), TOLD, True),
        (PeerHit("http://b.example/", frequencies=(1, 0)), TOLD, False),
        (PeerHit("http://b.example/", frequencies=(1,)), TOLD, False),
        (PeerHit("http://b.example/", frequencies=(1, 2)), None, False),
        (
            PeerHit("http://b.example/", frequencies=(9, 9)),
            CollectionStatistics(10, 1000, ("spam", HONEY), (3, 2)),
            False,
        ),
        (PeerHit("http://127.0.0.1/", frequencies=(1, 2)), TOLD, True),
        (PeerHit(7, frequencies=(1, 2)), TOLD, False),
    ],
)
def test_a_page_may_be_an_answer_that_is_said_to_have_all_words(content, hit, told, may):
    assert content.is_plausible_hit("the honey of bees", hit, told) is may


@pytest.mark.parametrize(
    ("item", "may"),
    [("http://b.example/", True), ("http://127.0.0.1/", False), ("javascript:alert(1)", False), (7, False)],
)
def test_a_page_may_be_taken_that_is_at_an_address_that_may_be_crawled(content, item, may):
    assert content.may_store(item) is may


def test_what_a_collection_finds_may_be_an_answer_to_everybody(content):
    found = content.find("honey bees", 10)
    assert [hit.item for hit in found.hits] == ["http://a.example/"]
    assert all(content.is_plausible_hit("honey bees", hit, found.statistics) for hit in found.hits)


def test_nothing_answers_a_question_without_words(content):
    assert not content.is_plausible_hit("", PeerHit("http://b.example/"), TOLD)
    assert not content.is_plausible_hit(5, PeerHit("http://b.example/"), TOLD)


def test_a_file_is_an_answer_to_its_own_id_alone():
    assert Items().is_plausible_hit(5, PeerHit(5), None)
    assert not Items().is_plausible_hit(5, PeerHit(6), None)
    assert Items().may_store(6)
