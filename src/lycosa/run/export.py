"""Exports: which pages and which of their texts they hold, and writing them to a file, a folder or a stream."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, get_args

from msgspec import Struct

from lycosa import __version__
from lycosa.collection import Collection, PageRow
from lycosa.collection.export import COLUMNS, FOLDER_FORMATS, check_format, export_row, exporter_for
from lycosa.collection.export_folders import CollectionInfo
from lycosa.collection.json_text import replace_surrogates
from lycosa.collection.queries import Order, Selection
from lycosa.collection.rows import ExportRow
from lycosa.collection.wacz import write_wacz
from lycosa.reading import markdown_of, passages
from lycosa.recipe import is_host, load_recipe
from lycosa.vocabulary.errors import RecipeError, UsageError, cannot_write
from lycosa.vocabulary.files import atomic_write, new_folder
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import host_named

from .open import html_of, main_text_of
from .options import check_keywords
from .topic import examples_of

LABELS = ("good", "bad")
_UNKNOWN_LANGUAGE = "unknown"  # as `lycosa show` calls it
_TIME_AGO = re.compile(r"([0-9]{1,6})([dh])")
_SECONDS_PER_UNIT = {"d": 86_400.0, "h": 3_600.0}


Progress = Callable[[int, int], None]  # called with the number of pages written and of all pages


def _no_progress(done: int, page_count: int) -> None:
    """Drops a progress update."""


class ExportContent(Struct, frozen=True):
    """Which contents of the pages go into an export, in addition to the columns of the catalog."""

    text: bool = False  # the main text
    markdown: bool = False
    html: bool = False  # as received, decoded
    links: bool = False
    chunks: int | None = None  # words per passage; if set, there is a row for each passage instead of each page

    @property
    def columns(self) -> tuple[str, ...]:
        if self.chunks is not None:
            return (*COLUMNS, "chunk", "chunks", self._chunk_column)
        return (*COLUMNS, *(name for name in ("text", "markdown", "html", "links") if getattr(self, name)))

    @property
    def _chunk_column(self) -> str:
        return "markdown" if self.markdown else "text"

    def check(self) -> None:
        """Raises UsageError for options that cannot be combined."""
        if self.chunks is None:
            return
        if self.chunks < 1:
            raise UsageError("--chunks: give the number of words of a passage, 1 or more, such as 300")
        if self.html or self.links or (self.text and self.markdown):
            raise UsageError(
                "--chunks cuts one text into rows: the main text, or the Markdown with --markdown;"
                " leave out --html, --links, and one of --text and --markdown"
            )


class TableOptions(TypedDict, total=False):
    """The options of a table of pages, as keywords; the same as the flags of `lycosa export`."""

    text: bool
    markdown: bool
    html: bool
    links: bool
    chunks: int | None
    host: str | Sequence[str]
    language: str | Sequence[str]
    min_relevance: float | None
    top: int | None
    label: str | None
    since: str | float | datetime | None
    order: str | None


def checked_content(format: str, requested: ExportContent) -> ExportContent:
    """The content of an export in a format, with its defaults; UsageError if it cannot hold what was asked for."""
    check_format(format)
    requested.check()
    if format == "urls" and requested != ExportContent():
        raise UsageError("--format urls writes nothing but URLs; for texts and links choose jsonl, csv or parquet")
    if format == "markdown":
        if requested not in (ExportContent(), ExportContent(markdown=True)):
            raise UsageError("--format markdown writes each page as Markdown; for other texts choose jsonl or parquet")
        return ExportContent(markdown=True)
    return ExportContent(text=True) if format == "huggingface" and requested == ExportContent() else requested


def write_export(
    collection: Collection,
    format: str,
    out: Path | BinaryIO,
    selection: Selection,
    content: ExportContent,
    *,
    progress: Progress = _no_progress,
) -> int:
    """Writes the selected pages to a file, a new folder or a stream; returns the number of those that have a row.

    content: by `checked_content`; cut into passages, a page without text has no row.
    progress: called with the number of pages written and of all.
    """
    folder = collection.folder
    page_count = collection.catalog.count_selected(selection)
    page_rows = _CountedRows(rows(collection, selection, content, labels_of(folder)), page_count, progress)
    if format in FOLDER_FORMATS:
        if not isinstance(out, Path):
            raise UsageError(f"--format {format} writes a folder: name it with --out")
        about = CollectionInfo(
            folder.absolute().name, load_recipe(folder, for_reading=True).topic.text, f"Lycosa {__version__}"
        )
        with _explain_write_errors(out), new_folder(out) as staging:
            FOLDER_FORMATS[format](iter(page_rows), staging, content.columns, about)
    else:
        with _open_output(out) as file:
            exporter_for(format, content.columns)(iter(page_rows), file)
    return page_rows.pages


def write_wacz_export(collection: Collection, out: Path | BinaryIO, *, progress: Progress = _no_progress) -> int:
    """Writes the whole archive as a WACZ file; returns the number of its pages."""
    topic = load_recipe(collection.folder, for_reading=True).topic.text
    with _open_output(out) as file:
        return write_wacz(collection, file, software=f"lycosa/{__version__}", description=topic, progress=progress)


@contextmanager
def _open_output(out: Path | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(out, Path):
        with _explain_write_errors(out), atomic_write(out) as file:
            yield file
    else:
        yield out


@contextmanager
def _explain_write_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(out, error, advice="give another --out") from None


class _CountedRows:
    """The rows of pages, of which one page may have several or none, with progress updates."""

    def __init__(self, page_rows: Iterator[ExportRow], page_count: int, progress: Progress) -> None:
        self._rows, self._page_count, self._progress = page_rows, page_count, progress
        self.pages = 0  # that have a row, of those read so far

    def __iter__(self) -> Iterator[ExportRow]:
        last = None
        for row in self._rows:
            yield row
            if row["number"] != last:
                self.pages, last = self.pages + 1, row["number"]
                self._progress(self.pages, self._page_count)


def table_request(folder: Path, options: TableOptions, *, now: float) -> tuple[Selection, ExportContent]:
    """The selection and the content for these options."""
    check_keywords(options, TableOptions)
    content = ExportContent(
        text=options.get("text", False),
        markdown=options.get("markdown", False),
        html=options.get("html", False),
        links=options.get("links", False),
        chunks=options.get("chunks"),
    )
    content.check()
    selection = selection_of(
        folder,
        hosts=_as_sequence(options.get("host", ())),
        languages=_as_sequence(options.get("language", ())),
        min_relevance=options.get("min_relevance"),
        top=options.get("top"),
        label=options.get("label"),
        since=options.get("since"),
        order=options.get("order"),
        now=now,
    )
    return selection, content


def _as_sequence(values: str | Sequence[str]) -> Sequence[str]:
    return (values,) if isinstance(values, str) else values


def selection_of(
    folder: Path,
    *,
    hosts: Sequence[str] = (),
    languages: Sequence[str] = (),
    min_relevance: float | None = None,
    top: int | None = None,
    label: str | None = None,
    since: str | float | datetime | None = None,
    order: str | None = None,
    now: float,
) -> Selection:
    """The selection for flags or keywords of the user; UsageError for wrong values.

    Without an order, pages come as they were fetched, and the top ones most relevant first.
    """
    for host in hosts:
        if not is_host(host):
            raise UsageError(f"--host: not a host: {host[:100]!r}; write its name alone, such as www.example.org")
    for language in languages:
        if not re.fullmatch(f"[A-Za-z]{{2,3}}|{_UNKNOWN_LANGUAGE}", language):
            raise UsageError(f"--language: not a code: {language[:100]!r}; write two letters, such as en, or unknown")
    if top is not None and top < 1:
        raise UsageError("--top: give a number of pages, 1 or more")
    if label is not None and label not in LABELS:
        raise UsageError(f"--label: no label {label[:100]!r}; there are {', '.join(LABELS)}")
    orders: dict[str, Order] = {name: name for name in get_args(Order)}
    order = order or ("number" if top is None else "relevance")
    if order not in orders:
        raise UsageError(f"--order: no order {order[:100]!r}; there are {', '.join(orders)}")
    return Selection(
        hosts=tuple(host_named(host) or host for host in hosts),
        languages=tuple("" if each == _UNKNOWN_LANGUAGE else each.lower() for each in languages),
        min_relevance=min_relevance,
        since=None if since is None else moment_of(since, now=now),
        urls=None if label is None else frozenset(url for url, each in labels_of(folder).items() if each == label),
        top=top,
        order=orders[order],
    )


def moment_of(since: str | float | datetime, *, now: float) -> float:
    """Seconds since the epoch of a date, a date and time (UTC unless a zone is given), or a duration before now.

    >>> moment_of("2026-11-16", now=0.0), moment_of("2d", now=1_000_000.0)
    (1794787200.0, 827200.0)
    """
    if isinstance(since, (int, float)):
        return float(since)
    if isinstance(since, str):
        text = since.strip()
        if ago := _TIME_AGO.fullmatch(text):
            return now - int(ago[1]) * _SECONDS_PER_UNIT[ago[2]]
        try:
            since = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(
                f"--since: no date: {text[:100]!r}; write 2026-11-16, 2026-11-16T08:30, or 7d, 12h for so long ago"
            ) from None
    return (since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp()


def labels_of(folder: Path) -> dict[Url, str]:
    """The pages labelled good or bad, by `lycosa label` or as examples of the recipe."""
    try:
        examples = examples_of(load_recipe(folder, for_reading=True).topic, folder)
    except RecipeError:
        return {}  # a collection is readable even if files that its recipe names are missing
    labelled = zip(LABELS, (examples.good, examples.bad), strict=True)
    return {Url(example.value): label for label, group in labelled for example in group if example.kind == "url"}


def rows(
    collection: Collection, selection: Selection, content: ExportContent, labels: Mapping[Url, str]
) -> Iterator[dict[str, Any]]:
    """The rows of an export, page by page, in constant memory."""
    for page in collection.catalog.selected(selection):
        yield from _page_rows(collection, page, export_row(page, labels.get(page.url)), content)


def _page_rows(collection: Collection, page: PageRow, row: ExportRow, content: ExportContent) -> Iterator[ExportRow]:
    if content.links:
        links = collection.catalog.links(page.number)
        row["links"] = [{"target": link.target, "anchor": link.anchor, "rel": link.rel} for link in links]
    texts = _texts(collection, page, content)
    if content.chunks is None:
        yield {name: row[name] if name in row else texts[name] for name in content.columns}
        return
    name = content.columns[-1]
    chunks = passages(texts[name], content.chunks)
    for number, chunk in enumerate(chunks, 1):
        yield {**row, "chunk": number, "chunks": len(chunks), name: chunk}


def _texts(collection: Collection, page: PageRow, content: ExportContent) -> dict[str, str]:
    """The texts of a page from the archive, in the requested formats."""
    formats = {"text", "markdown", "html"}.intersection(content.columns)
    if not formats:
        return {}
    if page.place is None:
        return dict.fromkeys(formats, "")
    fetch = collection.archive.fetch_at(page.place)
    texts = {}
    if "text" in formats:
        texts["text"] = main_text_of(fetch)
    if "markdown" in formats:
        texts["markdown"] = markdown_of(html_of(fetch), fetch.url)
    if "html" in formats:
        texts["html"] = html_of(fetch)
    return {name: replace_surrogates(text) for name, text in texts.items()}
