"""URLs as numbers: those that a frontier takes no more, and those that wait in it."""

from collections.abc import Iterable

from lycosa.vocabulary.records import Plain, Url
from lycosa.vocabulary.urls import key_of


def number_of(url: str | int) -> int:
    """64 bits for a URL; the integers that graphs have for URLs are numbers already."""
    return key_of(url) if isinstance(url, str) else url


class SettledUrls:
    """The URLs that a frontier takes no more."""

    def __init__(self, keys: Iterable[int] = ()):
        self._keys = set(keys)

    def add(self, url: Url) -> None:
        self._keys.add(number_of(url))

    def __contains__(self, url: Url) -> bool:
        return number_of(url) in self._keys

    def state(self) -> Plain:
        return list(self._keys)


class WaitingUrls:
    """The URLs that wait, for who needs to know whether there are any; of very many, the latest."""

    def __init__(self, keys: Iterable[int] = (), *, most: int = 20_000):
        self._keys = dict.fromkeys(keys)
        self._most = most

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, url: Url) -> None:
        self._keys[number_of(url)] = None
        if len(self._keys) > self._most:
            del self._keys[next(iter(self._keys))]

    def drop(self, url: Url) -> None:
        self._keys.pop(number_of(url), None)

    def state(self) -> Plain:
        return list(self._keys)
