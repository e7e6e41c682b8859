"""A running peer: a node, its content, and the wire, brought together on one event loop.

Nothing here waits for a stranger without bound.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

from msgspec import Struct

from lycosa.vocabulary.errors import LycosaError

from .addresses import Place
from .among_friends import OPTIONS
from .identity import Identity
from .keeping import Kept
from .memory import Memory
from .messages import Contact
from .named_places import NamedPlaces
from .node import Node
from .options import NodeOptions
from .searching import Answers, Stage
from .shared_collection import SharedCollection
from .summarising import FOLLOW_SECONDS, Following
from .talking import Say, Talking

SAVE_SECONDS, SWEEP_SECONDS = 5.0, 30.0


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
        self.talking = Talking(self.node, identity, allow_private=allow_private, say=say, tells_queries=tells_queries)
        self.wire = self.talking.wire
        self.counts: Counter[str] = self.talking.counts
        self._places = NamedPlaces(self.talking, kept, self.counts, say=say)
        self._memory = Memory(kept)
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
        self.talking.act(self.node.rejoin())
        return place

    def follow_collection(self) -> None:
        """Keeps the summary up to date from now on."""
        self._start(self._follow(Following(self.content)))

    def keep_joining(self, places: Iterable[tuple[str, Place]]) -> None:
        for name, place in places:
            self._start(self._places.stay(name, place))

    async def join(self, name: str, place: Place) -> str | None:
        """Asks whoever is at a place to be a neighbour; their name, or None where nobody took us in."""
        return await self._places.join(name, place)

    async def end(self) -> None:
        """Says goodbye and keeps its state."""
        self.talking.act(self.node.leave())
        for task in list(self._tasks):
            task.cancel()
        self.talking.end()
        self._try(self.save)
        await self.wire.close()

    def save(self) -> None:
        """Keeps what it knows of others, if anything has changed."""
        self._memory.save(self.node)

    # ------------------------------------------------------------ searching

    async def search(self, words: str, *, most: int, enough: int, deadline: float) -> AsyncIterator[Searched]:
        """The search as it goes on: at first what is at home, at last all that came by the deadline."""
        if self._searches >= self._options.searches:
            raise LycosaError(f"{self._searches} searches are under way, which is as many as can be; try again later")
        self._searches += 1
        try:
            async for searched in self._searched(words, most, enough, deadline):
                yield searched
        finally:
            self._searches -= 1

    async def _searched(self, words: str, most: int, enough: int, deadline: float) -> AsyncIterator[Searched]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        number, sends = self.node.ask(words, began, most=most, enough=enough, deadline=deadline)
        self._tell_of_content()
        self.talking.act(sends)
        told, answers = -1, self.node.answers(number)
        while answers is not None:
            left = began + deadline - loop.time()
            now = self.node.answers(number)  # None where many that began later have pushed it out: then it is over
            answers = now or answers
            is_over = now is None or answers.stage is Stage.DONE or left <= 0
            if is_over or len(answers.answers) > told:
                told = len(answers.answers)
                yield Searched(answers, loop.time() - began, is_over)
            if is_over:
                self._try(self.save)
                return
            await self.talking.wait(left)

    async def fetch(self, provider: Contact, url: str) -> bytes | None:
        """The stored page of a provider; None where it did not come."""
        loop = asyncio.get_running_loop()
        number, sends = self.node.fetch(provider, url, loop.time())
        self.talking.act(sends)
        until = loop.time() + self._options.fetch_wait
        while (brought := self.node.brought(number)) is None and (left := until - loop.time()) > 0:
            await self.talking.wait(left)
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

    async def _follow(self, following: Following) -> None:
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
