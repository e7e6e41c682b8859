"""The study of freshness: its optimum is one, its truth is that of the world, its claims follow from its tables."""

import json
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.study_runs import copy_with_jobs_missing, run_small
from lycosa.refresh import POLICIES, policy_for
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.freshness import (
    KNOWN,
    UNUSED,
    ChangingPages,
    freshness_at,
    optimal_freshness,
    optimal_intervals,
    require_synthetic,
    simulate_refresh,
)
from lycosa_lab.studies.freshness import FreshnessStudy
from lycosa_lab.worlds.synthetic import SyntheticWorld

weights, paces = st.floats(0.01, 100.0), st.floats(0.01, 10.0)
WORLD = SyntheticWorld(pages=400, topics=4, seed=3)


class Tiny(FreshnessStudy):
    scales: ClassVar = {
        "small": {"world_pages": 300, "days": 24, "measured_from": 12, "budgets": [0.05, 0.1], "repeats": 3}
    }

    def default_world(self, size):
        return {"pages": size["world_pages"], "topics": 4}


def results_of(folder, seed=11):
    world = SyntheticWorld(pages=300, topics=4, seed=seed)
    results = run_small(Tiny(), world, seed=seed, out=folder)
    return json.loads(msgspec.json.encode(results))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def results(folder):
    return results_of(folder)


# The optimum


def test_equal_pages_are_best_looked_at_equally_often() -> None:
    assert optimal_intervals(np.ones(4), np.full(4, 0.3), 2.0) == pytest.approx([2.0] * 4, rel=1e-3)


@given(
    pages=st.lists(st.tuples(weights, paces), min_size=2, max_size=20),
    per_day=st.floats(0.1, 10.0),
    shares=st.randoms(use_true_random=False),
)
def test_no_other_share_of_the_looks_is_fresher(pages, per_day, shares) -> None:
    importance, rate = (np.array(column) for column in zip(*pages, strict=True))
    other = np.array([shares.random() + 1e-9 for _ in pages])
    intervals = other.sum() / (per_day * other)
    kept = float((importance * freshness_at(intervals, rate)).sum() / importance.sum())
    assert kept <= optimal_freshness(importance, rate, per_day) + 1e-3


@given(pages=st.lists(st.tuples(weights, paces), min_size=1, max_size=20), per_day=st.floats(0.1, 10.0))
def test_the_best_schedule_keeps_to_the_budget(pages, per_day) -> None:
    importance, rate = (np.array(column) for column in zip(*pages, strict=True))
    assert (1 / optimal_intervals(importance, rate, per_day)).sum() <= per_day * 1.001


def test_a_page_that_is_only_just_worth_a_look_gets_what_is_left_of_the_budget() -> None:
    intervals = optimal_intervals(np.ones(2), np.array([1.25, 0.01171875]), 0.109375)
    assert (1 / intervals).sum() == pytest.approx(0.109375)
    assert 1.25 * intervals[0] > 30


def test_pages_that_change_all_the_time_are_not_worth_a_look() -> None:
    assert optimal_intervals(np.ones(2), np.array([0.1, 1e4]), 0.1)[1] == np.inf


# The truth


def test_pages_change_as_often_as_their_rates_say() -> None:
    days, numbers = 1_000.0, np.arange(400)
    rates = WORLD.change_rates(numbers)
    later = WORLD.at(days)
    counts = np.array([len(later.changes(number)) for number in range(400)])
    deviations = (counts - rates * days) / np.sqrt(rates * days)
    assert abs(deviations.mean()) < 0.2
    assert deviations.std() == pytest.approx(1.0, abs=0.15)


def test_the_next_change_is_the_first_of_the_world_after_that_day() -> None:
    pages = ChangingPages.of(WORLD, days=50)
    upcoming = pages.next_change(np.arange(len(pages)), 20.0)
    end = WORLD.at(50.0)
    for number, day in zip(pages.page_numbers.tolist(), upcoming.tolist(), strict=True):
        after = [change for change in end.changes(number) if change > 20.0]
        assert day == pytest.approx(after[0] if after else np.inf)


def test_a_world_that_stands_still_is_refused() -> None:
    class Still:
        name = "still"

    with pytest.raises(UsageError, match="stands still"):
        require_synthetic(Still())  # type: ignore[arg-type]


# Keeping up


def test_with_a_look_at_every_page_every_day_little_is_stale() -> None:
    pages = ChangingPages.of(WORLD, days=40)
    kept = simulate_refresh(
        pages, policy_for("fixed"), budget=len(pages), rates=UNUSED, measured_from=10, authority_in_links=None
    )
    daily = freshness_at(np.ones(len(pages)), pages.rates)
    assert kept["freshness"] == pytest.approx(daily.mean(), abs=0.01)


def test_without_looks_freshness_is_what_never_changed() -> None:
    pages = ChangingPages.of(WORLD, days=40)
    kept = simulate_refresh(
        pages, policy_for("crawl-value"), budget=0, rates=KNOWN, measured_from=0, authority_in_links=None
    )
    first = np.minimum(pages.next_change(np.arange(len(pages)), 0.0), 40.0)
    assert kept["freshness"] == pytest.approx(first.mean() / 40.0)


def test_known_rates_bring_more_than_looking_at_random() -> None:
    pages = ChangingPages.of(WORLD, days=80)
    options = {"budget": len(pages) // 20, "measured_from": 30, "authority_in_links": None}
    uniform = simulate_refresh(pages, policy_for("uniform"), rates=UNUSED, **options)
    value = simulate_refresh(pages, policy_for("crawl-value"), rates=KNOWN, **options)
    assert value["weighted_freshness"] > uniform["weighted_freshness"]


# The study


def test_every_policy_has_a_row(results) -> None:
    rows = [row for row in results["tables"]["policies"] if row["budget"] == FreshnessStudy.main_budget]
    assert {row["policy"] for row in rows} == set(POLICIES)
    assert all(0 < row["weighted_freshness"] < 1 for row in rows)
    assert all(row["new_authorities_per_1000_looks"] is not None for row in rows)


def test_every_repeat_has_a_world_of_its_own_unless_one_is_given(results) -> None:
    assert {row["worlds"] for row in results["tables"]["policies"]} == {3}
    assert all(row["share_of_optimum_error"] > 0 for row in results["tables"]["policies"])
    own, size = SyntheticWorld(pages=300, topics=4, seed=11), Tiny.scales["small"]
    assert [each.world.options.seed for each in Tiny().prepare(own, size, 11)[0]] == [11, 11_001, 11_002]
    for another in (WORLD, SyntheticWorld(pages=300, topics=4, seed=11, status_homophily=0.0)):
        (only,) = Tiny().prepare(another, size, 11)[0]
        assert only.world is another


def test_the_claims_follow_from_the_table(results) -> None:
    near, policies = results["claims"]
    assert near["id"] == "freshness.crawl-value-near-optimal"
    shares = {
        (row["budget"], row["rates"]): row["share_of_optimum"]
        for row in results["tables"]["policies"]
        if row["policy"] == "crawl-value"
    }
    known = [share for (_, rates), share in shares.items() if rates == KNOWN]
    assert near["holds"] == (min([*known, shares[FreshnessStudy.main_budget, "estimated"]]) >= 0.97)
    assert policies["id"] == "freshness.policies"
    assert policies["holds"] is None


def test_the_same_seed_gives_the_same_results(results, folder, tmp_path) -> None:
    again = results_of(copy_with_jobs_missing(folder, tmp_path / "again"))
    assert again["tables"] == results["tables"]
    assert again["claims"] == results["claims"]
