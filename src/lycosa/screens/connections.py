"""The connections of the server: bounded in number and time, so that those who hold many keep nobody else out.

A connection is in use while it has a request that access control has admitted. All others may be closed: after some
seconds, and sooner if there are too many. A connection on which a response is not read is closed, too; and of anonymous
readers, whom published screens admit, a network that has the most connections gives way to others.
"""

import asyncio
from collections import Counter

from uvicorn.protocols.http.h11_impl import H11Protocol

from lycosa.vocabulary.networks import network_of

from .access_control import ADMITTED, ANONYMOUS

MAX_CONNECTIONS = 128
SECONDS = 15.0  # for a whole request, from the beginning of the connection or the end of the response before
STALL_SECONDS = 30.0  # in which some of a response must be read: about 48 KB, what uvicorn lets wait before it goes on


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 on one connection."""

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None  # runs while a response is longer than what is read of it
    _unsent = 0  # bytes of the last response at the last deadline
    since = 0.0  # when the connection was made, or the last response was complete, by the clock of the loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > MAX_CONNECTIONS:
            _one_to_close([each for each in self.connections if isinstance(each, BoundedProtocol)], self).abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._stall = self.loop.call_later(STALL_SECONDS, self.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
        super().resume_writing()

    def on_response_complete(self) -> None:
        self._wait_for_request()
        super().on_response_complete()

    @property
    def is_in_use(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and ADMITTED in self.cycle.scope

    @property
    def is_anonymous(self) -> bool:
        """Whether its request was admitted without a secret."""
        return self.is_in_use and self.cycle.scope.get(ADMITTED) == ANONYMOUS

    @property
    def network(self) -> str:
        """The IPv6 network of the other side, or its IPv4 address."""
        return network_of(self.client[0]) if self.client else ""

    def abort(self) -> None:
        """Closes the connection at once, even if a response was not read."""
        self.transport.abort()

    def _wait_for_request(self) -> None:
        self.since = self.loop.time()
        self._unsent = 0
        self._set_deadline()

    def _set_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(SECONDS, self._end_if_idle)

    def _end_if_idle(self) -> None:
        if self.is_in_use:
            return  # the end of the response sets the next deadline
        unsent = self.transport.get_write_buffer_size()
        if unsent and (not self._unsent or unsent < self._unsent):  # a response that is still being read
            self._unsent = unsent
            self._set_deadline()
        else:
            self.abort()


def _one_to_close(connections: list[BoundedProtocol], newest: BoundedProtocol) -> BoundedProtocol:
    """The connection to close: of the network with most that are not in use, the oldest of these. If all are in use, of
    the network with most anonymous ones, if it has more than the newest one's."""
    others = [each for each in connections if each is not newest]
    idle = [each for each in others if not each.is_in_use]
    candidates = idle or [each for each in others if each.is_anonymous]
    counts = Counter(each.network for each in candidates)
    if not idle:
        candidates = [each for each in candidates if counts[each.network] > counts[newest.network] + 1]
    return min(candidates, key=lambda each: (-counts[each.network], each.since), default=newest)
