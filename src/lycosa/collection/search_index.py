"""The search index of a collection: full text with snippets, by tantivy; it can be rebuilt from the archive."""

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tantivy
from msgspec import Struct

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.text import has_unspaced, unspaced_runs

from .json_text import replace_surrogates

HEAP = 60_000_000  # bytes before the writer makes a segment; smaller ones are merged, and mapped whole, more often
MAX_QUERY = 1000  # characters
MAX_TEXT = 100_000  # characters of a page that are indexed
_RUN_ENDS = " x "  # so that no phrase goes from one run into the next
_FIELDS, _BOOSTS = ["title", "body"], {"title": 2.0}
_CANDIDATES = 10  # pages looked at for each that is wanted
_WORD = re.compile(r"\w+")
SNIPPET = 200  # characters
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\s]+")


class Hit(Struct, frozen=True):
    """A page that answers a query; words that matched stand between « and » in the snippet."""

    url: str
    title: str
    snippet: str
    score: float
    relevance: float
    host: str


class SearchIndex:
    """Adds pages and finds them; nothing is found before `commit`.

    The index holds neither text nor relevance, which changes whenever the judge learns: `text_of` gives the text of a
    page wherever one is to be shown or indexed again, `relevance_of` its present relevance.
    """

    def __init__(
        self,
        folder: Path,
        *,
        text_of: Callable[[str], str],
        relevance_of: Callable[[str], float | None] = lambda url: None,
    ):
        self._folder = folder
        self._text_of = text_of
        self._relevance_of = relevance_of
        self._schema = _schema()
        self._open_index: Any = None
        self._link_folder: TemporaryDirectory[str] | None = None
        self._writer: Any = None

    def exists(self) -> bool:
        with self._errors():
            return self._folder.is_dir() and bool(tantivy.Index.exists(str(self._folder)))

    def add(self, url: str, host: str, title: str, text: str) -> None:
        """Adds a page that is not in the index; `delete` it first where it may be."""
        document = tantivy.Document()
        text = text[:MAX_TEXT]
        document.add_text("url", url)
        document.add_text("host", host)
        try:
            document.add_text("title", title)
            document.add_text("body", text)
        except UnicodeEncodeError:  # a lone surrogate, from a hostile page
            document.add_text("title", replace_surrogates(title))
            document.add_text("body", replace_surrogates(text))
        if runs := [*unspaced_runs(title), *unspaced_runs(text)]:
            document.add_text("characters", _RUN_ENDS.join(map(" ".join, runs)))
        with self._errors():
            self._open_writer().add_document(document)

    def delete(self, urls: Iterable[str]) -> None:
        with self._errors():
            for url in urls:
                self._open_writer().delete_documents_by_term("url", url)

    def forget(self, urls: Collection[str]) -> None:
        """Removes these pages from the disk too, which `delete` does only when segments happen to be merged."""
        if not urls or not self.exists():
            return
        self.commit()
        replacement = SearchIndex(self._folder.with_name(self._folder.name + ".new"), text_of=self._text_of)
        replacement.clear()
        with self._errors():
            searcher = self._searcher()
            everything = searcher.search(tantivy.Query.all_query(), limit=max(1, searcher.num_docs), count=False)
            for _, address in everything.hits:
                document = searcher.doc(address)
                if document.get_first("url") not in urls:
                    replacement._copy_from(document)
            replacement._open_writer().commit()
            replacement.close()
            self.close()
            self.clear()
            replacement._folder.rename(self._folder)

    def _copy_from(self, document: Any) -> None:
        url, host, title = (document.get_first(field) or "" for field in ("url", "host", "title"))
        self.add(url, host, title, self._text_of(url))

    def commit(self) -> None:
        """Makes everything added findable, and durable."""
        if self._writer is not None:
            with self._errors():
                self._writer.commit()

    def close(self) -> None:
        """Closes the writer when its merges are done; what was not committed is lost."""
        if self._writer is not None:
            with self._errors():
                self._writer.wait_merging_threads()
        self.abandon()

    def abandon(self) -> None:
        """Drops the writer as a kill would."""
        self._writer = self._open_index = None

    def clear(self) -> None:
        """Deletes the index."""
        self.abandon()
        if self._folder.exists():
            try:
                shutil.rmtree(self._folder)
            except OSError as error:
                raise CollectionError(f"cannot remove {error.filename}: {error.strerror}") from error

    def search(
        self, query: str, *, limit: int = 10, host: str | None = None, min_relevance: float | None = None
    ) -> list[Hit]:
        """The best pages for a query, which may be any text; an empty one lists pages."""
        if limit < 1 or not self.exists():
            return []
        filters = []
        if host is not None:
            filters.append(
                (tantivy.Occur.Must, tantivy.Query.term_query(self._schema, "host", replace_surrogates(host)))
            )
        with self._errors():
            index, searcher = self._index(), self._searcher()
        for wanted in self._parsed_queries(index, replace_surrogates(query[:MAX_QUERY])):
            filtered = tantivy.Query.boolean_query([(tantivy.Occur.Must, wanted), *filters])
            try:
                found = self._best(searcher, filtered, limit, min_relevance)
            except ValueError:  # a field that cannot be asked in this way
                continue
            if found:
                snippets, runs = self._snippets(searcher, wanted), unspaced_runs(query)
                return [self._hit(searcher.doc(address), snippets, score, runs) for score, address in found]
        return []

    def _best(self, searcher: Any, query: Any, limit: int, min_relevance: float | None) -> list[tuple[float, Any]]:
        """The best hits with their scores, of pages of some relevance."""
        if min_relevance is None:
            return list(searcher.search(query, limit=limit, count=False).hits)
        asked = limit
        while True:
            asked = min(_CANDIDATES * asked, max(1, searcher.num_docs))
            hits = searcher.search(query, limit=asked, count=False).hits
            relevant = (
                (score, address)
                for score, address in hits
                if self._relevance(searcher.doc(address).get_first("url") or "") >= min_relevance
            )
            found = list(islice(relevant, limit))
            if len(found) == limit or len(hits) < asked or asked >= searcher.num_docs:
                return found

    def _relevance(self, url: str) -> float:
        return self._relevance_of(url) or 0.0

    def with_all(self, words: Sequence[str], *, limit: int, where: Callable[[str], bool]) -> list[Hit]:
        """The best pages that have all the words, of any text, and whose URL `where` accepts; no other page is read."""
        if limit < 1 or not words or not self.exists():
            return []
        words = [replace_surrogates(word).replace('"', " ") for word in words]
        with self._errors():
            index, searcher = self._index(), self._searcher()
            wanted = tantivy.Query.boolean_query([(tantivy.Occur.Must, _word_query(index, word)) for word in words])
            found = searcher.search(wanted, limit=_CANDIDATES * limit, count=False).hits
        documents = ((searcher.doc(address), score) for score, address in found)
        shown = islice((each for each in documents if where(each[0].get_first("url") or "")), limit)
        snippets, runs = self._snippets(searcher, wanted), [run for word in words for run in unspaced_runs(word)]
        return [self._hit(document, snippets, score, runs) for document, score in shown]

    def _snippets(self, searcher: Any, wanted: Any) -> Any:
        snippets = tantivy.SnippetGenerator.create(searcher, wanted, self._schema, "body")
        snippets.set_max_num_chars(SNIPPET)
        return snippets

    def _hit(self, document: Any, snippets: Any, score: float | None, runs: list[str]) -> Hit:
        url = document.get_first("url") or ""
        body = replace_surrogates(self._text_of(url)[:MAX_TEXT])
        document.add_text("body", body)
        snippet = snippets.snippet_from_doc(document)
        return Hit(
            url=url,
            title=one_safe_line(document.get_first("title") or ""),
            snippet=snippet_around(runs, body)
            or highlight(snippet.fragment(), snippet.highlighted())
            or one_safe_line(body[:SNIPPET]),
            score=score or 0.0,
            relevance=self._relevance(url),
            host=document.get_first("host") or "",
        )

    def _parsed_queries(self, index: Any, query: str) -> Iterator[Any]:
        """The parses of a query to try: first with its operators, then as plain words."""
        words = _WORD.findall(query.lower())
        if not words:
            if not query.strip():
                yield tantivy.Query.all_query()
            return
        if runs := unspaced_runs(query):
            others = _WORD.findall("".join(" " if has_unspaced(letter) else letter for letter in query.lower()))
            pieces = [(tantivy.Occur.Should, _word_query(index, piece)) for piece in (*runs, *others)]
            yield tantivy.Query.boolean_query(pieces)
        if query.count("(") + query.count("[") + query.count("{") <= 10:  # the parser recurses
            wanted, misread = index.parse_query_lenient(query, _FIELDS, _BOOSTS)
            if not misread:
                yield wanted
        yield index.parse_query_lenient(" ".join(f'"{word}"' for word in words), _FIELDS, _BOOSTS)[0]

    def _index(self) -> Any:
        if self._open_index is None:
            self._open_index = tantivy.Index(self._schema, path=str(self._usable_folder()), reuse=True)
        return self._open_index

    def _usable_folder(self) -> Path:
        """The folder, or a temporary one of links to its files if it is read-only: tantivy locks even what it reads."""
        if os.access(self._folder, os.W_OK):
            return self._folder
        self._link_folder = TemporaryDirectory(prefix="lycosa-")
        for path in self._folder.iterdir():
            if not path.name.endswith(".lock"):
                (Path(self._link_folder.name) / path.name).symlink_to(path.absolute())
        return Path(self._link_folder.name)

    def _searcher(self) -> Any:
        self._index().reload()
        return self._index().searcher()

    def _open_writer(self) -> Any:
        if self._writer is None:
            self._folder.mkdir(exist_ok=True)
            self._writer = self._index().writer(heap_size=HEAP, num_threads=1)
        return self._writer

    @contextmanager
    def _errors(self) -> Iterator[None]:
        name = self._folder.parent
        try:
            yield
        except OSError as error:
            raise CollectionError(
                f"cannot use {self._folder}: {error.strerror or error}; make room or give access"
            ) from error
        except ValueError as error:
            what = one_safe_line(str(error))[:200]
            if "os error" in what or "io::Error" in what or "IoError" in what:
                raise CollectionError(f"cannot use {self._folder}: {what}; make room or give access") from error
            raise CollectionError(
                f"the search index of {name} cannot be used ({what}); run: lycosa rebuild {name}"
            ) from error


