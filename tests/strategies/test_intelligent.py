"""The crawler that learns what leads to pages that satisfy a predicate."""

from functools import cache

import pytest

from lycosa.strategies import BestFirst, BreadthFirst, Intelligent
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Page, Url
from lycosa_lab.simulation import crawl
from lycosa_lab.worlds.synthetic import SyntheticWorld
from simulation import Budget, crawl_of, visits_of
from worlds import TOPICAL, TOPICAL_SEED, html


@cache
def world() -> SyntheticWorld:
    return SyntheticWorld(pages=8_000, seed=4)


def harvest_of(strategy: Strategy, pages: int = 150) -> float:
    topic = world().topics[1]
    on_topic = [url for url in world().urls() if world().topic(url) == topic]
    steps = crawl(
        strategy,
        [*list(world().urls())[:8], *on_topic[:2]],
        read=world().read,
        judge=lambda page: float(world().topic(page.url) == topic),
        pages=pages,
    )
    return sum(step.relevance for step in steps) / pages


@pytest.mark.slow
def test_finds_more_than_best_first_and_far_more_than_one_that_does_not_learn() -> None:
    intelligent = harvest_of(Intelligent())
    assert intelligent > harvest_of(BestFirst())
    assert intelligent > 3 * harvest_of(BreadthFirst())


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["words", "tokens", "links", "siblings"])
def test_one_factor_alone_finds_more_than_one_that_does_not_learn(factor: str) -> None:
    assert harvest_of(Intelligent(weights={factor: 1.0})) > 1.5 * harvest_of(BreadthFirst())


class InTheFolder:
    """A predicate that is about URLs alone."""

    def relevance(self, page: Page) -> float:
        return float("/wanted/" in page.url)


def test_learns_a_predicate_that_is_not_about_the_text() -> None:
    hubs = [Url(f"http://hub{number}.example/") for number in range(20)]
    pages = {}
    for number, hub in enumerate(hubs):
        leaves = [f"{hub}{kind}/{place}" for place in range(3) for kind in ("other", "wanted", "misc")]
        pages[hub] = html(f"Hub {number}", f"number {number}", [*leaves, hubs[(number + 1) % 20]])
        pages |= {Url(leaf): html(f"Leaf {leaf[-1]}", f"leaf {leaf}") for leaf in leaves}
    crawling = crawl_of(pages, Intelligent(), judge=InTheFolder(), budget=Budget(pages=80))
    visits = visits_of(crawling, hubs[:1])
    late = [visit.relevance for visit in visits[30:]]
    assert sum(visit.relevance or 0.0 for visit in visits[30:]) > len(late) / 2  # of all pages, 30 % are wanted


def test_says_by_which_evidence_a_link_was_taken() -> None:
    visits = visits_of(crawl_of(TOPICAL, Intelligent()), [TOPICAL_SEED])
    because = [set(visit.candidate.because) for visit in visits[1:]]
    assert all(reasons <= {"words", "tokens", "links", "siblings"} for reasons in because)
    assert set().union(*because) == {"words", "tokens", "links", "siblings"}
