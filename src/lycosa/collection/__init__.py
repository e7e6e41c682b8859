"""A collection on disk: the archive is the log of what happened, catalog and search index are folds of it."""

from .archive import Archive
from .catalog import Catalog
from .collection import Collection
from .events import Attempt, Event, Example, Place, Position, Run, Scores, Stop
from .export import export
from .foreign import ForeignFetches
from .rows import ExampleRow, FetchRow, PageRow, Parent, RunRow, SkipRow, Summary
from .search_index import Hit, SearchIndex

__all__ = [
    "Archive",
    "Attempt",
    "Catalog",
    "Collection",
    "Event",
    "Example",
    "ExampleRow",
    "FetchRow",
    "ForeignFetches",
    "Hit",
    "PageRow",
    "Parent",
    "Place",
    "Position",
    "Run",
    "RunRow",
    "Scores",
    "SearchIndex",
    "SkipRow",
    "Stop",
    "Summary",
    "export",
]
