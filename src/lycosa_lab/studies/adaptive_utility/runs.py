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
# Kinds of crawlers: their settings.
CRAWLERS = {"fixed α": FIXED, "adaptive δ": ADAPTIVE, "ranked δ": QUANTILE_MATCHED, "knows the truth": ORACLE}


def run_topic(bed: TestBed, number: int) -> JsonValue:
    """All crawls of the topic of this number, and their measures."""
    crawls = TopicCrawls(bed, bed.topics[number])
    pages, long_pages = bed.size["pages"], bed.size["long_pages"]
    # By setting: the steps of its crawl, and α after each.
    runs = {alpha_label(alpha): crawls.run(Utility(alpha=alpha), pages=pages) for alpha in ALPHAS}
    runs |= {adaptive(target): crawls.run(_published_variant(target), pages=pages) for target in TARGETS}
    runs |= {quantile_matched(target): crawls.run(Adaptive(target=target), pages=pages) for target in TARGETS}
    runs |= {oracle(alpha): crawls.run(_oracle(crawls, alpha), pages=pages) for alpha in ORACLE_ALPHAS}
    other_source_runs = {
        ADAPTIVE_07: crawls.run(_published_variant(0.7), pages=pages, source_index=1),
        TOPIC_ONLY: runs[TOPIC_ONLY],  # independent of standing
    }
    return {
        "topic": crawls.examples.topic,
        "crawls": {setting: crawls.measure(*run, pages=pages) for setting, run in runs.items()},
        "long": {  # crawls of more pages
            ADAPTIVE_07: crawls.run_and_measure(_published_variant(0.7), pages=long_pages),
            TOPIC_ONLY: crawls.run_and_measure(Utility(alpha=1.0), pages=long_pages),
        },
        "other": {  # crawls by the second source of in-links
            setting: crawls.measure(*run, pages=pages, source_index=1) for setting, run in other_source_runs.items()
        },
        "models": crawls.model_quality(),
    }


def _published_variant(target: float) -> Adaptive:
    return Adaptive(target=target, ranked_among=0)  # without quantile matching


def _oracle(crawls: TopicCrawls, alpha: float) -> "Oracle":
    return Oracle(is_on_topic=crawls.is_on_topic, standing=crawls.true_standing, alpha=alpha)


class Oracle:
    """A strategy that knows the topic and the standing of every page before it is fetched.

    priority = alpha * is_on_topic + (1 - alpha) * standing

    It is greedy: it knows the target of a link, but not where that leads; so it is a benchmark, not an upper bound.
    """

    name = "oracle"
    scale: Literal["unit", "order"] = "unit"  # priorities are from 0 to 1
    exhaustive = True  # it proposes every reachable URL
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
