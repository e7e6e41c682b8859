"""The made-up web is whole, repeatable, and worth a focused crawl."""

import heapq
import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.made_up_web import MadeUpWeb
from lycosa.vocabulary.records import Host, Url
from lycosa.vocabulary.urls import host_of, normalise

WEB = MadeUpWeb()


def visited(web: MadeUpWeb, wanted: Callable[[Url], float] = lambda url: 0.0) -> list[Url]:
    """The pages in the order of a crawl that values a link by the page it was found on."""
    seen, waiting, order = {web.front_page}, [(0.0, 0, web.front_page)], []
    while waiting:
        _, _, url = heapq.heappop(waiting)
        moved = web.redirect(url)
        if moved is None and web.page(url) is None:
            continue
        if moved is None:
            order.append(url)
        for target in (moved,) if moved else web.links(url):
            if target not in seen:
                seen.add(target)
                heapq.heappush(waiting, (-wanted(url), len(seen), target))
    return order


def test_the_web_has_as_many_pages_and_hosts_as_asked_for():
    assert len(WEB.urls()) == len(set(WEB.urls())) == 2000
    assert len(WEB.hosts) == 30
    assert WEB.urls()[0] == WEB.front_page == "http://portal.example/"


def test_all_hosts_have_names_that_nobody_can_register():
    assert all(host.endswith((".example", ".test")) for host in WEB.hosts)


def test_every_url_is_normalised():
    assert all(normalise(url) == url for url in WEB.urls())


def test_every_page_is_reachable_from_the_front_page():
    assert set(WEB.urls()) <= set(visited(WEB))


def test_the_same_seed_makes_the_same_bytes_and_another_seed_others():
    again, other = MadeUpWeb(), MadeUpWeb(seed=2)
    assert [again.page(url) for url in again.urls()[::20]] == [WEB.page(url) for url in WEB.urls()[::20]]
    assert set(other.urls()) != set(WEB.urls())


def test_a_page_shows_exactly_the_links_that_the_world_knows():
    for url in WEB.urls()[::20]:
        shown = re.findall(rb'href="([^"]+)"', WEB.page(url) or b"")
        assert {link.decode() for link in shown} == set(WEB.links(url))


def test_the_largest_topic_holds_about_a_fifth_of_the_pages():
    sizes = Counter(map(WEB.topic, WEB.urls()))
    assert sizes.most_common(1)[0][0] == WEB.topics[0]
    assert 0.15 < sizes[WEB.topics[0]] / 2000 < 0.3


def test_sites_are_mostly_but_not_only_about_one_topic():
    for host in WEB.hosts[1:]:
        topics = Counter(WEB.topic(url) for url in WEB.urls() if host_of(url) == host)
        assert topics.most_common(1)[0][1] < topics.total()


def test_no_single_word_gives_a_topic_away():
    topic, inside, outside = WEB.topics[0], Counter(), Counter()
    for url in WEB.urls():
        words = set(re.findall(rb"[a-z]+", re.sub(rb"<[^>]*>", b" ", WEB.page(url) or b"").lower()))
        (inside if WEB.topic(url) == topic else outside).update(words)
    size = sum(WEB.topic(url) == topic for url in WEB.urls())
    assert max(inside[word] / size for word in inside if outside[word] < 20) < 0.6


@pytest.mark.parametrize("topic", WEB.topics[:3])
def test_following_pages_on_topic_pays_but_is_not_perfect(topic):
    def harvest(order):
        return sum(WEB.topic(url) == topic for url in order[:300]) / 300

    focused, breadth_first = harvest(visited(WEB, lambda url: WEB.topic(url) == topic)), harvest(visited(WEB))
    assert 2 * breadth_first < focused < 0.9


def test_some_links_are_moved_lost_private_or_not_html():
    targets = {target for url in WEB.urls() for target in WEB.links(url)} - set(WEB.urls())
    moved = {url for url in targets if WEB.redirect(url)}
    assert moved and all(WEB.redirect(url) in WEB.urls() for url in moved)
    assert any("/missing/" in url and WEB.page(url) is None for url in targets)
    assert [url for url in targets if url.endswith(".pdf") and (WEB.page(url) or b"").startswith(b"%PDF")]
    private = [url for url in targets if "/private/" in url]
    assert private and all("Disallow: /private/" in (WEB.robots(host_of(url)) or "") for url in private)
    assert WEB.robots(Host("nowhere.example")) is None


def test_what_is_no_page_has_no_topic_no_links_and_no_body():
    for url in ("http://nowhere.example/", "http://portal.example/old/99999999.html", "http://portal.example/old/x"):
        known = Url(url)
        assert WEB.topic(known) is WEB.page(known) is WEB.redirect(known) is None and WEB.links(known) == ()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), hosts=st.integers(2, 12), more=st.integers(0, 90), topics=st.integers(1, 8))
def test_a_web_of_any_size_is_complete(seed, hosts, more, topics):
    web = MadeUpWeb(seed=seed, hosts=hosts, pages=6 * hosts + more, topics=topics)
    assert len(set(web.urls())) == 6 * hosts + more and len(web.hosts) == hosts
    assert set(web.urls()) <= set(visited(web))


@pytest.mark.parametrize("wrong", [{"hosts": 1}, {"pages": 10}, {"topics": 0}, {"topics": 99}])
def test_an_impossible_web_is_refused(wrong):
    with pytest.raises(ValueError, match="a made-up web has"):
        MadeUpWeb(**wrong)
