"""The test bed: examples that no two parts share, judges that have not seen them, crawls scored once."""

from math import exp
from statistics import fmean

import pytest

from lycosa.strategies.utility import Adaptive, Utility
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.measures import points_along
from lycosa_lab.studies.adaptive_utility.runs import Oracle
from lycosa_lab.test_bed import CELLS, TopicCrawls, examples_of, in_links_of, prepare_test_bed
from lycosa_lab.worlds import Category
from lycosa_lab.worlds.synthetic import SyntheticWorld

SIZE = {"topics": 3, "pages": 150, "examples": 15, "explored": 30, "sampled": 30, "of": 50}


@pytest.fixture(scope="module")
def world():
    return SyntheticWorld(pages=6_000, topics=4, seed=5)


@pytest.fixture(scope="module")
def bed(world):
    source = in_links_of(world)
    return prepare_test_bed(world, SIZE, 5, source, other=source.sampled(seed=9))


@pytest.fixture(scope="module")
def topic(bed):
    return TopicCrawls(bed, bed.topics[0])


def test_no_page_is_an_example_twice(world) -> None:
    for examples in examples_of(world, topics=4, per_class=15, seed=5):
        parts = [examples.good, examples.bad, examples.held_out_good, examples.held_out_bad]
        assert [len(part) for part in parts] == [15] * 4
        assert len({url for part in parts for url in part}) == 60
        assert examples.topped_up == 0


def test_good_examples_are_those_the_directory_lists(world) -> None:
    listed = {category.name: {entry.url for entry in category.entries} for category in world.directory()}
    for examples in examples_of(world, topics=4, per_class=15, seed=5):
        assert {*examples.good, *examples.held_out_good} <= listed[examples.topic]
        assert not {*examples.bad, *examples.held_out_bad} & listed[examples.topic]


def test_where_the_directory_lists_too_few_others_on_the_topic_are_drawn(world) -> None:
    listed = {category.name: {entry.url for entry in category.entries} for category in world.directory()}
    for examples in examples_of(world, topics=4, per_class=100, seed=5):
        good = {*examples.good, *examples.held_out_good}
        assert len(good) == 200
        assert all(world.topic(url) == examples.topic for url in good - listed[examples.topic])
        assert examples.topped_up == len(good - listed[examples.topic]) > 0


def test_half_of_a_topic_is_left_to_be_found() -> None:
    small = SyntheticWorld(pages=400, topics=4, seed=2)
    sizes = {name: sum(small.topic(url) == name for url in small.urls()) for name in small.topics}
    for examples in examples_of(small, topics=4, per_class=1_000, seed=1):
        assert len(examples.good) + len(examples.held_out_good) <= sizes[examples.topic] / 2


def test_a_world_without_topics_is_told_what_is_needed() -> None:
    class Untitled:
        name = "untitled"

        def __len__(self) -> int:
            return 0

        def directory(self):
            return ()

        def urls(self):
            return ()

    with pytest.raises(UsageError, match="worlds with topics are synthetic"):
        examples_of(Untitled(), topics=3, per_class=10, seed=1)


def test_a_topic_with_a_single_bad_page_to_learn_from_is_left_out(world, monkeypatch) -> None:
    """Cross-validation holds out a fifth of the bad pages, so that one would leave nothing to learn from."""
    first, second, *_ = world.directory()
    for listed in (4, 2):  # half of them are held out
        directory = [first, Category(second.name, second.entries[:listed])]
        monkeypatch.setattr(world, "directory", lambda directory=directory: directory)
        if listed == 4:
            assert len(examples_of(world, topics=2, per_class=15, seed=5)) == 2
        else:
            with pytest.raises(UsageError, match="1 topic with at least 40 pages"):
                examples_of(world, topics=2, per_class=15, seed=5)


