"""What a peer knows of others, kept between its runs."""

import msgspec
from msgspec.structs import replace

from .buddies import HeldState
from .node import Node, NodeState
from .peer_folder import PeerFolder

STATE_FILE, INDEXES_FILE = "state.json", "indexes"
_NOTHING = msgspec.msgpack.encode({})


class StateFiles:
    """Buddies and neighbours in one file, the indexes of buddies in another, which is large and changes seldom."""

    def __init__(self, kept: PeerFolder):
        self._kept = kept
        self._saved: NodeState | None = None
        self._saved_versions: dict[str, int] = {}

    def save(self, node: Node) -> None:
        """Keeps what a node knows, if anything has changed."""
        known = node.remembered()
        if known != self._saved:
            self._kept.keep(STATE_FILE, known)
            self._saved = known
        versions = {name: held.version for name in node.held.names() if (held := node.held.get(name)) is not None}
        if versions != self._saved_versions:
            self._kept.keep_bytes(INDEXES_FILE, msgspec.msgpack.encode(node.held.state()))
            self._saved_versions = versions

    def restore(self, node: Node) -> list[str]:
        """Gives a node what was kept; returns the files that cannot be read, which the node does without."""
        illegible: list[str] = []
        known, held = NodeState(), HeldState()
        try:
            known = msgspec.json.decode(self._kept.bytes_of(STATE_FILE) or b"{}", type=NodeState)
        except ValueError:  # of msgspec, or bytes that are no text
            illegible.append(STATE_FILE)
        try:
            held = msgspec.msgpack.decode(self._kept.bytes_of(INDEXES_FILE) or _NOTHING, type=HeldState)
        except ValueError:
            illegible.append(INDEXES_FILE)
        node.restore(msgspec.to_builtins(replace(known, held=held)))
        return illegible
