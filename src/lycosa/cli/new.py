"""`lycosa new`: makes a collection."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from lycosa import api
from lycosa.recipe import FILE_NAME, load_recipe
from lycosa.run.options import ScopeOptions
from lycosa.run.topic import examples_of

from .options import Name, notify, shell_command, with_options


@with_options(ScopeOptions, last=True)
def new(
    name: Name,
    topic: Annotated[str, typer.Option(metavar="WORDS", help="The topic in words.")] = "",
    examples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Pages on the topic, one a line: URLs, file names or texts; or bookmarks, or OPML."
        ),
    ] = None,
    example: Annotated[list[str] | None, typer.Option(metavar="URL", help="A page on the topic. Repeatable.")] = None,
    negatives: Annotated[Path | None, typer.Option(metavar="FILE", help="Pages that are not on the topic.")] = None,
    seeds: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="URLs to start from, one a line; or bookmarks, or OPML. Default: the example URLs."
        ),
    ] = None,
    seed: Annotated[list[str] | None, typer.Option(metavar="URL", help="A URL to start from. Repeatable.")] = None,
    contact: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Your e-mail address or web page, sent to hosts with every request.")
    ] = "",
    in_links: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV table of URLs and their in-links, to learn importance from."),
    ] = None,
    traffic: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV table of domains and how many people they reach.")
    ] = None,
    **scope: Unpack[ScopeOptions],
) -> None:
    """Make a collection: a folder with a recipe (lycosa.toml). Touches no network."""
    api.new(
        name,
        topic=topic,
        examples=_files_and_lines(examples, example),
        negatives=_files_and_lines(negatives),
        seeds=_files_and_lines(seeds, seed),
        contact=contact,
        in_links=in_links,
        traffic=traffic,
        notify=notify,
        **scope,
    )
    recipe = name / FILE_NAME
    given_examples = examples_of(load_recipe(name).topic, name)
    good = given_examples.good
    missing = []  # what the crawl needs and the recipe lacks, in words
    if not good and given_examples.contradictory:
        missing.append(
            f"each of its examples is listed both as good and as bad, and counts as neither: "
            f"take them out of one of the lists in {name / 'examples'}"
        )
    elif not good:
        missing.append(f"it needs a topic: write text, examples or keywords into [topic] of {recipe}")
    if not seeds and not seed and not any(example.kind == "url" for example in good):
        missing.append(
            f"it needs seeds: write URLs, one a line, into {name / 'seeds.txt'}, "
            f'and seeds = "seeds.txt" into {recipe}; or crawl it with --seed URL or --logs LOG'
        )
    crawl_command = shell_command("crawl", name, "--pages", 500)
    if not missing:
        typer.echo(f"made {name}; look at {recipe}, then: {crawl_command}")
        return
    typer.echo(f"made {name}; before the crawl")
    for need in missing:
        typer.echo(f"- {need}")
    typer.echo(f"then: {crawl_command}")


def _files_and_lines(file: Path | None, lines: list[str] | None = None) -> list[str | Path]:
    return [*([] if file is None else [file]), *(lines or ())]
