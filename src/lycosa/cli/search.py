"""`lycosa search`: searches the pages of a collection."""

from typing import Annotated

import typer

from lycosa import api
from lycosa.recipe import is_host
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import printable

from .job_progress import elapsed_notice
from .options import Json, MinRelevance, Name, notify, print_json

# `-word` excludes a word, so unknown options are passed on as words; and -h is not help, since an excluded word may
# begin with h.
CONTEXT_SETTINGS = {"help_option_names": ["--help"], "ignore_unknown_options": True}


def search(
    name: Name,
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="What to find; quotes are not needed.")],
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Show at most N hits.")] = 10,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Only pages of this host.")] = None,
    min_relevance: MinRelevance = None,
    as_json: Json = False,
) -> None:
    """Search the pages of a collection. Works in every language of the collection, and ignores accents and
    word endings.

    \b
    lava flow          pages with either word, those with both first
    +lava flow         lava must be there
    lava -pumice       pumice must not be there; also: lava NOT pumice
    lava AND flow      both; OR, NOT and ( ) work too
    '"lava flow"'      this exact phrase; a missing closing quote is taken as at the end
    volc*              words beginning with volc
    title:volcano      in the title
    lava host:a.org    only pages of that host
    """
    for word in words:
        if word.startswith("--"):
            raise UsageError(f"search has no option {word[:100]}; see: lycosa search --help")
    if host is not None and not is_host(host):
        raise UsageError(f"--host: not a host: {host[:100]!r}; write its name alone, such as www.example.org")
    with api.open(name, notify=notify) as collection:
        with elapsed_notice("bringing the search index up to date"):
            collection.bring_index_up_to_date()
        hits = collection.search(" ".join(words), limit=limit, host=host, min_relevance=min_relevance)
    if as_json:
        print_json(hits)
        return
    if not hits:
        typer.echo("nothing found")
    for number, hit in enumerate(hits, 1):
        relevance = "not judged yet" if hit.relevance is None else f"relevance {hit.relevance:.2f}"
        typer.echo(f"{number}. {printable(hit.title, 120) or '(no title)'}   {relevance}")
        typer.echo(f"   {printable(hit.url, 300)}")
        typer.echo(f"   {printable(hit.snippet, 300)}\n")
