"""What is estimated to be left follows from which pages link where, and from nothing else."""

from collections.abc import Mapping
from math import exp, log
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crawling import waiting
from lycosa.frontier.durable import WaitingSample
from lycosa.reading.reader import page_of_text
from lycosa.run.recall import (
    MIN_RELEVANT,
    RECALL_BEHIND,
    RecallEstimate,
    RecallEstimator,
    RecallTracker,
    current_recall,
    restored_recall,
    sample_of,
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
        estimator.exclude(url(number))
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
        assert before == restored_recall(catalog).estimate(sample_of(catalog))
        for event, _ in session.collection.archive.events():
            if isinstance(event, Visit):
                tracker.add(event)
        assert tracker.estimate() == before, "which were all counted"
        tracker.exclude([Skip(Candidate(each, 0.5), SkipReason.SCOPE) for each in waiting(crawled)])
        tracker.finish(estimate_anew=True)
        assert tracker.estimate().relevant_left < before.relevant_left
        tracker.invalidate()
        assert tracker.estimate() == before


def test_an_outdated_estimate_is_renewed_or_noted_as_such(crawled: Path) -> None:
    with opened(crawled) as session:
        catalog = session.collection.catalog
        tracker = RecallTracker(catalog)
        tracker.invalidate()
        tracker.finish(estimate_anew=False)
        assert catalog.get_state(RECALL_BEHIND)
        later = RecallTracker(catalog)
        later.finish(estimate_anew=True)
        later.save()
        assert not catalog.get_state(RECALL_BEHIND)
        assert current_recall(catalog, 12) == (restored_recall(catalog).estimate(sample_of(catalog)), False)


def test_a_tracker_renews_its_estimate_with_one_more_visit_in_25_and_at_the_end(crawled: Path) -> None:
    with opened(crawled) as session:
        tracker, saved = RecallTracker(session.collection.catalog), []
        tracker.set_save_frontier(lambda: saved.append(True))
        tracker.estimate()
        visits = len(list(session.collection.catalog.visited()))
        for number in range(400):
            tracker.add(visit_of(url(number)))
            tracker.estimate()
        assert len(saved) < 50 + 25 * log((visits + 400) / 50) + 10
        renewed = len(saved)
        tracker.finish(estimate_anew=True)
        assert len(saved) == renewed + 1


def visit_of(target: Url) -> Visit:
    page = page_of_text(target, "", "honey")
    return Visit(Candidate(target, 0.5), Fetch(target, Outcome.OK, 0.0), page, relevance=0.9)


# ------------------------------------------------------------ what the priorities of links say


def crawl_of_one_list(
    chances: list[float], priorities: list[float], *, follow: int, seed: int
) -> tuple[RecallEstimator, WaitingSample, float]:
    """A relevant page with links that lead to relevant pages by these chances, of which the best were followed by these
    priorities; with what waits, and how many relevant pages are expected among it."""
    rng, estimator = Random(seed), RecallEstimator()
    best_first = sorted(range(len(chances)), key=lambda number: -priorities[number])
    targets = [url(number + 1) for number in range(len(chances))]
    estimator.add_visited(url(0), is_relevant=True, targets=targets, priority=1.0)
    for number in best_first[:follow]:
        good = rng.random() < chances[number]
        estimator.add_visited(targets[number], is_relevant=good, priority=priorities[number])
    waiting = best_first[follow:]
    sample = WaitingSample(1, [(targets[number], priorities[number]) for number in waiting])
    return estimator, sample, sum(chances[number] for number in waiting)


def shifted(chance: float, offset: float) -> float:
    return 1.0 / (1.0 + exp(-(log(chance / (1.0 - chance)) + offset)))


def test_links_left_behind_are_judged_by_their_priorities_which_outcomes_calibrate() -> None:
    rng = Random(7)
    for seed in range(6):
        chances = [0.7 * rng.random() ** 8 + 0.001 for _ in range(2_000)]
        estimates = []
        for offset in (-2.0, 0.0, 2.0):
            priorities = [shifted(chance, offset) for chance in chances]
            estimator, sample, left = crawl_of_one_list(chances, priorities, follow=500, seed=seed)
            estimate, by_cells = estimator.estimate(sample), estimator.estimate()
            assert estimate is not None
            assert by_cells is not None
            assert left < estimate.relevant_left < by_cells.relevant_left / 2, "those that were followed were the best"
            estimates.append(estimate.relevant_left)
        assert max(estimates) < 1.1 * min(estimates), "whatever the offset, it is learnt"


def test_where_priorities_mislead_the_pages_that_link_there_decide() -> None:
    rng = Random(3)
    for outside in (False, True):
        priorities = [-rng.random() if outside else rng.random() for _ in range(1_000)]
        estimator, sample, left = crawl_of_one_list([0.2] * 1_000, priorities, follow=300, seed=1)
        estimate = estimator.estimate(sample)
        assert estimate is not None
        assert estimate.recall_low <= estimate.found / (estimate.found + left) <= estimate.recall_high
        assert left / 2 < estimate.relevant_left < 4 * left


def test_a_sample_of_what_waits_stands_for_all_of_it() -> None:
    rng = Random(5)
    chances = [0.5 * rng.random() ** 4 + 0.001 for _ in range(4_000)]
    estimator, sample, _ = crawl_of_one_list(chances, chances, follow=600, seed=2)
    tenth = WaitingSample(10, sample.priorities[::10])
    whole, part = estimator.estimate(sample), estimator.estimate(tenth)
    assert whole is not None
    assert part is not None
    assert part.relevant_left == pytest.approx(whole.relevant_left, rel=0.25)


def test_a_link_without_a_page_counts_as_a_failure_at_the_usual_priority() -> None:
    chances = [0.3] * 400
    fruitful, sample, _ = crawl_of_one_list(chances, chances, follow=100, seed=1)
    dead, _, _ = crawl_of_one_list(chances, chances, follow=100, seed=1)
    for number in range(201, 261):
        fruitful.add_visited(url(number), is_relevant=True, priority=0.3)
        dead.add_visited(url(number), is_relevant=False)
    more, less = fruitful.estimate(sample), dead.estimate(sample)
    assert more is not None
    assert less is not None
    assert less.relevant_left < more.relevant_left


@pytest.mark.slow
@given(graph=graphs, priorities=st.lists(st.floats(-2.0, 2.0), min_size=17, max_size=17), step=st.integers(1, 3))
def test_any_priorities_give_an_estimate_within_its_interval(
    graph: dict[int, tuple[bool, list[int]]], priorities: list[float], step: int
) -> None:
    estimator = RecallEstimator()
    for number, (is_relevant, targets) in graph.items():
        estimator.add_visited(
            url(number), is_relevant=is_relevant, targets=map(url, targets), priority=priorities[number]
        )
    sample = WaitingSample(step, [(url(number), priorities[number]) for number in range(0, 17, step)])
    estimate = estimator.estimate(sample)
    if estimate is None:
        assert not any(good for good, _ in graph.values())
        return
    assert 0.0 < estimate.recall_low <= estimate.recall <= estimate.recall_high <= 1.0
    assert estimate.relevant_left <= 2 * sum(estimator._waiting) + 1e-9
