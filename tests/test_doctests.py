"""The examples in the docstrings of the source are true."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
WITH_EXAMPLES = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", [name_of(path) for path in WITH_EXAMPLES])
def test_the_examples_in_a_module_are_true(name: str) -> None:
    tried = doctest.testmod(importlib.import_module(name))
    assert tried.failed == 0  # what was expected and what was got is in the captured output
    assert tried.attempted > 0, "its examples stand where doctest does not look"
