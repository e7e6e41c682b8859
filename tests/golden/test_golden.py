"""This version computes what is on record; what to do where it does not stands in README.md."""

import pytest

from golden.record import QUICK, checked


@pytest.mark.slow
@pytest.mark.parametrize("part", QUICK)
def test_what_it_computes_is_on_record(part: str) -> None:
    assert checked(part) == []


@pytest.mark.slow
@pytest.mark.lab
@pytest.mark.parametrize("name", ["status-locality", "authority-static"])  # seconds; `make golden` runs them all
def test_what_a_study_finds_is_on_record(name: str) -> None:
    assert checked(f"studies:{name}", seed=1) == []
