"""InfoSpiders: what happens to the agents, by hand."""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.reading import page_of_text
from lycosa.strategies.infospiders import Agent, InfoSpiders, PageMemory, RememberedPage, boltzmann, keywords_near
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Change, Fetch, Link, Outcome, Page, Skip, SkipReason, Url, Visit
from pages import GivenWords

A, B, C, D = (Url(f"http://{name}.example/") for name in "abcd")


def visit_of(
    url: Url, targets: Sequence[Url], relevance: float | None = 0.5, terms: dict[str, int] | None = None
) -> Visit:
    page = Page(url, "", "", "", GivenWords(terms or {}), tuple(Link(target) for target in targets))
    return Visit(Candidate(url, 0.0), Fetch(url, Outcome.OK, 0.0), page, relevance)


def refreshed(url: Url, new_targets: Sequence[Url]) -> Visit:
    """A changed page fetched again, as a strategy sees it."""
    return replace(visit_of(url, new_targets), change=Change.CHANGED, new_links=tuple(new_targets))


def tell(strategy: InfoSpiders, event: Visit | Skip) -> list[Candidate]:
    strategy.learn(event)
    return list(strategy.propose(event))


def visits_in(
    strategy: InfoSpiders, links: Callable[[int], Sequence[int]], seeds: Sequence[int], *, relevance: float, most: int
) -> list[Candidate]:
    """A crawl of a graph of integers; the candidates in the order in which they were visited."""
    frontier = SequentialFrontier()
    frontier.rank_by(strategy)
    frontier.put(strategy.start(seeds))
    visited: list[Candidate] = []
    while len(visited) < most and (candidate := frontier.take(0.0)) is not None:
        visited.append(candidate)
        frontier.put(tell(strategy, visit_of(candidate.url, links(candidate.url), relevance)))
        frontier.settle(candidate.url)
    return visited


def threefold(node: int) -> list[int]:
    """An endless tree in which every node has three links."""
    return [3 * node + 10, 3 * node + 11, 3 * node + 12]


def test_words_beyond_any_page_are_no_window() -> None:
    with pytest.raises(UsageError, match="near must be a number from 0 to 1,000"):
        InfoSpiders(near=10**9)


# ------------------------------------------------------------ energy


def test_a_fetch_costs_what_lets_the_first_agents_see_as_many_pages_as_asked() -> None:
    strategy = InfoSpiders(pages=1_000, theta=2.0)
    strategy.start([A, B, C, D, *(Url(f"http://{n}.example/") for n in range(6))])
    assert strategy.cost == pytest.approx(10 * 2 / (2 * 1_000))


def test_without_anything_relevant_the_population_dies_after_just_so_many_pages() -> None:
    strategy = InfoSpiders(pages=64)
    assert len(visits_in(strategy, threefold, [0, 1], relevance=0.0, most=1_000)) == 64
    assert strategy.agents == []


def test_a_page_gives_its_relevance_less_the_cost() -> None:
    strategy = InfoSpiders(pages=100)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=0.3))
    assert [agent.energy for agent in strategy.agents] == [pytest.approx(1 + 0.3 - 0.01)]


def test_without_a_judge_a_page_gives_its_cosine_with_the_topic() -> None:
    strategy = InfoSpiders(topic_words={"bee": 1, "hive": 1}, pages=100)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=None, terms={"bee": 3, "ship": 4}))
    assert strategy.agents[0].energy == pytest.approx(1 - 0.01 + 3 / (5 * math.sqrt(2)))


def test_of_two_agents_that_wait_for_one_page_the_second_pays_a_tenth_and_gains_nothing() -> None:
    strategy = InfoSpiders(pages=100)
    strategy.start([A, A])
    tell(strategy, visit_of(A, [B], relevance=0.3))
    assert [agent.target for agent in strategy.agents] == [B, B]
    energies = sorted(agent.energy for agent in strategy.agents)
    assert energies == [pytest.approx(1 - 0.1 * 0.02), pytest.approx(1 + 0.3 - 0.02)]


