"""The crawls of one topic: with fixed weights, adaptive ones, and an oracle that shows the possible gain."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from lycosa.strategies.utility import Adaptive, Utility
from lycosa.vocabulary.records import Candidate, JsonValue, Skip, Url, Visit
from lycosa_lab.studies.utility_tradeoff import ALPHAS, alpha_label
from lycosa_lab.test_bed import TestBed, TopicCrawls

TARGETS = (0.6, 0.7, 0.8, 0.9)  # δ, the topicality to which α adapts
ORACLE_ALPHAS = (0.0, 0.2, 0.3, 0.5)  # at 0.5 and above, no standing outweighs being off the topic
START_ALPHA = 0.5  # α, the weight of relevance against standing, before the first page
SECOND_SOURCE_SEED_OFFSET = 104_729  # added to the seed for the second source of in-links


def adaptive(target: float) -> str:
    return f"δ={target:g}"


def quantile_matched(target: float) -> str:
    return f"ranked δ={target:g}"


def oracle(alpha: float) -> str:
    return f"oracle α={alpha:g}"


# Settings: names of a strategy with its parameters.
FIXED_HALF, TOPIC_ONLY = alpha_label(0.5), alpha_label(1.0)
FIXED = [alpha_label(alpha) for alpha in ALPHAS]
ADAPTIVE = ADAPTIVE_06, ADAPTIVE_07, ADAPTIVE_08, ADAPTIVE_09 = [adaptive(target) for target in TARGETS]
QUANTILE_MATCHED = [quantile_matched(target) for target in TARGETS]  # utilities stay comparable while α changes
QUANTILE_MATCHED_07, ORACLE_HALF = quantile_matched(0.7), oracle(0.5)
ORACLE = [oracle(alpha) for alpha in ORACLE_ALPHAS]
ADAPTIVE_AND_TOPIC_ONLY = [ADAPTIVE_07, TOPIC_ONLY]
CRAWLERS = {"fixed α": FIXED, "adaptive δ": ADAPTIVE, "ranked δ": QUANTILE_MATCHED, "knows the truth": ORACLE}


def run_topic(bed: TestBed, number: int) -> JsonValue:
    """All crawls of one topic and their measures."""
    topic, pages, long = TopicCrawls(bed, bed.topics[number]), bed.size["pages"], bed.size["long_pages"]
    runs = {alpha_label(alpha): topic.run(Utility(alpha=alpha), pages=pages) for alpha in ALPHAS}
    runs |= {adaptive(target): topic.run(_published_variant(target), pages=pages) for target in TARGETS}
    runs |= {quantile_matched(target): topic.run(Adaptive(target=target), pages=pages) for target in TARGETS}
    runs |= {oracle(alpha): topic.run(_oracle(topic, alpha), pages=pages) for alpha in ORACLE_ALPHAS}
    other_runs = {
        ADAPTIVE_07: topic.run(_published_variant(0.7), pages=pages, source=1),
        TOPIC_ONLY: runs[TOPIC_ONLY],  # independent of standing
    }
    return {
        "topic": topic.examples.topic,
        "crawls": {name: topic.measure(*run, pages=pages) for name, run in runs.items()},
        "long": {
            ADAPTIVE_07: topic.run_and_measure(_published_variant(0.7), pages=long),
            TOPIC_ONLY: topic.run_and_measure(Utility(alpha=1.0), pages=long),
        },
        "other": {name: topic.measure(*run, pages=pages, source=1) for name, run in other_runs.items()},
        "models": topic.model_quality(),
    }


def _published_variant(target: float) -> Adaptive:
    return Adaptive(target=target, ranked_among=0)


def _oracle(topic: TopicCrawls, alpha: float) -> "Oracle":
    return Oracle(is_on_topic=topic.is_on_topic, standing=topic.true_standing, alpha=alpha)


class Oracle:
    """A strategy that knows the topic and the standing of every page before it is fetched.

    priority = alpha * is_on_topic + (1 - alpha) * standing

    It is greedy: it knows the target of a link, but not where that leads; so it is a benchmark, not an upper bound.
    """

    name = "oracle"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True
    uses_standing = False  # it has its own

    def __init__(self, *, is_on_topic: Callable[[Url], bool], standing: Callable[[Url], float], alpha: float):
        self._is_on_topic = is_on_topic
        self._standing = standing
        self._alpha = alpha
        self._priorities: dict[Url, float] = {}

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        """Nothing to learn."""

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        return [
            Candidate(link.target, self._priority(link.target), found_on, depth=depth) for link in event.open_links()
        ]

    def _priority(self, url: Url) -> float:
        priority = self._priorities.get(url)
        if priority is None:
            priority = self._alpha * self._is_on_topic(url) + (1.0 - self._alpha) * self._standing(url)
            self._priorities[url] = priority
        return priority

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting

    def state(self) -> JsonValue:
        return None

    def restore(self, state: JsonValue) -> None:
        """No state."""
