"""A running peer: a node, its content and its connections, on one event loop.

Nothing here waits for a stranger without a time limit.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

from msgspec import Struct

from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.records import Plain

from .addresses import Place
from .channel import OTHER_GROUP
from .identity import Identity
from .messages import Contact
from .node import Node
from .options import DEFAULTS, NodeOptions
from .peer_folder import PeerFolder
from .search import Answers, Stage
from .session import Notify, Session
from .shared_collection import FOLLOW_SECONDS, SharedCollection, SummaryUpdates
from .state_files import StateFiles

PINS_FILE = "pins.json"
JOIN_SECONDS = 10.0  # between two attempts
ACCEPT_SECONDS = 1.0  # that one who was called has to say whether we are neighbours


def pinned_names(kept: PeerFolder) -> dict[str, str]:
    """Who answered first at the places that were joined."""
    return kept.read_json(PINS_FILE, dict[str, str]) or {}


class WrongKeyError(LycosaError):
    """Somebody else is where somebody was."""


class OtherGroupError(LycosaError):
    """Who is there is not of our group, or we are not of theirs."""


class Bootstrap:
    """Who answers first at a place is who is expected there from then on; a name that is given counts for more."""

    def __init__(self, session: Session, kept: PeerFolder, counts: Counter[str], *, say: Notify):
        self._session = session
        self._kept = kept
        self._counts = counts
        self._say = say

    async def join(self, name: str, place: Place) -> str | None:
        """Calls a place and asks who is there to be a neighbour; their name, or None where nobody took us in.

        Raises WrongKeyError and OtherGroupError.
        """
        node = self._session.node
        expected = name or pinned_names(self._kept).get(str(place), "")
        channel = await self._session.wire.reach(place)
        if not channel.is_open:
            if channel.why == OTHER_GROUP:
                raise OtherGroupError(f"{place} is {OTHER_GROUP}; see --group and --no-group")
            return None
        if expected and channel.peer != expected:
            self._counts["another_key"] += 1
            channel.close("another key")
            raise WrongKeyError(
                f"{place} is answered by {channel.peer}, and not by {expected} as before; if that is right, use"
                f" --join {channel.peer}@{place}"
            )
        self._session.act(node.join([Contact(channel.peer, str(place))]))
        until = asyncio.get_running_loop().time() + ACCEPT_SECONDS
        while channel.is_open and not self._is_joined(channel.peer):
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await self._session.wait(left)
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
            except (WrongKeyError, OtherGroupError) as error:
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
        pins = pinned_names(self._kept)
        if pins.get(str(place)) != peer:
            try:
                self._kept.write_json(PINS_FILE, {**pins, str(place): peer})
            except CollectionError as error:
                self._say(str(error))

    def _is_joined(self, peer: str) -> bool:
        neighbours = self._session.node.neighbours
        return peer in neighbours and peer not in neighbours.down


SAVE_SECONDS, SWEEP_SECONDS = 5.0, 30.0


class SearchProgress(Struct, frozen=True):
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
        kept: PeerFolder,
        *,
        options: NodeOptions = DEFAULTS,
        allow_private: bool = False,
        say: Notify = lambda line: None,
        tells_queries: bool = False,
    ):
        self.identity = identity
        self.content = content
        self._options = options
        self._say = say
        self.node = Node(
            Contact(identity.name),
            content,
            options=options,
            seed=secrets.randbits(64),
            secret=secrets.token_bytes(32),
            now=asyncio.get_running_loop().time(),
        )
        self.session = Session(self.node, identity, allow_private=allow_private, say=say, tells_queries=tells_queries)
        self.wire = self.session.wire
        self.counts: Counter[str] = self.session.counts
        self._places = Bootstrap(self.session, kept, self.counts, say=say)
        self._memory = StateFiles(kept)
        for file in self._memory.restore(self.node):
            self.counts["state_lost"] += 1
            say(f"what was kept of other peers in {kept.path(file)} cannot be read; starting without")
        self._tasks: set[asyncio.Task[None]] = set()
        self._searches = 0  # under way
        self._trouble = ""  # that was told last

    # ------------------------------------------------------------ beginning and ending

    async def begin(self, listen: Place | None = None, at: Place | None = None) -> Place | None:
        """Takes calls, if so asked, and begins to keep up; returns where it listens."""
        place = await self.wire.listen(listen) if listen is not None else None
        reached_at = at or place
        if reached_at is not None:
            self.node.me = Contact(self.identity.name, str(reached_at))
        for seconds, do in (
            (SAVE_SECONDS, self.save),
            (SAVE_SECONDS, self._tell_of_content),
            (SWEEP_SECONDS, self.wire.sweep),
        ):
            self._start(self._every(seconds, do))
        self.session.act(self.node.rejoin())
        return place

    def follow_collection(self) -> None:
        """Keeps the summary up to date from now on."""
        self._start(self._follow(SummaryUpdates(self.content)))

    def keep_joining(self, places: Iterable[tuple[str, Place]]) -> None:
        for name, place in places:
            self._start(self._places.stay(name, place))

    async def join(self, name: str, place: Place) -> str | None:
        """Asks whoever is at a place to be a neighbour; their name, or None where nobody took us in."""
        return await self._places.join(name, place)

    async def end(self) -> None:
        """Says goodbye and keeps its state."""
        self.session.act(self.node.leave())
        for task in list(self._tasks):
            task.cancel()
        self.session.end()
        self._try(self.save)
        await self.wire.close()

    def save(self) -> None:
        """Keeps what it knows of others, if anything has changed."""
        self._memory.save(self.node)

    # ------------------------------------------------------------ searching

    async def search(self, words: str, *, most: int, enough: int, deadline: float) -> AsyncIterator[SearchProgress]:
        """The search as it goes on: at first what is at home, at last all that came by the deadline."""
        if self._searches >= self._options.searches:
            raise LycosaError(f"{self._searches} searches are under way, which is as many as can be; try again later")
        self._searches += 1
        try:
            async for searched in self._searched(words, most, enough, deadline):
                yield searched
        finally:
            self._searches -= 1

    async def _searched(self, words: str, most: int, enough: int, deadline: float) -> AsyncIterator[SearchProgress]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        number, sends = self.node.ask(words, began, most=most, enough=enough, deadline=deadline)
        self._tell_of_content()
        self.session.act(sends)
        told, answers = -1, self.node.answers(number)
        while answers is not None:
            left = began + deadline - loop.time()
            now = self.node.answers(number)  # None where many that began later have pushed it out: then it is over
            answers = now or answers
            is_over = now is None or answers.stage is Stage.DONE or left <= 0
            if is_over or len(answers.answers) > told:
                told = len(answers.answers)
                yield SearchProgress(answers, loop.time() - began, is_over)
            if is_over:
                self._try(self.save)
                return
            await self.session.wait(left)

    async def fetch(self, provider: Contact, url: str) -> bytes | None:
        """The stored page of a provider; None where it did not come."""
        loop = asyncio.get_running_loop()
        number, sends = self.node.fetch(provider, url, loop.time())
        self.session.act(sends)
        until = loop.time() + self._options.fetch_wait
        while (brought := self.node.fetch_result(number)) is None and (left := until - loop.time()) > 0:
            await self.session.wait(left)
        return brought if isinstance(brought, bytes) else None

    # ------------------------------------------------------------ what goes on beside

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _every(self, seconds: float, do: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            self._try(do)

    async def _follow(self, following: SummaryUpdates) -> None:
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                await following.catch_up()
            except LycosaError as error:
                self._tell_once(error)

    def _try(self, do: Callable[[], None]) -> None:
        """A disk that is full now may have room later, and searches need none."""
        try:
            do()
        except LycosaError as error:
            self._tell_once(error)

    def _tell_of_content(self) -> None:
        if self.content.trouble is not None:
            self._tell_once(self.content.trouble)

    def _tell_once(self, error: LycosaError) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            self._say(self._trouble)


def peer_status(peer: Peer) -> Plain:
    """Who a running peer is, whom it knows, what happened; for `peer show`."""
    node = peer.node
    return {
        "name": peer.identity.name,
        "address": node.me.address,
        "group": peer.identity.group.name if peer.identity.group else None,
        "pages": peer.content.pages,
        "connected": peer.wire.peers,
        "buddies": [
            {"name": each.contact.name, "address": each.contact.address, "count": each.count} for each in node.buddies
        ],
        "neighbours": [
            {"name": name, "address": node.neighbours.address(name), "is_down": name in node.neighbours.down}
            for name in node.neighbours.names
        ],
        "indexes": [
            {"name": name, "version": held.version, "bytes": len(held.packed())}
            for name, held in ((name, node.held.get(name)) for name in node.held.names())
            if held is not None
        ],
        "counts": dict(sorted((node.counts + peer.counts + peer.wire.counts + peer.content.counts).items())),
    }