def test_a_page_visited_before_is_moved_on_from_without_a_fetch() -> None:
    strategy = InfoSpiders(pages=100, seed=1)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=0.0))
    (candidate,) = tell(strategy, visit_of(B, [A, C], relevance=0.0))
    assert candidate.url == C
    revisits = (1 - 2 * strategy.cost - strategy.agents[0].energy) / (0.1 * strategy.cost)
    assert revisits == pytest.approx(round(revisits))  # B -> A -> B -> ... until chance has it that C is chosen


def test_on_visited_pages_alone_an_agent_starves() -> None:
    strategy = InfoSpiders(pages=10)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=0.1))
    assert tell(strategy, visit_of(B, [A], relevance=0.1)) == []
    assert strategy.agents == []


def test_an_agent_that_wanders_to_where_there_is_no_way_out_dies_before_its_energy_is_gone() -> None:
    strategy = InfoSpiders(pages=100, revisit_cost=0.01, seed=1)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=0.0))
    # To and fro between A and B, until it happens to take the way to C and D, which lead only to each other.
    unreached = Url("http://unreached.example/")
    strategy.restore(
        strategy.state()
        | {
            "memory": [
                [A, [[B] * 200 + [C], 0, [], [], [], []]],
                [B, [[A] * 100_000 + [unreached], 0, [], [], [], []]],
                [C, [[D], 0, [], [], [], []]],
                [D, [[C], 0, [], [], [], []]],
            ]
        }
    )
    strategy.restore_visited([A, B, C, D])
    (agent,) = strategy.agents
    assert tell(strategy, Visit(Candidate(B, 0.0), Fetch(B, Outcome.GONE, 0.0))) == []
    assert strategy.agents == []
    revisits = (1 - strategy.cost - agent.energy) / (0.01 * strategy.cost)
    assert agent.page in {C, D} and 100 < revisits < 2_000


# ------------------------------------------------------------ reproduction


def test_at_theta_an_agent_reproduces_and_gives_half_of_its_energy() -> None:
    strategy = InfoSpiders(topic_words={"bee": 1}, pages=100)
    strategy.start([A])
    assert len(tell(strategy, visit_of(A, [B, C], relevance=1.0))) == 1  # 1.99: not yet
    offered = tell(strategy, visit_of(strategy.agents[0].target, [D], relevance=0.5, terms={"bee": 1, "wax": 2}))
    assert [agent.energy for agent in strategy.agents] == [pytest.approx((1.99 + 0.49) / 2)] * 2
    assert [list(agent.weights) for agent in strategy.agents] == [["bee"], ["wax"]]
    assert [candidate.because["agent"] for candidate in offered] == [1, 2]


def test_a_population_as_large_as_the_buffer_does_not_grow() -> None:
    strategy = InfoSpiders(pages=100, buffer=3)
    visits_in(strategy, threefold, [0], relevance=1.0, most=50)
    assert len(strategy.agents) == 3


def test_an_offspring_replaces_its_least_frequent_keyword_by_the_most_frequent_new_term() -> None:
    parent = Agent(1, 2.0, {"bee": 3.0, "hive": 2.0, "wax": 1.0}, {"bee": 0.3, "hive": 0.2, "wax": 0.1})
    terms = {"bee": 5, "wax": 1, "queen": 4, "drone": 2}
    child = parent.offspring(2, terms, Random(1))
    assert child.frequencies == {"bee": 3.0, "wax": 1.0, "queen": 2.0}
    assert child.weights == {"bee": 0.3, "wax": 0.1, "queen": 0.2}
    assert parent.weights == {"bee": 0.3, "hive": 0.2, "wax": 0.1}
    assert parent.energy == child.energy == 1.0


def test_on_a_page_without_new_terms_an_offspring_is_like_its_parent() -> None:
    parent = Agent(1, 2.0, {"bee": 1.0}, {"bee": 0.3})
    assert parent.offspring(2, {"bee": 4}, Random(1)).weights == {"bee": 0.3}


# ------------------------------------------------------------ estimates, choice and learning


