"""Commands to a running crawl, by a Unix socket in its folder that only the owner may open.

Where Unix sockets are not available, or the path is too long for one, a port on the loopback address is used instead,
with a token. Both are kept among the user's own files, since a collection could bring an address of its own. A
connection carries one request and one reply, each a line of JSON.
"""

import asyncio
import hashlib
import hmac
import os
import secrets
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lycosa.recipe import load_recipe
from lycosa.user_config import data_folder
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import atomic_write, read_regular_file
from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.sockets import private_unix_socket
from lycosa.vocabulary.text import counted, quoted

from . import steering, upkeep
from .run_settings import Notify
from .session import Session
from .topic_training import LearntLabels, TopicTrainer
from .upkeep import require_learning

SOCKET_FILE = "control.sock"
MAX_LABELS = 10_000  # at once
_MAX_LINE = 32 << 20  # bytes: MAX_LABELS labels with URLs of 2 000 characters
_MAX_PATH = 100  # bytes of the path of a socket
_MAX_CONNECTIONS = 8  # that have sent no request; for a further one, the oldest is closed
_REQUEST_TIMEOUT = 10.0  # seconds
_REPLY_TIMEOUT = 300.0  # seconds
_SAVED_AT_ONCE = ("pause", "block", "boost", "drop", "undo")  # requests after which the folder has what the crawl shows

Text = Annotated[str, Meta(max_length=2_100)]


class CrawlRequest(Struct, frozen=True, omit_defaults=True):
    """A command to a crawl."""

    do: Literal["label", "learn", "pause", "resume", "budget", "block", "boost", "drop", "undo", "status", "stop"]
    labels: Annotated[dict[Text, bool], Meta(max_length=MAX_LABELS)] = {}  # by URL: whether the page is on the topic
    what: Text = ""  # host, URL or pattern to block, to boost or to drop
    pages: Annotated[int, Meta(ge=1, le=10**12)] | None = None  # the new page budget
    token: Text = ""


class CrawlReply(Struct, frozen=True, omit_defaults=True):
    """The reply of the crawl."""

    error: str = ""
    learnt: LearntLabels | None = None  # what training with the new labels gave
    undone: str = ""  # the command that was undone
    dropped: int = 0  # number of URLs that were dropped
    status: JsonValue = None


class _Address(Struct, frozen=True):
    port: Annotated[int, Meta(ge=1, le=65_535)]
    token: str


