"""Clocks: wall-clock time, or simulated time."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float: ...  # seconds since the epoch

    async def sleep_until(self, moment: float) -> None: ...


class WallClock:
    """The time of day, made monotonic: if the system clock is set back, time continues from where it was.

    Otherwise, everything that waits for a given time would wait longer by the same amount.
    """

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()  # seconds that the time of day is ahead of the monotonic clock

    def now(self) -> float:
        monotonic = time.monotonic()  # may stop while the machine is suspended; the time of day does not
        self._ahead = max(self._ahead, time.time() - monotonic)
        return monotonic + self._ahead

    async def sleep_until(self, moment: float) -> None:
        import asyncio  # imported late: most commands never wait, and it is 5 % of their start-up time

        await asyncio.sleep(max(0.0, moment - self.now()))


class SimulatedClock:
    """Time that advances only when somebody waits; waiting returns at once."""

    def __init__(self, start: float = 0.0):
        self._now = start

    def now(self) -> float:
        return self._now

    async def sleep_until(self, moment: float) -> None:
        self._now = max(self._now, moment)
