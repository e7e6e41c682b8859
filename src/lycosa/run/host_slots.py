"""Host slots for a web that is shared by several crawls, each with a frontier of its own.

A slot is the permission for one request at a time to a host; the contract `HostSlots` explains the methods.
"""

from lycosa.vocabulary.contracts import HostSlots
from lycosa.vocabulary.records import Host


class CurrentSlots:
    """The host slots of the current crawl's frontier; without one, every host is free.

    One web serves the crawl of the examples, that of the sitemaps, and the crawl itself.
    """

    def __init__(self) -> None:
        from lycosa.web.http import max_fetches  # loads libcurl, which only crawls need

        self._frontier: HostSlots | None = None
        self._max_fetches = max_fetches()
        self._file_limit_reached = False
        self._has_warned = False

    def connect(self, frontier: HostSlots) -> None:
        """Uses the slots of this frontier from now on."""
        self._frontier = frontier

    @property
    def has_delay(self) -> bool:
        return self._frontier is not None and self._frontier.has_delay

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        return None if self._frontier is None else self._frontier.acquire_or_retry_at(host, now)

    def release(self, host: Host, now: float) -> None:
        if self._frontier is not None:
            self._frontier.release(host, now)

    def claim_address(self, host: Host, address: str) -> bool:
        return self._frontier is None or self._frontier.claim_address(host, address)

    def hold(self, host: Host, until: float) -> None:
        if self._frontier is not None:
            self._frontier.hold(host, until)

    def note_file_limit(self) -> None:
        """Records that a fetch was postponed because the limit of open files was reached."""
        self._file_limit_reached = True

    def take_file_limit_reached(self) -> bool:
        """Whether a fetch was postponed because of the limit of open files since the last call."""
        was_reached, self._file_limit_reached = self._file_limit_reached, False
        return was_reached

    @property
    def max_fetches(self) -> int:
        """How many fetches the limit of open files allows at a time."""
        return self._max_fetches

    def limit_to(self, fetches: int) -> None:
        """Allows no more than this number of fetches at a time from now on."""
        self._max_fetches = min(fetches, self._max_fetches)

    def warn_once(self) -> bool:
        """Whether to warn the user that fewer fetches run at a time: True only for the first call."""
        is_first, self._has_warned = not self._has_warned, True
        return is_first
