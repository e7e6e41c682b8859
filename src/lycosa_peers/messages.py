"""The messages of the protocol: small frozen records, their encoding, and the frames that carry them.

    HELLO                         the name of the sender, once on every connection
    QUERY         -> RESPONSE     a search request; answered directly to the asker, by a peer that has hits, or knows
                                  peers that may have some
    INDEX_REQUEST -> INDEX        the summary of a peer's content, or its changes since a version
    FETCH         -> FETCHED      an item, from its provider
                  -> DECLINED     to QUERY, INDEX_REQUEST or FETCH: the receiver is too busy
    JOIN          -> PONG         a request to become neighbours on the overlay
    PING          -> PONG         whether a neighbour is up
    LEAVE                         the sender is going down

A message is encoded as one byte, the version of the protocol, then a msgpack array whose first member names the kind.
On a connection it travels as the payload of a frame, after its length in four bytes. All of it is untrusted input:
lengths and ranges are part of the types, so that a decoded message is within bounds.

A query is answered by its receiver, or forwarded. Each random walk that a query takes from peer to peer is a *walker*,
identified by its number; a query of `DIRECT` takes none.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

PROTOCOL_VERSION = 1
FRAME_HEADER_BYTES = 4
MAX_PAYLOAD_BYTES = 8 << 20  # of INDEX and FETCHED, which are accepted only from a peer that was asked for one
MAX_SMALL_PAYLOAD_BYTES = 1 << 16  # of all others
MAX_HITS = 100  # of one response
MAX_CONTACTS = 32  # of one message
DIRECT = 0  # walker number of a query that is answered by its receiver and not forwarded

PeerName = str
_Name = Annotated[str, Meta(min_length=1, max_length=128)]
_Address = Annotated[str, Meta(max_length=256)]  # host:port; empty if names are addresses, as in a simulation
_Number = Annotated[int, Meta(ge=0)]  # of 64 bits, the limit of msgpack
_Count = Annotated[int, Meta(ge=0, le=(1 << 48))]
_Walker = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
_Ttl = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Short = Annotated[str, Meta(max_length=512)]
_Text = Annotated[str, Meta(max_length=4096)]
_Frequencies = Annotated[tuple[_Count, ...], Meta(max_length=64)]  # of the terms of a query
_ItemId = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]  # in the study of BuddyNet, whose peers share files

Target = _ItemId | _Text  # of a search: the words of a query, or the id of an item
Item = _ItemId | _Text  # the URL of a page, or an id


class Contact(Struct, frozen=True, array_like=True):
    """The name of a peer, and its address."""

    name: _Name
    address: _Address = ""


class PeerHit(Struct, frozen=True, array_like=True):
    """A search result; in the study of BuddyNet, only its `item`."""

    item: Item
    title: _Short = ""
    snippet: _Text = ""
    standing: _Share = 0.0
    relevance: _Share = 0.0  # to the topic of the collection it is in
    fetched_at: Annotated[float, Meta(ge=0, le=1e11)] = 0.0  # seconds since the epoch
    digest: _Short = ""  # of the body
    length: _Count = 0  # words of the page
    frequencies: _Frequencies = ()  # of `CollectionStatistics.terms`, in this page


class CollectionStatistics(Struct, frozen=True, array_like=True):
    """Collection statistics by which the asker scores hits of different collections on one scale."""

    documents: _Count = 0  # in the collection
    words: _Count = 0  # in all of them
    terms: Annotated[tuple[_Short, ...], Meta(max_length=64)] = ()  # of the query
    document_frequencies: _Frequencies = ()


_Contacts = Annotated[tuple[Contact, ...], Meta(max_length=MAX_CONTACTS)]


class _Message(Struct, frozen=True, array_like=True, tag_field="kind"):
    pass


class Hello(_Message, frozen=True, array_like=True, tag="hello"):
    """The first message on a connection."""

    sender: Contact


class Query(_Message, frozen=True, array_like=True, tag="query"):
    """A search request. `ttl` is the number of peers that may still receive it, including this receiver."""

    id: _Number
    target: Target
    origin: Contact  # whom to answer
    ttl: _Ttl = 1
    walker: _Walker = DIRECT
    max_hits: Annotated[int, Meta(ge=1, le=1 << 16)] = 1


class Response(_Message, frozen=True, array_like=True, tag="response"):
    """The answer to a query. `hits` are at `provider`, which is the sender or a peer whose index it holds; `referrals`
    are peers that may have the target, by their indexes. With neither, the sender knows no provider."""

    query: _Number  # its id
    provider: Contact
    hits: Annotated[tuple[PeerHit, ...], Meta(max_length=MAX_HITS)] = ()
    referrals: _Contacts = ()
    statistics: CollectionStatistics | None = None
    walker: _Walker = DIRECT
    ttl: _Ttl = 0  # of the query as it arrived


class Declined(_Message, frozen=True, array_like=True, tag="declined"):
    """The sender is too busy for this request."""

    request_kind: Literal["query", "fetch", "index"]
    id: _Number  # of the query or the fetch; 0 for an index request, which has none


class IndexRequest(_Message, frozen=True, array_like=True, tag="index_request"):
    """A request for the summary of the receiver's content."""

    since: _Count | None = None  # the version that is held already


