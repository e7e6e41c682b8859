"""Worlds of peers: who is whose neighbour, who has what, who likes what, and who asked whom for what."""

from .lastfm import Lastfm
from .made_up import FileSharing
from .network import PeerNetwork
from .sharing import Rows, Sharing, Trace, distinct_rows, rows_of

__all__ = ["FileSharing", "Lastfm", "PeerNetwork", "Rows", "Sharing", "Trace", "distinct_rows", "rows_of"]
