from typing import Annotated

import typer

from lycosa.sessions import upkeep
from lycosa.vocabulary.clock import WallClock

from .options import Name, tell


def forget(name: Name, what: Annotated[str, typer.Argument(metavar="URL|HOST")]) -> None:
    """Remove a page, or all pages of a host, everywhere: archive, catalog, search index. They are not fetched again."""
    pages = upkeep.forget(name, what, clock=WallClock(), tell=tell)
    typer.echo(f"{pages} pages forgotten")
