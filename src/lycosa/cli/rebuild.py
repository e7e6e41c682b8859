"""`lycosa rebuild`: makes the catalog and the search index again from the archive."""

import typer

from lycosa.run import upkeep
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.text import counted

from .options import Name, tell


def rebuild(name: Name) -> None:
    """Rebuild the catalog from the archive. The search index and the waiting URLs, too."""
    pages = upkeep.rebuild(name, clock=WallClock(), tell=tell)
    typer.echo(f"{name}: {counted(pages, 'page')}")
