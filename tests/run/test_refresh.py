"""A refresh: its plan, what the policies see of a collection, and what came of it, counted and named."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from collection.samples import CARS, HOME, WOLF, collection_in, look, visit
from lycosa.recipe import Budget, Recipe, Topic
from lycosa.refresh import POLICIES, policy_for
from lycosa.run.crawl import INTERRUPTED
from lycosa.run.options import CommandSettings
from lycosa.run.refresh import (
    DEFAULT_EXPAND,
    DEFAULT_POLICY,
    MAX_REQUESTS,
    MIN_IMPORTANCE,
    MeanScores,
    NamedPage,
    NobodyAnsweredError,
    Refresh,
    RefreshPlan,
    RefreshTally,
    history_in,
    mean_scores,
    plan_of,
    refresh_recipe,
    require_pages,
)
from lycosa.run.session import Session
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Change, Fetch, Outcome

T, DAY = 1.7e9, 86_400.0
REST = {
    "policy": "fixed",
    "budget": 9,
    "requests": 3,
    "pages": 3,
    "stopped": "",
    "expected_changes": {},
}


def test_a_plan_goes_by_the_usual_policy_and_share_where_nothing_else_is_said():
    assert plan_of(budget=7) == RefreshPlan(7, DEFAULT_POLICY, DEFAULT_EXPAND)
    assert plan_of(budget=7, policy="fixed", expand=0.0) == RefreshPlan(7, "fixed", 0.0), "0 was said"


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"budget": 0}, "give 1 or more"),
        ({"budget": MAX_REQUESTS + 1}, "or less"),
        ({"budget": 1, "expand": -0.1}, "expand is a share"),
        ({"budget": 1, "expand": 1.1}, "expand is a share"),
        ({"budget": 1, "expand": math.nan}, "expand is a share"),
        ({"budget": 1, "policy": "hourly"}, "hourly"),
    ],
)
def test_a_plan_that_is_not_possible_is_refused(said, complaint):
    with pytest.raises(UsageError, match=complaint):
        plan_of(**said)


def test_a_plan_at_its_bounds_is_possible():
    for budget in (1, MAX_REQUESTS):
        for expand in (0.0, 1.0):
            assert plan_of(budget=budget, expand=expand).budget == budget


def test_a_refresh_has_its_own_budget_and_keeps_the_bounds_of_the_collection():
    recipe = Recipe(stop=Budget(pages=50, bytes=9_000, minutes=3, dry_after=20))
    refreshing = refresh_recipe(recipe, plan_of(budget=7), {"minutes": 5.0, "delay": 0.0})
    assert refreshing.stop == Budget(pages=50, bytes=9_000, minutes=5.0, dry_after=0, requests=7)
    assert refreshing.requests.delay == 0.0
    assert refreshing.strategy == recipe.strategy


@pytest.mark.parametrize(
    ("outcome", "complaint"),
    [
        (Outcome.FAILED, "nobody answered: all 2 fetches failed (no route); is the network up?"),
        (Outcome.REFUSED, "no host was contacted, every address was refused (no route); to crawl hosts"),
        (Outcome.GONE, ""),
    ],
)
def test_a_refresh_that_nobody_answered_says_so(tmp_path: Path, outcome: Outcome, complaint: str):
    with Session(tmp_path, Recipe(topic=Topic(text="bees")), clock=SimulatedClock(T)) as session:
        refresh = Refresh(session, CommandSettings(), plan_of(budget=2))
        refresh.require_an_answer()
        for url in (HOME, WOLF):
            status = 404 if outcome is Outcome.GONE else None
            fetch = Fetch(url, outcome, T, status=status, detail="no route")
            change = Change.REFUSED if outcome is Outcome.REFUSED else Change.FAILED
            refresh.tally.add(replace(look(url, change, at=T), fetch=fetch))
            session.status.fetch_counts.count(fetch)
        if not complaint:
            refresh.require_an_answer()
            return
        with pytest.raises(NobodyAnsweredError, match=re.escape(complaint)):
            refresh.require_an_answer()
        session.status.stop(INTERRUPTED)
        refresh.require_an_answer()  # somebody ended it before anybody could


def test_a_collection_without_pages_cannot_be_refreshed(tmp_path: Path):
    (tmp_path / "lycosa.toml").write_text('[topic]\ntext = "bees"\n')
    collection_in(tmp_path).close()
    with pytest.raises(CollectionError, match="no pages to fetch again"):
        require_pages(tmp_path)


@pytest.fixture
def catalog(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in (
            visit(HOME, 0.8, at=T, standing=0.5),
            visit(WOLF, 0.6, at=T, standing=None),
            visit(CARS, 0.0, at=T, standing=0.1),
            look(HOME, Change.UNCHANGED, at=T + DAY),
            look(WOLF, Change.CHANGED, at=T + DAY, text="Running", links=(CARS, HOME), new=(CARS,)),
            look(HOME, Change.FAILED, at=T + 2 * DAY),
            look(HOME, Change.REFUSED, at=T + 2.5 * DAY),
            look(CARS, Change.VANISHED, at=T + 2 * DAY),
        ):
            collection.record(event)
        yield collection.catalog


def test_looks_changes_links_and_yields_are_counted(catalog):
    table = history_in(catalog, T + 9 * DAY)
    assert list(table.urls) == [HOME, WOLF, CARS]
    assert table.fetches.tolist() == [2, 2, 2], "looks that failed or were refused saw nothing"
    assert table.changes.tolist() == [0, 1, 1]
    assert table.fetched_at.tolist() == [T + 2.5 * DAY, T + DAY, T + 2 * DAY], "but have had their turn"
    assert table.yielded[1] == pytest.approx(1 / DAY)
    assert table.link_score.tolist() == [0, 1, 0]
    assert table.rate[1] > table.rate[0] > 0


def test_importance_is_relevance_times_standing_with_the_average_for_what_is_not_known(catalog):
    table = history_in(catalog, T + 9 * DAY)
    # The visit that changed WOLF has relevance 0.5 and no standing; the others stand at 0.5 and 0.1.
    assert table.importance.tolist() == pytest.approx([0.8 * 0.5, 0.5 * 0.3, MIN_IMPORTANCE])


def test_a_page_that_vanished_is_due_after_as_long_as_it_had_been_gone(catalog):
    catalog.add(look(CARS, Change.STILL_GONE, at=T + 5 * DAY), None)
    assert CARS not in history_in(catalog, T + 7.9 * DAY).urls
    assert CARS in history_in(catalog, T + 8.1 * DAY).urls


def test_what_is_not_wanted_is_not_in_the_table(catalog):
    assert list(history_in(catalog, T + 9 * DAY, is_wanted=lambda url: url == WOLF).urls) == [WOLF]


@pytest.mark.parametrize("name", POLICIES)
def test_a_clock_that_was_put_back_gives_no_negative_age(catalog, name):
    table = history_in(catalog, T - DAY)
    assert np.all(table.ages(T - DAY) >= 0)
    assert all(math.isfinite(rate) and rate > 0 for rate in table.rate)
    rows = policy_for(name).choose(table, T - DAY, 3)
    assert len(set(rows.tolist())) == len(rows) <= len(table)


def test_a_page_counts_as_much_by_name_as_it_does_when_pages_are_chosen(tmp_path):
    """WOLF has no standing: that of the average page stands in, in the table and in the tally."""
    found = [visit(HOME, 0.8, at=T, standing=0.5), visit(WOLF, 0.6, at=T, standing=None)]
    found.append(visit(CARS, 0.7, at=T, standing=0.1))
    tally = RefreshTally()
    with collection_in(tmp_path) as collection:
        for event in found:
            collection.record(event)
        table = history_in(collection.catalog, T + 1)
        tally.mean_scores = mean_scores(collection.catalog.refresh_states())
    for event in found:
        tally.add(event)
    named = {page.url: page.importance for page in tally.result(**REST).new_pages}
    assert named == {url: round(worth, 4) for url, worth in zip(table.urls, table.importance.tolist(), strict=True)}
    assert named[WOLF] == 0.6 * 0.3


def test_where_nothing_is_known_of_any_page_all_count_the_same():
    tally = RefreshTally()
    for url in (HOME, WOLF):
        tally.add(replace(visit(url, at=T, standing=None), relevance=None))
    assert {page.importance for page in tally.result(**REST).new_pages} == {MeanScores().importance(None, None)}


def test_pages_that_were_refused_are_told_apart_and_were_not_looked_at():
    tally = RefreshTally()
    for change in (Change.UNCHANGED, Change.FAILED, Change.REFUSED, Change.REFUSED):
        tally.add(look(HOME, change, at=T))
    result = tally.result(**REST)
    assert (result.looked_at, result.failed, result.refused) == (2, 1, 2)


def test_a_page_that_has_vanished_is_named_as_it_was():
    tally = RefreshTally()
    tally.chosen[HOME] = NamedPage(HOME, "Home", 0.4)
    tally.add(look(HOME, Change.VANISHED, at=T))
    result = tally.result(**REST)
    assert (result.looked_at, result.vanished, result.vanished_pages) == (1, 1, [NamedPage(HOME, "Home", 0.4)])
