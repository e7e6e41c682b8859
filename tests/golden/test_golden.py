"""This version computes what was recorded; what to do when it does not stands in README.md."""

import pytest

from golden.record import QUICK, SEEDS, checked
from golden.studies import STUDY_NAMES


@pytest.mark.parametrize("part", QUICK)
def test_what_it_computes_is_as_recorded(part: str) -> None:
    assert checked(part) == []


@pytest.mark.slow
@pytest.mark.lab
@pytest.mark.timeout(2_000)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", STUDY_NAMES)
def test_what_a_study_finds_is_as_recorded(name: str, seed: int) -> None:
    assert checked(f"studies:{name}", seed) == []
