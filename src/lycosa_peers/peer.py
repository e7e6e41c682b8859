"""A running peer: a node, its content and its connections, on one event loop.

Nothing here waits for a stranger without a time limit.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.records import JsonValue

from .addresses import Endpoint
from .channel import OTHER_GROUP
from .identity import Identity
from .messages import Contact
from .node import Node
from .node_runner import NodeRunner, Notify
from .options import DEFAULTS, NodeOptions
from .peer_folder import PeerFolder
from .search import Answers, Stage
from .shared_collection import UPDATE_SECONDS, SharedCollection, SummaryUpdates
from .state_files import StateFiles

SAVE_SECONDS, SWEEP_SECONDS = 5.0, 30.0  # between two times at which the state is saved, and idle channels are closed
PINS_FILE = "pins.json"  # the name of the peer that first answered at each endpoint
JOIN_SECONDS = 10.0  # between two attempts
ACCEPT_SECONDS = 1.0  # that a peer has to accept us as a neighbour


class SearchProgress(Struct, frozen=True):
    """The progress of a search of the user."""

    answers: Answers
    seconds: float
    is_over: bool


class Peer:
    """Serves a collection and searches those of others.

    notify: called with messages about what happens; searches of others are included only if `logs_queries`.
    """

    def __init__(
        self,
        identity: Identity,
        content: SharedCollection,
        folder: PeerFolder,
        *,
        options: NodeOptions = DEFAULTS,
        allow_private: bool = False,
        notify: Notify = lambda line: None,
        logs_queries: bool = False,
    ):
        if identity.group is not None:  # members have the secret, and so are trusted
            options = replace(options, max_probes=0)
        self.identity = identity
        self.content = content
        self._options = options
        self._notify = notify
        self.node = Node(
            Contact(identity.name),
            content,
            options=options,
            seed=secrets.randbits(64),
            secret=secrets.token_bytes(32),
            now=asyncio.get_running_loop().time(),
        )
        self.runner = NodeRunner(
            self.node, identity, allow_private=allow_private, notify=notify, logs_queries=logs_queries
        )
        self.wire = self.runner.wire
        self.counts: Counter[str] = self.runner.counts
        self.node.trust(pinned_names(folder).values())
        self._bootstrap = Bootstrap(self.runner, folder, self.counts, notify=notify)
        self._files = StateFiles(folder)
        for file in self._files.restore(self.node):
            self.counts["state_lost"] += 1
            notify(f"what was kept of other peers in {folder.path(file)} cannot be read; starting without")
        self._tasks: set[asyncio.Task[None]] = set()
        self._running_searches = 0
        self._last_error = ""  # reported to the user

    # ------------------------------------------------------------ beginning and ending

    async def begin(self, listen: Endpoint | None = None, reached_at: Endpoint | None = None) -> Endpoint | None:
        """Listens, if an endpoint is given, and starts periodic work; returns the endpoint it listens at.

        reached_at: the endpoint at which others reach it, if different.
        """
        endpoint = await self.wire.listen(listen) if listen is not None else None
        reached_at = reached_at or endpoint
        if reached_at is not None:
            self.node.own_contact = Contact(self.identity.name, str(reached_at))
        for seconds, action in (
            (SAVE_SECONDS, self.save),
            (SAVE_SECONDS, self._report_content_error),
            (SWEEP_SECONDS, self.wire.sweep),
        ):
            self._start(self._every(seconds, action))
        self.runner.send_all(self.node.rejoin())
        return endpoint

    def follow_collection(self) -> None:
        """Keeps the summary up to date from now on."""
        self._start(self._follow(SummaryUpdates(self.content)))

    def keep_joining(self, endpoints: Iterable[tuple[str, Endpoint]]) -> None:
        """Joins the peers at endpoints, each with its expected name, and again whenever they are down."""
        for name, endpoint in endpoints:
            self._start(self._bootstrap.keep_joined(name, endpoint))

    async def join(self, name: str, endpoint: Endpoint) -> str | None:
        """Asks the peer at an endpoint to be a neighbour; returns its name, or None if nobody accepted."""
        return await self._bootstrap.join(name, endpoint)

    async def end(self) -> None:
        """Leaves the network and saves its state."""
        self.runner.send_all(self.node.leave())
        for task in list(self._tasks):
            task.cancel()
        self.runner.end()
        self._try(self.save)
        await self.wire.close()

    def save(self) -> None:
        """Saves its state if it has changed."""
        self._files.save(self.node)

    # ------------------------------------------------------------ searching

    async def search(
        self, words: str, *, max_hits: int, sufficient_hits: int, timeout: float
    ) -> AsyncIterator[SearchProgress]:
        """The progress of a search: first the hits of our own collection, finally all that arrived in time."""
        if self._running_searches >= self._options.searches:
            raise LycosaError(f"{self._running_searches} searches are under way, which is the limit; try again later")
        self._running_searches += 1
        try:
            async for progress in self._progress(words, max_hits, sufficient_hits, timeout):
                yield progress
        finally:
            self._running_searches -= 1

    async def _progress(
        self, words: str, max_hits: int, sufficient_hits: int, timeout: float
    ) -> AsyncIterator[SearchProgress]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        query_id, outgoing = self.node.ask(
            words, began, max_hits=max_hits, sufficient_hits=sufficient_hits, timeout=timeout
        )
        self._report_content_error()
        self.runner.send_all(outgoing)
        answers_yielded, answers = -1, self.node.answers(query_id)
        while answers is not None:
            left = began + timeout - loop.time()
            latest = self.node.answers(query_id)  # None if evicted by later searches: then it is over
            answers = latest or answers
            is_over = latest is None or answers.stage is Stage.DONE or left <= 0
            if is_over or len(answers.answers) > answers_yielded:
                answers_yielded = len(answers.answers)
                yield SearchProgress(answers, loop.time() - began, is_over)
                if is_over:
                    self._try(self.save)
                    return
                continue  # `wait` does not see what happened while the caller was busy
            await self.runner.wait(left)

    async def fetch(self, provider: Contact, url: str) -> bytes | None:
        """The stored page of a provider; None if it was not delivered."""
        loop = asyncio.get_running_loop()
        number, outgoing = self.node.fetch(provider, url, loop.time())
        self.runner.send_all(outgoing)
        until = loop.time() + self._options.fetch_wait
        while (result := self.node.fetch_result(number)) is None and (left := until - loop.time()) > 0:
            await self.runner.wait(left)
        return result if isinstance(result, bytes) else None

    def status(self) -> JsonValue:
        """Who the peer is, whom it knows and what has happened, for `peer show`."""
        node = self.node
        return {
            "name": self.identity.name,
            "address": node.own_contact.address,
            "group": self.identity.group.name if self.identity.group else None,
            "pages": self.content.pages,
            "connected": self.wire.peers,
            "buddies": [
                {"name": each.contact.name, "address": each.contact.address, "count": each.count}
                for each in node.buddies
            ],
            "neighbours": [
                {"name": name, "address": node.neighbours.address(name), "is_down": name in node.neighbours.down}
                for name in node.neighbours.names
            ],
            "indexes": [
                {"name": name, "version": summary.version, "bytes": len(summary.packed())}
                for name, summary in ((name, node.held.get(name)) for name in node.held.names())
                if summary is not None
            ],
            "counts": dict(sorted((node.counts + self.counts + self.wire.counts + self.content.counts).items())),
        }

    # ------------------------------------------------------------ periodic work

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _every(self, seconds: float, action: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            self._try(action)

    async def _follow(self, updates: SummaryUpdates) -> None:
        while True:
            await asyncio.sleep(UPDATE_SECONDS)
            try:
                await updates.update()
                await self.content.index_new_pages()
            except LycosaError as error:
                self._report_once(error)

    def _try(self, action: Callable[[], None]) -> None:
        """Does something that may fail now and succeed later, such as writing to a full disk."""
        try:
            action()
        except LycosaError as error:
            self._report_once(error)

    def _report_content_error(self) -> None:
        if self.content.error is not None:
            self._report_once(self.content.error)

    def _report_once(self, error: LycosaError) -> None:
        if str(error) != self._last_error:
            self._last_error = str(error)
            self._notify(self._last_error)


# ---------------------------------------------------------------- endpoints that the user named


class WrongKeyError(LycosaError):
    """The peer at an endpoint is not the expected one."""


class OtherGroupError(LycosaError):
    """The peer at an endpoint is not of our group."""


def pinned_names(folder: PeerFolder) -> dict[str, str]:
    """The names of the peers that answered first, by endpoint."""
    return folder.read_json(PINS_FILE, dict[str, str]) or {}


class Bootstrap:
    """Joins peers at endpoints given by the user. The peer that first answers at an endpoint is expected there from
    then on (trust on first use), unless the user gives a name."""

    def __init__(self, runner: NodeRunner, folder: PeerFolder, counts: Counter[str], *, notify: Notify):
        self._runner = runner
        self._folder = folder
        self._counts = counts
        self._notify = notify

    async def join(self, name: str, endpoint: Endpoint) -> str | None:
        """Dials an endpoint and asks the peer there to be a neighbour; returns its name, or None if nobody accepted.

        Raises WrongKeyError and OtherGroupError.
        """
        node = self._runner.node
        expected = name or pinned_names(self._folder).get(str(endpoint), "")
        channel = await self._runner.wire.dial(endpoint)
        if not channel.is_open:
            if channel.close_reason == OTHER_GROUP:
                raise OtherGroupError(f"{endpoint} is {OTHER_GROUP}; see --group and --no-group")
            return None
        if expected and channel.peer != expected:
            self._counts["another_key"] += 1
            channel.close("another key")
            expected_peer = expected if name else f"{expected} as before"
            raise WrongKeyError(
                f"{endpoint} is answered by {channel.peer}, and not by {expected_peer}; if that is right, use"
                f" --join {channel.peer}@{endpoint}"
            )
        self._runner.send_all(node.join([Contact(channel.peer, str(endpoint))]))
        until = asyncio.get_running_loop().time() + ACCEPT_SECONDS
        while channel.is_open and not self._is_joined(channel.peer):
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await self._runner.wait(left)
        if not channel.is_open:
            return None  # it does not know our group
        self._pin(endpoint, channel.peer)
        node.trust([channel.peer])
        return channel.peer if self._is_joined(channel.peer) else None

    async def keep_joined(self, name: str, endpoint: Endpoint) -> None:
        """Joins the peer at an endpoint, and again whenever it is down, until it is cancelled."""
        reported: set[type[LycosaError]] = set()  # kinds of errors since it was joined last
        while True:
            try:
                joined = await self.join(name, endpoint)
                error = LycosaError(f"no peer at {endpoint} has accepted this one")
            except LycosaError as refusal:  # another key, another group, or an unreadable file of pins
                joined, error = None, refusal
            if joined is not None:
                self._notify(f"joined {joined} at {endpoint}")
                reported.clear()
                while self._is_joined(joined):
                    await asyncio.sleep(JOIN_SECONDS)
                continue
            if type(error) not in reported:
                reported.add(type(error))
                self._notify(f"{error}; trying again")
            await asyncio.sleep(JOIN_SECONDS)

    def _pin(self, endpoint: Endpoint, peer: str) -> None:
        pins = pinned_names(self._folder)
        if pins.get(str(endpoint)) != peer:
            try:
                self._folder.write_json(PINS_FILE, {**pins, str(endpoint): peer})
            except CollectionError as error:
                self._notify(str(error))

    def _is_joined(self, peer: str) -> bool:
        neighbours = self._runner.node.neighbours
        return peer in neighbours and peer not in neighbours.down
