"""The search index of a collection: full text with snippets, by tantivy; it can be rebuilt from the archive."""

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import read_regular_file
from lycosa.vocabulary.late_module import LateModule
from lycosa.vocabulary.text import has_unspaced, quoted, unspaced_runs

from .json_text import replace_surrogates
from .search_query import MAX_QUERY, BooleanQuery, Term, parse_query

if TYPE_CHECKING:
    import tantivy
else:
    tantivy = LateModule("tantivy")  # takes 6 MB with its analyzers, and a long crawl does not use it

WRITER_HEAP = 60_000_000  # bytes before the writer makes a segment; smaller segments are merged more often
MAX_TEXT = 100_000  # characters of a page that are indexed
_RUN_SEPARATOR = " x "  # so that no phrase spans two runs of characters of a script without spaces
OTHER = "other"  # the code of all languages without a stemmer
_EXACT_WEIGHTS = {"title": 0.5, "body": 0.25}  # of a match of the unstemmed word, by field
_STEM_WEIGHTS = {"title": 2.0, "body": 1.0}  # of a match of its stem
_MAX_META_BYTES = 100_000_000  # of a list of tantivy: of segments, or of files
_TANTIVY_FILE = re.compile(r"[0-9a-f]{32}(?:\.\w+)+|meta\.json")  # a file name that tantivy makes
_EXAMINED_PER_HIT = 10  # results examined for each that is requested
MAX_EXAMINED = 1_000  # results that can be paged through, sorted, or filtered by what is not in the index
MAX_FACETED = 200  # results whose facets are counted
SNIPPET = 200  # characters of a snippet
_MARKS = re.compile(r"[^\w\s\x00-\x7f]{30}(?=[^\w\s\x00-\x7f])")  # combining marks, among others; see `_composed`
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\s]+")


class Hit(Struct, frozen=True):
    """A result of a query; matching words are between « and » in the snippet."""

    url: str
    title: str
    snippet: str
    score: float
    relevance: float | None  # None if not scored yet
    host: str


class SearchResults(Struct, frozen=True):
    """One page of the results of a query."""

    hits: tuple[Hit, ...] = ()
    total: int = 0  # number of results
    is_partial: bool = False  # whether only the first `MAX_EXAMINED` were counted
    facet_urls: tuple[str, ...] = ()  # of the first `MAX_FACETED` results, whose facets are counted