class ControlServer:
    """Accepts requests of the owner of the crawl that runs in a folder.

    answer: executes a request; a LycosaError becomes the error of the reply.
    """

    def __init__(self, folder: Path, answer: Callable[[CrawlRequest], CrawlReply]):
        self._folder = folder
        self._answer = answer
        self._server: asyncio.AbstractServer | None = None
        self._token = ""
        self._waiting: dict[asyncio.StreamWriter, None] = {}  # connections without a request, the oldest first

    async def open(self) -> None:
        """Starts to listen; if the system allows neither a socket nor a port, the crawl runs without control."""
        folder = self._folder
        await self.close()  # removes what a killed process left behind; we hold the lock of the collection
        path = _socket_path(folder)
        with suppress(OSError, UsageError):  # also where the user has no home folder
            if path is not None:
                listener = private_unix_socket(path)
                self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=_MAX_LINE)
            else:
                self._token = secrets.token_urlsafe(32)
                self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MAX_LINE)
                port = self._server.sockets[0].getsockname()[1]
                address_file(folder).parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(address_file(folder), private=True) as file:
                    file.write(msgspec.json.encode(_Address(port, self._token)))

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        with suppress(OSError):
            (self._folder / SOCKET_FILE).unlink(missing_ok=True)
        with suppress(OSError, UsageError):
            address_file(self._folder).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._waiting[writer] = None
        if len(self._waiting) > _MAX_CONNECTIONS:  # on a port, of other users of the machine, who have no token
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.abort()
        with suppress(OSError, asyncio.CancelledError):
            writer.write(msgspec.json.encode(await self._receive_and_execute(reader, writer)) + b"\n")
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async def _receive_and_execute(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> CrawlReply:
        try:
            try:
                line = await asyncio.wait_for(reader.readline(), _REQUEST_TIMEOUT)
            finally:
                self._waiting.pop(writer, None)
            request = msgspec.json.decode(line, type=CrawlRequest)
            if self._token and not hmac.compare_digest(request.token.encode(), self._token.encode()):
                return CrawlReply(error="the token is wrong")
            return self._answer(request)
        except TimeoutError:
            return CrawlReply(error="no request came")
        except (msgspec.DecodeError, ValueError) as error:
            return CrawlReply(error=f"not a request: {error}")
        except LycosaError as error:
            return CrawlReply(error=str(error))


class CrawlControl(ControlServer):
    """Executes requests between two steps of a crawl.

    may_save: whether the collection may be saved before the crawl ends.
    """

    def __init__(self, session: Session, trainer: TopicTrainer, *, may_save: bool = True):
        super().__init__(session.folder, self.answer)
        self._session = session
        self._trainer = trainer
        self._may_save = may_save

    def answer(self, request: CrawlRequest) -> CrawlReply:
        """Executes a request."""
        session, status = self._session, self._session.status
        reply = CrawlReply()
        match request.do:
            case "label":
                require_learning(session.folder, session.recipe)
                steering.label(
                    session.folder, {steering.checked_url(url): good for url, good in request.labels.items()}
                )
                reply = CrawlReply(learnt=self._learn("pages were labelled"))
            case "learn":
                require_learning(session.folder, session.recipe)
                reply = CrawlReply(learnt=self._learn("pages were labelled"))
            case "pause":
                status.pause()
            case "resume":
                status.resume()
            case "stop":
                status.interrupt()
            case "budget":
                if request.pages is None:
                    raise UsageError("say how many pages the collection is to have")
                status.set_page_budget(request.pages)
            case "block":
                steering.block(session.folder, request.what)
            case "boost":
                steering.boost(session.folder, request.what)
            case "drop":
                reply = CrawlReply(dropped=session.state.drop(request.what))
            case "undo":
                command = steering.undo(session.folder)
                if command is None:
                    raise UsageError("there is nothing to undo")
                learnt = self._learn("labels were taken back") if command.action == "label" else None
                reply = CrawlReply(undone=str(command), learnt=learnt)
            case "status":
                return CrawlReply(status=self._status())  # asked every second by open screens; it changes nothing
        session.state.apply_steering()
        if self._may_save and request.do in _SAVED_AT_ONCE:
            session.checkpoint()
        status.woken.set()
        return reply

    def _learn(self, reason: str) -> LearntLabels:
        """Trains with the labels; where nothing may be saved, which is part of it, the next crawl does."""
        return self._trainer.learn_labels(reason) if self._may_save else LearntLabels(None, 0)

    def _status(self) -> JsonValue:
        session, status = self._session, self._session.status
        return {
            "pages": status.pages,
            "relevant": status.relevant,
            "waiting": len(session.frontier),
            "paused": status.is_paused,
            "budget": status.page_budget or session.recipe.stop.pages,
            "requests": status.fetch_counts.requests,
            # Hosts that get no request for some time, because they asked for it or failed.
            "holds": len(session.frontier.resting_beyond(session.clock.now())),
        }


def ask(folder: Path, request: CrawlRequest, *, timeout: float = _REPLY_TIMEOUT) -> CrawlReply | None:
    """Sends a request to the crawl that runs in a folder; None if none does. Raises UsageError for a refused request.

    timeout: in seconds.
    """
    for connect in (_connect_by_socket, _connect_by_port):
        connected = connect(folder)
        if connected is not None:
            connection, token = connected
            with connection:
                return _send_and_receive(connection, msgspec.structs.replace(request, token=token), timeout)
    return None


def execute_command(folder: Path, request: CrawlRequest, *, notify: Notify) -> CrawlReply | None:
    """Sends a request to the crawl that runs in a folder. If none does, `block`, `boost`, `drop` and `undo` are
    recorded for the next crawl and None is returned; other requests raise.
    """
    reply = ask(folder, request)
    if reply is not None:
        return reply
    if request.do in ("block", "boost"):
        with Session(folder, load_recipe(folder), clock=WallClock(), notify=notify, rerank=False) as session:
            (steering.block if request.do == "block" else steering.boost)(folder, request.what)
            session.state.apply_steering()
        return None
    if request.do == "drop":
        with Session(folder, load_recipe(folder), clock=WallClock(), notify=notify, rerank=False) as session:
            dropped = session.state.drop(request.what)
        notify(drop_in_words(dropped))
        return None
    if request.do == "undo":
        command = upkeep.undo(folder, clock=WallClock(), notify=notify)
        if command is None:
            raise UsageError("there is nothing to undo")
        notify(f"Undone: {command}.")
        return None
    raise LycosaError(f"no crawl of {folder} is running; start one with: lycosa crawl {quoted(folder)}")


def drop_in_words(dropped: int) -> str:
    return f"Dropped: {counted(dropped, 'waiting URL')}." if dropped else "Nothing that this names waits."


def label_pages(folder: Path, labels: Mapping[Url, bool], *, notify: Notify) -> LearntLabels:
    """Labels pages, through the running crawl if there is one; without labels, learns from those in the file."""
    learnt = label_in_crawl(folder, labels)
    return upkeep.label(folder, dict(labels), clock=WallClock(), notify=notify) if learnt is None else learnt


def label_in_crawl(folder: Path, labels: Mapping[Url, bool]) -> LearntLabels | None:
    """Like `label_pages`, but None if no crawl runs."""
    labels_by_url = {str(url): good for url, good in labels.items()}
    reply = ask(folder, CrawlRequest("label", labels=labels_by_url) if labels else CrawlRequest("learn"))
    return None if reply is None else reply.learnt


def _send_and_receive(connection: socket.socket, request: CrawlRequest, timeout: float) -> CrawlReply:
    try:
        connection.settimeout(timeout)
        connection.sendall(msgspec.json.encode(request) + b"\n")
        with connection.makefile("rb") as file:
            line = file.readline(_MAX_LINE)
        reply = msgspec.json.decode(line, type=CrawlReply)
    except TimeoutError:
        raise LycosaError("the crawl that runs here does not answer; try again") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise LycosaError("the crawl that ran here has just ended; try again") from None
    if reply.error:
        raise UsageError(reply.error)
    return reply


def _connect_by_socket(folder: Path) -> tuple[socket.socket, str] | None:
    path = _socket_path(folder)
    if path is None or not _is_own_socket(folder / SOCKET_FILE):
        return None
    return _connect(socket.AF_UNIX, path, "")


def _is_own_socket(path: Path) -> bool:
    """Whether it is a socket of this user and not a link, which an untrusted collection may contain."""
    try:
        file_status = path.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(file_status.st_mode) and file_status.st_uid == os.getuid()


def _connect_by_port(folder: Path) -> tuple[socket.socket, str] | None:
    if _socket_path(folder) is not None:
        return None  # here, a crawl would use a socket
    try:
        address = msgspec.json.decode(read_regular_file(address_file(folder), 1_000), type=_Address)
    except (OSError, UsageError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return _connect(socket.AF_INET, ("127.0.0.1", address.port), address.token)


def _connect(
    family: socket.AddressFamily, address: str | tuple[str, int], token: str
) -> tuple[socket.socket, str] | None:
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.connect(address)
    except OSError:  # left behind by a killed process
        connection.close()
        return None
    return connection, token


def address_file(folder: Path) -> Path:
    """The file with the port and the token of a crawl that has no socket."""
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    return data_folder() / "crawls" / f"{name}.json"


def _socket_path(folder: Path) -> str | None:
    """A path of the socket that is short enough for the system, if there is one."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    path = folder / SOCKET_FILE
    for name in (str(path.absolute()), os.path.relpath(path)):
        if len(os.fsencode(name)) <= _MAX_PATH:
            return name
    return None
