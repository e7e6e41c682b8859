"""The crawls of one topic, judged in three ways: by classifiers, by pooled ranks, by similarity to the topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lycosa.vocabulary.records import JsonValue, Url
from lycosa_lab.assessors import train_assessors
from lycosa_lab.comparison import POINTS, ComparisonInputs, Pool, crawls_of, pool_of, truth_of
from lycosa_lab.measures import Harvest, MeanRank, MeanSimilarity, StrategyCpu, at_points, points_along
from lycosa_lab.retrieval import TermCounts, TermMatrix
from lycosa_lab.topics import DirectoryTopic, apart_from
from lycosa_lab.worlds import StudyWorld

BEST_FIRST, INFOSPIDERS, PAGERANK = "best-first", "infospiders", "pagerank"
CRAWLERS = (BEST_FIRST, INFOSPIDERS, PAGERANK)


@dataclass(frozen=True)
class TopicDrivenInputs:
    """The inputs of the crawls of all topics, and the training pages of classifiers."""

    shared: ComparisonInputs
    examples: Mapping[str, Sequence[TermCounts]]  # topic -> its seeds


def prepare(shared: ComparisonInputs) -> TopicDrivenInputs:
    """Reads the seeds of every topic, which train the classifiers."""
    read = shared.cache.read
    examples = {
        topic.name: [page.words.term_counts for url in topic.seeds if (page := read(url))] for topic in shared.topics
    }
    return TopicDrivenInputs(shared, examples)


def run_topic(world: StudyWorld, prepared: TopicDrivenInputs, job: int) -> JsonValue:
    """All crawls of one topic and their measures."""
    shared = prepared.shared
    topic = shared.topics[job]
    crawls = crawls_of(CRAWLERS, topic, shared, job)
    pool = pool_of(topic, shared.cache, crawls.values())
    truth = truth_of(world, topic, pool)
    accepted = _accepted(topic, prepared, pool, job)
    points = points_along(shared.size["pages"], POINTS)
    return {
        "topic": topic.name,
        "pooled": len(pool.urls),
        "crawlers": {
            name: {
                "pages": len(steps),
                "milliseconds": StrategyCpu.value(steps, truth),
                "harvest": Harvest.value(steps, truth),
                "accepted": {
                    assessor: sum(step.url in good for step in steps) / max(1, len(steps))
                    for assessor, good in accepted.items()
                },
                "similarity": at_points(points, MeanSimilarity.over(steps, truth)),
                "rank": at_points(points, MeanRank.over(steps, truth)),
            }
            for name, steps in crawls.items()
        },
    }


def _accepted(topic: DirectoryTopic, prepared: TopicDrivenInputs, pool: Pool, job: int) -> dict[str, set[Url]]:
    """The pooled pages that each classifier accepts as on topic."""
    good = TermMatrix.of(prepared.examples[topic.name])
    others = apart_from(prepared.shared.topics, topic)
    bad = TermMatrix.of(example for other in others for example in prepared.examples[other.name])
    assessors = train_assessors(good, bad, seed=prepared.shared.seed + job)
    return {
        name: {url for url, yes in zip(pool.urls, assessor.accepts(pool.documents), strict=True) if yes}
        for name, assessor in assessors.items()
    }
