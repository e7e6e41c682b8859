"""`lycosa refresh`: fetches known pages again, and new ones."""

import asyncio
import time
from typing import Annotated, Unpack

import typer

from lycosa import api
from lycosa.refresh import POLICIES
from lycosa.run.crawl import INTERRUPTED
from lycosa.run.crawl_state import MIN_REPORTED_HOLD
from lycosa.run.options import FetchOptions
from lycosa.run.refresh import DEFAULT_EXPAND, DEFAULT_POLICY, NamedPage, Refresh, RefreshResult
from lycosa.run.session import Session
from lycosa.vocabulary.event_loop import new_event_loop
from lycosa.vocabulary.records import Change, Visit
from lycosa.vocabulary.text import counted, printable

from .crawl_display import is_error, log_pages, watch
from .options import Json, Name, PageLog, Quiet, Verbose, notify, print_json, with_options
from .progress import Mode, Progress, ProgressStats


@with_options(FetchOptions)
def refresh(
    name: Name,
    budget: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of URLs to request. One that robots.txt forbids counts, too; requests for robots.txt do not.",
        ),
    ],
    policy: Annotated[
        str, typer.Option(metavar="NAME", help=f"How to choose the pages to revisit; one of: {', '.join(POLICIES)}.")
    ] = DEFAULT_POLICY,
    expand: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the requests for new pages. 0: only known pages.")
    ] = DEFAULT_EXPAND,
    page_log: PageLog = None,
    verbose: Verbose = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[FetchOptions],
) -> None:
    """Revisit pages to find changes, and fetch new ones. Ctrl-C is safe."""
    run = api.refresh(name, budget=budget, policy=policy, expand=expand, notify=notify, **options)
    mode: Mode | None = "silent" if quiet else "messages" if as_json or verbose else None
    with (
        log_pages(page_log, verbose=verbose),
        Progress(mode=mode) as progress,
        run.session(notify=progress.write) as session,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        visits = run.visits(session)
        runner.run(watch(session, visits, _RefreshProgress(session, visits, budget, progress)))
    if run.result is not None and as_json:
        print_json(run.result)
    elif run.result is not None and not quiet:
        typer.echo("\n".join(_result_lines(run.result)))
    visits.require_an_answer()


class _RefreshProgress:
    """Shows the progress of a refresh after every visit."""

    def __init__(self, session: Session, visits: Refresh, budget: int, progress: Progress):
        self._fetch_counts, self._frontier, self._clock = session.status.fetch_counts, session.frontier, session.clock
        self._tally = visits.tally  # its `counts`: fetches by Change, and those of new pages as "new"
        self._budget = budget
        self._progress = progress
        self._began = time.monotonic()
        self._errors = 0

    def __call__(self, visit: Visit) -> None:
        self._errors += is_error(visit) and visit.change in (None, Change.FAILED, Change.REFUSED)
        if not self._progress.shows_stats:
            return
        hosts_on_hold = len(self._frontier.resting_beyond(self._clock.now() + MIN_REPORTED_HOLD))
        fetches, counts = self._fetch_counts.fetches, self._tally.counts
        speed = fetches / max(time.monotonic() - self._began, 1e-6)
        returned, not_sent = counts[Change.RETURNED], self._fetch_counts.not_sent
        self._progress.update(
            ProgressStats(
                pages=fetches,
                target=self._budget,
                highlighted=counts[Change.CHANGED],
                pages_per_second=speed,
                waiting=len(self._frontier),
                errors=self._errors,
                seconds_left=(self._budget - fetches) / speed,
                title=visit.page.title if visit.page else "",
                url=visit.fetch.url,
                unit="URLs",
                notes=(
                    f"{counts[Change.CHANGED]} changed",
                    f"{counts['new']} new",
                    f"{counts[Change.VANISHED]} vanished",
                    *([f"{returned} returned"] if returned else []),
                    *([f"{not_sent} not sent"] if not_sent else []),
                    *([f"{counted(hosts_on_hold, 'host')} on hold"] if hosts_on_hold else []),
                ),
            )
        )


def _result_lines(result: RefreshResult) -> list[str]:
    look_counts = [
        f"{result.unchanged} unchanged",
        f"{result.changed} changed",
        f"{result.vanished} vanished",
        *([f"{result.returned} returned"] if result.returned else []),
        *([f"{result.still_gone} still gone"] if result.still_gone else []),
        f"{result.failed} failed",
    ]
    refused = f"; {result.refused} not requested, as their addresses are private" if result.refused else ""
    lines = [
        f"{'Stopped' if result.stopped == INTERRUPTED else 'Done'}: {result.stopped}",
        f"{counted(result.requests, 'request')} (budget: {counted(result.budget, 'URL')}): "
        f"{counted(result.looked_at, 'page')} rechecked ({', '.join(look_counts)}), "
        f"{result.new} new, {counted(result.led_nowhere, 'link')} without a page{refused}; "
        f"{counted(result.pages, 'page')} in all",
    ]
    for kind, pages, count in (
        ("changed", result.changed_pages, result.changed),
        ("new", result.new_pages, result.new),
        ("vanished", result.vanished_pages, result.vanished),
        ("returned", result.returned_pages, result.returned),
    ):
        lines += _page_lines(kind, pages, count, "important" if result.is_importance_known else "relevant")
    return lines


def _page_lines(kind: str, pages: list[NamedPage], count: int, quality: str) -> list[str]:
    if not pages:
        return []
    selection = f", the {len(pages)} most {quality} of {count}" if count > len(pages) else ""
    return [f"{kind}{selection}:", *(f"  {printable(f'{page.url} {page.title}', 300)}" for page in pages)]
