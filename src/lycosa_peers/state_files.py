"""The state of a node in the files of its peer."""

import msgspec
from msgspec.structs import replace

from .buddies import HeldState
from .node import Node
from .peer_folder import PeerFolder
from .state import SavedState

STATE_FILE, INDEXES_FILE = "state.json", "indexes"
_EMPTY = msgspec.msgpack.encode({})


class StateFiles:
    """Buddies and neighbours in one file, the indexes of buddies in another, which is large and changes seldom."""

    def __init__(self, folder: PeerFolder):
        self._folder = folder
        self._saved: SavedState | None = None
        self._saved_versions: dict[str, int] = {}

    def save(self, node: Node) -> None:
        """Writes the changes since the last time."""
        contacts = node.saved_contacts()
        if contacts != self._saved:
            self._folder.write_json(STATE_FILE, contacts)
            self._saved = contacts
        versions = {name: held.version for name in node.held.names() if (held := node.held.get(name)) is not None}
        if versions != self._saved_versions:
            self._folder.write(INDEXES_FILE, msgspec.msgpack.encode(node.held.state()))
            self._saved_versions = versions

    def restore(self, node: Node) -> list[str]:
        """Restores a node; returns the unreadable files, which are ignored."""
        unreadable: list[str] = []
        contacts, held = SavedState(), HeldState()
        try:
            contacts = msgspec.json.decode(self._folder.read(STATE_FILE) or b"{}", type=SavedState)
        except ValueError:  # from msgspec, or not valid text
            unreadable.append(STATE_FILE)
        try:
            held = msgspec.msgpack.decode(self._folder.read(INDEXES_FILE) or _EMPTY, type=HeldState)
        except ValueError:
            unreadable.append(INDEXES_FILE)
        node.restore(msgspec.to_builtins(replace(contacts, held=held)))
        return unreadable
