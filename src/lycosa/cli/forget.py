"""`lycosa forget`: removes a page or a host for good."""

from typing import Annotated

import typer

from lycosa import api
from lycosa.vocabulary.text import counted, printable, quoted

from .options import Name, notify


def forget(
    name: Name, what: Annotated[str, typer.Argument(metavar="URL|HOST", help="A page, or a host with all its pages.")]
) -> None:
    """Remove a page or a host for good.

    It is removed from archive, catalog and search index, and never fetched again. Other pages that link to it stay as
    their servers sent them; forget those too if they must go. There is no undo.
    """
    done = api.forget(name, what, notify=notify)
    line = f"{counted(done.pages, 'page')} forgotten"
    if not done.was_known:
        line += f": {name} had nothing from {printable(done.name, 200)}; it will not be fetched from now on"
        if done.similar_hosts:
            line += f". To forget hosts with this ending, give the whole name of each: {', '.join(done.similar_hosts)}"
    typer.echo(line)
    if done.was_known:
        typer.echo("other pages that link to it stay as their servers sent them; forget those too if they must go")
    if done.report is not None:
        typer.echo(
            f"{done.report} deleted, as it may name what was forgotten; lycosa report {quoted(name)} writes it again"
        )
