"""A web with bad days."""

from random import Random

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.web.robots import TextWeb


class FlakyWeb:
    """Loses a share of the requests on their way; the rest go through."""

    def __init__(self, web: TextWeb, *, failure_rate: float, random: Random, clock: Clock):
        self._web = web
        self._failure_rate = failure_rate  # 0 to 1
        self._random = random
        self._clock = clock

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return self._lost(url) or await self._web.fetch(url, known=known)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        return self._lost(url) or await self._web.fetch_any_type(url, limit=limit)

    async def close(self) -> None:
        await self._web.close()

    def _lost(self, url: Url) -> Fetch | None:
        if self._random.random() >= self._failure_rate:
            return None
        return Fetch(url, Outcome.FAILED, self._clock.now(), detail="lost on the way, as this web does")
