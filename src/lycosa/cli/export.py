"""`lycosa export`: the pages of a collection for other programs, or all of it as a WACZ file."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lycosa import __version__
from lycosa.collection.dataset_folder import About
from lycosa.collection.export import FOLDER_FORMATS, FORMATS, WACZ, Row, check_format, exporter_for
from lycosa.collection.wacz import write_wacz
from lycosa.recipe import load_recipe
from lycosa.run.export import ExportContent, labels_of, rows, selection_of
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import UsageError, cannot_write
from lycosa.vocabulary.files import atomic_write, new_folder
from lycosa.vocabulary.text import counted

from .job_progress import ProgressBar
from .options import Hosts, Label, Languages, MinRelevance, Name, Quiet, Since, SortOrder, standard_output, tell

STANDARD_OUTPUT = Path("-")  # as the name of a file


def export(
    name: Name,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help=f"One of: {', '.join((*FORMATS, *FOLDER_FORMATS, WACZ))}.")
    ] = "jsonl",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="What to write, or - for standard output. Default: standard output, or a name after NAME and FORMAT.",
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
    """Export the pages of a collection for other programs. All or some of them, with or without their text."""
    if format == WACZ:
        content = ExportContent(text=text, markdown=markdown, html=html, links=links, chunks=chunks)
        if content != ExportContent() or any((host, language, label, since, top, order)) or min_relevance is not None:
            raise UsageError("--format wacz holds the whole archive: give it no other option than --out and --quiet")
        _export_wacz(name, out or Path(f"{name.name}.wacz"), quiet=quiet)
        return
    check_format(format)
    content = _content(format, ExportContent(text=text, markdown=markdown, html=html, links=links, chunks=chunks))
    out = out or _default_out(name, format)
    with (
        open_for_reading(name) as collection,
        ProgressBar("exporting pages", quiet=quiet or _is_watched(out)) as progress,
    ):
        wanted = selection_of(
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
        pages = collection.catalog.count_selected(wanted)
        found = _counted(rows(collection, wanted, content, labels_of(name)), pages, progress)
        about = About(name.absolute().name, load_recipe(name, to_read=True).topic.text, f"Lycosa {__version__}")
        _write(found, format, out, content, about)
    if not pages and not quiet:
        tell("No page matches; lycosa show lists what there is.")
    if out != STANDARD_OUTPUT and not quiet:
        typer.echo(f"{counted(pages, 'page')} in {out}")


def _export_wacz(name: Path, out: Path, *, quiet: bool) -> None:
    topic = load_recipe(name, to_read=True).topic.text
    with open_for_reading(name) as collection, ProgressBar("packing pages", quiet=quiet) as progress:
        write = partial(write_wacz, collection, software=f"lycosa/{__version__}", description=topic, progress=progress)
        try:
            with standard_output() if out == STANDARD_OUTPUT else atomic_write(out) as file:
                pages = write(file)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(out, error, way_out="give another --out") from None
    if out != STANDARD_OUTPUT and not quiet:
        typer.echo(f"{counted(pages, 'page')} in {out}")


def _content(format: str, asked: ExportContent) -> ExportContent:
    """The content of a format, given the options."""
    asked.check()
    if format == "urls" and asked != ExportContent():
        raise UsageError("--format urls writes nothing but URLs; for texts and links choose jsonl, csv or parquet")
    if format == "markdown":
        if asked not in (ExportContent(), ExportContent(markdown=True)):
            raise UsageError("--format markdown writes each page as Markdown; for other texts choose jsonl or parquet")
        return ExportContent(markdown=True)
    return ExportContent(text=True) if format == "huggingface" and asked == ExportContent() else asked


def _default_out(name: Path, format: str) -> Path:
    own = {
        "parquet": f"{name.name}.parquet",
        "markdown": f"{name.name}-markdown",
        "huggingface": f"{name.name}-dataset",
    }
    return Path(own[format]) if format in own else STANDARD_OUTPUT


def _write(found: Iterator[Row], format: str, out: Path, content: ExportContent, about: About) -> None:
    if format in FOLDER_FORMATS and out == STANDARD_OUTPUT:
        raise UsageError(f"--format {format} writes a folder: name it with --out")
    try:
        if format in FOLDER_FORMATS:
            with new_folder(out) as folder:
                FOLDER_FORMATS[format](found, folder, content.columns, about)
        elif out == STANDARD_OUTPUT:
            with standard_output() as file:
                exporter_for(format, content.columns)(found, file)
        else:
            with atomic_write(out) as file:
                exporter_for(format, content.columns)(found, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(out, error, way_out="give another --out") from None


def _is_watched(out: Path) -> bool:
    """Whether the rows themselves are written to the terminal, where a progress bar would interfere."""
    return out == STANDARD_OUTPUT and sys.stdout.isatty()


def _counted(found: Iterator[Row], pages: int, progress: ProgressBar) -> Iterator[Row]:
    """The rows, with progress updates."""
    done, last = 0, None
    for row in found:
        yield row
        if row["number"] != last:
            done, last = done + 1, row["number"]
            progress(done, pages)
