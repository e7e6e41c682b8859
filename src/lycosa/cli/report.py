"""`lycosa report`: a collection as one HTML page with charts."""

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from lycosa import __version__
from lycosa.collection import Collection
from lycosa.collection.rows import Freshness, LatestChange, PageRow, RunRow
from lycosa.frontier.durable import count_waiting
from lycosa.recipe import Recipe, load_recipe
from lycosa.relevance.harvest import Calibration
from lycosa.report import (
    PAGES_SHOWN,
    ChangedPage,
    FreshnessFigures,
    ReportData,
    RunFigures,
    TopPage,
    report_page,
)
from lycosa.run.omissions import omissions_in_words
from lycosa.run.open import open_for_reading
from lycosa.run.reasons import in_words, outcome_counts
from lycosa.run.review import Measured, measured
from lycosa.run.session import REPORT_FILE
from lycosa.run.topic import calibration_of
from lycosa.vocabulary.errors import CollectionError, cannot_write
from lycosa.vocabulary.explanations import is_found_by_readers, weight_of_relevance
from lycosa.vocabulary.records import RELEVANT

from .export import STANDARD_OUTPUT
from .options import Name

_CHANGES_SHOWN = 25  # the latest
_SEEDS_SHOWN = 10
_REASONS_SHOWN = 3  # of a page; lycosa explain has all


def report(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; without it, NAME/report.html; -: standard output.")
    ] = None,
) -> None:
    """Write a report: one HTML page with charts. It needs no network and no script."""
    if out == STANDARD_OUTPUT:
        typer.echo(_page_of(name), nl=False)
    else:
        typer.echo(f"report: {write_report(name, out)}")


def write_report(folder: Path, out: Path | None = None) -> Path:
    place = out or folder / REPORT_FILE
    page = _page_of(folder)
    try:
        place.write_text(page, encoding="utf-8")
    except OSError as error:
        if out is None:
            raise CollectionError(f"cannot write {place}: {error.strerror}; make room, or give --out") from None
        raise cannot_write(out, error, way_out="give another --out") from None
    return place


def _page_of(folder: Path) -> str:
    recipe = load_recipe(folder, to_read=True)
    with open_for_reading(folder) as collection:
        return report_page(
            report_data(
                collection,
                recipe,
                calibration=calibration_of(recipe.topic, folder),
                sample=measured(folder, collection.catalog),
            )
        )


def report_data(
    collection: Collection, recipe: Recipe, *, calibration: Calibration, sample: Measured | None = None
) -> ReportData:
    topic = recipe.topic.text or f"learned from {recipe.topic.examples or 'its rule'}"
    catalog = collection.catalog
    facts = catalog.summary()
    relevances: list[float] = []
    standings: list[float | None] = []
    alphas: list[float | None] = []
    hosts: list[str] = []
    through_readers: list[bool] = []
    for page in catalog.pages():
        relevances.append(page.relevance or 0.0)
        standings.append(page.standing)
        alphas.append(weight_of_relevance(page.because))
        hosts.append(page.host)
        through_readers.append(is_found_by_readers(page.because, page.found_on))
    runs = [
        _run_figures(run, following.first_page if following else facts.pages + 1)
        for run, following in zip_longest(facts.runs, facts.runs[1:])
    ]
    return ReportData(
        name=collection.folder.name,
        topic=topic,
        relevances=relevances,
        standings=standings,
        alphas=alphas,
        hosts=hosts,
        through_readers=through_readers,
        top_pages=[_top_page(page) for page in catalog.pages("relevance", min_relevance=RELEVANT, limit=PAGES_SHOWN)],
        outcomes=outcome_counts(catalog.outcomes_and_statuses()),
        left_out=[(each.what, each.remedy) for each in omissions_in_words(facts.omissions, recipe)],
        skips=facts.skipped,
        runs=runs,
        freshness=_freshness(facts.freshness, catalog.latest_changes(_CHANGES_SHOWN)),
        waiting=count_waiting(catalog.connection),
        size=facts.bytes,
        seconds=sum(run.seconds for run in runs),
        made_at=datetime.now().strftime("%Y-%m-%d %H:%M"),
        calibration=calibration,
        measured=sample if sample is not None and sample.is_enough else None,
        version=__version__,
        recipe=_recipe_lines(recipe, facts.runs),
    )


def _recipe_lines(recipe: Recipe, runs: Sequence[RunRow]) -> list[tuple[str, str]]:
    """What a reader has to know to do it again; nothing that may be secret."""
    topic, scope = recipe.topic, msgspec.to_builtins(recipe.scope)
    seeds = list(dict.fromkeys(seed for run in runs for seed in run.seeds))
    more = f" and {len(seeds) - _SEEDS_SHOWN:,} more" if len(seeds) > _SEEDS_SHOWN else ""
    lines = [
        ("topic", topic.text),
        ("examples", topic.examples),
        ("negatives", topic.negatives),
        ("keywords", ", ".join(topic.keywords)),
        ("function", topic.function),
        ("seeds", ", ".join(seeds[:_SEEDS_SHOWN]) + more),
        ("strategy", recipe.strategy),
        ("scope", "; ".join(f"{key} = {value}" for key, value in scope.items() if value)),
    ]
    return [(what, how) for what, how in lines if how]


def _run_figures(run: RunRow, next_first_page: int) -> RunFigures:
    return RunFigures(
        started=_moment(run.at, "%Y-%m-%d %H:%M:%S"),
        strategy=run.strategy,
        pages=max(0, next_first_page - run.first_page),
        seconds=max(0.0, (run.stopped_at or run.at) - run.at),
        stopped=run.stop_reason or "not ended",
    )


def _freshness(facts: Freshness, changes: list[LatestChange]) -> FreshnessFigures | None:
    if facts.oldest_look is None or facts.latest_look is None:
        return None
    return FreshnessFigures(
        oldest_look=_moment(facts.oldest_look),
        latest_look=_moment(facts.latest_look),
        looked_again=facts.looked_again,
        changed=facts.changed,
        vanished=facts.vanished,
        latest_changes=[ChangedPage(_moment(each.at), each.change, each.title, each.url) for each in changes],
    )


def _moment(at: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return datetime.fromtimestamp(at).strftime(form)


def _top_page(page: PageRow) -> TopPage:
    return TopPage(page.title, page.url, page.relevance, in_words(page.because, most=_REASONS_SHOWN))
