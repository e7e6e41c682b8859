"""Measures print as they are written, fold the steps one by one, and say what they miss."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.measures import (
    MEASURES,
    Diversity,
    Harvest,
    MeanRank,
    MeanSimilarity,
    MeanStatus,
    MissingTruthError,
    Novelty,
    Overlap,
    Reliability,
    StrategyCpu,
    TargetRecall,
    Truth,
    parse_measure,
)
from lycosa_lab.simulation import Step

BEES, HIVES = Url("http://www.bees.example/"), Url("http://hives.bees.example/hives")
CARS, HONEY = Url("http://cars.test/"), Url("http://honey.test/")
CRAWL = [Step(BEES, 0.9, 0.001), Step(CARS, 0.8, 0.002), Step(HIVES, 0.1, 0.006), Step(HONEY, 0.7, 0.003)]
EVERYTHING = Truth(
    is_relevant={BEES: True, CARS: False, HIVES: True, HONEY: True}.__getitem__,
    targets=frozenset([HIVES, HONEY, Url("http://never.example/")]),
    similarity={BEES: 0.8, CARS: 0.0, HIVES: 0.4, HONEY: 0.8}.__getitem__,
    rank={BEES: 1.0, CARS: 4.0, HIVES: 2.5, HONEY: 2.5}.__getitem__,
    standing={BEES: 3.0, CARS: None, HIVES: 1.0, HONEY: math.nan}.__getitem__,
    directory_sites=frozenset(["bees.example", "honey.test"]),
    earlier=frozenset([CARS, HONEY]),
)


@pytest.mark.parametrize(
    ("measure", "values"),
    [
        (Harvest, [1, 1 / 2, 2 / 3, 3 / 4]),
        (TargetRecall, [0, 0, 1 / 3, 2 / 3]),
        (MeanSimilarity, [0.8, 0.4, 0.4, 0.5]),
        (MeanRank, [1, 2.5, 2.5, 2.5]),
        (MeanStatus, [3, 3, 2, 2]),
        (Diversity, [1, 2, 2, 3]),
        (Reliability, [1, 1 / 2, 1 / 2, 2 / 3]),
        (Novelty, [1, 1 / 2, 2 / 3, 1 / 2]),
        (Overlap, [0, 1, 1, 2]),
        (StrategyCpu, [1, 1.5, 3, 3]),
    ],
    ids=str,
)
def test_a_measure_has_a_value_after_every_step(measure, values):
    assert list(measure.over(CRAWL, EVERYTHING)) == pytest.approx(values)
    assert measure.value(CRAWL, EVERYTHING) == pytest.approx(values[-1])
    assert (measure @ 3).value(iter(CRAWL), EVERYTHING) == pytest.approx(values[2])
    assert list((measure @ 2).over(CRAWL, EVERYTHING)) == pytest.approx(values[:2])


def test_every_measure_is_tried_above():
    tried = test_a_measure_has_a_value_after_every_step.pytestmark[0].args[1]
    assert {measure for measure, _ in tried} == set(MEASURES.values())


@pytest.mark.parametrize("measure", MEASURES.values(), ids=str)
def test_a_measure_of_no_steps_is_not_a_number(measure):
    assert list(measure.over([], EVERYTHING)) == []
    assert math.isnan(measure.value([], EVERYTHING))


def test_a_crawl_that_ended_before_the_cutoff_counts_as_it_is():
    assert (Harvest @ 1000).value(CRAWL, EVERYTHING) == Harvest.value(CRAWL, EVERYTHING)


def test_a_measure_reads_no_further_than_its_cutoff():
    steps = iter(CRAWL)
    (Harvest @ 2).value(steps, EVERYTHING)
    assert next(steps).url == HIVES


def test_a_measure_prints_as_it_is_written_and_is_a_key():
    assert (str(Harvest), repr(Harvest @ 500), f"{MeanRank @ 100}") == ("Harvest", "Harvest@500", "MeanRank@100")
    table = {Harvest: 1, Harvest @ 500: 2, MeanRank @ 500: 3}
    assert table[parse_measure("Harvest@500")] == 2
    assert Harvest @ 500 @ 100 == Harvest @ 100


@given(name=st.sampled_from(list(MEASURES)), cutoff=st.none() | st.integers(1, 10**9))
def test_parsing_and_pickling_give_the_same_measure_back(name, cutoff):
    measure = MEASURES[name] if cutoff is None else MEASURES[name] @ cutoff
    assert parse_measure(str(measure)) == measure
    assert parse_measure(str(measure)).fold is measure.fold


@pytest.mark.parametrize("text", ["harvest", "", "@5", "Precision@5"])
def test_an_unknown_measure_lists_those_there_are(text):
    with pytest.raises(UsageError, match=r"there are Harvest, TargetRecall, .*StrategyCpu"):
        parse_measure(text)


@pytest.mark.parametrize(
    "text",
    [
        "Harvest@",
        "Harvest@0",
        "Harvest@-1",
        "Harvest@1.5",
        "Harvest@²",
        "Harvest@5@6",
        "Harvest@" + "9" * 20,
        "Harvest@" + "9" * 5000,
    ],
)
def test_a_cutoff_is_a_number_of_pages(text):
    with pytest.raises(UsageError, match=r"number of pages"):
        parse_measure(text)


@pytest.mark.parametrize("measure", [measure for measure in MEASURES.values() if measure.needs], ids=str)
def test_a_measure_says_at_once_which_truth_it_misses_and_who_has_it(measure):
    with pytest.raises(MissingTruthError, match=rf"^{measure} needs {measure.needs}, .*(known|chosen)"):
        measure.over(CRAWL, Truth())
    assert measure.is_computable(EVERYTHING) and not measure.is_computable(Truth())


def test_some_measures_need_no_truth():
    assert [measure for measure in MEASURES.values() if measure.is_computable(Truth())] == [Diversity, StrategyCpu]


def test_pages_that_are_numbers_are_sites_of_their_own():
    steps = [Step(7, 0.0, 0.0), Step(8, 0.0, 0.0), Step(7, 0.0, 0.0)]
    assert list(Diversity.over(steps, Truth())) == [1, 2, 2]
    assert list(Reliability.over(steps, Truth(directory_sites=frozenset([8])))) == [0, 0.5, 0.5]


def test_a_target_met_twice_counts_once():
    steps = [Step(BEES, 0.0, 0.0)] * 3
    assert TargetRecall.value(steps, Truth(targets=frozenset([BEES, CARS]))) == 0.5
    assert math.isnan(TargetRecall.value(steps, Truth(targets=frozenset())))
    assert Overlap.value(steps, Truth(earlier=frozenset([BEES]))) == 1


def test_a_mean_of_which_nothing_is_known_yet_is_not_a_number():
    values = list(MeanStatus.over(CRAWL[1:], EVERYTHING))
    assert math.isnan(values[0]) and values[1:] == [1, 1]


@given(st.lists(st.booleans(), min_size=1))
def test_the_harvest_of_any_crawl_is_its_share_of_relevant_pages(relevant):
    steps = [Step(number, 0.0, 0.0) for number in range(len(relevant))]
    values = list(Harvest.over(steps, Truth(is_relevant=relevant.__getitem__)))
    assert values == [sum(relevant[:n]) / n for n in range(1, len(relevant) + 1)]
