"""`lycosa report`: a collection as one HTML page with charts."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa.report import html_report, write_report

from .export import STANDARD_OUTPUT
from .options import Name


def report(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; without it, NAME/report.html; -: standard output.")
    ] = None,
) -> None:
    """Write a report: one HTML page with charts. It needs no network and no script."""
    if out == STANDARD_OUTPUT:
        typer.echo(html_report(name), nl=False)
    else:
        typer.echo(f"report: {write_report(name, out)}")
