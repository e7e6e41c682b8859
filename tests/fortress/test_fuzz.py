"""No input makes a parser raise anything but a clear refusal; `tests/fortress/fuzz.py` tries many more of them."""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fortress.mutation import mutated
from fortress.parsers import PARSERS
from lycosa.vocabulary.errors import LycosaError

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*"))


def _parsed(name: str, data: bytes) -> None:
    with suppress(LycosaError):
        PARSERS[name].parse(data)


@pytest.mark.parametrize("name", PARSERS)
def test_what_a_parser_begins_from_is_read(name):
    for seed in PARSERS[name].seeds:
        _parsed(name, seed)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_was_once_too_much_for_a_parser_is_refused_or_read(path):
    names = {name.replace(" ", "-"): name for name in PARSERS}
    _parsed(names[path.name.rpartition(".")[0]], path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_no_damage_is_too_much_for_a_parser(name, seed):
    _parsed(name, mutated(PARSERS[name].seeds, Random(seed)))
