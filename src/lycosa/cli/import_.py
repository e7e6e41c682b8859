"""`lycosa import`: adds the pages of WARC files of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa import api
from lycosa.vocabulary.text import counted

from .options import Name, notify


def import_(
    name: Name, file: Annotated[Path, typer.Argument(metavar="FILE.warc.gz", help="WARC, gzipped or not.")]
) -> None:
    """Import pages from WARC files."""
    done = api.import_archive(name, file, notify=notify)
    imported, passed_over = counted(done.pages, "page"), counted(done.passed_over, "record")
    typer.echo(f"{imported} imported, {done.known} known already, {passed_over} passed over")
    if done.damage:
        notify(done.damage)
