"""How much of a peer's time one other may take.

All connections are served in turn on one event loop, so whoever asks much makes others wait. A turn is short, and who
has used more than their share of the time waits for the next one; what they send meanwhile waits with them.
"""

from collections import OrderedDict

from .manners import MOST_PEERS
from .messages import PeerName

SHARE = 0.25  # of the time, that may be spent on one peer
AT_ONCE = 0.5  # seconds of it that one who asked little before may take at once


class Turns:
    """Counts the time that was spent on each of many peers, the last ones.

    >>> turns = Turns()
    >>> turns.spent("anna", 0.5, now=10.0)
    >>> turns.wait("anna", now=10.0)
    0.0
    >>> turns.spent("anna", 0.125, now=10.0)
    >>> turns.wait("anna", now=10.0), turns.wait("bert", now=10.0)
    (0.5, 0.0)
    """

    def __init__(self) -> None:
        self._free_at: OrderedDict[PeerName, float] = OrderedDict()  # when all that was spent is within the share

    def spent(self, peer: PeerName, seconds: float, now: float) -> None:
        self._free_at[peer] = max(self._free_at.get(peer, now), now) + seconds / SHARE
        self._free_at.move_to_end(peer)
        while len(self._free_at) > MOST_PEERS:
            self._free_at.popitem(last=False)

    def wait(self, peer: PeerName, now: float) -> float:
        """Seconds until the peer has its next turn."""
        return max(0.0, self._free_at.get(peer, now) - now - AT_ONCE / SHARE)
