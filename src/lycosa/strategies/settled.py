"""The URLs that a frontier takes no more."""

from collections.abc import Iterable

from lycosa.vocabulary.records import Plain, Url
from lycosa.vocabulary.urls import key_of


class SettledUrls:
    """URLs as 64-bit keys; the integers that graphs have for URLs are keys already."""

    def __init__(self, keys: Iterable[int] = ()):
        self._keys = set(keys)

    def add(self, url: Url) -> None:
        self._keys.add(_key(url))

    def __contains__(self, url: Url) -> bool:
        return _key(url) in self._keys

    def state(self) -> Plain:
        return list(self._keys)


def _key(url: str | int) -> int:
    return key_of(url) if isinstance(url, str) else url
