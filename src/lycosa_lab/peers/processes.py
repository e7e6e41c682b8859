"""Peers in processes of their own on loopback, started as by `lycosa peer serve`, with a limited lifetime."""

import asyncio
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from lycosa.vocabulary.errors import LycosaError
from lycosa_peers.control import PeerReply, PeerRequest, ask_running_peer
from lycosa_peers.identity import Group
from lycosa_peers.peer import SearchProgress
from lycosa_peers.peer_folder import PeerFolder

HOST = "127.0.0.1"
MAX_LIFETIME = 600  # seconds, after which a process ends by itself
END_SECONDS = 10.0
_PROGRAM = "import signal, sys; signal.alarm(int(sys.argv.pop(1))); from lycosa.cli import main; main()"


class LoopbackUnavailableError(LycosaError):
    """This machine gives no sockets on loopback, or no processes: peers cannot be run on it."""


class PeerProcessError(LycosaError):
    """The process of a peer failed."""


def free_addresses(count: int) -> list[str]:
    """Free addresses on loopback."""
    try:
        with ExitStack() as stack:
            sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
            for each in sockets:
                each.bind((HOST, 0))
            return [f"{HOST}:{each.getsockname()[1]}" for each in sockets]
    except OSError as error:
        raise LoopbackUnavailableError(f"no sockets on loopback: {error.strerror}") from error


class PeerProcesses:
    """A context manager that serves collections at addresses, one process each."""

    def __init__(self, folders: Sequence[Path], addresses: Sequence[str]):
        self._served = list(zip(folders, addresses, strict=True))
        self._folders = [PeerFolder(folder) for folder in folders]
        self._running: list[subprocess.Popen[str]] = []
        # Of a closed group, whose members trust each other.
        self._secret_folder = TemporaryDirectory(prefix="lycosa-group-")

    def __enter__(self) -> "PeerProcesses":
        try:
            secret = Path(self._secret_folder.name) / "secret"
            secret.write_text(Group.new().secret + "\n", encoding="ascii")
            for folder, address in self._served:
                self._running.append(_start(folder, address, secret))  # one by one: `_end` ends those before a failure
            for process in self._running:
                assert process.stdout is not None
                if " serves " not in process.stdout.readline():
                    raise PeerProcessError(f"a peer did not start: {_kill_and_read_last_line(process)}")
        except OSError as error:
            self._end()
            raise LoopbackUnavailableError(f"cannot start peers: {error.strerror}") from error
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            try:
                process.communicate(timeout=END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self._running.clear()
        self._secret_folder.cleanup()

    async def search(self, peer: int, words: str, *, limit: int, timeout: float) -> SearchProgress:
        """The final state of a search for `limit` hits."""
        request = PeerRequest("search", words, max_hits=limit, sufficient_hits=limit, timeout=timeout)
        searched = [reply.progress for reply in await self._replies(peer, request) if reply.progress is not None]
        if not searched:
            raise PeerProcessError(f"a peer ended before its search for {words!r} did")
        return searched[-1]

    async def counts(self) -> Counter[str]:
        """The sum of the counts of all peers."""
        replies = await asyncio.gather(
            *(self._replies(peer, PeerRequest("show")) for peer in range(len(self._folders)))
        )
        if not all(replies):
            raise PeerProcessError("a peer ended before it showed its counts")
        return sum((Counter(each[-1].status["counts"]) for each in replies), Counter[str]())

    async def _replies(self, peer: int, request: PeerRequest) -> list[PeerReply]:
        replies = await ask_running_peer(self._folders[peer], request)
        if replies is None:
            raise PeerProcessError("a peer ended before it was asked")
        return [reply async for reply in replies]


def _start(folder: Path, address: str, secret: Path) -> subprocess.Popen[str]:
    arguments = (
        "peer",
        "serve",
        str(folder),
        "--listen",
        address,
        "--group",
        str(secret),
        "--allow-private",
        "--quiet",
    )
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(MAX_LIFETIME), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _kill_and_read_last_line(process: subprocess.Popen[str]) -> str:
    process.kill()
    lines = process.communicate()[1].strip().splitlines()
    return lines[-1] if lines else f"it ended with {process.returncode}"
