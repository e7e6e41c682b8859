"""How a crawl is doing, on standard error: a live display on a terminal, plain lines elsewhere, or less."""

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lycosa.vocabulary.plain_text import visible

REFRESHES_PER_SECOND = 8.0
SECONDS_BETWEEN_LINES = 2.0
SPARKS = "▁▂▃▄▅▆▇█"
SPARKLINE = 32  # characters
Form = Literal["live", "plain", "words", "silent"]  # words: what is said, without figures


class Figures(NamedTuple):
    """Where a crawl stands after a visit."""

    pages: int = 0
    target: int | None = None  # pages
    relevant: int = 0
    pages_per_second: float = 0.0
    waiting: int = 0  # URLs
    errors: int = 0
    seconds_left: float | None = None
    title: str = ""
    url: str = ""
    standing: float | None = None  # a mean of this run
    alpha: float | None = None  # weight of relevance against standing


class Progress:
    """Shows the latest figures of a crawl; cheap to tell, since it draws only when a refresh is due.

    The form is chosen by the console (live on a terminal, plain lines otherwise) unless it is given.
    """

    def __init__(
        self,
        *,
        form: Form | None = None,
        console: Console | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ):
        self._console = console or Console(stderr=True)
        self._form: Form = form or ("live" if self._console.is_terminal else "plain")
        self._monotonic = monotonic
        self._interval = 1 / REFRESHES_PER_SECOND if self._form == "live" else SECONDS_BETWEEN_LINES
        self._due = monotonic() + (0.0 if self._form == "live" else self._interval)
        self._told = True  # nothing is waiting to be shown
        self._live: Live | None = None
        self._rates: deque[float] = deque(maxlen=SPARKLINE)
        self._marked = (0, 0)  # pages and relevant at the last point of the sparkline
        self._figures = Figures()

    def __enter__(self) -> Self:
        if self._form == "live":
            # Drawn by `update` alone: a refresh thread of rich's would compete with the crawl for the interpreter.
            self._live = Live(console=self._console, auto_refresh=False, transient=False, redirect_stdout=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._told:
            self._show()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def update(
        self,
        *,
        pages: int,
        relevant: int,
        target: int | None = None,
        pages_per_second: float = 0.0,
        waiting: int = 0,
        errors: int = 0,
        seconds_left: float | None = None,
        title: str = "",
        url: str = "",
        standing: float | None = None,
        alpha: float | None = None,
    ) -> None:
        """Tells where the crawl stands after a visit."""
        if self._form in ("words", "silent"):
            return
        self._figures = Figures(
            pages, target, relevant, pages_per_second, waiting, errors, seconds_left, title, url, standing, alpha
        )
        self._told = False
        now = self._monotonic()
        if now >= self._due:
            self._due = now + self._interval
            self._show()

    def say(self, line: str) -> None:
        """Prints a line above the display, or after the figures of the moment."""
        if self._form == "plain" and not self._told:
            self._show()
        if self._form != "silent":
            self._console.print(Text(visible(line, 500)), soft_wrap=True)

    def _show(self) -> None:
        self._told = True
        if self._live is not None:
            self._live.update(self._display(), refresh=True)
        elif self._form == "plain":
            self._console.print(Text(self._line()), soft_wrap=True)

    def _line(self) -> str:
        pages, target, relevant, speed, waiting, errors, left, _, url, *esteem = self._figures
        of = f" of {target}" if target is not None else ""
        parts = [
            f"{pages}{of} pages",
            f"{_share(relevant, pages)} relevant",
            *_esteem(*esteem),
            f"{speed:.1f} pages/s",
            f"{waiting} waiting",
            f"{errors} errors",
        ]
        if left is not None:
            parts.append(f"{_clock(left)} left")
        return ", ".join(parts) + (f"; {visible(url, 120)}" if url else "")

    def _display(self) -> RenderableType:
        pages, target, relevant, speed, waiting, errors, left, title, url, *esteem = self._figures
        self._mark(pages, relevant)
        head = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=target or None, completed=pages, width=SPARKLINE, pulse=not target)
        of = f" / {target}" if target is not None else ""
        head.add_row(
            bar, Text(f"{pages}{of} pages", style="bold"), Text(f"{_clock(left)} left" if left is not None else "")
        )
        figures = Table.grid(padding=(0, 2))
        figures.add_row(
            Text(_sparkline(self._rates).ljust(SPARKLINE), style="green"),
            Text(f"harvest {_share(relevant, pages)}", style="bold green"),
            *(Text(said) for said in _esteem(*esteem)),
            Text(f"{speed:.1f} pages/s"),
            Text(f"{waiting} waiting"),
            Text(f"{errors} errors", style="red" if errors else "dim"),
        )
        width = max(20, self._console.width - 1)
        last = Text(visible(title or url, width), style="dim", no_wrap=True, overflow="ellipsis")
        return Group(head, figures, last)

    def _mark(self, pages: int, relevant: int) -> None:
        """Adds the harvest rate since the last point to the sparkline, once enough pages have come for one."""
        pages_before, relevant_before = self._marked
        if pages - pages_before >= 10:
            self._rates.append((relevant - relevant_before) / (pages - pages_before))
            self._marked = (pages, relevant)


def _sparkline(rates: deque[float]) -> str:
    return "".join(SPARKS[min(len(SPARKS) - 1, max(0, int(rate * len(SPARKS))))] for rate in rates)


def _esteem(standing: float | None, alpha: float | None) -> list[str]:
    """Standing and its weight, where the strategy knows them."""
    said = [] if standing is None else [f"standing {standing:.2f}"]
    return said if alpha is None else [*said, f"α {alpha:.2f}"]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
