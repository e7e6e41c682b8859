import json
from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.strategies import Adaptive, InLinks
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Link, Visit
from strategies.visits import url_of, visit_of


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


def step(strategy: InLinks, visit: Visit) -> list[Candidate]:
    strategy.learn(visit)
    return list(strategy.propose(visit))


def standing_of(strategy: InLinks, name: str) -> float:
    """As it is told by the first link of a page that is visited now."""
    told: float = step(strategy, visit_of(name, 0.5))[0].because["standing"]
    return told


def test_standing_grows_with_the_in_links_seen_so_far() -> None:
    strategy = InLinks(theta=1.0)
    step(strategy, visit_of("a", 0.5, links=["x", "y"]))
    step(strategy, visit_of("b", 0.5, links=["x"]))
    assert standing_of(strategy, "z") == pytest.approx(sigmoid(log(1) - 1.0), abs=1e-4)
    assert standing_of(strategy, "y") == pytest.approx(sigmoid(log(2) - 1.0), abs=1e-4)
    assert standing_of(strategy, "x") == pytest.approx(sigmoid(log(3) - 1.0), abs=1e-4)


def test_a_link_is_worth_the_utility_by_the_in_links_of_its_page() -> None:
    strategy = InLinks(theta=0.0, step=0.0, alpha=0.5)
    step(strategy, visit_of("a", 0.5, links=["x"]))
    step(strategy, visit_of("b", 0.5, links=["x"]))
    (candidate,) = step(strategy, visit_of("x", 0.48))
    assert candidate.priority == pytest.approx((0.48 * 0.75) ** 0.5)  # sigmoid(ln 3) is 3/4


def test_while_the_weight_moves_links_count_by_the_first_weight_as_those_of_adaptive_do() -> None:
    ranked = InLinks(target=1.0, theta=0.0, step=1e9)  # α goes from 0.5 to 1
    published = InLinks(target=1.0, theta=0.0, step=1e9, ranked_among=0)
    for strategy in (ranked, published):
        step(strategy, visit_of("a", 0.5, links=["x"]))
        step(strategy, visit_of("b", 0.5, links=["x"]))
    assert step(published, visit_of("x", 0.75))[0].priority == pytest.approx(0.75)
    assert step(ranked, visit_of("x", 0.75))[0].priority == pytest.approx(0.75)  # of 1/2, 1/2 and 3/4 by the first
    assert step(published, visit_of("c", 0.6))[0].priority == pytest.approx(0.6)
    assert step(ranked, visit_of("c", 0.6))[0].priority == pytest.approx((0.6 * 0.5) ** 0.5)


def test_theta_is_the_median_over_the_pages_as_they_were_when_visited() -> None:
    strategy = InLinks()
    assert strategy.theta == 0.0
    medians = []
    for name, links in [("a", "bcd"), ("b", "cda"), ("c", "d"), ("d", "a"), ("e", "")]:
        step(strategy, visit_of(name, 0.5, links=list(links)))
        medians.append(strategy.theta)
    # in-links when visited: a 0 | b 1 | c 2 | d 3 | e 0; that a is linked to later does not count
    assert medians == pytest.approx([0.0, log(2) / 2, log(2), (log(2) + log(3)) / 2, log(2)])


def test_the_page_just_visited_is_one_of_those_the_median_is_of() -> None:
    strategy = InLinks()
    assert standing_of(strategy, "a") == 0.5
    strategy = InLinks()
    step(strategy, visit_of("a", 0.5, links=["b"]))
    assert standing_of(strategy, "b") == pytest.approx(sigmoid(log(2) - log(2) / 2), abs=1e-4)


def test_what_the_visit_says_of_standing_is_not_looked_at() -> None:
    low, high = (step(InLinks(), visit_of("a", 0.5, standing)) for standing in (0.0, 1.0))
    assert low == high


def test_links_of_a_page_to_itself_twice_to_the_same_or_not_to_be_followed_do_not_count() -> None:
    strategy = InLinks(theta=0.0)
    links = [Link(url_of("a")), Link(url_of("x")), Link(url_of("x")), Link(url_of("y"), rel="nofollow")]
    (first, *_) = step(strategy, visit_of("a", 0.5, links=links))
    assert first.because["standing"] == 0.5
    assert standing_of(strategy, "x") == pytest.approx(2 / 3, abs=1e-4)
    assert standing_of(strategy, "y") == 0.5


def test_alpha_moves_as_that_of_the_adaptive_crawler() -> None:
    inlinks, adaptive = InLinks(target=0.6), Adaptive(target=0.6)
    for number, relevance in enumerate([0.1, 0.9, 0.4, 1.0, 0.7]):
        visit = visit_of(f"page{number}", relevance)
        inlinks.learn(visit)
        adaptive.learn(visit)
        assert inlinks.alpha == adaptive.alpha
        assert inlinks.recent_relevance == adaptive.recent_relevance


@pytest.mark.slow
@given(
    pages=st.lists(st.tuples(st.floats(0.0, 1.0), st.lists(st.integers(0, 9), max_size=4)), max_size=10),
    stop_after=st.integers(0, 10),
)
def test_stopped_and_restored_it_proposes_the_same(pages: list[tuple[float, list[int]]], stop_after: int) -> None:
    visits = [
        visit_of(f"p{number}", relevance, links=[f"p{target}" for target in targets])
        for number, (relevance, targets) in enumerate(pages)
    ]
    first, second = InLinks(), InLinks()
    for visit in visits[:stop_after]:
        step(first, visit)
    state = first.state()
    as_saved = json.dumps(state)
    second.restore(json.loads(as_saved))
    for visit in visits[stop_after:]:
        assert step(first, visit) == step(second, visit)
    assert first.theta == second.theta
    assert json.dumps(state) == as_saved


def test_a_theta_that_is_no_number_is_told() -> None:
    with pytest.raises(UsageError, match="theta must be a number, not inf"):
        InLinks(theta=inf)
