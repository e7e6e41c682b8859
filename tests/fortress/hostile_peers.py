"""What peers do by malice or mistake, each with what becomes of it.

A hostile peer has a key and an address (of loopback) of its own. Those of `CALLERS` connect to a peer; those of `LIARS`
are its neighbours and are asked by it. A behaviour ends with one of the outcomes that are right for it.
"""

import asyncio
import gzip
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import cache

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID
from msgspec import Struct
from OpenSSL import SSL

from lycosa_peers.addresses import Endpoint
from lycosa_peers.messages import (
    MAX_SMALL_PAYLOAD_BYTES,
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
    PeerHit,
    Ping,
    Pong,
    Query,
    Response,
    decode,
    encode,
    to_frame,
)
from sharing import Caller, until

GONE, STAYS, WAITS, ENDED = "gone", "stays", "waits", "ended"  # hung up on; served; not read from; it went by itself
MUCH = 1000  # messages


class Hostile(Caller):
    """Somebody with a connection to the peer under attack."""

    def __init__(self, endpoint: Endpoint, local: str, victim: str):
        super().__init__()
        self.endpoint, self.local, self.victim = endpoint, local, victim
        self.me = Contact(self.identity.name, "")
        self.channel = None

    async def connect(self) -> None:
        self.channel = await self.dial(self.endpoint, self.local)
        assert self.channel is not None

    def frame_received(self, peer, channel, frame):
        if len(self.heard_messages) < 1000:
            self.heard_messages.append(decode(frame))

    def raw(self, data: bytes) -> None:
        """Bytes that need not be frames."""
        if self.channel.is_open:
            for start in range(0, len(data), 1 << 14):
                self.channel._tls.send(data[start : start + (1 << 14)])
            self.channel._flush()

    def frame(self, payload: bytes) -> None:
        self.raw(to_frame(payload))

    def packed(self, *what: object) -> None:
        """A message of the right version, with any content."""
        self.frame(b"\1" + msgspec.msgpack.encode(what))

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.frame(encode(message))

    async def often(self, say: Callable[[int], None], times: int = MUCH) -> None:
        for number in range(times):
            if not self.channel.is_open:
                return
            say(number)
            if number % 50 == 49:
                await asyncio.sleep(0.001)

    def heard(self, kind: type) -> list:
        return [message for message in self.heard_messages if isinstance(message, kind)]

    async def outcome(self, patience: float = 30.0) -> str:
        """Whether the connection is closed, or a ping is answered, or neither in so many seconds."""
        pongs = len(self.heard(Pong))
        for _ in range(int(20 * patience)):
            if self.channel is None or not self.channel.is_open:
                return GONE
            self.say(Ping())
            for _ in range(10):
                await asyncio.sleep(0.005)
                if len(self.heard(Pong)) > pongs:
                    return STAYS
        return WAITS


Play = Callable[[Hostile], Awaitable[None]]


class Behaviour(Struct, frozen=True):
    """What a hostile peer does, and the outcomes that are right."""

    play: Play
    outcomes: frozenset[str]
    is_long: bool = False  # takes seconds


# ------------------------------------------------------------ before there is a connection


def bytes_first(data: bytes, *, waits: bool = True) -> Play:
    async def play(him: Hostile) -> None:
        reader, writer = await asyncio.open_connection(*him.endpoint, local_addr=(him.local, 0))
        writer.write(data)
        if waits:
            try:
                while await asyncio.wait_for(reader.read(1 << 16), 30):
                    pass
            except ConnectionError:
                pass
        writer.close()

    return play


def certificate(key, signed_with, algorithm, *, days: int = 9, extra: bytes = b"", name: str = "x"):
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(who, who, key.public_key(), 7, now - timedelta(days=9), now + timedelta(days=days))
    if extra:
        made = made.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), extra), critical=False)
    return made.sign(signed_with, algorithm)


