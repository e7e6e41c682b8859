"""Which topics cite which, and which are related by it."""

import numpy as np
import pytest

from lycosa.maps import OTHERS, CitationMatrix, count_citations


def test_links_are_counted_by_the_topics_of_their_ends():
    topic_of = {10: 0, 11: 0, 20: 1, 30: 2}
    links = [(10, 11), (11, 20), (10, 20), (20, 10), (30, 30), (10, 99), (99, 10)]
    matrix = count_citations(["bees", "wasps", "chess"], topic_of, links)
    assert matrix.links == ((1, 2, 0), (1, 0, 0), (0, 0, 0))
    assert matrix.affinity() == pytest.approx(np.array([[1 / 3, 2 / 3, 0], [1, 0, 0], [0, 0, 0]]))
    assert count_citations(["bees"], {}, []).links == ((0,),)


def matrix_of(counts) -> CitationMatrix:
    topics = ("bees", "wasps", "chess", "opera", OTHERS)
    return CitationMatrix(topics, tuple(map(tuple, np.array(counts).tolist())))


BY_SIZE = [
    [900, 20, 20, 20, 40],
    [20, 900, 20, 20, 40],
    [20, 20, 900, 20, 40],
    [20, 20, 20, 900, 40],
    [20, 20, 20, 20, 900],
]


def test_topics_that_cite_each_other_as_chance_brings_are_not_related():
    matrix = matrix_of(BY_SIZE)
    assert [matrix.related(topic) for topic in matrix.topics] == [(), (), (), (), ()]
    assert matrix.lift() == pytest.approx(np.ones((5, 5)), abs=0.02)


def test_topics_that_cite_each_other_more_are_related_either_way():
    counts = np.array(BY_SIZE)
    counts[0, 1] = 90  # bees cite wasps
    counts[2, 4] = 400  # chess cites whatever
    matrix = matrix_of(counts)
    assert matrix.related("bees") == ("wasps",)
    assert matrix.related("wasps") == ("bees",)
    assert matrix.related("chess") == ()
    assert matrix.related(OTHERS) == ()
    assert matrix.related("unheard of") == ()
    assert matrix.lift()[0, 1] > 1.5


def test_a_few_links_prove_nothing():
    counts = np.zeros((5, 5), dtype=int)
    counts[0, 1] = 2
    counts[2, 3] = 1
    assert matrix_of(counts).related("bees") == ()


def test_of_two_topics_the_share_of_links_decides():
    def related(counts):
        return CitationMatrix(("bees", "wasps"), counts).related("bees")

    assert related(((98, 2), (0, 0))) == ("wasps",)
    assert related(((990, 10), (10, 990))) == ()
