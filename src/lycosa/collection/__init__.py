"""A collection on disk: the archive is an append-only log of events; catalog and search index are derived from it.

events         what the log records
event_records  an event as WARC records, and back
warc           reading and writing WARC 1.1
cdxj           the CDXJ index beside each WARC file
archive        the folder of WARC files to which events are appended
folder         checks of the folder of a collection, which may be untrusted
upkeep_journal a file that records an unfinished rebuild or removal, or shards that are not gathered yet
schema         the tables of the catalog, version by version
rows           rows of the catalog as records
queries        read queries on the catalog
catalog        the events as SQLite tables
search_index   full text search
search_query   the syntax of searches
page_words     a cache of the words of pages
collection     all of these in one folder, with a lock
shards         parts of a collection, in which the workers of a crawl work
outbox         what a shard has for others
foreign        WARC files of other programs
export         pages as rows, and rows as a file for other programs
arrow_tables   rows as Arrow tables and Parquet
export_folders rows as a folder of Markdown files, or as a dataset
wacz           the collection as a WACZ file, for replay
json_text      records as JSON
errors         errors of disks and databases as one line
"""

from .archive import Archive
from .catalog import Catalog
from .collection import Collection
from .events import ArchivePosition, Attempt, Event, FetchedExample, RecordLocation, RunStart, RunStop, Scores
from .foreign import ForeignFetches
from .rows import ExampleRow, FetchRow, InLinkRow, PageRow, RunRow, SkipRow, Summary
from .search_index import Hit, SearchIndex

__all__ = [
    "Archive",
    "ArchivePosition",
    "Attempt",
    "Catalog",
    "Collection",
    "Event",
    "ExampleRow",
    "FetchRow",
    "FetchedExample",
    "ForeignFetches",
    "Hit",
    "InLinkRow",
    "PageRow",
    "RecordLocation",
    "RunRow",
    "RunStart",
    "RunStop",
    "Scores",
    "SearchIndex",
    "SkipRow",
    "Summary",
]
