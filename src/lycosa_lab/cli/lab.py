"""`lycosa lab`: studies that judge strategies on fixed worlds."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
import xxhash

from lycosa.cli.job_progress import ProgressBar, elapsed_notice
from lycosa.cli.options import Json, Quiet, notify, print_json, program
from lycosa.cli.typer_options import TYPER_OPTIONS
from lycosa.recipe import DEFAULT_STRATEGY
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plugins import distribution_of, plugins
from lycosa_lab.comparison import StrategyComparison
from lycosa_lab.results import PAGE_FILE, Results, Row, format_value, read_results, verdict
from lycosa_lab.statistics import require_scipy
from lycosa_lab.studies import STUDIES, study_named
from lycosa_lab.studies.league import League
from lycosa_lab.study import PACKAGES, Study, run
from lycosa_lab.topics import MIN_ENTRIES
from lycosa_lab.worlds.registry import open_world

app = typer.Typer(name="lab", help="Studies that compare strategies on fixed worlds.", **TYPER_OPTIONS)
DEFAULT_FOLDER = Path("lycosa-lab")
_MAX_COLUMNS = 8  # strategies side by side
DEFAULT_STRATEGIES = tuple(dict.fromkeys((DEFAULT_STRATEGY, "best-first", "breadth-first")))  # unless others are named
World = Annotated[
    str | None,
    typer.Option(
        "--world",
        metavar="WORLD",
        help="NAME, NAME:key=value,…, a folder or a file; see `world list`. Default: a synthetic one.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same results, apart from costs.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help=f"Folder to write to. Default: one under {DEFAULT_FOLDER}/."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Number of processes. Default: one per core.")
]


@app.command("list")
def list_studies(as_json: Json = False) -> None:
    """List the studies."""
    if as_json:
        print_json({name: {"says": study.summary, "scales": study.scales} for name, study in STUDIES.items()})
        return
    for name, study in STUDIES.items():
        typer.echo(f"{name:20}{study.summary}")
        for scale, size in study.scales.items():
            typer.echo(f"{'':20}{scale}: {', '.join(f'{key} {value}' for key, value in size.items())}")
    for name, entry in plugins("lycosa.studies").items():
        typer.echo(f"{name:20}of the plug-in {distribution_of(entry)}")


@app.command("run")
def run_study(
    name: Annotated[str, typer.Argument(metavar="STUDY", help="See `lab list`.")],
    scale: Annotated[str, typer.Option("--scale", metavar="SCALE", help="small or paper")] = "small",
    world: World = None,
    strategies: Annotated[
        str | None,
        typer.Option(
            "--strategies", metavar="NAMES", help="Strategies of the league, separated by commas. Default: all."
        ),
    ] = None,
    seed: Seed = 1,
    out: Out = None,
    workers: Workers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a study. After an interruption, the same command continues it."""
    study = study_named(name)
    if strategies is not None:
        if not isinstance(study, League):
            raise UsageError(f"{name} has strategies of its own; --strategies is for league")
        study = League(_names_in(strategies, "--strategies"))
    if scale not in study.scales:
        raise UsageError(f"{name} has no scale {scale!r}; it has {', '.join(study.scales)}")
    _run(study, world, scale=scale, seed=seed, out=out, workers=workers, as_json=as_json, quiet=quiet)


