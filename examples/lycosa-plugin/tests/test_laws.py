from functools import partial

from lycosa_plugin.exporter import write_reading_list
from lycosa_plugin.relevance import NaiveBayes
from lycosa_plugin.strategy import HostHarvest

from lycosa.testing import check_exporter, check_relevance, check_strategy


def test_the_strategy_keeps_the_laws():
    check_strategy(HostHarvest)
    check_strategy(partial(HostHarvest, prior=5.0))


def test_the_relevance_model_keeps_the_laws():
    check_relevance(NaiveBayes)


def test_the_exporter_keeps_the_laws():
    check_exporter(write_reading_list)
