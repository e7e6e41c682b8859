from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.synthetic import SyntheticWorld
from synthetic.small_worlds import small

DAYS = st.floats(min_value=0.0, max_value=400.0)


def _bodies(world: SyntheticWorld, urls: list[Url]) -> list[bytes | None]:
    return [world.page(url) for url in urls]


def test_at_the_start_the_world_is_itself() -> None:
    world = small()
    assert world.at(0.0) is world and world.at(30.0).at(0.0) is world


def test_the_same_day_shows_the_same_world() -> None:
    world = small()
    one, same = world.at(45.0), SyntheticWorld(pages=3000, topics=8, seed=3).at(10.0).at(45.0)
    urls = list(one.urls())
    assert urls == list(same.urls()) and len(one) == len(urls)
    assert _bodies(one, urls[::40]) == _bodies(same, urls[::40])


@settings(deadline=None)
@given(DAYS, DAYS)
def test_who_is_born_stays_born_and_who_vanished_stays_away(one: float, other: float) -> None:
    world = small()
    start = world.at(0.0)
    early, late = (world.at(days) for days in sorted((one, other)))
    at_start, before, after = (set(state.numbers().tolist()) for state in (start, early, late))
    assert at_start - before <= at_start - after
    assert len(start.plan) <= len(early.plan) <= len(late.plan)
    assert all(number >= len(early.plan) for number in after - before)


def test_the_directory_stays_as_it_was_made() -> None:
    world = SyntheticWorld(pages=600, topics=5)
    later = world.at(100.0)
    assert later.directory() == world.directory()
    assert any(later.page(entry.url) is None for category in later.directory() for entry in category.entries)
    assert later.facts == {**world.facts, "days": 100.0}


def test_pages_appear_and_vanish() -> None:
    world, later = small(), small().at(200.0)
    start, end = set(world.urls()), set(later.urls())
    assert 0.1 < len(start - end) / len(start) < 0.4
    assert 0.2 < len(end - start) / len(start) < 0.5
    vanished = next(iter(sorted(start - end)))
    assert later.page(vanished) is None and later.read(vanished) is None and later.topic(vanished) is None
    new = next(iter(sorted(end - start)))
    assert later.topic(new) in later.topics and (later.log_in_links(new) or 0.0) >= 0.0 and world.page(new) is None


def test_the_longer_the_wait_the_more_pages_have_changed() -> None:
    world = small()
    urls = list(world.urls())[::15]
    bodies = _bodies(world, urls)
    shares = []
    for days in (1.0, 10.0, 60.0, 300.0):
        later = [
            (now, then) for now, then in zip(_bodies(world.at(days), urls), bodies, strict=True) if now is not None
        ]
        shares.append(np.mean([now != then for now, then in later]))
    assert shares == sorted(shares) and shares[0] < 0.25 and shares[-1] > 0.7


def test_a_change_leaves_most_of_a_page_as_it_was() -> None:
    world, later = small(), small().at(5.0)
    changed = []
    for url in list(world.urls())[::10]:
        then, now = world.read(url), later.read(url)
        if then is not None and now is not None and then.digest != now.digest:
            changed.append(len(set(then.tokens) & set(now.tokens)) / len(set(then.tokens)))
    assert len(changed) > 10 and np.mean(changed) > 0.6


def test_pages_change_at_rates_of_their_own() -> None:
    early, late = small().at(50.0), small().at(100.0)
    counts = np.array([len(late.changes(page)) for page in range(0, 3000, 10)])
    assert counts.var() > 5 * counts.mean() and (counts == 0).any()
    for page in range(0, 3000, 100):
        days = late.changes(page)
        assert (np.diff(days) > 0).all() and early.changes(page).tolist() == days[days <= 50.0].tolist()
    assert not len(small().changes(7))


def test_links_lead_to_pages_that_are_there_or_were_and_new_pages_are_linked() -> None:
    world, later = small(), small().at(60.0)
    ever = len(later.plan)
    targets = {target for number in later.numbers().tolist() for target in later.links_of(number).targets.tolist()}
    assert max(targets) < ever
    assert any(later.page(later.url(target)) is None for target in targets)
    new = set(range(len(world), ever))
    assert len(new & targets) > 0.8 * len(new)


def test_no_link_shows_what_is_not_yet_there() -> None:
    world = small()
    early = world.at(20.0)
    for number in early.numbers()[::7].tolist():
        assert early.links_of(number).targets.max() < len(early.plan)


def test_a_later_state_is_not_saved_nor_one_before_the_start_seen(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="save its start"):
        small().at(3.0).save(tmp_path)
    with pytest.raises(UsageError, match="days after its start"):
        small().at(-1.0)
