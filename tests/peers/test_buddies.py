"""The buddy list, and the indexes that are held."""

import pytest

from lycosa_peers.buddies import BuddyList, HeldIndexes
from lycosa_peers.content import Items, ItemSummary
from lycosa_peers.messages import Contact, Index


def of(*names: str, size: int = 4) -> BuddyList:
    buddies = BuddyList(size)
    for name in names:
        buddies.answered(Contact(name))
    return buddies


def listed(buddies: BuddyList) -> list[tuple[str, int]]:
    return [(buddy.contact.name, buddy.count) for buddy in buddies]


def test_the_list_is_sorted_by_count_and_then_by_age() -> None:
    buddies = of("a", "b", "c", "b")
    assert listed(buddies) == [("b", 2), ("c", 1), ("a", 1)]
    buddies.answered(Contact("a"))
    assert listed(buddies) == [("a", 2), ("b", 2), ("c", 1)]


def test_the_oldest_of_the_lowest_count_makes_room() -> None:
    buddies = of("a", "b", "c", "d", "a", "b")
    assert buddies.answered(Contact("e")) == "c"
    assert listed(buddies) == [("b", 2), ("a", 2), ("e", 1), ("d", 1)]


def test_a_newcomer_takes_the_place_of_one_that_answered_more_often_where_all_did() -> None:
    buddies = of("a", "a", "b", "b", size=2)
    assert buddies.answered(Contact("c")) == "a"
    assert listed(buddies) == [("b", 2), ("c", 1)]
    assert buddies.answered(Contact("d")) == "c"


def test_a_buddy_that_fails_loses_one_and_keeps_its_age() -> None:
    buddies = of("a", "a", "b", "b", "c")
    assert not buddies.failed("a")
    assert listed(buddies) == [("b", 2), ("c", 1), ("a", 1)]
    assert buddies.failed("a")
    assert "a" not in buddies and not buddies.failed("a")


def test_a_buddy_is_where_it_last_said_it_was() -> None:
    buddies = of()
    buddies.answered(Contact("a", "old:1"))
    buddies.answered(Contact("a", "new:1"))
    buddies.answered(Contact("a"))
    assert [buddy.contact for buddy in buddies] == [Contact("a", "new:1")]


def summary(*ids: int, version: int = 0) -> Index:
    return Index(version, ItemSummary(frozenset(ids)).packed())


def take(held: HeldIndexes, name: str, index: Index) -> bool:
    return held.store(name, index, Items().unpack, Items().update)


def test_an_index_is_asked_for_at_the_second_checkpoint_in_a_row() -> None:
    held = HeldIndexes()
    assert held.checkpoint(["a", "b"]) == []
    assert held.checkpoint(["c", "a"]) == [("a", None)]
    assert held.checkpoint(["b", "c"]) == [("c", None)]


def test_an_index_that_is_held_is_asked_only_for_what_changed() -> None:
    held = HeldIndexes(refresh_checkpoints=2)
    held.checkpoint(["a"])
    held.checkpoint(["a"])
    assert take(held, "a", summary(1, 2, version=7))
    assert held.checkpoint(["a"]) == []
    assert held.checkpoint(["a"]) == [("a", 7)]


def test_an_index_is_taken_once_for_each_time_it_was_asked_for() -> None:
    held = HeldIndexes(request_at_once=True)
    assert not take(held, "a", summary(1))
    assert held.checkpoint(["a"]) == [("a", None)]
    assert take(held, "a", summary(1)) and not take(held, "a", summary(2))
    index = held.get("a")
    assert index is not None and index.may_have(1) and not index.may_have(2)


def test_a_change_is_taken_only_of_the_version_that_is_held() -> None:
    theirs = Items([1], changes_kept=9)
    held = HeldIndexes(request_at_once=True)
    held.checkpoint(["a"])
    take(held, "a", summary(1, version=0))
    theirs.add(2)
    change = theirs.changes(0)
    assert change is not None and held.refresh("a") == [("a", 0)]
    assert not take(held, "a", Index(1, change.packed, since=5))
    assert take(held, "a", Index(1, change.packed, since=0))
    index = held.get("a")
    assert index is not None and index.version == 1 and index.may_have(2)


def test_a_wrong_index_is_asked_for_once_until_it_comes() -> None:
    held = HeldIndexes(request_at_once=True)
    assert held.refresh("a") == []
    held.checkpoint(["a"])
    take(held, "a", summary(1))
    assert held.refresh("a") == [("a", 0)] and held.refresh("a") == []
    held.request_failed("a")
    assert held.refresh("a") == [("a", 0)]


def test_what_is_held_of_one_that_is_wanted_no_more_is_let_go() -> None:
    held = HeldIndexes(request_at_once=True)
    held.checkpoint(["a", "b"])
    take(held, "a", summary(1))
    held.checkpoint(["b"])
    assert held.names() == [] and not take(held, "a", summary(1))


def test_junk_is_not_held() -> None:
    held = HeldIndexes(request_at_once=True)
    held.checkpoint(["a"])
    with pytest.raises(ValueError, match="not a summary"):
        take(held, "a", Index(1, b"\xc1"))
    assert "a" not in held
