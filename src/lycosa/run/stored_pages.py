"""Pages of a collection, read from its archive, and their terms, which are cached."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from lycosa import __version__
from lycosa.collection.collection import Collection
from lycosa.collection.page_words import WORDS_FILE, PageWords
from lycosa.collection.rows import ExampleRow, PageRow
from lycosa.reading import Reader
from lycosa.relevance.term_counts import CountedTerms
from lycosa.vocabulary.records import Page, Url


class StoredPages:
    """Stored pages and fetched examples, by URL.

    stem: whether terms are stems.
    """

    def __init__(self, folder: Path, collection: Collection, reader: Reader, *, stem: bool):
        self._folder = folder
        self._collection = collection
        self._reader = reader
        self._stem = stem
        # Of examples and pages for training, by URL and time of the fetch.
        self._term_cache: dict[tuple[Url, float], CountedTerms] = {}

    @cached_property
    def words(self) -> PageWords:
        """The saved word counts of scored pages."""
        return open_words(self._folder, stem=self._stem)

    def terms(self, url: Url) -> CountedTerms | None:
        """The terms of a stored page or fetched example, for training."""
        row: PageRow | ExampleRow | None = self._collection.catalog.page(url)
        if row is None or row.place is None:
            row = self._collection.catalog.example(url)
        if row is None or row.place is None:
            return None
        if (url, row.at) not in self._term_cache:
            terms = self.words.terms(url, row.at)
            if terms is None:
                page = self._reader(self._collection.archive.fetch_at(row.place))
                if page is None:
                    return None
                terms = dict(page.terms)
                self.words.put_terms(url, row.at, terms)
            self._term_cache[url, row.at] = CountedTerms(terms)
        return self._term_cache[url, row.at]

    def cached_terms(self, name: Url, count: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """The terms of an example file or of a built-in text, counted once."""
        terms: Mapping[str, int] | None = self.words.terms(name, 0.0)
        if terms is None:
            terms = count()
            self.words.put_terms(name, 0.0, terms)
        return terms

    def page(self, url: Url) -> Page | None:
        """A stored page or fetched example, read from the archive."""
        row: PageRow | ExampleRow | None = self._collection.catalog.page(url)
        if row is None or row.place is None:
            row = self._collection.catalog.example(url)
        if row is None or row.place is None:
            return None
        return self._reader(self._collection.archive.fetch_at(row.place))

    def close(self) -> None:
        """Closes the file of saved word counts, if it is open."""
        if "words" in self.__dict__:  # a cached property
            self.words.close()

    def forget_terms(self) -> None:
        """Empties the cache of terms in memory, after pages were removed."""
        self._term_cache.clear()


def open_words(folder: Path, *, stem: bool) -> PageWords:
    """Opens the saved word counts of the collection in a folder."""
    return PageWords(folder / WORDS_FILE, made_by=f"1 {'stems' if stem else 'words'} {__version__}")