@app.command("compare")
def compare(
    strategies: Annotated[
        str | None,
        typer.Option(
            "--strategies",
            metavar="NAMES",
            help="Names, separated by commas. Default: the default strategy and two others.",
        ),
    ] = None,
    world: World = None,
    topics: Annotated[
        int, typer.Option("--topics", metavar="N", min=2, help="Number of topics, from the world's directory.")
    ] = 10,
    pages: Annotated[int, typer.Option("--pages", metavar="N", min=1, help="Pages per crawl.")] = 1000,
    buffer: Annotated[
        int, typer.Option("--buffer", metavar="N", min=1, help="Pages and waiting URLs a strategy may keep.")
    ] = 200,
    measures: Annotated[
        str | None,
        typer.Option("--measures", metavar="NAMES", help="Such as Harvest@500,StrategyCpu. Default: the usual ones."),
    ] = None,
    seed: Seed = 1,
    out: Out = None,
    workers: Workers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare strategies freely. All get the same world, topics, seeds, pages and buffer."""
    comparison = StrategyComparison(
        DEFAULT_STRATEGIES if strategies is None else _names_in(strategies, "--strategies"),
        topics=topics,
        pages=pages,
        buffer=buffer,
        measures=None if measures is None else _names_in(measures, "--measures"),
    )
    _run(comparison, world, scale="free", seed=seed, out=out, workers=workers, as_json=as_json, quiet=quiet)


def _names_in(text: str, option: str) -> list[str]:
    """The names in the value of an option, which must have one or more."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    if not names:
        raise UsageError(f"{option} names nothing; give names with commas between, or leave it out for the default")
    return names


def _run(
    study: Study,
    world: str | None,
    *,
    scale: str,
    seed: int,
    out: Path | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    require_scipy()
    options = {"kind": "synthetic", **study.default_world(study.scales[scale]), "seed": seed}
    kind = options.pop("kind")
    world = world or kind
    with elapsed_notice("opening the world", quiet=quiet):
        opened = open_world(world, defaults=options, default_kind=kind)
    if isinstance(study, StrategyComparison) and not quiet:
        _warn_of_fewer_topics(study.topics_in(opened), study.scales[scale]["topics"])
    folder = out or _folder_of(DEFAULT_FOLDER / study.name / f"{_slug(world)}-{scale}-{seed}", study, scale)
    packages = study.packages if isinstance(study, StrategyComparison) else PACKAGES
    try:
        with ProgressBar(f"{study.name} on {opened.name}", quiet=quiet) as progress:
            results = run(
                study,
                opened,
                scale=scale,
                seed=seed,
                out=folder,
                workers=workers,
                progress=progress,
                packages=packages,
            )
    except KeyboardInterrupt:
        notify(f"stopped; run the same command to continue ({folder} has what is done)")
        raise
    if as_json:
        print_json(results)
    elif not quiet:
        typer.echo("\n".join(_result_lines(results)))
        typer.echo(f"\nPage: {folder / PAGE_FILE}")


def _warn_of_fewer_topics(available: int, requested: int) -> None:
    if available < requested:
        notify(
            f"the world has {available} topics with {MIN_ENTRIES} pages or more, not {requested}; these are compared"
        )


def _slug(world: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in world).strip("-.") or "world"


def _folder_of(folder: Path, study: Study, scale: str) -> Path:
    """The folder of a study; comparisons of different things get folders of their own."""
    if not isinstance(study, StrategyComparison):
        return folder
    size = msgspec.json.encode(study.scales[scale], order="sorted")
    return folder.with_name(f"{folder.name}-{'-'.join(study.strategies)}-{xxhash.xxh3_64_hexdigest(size)[:6]}")


def _result_lines(results: Results) -> list[str]:
    lines = [f"{results.study} on {results.world.get('name')}, scale {results.scale}, seed {results.seed}"]
    lines += _mean_lines(results.tables.get("means", ()))
    for claim in results.claims:
        lines += [
            "",
            f"{claim.id} ({claim.kind}): {verdict(claim)}{f', {claim.reason}' if claim.reason else ''}",
            f"  says      {claim.text}",
            f"  paper     {claim.paper or '–'}",
            f"  measured  {claim.measured}",
        ]
    return lines


def _mean_lines(means: Sequence[Row]) -> list[str]:
    """A line for each measure, a column for each strategy; the other way round if there are many strategies."""
    if not means:
        return []
    cells = {}
    for row in means:
        error = "" if row["standard_error"] is None else f" ± {row['standard_error']:.2g}"
        cells[row["measure"], row["strategy"]] = f"{format_value(row['mean'])}{error}"
    measures = list(dict.fromkeys(row["measure"] for row in means))
    strategies = list(dict.fromkeys(row["strategy"] for row in means))
    if len(strategies) <= _MAX_COLUMNS:
        lines = ["", f"{'':37}{''.join(f'{strategy:>20}' for strategy in strategies)}"]
        for measure in measures:
            found = (cells.get((measure, strategy), "–") for strategy in strategies)
            lines.append(f"{measure:37}{''.join(f'{cell:>20}' for cell in found)}")
        return lines
    widths = {measure: max(20, len(measure) + 2) for measure in measures}
    lines = ["", f"{'':20}{''.join(f'{measure:>{width}}' for measure, width in widths.items())}"]
    for strategy in strategies:
        columns = (f"{cells.get((measure, strategy), '–'):>{width}}" for measure, width in widths.items())
        lines.append(f"{strategy:20}{''.join(columns)}")
    return lines


@app.command("table")
def table(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[FOLDER]…", help=f"Where to look. Default: {DEFAULT_FOLDER}/.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print every claim of every finished study. Lists what the paper says, what was measured, whether it holds."""
    searched = folders or [DEFAULT_FOLDER]
    if not folders and not DEFAULT_FOLDER.is_dir():
        raise UsageError(f"no study was run here; run one with: {program()} lab run {next(iter(STUDIES))}")
    found = list(read_results(searched, warn=notify))
    if as_json:
        print_json({"studies": [{"folder": os.fspath(folder), **_claims_of(results)} for folder, results in found]})
        return
    if not found:
        notify(f"no finished study in {', '.join(map(str, searched))}")
    for folder, results in found:
        typer.echo(f"{results.study} on {results.world.get('name')} ({results.scale}, seed {results.seed}): {folder}")
        for claim in results.claims:
            typer.echo(f"  {verdict(claim):14}{claim.id} ({claim.kind})")
            typer.echo(f"  {'':14}paper     {claim.paper or '–'}")
            typer.echo(f"  {'':14}measured  {claim.measured}")
            if claim.reason:
                typer.echo(f"  {'':14}because   {claim.reason}")
        if not results.claims:
            typer.echo("  makes no claims")


def _claims_of(results: Results) -> dict[str, object]:
    return {
        "study": results.study,
        "world": results.world,
        "scale": results.scale,
        "seed": results.seed,
        "claims": results.claims,
    }
