"""What peers say: all of it comes through the wire unharmed, and nothing else comes through."""

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa_peers.messages import (
    MAX_CONTACTS,
    MAX_HITS,
    MAX_PAYLOAD_BYTES,
    MAX_SMALL_PAYLOAD_BYTES,
    PROTOCOL_VERSION,
    CollectionStatistics,
    Contact,
    Declined,
    Fetched,
    FetchRequest,
    Hello,
    Index,
    IndexRequest,
    Join,
    Leave,
    Message,
    MessageError,
    PeerHit,
    Ping,
    Pong,
    Query,
    Response,
    decode,
    encode,
    fit_payload,
)

numbers = st.integers(0, 2**64 - 1)
small = st.integers(0, 2**16 - 1)
shares = st.floats(0, 1)
text = st.text(max_size=40)
contacts = st.builds(Contact, st.text(min_size=1, max_size=20), text)
wanted = st.integers(0, 2**63 - 1) | text
counts = st.lists(st.integers(0, 2**48), max_size=4).map(tuple)
hits = st.builds(PeerHit, wanted, text, text, shares, shares, st.floats(0, 1e11), text, st.integers(0, 2**48), counts)
statistics = st.builds(
    CollectionStatistics, st.integers(0, 2**48), st.integers(0, 2**48), st.lists(text, max_size=3).map(tuple), counts
)
some_contacts = st.lists(contacts, max_size=3).map(tuple)
MESSAGES: dict[str, st.SearchStrategy[Message]] = {
    "hello": st.builds(Hello, contacts),
    "query": st.builds(Query, numbers, wanted, contacts, st.integers(0, 2**32 - 1), small, st.integers(1, 2**16)),
    "response": st.builds(
        Response,
        numbers,
        contacts,
        st.lists(hits, max_size=3).map(tuple),
        some_contacts,
        st.none() | statistics,
        small,
        small,
    ),
    "declined": st.builds(Declined, st.sampled_from(["query", "fetch", "index"]), numbers),
    "index_request": st.builds(IndexRequest, st.none() | st.integers(0, 2**48)),
    "index": st.builds(Index, st.integers(0, 2**48), st.binary(max_size=50), st.none() | st.integers(0, 2**48)),
    "fetch": st.builds(FetchRequest, numbers, wanted),
    "fetched": st.builds(Fetched, numbers, wanted, st.none() | st.binary(max_size=50)),
    "join": st.builds(Join, contacts),
    "leave": st.builds(Leave),
    "ping": st.builds(Ping),
    "pong": st.builds(Pong, st.booleans(), some_contacts),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_every_message_comes_through_as_it_was(kind: str) -> None:
    @settings(max_examples=50, deadline=None)
    @given(message=MESSAGES[kind])
    def comes_through(message: Message) -> None:
        assert decode(encode(message)) == message

    comes_through()


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_refused_and_nothing_else_happens(junk: bytes) -> None:
    for frame in (junk, bytes([PROTOCOL_VERSION]) + junk):
        try:
            message = decode(frame)
        except MessageError as error:
            assert error.reason in {"oversized", "version", "malformed"}
        else:
            assert decode(encode(message)) == message


@settings(max_examples=300, deadline=None)
@given(st.one_of(*MESSAGES.values()), st.data())
def test_a_message_with_a_byte_changed_or_missing_is_another_message_or_none(
    message: Message, data: st.DataObject
) -> None:
    frame = bytearray(encode(message))
    at = data.draw(st.integers(0, len(frame) - 1))
    if data.draw(st.booleans()):
        frame[at] = data.draw(st.integers(0, 255))
    else:
        del frame[at:]
    try:
        assert isinstance(decode(frame), msgspec.Struct)
    except MessageError as error:
        assert error.reason in {"version", "malformed"}


def frame_of(*members: object) -> bytes:
    return bytes([PROTOCOL_VERSION]) + msgspec.msgpack.encode(members)


@pytest.mark.parametrize(
    "frame",
    [
        frame_of("query", -1, 5, ("a", "")),
        frame_of("query", 1, 5, ("a", ""), -1),
        frame_of("query", 1, 5, ("a", ""), 2**32),
        frame_of("query", 1, 5, ("a", ""), 1, 2**32),
        frame_of("query", 1, 5, ("", "")),
        frame_of("query", 1, 5, ("a" * 129, "")),
        frame_of("query", 1, "w" * 5000, ("a", "")),
        frame_of("query", 1, None, ("a", "")),
        frame_of("query", 1, 5, "a"),
        frame_of("query"),
        frame_of("response", 1, ("a", ""), [[1]] * (MAX_HITS + 1)),
        frame_of("response", 1, ("a", ""), [], [["a", ""]] * (MAX_CONTACTS + 1)),
        frame_of("response", 1, ("a", ""), [[1, "", "", math.nan]]),
        frame_of("response", 1, ("a", ""), [[1, "", "", 0.5, math.inf]]),
        frame_of("response", 1, ("a", ""), [[1, "", "", 0.5, 0.5, math.nan]]),
        frame_of("declined", "everything", 1),
        frame_of("pickle", b"cos\nsystem"),
        frame_of(["query"]),
        bytes([PROTOCOL_VERSION]) + b"\x91" * 100_000,
        bytes([PROTOCOL_VERSION]) + b"\xa5query",
        bytes([PROTOCOL_VERSION]) + b"\x92\xa5query\xdd\xff\xff\xff\xff",
        bytes([PROTOCOL_VERSION]) + b"\x92\xa4join\x92\xa1\xff\xa0",
    ],
)
def test_what_is_out_of_bounds_is_malformed(frame: bytes) -> None:
    with pytest.raises(MessageError) as refused:
        decode(frame)
    assert refused.value.reason == "malformed"


def test_another_version_and_an_endless_frame_are_told_apart() -> None:
    for frame, reason in ((b"", "version"), (bytes([PROTOCOL_VERSION + 1]) + encode(Ping())[1:], "version")):
        with pytest.raises(MessageError) as refused:
            decode(frame)
        assert refused.value.reason == reason
    with pytest.raises(MessageError, match="oversized"):
        decode(bytes(MAX_PAYLOAD_BYTES + 1))


def long_hit(number: int) -> PeerHit:
    return PeerHit(f"http://a.example/{number}", "Ж" * 300, "щ" * 600, frequencies=(3, 1))


@pytest.mark.parametrize("many", [1, 2, 15, 16, 17, 35, 36, 100])
def test_a_response_has_as_many_hits_as_anybody_may_send_at_once(many: int) -> None:
    told = CollectionStatistics(10, 1000, ("мед", "пчела"), (3, 1))
    whole = Response(2**60, Contact("p", "p:1"), tuple(map(long_hit, range(many))), statistics=told)
    response = fit_payload(whole)
    assert len(encode(response)) <= MAX_SMALL_PAYLOAD_BYTES
    assert response.hits == whole.hits[: len(response.hits)]
    assert (
        response == whole
        or len(encode(msgspec.structs.replace(whole, hits=whole.hits[: len(response.hits) + 1])))
        > MAX_SMALL_PAYLOAD_BYTES
    )


def test_a_newer_peer_may_say_more_at_the_end_of_a_message() -> None:
    assert decode(frame_of("join", ["a", "h:1", "more"], "and more")) == Join(Contact("a", "h:1"))
