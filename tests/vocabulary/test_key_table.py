"""Compact tables behave as dictionaries do, in a tenth of the memory."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from lycosa.vocabulary import key_table
from lycosa.vocabulary.key_table import KeySet, KeyTable
from lycosa.vocabulary.urls import key_of

keys = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-5, 5)
numbers = st.integers(0, 9) | st.sampled_from([(1 << 32) - 1, 1 << 32, 1 << 40])


@pytest.mark.slow
@given(changes=st.lists(st.tuples(keys, numbers), max_size=200), data=st.data())
@settings(max_examples=60)
def test_a_table_has_what_a_dictionary_would_have(changes: list[tuple[int, int]], data: DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_table, "_MIN_MAPPED", data.draw(st.sampled_from([1, 32, 1 << 16])))
        check_table(changes, data)


def check_table(changes: list[tuple[int, int]], data: DataObject) -> None:
    table, expected = KeyTable(), dict[int, int]()
    for shard in table._shards:
        shard.max_recent = data.draw(st.integers(1, 4))  # so that a few keys are merged many times
    for key, number in changes:
        table[key] = number
        expected[key] = number
        assert table[key] == number
    kept = {key: number for key, number in expected.items() if number}
    assert len(table) == len(kept)
    assert {key: table[key] for key in expected} == expected
    assert sorted(table) == sorted(kept)
    assert sorted(table.numbers().tolist()) == sorted(kept.values())
    assert (12345 in table) == (12345 in kept)


def hashes(count: int) -> Iterator[int]:
    return (key_of(f"http://host.example/{number}") for number in range(count))


def test_a_set_has_what_was_added() -> None:
    found = KeySet(hashes(3_000))
    found.update(hashes(4_000))
    assert len(found) == 4_000
    assert all(key in found for key in hashes(4_000))
    assert key_of("http://host.example/4000") not in found


@pytest.mark.slow
def test_many_keys_take_few_bytes_each() -> None:
    tracemalloc.start()
    try:
        found = KeySet(hashes(40_000))
        few, _ = tracemalloc.get_traced_memory()
        found.update(hashes(80_000))
        many, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    recent = key_table._SHARDS * key_table._MIN_RECENT * 120  # bytes that keys in dictionaries may take at a moment
    assert many - few < 40_000 * 13 + recent


@pytest.mark.slow
def test_merging_takes_little_more_than_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "_MIN_RECENT", 32)  # few keys in dictionaries, as in large tables
    tracemalloc.start()
    try:
        found = KeySet(hashes(100_000))
        tracemalloc.reset_peak()
        many, _ = tracemalloc.get_traced_memory()
        found.update(hashes(110_000))
        more, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - more < many / 16


def test_large_arrays_are_not_in_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "_MIN_RECENT", 32)  # few keys in dictionaries, as in large tables
    monkeypatch.setattr(key_table, "_MIN_MAPPED", 1_024)
    tracemalloc.start()
    try:
        found = KeySet(hashes(20_000))
        few, _ = tracemalloc.get_traced_memory()
        found.update(hashes(60_000))
        many, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert many - few < 40_000 * 4
