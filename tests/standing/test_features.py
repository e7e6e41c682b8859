from math import isfinite, log, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.reader import page_of_html
from lycosa.standing import FEATURES, Background, FeatureExtractor, Traffic
from lycosa.standing.features import (
    information_brokerage,
    information_location,
    information_specificity,
    information_volume,
    link_ratio,
    quantitative_ratio,
)
from lycosa.standing.graph_files import graph_from_edges
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Link, Page, Url
from lycosa_lab.worlds.graphs import LinkGraph
from pages import GivenWords, page_of_terms

HOME = Url("http://www.merck.com/")


def page(html: str, url: str = HOME) -> Page:
    return page_of_html(Url(url), html)


def linking_to(*targets: str, url: str = HOME) -> Page:
    return Page(Url(url), "", "", "", GivenWords({"word": 10}), tuple(Link(Url(target)) for target in targets))


def test_there_are_seven_features_each_with_its_definition():
    assert len(FEATURES) == len(FeatureExtractor().of(page("<p>Bees."))) == 7
    assert all(FEATURES.values())


def test_volume_is_the_words_less_stop_words_on_a_log_scale():
    assert information_volume(page("<p>The bee and the hive, and a bee.")) == pytest.approx(log1p(3))
    assert information_volume(page("")) == 0.0


@pytest.mark.parametrize(
    ("url", "folders"),
    [
        ("http://www.somedomain.com/products/news/daily.html", 2),
        ("http://www.somedomain.com/products/news/", 2),
        ("http://www.somedomain.com/daily.html", 0),
        ("http://www.somedomain.com/", 0),
        ("http://www.somedomain.com/a/list?path=/x/y/z", 1),
    ],
)
def test_location_is_how_many_folders_lie_above_the_page(url, folders):
    assert information_location(Url(url)) == folders


def test_specificity_is_the_mean_rarity_of_the_characteristic_terms():
    background = Background({"bee": 3, "hive": 7}, pages=7)
    term_counts = GivenWords({"bee": 5, "hive": 4, "mead": 1}).term_counts
    bee, hive, mead = 1 + log(8 / 4), 1 + log(8 / 8), 1 + log(8 / 2)  # tf·idf: 8.5, 4, 2.4
    assert information_specificity(term_counts, background, 1) == pytest.approx(bee)
    assert information_specificity(term_counts, background, 2) == pytest.approx((bee + hive) / 2)
    assert information_specificity(term_counts, background, 10) == pytest.approx((bee + hive + mead) / 3)


def test_terms_that_tie_for_the_last_place_share_it():
    background = Background({"hive": 7}, pages=7)  # IDF 1; that of others is 1 + ln 4
    term_counts = GivenWords({"hive": 3, "mead": 3, "wax": 1, "comb": 1}).term_counts
    other = 1 + log(4)
    assert information_specificity(term_counts, background, 2) == pytest.approx((other + 1) / 2)
    tied = GivenWords({"wax": 1, "comb": 1, "mead": 1}).term_counts
    assert information_specificity(tied, background, 2) == pytest.approx(other)


def test_a_page_without_words_or_background_is_not_special():
    assert information_specificity(GivenWords({}).term_counts, Background({}, pages=7)) == 0.0
    assert FeatureExtractor().of(page("<p>Bees and hives."))[2] == 0.0


def test_brokerage_counts_other_pages_and_each_once():
    broker = linking_to(HOME, "http://a.example/", "http://a.example/", "http://b.example/")
    assert information_brokerage(broker) == pytest.approx(log1p(2))
    assert information_brokerage(linking_to()) == 0.0


def test_link_ratio_is_links_per_word():
    assert link_ratio(linking_to("http://a.example/", "http://a.example/", HOME)) == pytest.approx(0.3)
    assert link_ratio(page('<a href="/a"></a><a href="/b"></a>')) == 2.0


def test_quantitative_ratio_is_the_share_of_numbers():
    assert quantitative_ratio(page("<p>12 bees in 3 of the hives 4b")) == pytest.approx(2 / 8)
    assert quantitative_ratio(page("")) == 0.0


def test_what_is_too_long_to_be_a_word_is_no_number():
    assert quantitative_ratio(page(f"<p>{'x' * 100} 7")) == pytest.approx(1 / 2)


def test_traffic_is_the_reach_of_the_registered_domain():
    traffic = Traffic({"merck.com": 9.0, "small.co.uk": 1.0, "large.org": 99.0})
    assert traffic.of(HOME) == traffic.of(Url("https://news.merck.com:8080/a")) == pytest.approx(log1p(9))
    assert traffic.of(Url("http://www.small.co.uk/")) == pytest.approx(log1p(1))


def test_domains_not_in_the_table_count_like_its_median_one():
    assert Traffic({"a.org": 1.0, "b.org": 9.0, "c.org": 99.0}).of(Url("http://d.org/")) == pytest.approx(log1p(9))
    assert Traffic().of(HOME) == 0.0


@pytest.mark.parametrize("reach", [-1.0, float("nan"), float("inf")])
def test_a_reach_that_is_none_is_refused(reach):
    with pytest.raises(UsageError, match="reach of a domain"):
        Traffic({"a.org": reach})


def test_words_in_no_page_are_as_rare_as_those_in_one():
    pages = [page_of_terms({"bee": 1, "hive": 2}), page_of_terms({"bee": 1}), page_of_terms({"wax": 1})]
    idf = Background.of(pages).idf
    assert idf(GivenWords({"hive": 1}).term_counts[0]) == idf(GivenWords({"mead": 1}).term_counts[0]) == 1 + log(4 / 2)
    assert idf(GivenWords({"bee": 1}).term_counts[0]) == pytest.approx(1 + log(4 / 3))


def test_a_background_of_no_pages_knows_no_difference():
    assert Background.of([]).idf(GivenWords({"mead": 1, "wax": 1}).term_counts[0]).tolist() == [1.0, 1.0]


def test_a_node_of_a_graph_has_features_too():
    world = LinkGraph(graph_from_edges(np.array([0, 0], np.int32), np.array([1, 2], np.int32), 3))
    node = world.read(Url("http://n0.graph.example/")) or pytest.fail("no page")
    by_number = world.read(0)  # type: ignore[arg-type]
    assert by_number is not None
    assert FeatureExtractor().of(by_number) == FeatureExtractor().of(node) == (0.0, 0.0, 0.0, log1p(2), 2.0, 0.0, 0.0)


@pytest.mark.slow
@given(
    text=st.text(max_size=200),
    stem=st.booleans(),
    links=st.lists(st.sampled_from(["/", "/a", "?x=/b/", "http://[::1]/", "//b.example"]), max_size=5),
    path=st.text(alphabet="a/?%.", max_size=20),
    known=st.dictionaries(st.text(alphabet="abc", min_size=1), st.integers(0, 5)),
)
def test_no_page_has_a_feature_that_is_not_finite(text, stem, links, path, known):
    html = text + "".join(f'<a href="{link}">1</a>' for link in links)
    made = page_of_html(Url(f"http://a.example/{path}"), html, stem=stem)
    features = FeatureExtractor(Background(known, pages=5), Traffic({"b.example": 2.0}), characteristic=2).of(made)
    assert all(isfinite(value) and value >= 0.0 for value in features)
    assert made.words.length == len(made.tokens)
    assert made.words.numbers == sum(token.isascii() and token.isdigit() for token in made.tokens)
