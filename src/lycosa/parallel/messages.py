"""What coordinator and workers send each other: msgspec records over pipes, each after its length.

Nothing is unpickled; a message of another shape, or a longer one, ends the crawl.
"""

import asyncio
import zlib
from collections.abc import Callable, Sequence
from struct import Struct as BinaryFormat
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from lycosa.recipe import Recipe
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import Candidate, CheckedUrl, Count, LeftOut, Outcome, Score

_LENGTH = BinaryFormat("<I")
_MAX_LENGTH = 64 << 20  # bytes of one message
_MAX_UNPACKED = 256 << 20  # bytes
_LEVEL = 1  # of the compression, the fastest

Terms = dict[str, int]  # the words of a page, each with its count
Shard = Annotated[int, Meta(ge=0, lt=1_000)]


# ---------------------------------------------------------------- to a worker


class Start(Struct, frozen=True, tag=True):
    """The first message: what to crawl.

    folder: of the collection.
    number: of the shard.
    hash_seed: of the hashes by which domains are dealt.
    """

    folder: str
    number: Shard
    shards: Shard
    hash_seed: int
    recipe: Recipe
    allow_private: bool
    resolve: tuple[str, ...]


class Lease(Struct, frozen=True, tag=True):
    """How many pages the worker may add to those that its shard had at the start."""

    pages: Count


class Parcel(Struct, frozen=True, tag=True):
    """URLs for another shard, by way of the coordinator.

    last: number of the last of them in the outbox of the sender.
    candidates: packed.
    """

    sender: Shard
    receiver: Shard
    last: Count
    candidates: bytes


class Arrived(Struct, frozen=True, tag=True):
    """All URLs up to a number are saved in the shard that they belong to."""

    sender: Shard
    receiver: Shard
    last: Count


class Evidence(Struct, frozen=True, tag=True):
    """What the strategy of a worker has learnt, for those of all others."""

    evidence: bytes  # compressed


class SendSample(Struct, frozen=True, tag=True):
    """Asks for the words of a sample of the pages."""

    size: Count


class Train(Struct, frozen=True, tag=True):
    """Asks to train the model of the topic again and to save it.

    sample: packed words of pages of all shards.
    pages: number of pages of the collection.
    """

    sample: tuple[bytes, ...]
    pages: Count


class UseModel(Struct, frozen=True, tag=True):
    """Another worker has saved a new model of the topic."""


class Steer(Struct, frozen=True, tag=True):
    """The user has blocked or boosted something; it is in the file of such commands."""


class Pause(Struct, frozen=True, tag=True):
    """Begin no new fetches, or go on."""

    is_paused: bool


class Stop(Struct, frozen=True, tag=True):
    """Save everything and end."""


ToWorker = Start | Lease | Parcel | Arrived | Evidence | SendSample | Train | UseModel | Steer | Pause | Stop

# ---------------------------------------------------------------- from a worker


class Report(Struct, frozen=True, tag=True):
    """The state of a worker.

    pages, relevant, bytes_kept: what the shard has more than at the start.
    best: priority of the best URL that may be fetched now, from 0 to 1; None if there is none, or if priorities are
        only an order.
    in_flight: number of fetches.
    is_idle: whether nothing waits, is in flight or is to be sent.
    received: number of parcels.
    leases: number of leases that have come.
    """

    pages: Count
    relevant: int
    bytes_kept: Count
    waiting: Count
    in_flight: Count
    best: float | None
    is_idle: bool
    received: Count
    leases: Count


class VisitSummary(Struct, frozen=True, omit_defaults=True):
    """A visit without the text and the links of its page."""

    candidate: Candidate
    outcome: Outcome
    at: float
    status: int | None = None
    detail: str = ""
    title: str | None = None  # None if there is no page
    relevance: Score | None = None
    standing: Score | None = None
    duplicate_of: CheckedUrl | None = None
    left_out: LeftOut | None = None
    size: Count = 0  # bytes of the body


class Visited(Struct, frozen=True, tag=True):
    """What was visited since the last such message: packed `VisitSummary` records."""

    visits: bytes


class Sample(Struct, frozen=True, tag=True):
    """The answer to `SendSample`: packed words."""

    terms: bytes


class Trained(Struct, frozen=True, tag=True):
    """The answer to `Train`: the model is saved."""


class Notice(Struct, frozen=True, tag=True):
    """A message for the user."""

    line: str


class Ended(Struct, frozen=True, tag=True):
    """The last message: everything is saved, or an error has ended the worker."""

    error: str = ""


FromWorker = Report | Visited | Parcel | Arrived | Evidence | Sample | Trained | Notice | Ended

# ---------------------------------------------------------------- encoding

_encode = msgspec.msgpack.Encoder().encode
_decode_to_worker: Callable[[bytes], ToWorker] = msgspec.msgpack.Decoder(ToWorker).decode
_decode_from_worker: Callable[[bytes], FromWorker] = msgspec.msgpack.Decoder(FromWorker).decode
_decode_visits = msgspec.json.Decoder(list[VisitSummary]).decode
_decode_candidates = msgspec.json.Decoder(list[Candidate]).decode
_decode_terms = msgspec.json.Decoder(list[Terms]).decode

_T = TypeVar("_T")


class WorkerMessageError(LycosaError):
    """What came is no message."""


def framed(message: ToWorker | FromWorker) -> bytes:
    """A message as bytes, after its length."""
    data = _encode(message)
    return _LENGTH.pack(len(data)) + data


async def read_frame(stream: asyncio.StreamReader) -> bytes | None:
    """The bytes of the next message; None at the end of the stream, also within a message."""
    try:
        (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        if length > _MAX_LENGTH:
            raise WorkerMessageError(f"a message of {length:,} bytes")
        return await stream.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def decode_to_worker(frame: bytes) -> ToWorker:
    return _decoded(_decode_to_worker, frame)


def decode_from_worker(frame: bytes) -> FromWorker:
    return _decoded(_decode_from_worker, frame)


def packed(encoded: Sequence[bytes]) -> bytes:
    """JSON values as one compressed list."""
    return zlib.compress(b"[" + b",".join(encoded) + b"]", _LEVEL)


def unpacked_visits(data: bytes) -> list[VisitSummary]:
    return _decoded(_decode_visits, decompressed(data))


def unpacked_candidates(data: bytes) -> list[Candidate]:
    return _decoded(_decode_candidates, decompressed(data))


def unpacked_terms(data: bytes) -> list[Terms]:
    return _decoded(_decode_terms, decompressed(data))


def _decoded(decode: Callable[[bytes], _T], data: bytes) -> _T:
    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WorkerMessageError(f"a message of another form: {error}") from None


def decompressed(data: bytes) -> bytes:
    """Compressed data, as bytes; raises WorkerMessageError if it is damaged or too long."""
    decompressor = zlib.decompressobj()
    try:
        text = decompressor.decompress(data, _MAX_UNPACKED)
    except zlib.error as error:
        raise WorkerMessageError(f"damaged data: {error}") from None
    if not decompressor.eof:
        raise WorkerMessageError("data that has no end, or is too long")
    return text
