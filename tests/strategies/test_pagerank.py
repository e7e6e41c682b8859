"""PageRank: the ranks against an independent implementation, and the books that are kept for them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.strategies.pagerank import PageRank, pagerank, pagerank_of_urls
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Skip, SkipReason, Url, Visit
from pages import GivenWords

A, B, C, D = (Url(f"http://{name}.example/") for name in "abcd")


def visit_of(url: Url, targets: list[Url], relevance: float = 0.5, priority: float = 1.0) -> Visit:
    page = Page(url, "", "", "", GivenWords({}), tuple(Link(target) for target in targets))
    return Visit(Candidate(url, priority), Fetch(url, Outcome.OK, 0.0), page, relevance)


def proposed(strategy: PageRank, event: Visit | Skip) -> dict[Url, float]:
    strategy.learn(event)
    return {candidate.url: candidate.priority for candidate in strategy.propose(event)}


@pytest.mark.slow
@given(
    count=st.integers(1, 30),
    links=st.sets(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=120),
    damping=st.sampled_from([0.5, 0.8, 0.85]),
)
@settings(max_examples=100, deadline=None)
def test_ranks_agree_with_networkx(count: int, links: set[tuple[int, int]], damping: float) -> None:
    import networkx  # takes a second, which only a process that needs it shall

    links = {(a, b) for a, b in links if a < count and b < count}
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(links)
    theirs = networkx.pagerank(graph, alpha=damping, tol=1e-12, max_iter=1_000)
    ours = pagerank([a for a, _ in links], [b for _, b in links], count, damping=damping, tolerance=1e-12)
    assert ours.tolist() == pytest.approx([count * theirs[node] for node in range(count)], abs=1e-6)


def test_pages_without_links_hand_their_rank_to_all() -> None:
    # a -> b, and b has no links: a = .2 + .8 b/2, b = .2 + .8 a + .8 b/2, a + b = 2
    numbers, found = pagerank_of_urls({A: [B]}, [B], damping=0.8, tolerance=1e-12)
    assert found[numbers[A]] == pytest.approx(5 / 7)
    assert found[numbers[B]] == pytest.approx(9 / 7)


def test_where_nobody_links_all_have_the_rank_of_1() -> None:
    _, found = pagerank_of_urls({}, [A, B, C], damping=0.8, tolerance=0.01)
    assert found.tolist() == [1.0, 1.0, 1.0]
    assert len(pagerank([], [], 0, damping=0.8, tolerance=0.01)) == 0


def test_links_to_pages_outside_the_graph_do_not_count() -> None:
    numbers, found = pagerank_of_urls({A: [B, C, D]}, [B], damping=0.8, tolerance=1e-12)
    assert list(numbers) == [A, B]
    assert found[numbers[B]] == pytest.approx(9 / 7)


def test_a_looser_tolerance_stops_earlier_but_close() -> None:
    links = {(a, (a * a + step) % 50) for a in range(50) for step in (1, 3)}
    sources, targets = [a for a, _ in links], [b for _, b in links]
    loose, tight = (pagerank(sources, targets, 50, damping=0.8, tolerance=t) for t in (0.01, 1e-12))
    assert 0 < abs(loose - tight).max() < 0.05


def test_links_within_a_domain_wait_but_are_not_ranked_by() -> None:
    strategy = PageRank(every=1)
    inside, sub = Url("http://a.example/page"), Url("http://www.a.example/")
    offered = proposed(strategy, visit_of(A, [inside, sub, B]))
    assert set(offered) == {inside, sub, B}
    assert offered[B] > offered[inside] == offered[sub]


def test_the_nodes_of_a_graph_without_urls_are_each_on_their_own() -> None:
    strategy = PageRank(every=1)
    offered = proposed(strategy, visit_of(0, [0, 1, 2]))
    assert offered[1] == offered[2] > 0.9


def test_ranks_are_computed_every_so_many_pages_and_then_all_that_wait_is_proposed_again() -> None:
    strategy, frontier = PageRank(every=25), SequentialFrontier(limit=200)
    frontier.rank_by(strategy)
    frontier.put(strategy.start([0]))
    computed = []
    for number in range(1, 301):
        candidate = frontier.take(0.0)
        assert candidate is not None
        node = candidate.url
        targets = [node * 3 + 1, node * 3 + 2, node * 3 + 3]
        event = visit_of(node, targets, priority=candidate.priority)
        strategy.learn(event)
        offered = list(strategy.propose(event))
        if {c.url for c in offered} - set(targets):
            computed.append(number)
        for skip in frontier.put(offered):
            strategy.learn(skip)
        frontier.settle(node)
    assert computed == list(range(25, 301, 25))


def test_a_new_page_takes_the_place_of_the_least_relevant() -> None:
    strategy = PageRank(buffer=2, every=3)
    proposed(strategy, visit_of(A, [Url("http://x.example/")], relevance=0.9))
    proposed(strategy, visit_of(B, [Url("http://y.example/")], relevance=0.1))
    offered = proposed(strategy, visit_of(C, [Url("http://z.example/")], relevance=0.05))
    assert [row[2] for row in strategy.state()["buffered"]] == [C, A]
    assert offered["http://x.example/"] == offered["http://z.example/"] > offered["http://y.example/"]


def test_a_page_on_which_many_agree_comes_before_one_on_which_few_do() -> None:
    strategy = PageRank(every=3)
    popular, other = Url("http://p.example/"), Url("http://q.example/")
    proposed(strategy, visit_of(A, [popular]))
    proposed(strategy, visit_of(B, [popular]))
    offered = proposed(strategy, visit_of(C, [other]))
    assert offered[popular] > offered[other] > 0.2


def test_what_was_evicted_leaves_the_books_and_comes_back_when_linked_again() -> None:
    strategy = PageRank(every=2)
    assert C in proposed(strategy, visit_of(A, [C, D]))
    assert proposed(strategy, Skip(Candidate(C, 1.0), SkipReason.EVICTED)) == {}
    assert set(proposed(strategy, visit_of(B, []))) == {D}
    assert set(proposed(strategy, visit_of(D, [C]))) == {C}


def test_what_was_visited_is_not_proposed_again() -> None:
    strategy = PageRank()
    proposed(strategy, visit_of(A, [B]))
    assert proposed(strategy, visit_of(B, [A, C])).keys() == {C}


def test_the_target_of_a_redirect_waits_like_a_link() -> None:
    strategy = PageRank(every=1)
    strategy.learn(Visit(Candidate(A, 1.0), Fetch(A, Outcome.MOVED, 0.0, location=B)))
    assert set(proposed(strategy, visit_of(C, []))) == {B}
