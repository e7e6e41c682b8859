"""The crawlers that are compared, and an oracle that shows how much there is to gain."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from lycosa.lab.studies.utility_tradeoff import ALPHAS, fixed
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

TARGETS = (0.6, 0.7, 0.8, 0.9)
ORACLE_ALPHAS = (0.0, 0.2, 0.3, 0.5)  # from 0.5 on, no standing outweighs being off the topic
START = 0.5  # α before the first page
SECOND_COUNTER = 104_729  # tells the draws of the second source of in-links from all others


def adaptive(target: float) -> str:
    return f"δ={target:g}"


def ranked(target: float) -> str:
    return f"ranked δ={target:g}"


def oracle(alpha: float) -> str:
    return f"oracle α={alpha:g}"


HALF, TOPIC_ONLY, USUAL = fixed(0.5), fixed(1.0), adaptive(0.7)
FIXED = [fixed(alpha) for alpha in ALPHAS]
ADAPTIVE = [adaptive(target) for target in TARGETS]
RANKED = [ranked(target) for target in TARGETS]  # the same, of which links stay comparable while α moves
ORACLE = [oracle(alpha) for alpha in ORACLE_ALPHAS]
PAIR = [USUAL, TOPIC_ONLY]
CRAWLERS = {"fixed α": FIXED, "adaptive δ": ADAPTIVE, "ranked δ": RANKED, "knows the truth": ORACLE}


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
