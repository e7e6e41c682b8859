"""Relevance by a function of the user, which is imported only for trusted recipes."""

import importlib
import importlib.util
import math
import sys
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
            raise LycosaError(
                f"{self._name} failed on {page.url}: {problem}; fix the function and run the command again"
            ) from error
        if math.isnan(value):
            raise LycosaError(f"{self._name} returned NaN for {page.url}; it must return a number from 0 to 1")
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
    file = _source_file(path.partition(":")[0])
    try:
        return xxhash.xxh3_128_hexdigest(Path(file).read_bytes()) if file else ""
    except OSError:
        return ""


def _source_file(module_name: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module_name)
    except ImportError:  # of its package
        return None
    except ValueError:  # a module without a spec: `__main__` of a script
        return getattr(sys.modules.get(module_name), "__file__", None)
    return None if spec is None else spec.origin
