"""Strategies let loose on one topic, side by side: the same seeds, pages and buffer for all, judged together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lycosa.vocabulary.records import Url
from lycosa.worlds import StudyWorld

from .crawlers import strategy_for
from .library import Library, TopicCosine
from .measures import Truth
from .retrieval import pooled_ranks, tfidf_similarities
from .simulation import Step, crawl
from .study import Size
from .term_counts import Counted, Documents
from .topics import Topic

POINTS = 50  # of every curve


@dataclass(frozen=True)
class Shared:
    """What the crawls of all topics share."""

    topics: Sequence[Topic]
    library: Library
    size: Size  # among others: pages of a crawl, and buffer
    seed: int


def crawls_of(names: Sequence[str], topic: Topic, shared: Shared, job: int) -> dict[str, list[Step]]:
    """The crawl of a topic by each strategy."""
    judge, pages, buffer = TopicCosine(topic.as_page()), shared.size["pages"], shared.size["buffer"]
    seed = 1_000 * shared.seed + job
    return {
        name: list(
            crawl(
                strategy_for(name, topic, pages=pages, buffer=buffer, seed=seed),
                topic.seeds,
                read=shared.library.read,
                judge=judge,
                pages=pages,
                buffer=buffer,
            )
        )
        for name in names
    }


class Pool(NamedTuple):
    """The pages that any of the crawls found, each once."""

    urls: Sequence[Url]
    documents: Documents
    similarity: Callable[[Url], float]  # to the topic, tf·idf over the pool
    rank: Callable[[Url], float]  # among the pool, 1 is best


def pool_of(topic: Topic, library: Library, crawls: Iterable[Sequence[Step]]) -> Pool:
    """The pages of all crawls of a topic, ranked together."""
    urls = list(dict.fromkeys(step.url for steps in crawls for step in steps))
    documents = Documents.of(_counted(library, url) for url in urls)
    about = topic.as_page().words.counted
    similarities, ranks = tfidf_similarities(about, documents), pooled_ranks(about, documents)
    return Pool(urls, documents, _by_url(urls, similarities), _by_url(urls, ranks))


def truth_of(world: StudyWorld, topic: Topic, pool: Pool) -> Truth:
    """What the world and the pool tell of the pages of a topic."""
    return Truth(
        is_relevant=lambda url: world.topic(url) == topic.name,
        targets=frozenset(topic.others) or None,
        similarity=pool.similarity,
        rank=pool.rank,
        standing=world.standing if world.standing(topic.seeds[0]) is not None else None,
    )


def _counted(library: Library, url: Url) -> Counted:
    page = library.read(url)
    assert page is not None  # it was crawled
    return page.words.counted


def _by_url(urls: Sequence[Url], values: Iterable[float]) -> Callable[[Url], float]:
    return dict(zip(urls, map(float, values), strict=True)).__getitem__


def points_of(pages: int) -> list[int]:
    """Where along a crawl curves are drawn."""
    return sorted({max(1, round(pages * place / POINTS)) for place in range(1, POINTS + 1)})


def at_points(points: Sequence[int], curve: Iterable[float]) -> list[float | None]:
    """A curve at these points, to six digits; a crawl that ended early stays where it was, None is not known."""
    values = list(curve)
    if not values:
        return [None] * len(points)
    at = [values[min(point, len(values)) - 1] for point in points]
    return [None if value != value else float(f"{value:.6g}") for value in at]
