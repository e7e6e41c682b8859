"""What is estimated to be left follows from which pages link where, and from nothing else."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crawling import waiting
from lycosa.reading.reader import page_of_text
from lycosa.run.recall import (
    MIN_RELEVANT,
    RECALL_BEHIND,
    RecallEstimate,
    RecallEstimator,
    RecallTracker,
    current_recall,
    restored_recall,
    saved_recall,
)
from lycosa.vocabulary.records import (
    Candidate,
    Change,
    Fetch,
    LeftOut,
    LeftOutReason,
    Link,
    Outcome,
    Skip,
    SkipReason,
    Url,
    Visit,
)
from sessions import opened


def url(number: int) -> Url:
    return Url(f"http://a.example/{number}")


graphs = st.dictionaries(st.integers(0, 12), st.tuples(st.booleans(), st.lists(st.integers(0, 16))), min_size=1)


def estimator_of(graph: Mapping[int, tuple[bool, list[int]]]) -> RecallEstimator:
    estimator = RecallEstimator()
    for number, (is_relevant, targets) in graph.items():
        estimator.add_visited(url(number), is_relevant=is_relevant, targets=map(url, targets))
    return estimator


@pytest.mark.slow
@given(graph=graphs)
def test_the_tables_count_what_the_visits_say(graph: dict[int, tuple[bool, list[int]]]) -> None:
    def parents(target: int, kind: bool) -> int:
        return sum(target in links and page != target for page, (good, links) in graph.items() if good is kind)

    waiting = [0] * 20
    relevant = [0] * 5
    for target in range(17):
        good, other = min(4, parents(target, True)), min(3, parents(target, False))
        if target in graph:
            relevant[good] += graph[target][0]
        elif good or other:
            waiting[4 * good + other] += 1
    estimator = estimator_of(graph)
    assert estimator._waiting == waiting
    assert estimator._relevant == relevant
    assert 0.0 < sum(estimator._trials) <= len(graph)
    assert all(hits <= trials for hits, trials in zip(estimator._hits, estimator._trials, strict=True))


@pytest.mark.slow
@given(graph=graphs)
def test_an_estimate_lies_within_its_interval_and_all_is_found_where_nothing_waits(
    graph: dict[int, tuple[bool, list[int]]],
) -> None:
    estimator = estimator_of(graph)
    estimate, found = estimator.estimate(), sum(good for good, _ in graph.values())
    if not found:
        assert estimate is None
        return
    assert estimate is not None
    assert estimate.found == found
    assert 0.0 < estimate.recall_low <= estimate.recall <= estimate.recall_high <= 1.0
    assert estimate.recall == pytest.approx(found / (found + estimate.relevant_left))
    assert estimate.relevant_left <= 2 * sum(estimator._waiting) + 1e-9
    for number in range(17):
        estimator.leave_out(url(number))
    assert estimator.estimate() == RecallEstimate(found, 0.0, 1.0, 1.0, 1.0)


def test_more_links_from_relevant_pages_mean_more_that_is_left_and_outcomes_count_more_than_the_prior() -> None:
    def left(waiting: int, led_to_relevant: int, led_elsewhere: int) -> float:
        estimator = RecallEstimator()
        targets = [url(number) for number in range(1, 1 + waiting + led_to_relevant + led_elsewhere)]
        estimator.add_visited(url(0), is_relevant=True, targets=targets)
        for place, target in enumerate(targets[waiting:]):
            estimator.add_visited(target, is_relevant=place < led_to_relevant)
        estimate = estimator.estimate()
        assert estimate is not None
        return estimate.relevant_left

    assert left(10, 5, 5) < left(20, 5, 5)
    assert left(20, 5, 5) < left(20, 6, 4)
    assert left(20, 0, 40) < 2.0 < 15.0 < left(20, 40, 0)


def test_a_page_with_thousands_of_links_does_not_mean_millions_of_pages() -> None:
    estimator = RecallEstimator()
    estimator.add_visited(url(0), is_relevant=True, targets=[url(number) for number in range(1, 5_001)])
    for number in range(1, 6):
        estimator.add_visited(url(number), is_relevant=number == 1)
    estimate = estimator.estimate()
    assert estimate is not None
    assert 1_000 < estimate.relevant_left <= 4_995
    assert estimate.recall_low < 0.001 < estimate.recall_high


def test_pages_seen_again_add_their_new_links_only_and_redirects_are_no_outcomes() -> None:
    estimator = RecallEstimator()
    page = replace(page_of_text(url(0), "", "honey"), links=(Link(url(1)), Link(url(2)), Link(url(3), rel="nofollow")))
    fetch = Fetch(url(0), Outcome.OK, 0.0)
    visit = Visit(Candidate(url(0), 1.0), fetch, page, relevance=0.9)
    estimator.add(visit)
    assert sum(estimator._waiting) == 2
    again = Visit(Candidate(url(0), 1.0), fetch, page, relevance=0.9, change=Change.CHANGED, new_links=(url(2), url(3)))
    estimator.add(again)
    assert estimator._waiting[4] == estimator._waiting[8] == 1  # linked to once, and twice
    trials = sum(estimator._trials)
    estimator.add(Visit(Candidate(url(1), 1.0), Fetch(url(1), Outcome.MOVED, 0.0, location=url(7))))
    assert sum(estimator._trials) == trials
    left_out = Visit(Candidate(url(2), 1.0), fetch, page, relevance=0.9, left_out=LeftOut(LeftOutReason.NOINDEX))
    estimator.add(left_out)
    assert sum(estimator._trials) == trials + 1
    assert sum(estimator._hits) == 1  # the first page; one that is not kept is not found


def test_a_crawl_may_stop_by_the_low_end_of_the_interval_and_not_for_a_few_pages() -> None:
    assert RecallEstimate(MIN_RELEVANT, 1.0, 0.95, 0.91, 0.99).reaches(0.9)
    assert not RecallEstimate(MIN_RELEVANT, 1.0, 0.95, 0.89, 0.99).reaches(0.9)
    assert not RecallEstimate(MIN_RELEVANT - 1, 0.0, 1.0, 1.0, 1.0).reaches(0.9)


def test_an_estimate_is_read_back_from_the_state_of_a_catalog() -> None:
    assert saved_recall(None) is None
    saved = {"found": 2, "relevant_left": 1.0, "recall": 0.5, "recall_low": 0.25, "recall_high": 0.75}
    assert saved_recall(saved) == RecallEstimate(2, 1.0, 0.5, 0.25, 0.75)


def test_a_tracker_counts_visits_as_the_catalog_would(crawled: Path) -> None:
    with opened(crawled) as session:
        catalog = session.collection.catalog
        tracker = RecallTracker(catalog)
        before = tracker.estimate()
        assert before == restored_recall(catalog).estimate()
        for event, _ in session.collection.archive.events():
            if isinstance(event, Visit):
                tracker.add(event)
        assert tracker.estimate() == before, "which were all counted"
        tracker.leave_out([Skip(Candidate(each, 0.5), SkipReason.SCOPE) for each in waiting(crawled)])
        assert tracker.estimate().relevant_left < before.relevant_left
        tracker.invalidate()
        assert tracker.estimate() == before


def test_an_outdated_estimate_is_renewed_or_noted_as_such(crawled: Path) -> None:
    with opened(crawled) as session:
        catalog = session.collection.catalog
        tracker = RecallTracker(catalog)
        tracker.invalidate()
        tracker.finish(estimate=False)
        assert catalog.get_state(RECALL_BEHIND)
        later = RecallTracker(catalog)
        later.finish(estimate=True)
        later.save()
        assert not catalog.get_state(RECALL_BEHIND)
        assert current_recall(catalog, 12) == (restored_recall(catalog).estimate(), False)
