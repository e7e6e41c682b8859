"""The peer behind a command: the one that runs, else one for a short while."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.peers.addresses import Place, is_local, parse_place
from lycosa.peers.control import Reply, Request, answer_request, ask_running_peer
from lycosa.peers.identity import KEY_FILE, Group, Identity
from lycosa.peers.peer import OtherGroupError, Peer, peer_status, pinned_names
from lycosa.peers.peer_folder import PeerFolder
from lycosa.peers.ranking import Ranking
from lycosa.peers.shared_collection import SharedCollection, unpack_record
from lycosa.run.imports import PeerPage
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import Url

from .options import tell
from .working import Counting

SETTINGS_FILE, GROUP_FILE = "settings.json", "group"
LOCK_SECONDS = 3.0  # that a command waits for another one that is the peer for a moment
Ask = Callable[[Request], AsyncIterator[Reply]]


class Settings(Struct, frozen=True):
    """How a collection was served the last time."""

    listen: str = ""
    at: str | None = None
    allow_private: bool = False


class NotJoined(Struct, frozen=True):
    """Places where nobody has taken us in."""

    not_reached: tuple[str, ...] = ()
    other_group: tuple[str, ...] = ()  # who is there is not of our group, or we are not of theirs


class Joins:
    """Places to join, all at once. What a search finds there is found while the rest are still being called."""

    def __init__(self, peer: Peer, places: Sequence[tuple[str, Place]]):
        self._tasks = [(str(place), asyncio.ensure_future(peer.join(name, place))) for name, place in places]
        self.seconds = 0.0  # that were waited

    async def wait(self, seconds: float) -> None:
        """Until all have answered, but no longer; raises where one is answered by another key."""
        if self._tasks:
            loop = asyncio.get_running_loop()
            began = loop.time()
            await asyncio.wait([task for _, task in self._tasks], timeout=seconds)
            self.seconds = loop.time() - began
            self.not_joined()

    def not_joined(self) -> NotJoined:
        not_reached, other_group = list[str](), list[str]()
        for place, task in self._tasks:
            try:
                if not task.done() or task.result() is None:
                    not_reached.append(place)
            except OtherGroupError:
                other_group.append(place)
        return NotJoined(tuple(not_reached), tuple(other_group))

    def cancel(self) -> None:
        for _, task in self._tasks:
            if not task.cancel() and not task.cancelled():
                task.exception()  # of several that failed, one was told


class PeerClient(Struct, frozen=True):
    """A peer as commands know it."""

    name: str
    ask: Ask
    joins: Joins | None = None  # of one for a short while


class ClientOptions(Struct, frozen=True):
    """What a command says of the peer that it wants."""

    joins: Sequence[tuple[str, Place]] = ()
    join_seconds: float = 1.0
    group: Path | None = None
    no_group: bool = False
    allow_private: bool = False
    quiet: bool = False


@asynccontextmanager
async def open_peer(name: Path, wishes: ClientOptions) -> AsyncIterator[PeerClient]:
    """The peer of a collection: the one that runs, else one for a short while."""
    running = await _running(name)
    if running is None:
        with open_for_reading(name) as collection:
            claimed = await running_peer_or_lock(name)
            if not isinstance(claimed, PeerClient):
                with claimed:
                    async with _for_a_moment(collection, PeerFolder(name), wishes) as mine:
                        yield mine
                return
            running = claimed
    if wishes.joins or wishes.group or wishes.no_group:
        raise UsageError(f"{name} is being served; say --join and --group to lycosa peer serve")
    if wishes.allow_private and not _settings(PeerFolder(name)).allow_private:
        raise UsageError(f"{name} is being served without --allow-private; say it to lycosa peer serve")
    yield running


@asynccontextmanager
async def _for_a_moment(collection: Collection, kept: PeerFolder, wishes: ClientOptions) -> AsyncIterator[PeerClient]:
    """A peer that goes by what the last one kept, and is reached where that one was, as long as it is there."""
    settings = _settings(kept)
    identity = load_identity(kept, wishes.group, wishes.no_group)
    content = open_content(collection, kept, wishes.allow_private or settings.allow_private, quiet=wishes.quiet)
    listen, at = parse_place(settings.listen), parse_place(settings.at or "")
    named = [place for _, place in wishes.joins] + [
        place for each in pinned_names(kept) if (place := parse_place(each))
    ]
    peer = Peer(
        identity,
        content,
        kept,
        allow_private=allows_private_addresses(at or listen, named),
        say=(lambda line: None) if wishes.quiet else tell,
    )
    try:
        await peer.begin(listen, at)
    except OSError:
        await peer.begin()  # somebody else has the place: those that were called can still answer
    joined = Joins(peer, wishes.joins)
    try:
        await joined.wait(wishes.join_seconds)
        yield PeerClient(identity.name, lambda request: answer_request(peer, request), joined)
    finally:
        joined.cancel()
        await peer.end()


async def running_peer_or_lock(name: Path) -> PeerClient | IO[str]:
    """The peer of a collection that runs, else the right to be it, which another command may have for a moment."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LOCK_SECONDS
    while (lock := PeerFolder(name).lock()) is None:
        running = await _running(name)
        if running is not None:
            return running
        if loop.time() >= until:
            raise CollectionError(f"another command uses the peer of {name}, or it is just starting; try again")
        await asyncio.sleep(0.05)
    return lock


