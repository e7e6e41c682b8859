"""A frontier of the URLs that wait already; new candidates are set aside."""

from collections.abc import Iterable

from lycosa.vocabulary.contracts import Frontier
from lycosa.vocabulary.records import Candidate, Skip, Url

from .wrapper import FrontierWrapper


class WaitingOnly(FrontierWrapper):
    """Takes only the URLs that were already waiting in a frontier when it was wrapped; links and redirects found since
    are collected in `set_aside`, for the caller to put into the frontier afterwards.
    """

    def __init__(self, frontier: Frontier):
        super().__init__(frontier)
        self.set_aside: list[Candidate] = []
        self._urls_set_aside: set[Url] = set()

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        for candidate in candidates:
            self.set_aside.append(candidate)
            self._urls_set_aside.add(candidate.url)
        return []

    def is_known(self, url: Url) -> bool:
        return url in self._urls_set_aside or self._frontier.is_known(url)
