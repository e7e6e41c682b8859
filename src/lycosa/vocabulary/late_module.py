"""Modules of other packages that are imported when they are first used, not when the file that uses them is.

For those that take much memory or time and are not needed by every command: a long crawl, for example, leaves the
search index to the first search.
"""

from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module, which is imported when something of it is first used.

    >>> json = LateModule("json")
    >>> json.loads("[1]")
    [1]
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)  # for the next time
        return value
