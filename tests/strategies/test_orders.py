import pytest

from lycosa.recipe import make_strategy
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.unfocused import BreadthFirst, RandomOrder
from lycosa.vocabulary.records import Url
from simulation import Budget, crawl_of, urls_of, visits_of
from worlds import STAR, TOPICAL, TOPICAL_SEED, html, topic_of


def share_of_bees(urls: list[Url]) -> float:
    return sum(topic_of(url) == "bees" for url in urls) / len(urls)


def test_best_first_brings_home_the_topic_before_the_rest() -> None:
    budget = Budget(pages=18)
    best = urls_of(visits_of(crawl_of(TOPICAL, BestFirst(), budget=budget), [TOPICAL_SEED]))
    breadth = urls_of(visits_of(crawl_of(TOPICAL, BreadthFirst(), budget=budget), [TOPICAL_SEED]))
    assert share_of_bees(best) > share_of_bees(breadth) + 0.1


def test_breadth_first_goes_level_by_level() -> None:
    visits = visits_of(crawl_of(TOPICAL, BreadthFirst()), [TOPICAL_SEED])
    depths = [visit.candidate.depth for visit in visits]
    assert depths == sorted(depths)


def test_random_order_is_another_for_another_seed_and_the_same_for_the_same() -> None:
    hub = Url("http://star.example/")
    one, again, other = (urls_of(visits_of(crawl_of(STAR, RandomOrder(seed=s)), [hub])) for s in (1, 1, 2))
    assert one == again != other
    assert sorted(one) == sorted(other)


def test_the_words_of_the_topic_lead_to_the_first_pages_and_then_no_more() -> None:
    hub = Url("http://hub.example/")
    links = [(f"http://hub.example/{n}", "Honey bees" if n == 7 else f"page {n}") for n in range(9)]
    world = {hub: html("Hub", "many links", links)}
    world |= {Url(link): html(anchor, anchor) for link, anchor in links}
    words = {"honey": 1, "bees": 1}
    first = urls_of(visits_of(crawl_of(world, BestFirst(topic_words=words)), [hub]))
    assert first[1] == "http://hub.example/7"
    later = urls_of(visits_of(crawl_of(world, BestFirst(topic_words=words, enough=0)), [hub]))
    assert later[1] == "http://hub.example/0"


@pytest.mark.parametrize(
    ("words", "stem", "anchor", "share"),
    [
        (["bees", "honey", "keeping"], False, "Bees, honey: keeping!", 1.0),
        (["bees", "honey", "keeping"], False, "(Honey)", 1 / 3),
        (["bees"], False, "A bee", 0.0),
        (["bee", "keep"], True, "Keeping bees", 1.0),
        (["蜂蜜"], False, "新しい蜂蜜", 1.0),
    ],
)
def test_an_anchor_is_split_into_words_like_a_page(words, stem, anchor, share) -> None:
    hub, target = Url("http://hub.example/"), Url("http://hub.example/x")
    world = {hub: html("Hub", "many links", [(target, anchor)]), target: html("x", "x")}
    strategy = make_strategy("best-first", topic_words=dict.fromkeys(words, 1), stem=stem)
    visits = visits_of(crawl_of(world, strategy), [hub])
    assert visits[1].candidate.because.get("anchor", 0.0) == pytest.approx(share, abs=1e-4)
