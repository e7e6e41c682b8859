"""Where time comes from: the wall, or a simulation."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float: ...  # seconds since the epoch

    async def sleep_until(self, moment: float) -> None: ...


class WallClock:
    """The time of day, which never goes back: where somebody sets the clock back, time passes on from where it was.

    What waits until a moment would else wait for as much longer.
    """

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()  # seconds, of the clock that nobody sets

    def now(self) -> float:
        passed = time.monotonic()  # stands still while the machine sleeps: the time of day does not
        self._ahead = max(self._ahead, time.time() - passed)
        return passed + self._ahead

    async def sleep_until(self, moment: float) -> None:
        import asyncio  # here, as most commands wait for nothing, and it takes a twentieth of their start

        await asyncio.sleep(max(0.0, moment - self.now()))


class SimulatedClock:
    """Time passes only when somebody waits; waiting costs nothing."""

    def __init__(self, start: float = 0.0):
        self._now = start

    def now(self) -> float:
        return self._now

    async def sleep_until(self, moment: float) -> None:
        self._now = max(self._now, moment)
