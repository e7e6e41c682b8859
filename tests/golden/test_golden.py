"""This version computes what is on record; what to do where it does not stands in README.md."""

import pytest

from golden.orders import orders
from golden.record import checked, differences, recorded


@pytest.mark.slow
@pytest.mark.parametrize("world", ["topical", "drawn 17"])  # `make golden` tries the others too
def test_every_strategy_visits_pages_in_the_order_on_record(world: str) -> None:
    assert list(differences(recorded("orders")[world], orders([world])[world])) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", ["command-line", "served-crawl"])
def test_what_it_computes_is_on_record(part: str) -> None:
    assert checked(part) == []


@pytest.mark.slow
@pytest.mark.lab
@pytest.mark.parametrize("name", ["status-locality", "authority-static"])  # seconds; `make golden` runs them all
def test_what_a_study_finds_is_on_record(name: str) -> None:
    assert checked(f"studies:{name}", seed=1) == []
