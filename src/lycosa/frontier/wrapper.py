"""A frontier around another one, to which it passes every call; derived classes change some."""

from collections.abc import Iterable

from lycosa.vocabulary.contracts import Frontier, Strategy
from lycosa.vocabulary.records import Candidate, Host, Skip, Url


class FrontierWrapper:
    """Passes every call to the wrapped frontier; `Frontier` says what they do."""

    def __init__(self, frontier: Frontier):
        self._frontier = frontier

    def __len__(self) -> int:
        return len(self._frontier)

    def rank_by(self, strategy: Strategy) -> None:
        self._frontier.rank_by(strategy)

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        return self._frontier.put(candidates)

    def take(self, now: float) -> Candidate | None:
        return self._frontier.take(now)

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        return self._frontier.settle(url, is_kept=is_kept)

    def requeue(self, candidate: Candidate) -> None:
        self._frontier.requeue(candidate)

    def postpone(self, candidate: Candidate) -> None:
        self._frontier.postpone(candidate)

    def clear_waiting(self) -> None:
        self._frontier.clear_waiting()

    def is_known(self, url: Url) -> bool:
        return self._frontier.is_known(url)

    @property
    def has_delay(self) -> bool:
        return self._frontier.has_delay

    @property
    def slow_in_flight(self) -> int:
        return self._frontier.slow_in_flight

    def observe(self, host: Host, seconds: float) -> None:
        self._frontier.observe(host, seconds)

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        return self._frontier.acquire_or_retry_at(host, now)

    def release(self, host: Host, now: float) -> None:
        self._frontier.release(host, now)

    def claim_address(self, host: Host, address: str) -> bool:
        return self._frontier.claim_address(host, address)

    def hold(self, host: Host, until: float) -> None:
        self._frontier.hold(host, until)

    def next_ready_at(self) -> float | None:
        return self._frontier.next_ready_at()
