"""The crawls of one topic, and every judgement of them."""

from collections.abc import Callable, Iterable, Sequence

from lycosa.lab.assessors import train_assessors
from lycosa.lab.crawlers import strategy_for
from lycosa.lab.library import Library, TopicCosine
from lycosa.lab.measures import Harvest, MeanRank, MeanSimilarity, StrategyCpu, Truth
from lycosa.lab.retrieval import pooled_ranks, tfidf_similarities
from lycosa.lab.simulation import crawl
from lycosa.lab.steps import Step
from lycosa.lab.study import Size
from lycosa.lab.term_counts import Counted, Documents
from lycosa.lab.topics import Topic, apart_from
from lycosa.vocabulary.records import Plain, Url
from lycosa.worlds import StudyWorld

BEST_FIRST, INFOSPIDERS, PAGERANK = "best-first", "infospiders", "pagerank"
CRAWLERS = (BEST_FIRST, INFOSPIDERS, PAGERANK)
POINTS = 50  # of every curve


class Prepared:
    """What the crawls of all topics share."""

    def __init__(self, topics: Sequence[Topic], library: Library, size: Size, seed: int):
        self.topics = topics
        self.library = library
        self.size = size
        self.seed = seed
        self.examples = {
            topic.name: [page.words.counted for url in topic.seeds if (page := library.read(url))] for topic in topics
        }


def crawl_topic(world: StudyWorld, shared: Prepared, job: int) -> Plain:
    """All crawls of one topic, and every judgement of them."""
    topic, size = shared.topics[job], shared.size
    crawls = _crawls(topic, shared, job)
    pooled = list(dict.fromkeys(step.url for steps in crawls.values() for step in steps))
    documents = Documents.of(_counted(shared.library, url) for url in pooled)
    about = topic.as_page().words.counted
    truth = Truth(
        is_relevant=lambda url: world.topic(url) == topic.name,
        similarity=_by_url(pooled, tfidf_similarities(about, documents)),
        rank=_by_url(pooled, pooled_ranks(about, documents)),
    )
    accepted = _accepted(topic, shared, pooled, documents, job)
    points = points_of(size["pages"])
    return {
        "topic": topic.name,
        "pooled": len(pooled),
        "crawlers": {
            name: {
                "pages": len(steps),
                "milliseconds": StrategyCpu.value(steps, truth),
                "harvest": Harvest.value(steps, truth),
                "accepted": {
                    assessor: sum(step.url in good for step in steps) / max(1, len(steps))
                    for assessor, good in accepted.items()
                },
                "similarity": _at(points, list(MeanSimilarity.over(steps, truth))),
                "rank": _at(points, list(MeanRank.over(steps, truth))),
            }
            for name, steps in crawls.items()
        },
    }


def _crawls(topic: Topic, shared: Prepared, job: int) -> dict[str, list[Step]]:
    judge, size = TopicCosine(topic.as_page()), shared.size
    return {
        name: list(
            crawl(
                strategy_for(name, topic, pages=size["pages"], buffer=size["buffer"], seed=1_000 * shared.seed + job),
                topic.seeds,
                read=shared.library.read,
                judge=judge,
                pages=size["pages"],
                buffer=size["buffer"],
            )
        )
        for name in CRAWLERS
    }


def _counted(library: Library, url: Url) -> Counted:
    page = library.read(url)
    assert page is not None  # it was crawled
    return page.words.counted


def _by_url(urls: Sequence[Url], values: Iterable[float]) -> Callable[[Url], float]:
    return dict(zip(urls, map(float, values), strict=True)).__getitem__


def _accepted(
    topic: Topic, shared: Prepared, pooled: Sequence[Url], documents: Documents, job: int
) -> dict[str, set[Url]]:
    """The pooled pages that each assessor takes for pages on the topic."""
    good = Documents.of(shared.examples[topic.name])
    others = apart_from(shared.topics, topic)
    bad = Documents.of(example for other in others for example in shared.examples[other.name])
    assessors = train_assessors(good, bad, seed=shared.seed + job)
    return {
        name: {url for url, yes in zip(pooled, assessor.accepts(documents), strict=True) if yes}
        for name, assessor in assessors.items()
    }


def points_of(pages: int) -> list[int]:
    """Where along a crawl curves are drawn."""
    return sorted({max(1, round(pages * place / POINTS)) for place in range(1, POINTS + 1)})


def _at(points: Sequence[int], curve: Sequence[float]) -> list[float]:
    """The curve at these points; a crawl that ended early stays where it was."""
    return [float(f"{curve[min(point, len(curve)) - 1]:.6g}") for point in points] if curve else []
