"""`lycosa export`: the pages of a collection for other programs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lycosa.collection.export import FORMATS, Row, exporter_for
from lycosa.run.export import Content, labels_of, rows, selection_of
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import UsageError, cannot_write
from lycosa.vocabulary.files import atomic_write

from .job_progress import Counting
from .options import Hosts, Label, Languages, MinRelevance, Name, Quiet, Since, plural, standard_output, tell

STANDARD_OUTPUT = Path("-")  # as the name of a file


def export(
    name: Name,
    format: Annotated[str, typer.Option(metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")] = "jsonl",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; -: standard output, as without it but for parquet.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="With the main text of each page.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="With each page as Markdown.")] = False,
    html: Annotated[bool, typer.Option("--html", help="With each page as it was sent.")] = False,
    links: Annotated[bool, typer.Option("--links", help="With the links of each page: target, anchor, rel.")] = False,
    chunks: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="A row for each passage of about N words, not for each page."),
    ] = None,
    min_relevance: MinRelevance = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the N most relevant pages, the best first.")
    ] = None,
    host: Hosts = None,
    language: Languages = None,
    label: Label = None,
    since: Since = None,
    quiet: Quiet = False,
) -> None:
    """Export the pages of a collection. Their text too, all or some of them, for other programs."""
    content = Content(text=text, markdown=markdown, html=html, links=links, chunks=chunks)
    content.check()
    if format == "urls" and content != Content():
        raise UsageError("--format urls writes nothing but URLs; for texts and links choose jsonl, csv or parquet")
    write = exporter_for(format, content.columns)
    if out is None:
        out = Path(f"{name.name}.parquet") if format == "parquet" else STANDARD_OUTPUT
    with open_for_reading(name) as collection, Counting("exporting pages", quiet=quiet or _is_watched(out)) as progress:
        wanted = selection_of(
            name,
            hosts=host or (),
            languages=language or (),
            min_relevance=min_relevance,
            top=top,
            label=label,
            since=since,
            now=WallClock().now(),
        )
        pages = collection.catalog.count_selected(wanted)
        found = _counted(rows(collection, wanted, content, labels_of(name)), pages, progress)
        if out == STANDARD_OUTPUT:
            with standard_output() as file:
                write(found, file)
        else:
            try:
                with atomic_write(out) as file:
                    write(found, file)
            except OSError as error:
                raise cannot_write(out, error, way_out="give another --out") from None
    if not pages:
        tell("No page matches; lycosa show tells what there is.")
    if out != STANDARD_OUTPUT:
        typer.echo(f"{plural(pages, 'page')} in {out}")


def _is_watched(out: Path) -> bool:
    """Whether the rows themselves appear on the terminal, where a progress bar would be in their way."""
    return out == STANDARD_OUTPUT and sys.stdout.isatty()


def _counted(found: Iterator[Row], pages: int, progress: Counting) -> Iterator[Row]:
    """The rows, with a sign of life now and then."""
    done, last = 0, None
    for row in found:
        yield row
        if row["number"] != last:
            done, last = done + 1, row["number"]
            progress(done, pages)