def with_context(make: Callable[[], SSL.Context]) -> Play:
    """A handshake of another kind than a peer's; it may succeed, and is then closed by the other."""

    async def play(him: Hostile) -> None:
        line = socket.create_connection(him.endpoint, timeout=20, source_address=(him.local, 0))

        def shake() -> bool:
            tls = SSL.Connection(make(), line)
            tls.set_connect_state()
            line.setblocking(True)
            try:
                tls.do_handshake()
                tls.recv(1)  # of TLS 1.3 the client ends first: a refusal comes afterwards
                return True
            except (SSL.Error, OSError):
                return False

        try:
            assert not await asyncio.to_thread(shake)
        finally:
            line.close()

    return play


def context(version: int = SSL.TLS1_3_VERSION) -> SSL.Context:
    made = SSL.Context(SSL.TLS_METHOD)
    made.set_max_proto_version(version)
    return made


def rsa_context() -> SSL.Context:
    made, key = context(), rsa.generate_private_key(65537, 2048)
    made.use_certificate(certificate(key, key, hashes.SHA256()))
    made.use_privatekey(key)
    return made


def large_certificate() -> SSL.Context:
    made, key = context(), Ed25519PrivateKey.generate()
    made.use_certificate(certificate(key, key, None, extra=b"\0" * 200_000))
    made.use_privatekey(key)
    return made


async def hangs_up(him: Hostile) -> None:
    him.channel.close("done")
    him.channel = None


async def resets(him: Hostile) -> None:
    line = him.channel._transport.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    him.channel.close("reset")
    him.channel = None


async def many_connections(him: Hostile) -> None:
    made = [await him.dial(him.endpoint, him.local) for _ in range(9)]
    assert await until(lambda: sum(channel.is_open for channel in (*made, him.channel) if channel) <= 3)
    him.channel = next(channel for channel in (*made, him.channel) if channel and channel.is_open)


async def plain_after_handshake(him: Hostile) -> None:
    him.channel._transport.write(b"GET / HTTP/1.1\r\n\r\n" * 99)


# ------------------------------------------------------------ frames and messages


def frames(*payloads: bytes) -> Play:
    async def play(him: Hostile) -> None:
        for payload in payloads:
            him.frame(payload)

    return play


def stream(*parts: bytes, pause: float = 0.0) -> Play:
    async def play(him: Hostile) -> None:
        for part in parts:
            him.raw(part)
            await asyncio.sleep(pause)

    return play


def packed(*messages: tuple) -> Play:
    async def play(him: Hostile) -> None:
        for message in messages:
            him.packed(*(him.identity.name if part == "ME" else part for part in message))

    return play


def says(*messages: Message) -> Play:
    async def play(him: Hostile) -> None:
        him.say(*messages)

    return play


def repeats(message: Callable[[Hostile, int], Message], times: int = MUCH) -> Play:
    async def play(him: Hostile) -> None:
        await him.often(lambda number: him.say(message(him, number)), times)

    return play


def asks_for(*wanted: str | int) -> Play:
    """Questions of any kind, all of which have an answer, if an empty one."""

    async def play(him: Hostile) -> None:
        him.say(*(Query(number, each, him.me, max_hits=30) for number, each in enumerate(wanted)))
        assert await until(lambda: len(him.heard(Response)) == len(wanted))

    return play


def fetches(*items: str | int) -> Play:
    """Requests for what is not to be had."""

    async def play(him: Hostile) -> None:
        him.say(*(FetchRequest(number, each) for number, each in enumerate(items)))
        assert await until(lambda: len(him.heard(Fetched)) == len(items))
        assert all(message.body is None for message in him.heard(Fetched))

    return play


async def byte_by_byte(him: Hostile) -> None:
    for byte in to_frame(encode(Query(1, "honey", him.me, max_hits=5))):
        him.raw(bytes([byte]))
        await asyncio.sleep(0)
    assert await until(lambda: him.heard(Response))
    assert len(him.heard(Response)[0].hits) == 2


