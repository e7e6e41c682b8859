"""A peer as people run it, among 126 that are hostile: each has an outcome, and friends are served."""

import asyncio
import re
import socket
import zlib
from contextlib import suppress

import msgspec
import numpy as np
import pytest

from crawling import begin, kill, lycosa, most_memory
from fortress.conftest import MEMORY
from fortress.hostile_peers import CALLERS, ENDED, GONE, LIARS, STAYS, WAITS, Hostile, Referrer
from lycosa.run.trust import record_made_here
from lycosa.vocabulary.text import codes_of
from lycosa_peers import summary
from lycosa_peers.addresses import parse_endpoint
from lycosa_peers.control import PeerRequest, ask_running_peer
from lycosa_peers.messages import Contact, FetchRequest, Index, Join, Query, encode
from lycosa_peers.node import Node
from lycosa_peers.options import DEFAULTS
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.ranking import merge
from lycosa_peers.summary import PackedSegment, Segment, SegmentedSummary, pack_ascending, unpack_bits
from sharing import Caller, add_pages, asks, shared

pytestmark = pytest.mark.peers
PAGES = {"http://bees.example/": ("Bees", "honey hive nectar"), "http://bees.example/wax": ("Wax", "comb of honey")}
MOST_MEMORY = 300_000_000  # bytes, more than twice what was measured
SHORT = [name for name, each in CALLERS.items() if not each.is_long]
LONG = [name for name, each in CALLERS.items() if each.is_long]
NUMBERS = {name: number for number, name in enumerate((*CALLERS, *LIARS))}


class Victim:
    """A peer in a process of its own."""

    def __init__(self, folder):
        self.folder = add_pages(folder, PAGES)
        self.process = begin("peer", "serve", self.folder, "--listen", "127.0.0.1:0", "--quiet")
        line = self.process.stdout.readline()
        found = re.match(r"(\w{32})@(\S+) serves 2 pages", line)
        assert found, line
        self.name, self.endpoint = found[1], parse_endpoint(found[2])

    def address(self, name: str) -> str:
        """The address of a hostile peer: each has its own."""
        return f"127.1.{NUMBERS[name] // 200}.{1 + NUMBERS[name] % 200}"

    async def search(self, words: str, timeout: float = 0.3):
        request = PeerRequest("search", words, max_hits=30, sufficient_hits=30, timeout=timeout)
        replies = [reply async for reply in await ask_running_peer(PeerFolder(self.folder), request)]
        return merge(words, replies[-1].progress.answers.answers, own_name=self.name).hits

    async def serves_friends(self, tries: int = 1) -> None:
        """A friend is served; where many attack at a time on a busy machine, when it has come again some times."""
        for _ in range(tries - 1):
            with suppress(OSError):
                if await asks(self.endpoint, "127.0.0.77") == 2:
                    break
        else:
            assert await asks(self.endpoint, "127.0.0.77") == 2, "a friend is not served"
        assert self.process.poll() is None
        assert most_memory(self.process) < MOST_MEMORY


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    serving = Victim(tmp_path_factory.mktemp("v") / "c")
    yield serving
    memory = most_memory(serving.process)
    kill(serving.process)
    assert memory < MOST_MEMORY


def attacked(victim: Victim, name: str) -> None:
    async def run() -> None:
        behaviour, him = CALLERS[name], Hostile(victim.endpoint, victim.address(name), victim.name)
        if not name.startswith("tcp"):
            await him.connect()
        await behaviour.play(him)
        patience = 1.0 if WAITS in behaviour.outcomes else 30.0
        outcome = ENDED if ENDED in behaviour.outcomes else await him.outcome(patience)
        assert outcome in behaviour.outcomes
        await him.wire.close()
        await victim.serves_friends()

    asyncio.run(asyncio.wait_for(run(), 300))


@pytest.mark.parametrize("name", SHORT)
def test_every_caller_has_an_outcome_and_friends_are_served(victim, name):
    attacked(victim, name)


@pytest.mark.fortress
@pytest.mark.parametrize("name", LONG)
def test_callers_who_take_their_time_have_an_outcome_too(victim, name):
    attacked(victim, name)


