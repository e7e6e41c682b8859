"""The target of relevance: the weight that keeps to it, the standing expected of links, and hunter by both."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa import testing
from lycosa.run.live import describe_target_result
from lycosa.run.reasons import reasons_in_words
from lycosa.strategies.hunter import MAX_LINKS_PER_PAGE, MAX_ROWS, Hunter
from lycosa.strategies.target import (
    LOOKAHEAD_LINKS,
    MAX_OLDER_LINKS,
    WINDOW,
    OlderLinks,
    RelevanceTarget,
    StandingEvidence,
    least_weight,
    logistic,
    logit,
)
from lycosa.testing import SmallWeb, random_world
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from strategies.test_hunter import proposed, url_of, visit

shares = st.floats(0.0, 1.0).map(lambda share: round(share, 3))
links = st.lists(st.tuples(shares, shares), min_size=1, max_size=40)


def both(pairs: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    relevance, standing = np.array(pairs).T
    return relevance, standing


def mean_relevance_of_best(relevance, standing, alpha: float, count: int) -> float:
    order = np.lexsort((-relevance, -np.round(alpha * relevance + (1 - alpha) * standing, 9)))
    return float(relevance[order[:count]].mean())


def a_target(target: float, reach=lambda url: 0.0) -> RelevanceTarget:
    return RelevanceTarget(target, StandingEvidence(reach))


def solved(target: RelevanceTarget, pairs: list[tuple[float, float]]) -> RelevanceTarget:
    relevance, standing = both([(logit(known), logit(expected)) for known, expected in pairs])
    target.update_alpha(relevance, standing)
    return target


# ------------------------------------------------------------ the weight


@pytest.mark.slow
@given(pairs=links, count=st.integers(1, 40), alphas=st.tuples(shares, shares))
def test_the_mean_relevance_of_the_chosen_never_falls_as_relevance_weighs_more(pairs, count, alphas) -> None:
    low, high = (mean_relevance_of_best(*both(pairs), alpha, count) for alpha in sorted(alphas))
    assert low <= high + 1e-9


@pytest.mark.slow
@given(pairs=links, count=st.integers(1, 40), needed=shares)
def test_the_constraint_is_met_wherever_relevance_alone_meets_it(pairs, count, needed) -> None:
    relevance, standing = both(pairs)
    best = float(np.sort(relevance)[::-1][:count].mean())
    alpha = least_weight(relevance, standing, needed=needed, count=count)
    assert (alpha is None) == (best < needed - 1e-8) or abs(best - needed) < 1e-8
    if alpha is not None:
        values = (alpha + 1e-9) * relevance + (1 - alpha) * standing
        chosen = np.argsort(-values, kind="stable")[: min(count, len(values))]
        assert relevance[chosen].mean() >= needed - 1e-6


@pytest.mark.slow
@given(pairs=links, count=st.integers(1, 40), needed=st.tuples(shares, shares))
def test_more_relevance_takes_no_less_weight(pairs, count, needed) -> None:
    low, high = (least_weight(*both(pairs), needed=each, count=count) for each in sorted(needed))
    assert high is None or (low is not None and low <= high)


def test_half_of_the_weight_of_a_link_is_worth_as_much_as_the_other() -> None:
    relevance, standing = both([(0.9, 0.1), (0.1, 0.9)])
    assert least_weight(relevance, standing, needed=0.0, count=1) == 0.0
    assert least_weight(relevance, standing, needed=0.5, count=1) == pytest.approx(0.5, abs=1e-3)
    assert least_weight(relevance, standing, needed=0.95, count=1) is None
    assert least_weight(np.empty(0), np.empty(0), needed=0.5, count=1) is None


# ------------------------------------------------------------ the target

MIXED = [(0.9, 0.1), (0.1, 0.9), (0.5, 0.5)] * LOOKAHEAD_LINKS


@pytest.mark.parametrize(("target", "alpha"), [(0.0, 0.0), (0.6, 0.5), (0.99, 1.0)])
def test_the_weight_follows_from_what_waits(target: float, alpha: float) -> None:
    found = solved(a_target(target), MIXED)
    assert found.alpha == pytest.approx(alpha, abs=0.01)
    assert found.is_attainable == (target < 0.99)


def test_pages_below_the_target_are_made_up_for_and_pages_above_it_spent() -> None:
    alphas = []
    for relevance in (0.2, 0.5, 0.9):
        target = a_target(0.5)
        for number in range(WINDOW):
            target.add(url_of(str(number)), relevance, None)
        waiting = [(share, 1.0 - share**2) for share in np.linspace(0.01, 0.99, 200)]
        alphas.append(solved(target, waiting).alpha)
    assert alphas == sorted(alphas, reverse=True) and len(set(alphas)) == 3


def test_the_mean_is_that_of_the_last_pages() -> None:
    target = a_target(0.5)
    assert target.recent_relevance is None
    for number in range(WINDOW + 50):
        target.add(url_of(str(number)), 0.0 if number < 50 else 0.8, None)
    assert (len(target), target.recent_relevance) == (WINDOW, pytest.approx(0.8))
    target.rejudge({url_of("149"): 0.3, url_of("7"): 0.3})
    assert target.recent_relevance == pytest.approx(0.795)


def test_estimates_that_are_plainly_too_high_count_for_less() -> None:
    right, wrong = a_target(0.5), a_target(0.5)
    for number in range(WINDOW):
        right.add(url_of(str(number)), float(number % 10 < 7), logit(0.7))
        wrong.add(url_of(str(number)), float(number % 10 < 3), logit(0.7))
    for target in (right, wrong):
        solved(target, MIXED)
    assert right.explain(logit(0.7), 0.0)["relevance"] == pytest.approx(0.7, abs=0.01)
    assert wrong.explain(logit(0.7), 0.0)["relevance"] == pytest.approx(0.3, abs=0.06)


def test_it_goes_on_where_it_was_left() -> None:
    target = a_target(0.5)
    for number in range(30):
        target.add(url_of(str(number)), number / 30, logit(0.4))
    solved(target, MIXED)
    other = a_target(0.5)
    other.restore(target.state())
    assert other.state() == target.state()


@pytest.mark.parametrize(
    ("target", "relevance", "said"),
    [
        (
            0.9,
            0.3,
            "target 0.9 was out of reach: the last 100 pages have a mean relevance of 0.30, "
            "so links were ranked by relevance alone",
        ),
        (
            0.3,
            0.9,
            "target 0.3: the last 100 pages have a mean relevance of 0.90, so links were ranked by importance alone",
        ),
    ],
)
def test_it_is_told_what_became_of_a_target(target: float, relevance: float, said: str) -> None:
    found = a_target(target)
    for number in range(WINDOW):
        found.add(url_of(str(number)), relevance, None)
    assert describe_target_result(solved(found, MIXED)) == said


def test_it_is_told_where_what_waits_is_below_what_was_found() -> None:
    found = a_target(0.6)
    found.add(url_of("a"), 0.7, None)
    found.add(url_of("b"), 0.7, None)
    assert describe_target_result(solved(found, [(0.1, 0.9)])) == (
        "target 0.6: the last 2 pages have a mean relevance of 0.70; the waiting links are below it, "
        "so links were ranked by relevance alone"
    )


def test_it_is_told_how_both_weigh() -> None:
    found = a_target(0.6)
    found.add(url_of("a"), 0.6, None)
    said = describe_target_result(solved(found, MIXED))
    assert said.startswith("target 0.6: the last page has a relevance of 0.60; relevance weighs 0.5")


# ------------------------------------------------------------ standing of links


def test_links_from_other_sites_from_pages_of_standing_and_into_known_domains_are_expected_to_stand_higher() -> None:
    evidence = StandingEvidence(lambda url: 3.0 if "known" in url else 0.0)
    for site, standing in (("a", 0.9), ("b", 0.9), ("c", 0.1), ("d", None)):
        evidence.add_parent(Url(f"http://{site}.example/"), standing)
    evidence.add_links([Url(f"http://{site}.example/x") for site in ("a", "z", "z", "known", "z")])
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 2), (4, 3)]  # link, page
    at, parents = np.array(rows).T
    parts = evidence.parts(np.arange(5), at, parents, is_complete=True)
    by_parents, by_sites, by_domain = parts.T
    assert by_parents[0] == by_parents[1] > 0.0 > by_parents[2] and by_parents[4] == 0.0
    assert by_sites[1] > by_sites[0] == by_sites[2], "its own site does not count"
    assert by_sites.mean() == pytest.approx(0.0)
    assert by_domain.tolist() == pytest.approx([0.0, 0.0, 0.0, 0.3, 0.0])


def test_where_there_is_one_site_pages_that_link_count() -> None:
    evidence = StandingEvidence(lambda url: 0.0)
    for path in "abc":
        evidence.add_parent(url_of(path), None)
    evidence.add_links([url_of("x"), url_of("y")])
    parts = evidence.parts(np.arange(2), np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), is_complete=True)
    assert parts[0, 1] > 0.0 > parts[1, 1]


def test_of_older_links_those_stay_that_may_still_come_first() -> None:
    older, target = OlderLinks(), a_target(0.5)
    count = MAX_OLDER_LINKS + 10
    made = [(url_of(str(number)), None, "", 1) for number in range(count)]
    estimates = np.stack((np.arange(count), np.full(count, -9.0), np.zeros(count)), axis=1) / count
    older.add(made, estimates)
    assert len(older) == MAX_OLDER_LINKS
    assert older.relevance(url_of("9")) is None and older.relevance(url_of("10")) is not None
    target.evidence.older = older
    revalued_older = target.revalued_older(min_change=0.1, max_offers=400)
    assert len(revalued_older) == 400
    assert all(0.0 < each.priority < 1.0 and each.because["weighed"]["alpha"] == 1.0 for each in revalued_older)
    assert {each.url for each in target.revalued_older(min_change=0.1, max_offers=400)}.isdisjoint(
        each.url for each in revalued_older
    )


# ------------------------------------------------------------ hunter


def with_standing(page: Visit, standing: float | None) -> Visit:
    return Visit(page.candidate, page.fetch, page.page, page.relevance, standing=standing)


def test_at_target_0_standing_alone_decides_and_at_1_relevance_alone() -> None:
    pages = [
        with_standing(visit("x", ["a"], relevance=0.95), 0.1),
        with_standing(visit("y", ["b"], relevance=0.05), 0.9),
    ]
    low, high = (proposed(Hunter(sample=0, target=target), *pages, visit("z", [])) for target in (0.0, 1.0))
    assert low["b"] > low["a"] and high["a"] > high["b"]


def test_at_target_1_standing_is_neither_asked_for_nor_counted() -> None:
    pages = [visit(str(page), [f"{page}-{link}" for link in range(30)], relevance=page / 20) for page in range(20)]
    without, given = Hunter(), Hunter(target=1.0)
    for page in pages:
        for strategy, seen in ((without, page), (given, with_standing(page, 0.7))):
            strategy.learn(seen)
        assert list(without.propose(page)) == list(given.propose(with_standing(page, 0.7)))
    assert without.state() == given.state()
    assert not given.uses_standing and Hunter(target=0.99).uses_standing


@pytest.mark.slow
def test_links_that_left_the_table_are_weighed_anew() -> None:
    strategy = Hunter(sample=0, target=0.3)
    last = MAX_ROWS // 500 + 20
    for number in range(last + 1):
        page = visit(str(number), [f"{number}-{link}" for link in range(500)], relevance=0.9)
        proposed(strategy, with_standing(page, number % 10 / 10))
    older = strategy.target.evidence.older
    assert 0 < len(older) <= MAX_OLDER_LINKS
    gone = proposed(strategy, *(visit(f"on-{number}", [], relevance=0.99) for number in range(120)))
    assert any(older.relevance(url_of(path)) is not None for path in gone)
    restored = Hunter(sample=0, target=0.3)
    restored.restore(strategy.state())
    page = visit(f"{last}-3", ["0-7", "z"], relevance=0.2)
    assert proposed(restored, page) == proposed(strategy, page)


def test_the_end_of_a_very_long_list_is_weighed_too() -> None:
    strategy = Hunter(sample=3, target=0.5)
    strategy.start([url_of("")])
    page = with_standing(visit("", [str(number) for number in range(MAX_LINKS_PER_PAGE + 500)]), 0.9)
    strategy.learn(page)
    found = list(strategy.propose(page))
    assert len(found) == MAX_LINKS_PER_PAGE + 500
    assert len(strategy.target.evidence.older) + sum(each.priority == 1.0 for each in found[:500]) == 500
    assert all("weighed" in each.because for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.0, 0.5, 0.9])
def test_hunter_keeps_the_laws_at_any_target(target: float) -> None:
    testing.check_strategy(partial(Hunter, target=target), worlds=3)


@pytest.mark.parametrize("stop_after", [1, 4, 9])
@pytest.mark.parametrize("target", [0.2, 0.6])
def test_stopped_and_restored_it_goes_on_as_if_it_had_not(target: float, stop_after: int) -> None:
    world = random_world(5, pages=20)
    standings = {url: number / 20 for number, url in enumerate(world.pages)}
    relevances = {url: (7 * number % 20) / 20 for number, url in enumerate(world.pages)}
    world = SmallWeb(world.pages, relevances=relevances, standings=standings)
    testing.resumes_where_it_stopped(lambda world: Hunter(target=target), world, stop_after=stop_after)


def test_a_graph_of_numbers_is_crawled_at_a_target_too() -> None:
    strategy = Hunter(target=0.4)
    page = visit("", ["a"])
    numbered = Visit(Candidate(7, 0.5), Fetch(7, Outcome.OK, 0.0), page.page, 0.4, standing=0.3)
    strategy.learn(numbered)
    assert list(strategy.propose(numbered))


def test_both_estimates_are_explained_in_plain_words() -> None:
    strategy = Hunter(sample=0, target=0.5)
    page = with_standing(visit("", ["http://b.example/x"], relevance=0.9), 0.8)
    strategy.learn(page)
    (candidate,) = strategy.propose(page)
    said = reasons_in_words(candidate.because)
    assert "× the odds of high importance because of the importance of the pages that link to it" in said
    how = candidate.because["weighed"]
    assert f"relevant with probability {how['relevance']:.2f} and importance {how['standing']:.2f}" in said
    mixed = how["alpha"] * how["relevance"] + (1 - how["alpha"]) * how["standing"]
    assert candidate.priority == pytest.approx(mixed, abs=1e-3)


def test_a_target_beyond_1_is_refused() -> None:
    with pytest.raises(UsageError, match="target must lie between 0 and 1"):
        Hunter(target=1.5)


def test_log_odds_and_shares_are_each_others_inverse() -> None:
    assert logistic(np.array([logit(share) for share in (0.1, 0.5, 0.9)])) == pytest.approx([0.1, 0.5, 0.9])
