"""Signs of life from work that takes longer than two seconds: on standard error, in place on a terminal."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

SILENT_FOR = 2.0  # seconds
SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def elapsed_notice(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Says what is being done once it takes long, and how long it takes."""
    console = Console(stderr=True)
    done = threading.Event()

    def speak() -> None:
        if done.wait(SILENT_FOR):
            return
        if console.is_terminal:
            with console.status(f"{what} …"):
                done.wait()
        else:
            console.print(f"{what} …", highlight=False)

    if quiet:
        yield
        return
    speaker = threading.Thread(target=speak, name="signs of life", daemon=True)
    speaker.start()
    try:
        yield
    finally:
        done.set()
        speaker.join()


class Counting:
    """A bar over jobs on a terminal, a line now and then elsewhere."""

    def __init__(self, what: str, *, quiet: bool = False):
        self._what = what
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._due = time.monotonic() + SILENT_FOR

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._quiet:
            return
        if self._console.is_terminal:
            if self._bar is None:
                columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
                self._bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self._console)
                self._bar.start()
                self._bar.add_task(self._what, total=total)
            self._bar.update(self._bar.task_ids[0], completed=done)
        elif time.monotonic() >= self._due:
            self._console.print(f"{self._what}: {done} of {total}", highlight=False)
            self._due = time.monotonic() + SECONDS_BETWEEN_LINES
