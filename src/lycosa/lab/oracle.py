"""A crawler that knows the truth: how much there is to gain, not a way to crawl."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit


class Oracle:
    """Follows the links to the best pages first, knowing of every page before it is fetched whether it is on topic and
    how well it stands.

    It is greedy: it knows what lies behind a link, not what lies behind that. So it is a mark to measure others by,
    no proof of what could be reached at most.

    alpha: weight of being on topic against standing, which are added up.
    """

    name = "oracle"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True
    uses_standing = False  # it knows better

    def __init__(self, *, is_on_topic: Callable[[Url], bool], standing: Callable[[Url], float], alpha: float):
        self._is_on_topic = is_on_topic
        self._standing = standing
        self._alpha = alpha
        self._worth: dict[Url, float] = {}

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        """It knows already."""

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        return [
            Candidate(link.target, self._worth_of(link.target), found_on, depth=depth) for link in event.open_links()
        ]

    def _worth_of(self, url: Url) -> float:
        worth = self._worth.get(url)
        if worth is None:
            worth = self._alpha * self._is_on_topic(url) + (1.0 - self._alpha) * self._standing(url)
            self._worth[url] = worth
        return worth

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting

    def state(self) -> Plain:
        return None

    def restore(self, state: Plain) -> None:
        """There is nothing to remember."""