@pytest.mark.parametrize("name", LIARS)
def test_a_search_ends_with_what_is_true_whoever_is_asked(victim, name):
    async def run() -> None:
        liar = LIARS[name](victim.endpoint, victim.address(name), victim.name)
        await liar.join()
        hits = await victim.search("honey")
        assert {hit.url for hit in hits[:2]} == set(PAGES)
        assert liar.asked or not liar.channel.is_open
        assert not any(hit.is_checked for hit in hits[2:]), [hit.url for hit in hits[2:]]
        assert not isinstance(liar, Referrer) or liar.called <= 1
        await liar.wire.close()
        await victim.serves_friends()
        (shown,) = [
            reply.status async for reply in await ask_running_peer(PeerFolder(victim.folder), PeerRequest("show"))
        ]
        assert liar.identity.name not in [buddy["name"] for buddy in shown["buddies"]]

    asyncio.run(asyncio.wait_for(run(), 300))


def test_there_are_as_many_as_the_guide_says():
    assert len(CALLERS) >= 90 and len(LIARS) >= 35


# Many at once


@pytest.mark.fortress
def test_free_keys_from_nine_addresses_shut_no_friend_out(victim):
    async def run() -> None:
        many = [Caller() for _ in range(300)]
        for number, caller in enumerate(many):
            await caller.dial(victim.endpoint, f"127.2.0.{1 + number % 9}")
            await victim.serves_friends() if number % 50 == 0 else None
        await victim.serves_friends()
        for number, caller in enumerate(many):
            for name in caller.wire.peers:
                caller.wire._channels[name][0].send(
                    encode(Join(Contact(caller.identity.name, f"127.2.0.1:{number + 1}")))
                )
        await victim.serves_friends()
        for caller in many:
            await caller.wire.close()

    asyncio.run(asyncio.wait_for(run(), 300))


@pytest.mark.fortress
def test_two_hundred_who_ask_and_do_not_read_cost_a_bounded_amount_of_memory(victim):
    async def run() -> None:
        deaf = []
        for number in range(200):
            caller = Caller()
            channel = await caller.dial(victim.endpoint, f"127.3.0.{1 + number % 40}")
            if channel is not None:
                channel._transport.pause_reading()
                deaf.append((caller, channel))
        for turn in range(30):
            for caller, channel in deaf:
                channel.send(encode(Query(turn, "honey", Contact(caller.identity.name), max_hits=30)))
                channel.send(encode(FetchRequest(turn, "http://bees.example/")))
            await asyncio.sleep(0.05)
        await victim.serves_friends()
        for caller, _ in deaf:
            await caller.wire.close()

    asyncio.run(asyncio.wait_for(run(), 300))


@pytest.mark.fortress
def test_all_at_once(victim, record_property):
    """Every behaviour at the same time, three of each."""

    async def one(name: str, turn: int) -> None:
        behaviour = CALLERS[name]
        him = Hostile(victim.endpoint, f"127.{4 + turn}.{NUMBERS[name] // 200}.{1 + NUMBERS[name] % 200}", victim.name)
        try:
            if not name.startswith("tcp"):
                await him.connect()
            await behaviour.play(him)
        except (AssertionError, OSError, AttributeError):
            pass  # there may be no room for it now
        await him.wire.close()

    async def run() -> None:
        hostile = [asyncio.create_task(one(name, turn)) for turn in range(3) for name in CALLERS]
        while sum(task.done() for task in hostile) < len(hostile) // 2:  # most do their harm at once
            await victim.serves_friends(tries=20)
        for task in hostile:
            task.cancel()
        await asyncio.gather(*hostile, return_exceptions=True)
        await victim.serves_friends(tries=20)

    asyncio.run(asyncio.wait_for(run(), 900))
    record_property(MEMORY, most_memory(victim.process))


def test_outcomes_are_those_that_there_are():
    assert {outcome for each in CALLERS.values() for outcome in each.outcomes} == {GONE, STAYS, WAITS, ENDED}


# Summaries that lie


def _segment(**changes) -> bytes:
    packed = Segment.from_pages([codes_of(["honey", "hive", f"word{n}"]) for n in range(30)], max_bytes=4000).packed
    return msgspec.msgpack.encode([msgspec.structs.replace(packed, **changes)])


def _common_words(words: list[str], *, pages: int, segments: int = 1) -> bytes:
    """A summary by which every page has all of these words."""
    hashes = np.array(sorted(int(code) >> 32 for code in codes_of(words)))
    counts = zlib.compress(b"\xff" * len(words) + pages.to_bytes(4, "little") * len(words))
    one_list = np.append(np.tile(np.array([1, 0], np.uint8), pages), np.uint8(0))
    lists = b"", np.packbits(np.tile(one_list, len(words))).tobytes()
    packed = PackedSegment(pages, 9, 32, len(words), pack_ascending(hashes, 1 << 32), counts, b"", lists)
    return msgspec.msgpack.encode([packed] * segments)


