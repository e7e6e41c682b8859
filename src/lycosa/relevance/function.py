"""Relevance by a function of the user, which is imported only for trusted recipes."""

import importlib
import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

import xxhash

from lycosa.vocabulary.errors import LycosaError, RecipeError
from lycosa.vocabulary.records import Page


class Function:
    """A relevance model that calls a function with the page and clips the result to 0..1."""

    def __init__(self, name: str, function: Callable[[Page], float]):
        self._name = name
        self._function = function

    def relevance(self, page: Page) -> float:
        try:
            value = float(self._function(page))
        except Exception as error:  # the user's function may raise anything; the error names it
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise LycosaError(f"{self._name} failed on {page.url}: {problem}; fix the function and go on") from error
        if math.isnan(value):
            raise LycosaError(f"{self._name} gave no number (NaN) for {page.url}; let it return 0 to 1")
        return min(1.0, max(0.0, value))


def load_function(path: str) -> Function:
    """The function that "package.module:function" names."""
    module_name, colon, attribute = path.partition(":")
    if not (module_name and colon and attribute):
        raise RecipeError(f"{path!r} names no function; write package.module:function")
    try:
        loaded = importlib.import_module(module_name)
    except Exception as error:  # importing runs the user's module, which may raise anything
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise RecipeError(f"cannot import {module_name} for {path}: {problem}; is its folder on PYTHONPATH?") from error
    for name in attribute.split("."):
        if not hasattr(loaded, name):
            raise RecipeError(f"{module_name} has no {attribute}; {path} must name a function of a page")
        loaded = getattr(loaded, name)
    if not callable(loaded):
        raise RecipeError(f"{path} is not a function but a {type(loaded).__name__}")
    return Function(path, loaded)


def code_digest(path: str) -> str:
    """The digest of the file with the function that "package.module:function" names, without what that file imports;
    empty if there is no such file."""
    spec = importlib.util.find_spec(path.partition(":")[0])
    try:
        return xxhash.xxh3_128_hexdigest(Path(spec.origin).read_bytes()) if spec is not None and spec.origin else ""
    except OSError:
        return ""
