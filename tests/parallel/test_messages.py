"""What coordinator and workers send each other: what was sent arrives, and nothing else is taken for a message."""

import asyncio
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.parallel import messages
from lycosa.parallel.messages import (
    Arrived,
    Ended,
    Evidence,
    Lease,
    Notice,
    Parcel,
    Pause,
    Report,
    Sample,
    SendSample,
    Start,
    Steer,
    Stop,
    Train,
    Trained,
    UseModel,
    Visited,
    VisitSummary,
    WorkerMessageError,
    decode_from_worker,
    decode_to_worker,
    decompressed,
    framed,
    packed,
    read_frame,
    unpacked_candidates,
    unpacked_terms,
    unpacked_visits,
)
from lycosa.recipe import Budget, Recipe, Topic
from lycosa.vocabulary.records import Candidate, Outcome, Url

NUMBERS, SHARDS, BYTES = st.integers(0, 1 << 40), st.integers(0, 999), st.binary(max_size=50)
SCORES = st.none() | st.floats(0, 1)
RECIPES = st.builds(
    Recipe, contact=st.text(max_size=9), stop=st.just(Budget(pages=7)), topic=st.just(Topic(text="hive"))
)
TO_WORKER = st.one_of(
    st.builds(
        Start, st.text(), SHARDS, SHARDS, st.integers(0, 1 << 63), RECIPES, st.booleans(), st.just(("*=[::1]:80",))
    ),
    st.builds(Lease, NUMBERS),
    st.builds(Parcel, SHARDS, SHARDS, NUMBERS, BYTES),
    st.builds(Arrived, SHARDS, SHARDS, NUMBERS),
    st.builds(Evidence, BYTES),
    st.builds(SendSample, NUMBERS),
    st.builds(Train, st.tuples(BYTES, BYTES), NUMBERS),
    st.builds(Pause, st.booleans()),
    st.sampled_from([UseModel(), Steer(), Stop()]),
)
REPORTS = st.builds(
    Report, NUMBERS, st.integers(-9, 9), NUMBERS, NUMBERS, NUMBERS, SCORES, st.booleans(), NUMBERS, NUMBERS
)
FROM_WORKER = st.one_of(
    REPORTS,
    st.builds(Visited, BYTES),
    st.builds(Parcel, SHARDS, SHARDS, NUMBERS, BYTES),
    st.builds(Arrived, SHARDS, SHARDS, NUMBERS),
    st.builds(Evidence, BYTES),
    st.builds(Sample, BYTES),
    st.builds(Notice, st.text()),
    st.builds(Ended, st.text()),
    st.just(Trained()),
)
CANDIDATES = st.builds(
    Candidate,
    st.integers(0, 99).map(lambda number: Url(f"http://a.example/{number}")),
    st.floats(0, 1),
    anchor=st.text(max_size=9),
    depth=st.integers(0, 9),
)


def frames_in(data: bytes) -> list[bytes]:
    async def read() -> list[bytes]:
        stream = asyncio.StreamReader()
        stream.feed_data(data)
        stream.feed_eof()
        frames = []
        while (frame := await read_frame(stream)) is not None:
            frames.append(frame)
        return frames

    return asyncio.run(read())


@given(st.lists(TO_WORKER, max_size=5), st.lists(FROM_WORKER, max_size=5))
def test_messages_arrive_as_they_were_sent(to_worker, from_worker):
    assert [decode_to_worker(frame) for frame in frames_in(b"".join(map(framed, to_worker)))] == to_worker
    assert [decode_from_worker(frame) for frame in frames_in(b"".join(map(framed, from_worker)))] == from_worker


@given(st.lists(CANDIDATES, max_size=9), st.dictionaries(st.text(min_size=1), st.integers(1, 99)))
def test_what_is_packed_is_unpacked(candidates, terms):
    encode = msgspec.json.encode
    assert unpacked_candidates(packed(list(map(encode, candidates)))) == candidates
    assert unpacked_terms(packed([encode(terms)])) == [terms]
    visits = [VisitSummary(each, Outcome.OK, 1.7e9, 200, title="T", relevance=0.5, size=9) for each in candidates]
    assert unpacked_visits(packed(list(map(encode, visits)))) == visits


@given(TO_WORKER, st.data())
def test_a_message_that_is_cut_off_is_the_end_of_the_stream(message, data):
    frame = framed(message)
    cut = data.draw(st.integers(0, len(frame) - 1))
    assert frames_in(frame + frame[:cut]) == [frame[4:]]


def test_a_message_that_is_too_long_is_refused_before_it_is_read():
    with pytest.raises(WorkerMessageError, match="4,294,967,295 bytes"):
        frames_in(b"\xff\xff\xff\xff")


@given(st.binary(max_size=60))
def test_other_bytes_are_no_message(data):
    for decode in (decode_to_worker, decode_from_worker, unpacked_candidates, unpacked_visits, unpacked_terms):
        try:
            decode(data)
        except WorkerMessageError:
            continue


@pytest.mark.parametrize(
    "data", [b"", b"[]", zlib.compress(b"[]")[:-1], zlib.compress(b"[]")[:5] + b"\xff\xff\xff\xff"]
)
def test_damaged_data_is_refused(data):
    with pytest.raises(WorkerMessageError):
        decompressed(data)


@pytest.mark.parametrize(
    "values", [b"{", b'["no candidate"]', b'[{"url":"http://a.example/"}]', b'[{"url":1,"priority":0.5}]', b"[\xff]"]
)
def test_packed_values_of_another_form_are_refused(values):
    with pytest.raises(WorkerMessageError):
        unpacked_candidates(zlib.compress(values))


def test_what_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(messages, "_MAX_UNPACKED", 1_000)
    assert len(decompressed(zlib.compress(bytes(1_000)))) == 1_000
    with pytest.raises(WorkerMessageError, match="too long"):
        decompressed(zlib.compress(bytes(1_001)))


def test_a_message_to_a_worker_is_none_from_a_worker():
    with pytest.raises(WorkerMessageError):
        decode_from_worker(framed(Stop())[4:])
    with pytest.raises(WorkerMessageError):
        decode_to_worker(framed(Trained())[4:])
