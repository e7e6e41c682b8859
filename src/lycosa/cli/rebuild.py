"""`lycosa rebuild`: makes the catalog and the search index again from the archive."""

import typer

from lycosa import api
from lycosa.vocabulary.text import counted

from .options import Name, notify


def rebuild(name: Name) -> None:
    """Rebuild the catalog, the search index and the queue of waiting URLs from the archive."""
    pages = api.rebuild(name, notify=notify)
    typer.echo(f"{name}: {counted(pages, 'page')}")
