"""`lycosa import`: adds the pages of WARC files of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa.run import upkeep
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.text import counted

from .options import Name, tell


def import_(
    name: Name, file: Annotated[Path, typer.Argument(metavar="FILE.warc.gz", help="WARC, gzipped or not.")]
) -> None:
    """Import pages from WARC files."""
    done = upkeep.import_archive(name, file, clock=WallClock(), tell=tell)
    imported, passed_over = counted(done.pages, "page"), counted(done.passed_over, "record")
    typer.echo(f"{imported} imported, {done.known} known already, {passed_over} passed over")
    if done.damage:
        tell(done.damage)
