"""`lycosa logs`: access logs, from which crawls learn where people go."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lycosa.collection.export import iso
from lycosa.logs.accesses import MAX_PER_DAY, MAX_PER_MINUTE
from lycosa.logs.entries import DESCRIPTIONS, readable_reason
from lycosa.logs.formats import FORMATS, parse_columns
from lycosa.logs.imports import TABLE_FORMATS, ImportOptions, ImportOutcome, import_logs
from lycosa.logs.summary import Activity, LogSummary, summarise
from lycosa.pictures.lines import Series, line_chart
from lycosa.vocabulary.errors import cannot_write
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.text import counted, printable

from .job_progress import ProgressBar, elapsed_notice
from .options import Json, Quiet, notify, print_json, shell_command
from .progress import SPARKLINE_LEVELS
from .typer_options import TYPER_OPTIONS

app = typer.Typer(name="logs", help="Access logs, for crawls that prefer pages people visited.", **TYPER_OPTIONS)
SPARKLINE_WIDTH = 60  # characters
MAX_EXAMPLES = 10
PICTURE_FILE = "activity.svg"


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Access logs, plain or gzipped.")],
    into: Annotated[Path, typer.Option(metavar="NAME.log", help="The log to make, or to add to.")],
    site: Annotated[
        str | None, typer.Option(metavar="URL", help="Site of a server's log whose lines have only paths.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help=f"{', '.join((*FORMATS, *TABLE_FORMATS))}. Default: detected."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="user=…,url=…,time=…",
            help="Column names of a table; also status=…, method=… and type=… if it has them.",
        ),
    ] = None,
    max_per_day: Annotated[
        int | None,
        typer.Option(
            "--most-a-day",
            metavar="N",
            min=1,
            help=f"Drop visitors with more than N requests a day (proxies, robots). [{MAX_PER_DAY}]",
        ),
    ] = None,
    max_per_minute: Annotated[
        int | None,
        typer.Option("--most-a-minute", metavar="N", min=1, help=f"The same in a minute. [{MAX_PER_MINUTE}]"),
    ] = None,
    min_users: Annotated[
        int | None, typer.Option(metavar="K", min=1, help="Leave out pages that fewer than K people read. [1]")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Import access logs. Only successful page views are kept, and people only as keyed hashes."""
    options = ImportOptions(
        site=site,
        format=format_,
        columns=parse_columns(columns) if columns is not None else {},
        max_per_day=max_per_day,
        max_per_minute=max_per_minute,
        min_users=min_users,
    )
    if site is not None and "://" not in site and not quiet:
        notify(
            f"taking paths to be of {options.origin}; if the site uses http, not https, import into a new log "
            f"with --site http://{site}"
        )
    with ProgressBar("MB read", quiet=quiet or as_json) as progress:
        report_each = (lambda outcome: None) if quiet or as_json else partial(_report, options)
        done = import_logs(files, into, options, now=time.time(), progress=progress, report=report_each)
    if as_json:
        print_json({"log": str(into), "files": [_outcome_as_json(outcome) for outcome in done]})
        return
    if quiet:
        return
    typer.echo(f"Look at it:  {shell_command('logs', 'show', into)}")
    typer.echo(f"Use it:      {shell_command('crawl', 'NAME', '--logs', into)}")


def _report(options: ImportOptions, outcome: ImportOutcome) -> None:
    file = outcome.file
    name = printable(file.name, 100)
    if outcome.known:
        typer.echo(f"{name}: already imported; nothing was added")
        if options.changes_reading:
            notify("Options do not change what was imported before; to read it differently, import it into a new log")
        return
    new_lines_only = ", only what is new since it was imported before" if outcome.grown else ""
    typer.echo(
        f"{name} ({file.format}){new_lines_only}: {counted(file.lines, 'line')}, {file.used:,} used"
        f"{_dropped_counts(file.dropped)}"
    )
    if outcome.new_key:
        notify("The key was missing, so a new one was made: people from earlier imports count as different people")
    if file.out_of_order:
        notify(
            f"{counted(file.out_of_order, 'line')} {'was' if file.out_of_order == 1 else 'were'} earlier than the line "
            "before and put in order"
        )
    for example in outcome.examples[:MAX_EXAMPLES]:
        shape = f" (shown masked: {example.shape})" if example.shape else ""
        notify(f"  {name}: line {example.line}: {readable_reason(DESCRIPTIONS[example.why])}{shape}")


def _dropped_counts(dropped: Mapping[str, int]) -> str:
    if not dropped:
        return ""
    ordered = sorted(dropped.items(), key=lambda each: -each[1])
    return "; dropped: " + ", ".join(f"{count} {readable_reason(reason)}" for reason, count in ordered)


