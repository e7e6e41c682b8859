"""Learning from labels, in the running crawl or in a process of its own, so that the server answers on.

The memory of that process goes back to the system when it ends.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.run.control import CrawlRequest, ask, label_in_crawl, label_pages
from lycosa.run.upkeep import rank_waiting
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, LycosaError, PluginError, RecipeError, UsageError
from lycosa.vocabulary.records import Url

_ERRORS = {error.__name__: error for error in (RecipeError, UsageError, CollectionError, PluginError, LycosaError)}


class Learnt(Struct, frozen=True):
    """What learning from labels did."""

    judged: int | None = None  # pages scored again; None if the next crawl trains the model
    is_ranked: bool = False  # whether the waiting URLs were ranked by what was learnt


class _Task(Struct, frozen=True):
    folder: str
    labels: dict[str, bool]  # by URL, and whether it is on the topic; empty to learn from those that were saved
    ranks_waiting: bool


class _Result(Struct, frozen=True):
    learnt: Learnt = Learnt()
    error: str = ""  # why it failed
    error_class: str = LycosaError.__name__  # one of `_ERRORS`


def learn(folder: Path, labels: Mapping[Url, bool], *, ranks_waiting: bool = False) -> Learnt:
    """Labels pages and trains the model; without labels, learns from those that were saved.

    ranks_waiting: whether to rank the waiting URLs too, if no crawl runs, which does that by itself.
    """
    if not ranks_waiting and (learnt := label_in_crawl(folder, labels)) is not None:
        return Learnt(learnt.judged)
    task = _Task(str(folder.absolute()), {str(url): is_good for url, is_good in labels.items()}, ranks_waiting)
    command = [sys.executable, "-P", "-m", __name__]
    completed = subprocess.run(command, input=msgspec.json.encode(task), capture_output=True, check=False)
    try:
        result = msgspec.json.decode(completed.stdout, type=_Result)
    except msgspec.DecodeError:
        lines = completed.stderr.decode("utf-8", "replace").splitlines()
        raise LycosaError(f"the model could not be trained: {lines[-1] if lines else 'the process ended'}") from None
    if result.error:
        raise _ERRORS[result.error_class](result.error)
    return result.learnt


def _learn(task: _Task) -> Learnt:
    folder = Path(task.folder)
    labels = {Url(url): is_good for url, is_good in task.labels.items()}
    judged = label_pages(folder, labels, notify=lambda line: None).judged
    is_ranked = judged is not None and task.ranks_waiting
    if is_ranked and ask(folder, CrawlRequest("status")) is None:
        try:
            rank_waiting(folder, clock=WallClock(), notify=lambda line: None)
        except CollectionError:  # another process has just begun to work on it: the next crawl ranks them
            is_ranked = False
    return Learnt(judged, is_ranked)


def main() -> None:
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what plug-ins print is no part of the answer
    try:
        result = _Result(_learn(msgspec.json.decode(sys.stdin.buffer.read(), type=_Task)))
    except LycosaError as error:
        error_class = next(name for name, known in _ERRORS.items() if isinstance(error, known))
        result = _Result(error=str(error), error_class=error_class)
    with os.fdopen(answer, "wb") as file:
        file.write(msgspec.json.encode(result))


if __name__ == "__main__":
    main()