async def peer_facts(name: Path) -> dict[str, object]:
    """Who the peer of a collection is, whether it runs or not."""
    kept, running = PeerFolder(name), await _running(name)
    if running is not None:
        return await _told_by(running)
    with open_for_reading(name) as collection:
        if kept.read(KEY_FILE) is None:
            raise UsageError(f"{name} is no peer yet; serve it with: lycosa peer serve {name} --listen ADDR:PORT")
        claimed = await running_peer_or_lock(name)
        if isinstance(claimed, PeerClient):
            return await _told_by(claimed)
        with claimed:
            content = SharedCollection(collection, kept)
            told = peer_status(Peer(load_identity(kept, None, False), content, kept))
    return {**told, "is_running": False}


async def _told_by(running: PeerClient) -> dict[str, object]:
    told = [reply.told async for reply in running.ask(Request("show"))]
    return {**told[-1], "is_running": True}


def _settings(kept: PeerFolder) -> Settings:
    return kept.read_json(SETTINGS_FILE, Settings) or Settings()


async def _running(name: Path) -> PeerClient | None:
    kept = PeerFolder(name)
    shown = await ask_running_peer(kept, Request("show"))
    if shown is None:
        return None
    told = [reply.told async for reply in shown]

    async def ask(request: Request) -> AsyncIterator[Reply]:
        answers = await ask_running_peer(kept, request)
        if answers is None:
            raise LycosaError(f"the peer that served {name} has ended; try again")
        async for reply in answers:
            yield reply

    return PeerClient(told[-1]["name"], ask)


def allows_private_addresses(own: Place | None, named: Sequence[Place]) -> bool:
    """Whether others may send a peer to private addresses: it is at one itself, or, where it is nowhere, all places
    that its owner ever named are."""
    places = [own] if own is not None else named
    return bool(places) and all(map(is_local, places))


def load_identity(kept: PeerFolder, group: Path | None, no_group: bool) -> Identity:
    """Who the peer is; it stays in the group it was in until it is told otherwise, so as not to be open by mistake."""
    if group is not None and no_group:
        raise UsageError("--group and --no-group go not together")
    if group is not None:
        kept.write(GROUP_FILE, Group.of_file(group).secret.encode())
    elif no_group:
        kept.remove(GROUP_FILE)
    secret = kept.read(GROUP_FILE)
    try:
        return Identity.load(kept, None if secret is None else Group.of_text(secret.decode("ascii", "replace")))
    except UsageError as error:
        raise CollectionError(
            f"{kept.path(GROUP_FILE)} is damaged; give the secret again with --group FILE, or leave with --no-group"
        ) from error


def open_content(collection: Collection, kept: PeerFolder, allow_private: bool, *, quiet: bool) -> SharedCollection:
    content = SharedCollection(collection, kept, allow_private=allow_private)
    with Counting("pages read", quiet=quiet) as count, _interrupted_at_once():
        content.catch_up(count)
    return content


@contextmanager
def _interrupted_at_once() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM end what keeps the event loop from its turn."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, signal.default_int_handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


async def start_listening(peer: Peer, place: Place, at: Place | None) -> Place | None:
    try:
        return await peer.begin(place, at)
    except OSError as error:
        raise UsageError(f"cannot listen at {place}: {error.strerror or error}; choose another --listen") from error


async def fetch_pages(merged: Ranking, most: int, ask: Ask) -> AsyncIterator[PeerPage]:
    """The best pages that are not at home, from the first who gives them."""
    for hit in [hit for hit in merged.hits if not hit.at_home][:most]:
        for provider in hit.providers:
            body = None
            async for reply in ask(Request("fetch", provider=provider, url=hit.url)):
                body = reply.body
            record = unpack_record(hit.url, body) if body is not None else None
            if record is not None:
                yield PeerPage(Url(hit.url), record, provider.name)
                break