class SearchIndex:
    """Adds pages and finds them; nothing is found before `commit`.

    The index contains neither text nor relevance, which changes with the model: `text_of` gives the text of a page to
    show or index again, `relevance_of` its current relevance.
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
        self._open_index: Any = None
        self._link_folder: TemporaryDirectory[str] | None = None
        self._writer: Any = None

    @cached_property
    def _schema(self) -> Any:
        return _schema()

    def exists(self) -> bool:
        with self._errors():
            return self._folder.is_dir() and bool(tantivy.Index.exists(str(self._folder)))

    def is_outdated(self) -> bool:
        """Whether there is an index of an older version of Lycosa, with other fields."""
        try:
            fields = [
                field["name"]
                for field in json.loads(read_regular_file(self._folder / "meta.json", _MAX_META_BYTES))["schema"]
            ]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return False  # there is none, or it is damaged, which opening it reports
        return fields != _field_names()

    def add(self, url: str, host: str, title: str, text: str, language: str = "") -> None:
        """Adds a page that is not in the index; if it may be, `delete` it first.

        language: ISO 639-1; an empty one is stemmed as English, one without a stemmer not at all.
        """
        document = tantivy.Document()
        title, text = _composed(title), _composed(text[:MAX_TEXT])
        document.add_text("url", url)
        document.add_text("host", host)
        document.add_text("language", language)
        code = _stemmer_code(language)
        for name, content in (("title", title), ("body", text)):
            document.add_text(name, content)
            document.add_text(f"{name}_{code}", _with_plain_i(content))
        if runs := [*unspaced_runs(title), *unspaced_runs(text)]:
            document.add_text("characters", _RUN_SEPARATOR.join(map(" ".join, runs)))
        with self._errors():
            self._open_writer().add_document(document)

    def delete(self, urls: Iterable[str]) -> None:
        with self._errors():
            for url in urls:
                self._open_writer().delete_documents_by_term("url", url)

    def forget(self, urls: Collection[str]) -> None:
        """Removes these pages from disk at once; `delete` does so only when segments are merged."""
        if not urls or not self.exists():
            return
        self.commit()
        self.drop_leftovers()
        replacement = SearchIndex(self._sibling("new"), text_of=self._text_of)
        with self._errors():
            searcher = self._searcher()
            everything = searcher.search(tantivy.Query.all_query(), limit=max(1, searcher.num_docs), count=False)
        for _, address in everything.hits:
            document = self._document(searcher, address)
            if document.get_first("url") not in urls:
                replacement._copy_from(document)
        with self._errors():
            replacement._open_writer().commit()
            replacement.close()
            self.close()
            old = self._folder.rename(self._sibling("old"))  # after a kill from here on, it is built again
            replacement._folder.rename(self._folder)
            shutil.rmtree(old)

    def _copy_from(self, document: Any) -> None:
        url, host, title, language = (document.get_first(name) or "" for name in ("url", "host", "title", "language"))
        self.add(url, host, title, self._text_of(url), language)

    def commit(self) -> None:
        """Makes everything added searchable and durable."""
        if self._writer is not None:
            with self._errors():
                self._writer.commit()

    def close(self) -> None:
        """Closes the writer after its merges; uncommitted changes are lost."""
        if self._writer is not None:
            with self._errors():
                self._writer.wait_merging_threads()
        self.abandon()

    def abandon(self) -> None:
        """Drops the writer, as after a kill."""
        self._writer = self._open_index = None

    def clear(self) -> None:
        """Deletes the index atomically."""
        self.abandon()
        self.drop_leftovers()
        try:
            if self._folder.exists():
                shutil.rmtree(self._folder.rename(self._sibling("old")))
        except OSError as error:
            raise CollectionError(f"cannot remove {error.filename}: {error.strerror}") from error

    def drop_leftovers(self) -> None:
        """Deletes temporary folders left by a kill."""
        try:
            for path in (self._sibling("old"), self._sibling("new")):
                if path.exists():
                    shutil.rmtree(path)
        except OSError as error:
            raise CollectionError(f"cannot remove {error.filename}: {error.strerror}") from error

    def _sibling(self, suffix: str) -> Path:
        return self._folder.with_name(f"{self._folder.name}.{suffix}")

    def search(
        self, query: str, *, limit: int = 10, host: str | None = None, min_relevance: float | None = None
    ) -> list[Hit]:
        """The best pages for a query, which may be any text (see `search_query`); an empty one lists pages."""
        if limit < 1 or not self.exists():
            return []
        parsed = parse_query(_composed(query[: 2 * MAX_QUERY]))
        with self._errors():
            searcher = self._searcher()
            wanted = self._query(parsed) if query.strip() else tantivy.Query.all_query()
            if wanted is None:
                return []
            filters = [(tantivy.Occur.Must, wanted)]
            if host is not None:
                of_host = tantivy.Query.term_query(self._schema, "host", replace_surrogates(host))
                filters.append((tantivy.Occur.Must, of_host))
            filtered_query = tantivy.Query.boolean_query(filters)
            snippets = _Snippets(searcher, self._schema, wanted, list(parsed.terms()))
        found = self._best(searcher, filtered_query, limit, min_relevance)
        return [self._hit(self._document(searcher, address), snippets, score) for score, address in found]

    def search_page(
        self,
        query: str,
        *,
        offset: int = 0,
        limit: int = 10,
        host: str | None = None,
        language: str | None = None,
        choose: Callable[[Sequence[str]], Sequence[str]] | None = None,
    ) -> SearchResults:
        """One page of the results of a query, such as the third ten, and the URLs of the first ones.

        choose: gets the URLs of the first `MAX_EXAMINED` results, best first, and returns the wanted ones in the wanted
            order.
        """
        if limit < 1 or offset < 0 or not self.exists():
            return SearchResults()
        parsed = parse_query(_composed(query[: 2 * MAX_QUERY]))
        with self._errors():
            searcher = self._searcher()
            wanted = self._query(parsed) if query.strip() else tantivy.Query.all_query()
            if wanted is None:
                return SearchResults()
            filters = [(tantivy.Occur.Must, wanted)]
            for field, value in (("host", host), ("language", language)):
                if value is not None:
                    term = tantivy.Query.term_query(self._schema, field, replace_surrogates(value))
                    filters.append((tantivy.Occur.Must, term))
            filtered_query = tantivy.Query.boolean_query(filters)
            examined = MAX_EXAMINED if choose is not None else min(MAX_EXAMINED, max(MAX_FACETED, offset + limit))
            found = searcher.search(filtered_query, limit=examined, count=True)
            documents = [(score, searcher.doc(address)) for score, address in found.hits]
            total = int(found.count or 0)
            snippets = _Snippets(searcher, self._schema, wanted, list(parsed.terms()))
        if choose is not None:
            by_url = {document.get_first("url") or "": (score, document) for score, document in documents}
            documents = [by_url[url] for url in choose(list(by_url))]
            total = len(documents)
        shown = documents[offset : offset + limit]
        return SearchResults(
            tuple(self._hit(document, snippets, score) for score, document in shown),
            total,
            is_partial=choose is not None and int(found.count or 0) > MAX_EXAMINED,
            facet_urls=tuple(document.get_first("url") or "" for _, document in documents[:MAX_FACETED]),
        )

    def _best(self, searcher: Any, query: Any, limit: int, min_relevance: float | None) -> list[tuple[float, Any]]:
        """The best hits with their scores, of pages of at least this relevance."""
        if min_relevance is None:
            with self._errors():
                return list(searcher.search(query, limit=limit, count=False).hits)
        examined = limit
        while True:
            examined = min(_EXAMINED_PER_HIT * examined, max(1, searcher.num_docs))
            with self._errors():
                hits = searcher.search(query, limit=examined, count=False).hits
            relevant = (
                (score, address)
                for score, address in hits
                if self._relevance(self._document(searcher, address).get_first("url") or "") >= min_relevance
            )
            found = list(islice(relevant, limit))
            if len(found) == limit or len(hits) < examined or examined >= searcher.num_docs:
                return found

    def _document(self, searcher: Any, address: Any) -> Any:
        with self._errors():
            return searcher.doc(address)

    def _relevance(self, url: str) -> float:
        return self._relevance_of(url) or 0.0

    def search_all_words(self, words: Sequence[str], *, limit: int, where: Callable[[str], bool]) -> list[Hit]:
        """The best pages that have all the words and whose URL `where` accepts; no other page is read."""
        if limit < 1 or not words or not self.exists():
            return []
        with self._errors():
            searcher = self._searcher()
            terms = [Term(_composed(word), kind="phrase") for word in words]
            queries = [query for query in map(self._term_query, terms) if query is not None]
            if len(queries) < len(terms):
                return []
            wanted = tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])
            found = searcher.search(wanted, limit=_EXAMINED_PER_HIT * limit, count=False).hits
            snippets = _Snippets(searcher, self._schema, wanted, terms)
        documents = ((self._document(searcher, address), score) for score, address in found)
        shown = islice((each for each in documents if where(each[0].get_first("url") or "")), limit)
        return [self._hit(document, snippets, score) for document, score in shown]

    def similar(self, url: str, *, limit: int = 10) -> list[Hit]:
        """The pages most similar to a page, by its words of the highest tf · idf; without itself."""
        text = _composed(self._text_of(url)[:MAX_TEXT])
        if limit < 1 or not text or not self.exists():
            return []
        with self._errors():
            searcher = self._searcher()
            wanted = tantivy.Query.more_like_this_document_fields_query(
                self._schema, {"body": [text]}, min_doc_frequency=1, min_term_frequency=1
            )
            found = searcher.search(wanted, limit=limit + 1, count=False).hits
            documents = ((searcher.doc(address), score) for score, address in found)
            others = [(document, score) for document, score in documents if document.get_first("url") != url][:limit]
            snippets = _Snippets(searcher, self._schema, wanted, [])
        return [self._hit(document, snippets, score) for document, score in others]

    def _hit(self, document: Any, snippets: "_Snippets", score: float | None) -> Hit:
        url = document.get_first("url") or ""
        text = _composed(self._text_of(url)[:MAX_TEXT])
        with self._errors():
            snippet = snippets.snippet_of(text, document.get_first("language") or "")
        return Hit(
            url=url,
            title=one_safe_line(document.get_first("title") or ""),
            snippet=snippet,
            score=score or 0.0,
            relevance=self._relevance_of(url),
            host=document.get_first("host") or "",
        )

    def _query(self, parsed: BooleanQuery) -> Any | None:
        """The tantivy query for a parsed one; None if it has no searchable word.

        Hosts filter the pages that the rest finds: several of them are alternatives.
        """
        occurs = {"should": tantivy.Occur.Should, "must": tantivy.Occur.Must, "not": tantivy.Occur.MustNot}
        parts, hosts = [], []
        for clause in parsed.clauses:
            part = self._query(clause.part) if isinstance(clause.part, BooleanQuery) else self._term_query(clause.part)
            if part is None:
                continue
            if isinstance(clause.part, Term) and clause.part.field == "host" and clause.occur != "not":
                hosts.append(part)
            else:
                parts.append((occurs[clause.occur], part))
        if parts and all(occur == tantivy.Occur.MustNot for occur, _ in parts):
            parts.append((tantivy.Occur.Must, tantivy.Query.all_query()))
        queries = [tantivy.Query.boolean_query(parts)] if parts else []
        if hosts:
            queries.append(_any_of(hosts))
        if len(queries) < 2:
            return queries[0] if queries else None
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])

    def _term_query(self, term: Term) -> Any | None:
        if term.field == "host":
            return tantivy.Query.term_query(self._schema, "host", term.text.lower())
        fields = ("title",) if term.field else ("title", "body")
        if has_unspaced(term.text):
            spaced_text = "".join(" " if has_unspaced(letter) else letter for letter in term.text)
            runs = [characters for run in unspaced_runs(term.text) if (characters := _plain().analyze(" ".join(run)))]
            pieces = [self._phrase("characters", characters) for characters in runs]  # a run of tone marks has none
            pieces += [self._word(word, fields) for word in _unaccented().analyze(spaced_text)]
            return _any_of(pieces) if pieces else None
        words = _unaccented().analyze(term.text)
        if not words:
            return None
        if term.kind == "prefix":
            pattern = re.escape(words[-1]) + ".*"
            prefix = _any_of(
                [
                    tantivy.Query.boost_query(
                        tantivy.Query.regex_query(self._schema, name, pattern), _EXACT_WEIGHTS[name]
                    )
                    for name in fields
                ]
            )
            words_before = [self._word(word, fields) for word in words[:-1]]
            return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in (*words_before, prefix)])
        if len(words) == 1 and term.kind == "word":
            return self._word(term.text, fields)
        return _any_of([tantivy.Query.boost_query(self._phrase(name, words), _STEM_WEIGHTS[name]) for name in fields])

    def _word(self, word: str, fields: Sequence[str]) -> Any:
        """Pages that have a form of the word; exact matches rank a little higher."""
        unstemmed, parts = _unaccented().analyze(word), []
        for name in fields:
            if unstemmed:
                parts.append(tantivy.Query.boost_query(self._phrase(name, unstemmed), _EXACT_WEIGHTS[name]))
            for code, algorithm in _STEMMERS.items():
                if words := _stemming(algorithm).analyze(_with_plain_i(word)):
                    stem = tantivy.Query.term_query(self._schema, f"{name}_{code}", words[0])
                    parts.append(tantivy.Query.boost_query(stem, _STEM_WEIGHTS[name]))
        return _any_of(parts)

    def _phrase(self, name: str, words: list[str]) -> Any:
        if len(words) == 1:
            return tantivy.Query.term_query(self._schema, name, words[0])
        return tantivy.Query.phrase_query(self._schema, name, list[str | tuple[int, str]](words))

    def _index(self) -> Any:
        if self._open_index is None:
            if self.is_outdated():
                collection_folder = self._folder.parent
                raise CollectionError(
                    f"the search index of {collection_folder} is of an older version; "
                    f"run: lycosa rebuild {quoted(collection_folder)}"
                )
            self._refuse_other_files()
            index = tantivy.Index(self._schema, path=str(self._usable_folder()), reuse=True)
            index.register_tokenizer("plain", _plain())
            index.register_tokenizer("folded", _unaccented())
            for code, algorithm in _STEMMERS.items():
                index.register_tokenizer(f"stems_{code}", _stemming(algorithm))
            self._open_index = index
        return self._open_index

    def _refuse_other_files(self) -> None:
        """Refuses a list of the index's files with others in it: tantivy deletes those that it does not use."""
        try:
            listed = json.loads(read_regular_file(self._folder / ".managed.json", _MAX_META_BYTES))
        except FileNotFoundError:
            return
        except (ValueError, RecursionError):
            listed = None
        if not isinstance(listed, list) or not all(
            isinstance(each, str) and _TANTIVY_FILE.fullmatch(each) for each in listed
        ):
            raise ValueError("its list of files is not as tantivy writes it")

    def _usable_folder(self) -> Path:
        """The folder, or if it is read-only, a temporary one of links to its files: tantivy locks even for reading."""
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
            self._writer = self._index().writer(heap_size=WRITER_HEAP, num_threads=1)
        return self._writer

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raises errors of tantivy and of its files as CollectionError; callbacks are called outside of it, as their
        errors are others."""
        collection_folder = self._folder.parent
        try:
            yield
        except OSError as error:
            raise CollectionError(
                f"cannot use {self._folder}: {error.strerror or error}; make room or give access"
            ) from error
        except ValueError as error:
            message = one_safe_line(str(error))[:200]
            if "os error" in message or "io::Error" in message or "IoError" in message:
                raise CollectionError(f"cannot use {self._folder}: {message}; make room or give access") from error
            raise CollectionError(
                f"the search index of {collection_folder} cannot be used ({message}); "
                f"run: lycosa rebuild {quoted(collection_folder)}"
            ) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust, which has no name that could be imported
                raise
            raise CollectionError(
                f"the search index of {collection_folder} is damaged; run: lycosa rebuild {quoted(collection_folder)}"
            ) from error


def _composed(text: str) -> str:
    """The text in NFC, with lone surrogates replaced.

    Combining marks are sorted in time quadratic in their number, so a joiner is inserted after every 30 of them, as in
    the Stream-Safe Text Format (https://unicode.org/reports/tr15/#Stream_Safe_Text_Format).
    """
    return unicodedata.normalize("NFC", _MARKS.sub("\\g<0>\u034f", replace_surrogates(text)))


def _with_plain_i(text: str) -> str:
    """The text with i for İ, whose lower case would be two characters."""
    return text.replace("İ", "i")


def _stemmer_code(language: str) -> str:
    """The code of the stemmer for a language."""
    code = language or "en"
    return code if code in _STEMMERS else OTHER


def _any_of(queries: list[Any]) -> Any:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _analyzer(*filters: Any) -> Any:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.remove_long(80))
    for each in filters:
        builder = builder.filter(each)
    return builder.build()


@cache
def _plain() -> Any:
    return _analyzer(tantivy.Filter.lowercase())


@cache
def _unaccented() -> Any:
    # Accents are folded before lowercasing, since the lower case of İ is two characters.
    return _analyzer(tantivy.Filter.ascii_fold(), tantivy.Filter.lowercase())


@cache
def _stemming(algorithm: str) -> Any:
    if not algorithm:
        return _unaccented()
    # Stemmers need accents, which are folded afterwards.
    return _analyzer(tantivy.Filter.lowercase(), tantivy.Filter.stemmer(algorithm), tantivy.Filter.ascii_fold())


_STEMMERS = {  # the algorithm, by ISO 639-1 code
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    OTHER: "",  # none
}


def _field_names() -> list[str]:
    stems = (f"{name}_{code}" for code in _STEMMERS for name in ("title", "body"))
    return ["url", "host", "language", "title", "body", *stems, "characters"]


def _schema() -> Any:
    """Title and body unstemmed with accents folded, and stemmed in two fields per language."""
    builder = tantivy.SchemaBuilder()
    for name in ("url", "host", "language"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", stored=True, tokenizer_name="folded")
    builder.add_text_field("body", stored=False, tokenizer_name="folded")
    for code in _STEMMERS:
        for name in ("title", "body"):
            builder.add_text_field(f"{name}_{code}", stored=False, tokenizer_name=f"stems_{code}", index_option="freq")
    builder.add_text_field(
        "characters", stored=False, tokenizer_name="plain"
    )  # for scripts without spaces, which cannot be split into words
    return builder.build()


# ---------------------------------------------------------------- snippets


class _Snippets:
    """Snippets of pages: the part of the text that matches a query best."""

    def __init__(self, searcher: Any, schema: Any, wanted: Any, terms: list[Term]):
        self._searcher = searcher
        self._schema = schema
        self._wanted = wanted
        self._generators: dict[str, Any] = {}  # by field
        self._runs = [run for term in terms for run in unspaced_runs(term.text)]  # of scripts without spaces
        last_words = (_unaccented().analyze(term.text)[-1:] for term in terms if term.kind == "prefix")
        self._prefixes = tuple(word for words in last_words for word in words)

    def snippet_of(self, body: str, language: str) -> str:
        return (
            snippet_around(self._runs, body)
            or self._matches_in(f"body_{_stemmer_code(language)}", body)
            or self._matches_in("body", body)
            or snippet_around(self._word_with_prefix(body), body)
            or one_safe_line(body[:SNIPPET])
        )

    def _matches_in(self, name: str, body: str) -> str:
        """The best part of a text by the analyzer of a field; empty without a match."""
        if name not in self._generators:
            generator = tantivy.SnippetGenerator.create(self._searcher, self._wanted, self._schema, name)
            generator.set_max_num_chars(SNIPPET)
            self._generators[name] = generator
        document = tantivy.Document()
        document.add_text(name, body)
        snippet = self._generators[name].snippet_from_doc(document)
        return highlight(snippet.fragment(), snippet.highlighted())

    def _word_with_prefix(self, body: str) -> list[str]:
        """The first word of a text that starts with one of the prefixes; empty if there is none."""
        if self._prefixes:
            for word in re.findall(r"\w+", body):
                if any(each.startswith(self._prefixes) for each in _unaccented().analyze(word)):
                    return [word]
        return []


def one_safe_line(text: str) -> str:
    """The text in one line, without control and direction characters."""
    return _CONTROL_CHARACTERS.sub(" ", text).strip()


def highlight(fragment: str, ranges: Iterable[Any]) -> str:
    """A fragment with « and » around the matching byte ranges."""
    data, parts, end = fragment.encode(), [], 0
    for each in ranges:
        parts += [data[end : each.start], "«".encode(), data[each.start : each.end], "»".encode()]
        end = each.end
    parts.append(data[end:])
    return one_safe_line(b"".join(parts).decode("utf-8", "replace"))


def snippet_around(strings: Sequence[str], body: str) -> str:
    """The text around the first of some strings found in it, all of them between « and »; empty if none is found."""
    offset = min((offset for string in strings if (offset := body.find(string)) >= 0), default=-1)
    if offset < 0:
        return ""
    fragment = body[max(0, offset - SNIPPET // 4) : offset + 3 * SNIPPET // 4]
    return one_safe_line(re.sub("|".join(map(re.escape, sorted(strings, key=len, reverse=True))), r"«\g<0>»", fragment))
