"""The study of topical maps: crawls keep to their budget, judgements to the truth, and claims follow from tables."""

from statistics import mean
from typing import ClassVar

import pytest

from lab.study_runs import copy_with_jobs_missing, run_small_as_json, texts_made_once
from lycosa.maps import CitationMatrix
from lycosa.strategies import BaselineFocused
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.measures import points_along
from lycosa_lab.statistics import paired_t
from lycosa_lab.studies import STUDIES
from lycosa_lab.studies.topical_map import TopicalMapStudy, later_world
from lycosa_lab.studies.topical_map.runs import POINTS, crawl_counts, links_among, map_of
from lycosa_lab.studies.topical_map.runs import run_crawl as crawl
from lycosa_lab.studies.topical_map.shared import (
    BASELINE,
    LATER,
    MAPPED,
    OTHERS,
    RELATED,
    JudgedPages,
    choose_topic_groups,
    prepare,
)
from lycosa_lab.worlds.synthetic import SyntheticWorld
from maps.small_atlases import mapped_by

CLAIMS = [
    "same-topic-gain",
    "near-optimal-start",
    "finds-new-pages",
    "overlap",
    "related-topic-gain",
    "survives-change",
    "both-kinds",
    "reach",
    "over-caching",
]
PICTURES = [
    "chances",
    "same-topic",
    "overlap",
    "new-pages",
    "related-topic",
    "controls",
    "half-a-year-on",
    "citations",
]
SIZE = {"topics": 4, "pages": 100, "seeds": 5, "examples": 30, "world_pages": 12_000}
WORLD = SyntheticWorld(pages=12_000, topics=8, seed=11)


class Tiny(TopicalMapStudy):
    scales: ClassVar = {"small": SIZE}


def results_of(folder, world=WORLD, seed=11):
    return run_small_as_json(Tiny(), world, seed=seed, out=folder)


@pytest.fixture(scope="module", autouse=True)
def texts():
    with texts_made_once(WORLD):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def results(folder):
    return results_of(folder)


@pytest.fixture(scope="module")
def inputs():
    return prepare(WORLD, SIZE, 11)


@pytest.fixture(scope="module")
def pages(inputs):
    return JudgedPages([WORLD], inputs.taxonomy)


# What crawls share


def test_seeds_are_of_the_topic_and_no_two_sets_share_one(inputs):
    for topic in inputs.topics:
        (listed,) = [category.entries for category in WORLD.directory() if category.name == topic.name]
        assert {*topic.first_seeds, *topic.other_seeds} <= {entry.url for entry in listed}
        assert not {*topic.first_seeds} & {*topic.other_seeds}
        assert len(topic.first_seeds) == len(topic.other_seeds) == SIZE["seeds"]


def test_related_topics_are_others_under_the_same_top(inputs):
    assert {topic.related for topic in inputs.topics} <= {topic.name for topic in inputs.topics}
    for topic in inputs.topics:
        assert topic.related != topic.name
        assert topic.related.partition("/")[0] == topic.name.partition("/")[0]


def test_the_taxonomy_knows_the_topics_and_others(inputs):
    assert set(inputs.taxonomy.topics) == {OTHERS, *(topic.name for topic in inputs.topics)}
    assert len(inputs.topics) < len(WORLD.directory())


def test_a_crawl_is_no_longer_than_topics_are_large(inputs):
    size = {**SIZE, "pages": 1_000_000}
    pages = prepare(WORLD, size, 11).pages
    names = {topic.name for topic in inputs.topics}
    assert pages == sum(WORLD.topic(url) in names for url in WORLD.urls()) // len(names)


def test_a_world_without_related_topics_is_refused():
    with pytest.raises(UsageError, match="two related topics"):
        choose_topic_groups(SyntheticWorld(pages=400, topics=2, seed=3), 4)


# Crawls


def test_pages_are_judged_for_all_topics_and_keep_their_links(inputs, pages):
    url = inputs.topics[0].first_seeds[0]
    read = WORLD.read(url)
    assert [link.target for link in pages.judge(url).page.links] == [link.target for link in read.links]
    for topic in inputs.taxonomy.topics:
        assert pages.probability(url, topic) == pytest.approx(inputs.taxonomy.probability(read, topic))


def test_a_page_that_is_not_there_is_no_good(pages, inputs):
    assert pages.judge("http://nowhere.example/") is None
    assert not pages.is_good("http://nowhere.example/", inputs.topics[0].name)
    assert pages.topic("http://nowhere.example/") is None


def test_a_crawl_ends_with_its_downloads_and_asks_for_no_page_twice(inputs, pages):
    topic = inputs.topics[0]
    trace = crawl(BaselineFocused(), topic.first_seeds, pages, topic.name, downloads=50)
    assert len(trace) == len({request.url for request in trace}) == 50
    assert {*topic.first_seeds} <= {request.url for request in trace}


def test_copies_cost_no_download(inputs, pages):
    topic = inputs.topics[0]
    first = crawl(BaselineFocused(), topic.first_seeds, pages, topic.name, downloads=50)
    known = frozenset(request.url for request in first)
    again = crawl(
        BaselineFocused(), topic.first_seeds, pages, topic.name, downloads=50, copies=pages, copied_urls=known
    )
    assert [request.url for request in again if request.is_copy] == [request.url for request in first]
    assert sum(not request.is_copy for request in again) == 50


