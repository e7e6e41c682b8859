import random
from collections.abc import Sequence

import numpy as np

from lycosa.reading import Reader
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url
from lycosa.vocabulary.urls import site_of
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_lab.worlds.synthetic.plan import PageKind
from lycosa_lab.worlds.synthetic.vocabulary import PER_LEAF
from synthetic.small_worlds import calibrated, small


def _read_from_html(world: SyntheticWorld, url: Url) -> Page | None:
    return Reader(stem="porter")(Fetch(url, Outcome.OK, at=0.0, content=world.page(url) or b""))


def _leaf_words(world: SyntheticWorld, count: int) -> dict[str, set[str]]:
    """The commonest words of each topic."""
    starts = zip(world.topics, world.words.leaves, strict=True)
    return {name: set(world.words.words(start + np.arange(count))) for name, start in starts}


def _sample(world: SyntheticWorld, count: int) -> Sequence[Url]:
    return random.Random(1).sample(list(world.urls()), count)


def test_a_page_read_the_short_way_equals_the_one_read_from_its_html() -> None:
    world = calibrated(1)
    for url in _sample(world, 1000):
        short, long = world.read(url), _read_from_html(world, url)
        assert short is not None and long is not None and short == long
        assert short.words.terms == long.words.terms
        assert all(
            np.array_equal(one, other)
            for one, other in zip(short.words.term_counts, long.words.term_counts, strict=True)
        )


def test_later_states_of_pages_read_alike_both_ways_too() -> None:
    world = small().at(120.0)
    urls = list(world.urls())
    for url in [*urls[::10], *urls[-60:]]:
        assert world.read(url) == _read_from_html(world, url)


def test_a_page_links_where_the_table_of_links_says_in_its_order() -> None:
    world = small()
    for url in _sample(world, 100):
        page = world.read(url)
        assert page is not None
        assert [link.target for link in page.links] == list(world.out_links(url))
        assert all(page.text[link.position :].startswith(link.anchor) for link in page.links)


def test_pages_have_boilerplate_that_is_not_part_of_their_main_text() -> None:
    world = small()
    page = world.read(world.url(100))
    assert page is not None and page.language == "en"
    assert "All rights reserved" in page.text and "All rights reserved" not in page.main
    assert page.links[0].anchor == "Home" and not page.main.startswith("Home")


def test_pages_have_some_150_to_600_words() -> None:
    world = small()
    lengths = [len(page.tokens) for page in map(world.read, _sample(world, 300)) if page]
    assert np.percentile(lengths, 5) > 130 and np.percentile(lengths, 95) < 750


def test_addresses_are_as_deep_as_the_plan_says() -> None:
    world = small()
    depths = [url.split("/", 3)[3].count("/") for url in world.urls()]
    assert depths == world.plan.depth.tolist()
    assert {kind: set(world.plan.depth[world.plan.kind == kind].tolist()) for kind in PageKind} == {
        PageKind.HOME: {0},
        PageKind.SECTION: {1},
        PageKind.ARTICLE: {1, 2, 3, 4},
    }


def test_words_near_a_link_and_its_anchor_speak_of_what_it_leads_to() -> None:
    world = small()
    leaves = _leaf_words(world, 30)
    near = far = words_near = words_far = 0
    for url in _sample(world, 400):
        page = world.read(url)
        assert page is not None
        for link in page.links:
            topic = world.topic(link.target)
            if topic is None or topic == world.topic(url) or site_of(link.target) == site_of(url):
                continue
            around, all_words = page.around(link, 30).lower().split(), page.main.lower().split()
            near += sum(word.strip(".") in leaves[topic] for word in around)
            far += sum(word.strip(".") in leaves[topic] for word in all_words)
            words_near, words_far = words_near + len(around), words_far + len(all_words)
    assert near / words_near > 3 * far / words_far


def test_titles_and_anchors_betray_the_topic_sometimes_only() -> None:
    world = small()
    leaves = _leaf_words(world, PER_LEAF)
    titles, anchors = [], []
    for url in _sample(world, 300):
        page = world.read(url)
        assert page is not None
        titles.append(not leaves[world.topic(url) or ""].isdisjoint(page.title.lower().split()))
        in_text = page.links[world.links_of(world.number(url) or 0).navigation_count :]
        anchors += [not leaves[world.topic(link.target) or ""].isdisjoint(link.anchor.split()) for link in in_text]
    assert 0.15 < np.mean(titles) < 0.85
    assert 0.05 < np.mean(anchors) < 0.85
