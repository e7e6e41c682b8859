"""The words of stored pages, read from the archive and kept for a while, as the same pages are asked for often."""

from collections import OrderedDict

import numpy as np
from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.rows import PageRow
from lycosa.collection.search_index import MAX_TEXT
from lycosa.reading import Reader
from lycosa.reading.words import FoldedWords
from lycosa.vocabulary.records import Codes, Url
from lycosa.vocabulary.tokens import folded


class PageText(Struct, frozen=True, gc=False):
    """A page as it was read for a hit."""

    title: str
    text: str
    hashes: Codes  # of its words
    title_words: int

    @property
    def size(self) -> int:
        return len(self.text) + len(self.title) + self.hashes.nbytes + 200


class PageTexts:
    """cache_bytes: about how much memory the texts may take that are kept."""

    def __init__(self, collection: Collection, cache_bytes: int):
        self._collection = collection
        self._reader = Reader()
        self._texts: OrderedDict[tuple[str, str, int], PageText] = OrderedDict()
        self._cached, self._cache_bytes = 0, cache_bytes
        self._rows: dict[str, PageRow | None] = {}

    def begin(self) -> None:
        """Another question: what the catalog told for the last one may have changed."""
        self._rows.clear()

    def row(self, url: str) -> PageRow | None:
        if url not in self._rows:
            self._rows[url] = self._collection.catalog.page(Url(url))
        return self._rows[url]

    def text(self, url: Url) -> PageText:
        page = self.row(url)
        if page is None or page.place is None:
            return _NO_TEXT
        key = (url, page.place.file, page.place.offset)
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = self.read(page)
            self._cached += known.size
            while self._cached > self._cache_bytes and len(self._texts) > 1:
                self._cached -= self._texts.popitem(last=False)[1].size
        else:
            self._texts.move_to_end(key)
        return known

    def read(self, page: PageRow) -> PageText:
        read = self._reader(self._collection.archive.fetch_at(page.place)) if page.place else None
        if read is None:
            return _NO_TEXT
        text = read.main[:MAX_TEXT]
        words = FoldedWords(folded(f"{read.title} {text}")).codes
        return PageText(read.title, text, words, len(FoldedWords(folded(read.title)).codes))


_NO_TEXT = PageText("", "", np.empty(0, np.uint64), 0)
