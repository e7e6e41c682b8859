"""Pages that were asked for and have not come yet."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from .messages import Fetched


class _Awaited(Struct, frozen=True):
    provider: str
    url: str
    body: "asyncio.Future[bytes | None]"


class Fetches:
    """verify: whether what came is a page at that URL."""

    def __init__(self, verify: Callable[[str, bytes], bool]):
        self._verify = verify
        self._awaited: dict[int, _Awaited] = {}

    async def awaited(
        self, number: int, provider: str, url: str, *, seconds: float, begin: Callable[[], None]
    ) -> bytes | None:
        """What the provider sends for a URL, once it was asked; None where it is none, or does not come in time."""
        future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._awaited[number] = _Awaited(provider, url, future)
        begin()
        try:
            return await asyncio.wait_for(future, seconds)
        except TimeoutError:
            return None
        finally:
            del self._awaited[number]

    def came(self, sender: str, fetched: Fetched) -> None:
        """Takes what was asked of this sender, and nothing else."""
        awaited = self._awaited.get(fetched.id)
        if awaited is None or (awaited.provider, awaited.url) != (sender, fetched.item) or awaited.body.done():
            return
        is_good = fetched.body is not None and self._verify(awaited.url, fetched.body)
        awaited.body.set_result(fetched.body if is_good else None)

    def failed(self, number: int) -> None:
        awaited = self._awaited.get(number)
        if awaited is not None and not awaited.body.done():
            awaited.body.set_result(None)
