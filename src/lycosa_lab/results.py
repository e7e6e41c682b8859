"""The findings of a study, and its files: results.json, a CSV file per table, an SVG file per figure, an HTML page."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lycosa.pictures.html_page import html_page, section
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import JsonValue

RESULTS_FILE = "results.json"
PAGE_FILE = "index.html"
ROWS_SHOWN = 60  # of a table, on the page
_NUMBER = ' class="number"'

ClaimKind = Literal["paper", "beyond", "calibration"]
Row = Mapping[str, JsonValue]


class Claim(Struct, frozen=True):
    """A statement that a run supports or refutes."""

    id: str  # "study.claim"
    kind: ClaimKind  # of the paper; beyond it; or one to which the world was calibrated, which proves nothing
    text: str = msgspec.field(name="says")  # the statement
    paper: str | None  # what the paper reports
    measured: str
    holds: bool | None  # None if only reported
    p: float | None = None  # p-value of the test, if there is one
    reason: str = ""  # why it likely does not hold here


class Figure(Struct, frozen=True):
    """A chart and its caption."""

    title: str
    caption: str
    svg: str


class Findings(Struct, frozen=True):
    """The conclusions of a study; claims can be recomputed from the tables."""

    claims: Sequence[Claim]
    tables: Mapping[str, Sequence[Row]]
    figures: Mapping[str, Figure] = {}


class Results(Struct, frozen=True):
    """A finished study, as in `results.json`."""

    study: str
    scale: str  # of the sizes of the study, such as "small"
    seed: int  # of all random choices
    world: Mapping[str, JsonValue]  # its name and options
    claims: Sequence[Claim]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    seconds: float  # that the study took


def write_results(out: Path, results: Results, figures: Mapping[str, Figure], *, summary: str) -> None:
    """Writes all files of a finished study; results.json is last, so that its presence means completeness."""
    try:
        for name, rows in results.tables.items():
            _write_csv(out / f"{name}.csv", rows)
        for name, figure in figures.items():
            write_file(out / f"{name}.svg", figure.svg)
        write_file(out / PAGE_FILE, _html(results, figures, summary))
        write_file(out / RESULTS_FILE, msgspec.json.format(msgspec.json.encode(results), indent=1))
    except OSError as error:
        raise LycosaError(f"cannot write into {out}: {error.strerror}; make room or give another --out") from None


def read_results(folders: Sequence[Path], *, warn: Callable[[str], None]) -> Iterator[tuple[Path, Results]]:
    """Every finished study below some folders, ordered by path; warns of invalid files."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}; studies are written by: lycosa lab run")
        for path in sorted(folder.rglob(RESULTS_FILE)):
            try:
                yield path.parent, msgspec.json.decode(path.read_bytes(), type=Results)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
                warn(f"{path}: not the results of a study ({error}); remove it")


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue())


def verdict(claim: Claim) -> str:
    """Whether a claim holds, in words."""
    return {True: "holds", False: "does not hold", None: "reported"}[claim.holds]


def format_value(value: JsonValue) -> str:
    """A value for tables: four digits of a float, a dash for None."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)


def _html(results: Results, figures: Mapping[str, Figure], summary: str) -> str:
    facts = ", ".join(f"{key} {format_value(value)}" for key, value in results.world.items() if key != "name")
    lead = (
        f'<p class="topic">{escape(summary)}</p>'
        f"<p>World: {escape(str(results.world.get('name', '')))} ({escape(facts)}). "
        f"Scale: {escape(results.scale)}. Seed: {results.seed}. Took {results.seconds:.0f} s.</p>"
    )
    claims = "".join(map(_claim, results.claims))
    sections = [section("Claims", "What was computed, beside what was published.", claims)] if claims else []
    sections += [section(escape(figure.title), escape(figure.caption), figure.svg) for figure in figures.values()]
    for name, rows in results.tables.items():
        is_cut = len(rows) > ROWS_SHOWN
        shown = f"The first {ROWS_SHOWN} of {len(rows)}" if is_cut else "All"
        heading = f"Table: {name.replace('_', ' ').replace('-', ' ')}"
        in_file = "all of them" if is_cut else "the same"
        lead_of_table = f"{shown} rows; {name}.csv beside this page has {in_file} for other programs."
        sections.append(section(escape(heading), escape(lead_of_table), _table(rows[:ROWS_SHOWN])))
    return html_page(escape(results.study), kicker="Study", lead=lead, body="".join(sections))


def _claim(claim: Claim) -> str:
    facts = {"paper": claim.paper, "measured": claim.measured, "p": claim.p, "because": claim.reason}
    rows = "".join(
        f"<tr><th>{name}</th><td>{escape(format_value(value))}</td></tr>\n"
        for name, value in facts.items()
        if value not in (None, "")
    )
    heading = f"{escape(claim.id)} ({claim.kind}): {verdict(claim)}"
    return f'<div class="claim"><h3>{heading}</h3><p>{escape(claim.text)}.</p><table>{rows}</table></div>\n'


def _table(rows: Sequence[Row]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(_cell(row.get(column)) for column in columns)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"


def _cell(value: JsonValue) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{_NUMBER if is_number else ''}>{escape(format_value(value))}</td>"
