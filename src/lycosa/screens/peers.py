"""The peers of a collection and their search results, by running the commands of `lycosa peer`.

The neighbours of the collection's own peer are those to which it is linked in the network of peers; its buddies are
those that have answered well, and so are asked first.
"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from lycosa.run.trust import require_trust
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.text import printable

from .lines import Counted, without_paths

PEER_FOLDER = "peer"  # of a collection that is served among peers
MAX_HITS = 20
MAX_PEERS = 50
MAX_COUNTS = 30
_COMMAND_TIMEOUT = 30.0  # seconds for a command to end
_ANSWER_TIMEOUT = 5.0  # seconds for peers to answer
_MAX_OUTPUT_BYTES = 16 << 20

Text = Annotated[str, Meta(max_length=10_000)]
T = TypeVar("T")


class _Peer(Struct, frozen=True):
    name: Text
    address: Text = ""
    count: int = 0  # answers that a buddy has given
    is_down: bool = False


class _Status(Struct, frozen=True):
    name: Text
    address: Text = ""
    group: Text | None = None  # the private group of peers; None: open to anybody
    pages: int = 0  # number of pages that are shared
    buddies: list[_Peer] = []
    neighbours: list[_Peer] = []
    counts: dict[str, int] = {}  # of what the peer did, such as queries answered, by name
    is_running: bool = False


class _Hit(Struct, frozen=True):
    url: Text
    title: Text = ""
    snippet: Text = ""
    relevance: float | None = None
    at_home: bool = False
    is_checked: bool = True
    providers: list[list[Any]] = []  # peers that have the page: name and address of each


class _PeerResults(Struct, frozen=True):
    hits: list[_Hit] = []
    answered: list[Text] = []  # names of the peers that answered
    messages: int = 0  # number of messages, sent and received
    seconds: float = 0.0


class PeerLine(Struct, frozen=True):
    name: str
    address: str
    kind: str  # buddy, neighbour, or "buddy and neighbour"
    answers: int  # number of answers of a buddy; 0 for neighbours
    is_down: bool


class PeerHitLine(Struct, frozen=True):
    url: str
    title: str
    snippet: str
    relevance: float | None
    providers: list[str]  # names of the peers that have it
    at_home: bool  # whether the collection itself has the page
    is_checked: bool  # False if the claim of a stranger has not been verified


class PeersView(Struct, frozen=True):
    """The screen of the peers of a collection."""

    is_configured: bool
    is_running: bool = False
    name: str = ""
    address: str = ""
    group: str = ""  # empty: open to anybody
    pages: int = 0  # that are shared
    peers: list[PeerLine] = []
    counts: list[Counted] = []  # of what the peer did, such as queries answered
    problem: str = ""
    query: str = ""
    hits: list[PeerHitLine] | None = None  # None where nothing was asked
    answered: list[str] = []  # names of the peers that answered
    messages: int = 0  # number of messages, sent and received
    seconds: float = 0.0


def is_configured(folder: Path) -> bool:
    """Whether a collection has been served to peers."""
    path = folder / PEER_FOLDER
    return path.is_dir() and not path.is_symlink()


def peers_view(folder: Path, query: str = "") -> PeersView:
    """The peers that a collection's peer knows, and their results for a query."""
    if not is_configured(folder):
        return PeersView(is_configured=False)
    require_trust(folder)
    try:
        status = _run_command(folder, _Status, "show", str(folder), "--json")
    except LycosaError as error:
        return PeersView(is_configured=True, problem=without_paths(str(error), folder))
    found = None
    if query.strip():
        if not status.is_running:
            raise UsageError("no peer of the collection runs; start it with: lycosa peer serve")
        arguments = (
            "search",
            "--json",
            "--deadline",
            f"{_ANSWER_TIMEOUT:g}",
            "--limit",
            str(MAX_HITS),
            "--",
            str(folder),
            query,
        )
        found = _run_command(folder, _PeerResults, *arguments)
    return PeersView(
        is_configured=True,
        is_running=status.is_running,
        name=printable(status.name, 80),
        address=printable(status.address, 100),
        group=printable(status.group or "", 80),
        pages=status.pages,
        peers=_lines(status),
        counts=[
            Counted(printable(name.replace("_", " "), 60), count)
            for name, count in list(status.counts.items())[:MAX_COUNTS]
        ],
        query=query,
        hits=None if found is None else [_hit(hit) for hit in found.hits[:MAX_HITS]],
        answered=[] if found is None else [printable(name, 80) for name in found.answered[:MAX_PEERS]],
        messages=0 if found is None else found.messages,
        seconds=0.0 if found is None else found.seconds,
    )


def _lines(status: _Status) -> list[PeerLine]:
    """The buddies, then the other neighbours."""
    buddies = {each.name: each for each in status.buddies[:MAX_PEERS]}
    neighbours = {each.name: each for each in status.neighbours[:MAX_PEERS]}
    lines = []
    for name in {**buddies, **neighbours}:
        known = {kind: all_[name] for kind, all_ in (("buddy", buddies), ("neighbour", neighbours)) if name in all_}
        lines.append(
            PeerLine(
                name=printable(name, 80),
                address=printable(next((each.address for each in known.values() if each.address), ""), 100),
                kind=" and ".join(known),
                answers=sum(each.count for each in known.values()),
                is_down=any(each.is_down for each in known.values()),
            )
        )
    return lines


def _hit(hit: _Hit) -> PeerHitLine:
    return PeerHitLine(
        url=printable(hit.url, 2_000),
        title=printable(hit.title),
        snippet=printable(hit.snippet, 500),
        relevance=hit.relevance,
        providers=[printable(str(each[0]), 80) for each in hit.providers[:5] if each],
        at_home=hit.at_home,
        is_checked=hit.is_checked,
    )


def _run_command(folder: Path, output_type: type[T], *arguments: str) -> T:
    """The JSON output of a command of `lycosa peer`; raises LycosaError with its error message."""
    command = [sys.executable, "-P", "-m", "lycosa", "peer", *arguments]
    try:
        completed = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COMMAND_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise LycosaError("the peer of the collection does not answer; try again") from None
    if completed.returncode:
        lines = completed.stderr[-10_000:].decode("utf-8", "replace").strip().splitlines()
        raise LycosaError(without_paths(lines[-1].removeprefix("lycosa: "), folder) if lines else "the peer failed")
    try:
        return msgspec.json.decode(completed.stdout[:_MAX_OUTPUT_BYTES], type=output_type)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LycosaError("the peer of the collection is of another version; restart it") from None
