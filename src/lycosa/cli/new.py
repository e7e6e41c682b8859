from pathlib import Path
from typing import Annotated

import typer

from lycosa.sessions.making import make_collection

from .options import Name


def new(
    name: Name,
    topic: Annotated[str, typer.Option(metavar="WORDS", help="The topic in words.")] = "",
    examples: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pages on the topic, one a line: URLs, file names or texts.")
    ] = None,
    negatives: Annotated[Path | None, typer.Option(metavar="FILE", help="Pages that are not on the topic.")] = None,
    seeds: Annotated[
        Path | None, typer.Option(metavar="FILE", help="URLs to start from, one a line. Without: the example URLs.")
    ] = None,
    contact: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Your e-mail address or web page, told to the hosts you ask.")
    ] = "",
) -> None:
    """Make a collection: a folder with a recipe (lycosa.toml). Touches no network."""
    recipe = make_collection(name, topic=topic, examples=examples, negatives=negatives, seeds=seeds, contact=contact)
    typer.echo(f"made {name}; look at {recipe}, then: lycosa crawl {name} --pages 500")
