"""`lycosa export`: the pages of a collection for other programs, or all of it as a WACZ file."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from lycosa.collection.export import FOLDER_FORMATS, FORMATS, WACZ
from lycosa.run.export import ExportContent, checked_content, selection_of, write_export, write_wacz_export
from lycosa.run.open import has_personal_pages, open_for_reading
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import counted

from .job_progress import ProgressBar
from .options import (
    NO_IMPORTANCE,
    Hosts,
    Label,
    Languages,
    MinRelevance,
    Name,
    Quiet,
    Since,
    SortOrder,
    notify,
    standard_output,
)

STANDARD_OUTPUT = Path("-")  # as --out names it
_DEFAULT_SUFFIXES = {WACZ: ".wacz", "parquet": ".parquet", "markdown": "-markdown", "huggingface": "-dataset"}


def export(
    name: Name,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help=f"One of: {', '.join((*FORMATS, *FOLDER_FORMATS, WACZ))}.")
    ] = "jsonl",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="What to write, or - for standard output. Default: standard output, or a name from NAME and FORMAT.",
        ),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Include the main text of each page.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Include each page as Markdown.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Include each page as it was sent.")] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Include the links of each page: target, anchor, rel.")
    ] = False,
    chunks: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Write a row for each passage of about N words, instead of one for each page."
        ),
    ] = None,
    min_relevance: MinRelevance = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first N pages: the most relevant, or by --order.")
    ] = None,
    host: Hosts = None,
    language: Languages = None,
    label: Label = None,
    since: Since = None,
    order: SortOrder = None,
    quiet: Quiet = False,
) -> None:
    """Export the pages of a collection for other programs: all or some, with or without their text."""
    requested = ExportContent(text=text, markdown=markdown, html=html, links=links, chunks=chunks)
    if format == WACZ:
        if requested != ExportContent() or any((host, language, label, since, top, order)) or min_relevance is not None:
            raise UsageError("--format wacz exports the whole archive and can be combined with --out and --quiet only")
        out = out or _default_out(name, format)
        with (
            open_for_reading(name) as collection,
            ProgressBar("packing pages", quiet=quiet) as progress,
            _destination(out) as destination,
        ):
            is_personal = has_personal_pages(name)
            pages = write_wacz_export(collection, destination, progress=progress)
    else:
        content = checked_content(format, requested)
        out = out or _default_out(name, format)
        with (
            open_for_reading(name) as collection,
            ProgressBar("exporting pages", quiet=quiet or _writes_to_terminal(out)) as progress,
        ):
            is_personal = has_personal_pages(name)
            selection = selection_of(
                name,
                hosts=host or (),
                languages=language or (),
                min_relevance=min_relevance,
                top=top,
                label=label,
                since=since,
                order=order,
                now=WallClock().now(),
            )
            if selection.order == "importance" and not quiet and not collection.catalog.has_standings():
                notify(NO_IMPORTANCE)
            with _destination(out) as destination:
                pages = write_export(collection, format, destination, selection, content, progress=progress)
        if not pages and not quiet:
            notify("No page matches; lycosa show lists what there is.")
    if is_personal and not quiet:
        notify("Some pages were requested with cookies or headers of yours: look at them before you pass this on.")
    if out != STANDARD_OUTPUT and not quiet:
        passages = " cut into passages" if chunks is not None else ""
        typer.echo(f"{counted(pages, 'page')}{passages} in {out}")


def _destination(out: Path) -> AbstractContextManager[Path | BinaryIO]:
    """A path, or standard output."""
    return standard_output() if out == STANDARD_OUTPUT else nullcontext(out)


def _default_out(folder: Path, format: str) -> Path:
    suffix = _DEFAULT_SUFFIXES.get(format)
    return STANDARD_OUTPUT if suffix is None else Path(f"{folder.absolute().name}{suffix}")


def _writes_to_terminal(out: Path) -> bool:
    """Whether the pages themselves are written to the terminal, where a progress bar would interfere."""
    return out == STANDARD_OUTPUT and sys.stdout.isatty()
