"""`lycosa forget`: removes a page or a host for good."""

from typing import Annotated

import typer

from lycosa.run import upkeep
from lycosa.vocabulary.clock import WallClock

from .options import Name, tell


def forget(
    name: Name, what: Annotated[str, typer.Argument(metavar="URL|HOST", help="A page, or a host with all its pages.")]
) -> None:
    """Remove a page or a host for good. It goes from archive, catalog and search index, and is not fetched again."""
    pages = upkeep.forget(name, what, clock=WallClock(), tell=tell)
    typer.echo(f"{pages} pages forgotten")