LYING_SUMMARIES = {
    "empty": b"",
    "noise": bytes(range(256)) * 40,
    "nested": b"\x91" * 50_000,
    "segments-without-end": msgspec.msgpack.encode([[0, 0, 8, 0, [b"", b""], b"", b"", [b"", b""]]] * 300),
    "announced-segments": b"\xdd\xff\xff\xff\xff",
    "a-bomb-of-counts": lambda: _segment(frequencies=zlib.compress(bytes(1 << 28), 9)),  # takes a second
    "a-bomb-of-listed": lambda: _segment(listed=zlib.compress(b"\xff" * (1 << 26), 9)),
    "more-words-than-bytes": _segment(terms=1 << 20),
    "more-pages-than-words": _segment(pages=1 << 24),
    "fewer-pages-than-words": _segment(pages=0),
    "hashes-of-eight-bits": _segment(bits=8),
    "numbers-cut-off": _segment(numbers=(b"", b"")),
    "hashes-swapped": _segment(hashes=(b"\xff" * 99, b"\xff" * 99)),
    "words-without-end": _segment(words=1 << 48),
    "words-that-every-page-has": lambda: _common_words(["honey", "hive"], pages=8_000_000),
    "too-long": bytes((4 << 20) + 1),
}


@pytest.mark.parametrize("name", LYING_SUMMARIES)
def test_a_summary_that_lies_is_refused_or_harmless(tmp_path, name):
    lie = LYING_SUMMARIES[name]
    packed = lie() if callable(lie) else lie
    with shared(add_pages(tmp_path / "c", PAGES)) as content:
        node = Node(Contact("a", "a:1"), content, options=DEFAULTS, seed=1)
        node.buddies.answered(Contact("s", "s:1"))
        node.checkpoint()
        assert [envelope.to for envelope in node.checkpoint()] == ["s"]
        node.receive("s", Index(1, packed), 0.0)
        is_refused = node.counts["index_malformed"] + node.counts["index_oversized"] == 1
        assert is_refused == (node.held.get("s") is None) == (node.demerits("s", 0.0) > 0)
        _, outgoing = node.ask("honey hive", 1.0, max_hits=10, sufficient_hits=10)
        assert {envelope.to for envelope in outgoing} <= {"s"}
        assert len(node.answering._find(Query(1, "honey", Contact("x")), 10).hits) == 2


@pytest.mark.parametrize(
    ("words", "pages", "segments"), [(2, 8_000_000, 1), (16, 60_000, 8), (2, 300, 250), (16, 300, 80)]
)
def test_a_summary_cannot_make_a_question_cost_much(monkeypatch, words, pages, segments):
    lists = bits = 0

    def counted(data, start, end):
        nonlocal lists, bits
        lists, bits = lists + 1, bits + end - start
        return unpack_bits(data, start, end)

    names = [f"word{number}" for number in range(words)]
    held = SegmentedSummary.unpacked(_common_words(names, pages=pages, segments=segments))
    monkeypatch.setattr(summary, "unpack_bits", counted)
    monkeypatch.setattr(Segment, "have_common_page", have_no_common_page)
    assert held.may_have(names)
    assert bits <= summary.MAX_BITS_READ
    assert lists <= 1_000


def have_no_common_page(segment, lists):
    """Reads all lists of a segment, as if no page was on all of them."""
    for index in lists:
        segment._numbers(index)
    return False


# The folder of a peer that somebody else has made


def test_links_in_the_folder_of_a_peer_lead_nowhere(tmp_path):
    folder = add_pages(tmp_path / "c", PAGES)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.new").write_text("precious")
    (folder / "peer").symlink_to(elsewhere)
    said = lycosa("peer", "serve", folder, "--listen", "127.0.0.1:0")
    assert said.is_one_clear_line(1, "is a link")
    assert [path.name for path in elsewhere.iterdir()] == ["precious.new"]


def test_a_control_socket_that_is_a_link_is_not_asked(tmp_path):
    folder = add_pages(tmp_path / "c", PAGES)
    (folder / "peer").mkdir()
    record_made_here(folder / "peer")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "s"))
        other.listen()
        (folder / "peer" / "control").symlink_to(tmp_path / "s")
        assert asyncio.run(ask_running_peer(PeerFolder(folder), PeerRequest("show"))) is None
