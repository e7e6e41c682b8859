"""Lycosa: a focused web crawler.

lycosa.new("bees", examples=["https://example.org/hives"], contact="me@example.org")
for visit in lycosa.crawl("bees", pages=100):
    print(visit.fetch.url, visit.relevance)
for hit in lycosa.open("bees").search("swarm"):
    print(hit.title, hit.url)
for visit in lycosa.open("bees").refresh(budget=50):
    print(visit.fetch.url, visit.change)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import LycosaError, crawl, new, open

__version__ = "0.1.0"
__all__ = ["LycosaError", "__version__", "crawl", "new", "open"]


def __getattr__(name: str) -> Any:
    """Loads the crawler when it is first asked for, so that `import lycosa` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("lycosa.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
