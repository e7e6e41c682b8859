"""Processes that are killed at the n-th thing they do to a file, or after some time."""

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = frozenset(("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "sqlite3.connect"))


def at_change(number: int, count_file: Path | None = None) -> Any:
    """For `Process(before=…)`: kills the process just before it changes something on the disk for the n-th time."""
    return partial(_watch, number, count_file)


def after(seconds: float) -> Any:
    """For `Process(before=…)`: kills the process after so many seconds, wherever it is."""
    return partial(_set_timer, seconds)


def _set_timer(seconds: float) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process at once, as SIGKILL does
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _watch(number: int, count_file: Path | None) -> None:
    counted = 0
    fsync = os.fsync

    def count() -> None:
        nonlocal counted
        counted += 1
        if count_file is not None:
            descriptor = os.open(count_file, os.O_WRONLY)
            os.pwrite(descriptor, b"%09d" % counted, 0)
            os.close(descriptor)
        if counted == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & _WRITING
            and str(arguments[0]) != str(count_file)
        ):
            count()

    def counted_fsync(descriptor: int) -> None:
        count()
        fsync(descriptor)

    os.fsync = counted_fsync
    sys.addaudithook(hook)
