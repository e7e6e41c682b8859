"""A web of which some pages were fetched before."""

from lycosa.vocabulary.records import Fetch, PastFetch, Url

from .robots import TextWeb


class PrefetchedWeb:
    """Answers each prefetched URL once from memory, without a request; everything else goes to the wrapped web."""

    def __init__(self, web: TextWeb, fetches: dict[Url, Fetch]):
        self._web = web
        self._fetches = fetches  # shrinks as they are given out

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return self._fetches.pop(url, None) or await self._web.fetch(url, known=known)

    async def fetch_text(self, url: Url, *, limit: int = 512_000) -> Fetch:
        return await self._web.fetch_text(url, limit=limit)

    async def close(self) -> None:
        await self._web.close()
