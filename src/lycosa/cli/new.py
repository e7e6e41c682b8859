"""`lycosa new`: makes a collection."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa.recipe import load_recipe
from lycosa.run.new import new_collection
from lycosa.run.topic import examples_of

from .options import Name, program


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
    in_links: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV table of URLs and their in-links, to learn from how much pages matter."),
    ] = None,
    traffic: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV table of domains and how many people they reach.")
    ] = None,
) -> None:
    """Make a collection: a folder with a recipe (lycosa.toml). Touches no network."""
    recipe = new_collection(
        name,
        topic=topic,
        examples=examples,
        negatives=negatives,
        seeds=seeds,
        contact=contact,
        in_links=in_links,
        traffic=traffic,
    )
    typer.echo(f"made {name}; look at {recipe}, then: {program()} crawl {name} --pages 500")
    good = examples_of(load_recipe(name).topic, name).good
    if seeds is None and not any(example.kind == "url" for example in good):
        typer.echo(
            f"before the crawl it needs seeds: write URLs, one a line, into {name / 'seeds.txt'}, "
            f'and seeds = "seeds.txt" into {recipe}; or make it with --seeds FILE; or crawl it with --logs LOG'
        )
