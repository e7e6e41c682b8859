"""Sets of URLs as 64-bit keys, their hashes, in a quarter of the memory of the URLs."""

from collections.abc import Iterable

from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.urls import secure_key_of


class SettledUrls:
    """URLs that were visited or rejected. Only the rejected ones are saved, since the collection knows the others.

    keys: of rejected URLs; in states of older versions, of visited ones too.
    """

    def __init__(self, keys: Iterable[int] = ()):
        self._rejected = set(keys)
        self._visited: set[int] = set()

    def visit(self, url: Url) -> None:
        self._visited.add(secure_key_of(url))

    def reject(self, url: Url) -> None:
        self._rejected.add(secure_key_of(url))

    def restore_visited(self, urls: Iterable[Url]) -> None:
        self._visited.update(map(secure_key_of, urls))
        self._rejected -= self._visited

    def __contains__(self, url: Url) -> bool:
        key = secure_key_of(url)
        return key in self._visited or key in self._rejected

    def state(self) -> JsonValue:
        return list(self._rejected)


class WaitingUrls:
    """The latest `max_urls` waiting URLs."""

    def __init__(self, keys: Iterable[int] = (), *, max_urls: int = 20_000):
        self._keys = dict.fromkeys(keys)
        self._max_urls = max_urls

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, url: Url) -> None:
        self._keys[secure_key_of(url)] = None
        if len(self._keys) > self._max_urls:
            del self._keys[next(iter(self._keys))]

    def drop(self, url: Url) -> None:
        self._keys.pop(secure_key_of(url), None)

    def state(self) -> JsonValue:
        return list(self._keys)
