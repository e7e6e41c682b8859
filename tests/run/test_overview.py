"""A collection in numbers."""

from crawling import collection
from lycosa.run.open import open_for_reading
from lycosa.run.overview import harvest_of, overview
from lycosa.run.review import MIN_DRAWN, Measured
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
    sample = Measured(MIN_DRAWN, 5, 0.5, 0.3, 0.7, 0, 0)
    assert harvest_of(folder, 5, 5, sample) == (0.3, 0.7)
    assert harvest_of(folder, 5, 5, None) == harvest_of(folder, 5, 5, Measured(1, 1, 1.0, 0.2, 1.0, 0, 0))
