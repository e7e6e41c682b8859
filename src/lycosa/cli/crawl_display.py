"""Output of a crawl: progress, messages, JSON, a log; and the handling of Ctrl-C."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from math import ceil
from pathlib import Path
from shlex import quote

from lycosa import api
from lycosa.collection.export import iso
from lycosa.parallel.crawl import ParallelCrawl
from lycosa.relevance.harvest import harvest_interval
from lycosa.run.crawl import ALLOW_PRIVATE_HINT, NOTHING_LEFT
from lycosa.run.crawl_state import MIN_REPORTED_HOLD
from lycosa.run.explanation import explain_no_pages
from lycosa.run.guides import nested_strategies
from lycosa.run.live import Visits
from lycosa.run.omissions import Omission, omissions_in_words
from lycosa.run.review import sample_result
from lycosa.run.session import Session
from lycosa.run.topic import calibration_of
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import LycosaError, cannot_write
from lycosa.vocabulary.event_loop import new_event_loop
from lycosa.vocabulary.explanations import UtilityParts, is_found_by_readers, weight_of_relevance
from lycosa.vocabulary.records import REQUEST_FAILURES, Host, JsonValue, Visit
from lycosa.vocabulary.text import counted, printable
from lycosa.web.outcomes import outcome_in_words, outcome_name

from .options import print_json, shell_command
from .progress import Progress, ProgressScores, ProgressStats

_log = logging.getLogger("lycosa.pages")


def run_and_show(run: api.Run, *, progress: Progress, as_json: bool = False, quiet: bool = False) -> bool:
    """Runs a crawl and, unless `quiet`, prints how it ended; returns whether the user interrupted it."""
    with run.session(notify=progress.write) as session:
        pages_before = session.status.pages
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_watch_crawl(session, run.visits(session), progress, as_json=as_json))
        problem = _show_end(session, progress, pages_before, quiet=quiet)
    if problem:
        raise LycosaError(problem)
    return session.status.is_interrupted


def run_workers_and_show(
    run: api.ParallelRun, *, progress: Progress, as_json: bool = False, quiet: bool = False
) -> None:
    """The same for a crawl by several workers."""
    crawl = run.crawl(notify=progress.write)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        pages_before = runner.run(_watch_workers(crawl, progress, as_json=as_json))
    with run.finished(crawl) as session:
        problem = _show_end(session, progress, pages_before, quiet=quiet)
    if problem:
        raise LycosaError(problem)


def _show_end(session: Session, progress: Progress, pages_before: int, *, quiet: bool) -> str:
    """Prints how a crawl ended, unless `quiet`; returns why it stored no page and what to do, empty if it did.

    pages_before: number of pages of the collection before the crawl.
    """
    status, folder, why_no_page = session.status, session.folder, ""
    omissions: list[Omission] = []
    progress.freeze()
    if not status.pages and not status.is_interrupted and (status.fetch_counts.fetches or not len(session.frontier)):
        why_no_page = explain_no_pages(session.collection, session.seeds) or status.stop_reason
    hosts_on_hold = session.frontier.resting_beyond(session.clock.now() + MIN_REPORTED_HOLD)
    if not status.pages and not status.is_interrupted and hosts_on_hold:
        why_no_page = why_no_page or _holds_in_words(hosts_on_hold, session.clock.now())
    if status.pages == pages_before > 0 and not status.is_interrupted:
        why_no_page = status.fetch_counts.why_unanswered()
    if why_no_page or not quiet:
        omissions = omissions_in_words(session.collection.catalog.omissions(), session.recipe)
    if not quiet:
        ending = "Stopped" if status.is_interrupted or why_no_page else "Done"
        progress.write(f"{ending}: {status.stop_reason}")
        for omission in omissions:
            progress.write(f"left out: {omission}")
        if not why_no_page:
            progress.write(
                f"{counted(status.pages, 'page')}, {_relevant_share(session)}, "
                f"{counted(len(session.frontier), 'URL')} waiting; next: "
                + (
                    f"{shell_command('search', folder, 'words')}, {shell_command('report', folder)}"
                    if status.pages
                    else shell_command("crawl", folder)
                )
            )
        if status.stop_reason == NOTHING_LEFT and 0 < status.pages < (session.recipe.stop.pages or 0):
            progress.write(
                f"No link is left to follow: {shell_command('crawl', folder)} --seed URL starts from other pages too,"
                f" and {shell_command('seeds')} HOST finds some"
            )
    if not why_no_page:
        return ""
    return f"no page was stored: {why_no_page}; {_suggestion(session, omissions, why_no_page)}"


def _holds_in_words(holds: Mapping[Host, float], now: float) -> str:
    """Which hosts get no request for the time being, and for how long at least.

    holds: the time, in seconds since the epoch, before which each of these hosts gets no request.
    """
    host, until = min(holds.items(), key=lambda hold: hold[1])
    others = f", and {counted(len(holds) - 1, 'other host')} for longer" if len(holds) > 1 else ""
    return f"{printable(host, 100)} is on hold for {counted(max(1, ceil((until - now) / 60)), 'more minute')}{others}"


def _suggestion(session: Session, omissions: list[Omission], why_no_page: str) -> str:
    """What to do after a crawl that stored nothing."""
    for pattern in session.recipe.scope.urls:
        if "://" not in pattern and not pattern.startswith("*"):
            return f"a pattern has to match the whole URL, scheme included: --include-url {quote(f'*://{pattern}')}"
    counts = session.status.fetch_counts
    if not counts.fetches:
        if session.status.out_of_time(session.recipe.stop, session.clock.now()):
            return "run the same command with more --minutes"
        if len(session.frontier):
            return "run the same command again later"
        return "name a seed within the scope, or widen the scope"
    if session.status.pages and counts.are_all_refused:
        return ALLOW_PRIVATE_HINT
    if "https://" in why_no_page and "TLS error" in why_no_page:
        return f"if the host has no TLS: {shell_command('crawl', session.folder)} --seed http://HOST/"
    return omissions[0].remedy if omissions and counts.answers else "run the same command to try again"


def _relevant_share(session: Session) -> str:
    """The share of relevant pages in words: measured if the user has labelled enough pages that were drawn at random,
    else as the model estimates it."""
    status, calibration = session.status, calibration_of(session.recipe.topic, session.folder)
    sample = sample_result(session.folder, session.collection.catalog)
    if sample is not None and sample.is_enough:
        return (
            f"{sample.share:.0%} relevant (measured on {sample.drawn} pages drawn at random; "
            f"probably {sample.low:.0%}–{sample.high:.0%}{', ' if sample.growth else ''}{sample.growth})"
        )
    low, high = harvest_interval(status.relevant, status.pages, calibration)
    # A rule decides what is relevant; a model only estimates it.
    estimate = "" if calibration == "rule" or not status.pages else f" (estimate; probably {low:.0%}–{high:.0%})"
    return f"{status.relevant / status.pages if status.pages else 0.0:.0%} relevant{estimate}"


async def watch(session: Session, visits: Visits, on_visit: Callable[[Visit], None]) -> None:
    """Runs a crawl until it ends or Ctrl-C stops it; calls `on_visit` with every visit."""
    with _handle_interrupts(session.status.interrupt):
        async with visits as stream:
            async for visit in stream:
                _log_page(visit)
                on_visit(visit)


@contextmanager
def _handle_interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """Context in which Ctrl-C stops the crawl after the current page, by `stop`, with an immediate message."""
    loop, is_told = asyncio.get_running_loop(), False

    def interrupt(signal_number: int, frame: object) -> None:
        nonlocal is_told
        if not is_told and sys.stderr is not None:
            is_told = True
            with suppress(OSError):
                # Not print, which is not reentrant: the signal may have interrupted one.
                os.write(2, b"\nstopping after the current page ...\n")
        loop.call_soon_threadsafe(stop)

    previous_handlers = {
        signal_number: signal.signal(signal_number, interrupt) for signal_number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for signal_number, handler in previous_handlers.items():
            signal.signal(signal_number, handler)


class _CrawlProgress:
    """Shows the progress of a crawl after every visit."""

    def __init__(self, session: Session, progress: Progress, *, as_json: bool):
        self._session = session
        self._progress = progress
        self._as_json = as_json
        self._is_estimate = calibration_of(session.recipe.topic, session.folder) != "rule"
        self._began = time.monotonic()
        self._pages_before = session.status.pages
        self._errors = 0
        self._through_readers = 0  # pages of this run that only an access log named: no page visited before links there
        # Over the pages of this run whose standing (importance on the Web, 0 to 1) is known: its sum, and their number.
        self._standing_sum, self._standing_count = 0.0, 0
        self._latest: Visit | None = None

    def __call__(self, visit: Visit) -> None:
        self._latest = visit
        self._errors += is_error(visit)
        if visit.is_kept:
            self._through_readers += is_found_by_readers(visit.candidate.because, visit.candidate.found_on)
        if visit.standing is not None and visit.is_kept:
            self._standing_sum += visit.standing
            self._standing_count += 1
        if self._as_json:
            print_json(visit_as_json(visit))
        self.update()

    def update(self) -> None:
        """Shows the latest visit with the current figures."""
        visit = self._latest
        if visit is None or not self._progress.shows_stats:
            return
        session, status = self._session, self._session.status
        target = status.page_budget or session.recipe.stop.pages
        speed = (status.pages - self._pages_before) / max(time.monotonic() - self._began, 1e-6)
        self._progress.update(
            ProgressStats(
                pages=status.pages,
                target=target,
                highlighted=status.relevant,
                pages_per_second=speed,
                waiting=len(session.frontier),
                errors=self._errors,
                seconds_left=(target - status.pages) / speed if target and speed else None,
                title=visit.page.title if visit.page else "",
                url=visit.fetch.url,
                scores=_progress_scores(
                    session.loop.strategy,
                    visit,
                    self._standing_sum / self._standing_count if self._standing_count else None,
                    is_estimate=self._is_estimate,
                ),
                through_readers=None if session.access_log.active is None else self._through_readers,
                recall=session.recall(),
            )
        )


async def _watch_crawl(session: Session, visits: Visits, progress: Progress, *, as_json: bool) -> None:
    show = _CrawlProgress(session, progress, as_json=as_json)
    session.recall()  # updated with each page from here on, which is cheaper than reading all links at the end
    await watch(session, visits, show)
    show.update()  # once more: pages may have been scored again since


async def _watch_workers(crawl: ParallelCrawl, progress: Progress, *, as_json: bool) -> int:
    """Runs a crawl by several workers; returns the number of pages before it."""
    began, errors, pages_before = time.monotonic(), 0, None
    is_estimate = calibration_of(crawl.recipe.topic, crawl.folder) != "rule"
    with _handle_interrupts(crawl.interrupt):
        async with aclosing(crawl.visits()) as visits:
            async for visit in visits:
                _log_page(visit)
                errors += is_error(visit)
                if as_json:
                    print_json(visit_as_json(visit))
                totals = crawl.totals
                assert totals is not None
                pages_before = totals.pages_at_start if pages_before is None else pages_before
                if not progress.shows_stats:
                    continue
                target = crawl.page_budget
                speed = (totals.pages - pages_before) / max(time.monotonic() - began, 1e-6)
                progress.update(
                    ProgressStats(
                        pages=totals.pages,
                        target=target,
                        highlighted=totals.relevant,
                        pages_per_second=speed,
                        waiting=totals.waiting,
                        errors=errors,
                        seconds_left=(target - totals.pages) / speed if target and speed else None,
                        title=visit.page.title if visit.page else "",
                        url=visit.fetch.url,
                        scores=ProgressScores(is_estimate=is_estimate),
                        through_readers=None,
                        recall=None,
                    )
                )
    return pages_before or 0


def _progress_scores(
    strategy: Strategy, visit: Visit, mean_standing: float | None, *, is_estimate: bool
) -> ProgressScores:
    """The current weights of a strategy that combines relevance and standing, and its reasons for a visit."""
    *_, strategy = nested_strategies(strategy)  # the innermost one, which a guide (a map or an access log) may wrap
    if getattr(strategy, "alpha", None) is None:  # its weight of relevance against standing; others have none
        return ProgressScores(mean_standing, is_estimate=is_estimate)
    recent_relevance = getattr(strategy, "recent_relevance", None)
    parts = UtilityParts.from_because(visit.candidate.because)
    if parts is None:
        return ProgressScores(mean_standing, recent_relevance, is_estimate=is_estimate)
    return ProgressScores(mean_standing, recent_relevance, parts.relevance, parts.standing, parts.utility, is_estimate)


def is_error(visit: Visit) -> bool:
    return visit.fetch.outcome in REQUEST_FAILURES


def visit_as_json(visit: Visit) -> JsonValue:
    """A visit in one line of JSON."""
    fetch, page = visit.fetch, visit.page
    return {
        "url": fetch.url,
        "outcome": fetch.outcome,
        "status": fetch.status,
        "at": iso(fetch.at),
        "title": page.title if page else None,
        "relevance": visit.relevance,
        "standing": visit.standing,
        "priority": visit.candidate.priority,
        "found_on": visit.candidate.found_on,
        "because": visit.candidate.because,
        "duplicate_of": visit.duplicate_of,
        "left_out": None if visit.left_out is None else str(visit.left_out),
        "detail": fetch.detail or None,
    }


def _log_page(visit: Visit) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    relevance = "    " if visit.relevance is None else f"{visit.relevance:.2f}"
    fetch = visit.fetch
    name = visit.change or ("left out" if visit.left_out else outcome_name(fetch.outcome, fetch.status))
    title = visit.page.title if visit.page else outcome_in_words(fetch.outcome, fetch.status, fetch.detail)
    if visit.left_out is not None:
        title = f"({visit.left_out}) {title}"
    alpha = weight_of_relevance(visit.candidate.because)
    weight = "" if alpha is None else f" α {alpha:.2f}"
    _log.info("%-15s %s%s %s %s", name, relevance, weight, printable(fetch.url, 500), printable(title))


class _LogFile(logging.FileHandler):
    """The file of a log; a write that fails raises LycosaError, where `logging` would print a traceback and go on."""

    def __init__(self, path: Path):
        super().__init__(path, encoding="utf-8")
        self._path = path

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        error = sys.exception()
        if isinstance(error, OSError):
            raise _cannot_write_log(self._path, error) from None
        super().handleError(record)

    def close(self) -> None:
        try:
            super().close()  # writes again what could not be written
        except OSError as error:
            raise _cannot_write_log(self._path, error) from None


def _cannot_write_log(path: Path, error: OSError) -> LycosaError:
    return cannot_write(f"the log {path}", error, advice="give another --log")


@contextmanager
def log_pages(path: Path | None, *, verbose: bool) -> Iterator[None]:
    """Writes a line per page to a file, to standard error, or to both."""
    handlers: list[logging.Handler] = []
    if path is not None:
        try:
            handlers.append(_LogFile(path))
        except OSError as error:
            raise _cannot_write_log(path, error) from None
        handlers[0].setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    if verbose:
        handlers.append(logging.StreamHandler())
    for handler in handlers:
        _log.addHandler(handler)
    _log.propagate = False
    _log.setLevel(logging.INFO if handlers else logging.WARNING)
    try:
        yield
    finally:
        for handler in handlers:
            _log.removeHandler(handler)
            handler.close()
