"""`lycosa report`: a collection as one HTML page with charts."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa import api

from .export import STANDARD_OUTPUT
from .options import Name


def report(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write, or - for standard output. Default: NAME/report.html."),
    ] = None,
) -> None:
    """Write a report: one HTML page with charts. It needs no network and no script."""
    with api.open(name) as collection:
        if out == STANDARD_OUTPUT:
            typer.echo(collection.report(), nl=False)
        else:
            typer.echo(f"report: {collection.write_report(out)}")
