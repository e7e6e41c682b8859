"""Commands of the user to a crawl, kept in the folder: hosts to block, hosts and URLs to boost, labels.

`steering.txt` has a line for each, in order, so that the last can be undone:

    block HOST, boost HOST, boost URL, label NUMBER (the number of lines appended to labels.txt)
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.collection.errors import disk_errors
from lycosa.collection.folder import file_lines
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.files import append_lines, atomic_write, read_regular_file
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_of, normalise

from .review import drop_from_sample
from .topic import LABELS_FILE, MAX_LABELS_BYTES, add_labels

STEERING_FILE = "steering.txt"
MAX_COMMANDS = 10_000
_MAX_LINE = 4_000  # characters
_MAX_BYTES = MAX_COMMANDS * _MAX_LINE


class Steering(Struct, frozen=True):
    """The blocked hosts, and the boosted hosts and URLs."""

    blocked: tuple[str, ...] = ()
    boosted: tuple[str, ...] = ()


Action = Literal["block", "boost", "label"]
_ACTIONS: Mapping[str, Action] = {"block": "block", "boost": "boost", "label": "label"}


class SteeringCommand(Struct, frozen=True):
    """One command of a user to a crawl."""

    action: Action
    argument: str  # a host, a URL, or the number of labels

    def __str__(self) -> str:
        return f"{self.action} {self.argument}"


def read_steering(folder: Path) -> Steering:
    commands = _read_commands(folder)
    blocked = dict.fromkeys(command.argument for command in commands if command.action == "block")
    boosted = dict.fromkeys(command.argument for command in commands if command.action == "boost")
    return Steering(tuple(blocked), tuple(boosted))


def block(folder: Path, host: str) -> SteeringCommand:
    """Records a host from which nothing more is fetched."""
    return _add(folder, SteeringCommand("block", checked_host(host)))


def boost(folder: Path, host_or_url: str) -> SteeringCommand:
    """Records a host or a URL that is fetched first."""
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
    commands = _read_commands(folder)
    if not commands:
        return None
    last = commands.pop()
    if last.action == "label":
        dropped = _drop_last_labels(folder / LABELS_FILE, int(last.argument))
        drop_from_sample(folder, lambda url: url in dropped)
    path = folder / STEERING_FILE
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(f"{command}\n" for command in commands).encode())
    return last


def forget_steering(folder: Path, is_forgotten: Callable[[str], bool]) -> None:
    """Removes forgotten URLs and hosts from the file, and all labels, which can then no longer be undone."""
    commands = _read_commands(folder)
    kept = [command for command in commands if command.action != "label" and not is_forgotten(command.argument)]
    if kept != commands:
        path = folder / STEERING_FILE
        with disk_errors(path), atomic_write(path) as file:
            file.write("".join(f"{command}\n" for command in kept).encode())


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


def _add(folder: Path, command: SteeringCommand) -> SteeringCommand:
    if len(_read_commands(folder)) >= MAX_COMMANDS:
        raise UsageError(f"{folder / STEERING_FILE} has {MAX_COMMANDS} lines; delete some of them")
    _append(folder, command)
    return command


def _read_commands(folder: Path) -> list[SteeringCommand]:
    path = folder / STEERING_FILE
    commands = []
    for number, line in enumerate(file_lines(path, _MAX_BYTES), 1):
        word, _, argument = line.partition(" ")
        action = _ACTIONS.get(word)
        is_valid = whole_number(argument, maximum=10**9) is not None if action == "label" else bool(argument)
        if len(line) > _MAX_LINE or action is None or not is_valid:
            raise CollectionError(f"{path}:{number}: write `block HOST` or `boost HOST`; fix or delete it")
        commands.append(SteeringCommand(action, argument))
    return commands


def _append(folder: Path, command: SteeringCommand) -> None:
    path = folder / STEERING_FILE
    with disk_errors(path):
        append_lines(path, f"{command}\n")


def _drop_last_labels(path: Path, count: int) -> set[str]:
    """Removes the last lines of a file of labels; returns their URLs."""
    if not count or not path.exists():
        return set()
    with disk_errors(path):
        lines = read_regular_file(path, MAX_LABELS_BYTES).decode("utf-8", "surrogateescape").splitlines(keepends=True)
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(lines[:-count]).encode("utf-8", "surrogateescape"))
    return {line.partition(" ")[2].strip() for line in lines[-count:]}
