"""`lycosa pages`: lists the pages of a collection."""

from typing import Annotated

import typer

from lycosa import api
from lycosa.collection.rows import ExportRow
from lycosa.run.export import TableOptions
from lycosa.vocabulary.text import counted, printable

from .options import (
    NO_IMPORTANCE,
    Hosts,
    Json,
    Label,
    Languages,
    MinRelevance,
    Name,
    Since,
    SortOrder,
    notify,
    print_json,
)


def pages(
    name: Name,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Pages shown: the most relevant, or by --order.")] = 30,
    min_relevance: MinRelevance = None,
    host: Hosts = None,
    language: Languages = None,
    label: Label = None,
    since: Since = None,
    order: SortOrder = None,
    as_json: Json = False,
) -> None:
    """List the pages of a collection. The most relevant come first, unless --order says otherwise."""
    filters = TableOptions(
        host=host or (), language=language or (), min_relevance=min_relevance, label=label, since=since, order=order
    )
    with api.open(name) as collection:
        rows = list(collection.rows(**(filters | {"top": top})))
        matching = collection.count(**filters)
        if order == "importance" and rows and not collection.has_importance():
            notify(NO_IMPORTANCE)
        is_empty = not rows and not collection.count()
    if as_json:
        print_json(rows)
        return
    if not rows:
        typer.echo("The collection has no page yet." if is_empty else "No page matches.")
    for row in rows:
        typer.echo(_line(row))
    if matching > len(rows):
        typer.echo(f"{len(rows):,} of {counted(matching, 'page')}; all with --top {matching}")


def _line(row: ExportRow) -> str:
    relevance = "   –" if row["relevance"] is None else f"{row['relevance']:.2f}"
    notes = [row["label"], "vanished" if row["vanished_at"] else None]
    suffix = "".join(f" ({note})" for note in notes if note)
    return f"{relevance}  {printable(row['title'], 80) or '(no title)'}{suffix}  {printable(row['url'], 300)}"
