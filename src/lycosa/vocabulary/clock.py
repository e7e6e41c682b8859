"""Where time comes from: the wall, or a simulation."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float: ...  # seconds since the epoch

    async def sleep_until(self, moment: float) -> None: ...


class WallClock:
    def now(self) -> float:
        return time.time()

    async def sleep_until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - time.time()))


class SimulatedClock:
    """Time passes only when somebody waits; waiting costs nothing."""

    def __init__(self, start: float = 0.0):
        self._now = start

    def now(self) -> float:
        return self._now

    async def sleep_until(self, moment: float) -> None:
        self._now = max(self._now, moment)