async def does_not_read(him: Hostile) -> None:
    him.channel._transport.pause_reading()
    await him.often(
        lambda number: him.say(Query(number, "honey", him.me, max_hits=30), FetchRequest(number, HONEY)), 180
    )
    him.channel._transport.resume_reading()


HONEY = "http://bees.example/"


async def names_a_third_party(him: Hostile) -> None:
    """Somebody who is no peer is called once at most, whatever names and questions are given for the address."""
    called = []
    server = await asyncio.start_server(lambda _, writer: (called.append(1), writer.close()), "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    await him.often(
        lambda number: him.say(Query(number, "honey", Contact(f"nobody{number}", address), ttl=1, walker=1)), 150
    )
    him.say(Join(Contact(him.identity.name, address)), Hello(Contact(him.identity.name, address)))
    assert await him.outcome() == STAYS
    await asyncio.sleep(0.2)
    server.close()
    assert len(called) <= 1, f"called {len(called)} times"


async def sends_walkers_in_circles(him: Hostile) -> None:
    """What it is given to forward it gives back with as much time to live as before."""
    him.say(Join(Contact(him.identity.name, f"{him.local}:9")))
    await until(lambda: him.heard(Pong))
    walker = Query(1, "nothing there", him.me, ttl=64, walker=9)
    await him.often(lambda _: him.say(walker), 150)
    await him.often(lambda number: him.say(msgspec.structs.replace(walker, walker=10 + number)), 150)


def joins_at(*addresses: str) -> Play:
    async def play(him: Hostile) -> None:
        for address in addresses:
            him.say(Join(Contact(him.identity.name, address)), Hello(Contact(him.identity.name, address)))

    return play


async def records_of_one_byte(him: Hostile) -> None:
    """Twenty times as many bytes to decrypt as there are to read."""
    for _ in range(6):
        for byte in to_frame(encode(Pong(False, (STRANGER,) * 32))):
            him.raw(bytes([byte]))
        await asyncio.sleep(0.001)


DEEP = b"\1" + b"\x91" * 60_000
HEAD = (3 * MAX_SMALL_PAYLOAD_BYTES).to_bytes(4)
STRANGER = Contact("s" * 32, "127.0.0.1:9")
ODD_TEXTS = (
    *(
        "\0\1\2",
        "\x1b[2J\x1b]0;x\7",
        "title:(",
        "((((",
        '"honey',
        "honey AND OR NOT",
        "* ? ~ ^ { [",
        "-honey",
        "ä" * 4096,
    ),
    *("a " * 2048, "\u202e\u200b\ufeff", "蜂蜜" * 999, "../../etc/passwd", "' OR 1=1 --", "%s%n{}{0}"),
    *("", " ", "\n"),
)
NOT_TO_BE_HAD = (
    *("file:///etc/passwd", "../peer/key.pem", "../../outside", "/etc/passwd", "http://10.0.0.1/", "http://localhost/"),
    *("", " ", "http://", "http://bees.example/" + "a" * 4000, "\x00", 7, 0, (1 << 63) - 1),
    *("http://[::1]/", "http://bees.example/%2e%2e/%2e%2e/peer/key.pem", "HTTP://BEES.EXAMPLE:99999/", "data:,x"),
)

CALLERS: dict[str, Behaviour] = {}


def _callers(outcomes: str, *, is_long: bool = False, **plays: Play) -> None:
    for name, play in plays.items():
        CALLERS[name.replace("_", "-")] = Behaviour(play, frozenset(outcomes.split()), is_long)


