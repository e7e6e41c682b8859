"""The connections of the server: bounded in number and time, so that those who hold many keep nobody else out.

A connection is in use while it has a request that access control has admitted. All others may be closed: after some
seconds, and sooner if there are too many.
"""

import asyncio
from collections import Counter

from uvicorn.protocols.http.h11_impl import H11Protocol

from .access_control import ADMITTED

MAX_CONNECTIONS = 128
SECONDS = 15.0  # for a whole request, from the beginning of the connection or the end of the response before


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 on one connection."""

    _deadline: asyncio.TimerHandle | None = None
    _unsent = 0  # bytes of the last response at the last deadline
    since = 0.0  # when the connection was made, or the last response was complete, by the clock of the loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > MAX_CONNECTIONS:
            _one_to_close([each for each in self.connections if isinstance(each, BoundedProtocol)], self).abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._wait_for_request()
        super().on_response_complete()

    @property
    def is_in_use(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and ADMITTED in self.cycle.scope

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
    """The connection to close: of the address with most that are not in use, the oldest of these."""
    idle = [each for each in connections if not each.is_in_use and each is not newest]
    if not idle:
        return newest
    address_of = {each: each.client[0] if each.client else "" for each in idle}
    counts = Counter(address_of.values())
    return min(idle, key=lambda each: (-counts[address_of[each]], each.since))
