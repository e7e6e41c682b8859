"""`lycosa label`: marks a page as good or bad, and trains the model anew."""

from typing import Annotated

import typer

from lycosa.run import upkeep
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import UsageError

from .options import Name, UrlArgument, program, tell, url_argument


def label(
    name: Name,
    url: UrlArgument,
    good: Annotated[bool, typer.Option("--good", help="The page is on the topic.")] = False,
    bad: Annotated[bool, typer.Option("--bad", help="The page is not.")] = False,
) -> None:
    """Call a page good or bad, and train the model anew."""
    if good == bad:
        raise UsageError("say either --good or --bad")
    trained = upkeep.label(name, url_argument(url), good=good, clock=WallClock(), tell=tell)
    if trained:
        typer.echo("noted; the model was trained anew and every page judged by it")
    else:
        typer.echo(f"noted; the model will be trained by the next: {program()} crawl {name}")
