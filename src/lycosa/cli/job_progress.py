"""Progress of jobs that take longer than two seconds: on standard error, in place on a terminal."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

DELAY = 2.0  # seconds before anything is shown
SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def elapsed_notice(description: str, *, quiet: bool = False) -> Iterator[None]:
    """Shows what is being done once it takes long, and on a terminal the seconds since it began."""
    console = Console(stderr=True)
    done = threading.Event()
    began = time.monotonic()

    def show() -> None:
        if done.wait(DELAY):
            return
        if not console.is_terminal:
            console.print(f"{description} …", highlight=False, markup=False)
            return
        with console.status(f"{escape(description)} …") as status:
            while not done.wait(1.0):
                status.update(f"{escape(description)} … {time.monotonic() - began:.0f} s")

    if quiet:
        yield
        return
    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class ProgressBar:
    """A bar over the parts of a job on a terminal, a line now and then elsewhere; called with its progress."""

    def __init__(self, description: str, *, quiet: bool = False):
        self._description = description
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._due = time.monotonic() + DELAY

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Shows how many of the `total` parts are done."""
        if self._quiet or (self._bar is None and time.monotonic() < self._due):
            return
        if self._console.is_terminal:
            if self._bar is None:
                columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
                self._bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self._console)
                self._bar.start()
                self._bar.add_task(self._description, total=total)
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)
        else:
            self._console.print(f"{self._description}: {done} of {total}", highlight=False, markup=False)
            self._due = time.monotonic() + SECONDS_BETWEEN_LINES
