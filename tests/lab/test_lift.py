"""Lift curves: what counts, and what a crawl that ran dry is worth."""

from hypothesis import given
from hypothesis import strategies as some

from lycosa.vocabulary.records import Url
from lycosa_lab.simulation import Step
from lycosa_lab.studies.collaborative.runs import POINTS, lift_of


def steps_of(relevances):
    return [Step(Url(f"http://a.example/{place}"), value, 0.0) for place, value in enumerate(relevances)]


def test_the_harvest_is_the_share_of_pages_that_satisfy():
    crawl = lift_of(steps_of([0.0] * 10 + [1.0] * 10), 20)
    assert (crawl["crawled"], crawl["good"], crawl["harvest"]) == (20, 10, 0.5)
    assert crawl["tenths"] == [0.0] * 5 + [1.0] * 5
    assert crawl["lift"][-1] == 0.5
    assert crawl["lift"][POINTS // 2 - 1] == 0.0


def test_what_is_half_relevant_satisfies():
    assert lift_of(steps_of([0.5, 0.49]), 2)["good"] == 1


def test_pages_that_were_not_brought_do_not_satisfy():
    crawl = lift_of(steps_of([1.0] * 5), 20)
    assert (crawl["crawled"], crawl["good"], crawl["harvest"]) == (5, 5, 0.25)
    assert crawl["tenths"][-1] == 0.0


@given(some.lists(some.booleans(), max_size=200), some.integers(10, 300))
def test_the_tenths_add_up_to_all(satisfy, pages):
    crawl = lift_of(steps_of(map(float, satisfy)), pages)
    ends = [pages * tenth // 10 for tenth in range(11)]
    found = sum(share * (end - start) for share, start, end in zip(crawl["tenths"], ends, ends[1:], strict=False))
    assert round(found, 2) == crawl["good"] == sum(satisfy[:pages])
    assert all(0.0 <= value <= 1.0 for value in crawl["lift"])
