"""Results of refreshes: changed, new and vanished pages."""

import math
from pathlib import Path

from msgspec import Struct, field

from lycosa.collection import Collection
from lycosa.collection.rows import RunRow
from lycosa.run.open import open_for_reading
from lycosa.run.refresh import DEFAULT_EXPAND
from lycosa.vocabulary.records import Change
from lycosa.vocabulary.text import printable

from .lines import Counted, clamp_page, strategy_or_policy
from .overviews import CrawlFigures, ProcessPhase

CHANGES_PER_PAGE = 50
MAX_RUNS = 20  # the latest refreshes that can be chosen
NEW = "new"
CHANGE_KINDS = (Change.CHANGED.value, NEW, Change.VANISHED.value, Change.RETURNED.value)  # of changes that are listed
_MIN_BUDGET = 100  # requests; the least default in the form


class RefreshLine(Struct, frozen=True):
    """A refresh in the list of refreshes."""

    number: int  # among the runs of the collection
    at: float
    policy: str = field(name="what")
    stop_reason: str = field(name="stopped")


class ListedPage(Struct, frozen=True):
    """A page in the list of one kind of change."""

    url: str
    title: str
    at: float


class RefreshView(Struct, frozen=True):
    """The screen of refreshes."""

    phase: str  # of the crawl or refresh that runs
    pages: int  # number of pages in the collection
    next_budget: int  # requests; the default in the form
    expand: float  # share of the requests for new pages; the default in the form
    runs: list[RefreshLine]  # the latest first
    run: int | None  # the number of the one that is shown
    counts: list[Counted]  # pages by kind of change
    kind: str
    listed: list[ListedPage] = field(name="changed")  # of this kind, on this page of the list
    total: int  # of this kind
    page: int  # of the list, from 1
    last_page: int


def refresh_view(
    folder: Path,
    crawl: CrawlFigures,
    *,
    process_phase: ProcessPhase = "none",
    run: int | None = None,
    kind: str = "",
    page: int = 1,
) -> RefreshView:
    """The results of one refresh, by default the latest.

    process_phase: shown if no crawl reports.
    page: of the list of pages, from 1.
    """
    with open_for_reading(folder) as collection:
        catalog = collection.catalog
        runs = catalog.runs()
        refreshes = [number for number, each in enumerate(runs, 1) if each.refresh is not None]
        number = run if run in refreshes else refreshes[-1] if refreshes else None
        counts = _counts(collection, runs, number) if number is not None else {}
        if kind not in CHANGE_KINDS:
            kind = next((each for each in CHANGE_KINDS if counts.get(each)), CHANGE_KINDS[0])
        page, last_page, start = clamp_page(page, counts.get(kind, 0), CHANGES_PER_PAGE)
        listed = _pages_of_kind(collection, runs, number, kind, start) if number is not None else []
        pages = catalog.count()
    return RefreshView(
        phase=process_phase if crawl.phase == "none" else crawl.phase,
        pages=pages,
        next_budget=max(_MIN_BUDGET, pages // 10),
        expand=DEFAULT_EXPAND,
        runs=[
            RefreshLine(
                each,
                runs[each - 1].at,
                strategy_or_policy(runs[each - 1]),
                printable(runs[each - 1].stop_reason or "", 200),
            )
            for each in refreshes[: -MAX_RUNS - 1 : -1]
        ],
        run=number,
        counts=[Counted(printable(name, 40), count) for name, count in counts.items()],
        kind=kind,
        listed=listed,
        total=counts.get(kind, 0),
        page=page,
        last_page=last_page,
    )


def _period(runs: list[RunRow], number: int) -> tuple[float, float]:
    """The start times of a run and of the next one."""
    return runs[number - 1].at, runs[number].at if number < len(runs) else math.inf


def _counts(collection: Collection, runs: list[RunRow], number: int) -> dict[str, int]:
    catalog = collection.catalog
    found = catalog.count_changes(*_period(runs, number))
    new = catalog.count_of_run(runs[number - 1].first_page, runs[number].first_page if number < len(runs) else None)
    return {NEW: new, **found} if new else found


def _pages_of_kind(collection: Collection, runs: list[RunRow], number: int, kind: str, start: int) -> list[ListedPage]:
    catalog = collection.catalog
    if kind == NEW:
        rows = catalog.pages(
            after=runs[number - 1].first_page - 1,
            before=runs[number].first_page if number < len(runs) else 1 << 62,
            limit=CHANGES_PER_PAGE,
            offset=start,
        )
        return [ListedPage(row.url, printable(row.title), row.at) for row in rows]
    found = catalog.changes(kind, *_period(runs, number), offset=start, limit=CHANGES_PER_PAGE)
    return [ListedPage(each.url, printable(each.title), each.at) for each in found]
