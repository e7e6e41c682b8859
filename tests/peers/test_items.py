"""Sharing files: the summary of a set of ids, whole and by what has changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa_peers.content import Items, ItemSummary

ids = st.integers(0, 30)


def test_finds_and_hands_out_what_is_there_and_nothing_else() -> None:
    items = Items([3, 5])
    assert [hit.item for hit in items.find(3, 1).hits] == [3]
    assert items.find(4, 1).hits == () and items.find("three", 1).hits == ()
    assert items.fetch(4) is None
    body = items.fetch(3)
    assert body is not None and items.is_item(3, body) and not items.is_item(5, body)


@given(st.sets(ids), st.lists(st.tuples(st.booleans(), ids), max_size=20), st.integers(0, 20), st.integers(1, 20))
def test_a_summary_and_its_changes_are_the_summary_of_what_is_there_now(
    first: set[int], changes: list[tuple[bool, int]], at: int, kept: int
) -> None:
    theirs, mine = Items(first, changes_kept=kept), Items()
    held = mine.unpack(theirs.summary().packed(), theirs.version)
    for number, (added, item) in enumerate(changes):
        if number == at:
            held = mine.unpack(theirs.summary().packed(), theirs.version)
        (theirs.add if added else theirs.remove)(item)
    change = theirs.changes(held.version)
    if change is None:
        assert theirs.version - held.version > kept
        return
    now = mine.update(held, change.packed, change.version)
    assert now.ids == theirs.ids and now.version == theirs.version
    assert all(now.may_have(item) is bool(theirs.find(item, 1).hits) for item in range(31))


def test_changes_of_a_version_that_is_not_known_are_not_told() -> None:
    items = Items(changes_kept=2)
    for item in range(5):
        items.add(item)
    assert items.changes(6) is None and items.changes(2) is None
    assert items.changes(3) is not None


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x93\x01\x02", b"\x91\xa1a", b"\x91\xc0", b"\x91" * 9999])
def test_bytes_that_are_no_summary_are_refused(junk: bytes) -> None:
    items = Items()
    with pytest.raises(ValueError, match="summary of items"):
        items.unpack(junk, 1)
    with pytest.raises(ValueError, match="summary of items"):
        items.update(ItemSummary(frozenset()), junk, 1)
