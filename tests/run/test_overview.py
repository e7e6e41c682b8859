"""A collection in numbers."""

import pytest

from crawling import collection, pages
from lycosa.run import upkeep
from lycosa.run.open import open_for_reading
from lycosa.run.overview import harvest_rate_interval, overview
from lycosa.run.review import MIN_DRAWN, SampleResult
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Url
from sessions import crawl
from worlds import STAR


def test_a_measured_harvest_rate_comes_before_an_estimated_one(tmp_path):
    folder = collection(tmp_path / "c", [next(iter(STAR))])
    crawl(folder, STAR, 5)
    with open_for_reading(folder) as opened:
        found = overview(opened)
    assert found.facts.pages == 5
    assert found.waiting == len(STAR) - 5
    assert not found.is_measured
    assert found.harvest_rate == found.facts.harvest_rate
    sample = SampleResult(MIN_DRAWN, 5, 0.5, 0.3, 0.7, 0, 0)
    assert harvest_rate_interval(folder, 5, 5, sample) == (0.3, 0.7)
    assert harvest_rate_interval(folder, 5, 5, None) == harvest_rate_interval(
        folder, 5, 5, SampleResult(1, 1, 1.0, 0.2, 1.0, 0, 0)
    )


@pytest.mark.slow
def test_after_a_label_recall_is_estimated_again_only_where_few_links_are_read(tmp_path, monkeypatch):
    folder = collection(tmp_path / "c", [next(iter(STAR))], topic='text = "star"')
    crawl(folder, STAR, 5)
    with open_for_reading(folder) as opened:
        before = overview(opened)
    assert not before.is_recall_behind
    upkeep.label(folder, {Url(pages(folder)[1]): False}, clock=WallClock(), notify=lambda line: None)
    with open_for_reading(folder) as opened:
        assert not overview(opened).is_recall_behind
        monkeypatch.setattr("lycosa.run.recall._MAX_PAGES_TO_RECOUNT", 4)
        monkeypatch.setattr("lycosa.run.recall.restored_recall", lambda catalog: pytest.fail("all links are read"))
        after = overview(opened)
    assert after.is_recall_behind
    assert after.recall == before.recall
