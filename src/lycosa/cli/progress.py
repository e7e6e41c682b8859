"""Progress of a crawl on standard error: a live display on a terminal, plain lines elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Literal, NamedTuple, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lycosa.run.recall import RecallEstimate
from lycosa.vocabulary.text import printable

REFRESHES_PER_SECOND = 8.0
SECONDS_BETWEEN_LINES = 2.0
SPARKLINE_LEVELS = "▁▂▃▄▅▆▇█"
SPARKLINE_WIDTH = 32  # characters of the bar and the sparkline; fewer where the terminal is narrow
_MIN_BAR_WIDTH = 8
Mode = Literal["live", "plain", "messages", "silent"]  # messages: no statistics


class ProgressScores(NamedTuple):
    """Relevance and standing (importance on the Web), both 0 to 1, as a strategy weighs them; None if unknown."""

    mean_standing: float | None = None  # of the pages of this run
    recent_relevance: float | None = None  # mean relevance of the latest pages
    relevance: float | None = None  # of the page on which the last one was found; likewise the next two
    standing: float | None = None
    utility: float | None = None  # the two combined by the strategy, which decides the priority
    is_estimate: bool = False  # whether a model, not a rule, decides what is relevant


class ProgressStats(NamedTuple):
    """The progress of a crawl after a visit."""

    pages: int = 0
    target: int | None = None  # pages
    highlighted: int = 0  # pages whose share is shown: the relevant ones; in a refresh, the changed ones
    pages_per_second: float = 0.0
    waiting: int = 0  # URLs
    errors: int = 0
    seconds_left: float | None = None
    title: str = ""
    url: str = ""
    scores: ProgressScores = ProgressScores()
    unit: str = "pages"  # what `pages` and `target` count: URLs in a refresh
    notes: tuple[str, ...] = ()  # shown instead of the share of relevant pages
    through_readers: int | None = None  # pages of this run that came through an access log alone; None without one
    recall: RecallEstimate | None = None


class Progress:
    """Shows the latest statistics of a crawl; cheap to update, since it draws only when a refresh is due.

    The mode is chosen by the console (live on a terminal, plain lines otherwise) unless it is given.
    """

    def __init__(
        self,
        *,
        mode: Mode | None = None,
        console: Console | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ):
        self._console = console or Console(stderr=True)
        self._mode: Mode = mode or ("live" if self._console.is_terminal else "plain")
        self._monotonic = monotonic
        self._interval = 1 / REFRESHES_PER_SECOND if self._mode == "live" else SECONDS_BETWEEN_LINES
        self._due = monotonic() + (0.0 if self._mode == "live" else self._interval)
        self._is_shown = True  # whether `_stats` have been drawn
        self._live: Live | None = None
        self._rates: deque[float] = deque(maxlen=SPARKLINE_WIDTH)  # points of the sparkline: see `_add_point`
        self._last_point = (0, 0)  # pages, and highlighted ones, at the last point of the sparkline
        self._stats = ProgressStats()

    def __enter__(self) -> Self:
        if self._mode == "live":
            # Drawn by `update` alone: a refresh thread of rich's would compete with the crawl for the interpreter.
            self._live = Live(console=self._console, auto_refresh=False, transient=False, redirect_stdout=False)
            self._live.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_shown:
            self._show()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def update(self, stats: ProgressStats) -> None:
        """Shows the statistics after a visit, once a refresh is due."""
        if not self.shows_stats:
            return
        self._stats = stats
        self._is_shown = False
        now = self._monotonic()
        if now >= self._due:
            self._due = now + self._interval
            self._show()

    @property
    def shows_stats(self) -> bool:
        """Whether `update` shows anything; if not, the caller need not compute them."""
        return self._mode not in ("messages", "silent")

    def freeze(self) -> None:
        """Stops updating the display; later messages appear below it."""
        self.__exit__(None, None, None)

    def write(self, line: str) -> None:
        """Prints a message above the live display, or after the current statistics."""
        if self._mode == "plain" and not self._is_shown:
            self._show()
        if self._mode != "silent":
            self._console.print(Text(printable(line, 500)), soft_wrap=True)

    def _show(self) -> None:
        self._is_shown = True
        if self._live is not None:
            self._live.update(self._display(), refresh=True)
        elif self._mode == "plain":
            self._console.print(Text(self._line()), soft_wrap=True)

    def _line(self) -> str:
        stats = self._stats
        pages, scores, unit, url = stats.pages, stats.scores, stats.unit, stats.url
        noun = unit.removesuffix("s") if (pages if stats.target is None else stats.target) == 1 else unit
        of_target = f" of {stats.target}" if stats.target is not None else ""
        parts = [
            f"{pages}{of_target} {noun}",
            *(stats.notes or ((_relevant(stats.highlighted, pages, is_estimate=scores.is_estimate),) if pages else ())),
            *_mean_standing(scores),
            *_latest_pages(scores),
            *_through_readers(stats.through_readers),
            *_recall(stats.recall),
            f"{stats.pages_per_second:.1f} {unit}/s",
            f"{stats.waiting} waiting",
            _errors(stats.errors),
        ]
        if stats.seconds_left is not None:
            parts.append(f"{_duration(stats.seconds_left)} left")
        return ", ".join(parts) + (f"; {printable(url, 120)}" if url else "")

    def _display(self) -> RenderableType:
        stats = self._stats
        pages, target, scores, unit = stats.pages, stats.target, stats.scores, stats.unit
        self._add_point(pages, stats.highlighted)
        width = max(20, self._console.width - 1)
        noun = unit.removesuffix("s") if target == 1 else unit
        amount = f"{pages} / {target} {noun}" if target is not None else f"{pages} {unit}"
        time_left = f"{_duration(stats.seconds_left)} left" if stats.seconds_left is not None else ""
        bar_width = min(SPARKLINE_WIDTH, max(_MIN_BAR_WIDTH, width - len(amount) - len(time_left) - 4))
        head = Table.grid(padding=(0, 2))
        for _ in range(3):
            head.add_column(no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=target or None, completed=pages, width=bar_width, pulse=not target)
        head.add_row(bar, Text(amount, style="bold"), Text(time_left))
        share = _relevant(stats.highlighted, pages, is_estimate=scores.is_estimate)
        harvest = [
            Text(_sparkline(list(self._rates)[-bar_width:]).ljust(bar_width), style="green"),
            *(Text(note, style="bold green") for note in stats.notes or (share,)),
            *(
                Text(part)
                for part in (*_mean_standing(scores), *_through_readers(stats.through_readers), *_recall(stats.recall))
            ),
        ]
        traffic = [
            Text(f"{stats.pages_per_second:.1f} {unit}/s"),
            Text(f"{stats.waiting} waiting"),
            Text(_errors(stats.errors), style="red" if stats.errors else "dim"),
        ]
        reasons = [Text(part) for part in (*_latest_pages(scores), *_found_on(scores))]
        last = Text(printable(stats.title or stats.url, width), style="dim", no_wrap=True, overflow="ellipsis")
        return Group(head, *(line for row in (harvest, traffic, reasons) for line in _wrapped(row, width)), last)

    def _add_point(self, pages: int, highlighted: int) -> None:
        """Adds a point to the sparkline, the share of highlighted pages since the last one, after every ten pages."""
        pages_before, highlighted_before = self._last_point
        if highlighted < highlighted_before:  # pages were scored again: earlier points are outdated
            self._rates.clear()
            self._last_point = pages_before, highlighted_before = pages, highlighted
        if pages - pages_before >= 10:
            self._rates.append((highlighted - highlighted_before) / (pages - pages_before))
            self._last_point = (pages, highlighted)


def _sparkline(rates: Iterable[float]) -> str:
    return "".join(
        SPARKLINE_LEVELS[min(len(SPARKLINE_LEVELS) - 1, max(0, int(rate * len(SPARKLINE_LEVELS))))] for rate in rates
    )


def _wrapped(row: Iterable[Text], width: int) -> list[Text]:
    """Wraps the parts of a row into as few lines as possible, without breaking a part."""
    lines: list[Text] = []
    for part in row:
        if lines and lines[-1].cell_len + 2 + part.cell_len <= width:
            lines[-1] = Text("  ", no_wrap=True, overflow="ellipsis").join((lines[-1], part))
        else:
            lines.append(Text("", no_wrap=True, overflow="ellipsis") + part)
    return lines


def _mean_standing(scores: ProgressScores) -> list[str]:
    return [] if scores.mean_standing is None else [f"importance {scores.mean_standing:.2f}"]


def _through_readers(pages: int | None) -> list[str]:
    """The number of pages that only an access log named; readers are the people in it."""
    return [] if pages is None else [f"{pages} through readers"]


def _recall(estimate: RecallEstimate | None) -> list[str]:
    if estimate is None:
        return []
    return [f"recall {estimate.recall:.0%} ({estimate.recall_low:.0%}–{estimate.recall_high:.0%})"]


def _latest_pages(scores: ProgressScores) -> list[str]:
    """The mean relevance by which the strategy adapts its weights."""
    return [] if scores.recent_relevance is None else [f"latest pages {scores.recent_relevance:.2f}"]


def _found_on(scores: ProgressScores) -> list[str]:
    """The scores of the page on which the last one was found."""
    parts = (
        ("relevance", scores.relevance),
        ("importance", scores.standing),
        ("score", scores.utility),
    )
    text = ", ".join(f"{name} {value:.2f}" for name, value in parts if value is not None)
    return [f"found on: {text}"] if text else []


def _errors(number: int) -> str:
    return "1 error" if number == 1 else f"{number} errors"


def _relevant(relevant: int, pages: int, *, is_estimate: bool) -> str:
    if not pages:
        return "no pages yet"
    return f"{relevant / pages:.0%} relevant{' (estimate)' if is_estimate else ''}"


def _duration(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
