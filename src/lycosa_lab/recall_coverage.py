"""The coverage of the interval of the recall estimate, in worlds whose relevant pages are known.

The judge is the ground truth, so that only the estimate is tested: a page is relevant if it is on the topic in the
world, and true recall is relative to the relevant pages that are reachable from the seeds.
"""

import random
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lycosa.frontier.durable import WaitingSample
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.run.recall import RecallEstimate, RecallEstimator
from lycosa.strategies import find_strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa_lab.page_cache import PageCache
from lycosa_lab.worlds.synthetic import SyntheticWorld

BUDGETS = (0.03, 0.06, 0.12, 0.25, 0.5, 0.8)  # shares of the reachable pages
MIN_TOPIC_PAGES = 25  # of a topic for which to crawl
SEED_COUNT = 5  # URLs from which each crawl starts


@dataclass(frozen=True)
class TopicWorld:
    """A world, one of its topics, and the seeds of crawls for it.

    relevant: the reachable pages of the topic.
    reachable_count: the number of all reachable pages.
    """

    world: SyntheticWorld
    seeds: Sequence[Url]
    relevant: frozenset[Url]
    reachable_count: int


@dataclass(frozen=True)
class RecallCheck:
    """The estimate at one point of a crawl, and the truth."""

    pages: int  # fetched so far
    true_recall: float
    estimate: RecallEstimate

    @property
    def is_covered(self) -> bool:
        """Whether the truth lies within the interval, to the precision of a float."""
        return self.estimate.recall_low - 1e-9 <= self.true_recall <= self.estimate.recall_high + 1e-9


@dataclass(frozen=True)
class RecallCrawl:
    """One crawl: a check at each of `BUDGETS`, and the first at which it could have stopped, if any."""

    strategy: str
    seed: int  # of the random world (`random_topic_world`)
    checks: Sequence[RecallCheck]
    stop: RecallCheck | None


def random_topic_world(seed: int) -> TopicWorld:
    """A world for each random seed: size, number of topics, locality of links by topic, topic and seeds are drawn."""
    rng = random.Random(seed)
    world = SyntheticWorld(
        pages=rng.choice((600, 900, 1_500)),
        topics=rng.choice((4, 8, 16, 30)),
        topical_homophily=rng.choice((0.5, 0.8, 1.0)),
        seed=seed,
    )
    by_topic: dict[str | None, list[Url]] = defaultdict(list)
    for url in world.urls():
        by_topic[world.topic(url)].append(url)
    on_topic = rng.choice([urls for urls in by_topic.values() if len(urls) >= MIN_TOPIC_PAGES])
    seeds = rng.sample(on_topic, SEED_COUNT)
    reachable = _reachable(world, seeds)
    return TopicWorld(world, seeds, frozenset(reachable.intersection(on_topic)), len(reachable))


def _reachable(world: SyntheticWorld, seeds: Iterable[Url]) -> set[Url]:
    known = set(seeds)
    queue = deque(known)
    while queue:
        for target in world.out_links(queue.popleft()):
            if target not in known and target in world:
                known.add(target)
                queue.append(target)
    return known


def recall_crawl(topic_world: TopicWorld, strategy: str, *, seed: int, cache: PageCache, target: float) -> RecallCrawl:
    """Crawls a world until the largest budget is used up.

    seed: that of the random world, for the record.
    target: the recall at which it might have stopped.
    """
    estimator, frontier = RecallEstimator(), SequentialFrontier()
    entry = find_strategy(strategy)
    loop = Loop(
        entry(**({"example_urls": topic_world.seeds} if entry.takes("example_urls") else {})),
        frontier,
        observe=estimator.add,
    )
    check_points = {max(1, round(share * topic_world.reachable_count)) for share in BUDGETS}
    checks: list[RecallCheck] = []
    stop: RecallCheck | None = None
    found = pages = 0  # relevant pages, and all pages, fetched so far

    def assess(candidate: Candidate, fetch: Fetch) -> Visit:
        page = cache.read(candidate.url)
        return Visit(candidate, fetch, page, relevance=float(candidate.url in topic_world.relevant))

    loop.start(topic_world.seeds)
    while pages < max(check_points) and (candidate := frontier.take()) is not None:
        loop.step(candidate, Fetch(candidate.url, Outcome.OK, 0.0), assess)
        pages += 1
        found += candidate.url in topic_world.relevant
        if not (pages in check_points or stop is None):
            continue
        estimate = estimator.estimate(WaitingSample(1, frontier.priorities()))  # every waiting URL: one in 1
        if estimate is None:
            continue
        check = RecallCheck(pages, found / len(topic_world.relevant), estimate)
        if pages in check_points:
            checks.append(check)
        if stop is None and estimate.reaches(target):
            stop = check
    return RecallCrawl(strategy, seed, checks, stop)


def recall_crawls(seed: int, strategies: Sequence[str], *, target: float = 0.9) -> list[RecallCrawl]:
    """The crawls of one world by several strategies."""
    topic_world = random_topic_world(seed)
    cache = PageCache(topic_world.world, capacity=len(topic_world.world))
    return [recall_crawl(topic_world, strategy, seed=seed, cache=cache, target=target) for strategy in strategies]
