from datetime import datetime

import typer

from lycosa.collection.rows import Summary
from lycosa.frontier.durable import count_waiting
from lycosa.sessions.opening import open_for_reading
from lycosa.vocabulary.plain_text import visible

from .options import Json, Name, print_json


def show(name: Name, as_json: Json = False) -> None:
    """Show what a collection holds. Pages, harvest rate, hosts, outcomes, skips and runs."""
    with open_for_reading(name) as collection:
        facts = collection.catalog.summary()
        waiting = count_waiting(collection.catalog.connection)
    if as_json:
        print_json(
            {
                "pages": facts.pages,
                "relevant": facts.relevant,
                "harvest_rate": facts.harvest_rate,
                "mean_standing": facts.mean_standing,
                "waiting": waiting,
                "hosts": facts.hosts,
                "outcomes": facts.outcomes,
                "skipped": facts.skipped,
                "languages": facts.languages,
                "bytes": facts.bytes,
                "runs": facts.runs,
            }
        )
    else:
        typer.echo("\n".join(_lines(str(name), facts, waiting)))


def _lines(name: str, facts: Summary, waiting: int) -> list[str]:
    rows = [
        ("harvest rate", f"{facts.harvest_rate:.1%} ({facts.relevant} relevant pages)"),
        *([] if facts.mean_standing is None else [("standing", f"{facts.mean_standing:.2f} on average")]),
        ("waiting", f"{waiting} URLs"),
        ("outcomes", _counts(facts.outcomes)),
        ("skipped", _counts(facts.skipped)),
        ("languages", _counts(facts.languages)),
        ("hosts", _counts(facts.hosts, 8)),
    ]
    for run in facts.runs[-5:]:
        began = datetime.fromtimestamp(run.at).strftime("%Y-%m-%d %H:%M")
        rows.append(("run", f"{began} {run.strategy}: {run.stop_reason or 'not ended'}"))
    head = f"{name}: {facts.pages} pages on {len(facts.hosts)} hosts, {facts.bytes / 1e6:.1f} MB"
    return [visible(head, 300), *(f"{what:14}{visible(said, 300)}" for what, said in rows)]


def _counts(counts: dict[str, int], most: int = 6) -> str:
    shown = [f"{what or 'unknown'} {count}" for what, count in list(counts.items())[:most]]
    if len(counts) > most:
        shown.append(f"and {len(counts) - most} more")
    return ", ".join(shown) or "none"
