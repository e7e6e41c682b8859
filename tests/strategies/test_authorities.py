"""Crawl-AI and Crawl-GAI: who is taken when, by the in-links seen so far."""

import json
from collections import Counter

import pytest

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.strategies import CrawlAI, CrawlGAI
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Url, Visit
from lycosa_lab.simulation import crawl
from pages import GivenWords

NO_WORDS = GivenWords({})
Links = dict[int, list[int]]

# Sources 1, 2, 3 are read first, whatever the chance; then 10 has one in-link, 11 two, 12 three.
ONE_TWO_THREE: Links = {1: [10, 11, 12], 2: [11, 12, 2], 3: [12, 12, 12]}


def visit_of(node: int, links: Links, candidate: Candidate | None = None) -> Visit:
    page = Page(Url(node), "", "", "", NO_WORDS, tuple(Link(Url(target)) for target in links.get(node, [])))
    return Visit(candidate or Candidate(Url(node), 1.0), Fetch(Url(node), Outcome.OK, 0.0), page, relevance=0.0)


def frontier_after(strategy: Strategy, links: Links) -> SequentialFrontier:
    """What waits when some pages were read that another strategy had chosen."""
    frontier = SequentialFrontier()
    frontier.rank_by(strategy)
    for node in links:
        visit = visit_of(node, links)
        frontier.settle(Url(node))
        strategy.learn(visit)
        frontier.put(strategy.propose(visit))
    return frontier


def taken_from(frontier: SequentialFrontier) -> int:
    candidate = frontier.take()
    assert candidate is not None
    return int(candidate.url)


def order_of(strategy: Strategy, links: Links, seeds: list[int]) -> list[int]:
    def read(url: Url) -> Page | None:
        return visit_of(int(url), links).page

    steps = crawl(strategy, [Url(seed) for seed in seeds], read=read, judge=lambda page: 0.0, pages=1_000)
    return [int(step.url) for step in steps]


@pytest.mark.parametrize("strategy", [CrawlAI(seed=1), CrawlGAI()], ids=lambda strategy: strategy.name)
def test_a_seed_given_twice_starts_at_one_in_link(strategy: Strategy) -> None:
    assert [candidate.url for candidate in strategy.start([Url("a"), Url("b"), Url("a")])] == ["a", "b"]


@pytest.mark.slow
def test_crawl_ai_draws_the_first_in_proportion_to_apparent_in_degree() -> None:
    from scipy.stats import chisquare  # takes a second, which only a process that needs it shall

    draws = 6_000
    counts = Counter(taken_from(frontier_after(CrawlAI(seed=seed), ONE_TWO_THREE)) for seed in range(draws))
    expected = {10: draws / 6, 11: draws / 3, 12: draws / 2}
    assert set(counts) == set(expected)
    assert chisquare([counts[node] for node in expected], list(expected.values())).pvalue > 0.01


@pytest.mark.slow
def test_crawl_ai_draws_the_next_in_proportion_to_what_was_seen_by_then() -> None:
    from scipy.stats import chisquare

    """The links of the first page drawn count as much as those that waited longer."""
    links = {**ONE_TWO_THREE, 10: [20, 11], 11: [20, 10], 12: [20, 10]}
    seconds: dict[int, Counter[int]] = {10: Counter(), 11: Counter(), 12: Counter()}
    for seed in range(9_000):
        strategy = CrawlAI(seed=seed)
        frontier = frontier_after(strategy, ONE_TWO_THREE)
        candidate = frontier.take()
        assert candidate is not None
        visit = visit_of(int(candidate.url), links, candidate)
        strategy.learn(visit)
        frontier.put(strategy.propose(visit))
        seconds[int(candidate.url)][taken_from(frontier)] += 1
    weights = {10: {11: 3, 12: 3, 20: 1}, 11: {10: 2, 12: 3, 20: 1}, 12: {10: 2, 11: 2, 20: 1}}
    for first, drawn in seconds.items():
        total, sum_of_weights = sum(drawn.values()), sum(weights[first].values())
        expected = [total * weight / sum_of_weights for weight in weights[first].values()]
        assert chisquare([drawn[node] for node in weights[first]], expected).pvalue > 0.01


def test_crawl_ai_is_another_for_another_seed_and_the_same_for_the_same() -> None:
    links = {0: list(range(1, 30))}
    one, again, other = (order_of(CrawlAI(seed=seed), links, [0]) for seed in (1, 1, 2))
    assert one == again != other
    assert sorted(one) == sorted(other) == list(range(30))


def test_crawl_ai_stopped_and_restored_draws_on_as_if_it_had_not() -> None:
    links = {node: [(7 * node + step) % 40 for step in (1, 2, 3, 11)] for node in range(40)}
    one, other = CrawlAI(seed=3), CrawlAI()
    frontier_after(one, {node: links[node] for node in range(10)})
    other.restore(json.loads(json.dumps(one.state())))
    assert list(one.propose(visit_of(11, links))) == list(other.propose(visit_of(11, links)))


def test_crawl_ai_ranked_anew_after_another_strategy_draws_in_proportion_all_the_same() -> None:
    from scipy.stats import chisquare

    """Priorities of other strategies are no moments of its clock: -40 does not make everything overdue."""
    counts: Counter[int] = Counter()
    for seed in range(3_000):
        strategy, frontier = CrawlAI(seed=seed), SequentialFrontier()
        frontier.rank_by(strategy)
        for node in ONE_TWO_THREE:
            visit = visit_of(node, ONE_TWO_THREE, Candidate(Url(node), -40.0 + node, because={"depth": 40 - node}))
            strategy.learn(visit)
            frontier.put(strategy.propose(visit))
        counts[taken_from(frontier)] += 1
    assert chisquare([counts[10], counts[11], counts[12]], [500, 1_000, 1_500]).pvalue > 0.01


def test_crawl_gai_takes_the_highest_in_degree_and_of_equals_the_first_to_have_it() -> None:
    frontier = frontier_after(CrawlGAI(), {**ONE_TWO_THREE, 4: [13, 10], 5: [13]})
    assert [taken_from(frontier) for _ in range(4)] == [12, 11, 10, 13]


def test_crawl_gai_counts_on_what_was_read_since() -> None:
    links = {0: [1, 2, 3], 1: [5], 2: [5, 6], 3: [6], 5: [6]}
    assert order_of(CrawlGAI(), links, [0]) == [0, 1, 2, 5, 6, 3]


@pytest.mark.parametrize("strategy", [CrawlAI, CrawlGAI])
def test_a_page_counts_once_for_each_url_and_not_for_itself(strategy: type[CrawlAI] | type[CrawlGAI]) -> None:
    proposed = list(strategy().propose(visit_of(1, {1: [2, 3, 2, 1, 3]})))
    assert [int(candidate.url) for candidate in proposed] == [2, 3]
