import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from lycosa.relevance import load_function
from lycosa.relevance.function import code_digest
from lycosa.vocabulary.errors import LycosaError, RecipeError
from lycosa.vocabulary.records import Page, Url
from pages import GivenWords

PAGE = Page(Url("http://site.example/x"), "Title", "text", "text", GivenWords({}), ())
MODULE = """
class Judge:
    @staticmethod
    def half(page): return 0.5
def yes(page): return True
def much(page): return 7
def little(page): return -7
def titled(page): return page.title == "Title"
def nothing(page): return None
def not_a_number(page): return float("nan")
def broken(page): raise KeyError("two\\nlines")
number = 3
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_judges.py").write_text(MODULE)
    (tmp_path / "my_broken_module.py").write_text("import my_no_such_thing")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("name", "relevance"), [("yes", 1.0), ("much", 1.0), ("little", 0.0), ("titled", 1.0), ("Judge.half", 0.5)]
)
def test_what_a_function_says_is_kept_within_0_and_1(name: str, relevance: float) -> None:
    value = load_function(f"my_judges:{name}").relevance(PAGE)
    assert value == relevance and math.isfinite(value)


@pytest.mark.parametrize("name", ["nothing", "not_a_number", "broken"])
def test_trouble_in_a_function_names_it_and_the_page(name: str) -> None:
    with pytest.raises(LycosaError) as told:
        load_function(f"my_judges:{name}").relevance(PAGE)
    assert f"my_judges:{name}" in str(told.value) and PAGE.url in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "path", ["", "my_judges", "my_judges:", ":yes", "my_judges:no_such", "my_judges:number", "no_such_module:x"]
)
def test_a_path_that_names_no_function_is_told(path: str) -> None:
    with pytest.raises(RecipeError) as told:
        load_function(path)
    assert "\n" not in str(told.value)


def test_a_module_that_cannot_be_imported_is_told() -> None:
    with pytest.raises(RecipeError, match="my_no_such_thing"):
        load_function("my_broken_module:x")


def test_the_digest_of_a_function_in_the_script_that_runs_is_that_of_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ModuleType("__main__")  # without __spec__, as Python makes it for a script
    script.__file__ = str(tmp_path / "my_judges.py")
    monkeypatch.setitem(sys.modules, "__main__", script)
    assert code_digest("__main__:yes") == code_digest("my_judges:yes") != ""


@pytest.mark.parametrize("path", ["no_such_module:x", "no_such_package.module:x", "sys:exit"])
def test_a_function_without_a_file_has_no_digest(path: str) -> None:
    assert code_digest(path) == ""
