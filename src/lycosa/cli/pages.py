"""`lycosa pages`: lists the pages of a collection."""

from typing import Annotated

import typer

from lycosa.collection.export import Row, export_row
from lycosa.run.export import labels_of, selection_of
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.text import counted, visible

from .options import Hosts, Json, Label, Languages, MinRelevance, Name, Since, SortOrder, print_json


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
    wanted = selection_of(
        name,
        hosts=host or (),
        languages=language or (),
        min_relevance=min_relevance,
        label=label,
        since=since,
        top=top,
        order=order,
        now=WallClock().now(),
    )
    labels = labels_of(name)
    with open_for_reading(name) as collection:
        rows = [export_row(page, labels.get(page.url)) for page in collection.catalog.selected(wanted)]
        matching = collection.catalog.count_selected(wanted.of_any_number())
    if as_json:
        print_json(rows)
        return
    if not rows:
        typer.echo("No page matches.")
    for row in rows:
        typer.echo(_line(row))
    if matching > len(rows):
        typer.echo(f"{len(rows)} of {counted(matching, 'page')}; all with --top {matching}")


def _line(row: Row) -> str:
    relevance = "   –" if row["relevance"] is None else f"{row['relevance']:.2f}"
    notes = [row["label"], "vanished" if row["vanished_at"] else None]
    suffix = "".join(f" ({note})" for note in notes if note)
    return f"{relevance}  {visible(row['title'], 80) or '(no title)'}{suffix}  {visible(row['url'], 300)}"
