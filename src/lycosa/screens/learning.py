"""Learning from labels, in the running crawl or in a process of its own, so that the server answers on.

The memory of that process goes back to the system when it ends.
"""

import os
import subprocess
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.frontier.durable import waiting_priorities
from lycosa.run.control import CrawlRequest, ask, label_in_crawl, label_pages
from lycosa.run.open import open_for_reading
from lycosa.run.upkeep import rank_waiting
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, LycosaError, PluginError, RecipeError, UsageError
from lycosa.vocabulary.records import RELEVANT, Url

_ERRORS = {error.__name__: error for error in (RecipeError, UsageError, CollectionError, PluginError, LycosaError)}


class Learnt(Struct, frozen=True):
    """What learning from labels did."""

    judged: int | None = None  # pages scored again; None if the next crawl trains the model
    waiting: int | None = None  # URLs that waited before and after; None if their priorities were not compared
    waiting_now_above: int = 0  # number of these that now have a priority of `RELEVANT` or more
    waiting_now_below: int = 0  # number of these that no longer have
    next_crawl_ranks: bool = False  # whether the next crawl ranks the waiting URLs by what was learnt


class _Task(Struct, frozen=True):
    folder: str
    labels: dict[str, bool]  # by URL, and whether it is on the topic; empty to learn from those that were saved
    ranks_waiting: bool


class _Result(Struct, frozen=True):
    learnt: Learnt = Learnt()
    error: str = ""  # why it failed
    error_class: str = LycosaError.__name__  # one of `_ERRORS`


class _WaitingSides(NamedTuple):
    """Which waiting URLs have a priority of `RELEVANT` or more; arrays, as there may be millions."""

    keys: NDArray[np.int64]  # hashes of the URLs
    is_above: NDArray[np.int8]

    def changes(self, after: "_WaitingSides") -> tuple[int, int, int]:
        """Of the URLs that wait in both: how many there are, are above only afterwards, and were only before."""
        _, old, new = np.intersect1d(self.keys, after.keys, return_indices=True)
        change = after.is_above[new] - self.is_above[old]
        return len(change), int((change > 0).sum()), int((change < 0).sum())


def learn(folder: Path, labels: Mapping[Url, bool], *, ranks_waiting: bool = False) -> Learnt:
    """Labels pages and trains the model; without labels, learns from those that were saved.

    ranks_waiting: whether to rank the waiting URLs too, if no crawl runs, which does that by itself, and to compare
        their priorities before and after, if these are from 0 to 1.
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
    before = _waiting_sides(folder) if task.ranks_waiting else None
    judged = label_pages(folder, labels, notify=lambda line: None).judged
    if before is None or judged is None:
        return Learnt(judged, next_crawl_ranks=before is not None)
    if ask(folder, CrawlRequest("status")) is None:
        try:
            rank_waiting(folder, clock=WallClock(), notify=lambda line: None)
        except CollectionError:  # another process has just begun to work on it: the next crawl ranks them
            return Learnt(judged, next_crawl_ranks=True)
    after = _waiting_sides(folder)
    return Learnt(judged) if after is None else Learnt(judged, *before.changes(after))


def _waiting_sides(folder: Path) -> _WaitingSides | None:
    """None if the strategy does not rank by a priority from 0 to 1."""
    keys, is_above = array("q"), array("b")
    with open_for_reading(folder) as collection, collection.catalog.reporting_errors():
        catalog = collection.catalog
        strategy = STRATEGIES.get(catalog.get_state("strategy", str) or "")
        if strategy is None or getattr(strategy.make, "scale", "") != "unit":
            return None
        for url, priority in waiting_priorities(catalog.connection):
            keys.append(hash(url))
            is_above.append(priority >= RELEVANT)
    return _WaitingSides(np.frombuffer(keys, np.int64), np.frombuffer(is_above, np.int8))


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
