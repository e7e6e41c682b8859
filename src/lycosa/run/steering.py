"""Commands of the user to a crawl, kept in the folder: hosts to block, hosts and URLs to boost, labels.

`steering.txt` has a line for each, in order, so that the last can be undone:

    block HOST, boost HOST, boost URL, label NUMBER (so many lines of labels.txt)
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.collection.errors import disk_errors
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.files import append_lines, atomic_write, read_regular_file
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_of, normalise

from .review import drop_from_sample
from .topic import LABELS_FILE, MAX_LABELS_BYTES, add_labels

STEERING_FILE = "steering.txt"
MAX_STEERED = 10_000  # hosts and URLs
_MAX_LINE = 4_000  # characters
_MAX_BYTES = MAX_STEERED * _MAX_LINE


class Steering(Struct, frozen=True):
    """The blocked hosts, and the boosted hosts and URLs."""

    blocked: tuple[str, ...] = ()
    boosted: tuple[str, ...] = ()


Action = Literal["block", "boost", "label"]
_ACTIONS: Mapping[str, Action] = {"block": "block", "boost": "boost", "label": "label"}


class SteeringCommand(Struct, frozen=True):
    """One command of a user to a crawl."""

    do: Action
    what: str

    def __str__(self) -> str:
        return f"{self.do} {self.what}"


def read_steering(folder: Path) -> Steering:
    steps = _read(folder)
    blocked = dict.fromkeys(step.what for step in steps if step.do == "block")
    boosted = dict.fromkeys(step.what for step in steps if step.do == "boost")
    return Steering(tuple(blocked), tuple(boosted))


def block(folder: Path, host: str) -> SteeringCommand:
    """Records a host to leave out."""
    return _add(folder, SteeringCommand("block", checked_host(host)))


def boost(folder: Path, host_or_url: str) -> SteeringCommand:
    """Records a host or a URL to prefer."""
    return _add(
        folder,
        SteeringCommand("boost", checked_url(host_or_url) if "://" in host_or_url else checked_host(host_or_url)),
    )


def label(folder: Path, labels: dict[Url, bool]) -> None:
    """Records labels, durably."""
    add_labels(folder, labels)
    _append(folder, SteeringCommand("label", str(len(labels))))


def undo(folder: Path) -> SteeringCommand | None:
    """Removes the last command and returns it; None if there is none."""
    steps = _read(folder)
    if not steps:
        return None
    last = steps.pop()
    if last.do == "label":
        dropped = _drop_lines(folder / LABELS_FILE, int(last.what))
        drop_from_sample(folder, lambda url: url in dropped)
    path = folder / STEERING_FILE
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(f"{step}\n" for step in steps).encode())
    return last


def forget_steering(folder: Path, is_forgotten: Callable[[str], bool]) -> None:
    """Removes forgotten URLs and hosts from the file, and all labels, which can then no longer be undone."""
    steps = _read(folder)
    kept = [step for step in steps if step.do != "label" and not is_forgotten(step.what)]
    if kept != steps:
        path = folder / STEERING_FILE
        with disk_errors(path), atomic_write(path) as file:
            file.write("".join(f"{step}\n" for step in kept).encode())


def checked_host(text: str) -> str:
    """A host in normal form; UsageError if it is not one."""
    host = text.strip().lower().rstrip("/.")
    url = normalise(f"http://{host}/") if host and not set(host) & set("/\\@?# ") else None
    if url is None or len(host) > 300:
        raise UsageError(f"not a host: {text[:100]!r}; write one such as example.org")
    return host_of(url)


def checked_url(text: str) -> Url:
    url = normalise(text)
    if url is None or len(url) > 2_000:
        raise UsageError(f"not a URL that can be crawled: {text[:100]!r}; write http://… or https://…")
    return url


def _add(folder: Path, step: SteeringCommand) -> SteeringCommand:
    if len(_read(folder)) >= MAX_STEERED:
        raise UsageError(f"{folder / STEERING_FILE} has {MAX_STEERED} lines; take some out of it")
    _append(folder, step)
    return step


def _read(folder: Path) -> list[SteeringCommand]:
    path = folder / STEERING_FILE
    if not path.exists():
        return []
    steps = []
    try:
        with disk_errors(path):
            lines = read_regular_file(path, _MAX_BYTES).decode().splitlines()
    except UnicodeDecodeError:
        raise CollectionError(f"{path}: not UTF-8 text; mend or delete it") from None
    for number, line in enumerate(lines, 1):
        word, _, what = line.partition(" ")
        do = _ACTIONS.get(word)
        is_right = whole_number(what, maximum=10**9) is not None if do == "label" else bool(what)
        if len(line) > _MAX_LINE or do is None or not is_right:
            raise CollectionError(f"{path}:{number}: write `block HOST` or `boost HOST`; mend or delete it")
        steps.append(SteeringCommand(do, what))
    return steps


def _append(folder: Path, step: SteeringCommand) -> None:
    path = folder / STEERING_FILE
    with disk_errors(path):
        append_lines(path, f"{step}\n")


def _drop_lines(path: Path, count: int) -> set[str]:
    """Removes the last lines of a file of labels; returns their URLs."""
    if not count or not path.exists():
        return set()
    with disk_errors(path):
        lines = read_regular_file(path, MAX_LABELS_BYTES).decode("utf-8", "surrogateescape").splitlines(keepends=True)
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(lines[:-count]).encode("utf-8", "surrogateescape"))
    return {line.partition(" ")[2].strip() for line in lines[-count:]}
