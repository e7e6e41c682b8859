"""`lycosa import`: adds the pages of a WARC file that another program wrote."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa import api
from lycosa.vocabulary.text import counted

from .options import Name, notify


def import_(
    name: Name, file: Annotated[Path, typer.Argument(metavar="FILE.warc.gz", help="WARC, gzipped or not.")]
) -> None:
    """Import the HTML pages of a WARC file."""
    result = api.import_archive(name, file, notify=notify)
    left_out = f"{result.left_out} left out (noindex, or another language), " if result.left_out else ""
    typer.echo(
        f"{counted(result.pages, 'page')} imported, {left_out}{result.known} already in the collection or forgotten, "
        f"{counted(result.skipped, 'record')} ignored (not HTML, damaged, or dated in the future)"
    )
    if result.damage:
        notify(result.damage)
