"""The peer that a command talks to: the running one, else a temporary one in this process."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct

from lycosa.cli.job_progress import ProgressBar
from lycosa.cli.options import notify
from lycosa.collection import Collection
from lycosa.run.imports import PeerPage
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.locks import Lock
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import counted, quoted
from lycosa_peers.addresses import Endpoint, is_local, parse_endpoint
from lycosa_peers.control import PeerReply, PeerRequest, answer_request, ask_running_peer
from lycosa_peers.identity import KEY_FILE, Group, Identity
from lycosa_peers.peer import OtherGroupError, Peer, pinned_names
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.ranking import Ranking
from lycosa_peers.shared_collection import SharedCollection, unpack_record

SETTINGS_FILE, GROUP_FILE = "settings.json", "group"
LOCK_SECONDS = 3.0  # that a command waits for another that has the lock
Ask = Callable[[PeerRequest], AsyncIterator[PeerReply]]


class ServeSettings(Struct, frozen=True):
    """The options with which a collection was last served."""

    listen: str = ""
    at: str | None = None  # the endpoint at which others reach it, if not `listen`
    allow_private: bool = False


class NotJoined(Struct, frozen=True):
    """Endpoints at which no peer accepted us."""

    not_reached: tuple[str, ...] = ()
    other_group: tuple[str, ...] = ()  # the peer there is not of our group


class Joins:
    """Joins several endpoints concurrently; a search may start while some are still being dialled."""

    def __init__(self, peer: Peer, endpoints: Sequence[tuple[str, Endpoint]]):
        self._tasks = [
            (str(endpoint), asyncio.ensure_future(peer.join(name, endpoint))) for name, endpoint in endpoints
        ]
        self.seconds = 0.0  # spent in `wait`

    async def wait(self, seconds: float) -> None:
        """Waits until all have answered, for at most `seconds`; raises if an endpoint has another key."""
        if self._tasks:
            loop = asyncio.get_running_loop()
            began = loop.time()
            await asyncio.wait([task for _, task in self._tasks], timeout=seconds)
            self.seconds = loop.time() - began
            self.not_joined()  # raises what a join has raised

    def not_joined(self) -> NotJoined:
        not_reached, other_group = list[str](), list[str]()
        for endpoint, task in self._tasks:
            try:
                if not task.done() or task.result() is None:
                    not_reached.append(endpoint)
            except OtherGroupError:
                other_group.append(endpoint)
        return NotJoined(tuple(not_reached), tuple(other_group))

    def cancel(self) -> None:
        for _, task in self._tasks:
            if not task.cancel() and not task.cancelled():
                task.exception()  # only one of several failures was reported


class PeerClient(Struct, frozen=True):
    """Access to a peer: its name, and how to send it requests."""

    name: str
    ask: Ask
    joins: Joins | None = None  # of a temporary peer


class ClientOptions(Struct, frozen=True):
    """The peer-related options of a command."""

    joins: Sequence[tuple[str, Endpoint]] = ()  # name (empty if not given) and endpoint of peers to join
    join_seconds: float = 1.0
    group: Path | None = None
    no_group: bool = False
    allow_private: bool = False
    quiet: bool = False


@asynccontextmanager
async def open_peer(collection_path: Path, options: ClientOptions) -> AsyncIterator[PeerClient]:
    """The peer of a collection: the running one, else a temporary one."""
    running = await _running_peer(collection_path)
    if running is None:
        with open_for_reading(collection_path) as collection:
            claimed = await running_peer_or_lock(collection_path)
            if not isinstance(claimed, PeerClient):
                with claimed:
                    async with _temporary_peer(collection, PeerFolder(collection_path), options) as temporary:
                        yield temporary
                return
            running = claimed
    if options.joins or options.group or options.no_group:
        raise UsageError(f"{collection_path} is being served; give --join, --group and --no-group to lycosa peer serve")
    if options.allow_private and not _settings(PeerFolder(collection_path)).allow_private:
        raise UsageError(f"{collection_path} is being served without --allow-private; give it to lycosa peer serve")
    yield running


@asynccontextmanager
async def _temporary_peer(
    collection: Collection, folder: PeerFolder, options: ClientOptions
) -> AsyncIterator[PeerClient]:
    """A temporary peer with the saved state and the address of the last served one."""
    settings = _settings(folder)
    identity = load_identity(folder, options.group, options.no_group)
    content = open_content(collection, folder, options.allow_private, quiet=options.quiet)
    listen, at = parse_endpoint(settings.listen), parse_endpoint(settings.at or "")
    named_by_owner = [endpoint for _, endpoint in options.joins] + [
        endpoint for pinned in pinned_names(folder) if (endpoint := parse_endpoint(pinned))
    ]
    peer = Peer(
        identity,
        content,
        folder,
        allow_private=allows_private_addresses(at or listen, named_by_owner),
        notify=(lambda line: None) if options.quiet else notify,
    )
    try:
        await peer.begin(listen, at)
    except OSError:
        await peer.begin()  # the port is in use: peers that we dial can still answer
    joins = Joins(peer, options.joins)
    try:
        await joins.wait(options.join_seconds)
        yield PeerClient(identity.name, lambda request: answer_request(peer, request), joins)
    finally:
        joins.cancel()
        await peer.end()


async def running_peer_or_lock(collection_path: Path) -> PeerClient | Lock:
    """The running peer of a collection, else its lock, which another command may hold briefly."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LOCK_SECONDS
    while (lock := PeerFolder(collection_path).lock()) is None:
        running = await _running_peer(collection_path)
        if running is not None:
            return running
        if loop.time() >= until:
            raise CollectionError(
                f"another command uses the peer of {collection_path}, or it is just starting; try again"
            )
        await asyncio.sleep(0.05)
    return lock


