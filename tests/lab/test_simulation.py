"""A crawl in the lab is the crawl that `lycosa crawl` makes, with its cost."""

from collections import Counter
from math import sqrt
from time import process_time

import pytest

from lycosa.reading import Reader
from lycosa.reading.reader import page_of_text
from lycosa.strategies import STRATEGIES, BestFirst
from lycosa.vocabulary.records import Fetch, Outcome, Page, Skip, Url
from lycosa_lab.page_cache import PageCache
from lycosa_lab.simulation import crawl
from lycosa_lab.topics import TopicCosine
from simulation import AboutBees, crawl_of, urls_of, visits_of
from worlds import CHAIN, STAR, TOPICAL, TOPICAL_SEED, html

HUB = next(iter(STAR))


def reader_of(pages: dict[Url, bytes]):
    read = Reader()

    def page(url: Url) -> Page | None:
        return read(Fetch(url, Outcome.OK, 0.0, content=pages[url])) if url in pages else None

    return page


def steps_of(pages: dict[Url, bytes], strategy, seed: Url, max_pages: int = 1_000, **options):
    judge = AboutBees().relevance
    return list(crawl(strategy, [seed], read=reader_of(pages), judge=judge, pages=max_pages, **options))


@pytest.mark.parametrize("name", STRATEGIES)
def test_it_visits_what_the_crawler_visits_in_the_same_order(name: str) -> None:
    whole = urls_of(visits_of(crawl_of(TOPICAL, STRATEGIES[name]()), [TOPICAL_SEED]))
    assert [step.url for step in steps_of(TOPICAL, STRATEGIES[name](), TOPICAL_SEED)] == whole


def test_it_ends_after_so_many_pages() -> None:
    assert len(steps_of(TOPICAL, BestFirst(), TOPICAL_SEED, max_pages=7)) == 7


def test_dead_links_are_no_pages() -> None:
    pages = {
        **CHAIN,
        HUB: html("Hub", "Dead ends and one way on.", [*(f"{HUB}{n}" for n in range(5)), *list(CHAIN)[:1]]),
    }
    assert [step.url for step in steps_of(pages, BestFirst(), HUB, max_pages=3)] == [HUB, *list(CHAIN)[:2]]


def test_no_more_wait_than_the_buffer_holds() -> None:
    class Watching(BestFirst):
        def __init__(self) -> None:
            super().__init__()
            self.evicted: list[Url] = []

        def learn(self, event) -> None:
            super().learn(event)
            if isinstance(event, Skip):
                self.evicted.append(event.candidate.url)

    strategy = Watching()
    steps = steps_of(STAR, strategy, HUB, buffer=3)
    assert len(steps) == 4  # the hub, and three of its eight leaves
    assert Counter(strategy.evicted).total() == 5


def test_reading_and_judging_are_not_in_the_cost() -> None:
    read, burnt = reader_of(TOPICAL), 0.0

    def slowly(url: Url) -> Page | None:
        nonlocal burnt
        began = process_time()
        while process_time() - began < 0.003:
            pass
        burnt += process_time() - began
        return read(url)

    steps = list(crawl(BestFirst(), [TOPICAL_SEED], read=slowly, judge=AboutBees().relevance, pages=30))
    assert 0.0 < sum(step.seconds for step in steps) < burnt / 3


def test_a_page_cache_reads_each_page_once_while_it_is_kept() -> None:
    class Counting:
        def __init__(self) -> None:
            self.read_urls: list[Url] = []

        def __contains__(self, url: object) -> bool:
            return url in TOPICAL

        def read(self, url: Url) -> Page | None:
            self.read_urls.append(url)
            return reader_of(TOPICAL)(url)

    world = Counting()
    cache = PageCache(world, capacity=2)
    a, b, c = list(TOPICAL)[:3]
    for url in (a, b, a, c, a, b):
        assert cache.read(url) == reader_of(TOPICAL)(url)
    assert world.read_urls == [a, b, c, b]  # b was the one used longest ago when c came


def test_links_that_lead_out_of_the_world_are_left_out() -> None:
    class Closed(dict):
        def read(self, url: Url) -> Page | None:
            return reader_of(self)(url)

    inside, outside = f"{HUB}a", "http://elsewhere.example/"
    world = Closed({HUB: html("Hub", "Two ways.", [outside, inside]), Url(inside): html("A", "An end.")})
    page = PageCache(world).read(HUB)
    assert page is not None
    assert [link.target for link in page.links] == [inside]
    assert page.text == reader_of(world)(HUB).text


def test_the_cosine_of_a_topic_and_a_page_is_that_of_their_counts() -> None:
    topic = page_of_text(Url("topic:x"), "", "honey honey bees", stem="porter")
    page = page_of_text(Url("http://a.example/"), "", "the honey of a bee and the hive", stem="porter")
    assert TopicCosine(topic)(page) == pytest.approx((2 * 1 + 1 * 1) / (sqrt(5) * sqrt(3)))
    assert TopicCosine(topic)(page_of_text(Url("http://b.example/"), "", "ships", stem="porter")) == 0.0
    assert TopicCosine(topic)(page_of_text(Url("http://c.example/"), "", "", stem="porter")) == 0.0
