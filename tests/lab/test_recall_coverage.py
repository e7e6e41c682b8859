"""In a few worlds whose truth is known, intervals hold it about as often as they say, and say something."""

from statistics import fmean

import pytest

from lycosa.run.recall import RecallEstimate
from lycosa_lab.recall_coverage import BUDGETS, RecallCheck, random_topic_world, recall_crawls
from lycosa_lab.studies.league.self_estimates import self_estimates
from lycosa_lab.worlds.synthetic import SyntheticWorld

pytestmark = pytest.mark.slow


def test_the_interval_holds_the_truth_in_most_of_the_worlds_and_is_narrower_than_knowing_nothing() -> None:
    crawls = [crawl for seed in range(101, 106) for crawl in recall_crawls(seed, ("hunter", "best-first"))]
    checks = [check for crawl in crawls for check in crawl.checks]
    assert len(checks) == len(crawls) * len(BUDGETS)
    assert fmean(check.is_covered for check in checks) >= 0.75
    assert fmean(check.estimate.recall_high - check.estimate.recall_low for check in checks) < 0.4
    assert fmean(abs(check.estimate.recall - check.true_recall) for check in checks) < 0.15
    for crawl in crawls:
        if crawl.stop is not None:
            assert crawl.stop.true_recall >= 0.8


def test_what_whole_crawls_claim_is_set_against_what_is_true() -> None:
    world = SyntheticWorld(pages=700, topics=8, seed=1)
    crawls = list(self_estimates(world, "hunter", topics=1, budgets=(60, len(world))))
    assert [each.topic for each in crawls] == [crawls[0].topic] * 2
    short, whole = crawls
    assert short.pages == 60
    assert "60 pages" in short.stop_reason
    assert 0.0 < short.true_recall < 1.0
    assert 0.0 < short.judged_recall < 1.0
    assert short.harvest_low <= short.harvest <= short.harvest_high
    assert whole.true_recall == whole.judged_recall == 1.0
    assert whole.recall is not None
    assert whole.recall.recall == 1.0
    assert whole.holds(whole.true_recall)
    assert whole.recall_error() == pytest.approx(0.0)
    assert not whole.holds(0.5)
    [stopped] = self_estimates(world, "hunter", topics=1, budgets=(len(world),), stop_at=0.5)
    assert "recall is 0.5 or more" in stopped.stop_reason
    assert stopped.pages < whole.pages


def test_worlds_differ_by_their_seed_and_are_the_same_for_the_same() -> None:
    first, again, other = random_topic_world(1), random_topic_world(1), random_topic_world(2)
    assert (first.seeds, first.relevant) == (again.seeds, again.relevant)
    assert first.relevant != other.relevant
    assert first.reachable_count >= len(first.relevant) >= len(first.seeds)


def test_a_moment_is_covered_where_the_truth_lies_between_the_ends() -> None:
    estimate = RecallEstimate(10, 10.0, 0.5, 0.3, 0.7)
    assert [RecallCheck(1, true, estimate).is_covered for true in (0.29, 0.3, 0.5, 0.7, 0.71)] == [
        False,
        True,
        True,
        True,
        False,
    ]
