"""What buddies hold of each other: how small it is, and how often it is wrong."""

import random
import zlib
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.text import codes_of
from lycosa_peers.summary import (
    MAX_FOREIGN_BYTES,
    MAX_OWN_BYTES,
    MAX_TERMS,
    BadSummaryError,
    PackedSegment,
    Segment,
    SegmentedSummary,
    byte_budget,
    pack_ascending,
    term_budget,
    unpack_ascending,
)

WORDS = [f"word{number}" for number in range(30)]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=12), max_size=20)


def summary_of(pages, room=1 << 16):
    return SegmentedSummary([Segment.from_pages([codes_of(page) for page in pages], max_bytes=room)])


@given(texts, st.lists(st.sampled_from([*WORDS, "unheard"]), min_size=1, max_size=3, unique=True))
def test_with_room_enough_a_summary_tells_exactly_which_words_meet_on_a_page(pages, asked):
    summary = SegmentedSummary.unpacked(summary_of(pages).packed())
    assert summary.may_have(asked) == any(set(asked) <= set(page) for page in pages)
    for word in asked:
        assert summary.frequency(word) == sum(word in page for page in pages)
    assert (summary.pages, summary.words) == (len(pages), sum(map(len, pages)))


@given(st.lists(st.integers(0, 999), unique=True), st.integers(1000, 5000))
def test_sorted_numbers_come_back(numbers, universe):
    numbers = np.array(sorted(numbers), np.int64)
    assert unpack_ascending(pack_ascending(numbers, universe), len(numbers), universe).tolist() == numbers.tolist()


def many_pages(count):
    chance = random.Random(5)
    words = [f"w{number:x}" for number in range(20_000)]
    weights = np.cumsum(1 / np.arange(1, len(words) + 1)).tolist()
    return [chance.choices(words, cum_weights=weights, k=300) for _ in range(count)], words


def test_a_summary_stays_within_its_room_and_is_hardly_ever_wrong():
    pages, words = many_pages(600)
    room = byte_budget(len(pages), len(pages))
    summary = summary_of(pages, room)
    assert len(summary.packed()) <= room <= 600 * 200
    sets = [set(page) for page in pages]
    chance = random.Random(6)
    pairs = [chance.sample(words, 2) for _ in range(1000)]
    wrong = [pair for pair in pairs if summary.may_have(pair) and not any(each.issuperset(pair) for each in sets)]
    assert len(wrong) <= 0.01 * len(pairs)
    assert not any(summary.may_have([f"absent{number}"]) for number in range(100))
    assert all(summary.may_have([word]) for word in sets[0])  # single words are all told


def test_where_room_is_short_the_telling_words_stay():
    pages = [
        ["common"] * 3 + [f"topic{number}"] * 3 + [f"aside{number}x{place}" for place in range(40)]
        for number in range(50)
    ]
    summary = summary_of(pages, room=3_600)
    assert len(summary.packed()) <= 3_600
    assert sum(summary.may_have([f"topic{number}", f"aside{number}x0"]) for number in range(50)) < 50
    assert all(summary.may_have([f"topic{number}"]) for number in range(50))


def test_segments_add_up():
    one, other = summary_of([["bees", "honey"]]), summary_of([["ships"], ["ships", "sail"]])
    both = SegmentedSummary((*one.segments, *other.segments))
    assert both.may_have(["bees", "honey"])
    assert both.may_have(["ships", "sail"])
    assert not both.may_have(["bees", "sail"])
    assert (both.pages, both.frequency("ships")) == (3, 2)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_summary_or_refused(data):
    with suppress(BadSummaryError):
        assert SegmentedSummary.unpacked(data).may_have(["bees", "honey"]) in (True, False)


@given(st.data())
def test_a_damaged_summary_is_refused_or_harmless(data):
    packed = bytearray(summary_of([["bees", "honey", "wax"], ["bees", "ships"]]).packed())
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        summary = SegmentedSummary.unpacked(bytes(packed[: data.draw(st.integers(0, len(packed)))] or packed))
    except BadSummaryError:
        return
    assert summary.may_have(["bees", "honey"]) in (True, False)
    assert summary.frequency("bees") >= 0


def test_a_bomb_is_refused():
    packed = summary_of([["bees"]]).segments[0].packed
    fields = [getattr(packed, name) for name in packed.__struct_fields__]
    fields[5] = zlib.compress(bytes(50 << 20))
    with pytest.raises(BadSummaryError):
        SegmentedSummary.unpacked(msgspec.msgpack.encode([fields]))


def nothing_but_words(terms, bits=24):
    """A valid segment of one page that tells so many words in few bytes."""
    hashes = pack_ascending(np.arange(terms, dtype=np.int64), 1 << bits)
    ones, zeros = (zlib.compress(bytes([count]) * terms, 9) for count in (1, 0))
    return PackedSegment(1, 1, bits, terms, hashes, ones, zeros, (b"", b""))


def test_words_are_taken_up_to_a_bound_whether_they_come_at_once_or_bit_by_bit():
    half = msgspec.msgpack.encode([nothing_but_words(MAX_TERMS // 2)])
    held = SegmentedSummary.unpacked(half).extended(half)
    assert sum(segment.terms for segment in held.segments) == MAX_TERMS
    with pytest.raises(BadSummaryError, match="too many words"):
        held.extended(msgspec.msgpack.encode([nothing_but_words(1)]))
    fields = [getattr(nothing_but_words(1), name) for name in PackedSegment.__struct_fields__]
    fields[3] = MAX_TERMS + 1
    with pytest.raises(BadSummaryError):
        SegmentedSummary.unpacked(msgspec.msgpack.encode([fields]))


def test_bytes_are_taken_up_to_a_bound_whether_they_come_at_once_or_bit_by_bit():
    pages, _ = many_pages(300)
    part = summary_of(pages, room=1 << 17).packed()
    held = SegmentedSummary()
    with pytest.raises(BadSummaryError, match="too long"):
        for _ in range(MAX_FOREIGN_BYTES // len(part) + 1):
            held = held.extended(part)
    assert len(held.packed()) <= MAX_FOREIGN_BYTES
    with pytest.raises(BadSummaryError, match="too long"):
        SegmentedSummary.unpacked(bytes(MAX_FOREIGN_BYTES + 1))


def test_of_too_many_words_those_on_most_pages_are_told():
    pages = [["bees", "honey", f"rare{number}", f"odd{number}"] for number in range(20)]
    segment = Segment.from_pages([codes_of(page) for page in pages], max_bytes=1 << 16, max_terms=2)
    summary = SegmentedSummary.unpacked(SegmentedSummary([segment]).packed())
    assert summary.may_have(["bees", "honey"])
    assert (summary.frequency("honey"), summary.frequency("rare3")) == (20, 0)


@pytest.mark.parametrize("pages", [1, 9_000, 10_000, 90_000, 1_000_000])
def test_the_parts_of_a_large_collection_fit_together(pages):
    parts = [min(10_000, pages - start) for start in range(0, pages, 10_000)]
    assert sum(byte_budget(part, pages) for part in parts) <= max(1 << 16, MAX_OWN_BYTES) < MAX_FOREIGN_BYTES
    assert sum(term_budget(part, pages) for part in parts) <= MAX_TERMS


def test_words_that_collide_are_one_word():
    pages = [[f"word{number}x{place}" for place in range(200)] for number in range(40)]
    segment = Segment.from_pages([codes_of(page) for page in pages], max_bytes=5_000)
    assert segment.packed.bits < 32
    assert SegmentedSummary.unpacked(SegmentedSummary([segment]).packed()).pages == 40
