"""What is estimated to be left follows from which pages link where, and from nothing else."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import exp, log
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crawling import collection, waiting
from lycosa.frontier.durable import WaitingSample
from lycosa.reading.reader import page_of_text
from lycosa.recipe import Budget
from lycosa.run import steering
from lycosa.run.recall import (
    MIN_RELEVANT,
    RECALL_BEHIND,
    RecallEstimate,
    RecallEstimator,
    RecallTracker,
    current_recall,
    next_renewal,
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
from lycosa.vocabulary.urls import host_of
from sessions import opened, visited
from worlds import html


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


def test_the_links_of_all_visits_are_read_by_one_statement(crawled: Path) -> None:
    with opened(crawled) as session:
        catalog, statements = session.collection.catalog, []
        catalog.connection.set_trace_callback(statements.append)
        visits = list(catalog.visits_with_links())
        catalog.connection.set_trace_callback(None)
        assert len(visits) > 10 and len(statements) == 1
        for visit in visits:
            page = catalog.page(visit.url)
            links = catalog.links(page.number) if page is not None and not page.is_copy else ()
            assert visit.links == tuple(link.target for link in links if "nofollow" not in link.rel)


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


def test_a_tracker_renews_its_estimate_at_fixed_numbers_of_visits_and_at_the_end(crawled: Path) -> None:
    with opened(crawled) as session:
        catalog = session.collection.catalog
        visits = len(list(catalog.visited()))
        renewed_at = [number for number in range(visits + 1, visits + 401) if next_renewal(number - 1) == number]
        assert renewed_at[:3] == [20, 30, 40]
        assert renewed_at[-2:] == [395, 410]
        for asked_from in (visits, visits + 4, visits + 311):
            tracker, samples, stops_at = RecallTracker(catalog), [0], []
            tracker.set_sampler(counting(samples))
            tracker.estimate()
            for count in range(visits + 1, visits + 401):
                tracker.add(visit_of(url(count)))
                if count >= asked_from and tracker.estimate_to_stop_by() is not None:
                    stops_at.append(count)
            assert stops_at == [number for number in renewed_at if number >= asked_from]
            assert samples[0] <= len(stops_at) + 2, "and once at first, once where it was asked late"
            before = samples[0]
            tracker.finish(estimate_anew=True)
            assert samples[0] == before + 1


def counting(samples: list[int]) -> Callable[[], WaitingSample]:
    def sample() -> WaitingSample:
        samples[0] += 1
        return WaitingSample(1, ())

    return sample


def test_nothing_is_sampled_before_the_first_relevant_page(bees: Path) -> None:
    with opened(bees) as session:
        tracker = RecallTracker(session.collection.catalog)
        tracker.set_sampler(lambda: pytest.fail("nothing was found yet"))
        for number in range(30):
            tracker.add(replace(visit_of(url(number)), relevance=0.1))
            assert tracker.estimate() is tracker.estimate_to_stop_by() is None
        tracker.set_sampler(lambda: WaitingSample(1, ()))
        tracker.add(visit_of(url(99)))
        assert tracker.estimate() == RecallEstimate(1, 0.0, 1.0, 1.0, 1.0)


def test_a_boost_changes_no_estimate(crawled: Path) -> None:
    estimates = []
    for boosted in ([], [host_of(each) for each in waiting(crawled)]):
        with opened(crawled) as session:
            for host in boosted:
                steering.boost(crawled, host)
            session.state.apply_steering()
            session.checkpoint()
            catalog = session.collection.catalog
            estimates += [session.recall(), restored_recall(catalog).estimate(sample_of(catalog))]
    assert estimates[0].relevant_left > 0.0
    assert estimates == [estimates[0]] * 4


BEES = 150
WORLD = {
    **{
        Url(f"http://bees.example/{number}"): html(
            f"Bee {number}",
            "honey " + " ".join(f"bee{number}x{place}" for place in range(12)),
            [
                *(f"http://bees.example/{(number + step) % BEES}" for step in (1, 2, 5, 11, 31)),
                *(f"http://ships.example/{(7 * number + step) % 400}" for step in range(2)),
            ],
        )
        for number in range(BEES)
    },
    **{
        Url(f"http://ships.example/{number}"): html(
            f"Ship {number}",
            " ".join(f"ship{number}x{place}" for place in range(12)),
            [f"http://ships.example/{number}"],
        )
        for number in range(400)
    },
}


def visits_until_recall(folder: Path, kills: Sequence[int], *, killed: bool) -> list[Url]:
    """What a crawl visits that stops by its recall, and that ended and went on after so many pages."""
    urls: list[Url] = []
    for pages in (*kills, None):
        with (
            suppress(_KilledError),
            opened(folder, stop=Budget(pages=pages, recall=0.8), strategy="best-first") as session,
        ):
            urls += asyncio.run(visited(session, WORLD, is_killed=killed and pages is not None))
            if killed and pages is not None:
                raise _KilledError
    return urls


class _KilledError(Exception):
    pass


@pytest.mark.parametrize("killed", [False, True])
def test_a_crawl_that_was_interrupted_stops_by_its_recall_where_it_would_have_stopped(
    tmp_path: Path, killed: bool
) -> None:
    seed, topic = "http://bees.example/0", 'keywords = ["honey"]'
    whole = visits_until_recall(collection(tmp_path / "whole", [seed], topic=topic), [], killed=False)
    assert MIN_RELEVANT < len(whole) < len(WORLD)
    for kills in [[len(whole) - before] for before in (1, 2, 3, 5, 8)] + [[17, 41, 77]]:
        folder = collection(tmp_path / f"after {kills}", [seed], topic=topic)
        assert visits_until_recall(folder, kills, killed=killed) == whole, kills
        assert visits_until_recall(folder, [], killed=False) == [], "a crawl that has enough fetches nothing"


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