def _outcome_as_json(outcome: ImportOutcome) -> dict[str, object]:
    file = outcome.file
    return {
        "file": file.name,
        "format": file.format,
        "already_imported": outcome.known,
        "grown": outcome.grown,
        "new_key": outcome.new_key,
        "lines": 0 if outcome.known else file.lines,
        "used": 0 if outcome.known else file.used,
        "dropped": {} if outcome.known else file.dropped,
        "out_of_order": 0 if outcome.known else file.out_of_order,
        "examples": [
            {"line": example.line, "reason": DESCRIPTIONS[example.why], "shape": example.shape}
            for example in outcome.examples
        ],
    }


@app.command("show")
def show(
    log: Annotated[Path, typer.Argument(metavar="NAME.log", help="An imported log.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR|FILE.svg", help="Write a chart of when pages were read.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a log holds. Lists days, people, pages, what was dropped and why, what is read most, and when."""
    with elapsed_notice("reading the log", quiet=as_json):
        summary = summarise(log)
    if out is not None:
        _write_picture(out, summary.activity)
    if as_json:
        print_json(_summary_as_json(log, summary))
        return
    for line in _lines(log, summary):
        typer.echo(line)


def _lines(log: Path, summary: LogSummary) -> list[str]:
    if not summary.files:
        return [f"{log}: nothing imported yet"]
    period = "" if summary.first is None or summary.last is None else f", {_day(summary.first)} to {_day(summary.last)}"
    lines = [
        f"{log}: {summary.accesses:,} accesses of {summary.users:,} people to {counted(summary.pages, 'page')} "
        f"on {counted(summary.days, 'day')}{period}",
        f"  from {counted(len(summary.files), 'file')} with {summary.lines:,} lines",
    ]
    if summary.groups:
        sources = counted(summary.groups, "source")
        lines.append(f"  {sources} dropped, with too many requests for one person: proxies or robots")
    if summary.min_users > 1:
        lines.append(
            f"  {counted(summary.rare_pages, 'page')} with {summary.rare_accesses:,} accesses left out, "
            f"read by fewer than {summary.min_users} people"
        )
    if summary.dropped:
        lines.append("dropped lines")
        lines += [f"  {count:>10}  {readable_reason(reason)}" for reason, count in summary.dropped.items()]
    if summary.activity.counts:
        lines += [f"accesses {_per_bar(summary.activity.bar_seconds)}", f"  {sparkline(summary.activity.counts)}"]
    if summary.most_read:
        lines.append("most read, by people")
        lines += [f"  {page.users:>8}  {printable(page.url, 100)}" for page in summary.most_read]
    return lines


def sparkline(counts: Sequence[int], width: int = SPARKLINE_WIDTH) -> str:
    """The counts as bars of characters, neighbours added up where there are more than fit; only 0 has the lowest bar.

    >>> sparkline([0, 1, 8])
    '▁▂█'
    """
    counts_per_bar = -(-len(counts) // width)
    sums = [sum(counts[start : start + counts_per_bar]) for start in range(0, len(counts), counts_per_bar or 1)]
    highest = max(sums, default=0) or 1
    top_level = len(SPARKLINE_LEVELS) - 1
    return "".join(SPARKLINE_LEVELS[max(top_level * count // highest, min(count, 1))] for count in sums)


def _per_bar(bar_seconds: float) -> str:
    days = round(bar_seconds / 86_400)
    return "by the hour" if bar_seconds < 86_400 else "by the day" if days == 1 else f"by {days} days"


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _summary_as_json(log: Path, summary: LogSummary) -> dict[str, object]:
    return {
        "log": str(log),
        "files": [
            {
                "file": file.name,
                "format": file.format,
                "imported_at": iso(file.at),
                "lines": file.lines,
                "used": file.used,
            }
            for file in summary.files
        ],
        "lines": summary.lines,
        "accesses": summary.accesses,
        "users": summary.users,
        "pages": summary.pages,
        "first": None if summary.first is None else iso(summary.first),
        "last": None if summary.last is None else iso(summary.last),
        "days": summary.days,
        "groups": summary.groups,
        "dropped": summary.dropped,
        "min_users": summary.min_users,
        "left_out": {"pages": summary.rare_pages, "accesses": summary.rare_accesses},
        "most_read": [page._asdict() for page in summary.most_read],
        "activity": {
            "start": iso(summary.activity.start) if summary.activity.counts else None,
            "seconds": summary.activity.bar_seconds,
            "counts": summary.activity.counts,
        },
    }


def _write_picture(out: Path, activity: Activity) -> None:
    path = out if out.suffix == ".svg" else out / PICTURE_FILE
    unit, name = (3600.0, "hours") if activity.bar_seconds < 86_400 else (86_400.0, "days")
    points = [(index * activity.bar_seconds / unit, float(count)) for index, count in enumerate(activity.counts)]
    since = f" after {datetime.fromtimestamp(activity.start, UTC):%Y-%m-%d %H:%M} UTC" if points else ""
    picture = line_chart(
        [Series("accesses", points)],
        title="activity",
        x_title=name + since,
        y_title=f"accesses {_per_bar(activity.bar_seconds)}",
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, picture)
    except OSError as error:
        raise cannot_write(path, error, advice="give another --out") from None
    notify(f"wrote {path}")