def test_inputs_are_the_keywords_near_a_link_by_one_over_their_distance() -> None:
    text = "Bees here are two words before Honey jars, and a hive"
    links = [Link(B, "Honey jars", position=text.index("Honey")), Link(C, "hive", position=text.index("hive"))]
    found = keywords_near(page_of_text(A, "", text), links, {"bees", "honey", "hive", "absent"}, window=6)
    assert {key: column.tolist() for key, column in found.items()} == {
        "bees": [pytest.approx(1 / 7), 0.0],
        "honey": [1.0, pytest.approx(1 / 5)],
        "hive": [pytest.approx(1 / 5), 1.0],
    }


def test_occurrences_of_a_keyword_add_up_and_stems_count() -> None:
    text = "bee bees link bee"
    page, links = page_of_text(A, "", text, stem=True), [Link(B, position=text.index("link"))]
    (column,) = keywords_near(page, links, {"bee"}, window=5).values()
    assert column.tolist() == [pytest.approx(1 / 3 + 1 / 2 + 1 / 2)]


def test_an_estimate_is_the_tanh_of_the_weighted_inputs() -> None:
    page = RememberedPage([B, C], 0, {"bee": np.array([1.0, 0.0]), "wax": np.array([0.5, 0.25])})
    agent = Agent(1, 1.0, {}, {"bee": 0.4, "wax": -0.2, "hive": 9.0})
    assert agent.estimates(page).tolist() == pytest.approx([math.tanh(0.4 - 0.1), math.tanh(-0.05)])
    assert page.inputs_of(1) == {"wax": 0.25}


def test_links_are_chosen_with_the_probabilities_of_boltzmann() -> None:
    chances = boltzmann(np.array([0.5, 0.25, 0.0]), 0.125)
    assert chances.sum() == pytest.approx(1.0)
    assert chances[0] / chances[1] == pytest.approx(math.exp(2))
    assert chances[0] / chances[2] == pytest.approx(math.exp(4))


def test_agents_choose_with_these_probabilities() -> None:
    from scipy.stats import chisquare  # takes a second, which only a process that needs it shall

    text = "bees 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 ships"
    links = (Link(B, position=0), Link(C, position=text.index("ships")))
    strategy = InfoSpiders(topic_words={"bees": 1}, pages=10_000)
    strategy.start([A] * 2_000)
    page = Page(A, "", text, text, GivenWords({}), links)
    offered = tell(strategy, Visit(Candidate(A, 0.0), Fetch(A, Outcome.OK, 0.0), page, 0.1))
    expected = boltzmann(np.array([math.tanh(1.0), 0.0]), 0.125) * 2_000
    counts = Counter(candidate.url for candidate in offered)
    assert chisquare([counts[B], counts[C]], expected).pvalue > 0.01


def test_one_step_of_learning_by_hand() -> None:
    agent = Agent(1, 1.0, {}, {"bee": 0.5, "wax": 0.0, "far": 0.7})
    agent.learn({"bee": 1.0, "wax": 2.0, "unknown": 3.0}, 0.8, epochs=1, rate=0.5, momentum=0.9)
    output = math.tanh(0.5)
    slope = 0.5 * (0.8 - output) * (1 - output**2)
    assert slope == pytest.approx(0.13286, abs=1e-5)
    assert agent.weights == {"bee": pytest.approx(0.5 + slope), "wax": pytest.approx(2 * slope), "far": 0.7}


def test_a_second_step_carries_nine_tenths_of_the_first() -> None:
    once, twice = (Agent(1, 1.0, {}, {"bee": 0.5}) for _ in range(2))
    once.learn({"bee": 1.0}, 0.8, epochs=1, rate=0.5, momentum=0.9)
    twice.learn({"bee": 1.0}, 0.8, epochs=2, rate=0.5, momentum=0.9)
    first = once.weights["bee"] - 0.5
    output = math.tanh(once.weights["bee"])
    second = 0.5 * (0.8 - output) * (1 - output**2) + 0.9 * first
    assert twice.weights["bee"] == pytest.approx(once.weights["bee"] + second)


def test_without_topic_words_an_agent_takes_those_of_its_first_page() -> None:
    strategy = InfoSpiders()
    strategy.start([A])
    terms = {f"rare{n:02}": 1 for n in range(30)} | {"bee": 4, "hive": 3}
    tell(strategy, visit_of(A, [B], terms=terms))
    (agent,) = strategy.agents
    assert len(agent.weights) == 20
    assert agent.frequencies["bee"] == 4 and agent.frequencies["hive"] == 3
    assert math.hypot(*agent.weights.values()) == pytest.approx(1.0)


