"""Lycosa: a focused web crawler.

lycosa.new("bees", examples=["https://example.org/hives"], contact="me@example.org")
for visit in lycosa.crawl("bees", pages=100):
    print(visit.fetch.url, visit.relevance)
for hit in lycosa.open("bees").search("swarm"):
    print(hit.title, hit.url)
for visit in lycosa.open("bees").refresh(budget=50):
    print(visit.fetch.url, visit.change)
"""

TYPE_CHECKING = False  # like that of typing, which takes long to import: until then, Ctrl-C ends in a traceback
if TYPE_CHECKING:
    from typing import Any

    from .api import crawl, forget, import_archive, label, new, open, rebuild
    from .strategies.base import BaseStrategy, clamped
    from .vocabulary.contracts import Relevance, Strategy
    from .vocabulary.errors import LycosaError
    from .vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Skip, SkipReason, Url, Visit
    from .vocabulary.urls import host_of

__version__ = "0.1.0"
_MODULES = {  # the modules of public names: first those to crawl with, then those that a plug-in needs
    "crawl": "lycosa.api",
    "new": "lycosa.api",
    "open": "lycosa.api",  # whose `refresh` is a method, since lycosa.refresh is the package of its policies
    "label": "lycosa.api",
    "forget": "lycosa.api",
    "import_archive": "lycosa.api",
    "rebuild": "lycosa.api",
    "LycosaError": "lycosa.vocabulary.errors",
    "BaseStrategy": "lycosa.strategies.base",
    "Strategy": "lycosa.vocabulary.contracts",
    "Relevance": "lycosa.vocabulary.contracts",
    "Candidate": "lycosa.vocabulary.records",
    "Fetch": "lycosa.vocabulary.records",
    "Link": "lycosa.vocabulary.records",
    "Outcome": "lycosa.vocabulary.records",
    "Page": "lycosa.vocabulary.records",
    "Skip": "lycosa.vocabulary.records",
    "SkipReason": "lycosa.vocabulary.records",
    "Url": "lycosa.vocabulary.records",
    "Visit": "lycosa.vocabulary.records",
    "clamped": "lycosa.strategies.base",
    "host_of": "lycosa.vocabulary.urls",
}
__all__ = [
    "BaseStrategy",
    "Candidate",
    "Fetch",
    "Link",
    "LycosaError",
    "Outcome",
    "Page",
    "Relevance",
    "Skip",
    "SkipReason",
    "Strategy",
    "Url",
    "Visit",
    "__version__",
    "clamped",
    "crawl",
    "forget",
    "host_of",
    "import_archive",
    "label",
    "new",
    "open",
    "rebuild",
]


def __getattr__(name: str) -> "Any":
    """Imports public names on first access, so that `import lycosa` is fast."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
