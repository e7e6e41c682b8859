"""`lycosa export`: the pages of a collection as a table."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lycosa.collection.export import FORMATS, exporter_for
from lycosa.collection.export import export as write_pages
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import cannot_write

from .options import Name

STANDARD_OUTPUT = Path("-")  # as the name of a file


def export(
    name: Name,
    format: Annotated[str, typer.Option(metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")] = "jsonl",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; -: standard output, as without it but for parquet.")
    ] = None,
) -> None:
    """Export the pages of a collection as a table."""
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