# ------------------------------------------------------------ whose turn it is


@pytest.mark.slow
def test_the_next_to_move_is_any_agent_with_equal_chance() -> None:
    from scipy.stats import chisquare

    strategy = InfoSpiders(pages=10_000, theta=1e9, seed=5)  # nobody reproduces or dies
    visits = visits_in(strategy, threefold, range(5), relevance=0.1, most=3_000)
    moving = [candidate.because["agent"] for candidate in visits[100:]]
    assert chisquare(list(Counter(moving).values())).pvalue > 0.01
    pairs = Counter(pairwise(moving))
    assert len(pairs) == 25
    assert chisquare(list(pairs.values())).pvalue > 0.01  # whoever moved last


def test_an_agent_whose_link_was_dead_or_refused_chooses_another_in_the_same_turn() -> None:
    strategy = InfoSpiders(pages=100)
    strategy.start([A])
    (first,) = tell(strategy, visit_of(A, [B, C, D], relevance=0.1))
    (second,) = tell(strategy, Visit(first, Fetch(first.url, Outcome.GONE, 0.0)))
    (third,) = tell(strategy, Skip(second, SkipReason.SCOPE, "host excluded"))
    assert {first.url, second.url, third.url} == {B, C, D}
    assert first.priority == second.priority == third.priority
    assert strategy.agents[0].energy == pytest.approx(1.1 - strategy.cost)
    assert tell(strategy, Skip(third, SkipReason.SCOPE, "host excluded")) == []
    assert strategy.agents == []  # no way out is left


def test_an_agent_goes_along_with_a_redirect() -> None:
    strategy = InfoSpiders(pages=100)
    strategy.start([A])
    (chosen,) = tell(strategy, visit_of(A, [B], relevance=0.1))
    assert tell(strategy, Visit(chosen, Fetch(B, Outcome.MOVED, 0.0, location=C))) == []
    (onward,) = tell(strategy, visit_of(C, [D], relevance=0.1))
    assert (onward.url, onward.found_on) == (D, C)


def test_an_agent_redirected_to_where_somebody_was_moves_on_from_there() -> None:
    strategy = InfoSpiders(pages=100, seed=3)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=0.1))
    (chosen,) = tell(strategy, visit_of(B, [C], relevance=0.1))
    assert tell(strategy, Visit(chosen, Fetch(C, Outcome.MOVED, 0.0, location=A))) == []
    assert strategy.agents == []  # from A and B there is only C, and that was visited


def test_a_seed_that_failed_and_is_fetched_again_has_a_new_agent() -> None:
    strategy = InfoSpiders(topic_words={"bee": 1}, pages=100)
    (seed,) = strategy.start([A])
    assert tell(strategy, Visit(seed, Fetch(A, Outcome.FAILED, 0.0))) == []
    assert strategy.agents == []
    again = Candidate(A, 1.0, because={"seed": True})
    (onward,) = tell(strategy, replace(visit_of(A, [B], relevance=0.3), candidate=again))
    assert (onward.url, onward.found_on) == (B, A)
    assert [agent.energy for agent in strategy.agents] == [pytest.approx(1 + 0.3 - 0.01)]
    tell(strategy, replace(refreshed(A, [C]), candidate=again))
    assert len(strategy.agents) == 1


def test_an_agent_on_a_page_without_links_stays_where_it_was() -> None:
    strategy = InfoSpiders(pages=100)
    strategy.start([A])
    (first,) = tell(strategy, visit_of(A, [B, C], relevance=0.1))
    (second,) = tell(strategy, visit_of(first.url, [], relevance=0.1))
    assert {first.url, second.url} == {B, C}
    assert second.found_on == A


# ------------------------------------------------------------ memory


def test_the_pages_used_least_lately_are_forgotten_unless_somebody_stands_there() -> None:
    memory = PageMemory(2)
    for url in (A, B, C):
        memory.keep(url, RememberedPage([], 0, {}), occupied={A})
    assert [A in memory, B in memory, C in memory] == [True, False, True]
    memory.keep(D, RememberedPage([], 0, {}), occupied=())
    assert [A in memory, C in memory, D in memory] == [False, True, True]


