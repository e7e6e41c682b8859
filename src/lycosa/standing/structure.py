"""In-links as a crawl sees them grow."""

from collections.abc import Iterable

from lycosa.vocabulary.records import Plain, Url
from lycosa.vocabulary.urls import key_of


class StructureIndex:
    """Counts the in-links of URLs over the pages seen so far, those of URLs that nobody has fetched among them.

    A page counts once for each URL it links to, and not for itself; one that is seen again tells nothing new. URLs are
    kept as 64-bit keys; the integers that graphs have for URLs are keys already.

    >>> index = StructureIndex()
    >>> index.see(Url("http://a.example/"), [Url("http://b.example/")] * 2)
    >>> index.count(Url("http://b.example/"))
    1
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._in_links: dict[int, int] = {}

    def see(self, url: Url, targets: Iterable[Url]) -> None:
        """A page was fetched that has these links."""
        source = _key(url)
        if source in self._seen:
            return
        self._seen.add(source)
        in_links = self._in_links
        for target in set(targets):
            key = _key(target)
            if key != source:
                in_links[key] = in_links.get(key, 0) + 1

    def count(self, url: Url) -> int:
        """How many pages seen so far link there."""
        return self._in_links.get(_key(url), 0)

    def __len__(self) -> int:
        """How many pages were seen."""
        return len(self._seen)

    def state(self) -> Plain:
        return {"seen": list(self._seen), "linked": list(self._in_links), "counts": list(self._in_links.values())}

    def restore(self, state: Plain) -> None:
        self._seen = set(state["seen"])
        self._in_links = dict(zip(state["linked"], state["counts"], strict=True))


def _key(url: str | int) -> int:
    return key_of(url) if isinstance(url, str) else url
