"""Joining others at places that the user named, and staying with them."""

import asyncio
from collections import Counter

from lycosa.vocabulary.errors import CollectionError, LycosaError

from .addresses import Place
from .channel import OTHER_GROUP
from .keeping import Kept
from .messages import Contact
from .talking import Say, Talking

PINS_FILE = "pins.json"
JOIN_SECONDS = 10.0  # between two attempts
ACCEPT_SECONDS = 1.0  # that one who was called has to say whether we are neighbours


def pins_of(kept: Kept) -> dict[str, str]:
    """Who answered first at the places that were joined."""
    return kept.read(PINS_FILE, dict[str, str]) or {}


class AnotherKeyError(LycosaError):
    """Somebody else is where somebody was."""


class OtherGroupError(LycosaError):
    """Who is there is not of our group, or we are not of theirs."""


class NamedPlaces:
    """Who answers first at a place is who is expected there from then on; a name that is given counts for more."""

    def __init__(self, talking: Talking, kept: Kept, counts: Counter[str], *, say: Say):
        self._talking = talking
        self._kept = kept
        self._counts = counts
        self._say = say

    async def join(self, name: str, place: Place) -> str | None:
        """Calls a place and asks who is there to be a neighbour; their name, or None where nobody took us in.

        Raises AnotherKeyError and OtherGroupError.
        """
        node = self._talking.node
        expected = name or pins_of(self._kept).get(str(place), "")
        channel = await self._talking.wire.reach(place)
        if not channel.is_open:
            if channel.why == OTHER_GROUP:
                raise OtherGroupError(f"{place} is {OTHER_GROUP}; see --group and --no-group")
            return None
        if expected and channel.peer != expected:
            self._counts["another_key"] += 1
            channel.close("another key")
            raise AnotherKeyError(
                f"{place} is answered by {channel.peer}, and not by {expected} as before; if that is right, use"
                f" --join {channel.peer}@{place}"
            )
        self._talking.act(node.join([Contact(channel.peer, str(place))]))
        until = asyncio.get_running_loop().time() + ACCEPT_SECONDS
        while channel.is_open and not self._is_joined(channel.peer):
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await self._talking.wait(left)
        if not channel.is_open:
            return None  # it does not know our group
        self._pin(place, channel.peer)
        return channel.peer if self._is_joined(channel.peer) else None

    async def stay(self, name: str, place: Place) -> None:
        """Joins whoever is at a place, and again whenever they are down, until it is cancelled."""
        told: set[type[LycosaError]] = set()  # kinds of trouble since they were joined last
        while True:
            try:
                joined = await self.join(name, place)
                trouble = LycosaError(f"nobody at {place} takes us in")
            except (AnotherKeyError, OtherGroupError) as error:
                joined, trouble = None, error
            if joined is not None:
                self._say(f"joined {joined} at {place}")
                told.clear()
                while self._is_joined(joined):
                    await asyncio.sleep(JOIN_SECONDS)
                continue
            if type(trouble) not in told:
                told.add(type(trouble))
                self._say(f"{trouble}; trying on")
            await asyncio.sleep(JOIN_SECONDS)

    def _pin(self, place: Place, peer: str) -> None:
        pins = pins_of(self._kept)
        if pins.get(str(place)) != peer:
            try:
                self._kept.keep(PINS_FILE, {**pins, str(place): peer})
            except CollectionError as error:
                self._say(str(error))

    def _is_joined(self, peer: str) -> bool:
        neighbours = self._talking.node.neighbours
        return peer in neighbours and peer not in neighbours.down
