"""`lycosa import`: adds the pages of WARC files of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa.run import upkeep
from lycosa.vocabulary.clock import WallClock

from .options import Name, tell


def import_(
    name: Name, file: Annotated[Path, typer.Argument(metavar="FILE.warc.gz", help="WARC, gzipped or not.")]
) -> None:
    """Take the pages of other people's WARC files into a collection."""
    done = upkeep.import_archive(name, file, clock=WallClock(), tell=tell)
    typer.echo(f"{done.pages} pages imported, {done.known} known already, {done.passed_over} records passed over")
    if done.damage:
        tell(done.damage)