def test_a_page_kept_again_is_used_lately() -> None:
    memory = PageMemory(2)
    for url in (A, B, A, C):
        memory.keep(url, RememberedPage([], 0, {}), occupied=())
    assert [A in memory, B in memory, C in memory] == [True, False, True]


def test_new_links_of_a_page_fetched_again_are_added_to_those_remembered() -> None:
    strategy = InfoSpiders(topic_words={"bee": 1}, pages=100, seed=1)
    strategy.start([A])
    (chosen,) = tell(strategy, visit_of(A, [B, C], relevance=0.1))
    assert strategy.agents[0].link == 1
    assert tell(strategy, refreshed(A, [D])) == []
    assert [page[0] for url, page in strategy.state()["memory"] if url == A] == [[B, C, D]]
    (second,) = tell(strategy, visit_of(chosen.url, [], relevance=0.1))
    (third,) = tell(strategy, visit_of(second.url, [], relevance=0.1))
    assert {chosen.url, second.url, third.url} == {B, C, D}


def test_inputs_of_links_stay_when_further_ones_are_added() -> None:
    page = RememberedPage([B], 3, {"bee": np.array([1.0])})
    more = page.with_links([C, D], {"bee": np.array([0.0, 0.5]), "wax": np.array([0.25, 0.0])})
    assert (more.targets, more.depth) == ([B, C, D], 3)
    assert [more.inputs_of(link) for link in range(3)] == [{"bee": 1.0}, {"wax": 0.25}, {"bee": 0.5}]


def test_a_choice_that_was_not_proposed_yet_survives_as_plain_data() -> None:
    strategy, again = InfoSpiders(pages=100), InfoSpiders(pages=100)
    strategy.start([A])
    event = visit_of(A, [B])
    strategy.learn(event)
    again.restore(json.loads(json.dumps(strategy.state())))
    assert list(again.propose(event)) == list(strategy.propose(event)) != []


def test_agents_of_older_states_are_restored() -> None:
    strategy = InfoSpiders(pages=100)
    strategy.start([A])
    tell(strategy, visit_of(A, [B]))
    state = strategy.state()
    assert state["agents"][0]["turn"] == strategy.agents[0].next_move_at
    del state["chosen"]
    again = InfoSpiders(pages=100)
    again.restore(state)
    assert again.agents == strategy.agents


def test_a_visited_page_that_is_forgotten_cannot_be_moved_to() -> None:
    strategy = InfoSpiders(pages=100, buffer=1)
    strategy.start([A])
    tell(strategy, visit_of(A, [B], relevance=0.1))
    tell(strategy, visit_of(B, [C], relevance=0.1))
    tell(strategy, visit_of(C, [A, B, D], relevance=0.1))  # A is forgotten, on B it stood until now
    before = strategy.agents[0].energy
    assert tell(strategy, Visit(Candidate(D, 0.0), Fetch(D, Outcome.GONE, 0.0))) == []
    assert before > 0 and strategy.agents == []


def test_what_is_remembered_of_a_page_survives_as_plain_data() -> None:
    page = RememberedPage([B, C], 3, {"bee": np.array([1.0, 0.0]), "wax": np.array([0.0, 0.25])})
    again = RememberedPage.from_state(page.state())
    assert (again.targets, again.depth, again.keywords) == ([B, C], 3, ["bee", "wax"])
    assert again.inputs.tolist() == page.inputs.tolist()


def test_a_page_with_new_links_at_every_refresh_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.strategies.infospiders.MAX_REMEMBERED_LINKS", 3)
    strategy = InfoSpiders(topic_words={"bee": 1}, pages=100, seed=1)
    strategy.start([A])
    tell(strategy, visit_of(A, [B, C], relevance=0.1))
    for number in range(5):
        tell(strategy, refreshed(A, [Url(f"{D}{number}"), Url(f"{D}x{number}")]))
    assert [page[0] for url, page in strategy.state()["memory"] if url == A] == [[B, C, Url(f"{D}0")]]
