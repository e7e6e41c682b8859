import sys
from pathlib import Path
from typing import Annotated

import typer

from lycosa.collection.export import FORMATS
from lycosa.collection.export import export as write_pages
from lycosa.sessions.opening import open_for_reading
from lycosa.vocabulary.errors import CollectionError, UsageError

from .options import Name


def export(
    name: Name,
    format: Annotated[str, typer.Option(metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")] = "jsonl",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; without it, NAME.parquet or standard output.")
    ] = None,
) -> None:
    """Export the pages of a collection as a table."""
    if format not in FORMATS:
        raise UsageError(f"no format {format!r}; there are {', '.join(FORMATS)}")
    if out is None and format == "parquet":
        out = Path(f"{name.name}.parquet")
    with open_for_reading(name) as collection:
        if out is None:
            write_pages(collection.catalog, format, sys.stdout.buffer)
            return
        try:
            with out.open("wb") as file:
                pages = write_pages(collection.catalog, format, file)
        except OSError as error:
            raise CollectionError(f"cannot write {out}: {error.strerror}") from None
    typer.echo(f"{pages} pages in {out}")