def _word_query(index: Any, word: str) -> Any:
    """Pages that have a word; one in a script without blanks is searched for as a phrase of its characters."""
    if has_unspaced(word):
        return index.parse_query_lenient(f'"{" ".join(word)}"', ["characters"])[0]
    return index.parse_query_lenient(f'"{word}"', _FIELDS, _BOOSTS)[0]


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("host", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", stored=True)
    builder.add_text_field("body", stored=False)
    builder.add_text_field("characters", stored=False)  # of scripts without blanks, which cannot be split into words
    builder.add_float_field("relevance", stored=True, indexed=True, fast=True)  # unused; indexes made earlier have it
    return builder.build()


# ---------------------------------------------------------------- snippets


def one_safe_line(text: str) -> str:
    """The text in one line, without control and direction characters."""
    return _CONTROL.sub(" ", text).strip()


def highlight(fragment: str, ranges: Iterable[Any]) -> str:
    """A fragment with « and » around the ranges of bytes that matched."""
    data, parts, end = fragment.encode(), [], 0
    for each in ranges:
        parts += [data[end : each.start], "«".encode(), data[each.start : each.end], "»".encode()]
        end = each.end
    parts.append(data[end:])
    return one_safe_line(b"".join(parts).decode("utf-8", "replace"))


def snippet_around(runs: Sequence[str], body: str) -> str:
    """The text around the first of some strings found in it, all of them between « and »; empty if none is found."""
    places = [(body.find(run), run) for run in runs]
    at, _ = min(((place, run) for place, run in places if place >= 0), default=(-1, ""))
    if at < 0:
        return ""
    fragment = body[max(0, at - SNIPPET // 4) : at + 3 * SNIPPET // 4]
    return one_safe_line(re.sub("|".join(map(re.escape, sorted(runs, key=len, reverse=True))), r"«\g<0>»", fragment))
