"""All crawls for one predicate, and their lift curves.

The harvest rate P(U) is the share of the pages crawled that satisfy the predicate. Crawls called *listed* (`*_LISTED`)
start from pages that the world's directory lists, all others without seeds or from random pages of the log.
"""

import random
from collections.abc import Mapping, Sequence

from lycosa.logs.access_log import AccessLog
from lycosa.strategies import BestFirst, Collaborative, Combined, Guided, Intelligent
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import RELEVANT, JsonValue, Url
from lycosa_lab.page_cache import PageCache
from lycosa_lab.simulation import Step, crawl
from lycosa_lab.worlds import StudyWorld

from .shared import (
    BEST_FIRST_LISTED,
    COLLABORATIVE,
    COLLABORATIVE_LISTED,
    COMBINED,
    COMBINED_LISTED,
    DECAYED_LOGS,
    DRAWS,
    GUIDED_LISTED,
    INTELLIGENT_LISTED,
    INTELLIGENT_RUNS,
    REDUCED_LOGS,
    SHUFFLED,
    SINGLE_FACTORS,
    TOPICAL,
    CollaborativeInputs,
    CrawlPredicate,
    count_satisfying,
    directory_seeds,
    random_starts,
)

POINTS = 50  # of a curve
TENTHS = 10  # parts of a crawl


def lift_of(steps: Sequence[Step], pages: int) -> JsonValue:
    """Totals of a crawl of `pages` pages, P(U) of each tenth of them by itself, and the lift curve: P(U) of all pages
    up to each of `POINTS` points.

    A page satisfies the predicate if its relevance is `RELEVANT` or more. The missing pages of a crawl that ended
    early, for want of candidates, count as not satisfying it.
    """
    good = [0]
    for step in steps[:pages]:
        good.append(good[-1] + (step.relevance >= RELEVANT))
    good += [good[-1]] * (pages + 1 - len(good))
    tenths = [_share(good, pages * tenth // TENTHS, pages * (tenth + 1) // TENTHS) for tenth in range(TENTHS)]
    return {
        "crawled": min(len(steps), pages),
        "good": good[-1],
        "harvest": _share(good, 0, pages),
        "tenths": tenths,
        "lift": [_share(good, 0, max(1, pages * point // POINTS)) for point in range(1, POINTS + 1)],
    }


def _share(good: Sequence[int], start: int, end: int) -> float:
    return round((good[end] - good[start]) / max(1, end - start), 6)


CACHED_PAGES = 8_000


class PredicateJob:
    """The crawls for one predicate; all of them share a page cache."""

    def __init__(self, world: StudyWorld, inputs: CollaborativeInputs, predicate: CrawlPredicate):
        self._world, self._inputs, self._predicate = world, inputs, predicate
        self._random = random.Random(f"{inputs.seed} {predicate.name}")
        self._cache = PageCache(world, capacity=CACHED_PAGES)
        self._satisfying_count = count_satisfying(inputs.access_log, predicate, world, inputs.sampled_urls)
        self._pages = inputs.crawl_length(self._satisfying_count)  # number of pages of every crawl
        self._crawls: dict[str, JsonValue] = {}

    def work(self) -> JsonValue:
        """All crawls for a topic; for other predicates only those by readers, by links and by both."""
        if self._pages:
            random_seed = self._random.randrange(1 << 31)
            self._crawl_by_readers_and_links(random_seed)
            if self._predicate.kind in TOPICAL:
                self._crawl_by_variants(random_seed)
                self._crawl_from_directory(random_seed)
        return {
            "aim": self._predicate.name,
            "kind": self._predicate.kind,
            "targets": self._satisfying_count,  # pages of the log that satisfy the predicate
            "read": len(self._inputs.access_log.urls),  # all pages of the log
            "pages": self._pages,  # of a crawl
            "crawls": self._crawls,
        }

    def _crawl_by_readers_and_links(self, random_seed: int) -> None:
        log = self._inputs.access_log
        self._crawl(COLLABORATIVE, Collaborative(log, seed=random_seed))
        self._crawl(COMBINED, Combined(log, seed=random_seed))
        for crawl_name, start in zip(
            INTELLIGENT_RUNS, random_starts(log, self._random, len(INTELLIGENT_RUNS)), strict=True
        ):
            self._crawl(crawl_name, Intelligent(), start)

    def _crawl_by_variants(self, random_seed: int) -> None:
        """Crawls by readers with other random draws, with one factor of the interest ratio (the share, the words or the
        times of the satisfying pages that a page's readers read), and with variants of the log."""
        for number, crawl_name in enumerate(DRAWS[1:], 1):
            self._crawl(crawl_name, Collaborative(self._inputs.access_log, seed=random_seed + number))
        for factor in SINGLE_FACTORS:
            self._crawl(factor, Collaborative(self._inputs.access_log, seed=random_seed, factors=(factor,)))
        for crawl_name in (*REDUCED_LOGS, *DECAYED_LOGS, SHUFFLED):
            self._crawl(crawl_name, Collaborative(self._inputs.variants[crawl_name], seed=random_seed))

    def _crawl_from_directory(self, random_seed: int) -> None:
        """Crawls from pages of the directory that satisfy the predicate, if there are any."""
        seeds = directory_seeds(self._world, self._predicate, self._random)
        if seeds:
            for crawl_name, strategy in _strategies_for_directory_seeds(self._inputs.access_log, random_seed).items():
                self._crawl(crawl_name, strategy, seeds)

    def _crawl(self, crawl_name: str, strategy: Strategy, seeds: Sequence[Url] = ()) -> None:
        steps = list(
            crawl(
                strategy,
                seeds,
                read=self._cache.read,
                judge=self._predicate.model.relevance,
                pages=self._pages,
            )
        )
        unread_count = sum(self._inputs.access_log.id_of(step.url) is None for step in steps)
        self._crawls[crawl_name] = {**lift_of(steps, self._pages), "unread": unread_count}


def _strategies_for_directory_seeds(log: AccessLog, random_seed: int) -> Mapping[str, Strategy]:
    """By the name of the crawl."""
    return {
        COLLABORATIVE_LISTED: Collaborative(log, seed=random_seed),
        INTELLIGENT_LISTED: Intelligent(),
        COMBINED_LISTED: Combined(log, seed=random_seed),
        BEST_FIRST_LISTED: BestFirst(),
        GUIDED_LISTED: Guided(BestFirst(), log, seed=random_seed),
    }
