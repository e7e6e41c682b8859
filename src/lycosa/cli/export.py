"""`lycosa export`: the pages of a collection as a table, or the whole collection as a WACZ file."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lycosa import __version__
from lycosa.collection.export import FORMATS, exporter_for
from lycosa.collection.export import export as write_pages
from lycosa.collection.wacz import write_wacz
from lycosa.recipe import load_recipe
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import cannot_write
from lycosa.vocabulary.files import atomic_write

from .job_progress import Counting
from .options import Name

STANDARD_OUTPUT = Path("-")  # as the name of a file
WACZ = "wacz"  # a format of whole collections, not of rows


def export(
    name: Name,
    format: Annotated[str, typer.Option(metavar="FORMAT", help=f"One of: {', '.join((*FORMATS, WACZ))}.")] = "jsonl",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to; -: standard output, as without it but for parquet and wacz."),
    ] = None,
) -> None:
    """Export the pages of a collection as a table, or all of it as a WACZ file, which replays in a browser."""
    if format == WACZ:
        _export_wacz(name, out or Path(f"{name.name}.wacz"))
        return
    exporter_for(format)
    if out is None:
        out = Path(f"{name.name}.parquet") if format == "parquet" else STANDARD_OUTPUT
    with open_for_reading(name) as collection:
        if out == STANDARD_OUTPUT:
            write_pages(collection.catalog, format, sys.stdout.buffer)
            return
        try:
            with out.open("wb") as file:
                pages = write_pages(collection.catalog, format, file)
        except OSError as error:
            raise cannot_write(out, error, way_out="make room, or give another --out") from None
    typer.echo(f"{pages} pages in {out}")


def _export_wacz(name: Path, out: Path) -> None:
    topic = load_recipe(name, to_read=True).topic.text
    with open_for_reading(name) as collection, Counting("packing pages") as progress:
        write = partial(write_wacz, collection, software=f"lycosa/{__version__}", description=topic, progress=progress)
        if out == STANDARD_OUTPUT:
            write(sys.stdout.buffer)
            return
        try:
            with atomic_write(out) as file:
                pages = write(file)
        except OSError as error:
            raise cannot_write(out, error, way_out="make room, or give another --out") from None
    typer.echo(f"{pages} pages in {out}")
