"""Slots of hosts, for a web that outlives the frontier of any one crawl."""

from lycosa.vocabulary.contracts import HostSlots
from lycosa.vocabulary.records import Host
from lycosa.web.http import most_fetches


class CurrentSlots:
    """The slots of the frontier of the crawl that is under way; where there is none, every host is free.

    A web is made once, and asked by the crawl of the examples, that of the sitemaps, and the crawl itself.
    """

    def __init__(self) -> None:
        self._frontier: HostSlots | None = None
        self.most_fetches = most_fetches()  # at a time, for the files that this process may open
        self.has_lacked_files = False
        self.has_warned = False  # that there are fewer fetches at a time

    def use(self, frontier: HostSlots) -> None:
        self._frontier = frontier

    @property
    def rests_after_requests(self) -> bool:
        return self._frontier is not None and self._frontier.rests_after_requests

    def acquire(self, host: Host, now: float) -> float | None:
        return None if self._frontier is None else self._frontier.acquire(host, now)

    def release(self, host: Host, now: float) -> None:
        if self._frontier is not None:
            self._frontier.release(host, now)

    def claim_address(self, host: Host, address: str) -> bool:
        return self._frontier is None or self._frontier.claim_address(host, address)

    def hold(self, host: Host, until: float) -> None:
        if self._frontier is not None:
            self._frontier.hold(host, until)

    def lack_files(self) -> None:
        """A fetch was postponed, as no more files may be open."""
        self.has_lacked_files = True
