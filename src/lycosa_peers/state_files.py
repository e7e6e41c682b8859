"""The state of a node in the files of its peer.

A checkpoint is a moment at which the node requests the indexes that it wants to hold (`HeldIndexes`); nothing is saved
then.
"""

import msgspec
from msgspec.structs import replace

from .buddies import SavedIndexes
from .node import Node
from .peer_folder import PeerFolder
from .state import SavedState

STATE_FILE, INDEXES_FILE = "state.json", "indexes"
_EMPTY = msgspec.msgpack.encode({})


class StateFiles:
    """The state of a node in one file; the indexes that it holds in another, which is large and changes seldom.

    Which indexes were wanted at the last checkpoint, and the number of checkpoints, are in both: they change without
    the indexes, so those of the first file are the newer ones, except in folders of older versions.
    """

    def __init__(self, folder: PeerFolder):
        self._folder = folder
        self._saved: SavedState | None = None  # without indexes; None: unknown
        self._saved_versions: dict[str, int] | None = None  # of the indexes in the file; None: unknown, or unreadable

    def save(self, node: Node) -> None:
        """Writes the state if it differs from that of the last `save`, always at the first; writes the indexes if their
        versions differ from those written or restored."""
        state = node.state_without_indexes()
        if state != self._saved:
            self._folder.write_json(STATE_FILE, state)
            self._saved = state
        summaries = ((name, node.held.get(name)) for name in node.held.names())
        versions = {name: summary.version for name, summary in summaries if summary is not None}
        if versions != self._saved_versions:
            self._folder.write(INDEXES_FILE, msgspec.msgpack.encode(node.held.state()))
            self._saved_versions = versions

    def restore(self, node: Node) -> list[str]:
        """Restores a node; returns the unreadable files, which are ignored, and replaced by the next `save`."""
        unreadable: list[str] = []
        state, saved_indexes = SavedState(), SavedIndexes()
        self._saved_versions = None
        try:
            state = msgspec.json.decode(self._folder.read(STATE_FILE) or b"{}", type=SavedState)
        except ValueError:  # from msgspec, or not valid text
            unreadable.append(STATE_FILE)
        try:
            saved_indexes = msgspec.msgpack.decode(self._folder.read(INDEXES_FILE) or _EMPTY, type=SavedIndexes)
            self._saved_versions = {name: version for name, (version, _) in saved_indexes.held.items()}
        except ValueError:
            unreadable.append(INDEXES_FILE)
        newer = max(state.held, saved_indexes, key=lambda each: each.checkpoints)
        saved_indexes = replace(saved_indexes, wanted=newer.wanted, checkpoints=newer.checkpoints)
        node.restore(msgspec.to_builtins(replace(state, held=saved_indexes)))
        return unreadable
