"""`lycosa standing`: public lists of the importance of sites, for all collections."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from lycosa.standing.authority_table import SOURCES, AuthorityTable, remove_list
from lycosa.standing.ranked_lists import DEFAULT_TOP, import_list
from lycosa.user_config import authority_file
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import counted, printable
from lycosa.vocabulary.urls import checked_url

from .job_progress import ProgressBar
from .options import Json, Quiet, notify, print_json
from .typer_options import TYPER_OPTIONS

_NO_LISTS = "no lists; read one with: lycosa standing import FILE"

app = typer.Typer(
    name="standing",
    help="Public lists of the importance of sites, for all collections.",
    **TYPER_OPTIONS,
)


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Lists, plain, gzipped or zipped.")],
    top: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000_000, help="Rows of a list that are kept.")
    ] = DEFAULT_TOP,
    quiet: Quiet = False,
) -> None:
    """Import lists of ranks. Nothing is downloaded.

    Lists of Common Crawl, Majestic, Tranco, CrUX, Open PageRank and Wikipedia's external links are recognised by their
    first lines; a newer list replaces an older one.
    """
    table = authority_file()
    for file in files:
        with ProgressBar(f"reading {file.name}", quiet=quiet) as bar:
            done = import_list(file, table, top=top, progress=lambda rows: bar(rows, top))
        if not quiet:
            notify(f"{file}: {done.source.name}, {counted(done.source.rows, 'rank')}")
            if done.skipped:
                notify(f"{file}: {counted(done.skipped, 'line')} without a host or a rank skipped")


@app.command("show")
def show(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="What the lists say about this page.")] = None,
    as_json: Json = False,
) -> None:
    """Show the imported lists. With a URL, what they say about the page, its host and its domain."""
    table = AuthorityTable.load(authority_file())
    if url is not None:
        page_url = checked_url(url if "://" in url else f"https://{url}")
        ranks = table.ranks(page_url) if table else []
        if as_json:
            print_json(ranks)
            return
        for rank in ranks:
            typer.echo(printable(str(rank), 300))
        if not ranks:
            typer.echo("in no list" if table and table.sources else _NO_LISTS)
        return
    sources = table.sources if table else ()
    if as_json:
        print_json({"file": str(authority_file()), "digest": table.digest if table else None, "lists": sources})
        return
    for source in sources:
        day = datetime.fromtimestamp(source.imported_at, UTC).date()
        typer.echo(f"{source.name}: {counted(source.rows, 'rank')}, from {printable(source.file, 100)} on {day}")
    if table is None or not sources:
        typer.echo(_NO_LISTS)
    else:
        typer.echo(f"{table.path}, hash {table.digest}")


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(metavar="LIST", help=f"One of: {', '.join(SOURCES)}.")]) -> None:
    """Remove a list."""
    table = AuthorityTable.load(authority_file())
    known = [source.name for source in table.sources] if table else []
    if name not in known:
        imported = f"there are {', '.join(known)}" if known else "none has been imported"
        raise UsageError(f"no list {name[:100]!r}; {imported}")
    remove_list(authority_file(), name)