async def peer_status(collection_path: Path) -> dict[str, object]:
    """The status of the peer of a collection, whether it runs or not."""
    folder, running = PeerFolder(collection_path), await _running_peer(collection_path)
    if running is not None:
        return await _status_of(running)
    with open_for_reading(collection_path) as collection:
        if folder.read(KEY_FILE) is None:
            raise UsageError(
                f"{collection_path} is not a peer yet;"
                f" serve it with: lycosa peer serve {quoted(collection_path)} --listen ADDR:PORT"
            )
        claimed = await running_peer_or_lock(collection_path)
        if isinstance(claimed, PeerClient):
            return await _status_of(claimed)
        with claimed:
            content = SharedCollection(collection, folder)
            status = Peer(load_identity(folder, None, False), content, folder).status()
    return {**status, "is_running": False}


async def _status_of(running: PeerClient) -> dict[str, object]:
    statuses = [reply.status async for reply in running.ask(PeerRequest("show"))]
    return {**statuses[-1], "is_running": True}


def _settings(folder: PeerFolder) -> ServeSettings:
    return folder.read_json(SETTINGS_FILE, ServeSettings) or ServeSettings()


async def _running_peer(collection_path: Path) -> PeerClient | None:
    folder = PeerFolder(collection_path)
    replies = await ask_running_peer(folder, PeerRequest("show"))
    if replies is None:
        return None
    statuses = [reply.status async for reply in replies]

    async def ask(request: PeerRequest) -> AsyncIterator[PeerReply]:
        replies = await ask_running_peer(folder, request)
        if replies is None:
            raise LycosaError(f"the peer that served {collection_path} has ended; try again")
        async for reply in replies:
            yield reply

    return PeerClient(statuses[-1]["name"], ask)


def allows_private_addresses(own: Endpoint | None, named: Sequence[Endpoint]) -> bool:
    """Whether a peer may dial private addresses given by others: if its own address is private or, without one, if all
    endpoints named by its owner are private."""
    endpoints = [own] if own is not None else named
    return bool(endpoints) and all(map(is_local, endpoints))


def load_identity(folder: PeerFolder, group: Path | None, no_group: bool) -> Identity:
    """The identity of the peer. It stays in its group until the user changes that, so as not to be open by mistake."""
    if group is not None and no_group:
        raise UsageError("--group and --no-group cannot be combined")
    if group is not None:
        folder.write(GROUP_FILE, Group.from_file(group).secret.encode())
    elif no_group:
        folder.remove(GROUP_FILE)
    secret = folder.read(GROUP_FILE)
    try:
        return Identity.load(folder, None if secret is None else Group.from_secret(secret.decode("ascii", "replace")))
    except UsageError as error:
        raise CollectionError(
            f"{folder.path(GROUP_FILE)} is damaged; give the secret again with --group FILE, or leave with --no-group"
        ) from error


def open_content(collection: Collection, folder: PeerFolder, allow_private: bool, *, quiet: bool) -> SharedCollection:
    """The collection as a peer shares it, with its summary up to date."""
    content = SharedCollection(collection, folder, allow_private=allow_private)
    with ProgressBar("pages read", quiet=quiet) as count, _interruptible():
        content.update_summary(count)
    return content


def withheld_line(pages: int) -> str:
    """The message about pages that a peer does not share."""
    return (
        f"{counted(pages, 'page')} not shared, as the archive does not say that they came from a public address"
        " (--allow-private shares those, too), or as they were requested with cookies or headers of yours"
    )


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM end work that blocks the event loop."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, signal.default_int_handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


async def start_listening(peer: Peer, endpoint: Endpoint, at: Endpoint | None) -> Endpoint | None:
    """Starts a peer, as `Peer.begin`; a UsageError if the endpoint cannot be used."""
    try:
        return await peer.begin(endpoint, at)
    except OSError as error:
        raise UsageError(f"cannot listen at {endpoint}: {error.strerror or error}; choose another --listen") from error


async def fetch_pages(ranking: Ranking, max_pages: int, ask: Ask) -> AsyncIterator[PeerPage]:
    """The best pages that are not in our own collection, each from the first provider that delivers it."""
    for hit in [hit for hit in ranking.hits if not hit.at_home][:max_pages]:
        for provider in hit.providers:
            body = None
            async for reply in ask(PeerRequest("fetch", provider=provider, url=hit.url)):
                body = reply.body
            record = unpack_record(hit.url, body) if body is not None else None
            if record is not None:
                yield PeerPage(Url(hit.url), record, provider.name)
                break
