"""`lycosa search`: searches the pages of a collection."""

from typing import Annotated

import typer

from lycosa.recipe import is_host
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import visible

from .options import Json, Name, print_json


def search(
    name: Name,
    query: Annotated[str, typer.Argument(metavar="WORDS", help='Words; also "a phrase", +must, -not, title:word.')],
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Hits shown.")] = 10,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Only pages of this host.")] = None,
    min_relevance: Annotated[
        float | None, typer.Option(metavar="N", min=0, max=1, help="Only pages at least so relevant.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Search the pages of a collection."""
    if host is not None and not is_host(host):
        raise UsageError(f"--host: not a host: {host[:100]!r}; write its name alone, such as www.example.org")
    with open_for_reading(name) as collection:
        hits = collection.search.search(query, limit=limit, host=host and host.lower(), min_relevance=min_relevance)
    if as_json:
        print_json(hits)
        return
    if not hits:
        typer.echo("nothing found")
    for number, hit in enumerate(hits, 1):
        typer.echo(f"{number}. {visible(hit.title, 120) or '(no title)'}   relevance {hit.relevance:.2f}")
        typer.echo(f"   {visible(hit.url, 300)}")
        typer.echo(f"   {visible(hit.snippet, 300)}\n")
