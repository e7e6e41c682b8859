"""What refresh policies are told of a collection."""

import math

import numpy as np
import pytest

from collection.samples import CARS, HOME, WOLF, collection_in, look, visit
from lycosa.refresh import POLICIES, policy_for
from lycosa.run.refresh import LEAST, history_in
from lycosa.vocabulary.records import Change

T, DAY = 1.7e9, 86_400.0


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
    assert table.importance.tolist() == pytest.approx([0.8 * 0.5, 0.5 * 0.3, LEAST])


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