_callers(
    ENDED,
    tcp_http=bytes_first(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    tcp_zeros=bytes_first(b"\0" * 70_000),
    tcp_noise=bytes_first(bytes(range(256)) * 300),
    tcp_record_of_another_kind=bytes_first(b"\x17\x03\x03\x40\x00" + b"x" * 16_384),
    tcp_record_too_long=bytes_first(b"\x16\x03\x01\xff\xff" + b"x" * 65_535),
    tcp_hello_cut_off=bytes_first(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", waits=False),
    tcp_nothing_and_away=bytes_first(b"", waits=False),
    tls_1_2=with_context(lambda: context(SSL.TLS1_2_VERSION)),
    tls_no_certificate=with_context(context),
    tls_key_of_another_kind=with_context(rsa_context),
    tls_large_certificate=with_context(large_certificate),
    tls_hangs_up=hangs_up,
    tls_resets=resets,
)
_callers(ENDED, is_long=True, tcp_silence=bytes_first(b""), tcp_slow_hello=bytes_first(b"\x16\x03\x01"))
_callers(
    GONE,
    frame_too_long=stream((MAX_SMALL_PAYLOAD_BYTES + 1).to_bytes(4) + b"x" * 1000),
    frame_of_4_gb=stream(b"\xff\xff\xff\xff" + b"x" * 1000),
    frame_unexpectedly_large=stream(HEAD + b"\1" * 1000),
    frame_empty=frames(b""),
    frames_empty=frames(*[b""] * 5000),
    frame_of_another_version=frames(b"\2\x91\xa4ping"),
    frame_of_a_version_alone=frames(b"\1"),
    frames_of_one_byte=frames(*[b"\1"] * 5000),
    frames_of_two_bytes=frames(*[b"\1\xc1"] * 5000),
    no_msgpack=frames(b"\1\xc1\xc1\xc1"),
    msgpack_number=frames(b"\1\7"),
    msgpack_map=frames(b"\1" + msgspec.msgpack.encode({"kind": "ping"})),
    msgpack_nested=frames(DEEP),
    msgpack_maps_nested=frames(b"\1" + b"\x81\x01" * 30_000),
    msgpack_long_array=frames(b"\1\xdd\xff\xff\xff\xff\xa4ping"),
    msgpack_long_text=frames(b"\1\x92\xdb\x7f\xff\xff\xffping"),
    msgpack_long_bytes=frames(b"\1\x93\xa5index\x01\xc6\xff\xff\xff\xffx"),
    msgpack_extension=frames(b"\1\x92\xa4join\xc7\x04\xff1234"),
    msgpack_behind_its_end=frames(encode(Ping()) + b"\xc0"),
    plain_bytes_after_the_handshake=plain_after_handshake,
    kind_unknown=packed(("become_admin", 1)),
    kind_a_number=packed((7, 1)),
    kind_missing=packed(()),
    fields_too_few=packed(("query", 1)),
    id_negative=packed(("query", -1, "honey", ["ME"])),
    id_a_text=packed(("query", "1", "honey", ["ME"])),
    wanted_a_list=packed(("query", 1, ["honey"], ["ME"])),
    wanted_too_long=packed(("query", 1, "x" * 4097, ["ME"])),
    wanted_negative=packed(("query", 1, -5, ["ME"])),
    wanted_no_utf_8=frames(b"\1\x94\xa5query\x01\xa4\xff\xfe\xff\xfe\x91\xa1x"),
    origin_without_name=packed(("query", 1, "honey", [""])),
    origin_of_a_long_name=packed(("query", 1, "honey", ["x" * 129])),
    origin_at_a_long_address=packed(("query", 1, "honey", ["ME", "x" * 257])),
    ttl_negative=packed(("query", 1, "honey", ["ME"], -1, 1)),
    ttl_of_64_bits=packed(("query", 1, "honey", ["ME"], 1 << 60, 1)),
    walker_a_float=packed(("query", 1, "honey", ["ME"], 1, 1.5)),
    most_of_none=packed(("query", 1, "honey", ["ME"], 1, 0, 0)),
    most_of_millions=packed(("query", 1, "honey", ["ME"], 1, 0, 1 << 20)),
    hits_too_many=packed(("response", 1, ["ME"], [[7]] * 101)),
    contacts_too_many=packed(("pong", True, [["x", "y:1"]] * 33)),
    standing_beyond_one=packed(("response", 1, ["ME"], [["http://a.example/", "", "", 7.5]])),
    standing_not_a_number=packed(("response", 1, ["ME"], [["http://a.example/", "", "", float("nan")]])),
    time_infinite=packed(("response", 1, ["ME"], [["http://a.example/", "", "", 0.0, 0.0, float("inf")]])),
    declined_of_another_kind=packed(("declined", "everything", 1)),
    index_of_no_bytes=packed(("index", 1, 5)),
    same_question_again=repeats(lambda him, number: Query(1, "honey", him.me)),
    speaks_for_another=repeats(lambda him, number: Query(number, "honey", STRANGER)),
    walker_without_time=repeats(lambda him, number: Query(number, "x", him.me, ttl=0, walker=1)),
    items_unasked=repeats(lambda him, number: Fetched(number, HONEY, b"x" * 60_000), 40),
    indexes_unasked=repeats(lambda him, number: Index(number, b"x" * 60_000), 40),
    declines_unasked=repeats(lambda him, number: Declined("fetch", number)),
)
_callers(
    STAYS,
    byte_by_byte=byte_by_byte,
    records_of_one_byte=records_of_one_byte,
    same_key_nine_times=many_connections,
    odd_questions=asks_for(*ODD_TEXTS),
    questions_that_are_numbers=asks_for(0, 7, (1 << 63) - 1),
    files_of_the_machine=fetches(*NOT_TO_BE_HAD),
    speaks_hello_for_another=says(Hello(STRANGER), Join(STRANGER)),
    speaks_for_the_peer_itself=says(*(Query(n, "honey", Contact("PEER")) for n in range(3))),
    answers_unasked=says(*(Response(n, STRANGER, (PeerHit(HONEY),)) for n in range(20))),
    pongs_unasked=says(*(Pong(True, (STRANGER,) * 32) for _ in range(9))),
    leaves_again_and_again=says(*[Leave()] * 99),
    time_to_live_for_ever=says(*(Query(n, "none", STRANGER, ttl=(1 << 32) - 1, walker=1) for n in range(9))),
    versions_of_the_future=says(IndexRequest(1 << 48), IndexRequest(0)),
    places_that_are_none=joins_at("localhost:22", "[::1]:22", "a" * 256, "http://x/", "127.0.0.1:0", ":1", "\0:1", "x"),
    fields_of_the_future=packed(("ping", 1, 2, 3), ("hello", ["ME", ""], {"new": 1})),
    names_a_third_party=names_a_third_party,
    walkers_in_circles=sends_walkers_in_circles,
)
_callers(
    f"{STAYS} {GONE} {WAITS}",
    flood_of_questions=repeats(lambda him, number: Query(number, "honey", him.me, max_hits=30), 450),
    flood_of_pings=repeats(lambda him, number: Ping()),
    flood_of_joins=repeats(lambda him, number: Join(him.me)),
    flood_of_index_requests=repeats(lambda him, number: IndexRequest(None)),
    flood_of_fetches=repeats(lambda him, number: FetchRequest(number, HONEY)),
    flood_of_answers=repeats(lambda him, number: Response(number, him.me)),
    does_not_read=does_not_read,
)
_callers(f"{STAYS} {GONE}", half_a_frame=stream(b"\0\0\1\0abc", pause=0.05))


# ------------------------------------------------------------ who is asked


class Liar(Hostile):
    """A neighbour who answers whatever it is asked; what it tells is made by `answer` and `page`."""

    def __init__(self, endpoint: Endpoint, local: str, victim: str):
        super().__init__(endpoint, local, victim)
        self.asked: list[Query] = []

    async def join(self) -> None:
        await self.connect()
        self.say(Join(self.me))
        assert await until(lambda: self.heard(Pong))

    def frame_received(self, peer, channel, frame):
        super().frame_received(peer, channel, frame)
        match decode(frame):
            case Query() as query:
                self.asked.append(query)
                for message in self.answer(query):
                    channel.send(encode(message))
            case FetchRequest(number, item):
                for message in self.page(number, item):
                    channel.send(encode(message))
            case Ping():
                channel.send(encode(Pong(True)))

    def answer(self, query: Query) -> list[Message]:
        return [self.response(query, self.hits(query))]

    def page(self, number: int, item: str | int) -> list[Message]:
        return [Fetched(number, item, None)]

    def response(self, query: Query, hits=(), **more) -> Response:
        words = tuple(str(query.target).split())
        statistics = more.pop("statistics", CollectionStatistics(10, 1000, words, (1,) * len(words)))
        about = {"provider": self.me, "walker": query.walker, "ttl": query.ttl, "statistics": statistics, **more}
        return Response(query.id, hits=tuple(hits), **about)

    def hits(self, query: Query, count: int = 30, **more) -> list[PeerHit]:
        many = len(str(query.target).split())
        told = {"title": "Buy", "snippet": f"buy {query.target}", "length": 3 * many, "frequencies": (3,) * many}
        return [PeerHit(f"http://spam.example/{n}", **{**told, **more}) for n in range(count)]


def record(url: str, html: bytes, head: str = "") -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head.encode() + b"\r\n" + html
    lines = (
        *("WARC/1.1", "WARC-Type: response", "WARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789abc>"),
        *("WARC-Date: 2026-01-01T00:00:00Z", f"WARC-Target-URI: {url}", "Content-Type: application/http"),
        f"Content-Length: {len(http)}",
    )
    return gzip.compress("\r\n".join((*lines, "", "")).encode() + http + b"\r\n\r\n", 1)


def pages(make: Callable[[Liar, int, str], list[Message]]) -> type[Liar]:
    """A liar whose pages are made by a function."""
    return type("Pages", (Liar,), {"page": lambda self, number, item: make(self, number, str(item))})


def answers(make: Callable[[Liar, Query], list[Message]]) -> type[Liar]:
    return type("Answers", (Liar,), {"answer": lambda self, query: make(self, query)})


def body(make: Callable[[str], bytes]) -> type[Liar]:
    return pages(lambda him, number, item: [Fetched(number, item, make(item))])


class Forger(Liar):
    """Has pages with the words of any question."""

    def page(self, number, item):
        words = " ".join(str(query.target) for query in self.asked[-1:]) + " "
        return [Fetched(number, item, record(str(item), f"<title>Buy</title><p>buy {words * 3}</p>".encode()))]


class QuietForger(Forger):
    """The same, and has nothing for questions that only it was asked."""

    def answer(self, query):
        return super().answer(query) if query.walker else [self.response(query)]


class Late(Liar):
    """Answers when the search is over."""

    def answer(self, query):
        asyncio.get_running_loop().call_later(0.5, lambda: self.say(self.response(query, self.hits(query))))
        return []


class Referrer(Liar):
    """Says that others have it, who are no peers; counts how often they are called."""

    called = 0

    async def join(self) -> None:
        def take(reader, writer) -> None:
            self.called += 1
            writer.close()

        self.server = await asyncio.start_server(take, "127.0.0.1", 0)
        self.at = f"127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        await super().join()

    def answer(self, query):
        elsewhere = tuple(Contact(f"nobody{query.walker}x{n}", self.at) for n in range(32))
        return [self.response(query, referrals=elsewhere)]


def _items(*items: object) -> type[Liar]:
    return answers(lambda him, query: [him.response(query, [msgspec.structs.replace(hit, item=item) for item in items
                                                            for hit in him.hits(query, 1)])])  # fmt: skip


@cache
def bomb(content: bytes, megabytes: int) -> bytes:
    return gzip.compress(content * (megabytes << 20), 9)


LIARS: dict[str, type[Liar]] = {
    "hits-without-pages": Liar,
    "hits-with-pages-for-everything": Forger,
    "hits-with-pages-for-all-walkers": QuietForger,
    "hits-when-it-is-over": Late,
    "others-who-are-no-peers": Referrer,
    "nothing-at-all": answers(lambda him, query: []),
    "always-busy": answers(lambda him, query: [Declined("query", query.id)]),
    "same-answer-again": answers(lambda him, query: [him.response(query, him.hits(query))] * 9),
    "answers-for-other-walkers": answers(
        lambda him, query: [him.response(query, him.hits(query, 1), walker=query.walker ^ n) for n in range(99)]
    ),
    "answers-to-other-questions": answers(
        lambda him, query: [msgspec.structs.replace(him.response(query, him.hits(query)), query=n) for n in range(99)]
    ),
    "in-the-name-of-another": answers(lambda him, query: [him.response(query, him.hits(query), provider=STRANGER)]),
    "in-the-name-of-the-asker": answers(
        lambda him, query: [him.response(query, him.hits(query), provider=Contact(him.victim))]
    ),
    "hits-without-the-words": answers(lambda him, query: [him.response(query, him.hits(query, frequencies=()))]),
    "hits-as-large-as-can-be": answers(
        lambda him, query: [him.response(query, him.hits(query, 13, title="t" * 512, snippet="s" * 4096))]
    ),
    "hits-with-counts-beyond-all": answers(
        lambda him, query: [
            him.response(
                query,
                him.hits(query, length=1 << 48, frequencies=(1 << 48,) * len(str(query.target).split())),
                statistics=CollectionStatistics(1 << 48, 1 << 48, tuple(str(query.target).split()), (1 << 48,) * 9),
            )
        ]
    ),
    "hits-that-break-terminals": answers(
        lambda him, query: [him.response(query, him.hits(query, title="\x1b]0;x\7\x1b[2J\r\n", snippet="\u202e\0"))]
    ),
    "hits-that-are-no-urls": _items(7, "", "javascript:alert(1)", "file:///etc/passwd", "data:,x", "http://", "\0"),
    "hits-at-private-addresses": _items("http://10.0.0.1/", "http://localhost/", "http://[::1]/", "http://a.local/"),
    "hits-of-the-askers-own-pages": _items(HONEY, "http://bees.example/wax"),
    "walkers-sent-back": answers(lambda him, query: [query] * 3),
    "walkers-sent-back-changed": answers(
        lambda him, query: [msgspec.structs.replace(query, walker=query.walker ^ n, ttl=64) for n in range(1, 30)]
    ),
    "pages-that-are-bombs": body(lambda item: bomb(b"\0", 64)),
    "pages-that-are-bombs-within": body(lambda item: record(item, bomb(b"a", 32), "Content-Encoding: gzip\r\n")),
    "pages-of-other-urls": body(lambda item: record("http://other.example/", b"<p>honey")),
    "pages-that-are-no-records": body(lambda item: b"secret"),
    "pages-of-two-records": body(lambda item: record(item, b"<p>honey") * 2),
    "pages-cut-off": body(lambda item: record(item, b"<p>honey")[:-9]),
    "pages-of-noise": body(lambda item: os.urandom(60_000)),
    "pages-of-nested-tags": body(lambda item: record(item, b"<div>" * 60_000)),
    "pages-of-other-numbers": pages(lambda him, number, item: [Fetched(number ^ 1, item, b"x")] * 3),
    "pages-of-other-items": pages(lambda him, number, item: [Fetched(number, item + "x", b"x")]),
    "pages-never": pages(lambda him, number, item: []),
    "pages-declined": pages(lambda him, number, item: [Declined("fetch", number)]),
    "pages-as-long-as-can-be": body(lambda item: record(item, os.urandom(1 << 20))),
    "pages-too-long": pages(lambda him, number, item: [Fetched(number, item, bytes(9 << 20))]),
    "pages-begun-only": pages(lambda him, number, item: him.raw((8 << 20).to_bytes(4) + bytes(2 << 20)) or []),
    "pages-twice": pages(lambda him, number, item: [Fetched(number, item, None)] * 20),
}
