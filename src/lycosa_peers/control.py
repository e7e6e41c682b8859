"""Commands to the running peer, by a Unix socket in its folder that only its owner may open.

A request is one line of JSON, its replies are one line each; the last one has `is_over`, or `error`.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.sockets import private_unix_socket

from .messages import Contact
from .peer import Peer, SearchProgress
from .peer_folder import PeerFolder

SOCKET_FILE = "control"
MAX_QUERY_LENGTH = 4096  # characters of a query; the limit of a message
_MAX_LINE_LENGTH = 16 << 20  # bytes
_MAX_PATH_LENGTH = 100  # bytes of the path of a socket


class PeerRequest(Struct, frozen=True, omit_defaults=True):
    """A command to the peer."""

    do: Literal["search", "fetch", "show"]
    # Of `search`
    words: Annotated[str, Meta(max_length=MAX_QUERY_LENGTH)] = ""
    max_hits: Annotated[int, Meta(ge=1, le=100)] = msgspec.field(default=10, name="most")  # of each peer
    # Different hits at which the search stops
    sufficient_hits: Annotated[int, Meta(ge=1, le=10_000)] = msgspec.field(default=10, name="enough")
    timeout: Annotated[float, Meta(gt=0, le=60)] = msgspec.field(default=2.0, name="deadline")  # seconds
    # Of `fetch`
    provider: Contact | None = None
    url: str = ""


class PeerReply(Struct, frozen=True, omit_defaults=True):
    """One line of the answer to a request."""

    progress: SearchProgress | None = msgspec.field(default=None, name="searched")
    body: bytes | None = None  # of `fetch`: the page as a WARC record; None: not delivered
    status: JsonValue = msgspec.field(default=None, name="told")  # of `show`
    error: str = ""
    is_over: bool = False


async def answer_request(peer: Peer, request: PeerRequest) -> AsyncIterator[PeerReply]:
    """Executes a request of the user."""
    if request.do == "show":
        yield PeerReply(status=peer.status(), is_over=True)
    elif request.do == "fetch":
        body = await peer.fetch(request.provider, request.url) if request.provider is not None else None
        yield PeerReply(body=body, is_over=True)
    else:
        async for progress in peer.search(
            request.words, max_hits=request.max_hits, sufficient_hits=request.sufficient_hits, timeout=request.timeout
        ):
            yield PeerReply(progress=progress, is_over=progress.is_over)


class PeerControl:
    """The socket on which a peer takes requests of its owner."""

    def __init__(self, peer: Peer, folder: PeerFolder):
        self._peer = peer
        self._path = _socket_path(folder.path(SOCKET_FILE))
        self._server: asyncio.AbstractServer | None = None

    async def open(self) -> None:
        try:
            Path(self._path).unlink(missing_ok=True)  # left by a killed process; the running one holds the lock
            listener = private_unix_socket(self._path)
            self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=1 << 16)
        except OSError as error:
            raise CollectionError(
                f"cannot make the socket {self._path}: {error.strerror or error}; move the collection to a file system"
                " that has sockets"
            ) from error

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            Path(self._path).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            try:
                request = msgspec.json.decode(await reader.readline(), type=PeerRequest)
                async for reply in answer_request(self._peer, request):
                    writer.write(msgspec.json.encode(reply) + b"\n")
                    await writer.drain()
            except (msgspec.DecodeError, ValueError, LycosaError) as error:
                writer.write(msgspec.json.encode(PeerReply(error=str(error), is_over=True)) + b"\n")
            writer.close()
            await writer.wait_closed()


async def ask_running_peer(folder: PeerFolder, request: PeerRequest) -> AsyncIterator[PeerReply] | None:
    """The replies of the running peer of a collection; None if none is running."""
    try:
        if not _is_own_socket(folder.path(SOCKET_FILE)):
            return None
        path = _socket_path(folder.path(SOCKET_FILE))
        reader, writer = await asyncio.open_unix_connection(path, limit=_MAX_LINE_LENGTH)
    except (OSError, UsageError):
        return None
    return _read(reader, writer, request)


async def _read(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: PeerRequest
) -> AsyncIterator[PeerReply]:
    try:
        writer.write(msgspec.json.encode(request) + b"\n")
        while True:
            try:
                line = await reader.readline()
            except OSError:
                line = b""
            if not line:
                raise LycosaError("the peer that serves the collection has just ended; try again")
            try:
                reply = msgspec.json.decode(line, type=PeerReply)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise LycosaError(
                    "what serves the collection is no peer of this version; stop it and try again"
                ) from error
            if reply.error:
                raise LycosaError(f"the peer that serves the collection cannot do that: {reply.error}")
            yield reply
            if reply.is_over:
                return
    finally:
        writer.close()


def _is_own_socket(path: Path) -> bool:
    """Whether it is a socket of this user and not a link."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()


def _socket_path(path: Path) -> str:
    """A path of the socket that is short enough for the system."""
    for name in (str(path.absolute()), os.path.relpath(path)):
        if len(os.fsencode(name)) <= _MAX_PATH_LENGTH:
            return name
    raise UsageError(
        f"{path.parent.parent} has too long a path for a socket; run the command from a closer folder, or move it up"
    )
