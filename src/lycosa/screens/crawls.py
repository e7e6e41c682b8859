"""Crawls and refreshes started from the screens, as separate processes, which outlive the server."""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from lycosa.run.control import CrawlRequest, ask, execute_command
from lycosa.run.refresh import require_pages
from lycosa.run.steering import checked_argument
from lycosa.run.trust import require_trust
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import printable, whole_number

from .overviews import CrawlFigures, ProcessPhase, crawl_figures

MAX_PAGES = 10**9
_MAX_LOG_BYTES = 20_000  # that are read of the output of a failed crawl: the last ones
_CACHE_SECONDS = 0.8  # for which a status is used again, so that many screens make few requests
_CRAWL_COMMANDS = {each.do: each for each in (CrawlRequest("pause"), CrawlRequest("resume"), CrawlRequest("stop"))}
_URL_COMMANDS = {
    each.do: each for each in (CrawlRequest("block"), CrawlRequest("boost"), CrawlRequest("drop"), CrawlRequest("undo"))
}


class _StartedProcess(Struct):
    process: "subprocess.Popen[bytes]"
    log: Path  # its output
    has_reported: bool = False  # whether a crawl has answered a status request since it was started


class _CachedFigures(NamedTuple):
    at: float  # time.monotonic()
    figures: CrawlFigures
    speed: float  # pages per second


class Crawls:
    """Starts, monitors and controls the crawls of collections, including those started in a terminal."""

    def __init__(self, *, launch: Callable[..., "subprocess.Popen[bytes]"] = subprocess.Popen):
        self._launch = launch
        self._started: dict[Path, _StartedProcess] = {}
        self._figures: dict[Path, _CachedFigures] = {}
        self._steered: dict[Path, int] = {}  # the number of commands that each crawl has executed
        self._lock = Lock()

    def figures(self, folder: Path) -> tuple[CrawlFigures, float]:
        """The progress of a crawl and its pages per second; cached for a moment."""
        with self._lock:
            cached = self._figures.get(folder)
            started = self._started.get(folder)
            steered = self._steered.get(folder, 0)
        now = time.monotonic()
        if cached is not None and now - cached.at < _CACHE_SECONDS:
            return cached.figures, cached.speed
        figures, speed = crawl_figures(folder), 0.0
        if started is not None and figures.phase != "none":
            started.has_reported = True
        if cached is not None and figures.pages is not None and cached.figures.pages is not None:
            recent = max(0.0, (figures.pages - cached.figures.pages) / (now - cached.at))
            speed = recent if not cached.speed else 0.7 * cached.speed + 0.3 * recent
        with self._lock:
            if steered == self._steered.get(folder, 0):  # what was asked before a command is out of date after it
                self._figures[folder] = _CachedFigures(now, figures, speed)
        return figures, speed

    def is_alive(self, folder: Path) -> bool:
        """Whether a process started here is still running."""
        started = self._started.get(folder)
        return started is not None and started.process.poll() is None

    def process_phase(self, folder: Path) -> ProcessPhase:
        """What to show while no crawl reports: a process started here reports neither before it has opened its control
        socket nor after it has closed it."""
        started = self._started.get(folder)
        if started is None or started.process.poll() is not None:
            return "none"
        return "ending" if started.has_reported else "starting"

    def failure_output(self, folder: Path) -> str:
        """The last line of output of a crawl that was started here and failed; empty if it did not fail."""
        started = self._started.get(folder)
        if started is None or not started.process.poll():
            return ""
        try:
            with started.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _MAX_LOG_BYTES))
                output = file.read().decode("utf-8", "replace")
        except OSError:
            output = ""
        lines = [line for line in output.splitlines() if line.strip()]
        return printable(lines[-1].replace(f"{folder.parent}/", ""), 500) if lines else "the crawl has failed"

    def start(self, folder: Path, pages: str) -> None:
        """Starts a crawl up to a number of pages; everything else is as in the recipe."""
        number = whole_number(pages, maximum=MAX_PAGES)
        if not number:
            raise UsageError("say how many pages the collection is to have, such as 500")
        self._start_command(folder, "crawl", "--pages", str(number))

    def refresh(self, folder: Path, requests: str, new_share: str) -> None:
        """Starts a refresh with a number of requests, of which `new_share` (0 to 1) go to new pages."""
        number = whole_number(requests, maximum=MAX_PAGES)
        if not number:
            raise UsageError("say how many requests the refresh may make, such as 100")
        try:
            share = float(new_share)
        except ValueError:
            share = math.nan
        if not 0.0 <= share <= 1.0:
            raise UsageError("the share of requests for new pages is a number from 0 to 1")
        require_pages(folder)
        self._start_command(folder, "refresh", "--budget", str(number), "--expand", f"{share:g}")

    def _start_command(self, folder: Path, command: str, *options: str) -> None:
        """Starts a command on a collection as a separate process."""
        require_trust(folder)
        with self._lock:
            if self.is_alive(folder) or crawl_figures(folder).phase != "none":
                raise UsageError("a crawl or refresh of this collection is already running")
            handle, name = tempfile.mkstemp(prefix="lycosa-crawl-", suffix=".log")
            # -P: no module comes from the folder in which the server was started.
            command_line = [sys.executable, "-P", "-m", "lycosa", command, str(folder), *options, "--quiet"]
            try:
                with open(handle, "wb") as log:  # noqa: PTH123
                    process = self._launch(
                        command_line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                    )
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._forget_process(folder)
            self._started[folder] = _StartedProcess(process, Path(name))

    def steer(self, folder: Path, action: str, pages: str = "") -> None:
        """Pauses, resumes or stops a crawl, or changes its page budget."""
        if action == "budget":
            number = whole_number(pages, maximum=MAX_PAGES)
            if not number:
                raise UsageError("say how many pages the collection is to have, such as 500")
            request = CrawlRequest("budget", pages=number)
        elif action in _CRAWL_COMMANDS:
            request = _CRAWL_COMMANDS[action]
        else:
            raise UsageError("unknown action; use pause, resume, stop or budget")
        if action == "stop":
            ask(folder, request)  # without a reply, the crawl has just ended by itself
        else:
            execute_command(folder, request, notify=lambda line: None)
        with self._lock:
            self._figures.pop(folder, None)
            self._steered[folder] = self._steered.get(folder, 0) + 1

    def close(self) -> None:
        """Deletes the logs; the crawls continue."""
        for folder in list(self._started):
            self._forget_process(folder)

    def _forget_process(self, folder: Path) -> None:
        """Deletes the log of the last command and forgets its process."""
        started = self._started.pop(folder, None)
        if started is not None:
            with suppress(OSError):  # on Windows, while the crawl runs and has it open: it stays
                started.log.unlink(missing_ok=True)


def steer_urls(folder: Path, action: str, name: str) -> None:
    """Blocks or boosts the URLs that a host, a URL or a pattern names, in a running crawl or the next one, drops those
    that wait, or undoes that."""
    require_trust(folder)
    if action not in _URL_COMMANDS:
        raise UsageError("unknown action; use block, boost, drop or undo")
    request = _URL_COMMANDS[action]
    if action != "undo":
        request = replace(request, what=checked_argument(name.strip()))
    execute_command(folder, request, notify=lambda line: None)