class Index(_Message, frozen=True, array_like=True, tag="index"):
    """The summary of the sender's content, or its changes since a version. BuddyNet calls a summary that another peer
    holds an index: so do messages, options and saved files."""

    version: _Count
    packed: bytes  # the summary or its changes, as encoded by the content of the sender
    since: _Count | None = None  # None: all of it; else what has changed since that version


class FetchRequest(_Message, frozen=True, array_like=True, tag="fetch"):
    """A request for an item."""

    id: _Number  # of this fetch, the asker's choice
    item: Item


class Fetched(_Message, frozen=True, array_like=True, tag="fetched"):
    """An item; `body` is None if the sender lacks it."""

    id: _Number  # of the fetch
    item: Item
    body: bytes | None = None


class Join(_Message, frozen=True, array_like=True, tag="join"):
    """A request to become neighbours."""

    sender: Contact


class Leave(_Message, frozen=True, array_like=True, tag="leave"):
    """The sender is going down."""


class Ping(_Message, frozen=True, array_like=True, tag="ping"):
    """Asks whether the receiver is there."""


class Pong(_Message, frozen=True, array_like=True, tag="pong"):
    """The answer to JOIN and PING. `accepted`: the receiver is a neighbour of the sender; `known`: other peers that it
    may ask to join."""

    accepted: bool = False
    known: _Contacts = ()


Message = (
    Hello
    | Query
    | Response
    | Declined
    | IndexRequest
    | Index
    | FetchRequest
    | Fetched
    | Join
    | Leave
    | Ping
    | Pong
)  # fmt: skip


class Envelope(Struct, frozen=True):
    """A message to be sent, and its receiver."""

    to: PeerName
    message: Message
    address: str = ""  # of the receiver; empty: the known one


class MessageError(ValueError):
    """Bytes that are no message; `reason` is the name under which it is counted."""

    def __init__(self, reason: Literal["oversized", "version", "malformed"], detail: str = ""):
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


# ---------------------------------------------------------------- encoding

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_VERSION_BYTE = bytes([PROTOCOL_VERSION])
_LIST_HEADER_BYTES = 4  # bytes by which the header of a long list exceeds that of an empty one


def encode(message: Message) -> bytes:
    return _VERSION_BYTE + _encoder.encode(message)


def fit_payload(response: Response) -> Response:
    """The response with as many of its first hits as a small payload has room for."""
    if len(response.hits) <= 1 or len(encode(response)) <= MAX_SMALL_PAYLOAD_BYTES:
        return response
    room = MAX_SMALL_PAYLOAD_BYTES - len(encode(replace(response, hits=()))) - _LIST_HEADER_BYTES
    fits = 0
    for hit in response.hits:
        room -= len(_encoder.encode(hit))
        if room < 0:
            break
        fits += 1
    return replace(response, hits=response.hits[:fits])


def decode(payload: bytes | bytearray | memoryview) -> Message:
    """The message of an encoding; raises MessageError if it is malformed."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise MessageError("oversized", f"{len(payload)} bytes")
    if not len(payload) or payload[0] != PROTOCOL_VERSION:
        raise MessageError("version", str(payload[0]) if len(payload) else "empty")
    try:
        return _decoder.decode(memoryview(payload)[1:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise MessageError("malformed", str(error)) from error


# ---------------------------------------------------------------- frames


class FrameTooLongError(ValueError):
    """A peer announces more bytes than it may send."""


def to_frame(payload: bytes) -> bytes:
    """The payload with its length before it."""
    return len(payload).to_bytes(FRAME_HEADER_BYTES) + payload


class FrameReader:
    """Splits a stream of bytes into frames, whose payloads are taken out one by one.

    A thousand frames of two bytes cost no more memory than the bytes that came.

    >>> frames = FrameReader()
    >>> frames.feed(to_frame(b"hello")[:6])
    >>> frames.pop(limit=100)
    >>> frames.feed(to_frame(b"hello")[6:] + to_frame(b"you"))
    >>> frames.pop(limit=100), frames.pop(limit=100), frames.pop(limit=100)
    (b'hello', b'you', None)
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def buffered_bytes(self) -> int:
        return len(self._buffer)

    @property
    def has_frame(self) -> bool:
        """Whether there is a whole frame."""
        return len(self._buffer) >= FRAME_HEADER_BYTES + self.next_length

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def pop(self, limit: int) -> bytes | None:
        """Removes the next whole frame and returns its payload; None if there is none. Raises FrameTooLongError as soon
        as the length of the next one, whole or not, is above the limit."""
        length = self.next_length
        if length > limit:
            raise FrameTooLongError(f"a frame of {length} bytes; the limit is {limit}")
        end = FRAME_HEADER_BYTES + length
        if len(self._buffer) < end:
            return None
        payload = bytes(memoryview(self._buffer)[FRAME_HEADER_BYTES:end])
        del self._buffer[:end]
        return payload

    @property
    def next_length(self) -> int:
        """The length of the next payload, whole or not; 0 if it has not come yet."""
        return int.from_bytes(self._buffer[:FRAME_HEADER_BYTES]) if len(self._buffer) >= FRAME_HEADER_BYTES else 0