def test_another_seed_chooses_other_examples(world) -> None:
    first, again, other = (examples_of(world, topics=2, per_class=15, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_one_theta_for_all_topics_lies_in_the_middle(bed) -> None:
    thetas = {model.theta for model in bed.models.models.values()}
    assert thetas == {bed.models.theta}
    standings = [
        model.standing(page)
        for topic, model in bed.models.models.items()
        for page in bed.pages([url for url in bed.world.urls() if bed.world.topic(url) == topic][:100])
    ]
    assert 0.15 < sum(standing > 0.5 for standing in standings) / len(standings) < 0.85
    assert bed.other_models.theta < bed.models.theta  # who has half the links predicts fewer


def test_the_judges_learn_from_other_pages_than_the_crawler(bed, topic) -> None:
    held_out = bed.pages(topic.examples.held_out_good)
    own = bed.pages(topic.examples.good)
    assert {page.url for page in held_out}.isdisjoint(page.url for page in own)
    sure = [fmean(topic.evaluator.relevance(page) for page in pages) for pages in (held_out, own)]
    assert sure[0] > sure[1]  # of what it has learnt from it is surer than of what the crawler has
    assert 0.5 < topic.model_quality()["evaluator_accuracy"] < 1.0


def test_the_crawler_does_not_take_its_own_examples_for_perfect(topic) -> None:
    steps, _ = topic.run(Utility(alpha=1.0), pages=15)
    assert {step.url for step in steps} == set(topic.examples.good)
    judged = {step.url: step.relevance for step in steps}
    by_heart = [topic.relevance.relevance(page) for page in topic._bed.pages(topic.examples.good)]
    assert min(by_heart) > 0.9
    assert sum(judged.values()) / 15 < sum(by_heart) / 15 - 0.05


def test_a_page_is_scored_once_for_all_crawls(bed) -> None:
    crawls = TopicCrawls(bed, bed.topics[1])
    read: list[str] = []
    reading = crawls._read
    crawls._read = lambda url: read.append(url) or reading(url)
    first, _ = crawls.run(Utility(alpha=1.0), pages=100)
    again, _ = crawls.run(Utility(alpha=1.0), pages=100)
    other, _ = crawls.run(Utility(alpha=0.0), pages=100)
    assert [step.url for step in first] == [step.url for step in again] != [step.url for step in other]
    assert len(read) == len(set(read)) == len({step.url for step in [*first, *other]})


def test_a_crawl_is_judged_by_truth_and_by_sample(bed, topic) -> None:
    found = topic.run_and_measure(Adaptive(target=0.7), pages=150)
    assert found["pages"] == 150
    assert len(found["curves"]["topicality"]) == len(points_along(150, 20))
    assert len(found["alpha"]) == len(points_along(150, 100))
    assert sum(map(sum, found["map"])) <= 90  # 30 of every 50
    assert len(found["map"]) == len(found["map"][0]) == CELLS
    assert found["curves"]["status"][-1] == pytest.approx(found["status of all pages"], abs=0.6)
    assert 0 <= found["curves"]["reliability"][-1] <= 1


def test_sampled_pages_come_from_every_part_of_the_crawl(topic) -> None:
    steps, _ = topic.run(Utility(alpha=0.5), pages=125)
    place = {step.url: number for number, step in enumerate(steps)}
    chosen = [place[url] for url in topic._sample(steps, 30, 50)]
    assert [sum(start <= number < start + 50 for number in chosen) for start in (0, 50, 100)] == [30, 30, 15]
    assert len(set(chosen)) == len(chosen)


def test_another_source_of_in_links_judges_by_its_own_counts(topic) -> None:
    run = topic.run(Utility(alpha=1.0), pages=100)
    first, second = (topic.measure(*run, pages=100, source_index=index) for index in (0, 1))
    assert first["curves"]["topicality"] == second["curves"]["topicality"]
    assert second["status of all pages"] < first["status of all pages"]


def test_who_knows_the_truth_finds_more(topic, bed) -> None:
    def found_by(strategy):
        found = topic.run_and_measure(strategy, pages=150)
        return found["true topicality"], found["status of all pages"]

    def oracle(alpha):
        return Oracle(is_on_topic=topic.is_on_topic, standing=topic.true_standing, alpha=alpha)

    assert found_by(oracle(1.0))[0] > found_by(Utility(alpha=1.0))[0]
    assert found_by(oracle(0.0))[1] > found_by(Utility(alpha=0.0))[1]
    status = bed.models.source.status(topic.examples.good[0])
    assert topic.true_standing(topic.examples.good[0]) == pytest.approx(1 / (1 + exp(bed.models.theta - status)))
