"""A running peer: a node, its content, and the wire, brought together on one event loop.

Times are those of the loop, which no clock can set back. Nothing here waits for a stranger without bound.
"""

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.errors import LycosaError

from .addresses import Place
from .among_friends import OPTIONS
from .channel import Channel
from .fetching import Fetches
from .frames import SMALL
from .identity import Identity
from .keeping import Kept
from .memory import Memory
from .messages import Contact, Declined, Fetch, Fetched, Hello, Index, IndexRequest, MessageError, Query, Send
from .messages import decode as decoded
from .messages import encode as encoded
from .node import Node
from .options import NodeOptions
from .searching import Answers, Stage
from .shared_collection import SharedCollection
from .summarising import follow
from .wire import Wire

PINS_FILE = "pins.json"
SAVE_SECONDS, SWEEP_SECONDS, JOIN_SECONDS = 5.0, 30.0, 10.0
ACCEPT_SECONDS = 1.0  # that one who was called has to say whether we are neighbours
MOST_REMEMBERED = 1024  # addresses
Say = Callable[[str], None]


class Searched(Struct, frozen=True):
    """A search of one's own, as it stands."""

    answers: Answers
    seconds: float
    is_over: bool


class Peer:
    """Serves a collection and searches those of others.

    say: told what happens, for people; never what anybody searches for unless `tells_queries`.
    """

    def __init__(
        self,
        identity: Identity,
        content: SharedCollection,
        kept: Kept,
        *,
        options: NodeOptions = OPTIONS,
        allow_private: bool = False,
        say: Say = lambda line: None,
        tells_queries: bool = False,
    ):
        self.identity = identity
        self.content = content
        self.counts: Counter[str] = Counter()
        self._kept = kept
        self._options = options
        self._say = say
        self._tells_queries = tells_queries
        self.wire = Wire(identity.context(), self, me=identity.name, allow_private=allow_private)
        self.node = Node(
            Contact(identity.name),
            content,
            options=options,
            seed=secrets.randbits(64),
            secret=secrets.token_bytes(32),
            now=asyncio.get_running_loop().time(),
        )
        self._memory = Memory(kept)
        if not self._memory.restore(self.node):
            self.counts["state_lost"] += 1
            say("what was kept of other peers cannot be read; starting without")
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()  # a search has moved
        self._said: OrderedDict[str, str] = OrderedDict()  # where peers say that they are reached, each of itself
        self._fetches = Fetches(content.verify)

    # ------------------------------------------------------------ beginning and ending

    async def begin(self, listen: Place | None = None, at: Place | None = None) -> Place | None:
        """Takes calls, if so asked, and begins to keep up; returns where it listens."""
        place = await self.wire.listen(listen) if listen is not None else None
        reached_at = at or place
        if reached_at is not None:
            self.node.me = Contact(self.identity.name, str(reached_at))
        for each in (self._every(SAVE_SECONDS, self.save), self._every(SWEEP_SECONDS, self.wire.sweep)):
            self._start(each)
        self._set_timer()
        return place

    def follow_collection(self) -> None:
        """Keeps the summary up to date from now on."""
        self._start(follow(self.content))

    def keep_joining(self, places: Iterable[tuple[str, Place]]) -> None:
        for name, place in places:
            self._start(self._keep_joining(name, place))

    async def end(self) -> None:
        """Says goodbye and keeps its state."""
        self._act(self.node.leave())
        for task in list(self._tasks):
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self.save()
        await self.wire.close()

    def save(self) -> None:
        """Keeps what it knows of others, if anything has changed."""
        self._memory.save(self.node)

    # ------------------------------------------------------------ joining

    async def join(self, name: str, place: Place) -> str | None:
        """Calls a place and asks who is there to be a neighbour; their name, or None where nobody took us in.

        Who answers first at a place is who is expected there from then on; a name that is given counts for more.
        """
        pins: dict[str, str] = self._kept.plain(PINS_FILE) or {}
        expected = name or pins.get(str(place), "")
        channel = await self.wire.call(place)
        if channel is None:
            return None
        if expected and channel.peer != expected:
            self.counts["another_key"] += 1
            channel.close("another key")
            raise LycosaError(
                f"{place} is answered by {channel.peer}, and not by {expected} as before; if that is right, use"
                f" --join {channel.peer}@{place}"
            )
        self._act(self.node.join([Contact(channel.peer, str(place))]))
        with suppress(TimeoutError):
            async with asyncio.timeout(ACCEPT_SECONDS):
                while channel.is_open and channel.peer not in self.node.neighbours:
                    self._changed.clear()
                    await self._changed.wait()
        if not channel.is_open:
            return None  # it does not know our group
        if pins.get(str(place)) != channel.peer:
            self._kept.keep(PINS_FILE, {**pins, str(place): channel.peer})
        return channel.peer

    async def _keep_joining(self, name: str, place: Place) -> None:
        tells = True
        while True:
            try:
                joined = await self.join(name, place)
            except LycosaError as error:
                self._say(str(error))
                return
            if joined is not None:
                self._say(f"joined {joined} at {place}")
                while joined in self.node.neighbours:
                    await asyncio.sleep(JOIN_SECONDS)
                tells = True
            elif tells:
                self._say(f"nobody at {place} takes us in; trying on")
                tells = False
            await asyncio.sleep(JOIN_SECONDS)

    # ------------------------------------------------------------ searching

    async def search(self, words: str, *, most: int, enough: int, deadline: float) -> AsyncIterator[Searched]:
        """The search as it goes on: at first what is at home, at last all that came by the deadline."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        number, sends = self.node.ask(words, began, most=most, enough=enough, deadline=deadline)
        self._act(sends)
        told = -1
        while True:
            answers = self.node.answers(number)
            assert answers is not None
            left = began + deadline - loop.time()
            is_over = answers.stage is Stage.DONE or left <= 0
            if is_over or len(answers.answers) > told:
                told = len(answers.answers)
                yield Searched(answers, loop.time() - began, is_over)
            if is_over:
                self.save()
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def fetch(self, provider: Contact, url: str) -> bytes | None:
        """The stored page of a provider; None where it did not come."""
        number, sends = self.node.fetch(provider, url, self._now())
        return await self._fetches.awaited(
            number, provider.name, url, seconds=self._options.fetch_wait, begin=partial(self._act, sends)
        )

    # ------------------------------------------------------------ what the wire tells

    def connected(self, peer: str, channel: Channel) -> None:
        channel.send(encoded(Hello(self.node.me)))
        self.node.found(peer)

    def disconnected(self, peer: str) -> None:
        self.node.lost(peer)
        self._changed.set()

    def refuses(self, peer: str) -> bool:
        return self.node.manners.shunned(peer, self._now())

    def heard(self, peer: str, channel: Channel, frame: bytes) -> None:
        try:
            message = decoded(frame)
        except MessageError as error:
            self.counts[error.why] += 1
            self._misbehaved(peer, channel, f"sent bytes that are no message ({error.why})", by=2.0)
            return
        if isinstance(message, Hello) and message.me.name == peer and message.me.address:
            self._is_reached_at(message.me)
        if isinstance(message, Index | Fetched | Declined):
            channel.large_came()
        elif len(frame) > SMALL:
            self._misbehaved(peer, channel, "sent a message too long", by=2.0)
            return
        if self._tells_queries and isinstance(message, Query):
            self._say(f"{peer[:8]} asks for {message.wanted}")
        self._act(self.node.receive(peer, message, self._now()))
        if isinstance(message, Fetched):
            self._fetches.came(peer, message)
        if self.refuses(peer):
            self._say(f"{peer[:8]} is not listened to for a while")
            self.wire.disconnect(peer, "not listened to")
        self._changed.set()

    def _is_reached_at(self, contact: Contact) -> None:
        """A peer has told where it is, which may be elsewhere than when it was last heard of."""
        self._said[contact.name] = contact.address
        if len(self._said) > MOST_REMEMBERED:
            self._said.popitem(last=False)
        buddy = self.node.buddies.get(contact.name)
        if buddy is not None and buddy.contact != contact:
            moved = replace(buddy, contact=contact)
            self.node.buddies.replace([moved if each == buddy else each for each in self.node.buddies])

    def _misbehaved(self, peer: str, channel: Channel, what: str, by: float) -> None:
        self._say(f"{peer[:8]} {what}")
        if self.node.manners.misbehaved(peer, self._now(), by):
            self.node.buddies.drop(peer)
            self.node.held.drop(peer)
            self.node.neighbours.forget(peer)
        channel.close("no message")

    # ------------------------------------------------------------ doing what the node says

    def _act(self, sends: Iterable[Send]) -> None:
        for send in sends:
            self.wire.send(
                send.to,
                self._said.get(send.to) or send.address,
                encoded(send.message),
                expects_large=isinstance(send.message, IndexRequest | Fetch),
                else_call=partial(self._undelivered, send),
            )
        self._set_timer()

    def _undelivered(self, send: Send) -> None:
        if isinstance(send.message, Fetch):
            self._fetches.failed(send.message.id)
        self._act(self.node.undelivered(send.to, send.message, self._now()))
        self._act(self.node.tick(self._now()))  # a search whose last walker has just ended is over
        self._changed.set()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self.node.next_deadline(), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._act(self.node.tick(self._now()))
        self._changed.set()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _every(self, seconds: float, do: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            do()
