"""What a peer knows of others, kept between its runs."""

import msgspec
from msgspec.structs import replace

from .buddies import HeldState
from .keeping import Kept
from .node import Node, NodeState

STATE_FILE, INDEXES_FILE = "state.json", "indexes"


class Memory:
    """Buddies and neighbours in one file, the indexes of buddies in another, which is large and changes seldom."""

    def __init__(self, kept: Kept):
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

    def restore(self, node: Node) -> bool:
        """Gives a node what was kept; False where that cannot be read."""
        state, indexes = self._kept.bytes_of(STATE_FILE), self._kept.bytes_of(INDEXES_FILE)
        try:
            known = msgspec.json.decode(state, type=NodeState) if state else NodeState()
            held = msgspec.msgpack.decode(indexes, type=HeldState) if indexes else HeldState()
            node.restore(msgspec.to_builtins(replace(known, held=held)))
        except (ValueError, TypeError):  # of msgspec, or of a summary
            return False
        return True