def test_what_is_gone_counts_as_a_download(inputs):
    later = JudgedPages([later_world(WORLD), WORLD], inputs.taxonomy)
    topic = inputs.topics[0]
    trace = crawl(BaselineFocused(), topic.first_seeds, later, topic.name, downloads=100)
    counts = crawl_counts(trace, later, topic.name, frozenset(), downloads=100)
    assert len(trace) == 100
    assert counts["dead"] == sum(request.digest is None for request in trace) > 0
    assert counts["new"] + counts["dead"] == 100


def test_a_judgement_counts_what_the_crawl_brought(inputs, pages):
    topic = inputs.topics[1]
    trace = crawl(BaselineFocused(), topic.first_seeds, pages, topic.name, downloads=80)
    seen = frozenset(request.url for request in trace[:30])
    counts = crawl_counts(trace, pages, topic.name, seen, downloads=80)
    good = [pages.is_good(request.url, topic.name) for request in trace]
    assert counts["good"] == sum(good)
    assert counts["start"] == sum(good[:8]) / 8
    assert (counts["seen"], counts["new"], counts["new_good"]) == (30, 50, sum(good[30:]))
    assert counts["true"] == sum(WORLD.topic(request.url) == topic.name for request in trace)
    assert counts["curves"]["good"] == [sum(good[:point]) for point in points_along(80, POINTS)]


def test_a_crawl_that_found_no_more_stays_where_it_was(inputs, pages):
    topic = inputs.topics[1]
    trace = crawl(BaselineFocused(), topic.first_seeds, pages, topic.name, downloads=20)
    counts = crawl_counts(trace, pages, topic.name, frozenset(), downloads=100)
    assert len(counts["curves"]["good"]) == len(points_along(100, POINTS))
    assert counts["curves"]["new"][-40:] == [20] * 40


def test_maps_are_of_the_pages_given_and_their_links(inputs, pages):
    urls = inputs.topics[0].first_seeds
    links = links_among(urls, pages)
    assert all(urls[target] in WORLD.out_links(urls[source]) for source, target in links.tolist())
    made = map_of("map", urls, pages, seed=1, by_text=True)
    assert sorted((*made.map.portals, *made.map.portal_of)) == list(range(len(urls)))
    assert mapped_by(made.for_crawl()) == set(urls)


def test_no_page_makes_an_empty_map(pages):
    made = map_of("map", [], pages, seed=1)
    assert not made.map.portals
    assert len(made.for_crawl(related=["other"])) == 0


# The study


def test_it_is_among_the_studies():
    assert isinstance(STUDIES["topical-map"], TopicalMapStudy)


def test_every_claim_is_computed_and_every_figure_drawn(results, folder):
    assert [claim["id"] for claim in results["claims"]] == [f"topical-map.{name}" for name in CLAIMS]
    for picture in PICTURES:
        assert "<svg" in (folder / f"{picture}.svg").read_text()
    for table in results["tables"]:
        assert len((folder / f"{table}.csv").read_text().splitlines()) == len(results["tables"][table]) + 1


def good_pages(results, kind):
    return [row["good"] for row in results["tables"]["crawls"] if row["crawl"] == kind]


def related_share(results):
    """How much of its crawl a map for a related topic is, in the mean."""
    return mean(row["pages"] / SIZE["pages"] for row in results["tables"]["maps"] if row["map"] == RELATED)


def test_the_gains_follow_from_the_table(results):
    claims = {claim["id"].removeprefix("topical-map."): claim for claim in results["claims"]}
    for name, kind, over in (
        ("same-topic-gain", MAPPED, BASELINE),
        ("related-topic-gain", RELATED, BASELINE),
        ("survives-change", LATER[1], LATER[0]),
    ):
        test = paired_t(good_pages(results, kind), good_pages(results, over))
        assert claims[name]["p"] == pytest.approx(test.p)
        is_small = name != "related-topic-gain" or related_share(results) < 0.02
        assert claims[name]["holds"] == (test.difference > 0 and test.p < 0.05 and is_small)
        assert claims[name]["holds"] or claims[name]["reason"]


def test_every_crawl_has_the_same_downloads(results):
    for row in results["tables"]["crawls"]:
        assert row["downloads"] == SIZE["pages"], row
        assert row["seen"] + row["new"] + row["dead"] == row["downloads"] + row["copies"]


def test_related_maps_are_of_all_pages_on_the_topic_that_the_crawl_of_the_related_one_came_by(results, inputs, pages):
    for row in results["tables"]["maps"]:
        if row["map"] == RELATED:
            related = inputs.topic(row["related"])
            trace = crawl(BaselineFocused(), related.first_seeds, pages, related.name, downloads=SIZE["pages"])
            assert row["pages"] == sum(pages.is_good(request.url, row["topic"]) for request in trace)


def test_links_stay_mostly_within_a_topic(results):
    rows = results["tables"]["citations"]
    topics = sorted({row["from"] for row in rows} | {row["to"] for row in rows})
    counts = {(row["from"], row["to"]): row["links"] for row in rows}
    matrix = CitationMatrix(
        tuple(topics), tuple(tuple(counts.get((one, other), 0) for other in topics) for one in topics)
    )
    crawled = {row["topic"] for row in results["tables"]["crawls"]}
    share = matrix.affinity()
    assert all(share[topics.index(topic), topics.index(topic)] > 0.5 for topic in crawled)


def test_the_same_seed_gives_the_same_results(results, folder, tmp_path):
    again = results_of(copy_with_jobs_missing(folder, tmp_path / "again"))
    assert again["tables"] == results["tables"]
    assert again["claims"] == results["claims"]
