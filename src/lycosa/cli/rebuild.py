import typer

from lycosa.sessions import upkeep
from lycosa.vocabulary.clock import WallClock

from .options import Name, tell


def rebuild(name: Name) -> None:
    """Make catalog, search index and waiting URLs anew from the archive alone."""
    pages = upkeep.rebuild(name, clock=WallClock(), tell=tell)
    typer.echo(f"{name}: {pages} pages")
