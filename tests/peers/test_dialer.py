"""Dialer where others said, while those who keep the names of those endpoints answer late or never."""

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import pytest

from lycosa_peers.addresses import Endpoint
from lycosa_peers.channel import Channel
from lycosa_peers.dialer import MAX_DIALS, MAX_LOOKUPS, MAX_WAITING, MAX_WAITING_BYTES, Dialer, Purpose, look_up
from lycosa_peers.messages import MAX_SMALL_PAYLOAD_BYTES

NAMES = {
    "friend.example": ["8.8.8.8"],
    "both.example": ["2600::1", "2600::2", "8.8.4.4", "8.8.8.8"],
    "home.example": ["8.8.8.8", "192.168.1.1"],
    "nobody.example": [],
}


class NameServers:
    """Some names are known at once; those under slow.example when somebody lets them."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.asked: list[str] = []

    def __call__(self, name: str) -> Sequence[str]:
        self.asked.append(name)
        if name.endswith(".slow.example"):
            self.may_answer.wait()
            return ["9.9.9.9"]
        return NAMES[name]


Called = Callable[[str, Purpose], Awaitable[list[str]]]


def playing(play: Callable[[Dialer, Called], Awaitable[None]], servers: NameServers, **options: bool) -> Counter[str]:
    """Lets somebody call; `called` tells where that led until the call was given up, as nobody is anywhere."""
    counts: Counter[str] = Counter()
    dialled: list[Endpoint] = []

    async def dial(endpoint: Endpoint) -> Channel | None:
        dialled.append(endpoint)
        return None

    async def run() -> None:
        calls = Dialer(dial, counts, look_up=servers, **{"allow_private": False, **options})

        async def called(address: str, purpose: Purpose = Purpose.ASKING) -> list[str]:
            given_up = asyncio.Event()
            before = len(dialled)
            assert calls.call(f"peer at {address}", address, purpose, lambda channel: given_up.set())
            await given_up.wait()
            return [str(endpoint) for endpoint in dialled[before:]]

        try:
            await asyncio.wait_for(play(calls, called), 300)
        finally:
            calls.cancel()
            servers.may_answer.set()

    asyncio.run(run())
    return counts


@pytest.mark.parametrize("allow_private", [False, True])
@pytest.mark.parametrize("address", ["8.8.8.8:4000", "[2600::1]:4000", "friend.example:4000"])
def test_names_that_strangers_give_and_nobody_resolves_do_not_keep_us_from_asking(
    address: str, allow_private: bool
) -> None:
    servers = NameServers()

    async def play(calls: Dialer, called: Called) -> None:
        for number in range(MAX_DIALS):
            assert calls.call("stranger", f"h{number}.slow.example:9", Purpose.ANSWERING, lambda channel: None)
        while len(servers.asked) < MAX_LOOKUPS:
            await asyncio.sleep(0.001)
        assert await called(address, Purpose.ASKING) == [address.replace("friend.example", "8.8.8.8")]
        assert len([name for name in servers.asked if name.endswith("slow.example")]) == MAX_LOOKUPS

    playing(play, servers, allow_private=allow_private)


def test_names_of_peers_that_strangers_refer_to_do_not_keep_a_search_from_asking_a_friend() -> None:
    servers = NameServers()

    async def play(calls: Dialer, called: Called) -> None:
        for number in range(MAX_LOOKUPS):
            address, cause = f"h{number}.slow.example:9", f"sybil{number % 2}"
            assert calls.call("stranger", address, Purpose.ASKING, lambda channel: None, caused_by=cause)
        while len(servers.asked) < MAX_LOOKUPS:
            await asyncio.sleep(0.001)
        assert await called("friend.example:4000", Purpose.ASKING) == ["8.8.8.8:4000"]

    playing(play, servers)


def test_frames_for_addresses_that_strangers_gave_leave_room_for_our_own() -> None:
    async def play(calls: Dialer, called: Called) -> None:
        def call(peer: str, address: str, purpose: Purpose, size: int, cause: str) -> bool:
            return calls.call(peer, address, purpose, lambda channel: None, size=size, caused_by=cause)

        frames = MAX_WAITING_BYTES // MAX_SMALL_PAYLOAD_BYTES
        for number in range(frames):
            origin, address = f"origin{number // MAX_WAITING}", f"8.8.{number // MAX_WAITING}.1:9"
            assert call(origin, address, Purpose.ANSWERING, MAX_SMALL_PAYLOAD_BYTES, "sybil")
        assert not call("origin", "8.8.9.1:9", Purpose.ANSWERING, 300, "other sybil")
        assert call("friend", "9.9.9.9:4000", Purpose.ASKING, 300, "")
        assert call("origin0", "8.8.0.1:9", Purpose.ASKING, 300, "")  # the same peer, who may be a friend

    playing(play, NameServers())


def test_what_strangers_cause_leaves_dials_and_trials_to_us() -> None:
    async def play(calls: Dialer, called: Called) -> None:
        for number in range(200):
            address, cause = f"8.{number}.0.1:9", f"sybil{number}"
            calls.call("stranger", address, Purpose.ASKING, lambda channel: None, caused_by=cause)
        assert calls.call("friend", "9.9.9.9:4000", Purpose.ASKING, lambda channel: None)

    playing(play, NameServers())


def test_a_name_that_was_late_gives_its_room_back() -> None:
    servers = NameServers()

    async def play(calls: Dialer, called: Called) -> None:
        late = [f"h{number}.slow.example:9" for number in range(MAX_LOOKUPS)]
        given_up = await asyncio.gather(*(called(address, Purpose.ASKING) for address in late))
        assert given_up == [[]] * MAX_LOOKUPS
        servers.may_answer.set()
        assert await called("friend.example:4000", Purpose.ASKING) == ["8.8.8.8:4000"]

    playing(play, servers)


def test_an_address_is_not_looked_up() -> None:
    servers = NameServers()

    async def play(calls: Dialer, called: Called) -> None:
        assert await called("8.8.8.8:4000", Purpose.ANSWERING) == ["8.8.8.8:4000"]
        assert await called("127.0.0.1:4000", Purpose.ANSWERING) == []

    assert playing(play, servers) == {"private_address": 1}
    assert servers.asked == []


def test_a_name_leads_to_one_address_of_each_kind() -> None:
    async def play(calls: Dialer, called: Called) -> None:
        assert await called("both.example:4000", Purpose.ASKING) == ["[2600::1]:4000", "8.8.4.4:4000"]
        assert await called("nobody.example:4000", Purpose.ASKING) == []

    assert playing(play, NameServers()) == {}


def test_a_name_that_leads_home_too_leads_nowhere_unless_that_is_allowed() -> None:
    async def refused(calls: Dialer, called: Called) -> None:
        assert await called("home.example:4000", Purpose.ASKING) == []

    async def taken(calls: Dialer, called: Called) -> None:
        assert await called("home.example:4000", Purpose.ASKING) == ["8.8.8.8:4000"]

    assert playing(refused, NameServers()) == {"private_address": 1}
    assert playing(taken, NameServers(), allow_private=True) == {}


def test_names_at_which_a_stranger_has_shown_its_keys_make_nobody_call_a_third_party_often() -> None:
    """Names of its own led to its own peers; then it makes them lead to somebody who is no peer."""
    leads_to = {f"h{number}.evil.example": "9.9.9.9" for number in range(60)}
    counts: Counter[str] = Counter()
    dialled: list[str] = []

    class Shown(Channel):
        def __init__(self, peer: str) -> None:
            self.peer = peer

    async def dial(endpoint: Endpoint) -> Channel | None:
        dialled.append(endpoint.host)
        return Shown(f"peer {endpoint.port}") if endpoint.host == "9.9.9.9" else None

    async def run() -> None:
        calls = Dialer(dial, counts, allow_private=False, look_up=lambda name: [leads_to[name]])

        async def call_all() -> None:
            for number, name in enumerate(leads_to, 1):
                over = asyncio.Event()
                if calls.call(
                    f"peer {number}", f"{name}:{number}", Purpose.ANSWERING, lambda channel, over=over: over.set()
                ):
                    await over.wait()

        await call_all()
        assert counts["somebody_else"] == 0
        for name in leads_to:
            leads_to[name] = "8.8.8.8"
        await call_all()
        calls.cancel()

    asyncio.run(asyncio.wait_for(run(), 300))
    assert dialled.count("9.9.9.9") == 60
    assert 1 <= dialled.count("8.8.8.8") <= 4


def test_the_machine_knows_itself_and_no_names_that_are_none() -> None:
    assert "127.0.0.1" in look_up("127.1")
    assert not look_up("x" * 64 + ".example")


def test_a_process_ends_though_a_name_is_never_resolved() -> None:
    program = """
import asyncio, threading
from collections import Counter
from lycosa_peers.dialer import Dialer, Purpose

async def main():
    asked = threading.Event()

    def never(name):
        asked.set()
        threading.Event().wait()

    calls = Dialer(None, Counter(), allow_private=False, look_up=never)
    calls.call("stranger", "slow.example:9", Purpose.ANSWERING, print)
    while not asked.is_set():
        await asyncio.sleep(0.001)
    calls.cancel()

asyncio.run(main())
print("ended")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ended\n", "")
