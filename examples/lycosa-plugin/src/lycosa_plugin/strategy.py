"""The strategy `host-harvest`."""

from collections.abc import Iterable
from typing import Any

from lycosa import BaseStrategy, Candidate, Skip, Visit, clamped, host_of


class HostHarvest(BaseStrategy):
    """Follows first the links to hosts whose pages were relevant so far.

    priority = (sum of relevance + prior) / (pages + 2 * prior), over the pages of the host that were visited

    prior: how many pages, half of them relevant, every host is taken to have had before its first.
    """

    name = "host-harvest"

    def __init__(self, *, prior: float = 1.0):
        self._prior = prior
        self._pages: dict[str, int] = {}
        self._relevance: dict[str, float] = {}

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit) and event.page is not None:
            host = host_of(event.candidate.url)
            self._pages[host] = self._pages.get(host, 0) + 1
            self._relevance[host] = self._relevance.get(host, 0.0) + clamped(event.relevance)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        for link in event.open_links():
            harvest = self._harvest(host_of(link.target))
            because = {"host_harvest": round(harvest, 4)}
            yield Candidate(link.target, harvest, found_on, link.anchor, because, depth)

    def _harvest(self, host: str) -> float:
        pages, relevance = self._pages.get(host, 0), self._relevance.get(host, 0.0)
        return (relevance + self._prior) / (pages + 2 * self._prior)

    def merge(self, url: str, waiting: float, offered: float) -> float:
        return offered  # the latest says most of a host

    def state(self) -> Any:
        return {"pages": self._pages, "relevance": self._relevance}

    def restore(self, state: Any) -> None:
        self._pages, self._relevance = dict(state["pages"]), dict(state["relevance"])
