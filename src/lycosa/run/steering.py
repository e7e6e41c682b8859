"""Commands of the user to a crawl, kept in the folder: what to block, to boost and to drop, and labels.

`steering.txt` has a line for each, in order, so that the last can be undone:

    block NAME, boost NAME, drop NAME NUMBER LINES, label NUMBER LINES

A name is that of a host, one URL, or a pattern of URLs, in which `*` stands for any characters and `?` for one; it
matches whole URLs, such as *://example.org/ads/*. `label` records that NUMBER lines were appended to the first LINES
lines of labels.txt, and `drop` the same of dropped.txt, which has a hashed key for each URL that waited then. They are
written before these lines are, and removed after they were, so that after a kill in between an undo removes no earlier
lines; labels of older versions have no LINES.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.collection.errors import disk_errors
from lycosa.collection.folder import file_lines
from lycosa.frontier.admission import host_url_or_pattern
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.files import append_lines, atomic_write, read_regular_file
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_named, normalise, secure_key_of

from .review import drop_from_review_sample
from .topic import LABELS_FILE, MAX_LABELS_BYTES, add_labels

STEERING_FILE = "steering.txt"
DROPPED_FILE = "dropped.txt"
MAX_COMMANDS = 10_000  # blocks, boosts and drops
MAX_DROPPED = 1_000_000  # URLs
_MAX_LINE = 4_000  # characters
_MAX_BYTES = MAX_COMMANDS * _MAX_LINE
_MAX_LABELS = 10**9
_MAX_DROPPED_BYTES = 22 * MAX_DROPPED
_DEFAULT_PORTS = {"http": (":80",), "https": (":443",)}  # which normalised URLs leave out


class Steering(Struct, frozen=True):
    """The blocked and the boosted hosts, URLs and patterns of URLs, and how many URLs were dropped."""

    blocked: tuple[str, ...] = ()
    boosted: tuple[str, ...] = ()
    dropped: int = 0  # number of URLs that were dropped, without those of which that was undone


Action = Literal["block", "boost", "drop", "label"]
_ACTIONS: Mapping[str, Action] = {"block": "block", "boost": "boost", "drop": "drop", "label": "label"}


class SteeringCommand(Struct, frozen=True):
    """One command of a user to a crawl."""

    action: Action
    argument: str  # a host, a URL, a pattern, or the number of labels
    lines_before: int | None = None  # lines of labels.txt or dropped.txt before those of this command, if known
    dropped: int | None = None  # number of URLs that it dropped

    def __str__(self) -> str:
        return f"{self.action} {self.argument}"

    @property
    def line(self) -> str:
        return " ".join(str(each) for each in (self, self.dropped, self.lines_before) if each is not None)


def read_steering(folder: Path) -> Steering:
    commands = _read_commands(folder)
    blocked = dict.fromkeys(command.argument for command in commands if command.action == "block")
    boosted = dict.fromkeys(command.argument for command in commands if command.action == "boost")
    return Steering(tuple(blocked), tuple(boosted), len(_dropped_lines(folder)))


def read_dropped(folder: Path) -> frozenset[int]:
    """The keys (`secure_key_of`) of the URLs that were dropped."""
    try:
        return frozenset(map(int, _dropped_lines(folder)))
    except ValueError:
        path = folder / DROPPED_FILE
        raise CollectionError(f"{path} is damaged: each line should be a whole number; fix or delete it") from None


def block(folder: Path, name: str) -> SteeringCommand:
    """Records a host, a URL or a pattern of URLs from which nothing more is fetched."""
    return _add(folder, SteeringCommand("block", checked_argument(name)))


def boost(folder: Path, name: str) -> SteeringCommand:
    """Records a host, a URL or a pattern of URLs that is fetched first."""
    return _add(folder, SteeringCommand("boost", checked_argument(name)))


def drop(folder: Path, name: str, urls: Collection[Url]) -> SteeringCommand:
    """Records that these URLs, which wait and which a host, a URL or a pattern names, are not to be fetched."""
    lines = _dropped_lines(folder)
    if len(lines) + len(urls) > MAX_DROPPED:
        raise UsageError(f"{len(urls)} URLs wait there, and at most {MAX_DROPPED} may be dropped; block {name} instead")
    command = _add(folder, SteeringCommand("drop", checked_argument(name), len(lines), len(urls)))
    _write_dropped(folder, lines + [str(secure_key_of(url)) for url in urls])
    return command


def label(folder: Path, labels: dict[Url, bool]) -> None:
    """Records labels, durably."""
    lines_before = len(_label_lines(folder / LABELS_FILE))
    _append(folder, SteeringCommand("label", str(len(labels)), lines_before))
    add_labels(folder, labels)


def undo(folder: Path) -> SteeringCommand | None:
    """Removes the last command and returns it; None if there is none."""
    commands = _read_commands(folder)
    if not commands:
        return None
    last = commands.pop()
    if last.action == "label":
        _drop_labels(folder, last)
    if last.action == "drop":
        _restore_dropped(folder, last)
    _write_commands(folder, commands)
    return last


def undo_label(folder: Path, url: Url) -> None:
    """Takes back the label of a page; blocks and boosts that were given since then stay. Raises UsageError if it is not
    the last label."""
    commands = _read_commands(folder)
    index = max((index for index, command in enumerate(commands) if command.action == "label"), default=None)
    lines = _label_lines(folder / LABELS_FILE)
    last_labelled = lines[-1].partition(" ")[2].strip() if lines else ""
    if index is None or commands[index].argument != "1" or last_labelled != url:
        raise UsageError(f"{url} is no longer the page that was labelled last; to change its label: lycosa label")
    _drop_labels(folder, commands.pop(index))
    _write_commands(folder, commands)


def forget_steering(folder: Path, is_forgotten: Callable[[str], bool]) -> None:
    """Removes forgotten URLs and hosts from the file, and all `label` commands: no label can be undone then."""
    commands = _read_commands(folder)
    remaining = [
        command
        for command in commands
        if command.action != "label" and not any(map(is_forgotten, _names_in(command.argument)))
    ]
    if remaining != commands:
        _write_commands(folder, remaining)


def _names_in(name: str) -> list[str]:
    """The hosts and URLs that the name of a host, a URL or a pattern tells."""
    if host_url_or_pattern(name) != "pattern":
        return [name]
    rest = name.partition("://")[2]
    host = rest.partition("/")[0].strip("*.")
    names = (host, f"http://{rest.rstrip('*')}", f"https://{rest.rstrip('*')}")
    return [each for each in names if host_url_or_pattern(each) != "pattern"]


def checked_argument(text: str) -> str:
    """A host, a URL or a pattern in normal form; UsageError if it is none."""
    match host_url_or_pattern(text):
        case "pattern":
            return checked_pattern(text)
        case "URL":
            return checked_url(text)
        case "host":
            return checked_host(text)


def checked_pattern(text: str) -> str:
    """A pattern in normal form; UsageError if it is none, or would match every URL. Without a path, it is for all URLs
    of the host."""
    scheme, separator, rest = text.strip().partition("://")
    scheme, rest = (scheme.lower(), rest) if separator and "/" not in scheme else ("*", text.strip())
    host, slash, path = rest.partition("/")
    if not slash and not rest.endswith("*"):
        slash, path = "/", "*"
    ports = _DEFAULT_PORTS.get(scheme, (":80", ":443"))
    while port := next(filter(host.endswith, ports), ""):
        host = host.removesuffix(port)
    pattern = f"{scheme}://{host.lower()}{slash}{path}"
    is_plain = pattern.isascii() and pattern.isprintable() and " " not in pattern and len(pattern) <= 2_000
    if not is_plain or not any(map(str.isalnum, f"{host}{path}")):
        raise UsageError(
            f"not a pattern of URLs: {text[:100]!r}; write one such as *://example.org/ads/*, in characters of URLs"
        )
    return pattern


def checked_host(text: str) -> str:
    """A host in normal form; UsageError if it is not one."""
    host = host_named(text)
    if host is None:
        raise UsageError(f"not a host: {text[:100]!r}; write one such as example.org")
    return host


def checked_url(text: str) -> Url:
    url = normalise(text)
    if url is None or len(url) > 2_000:
        raise UsageError(f"not a URL that can be crawled: {text[:100]!r}; write http://… or https://…")
    return url


def _add(folder: Path, command: SteeringCommand) -> SteeringCommand:
    if sum(known.action != "label" for known in _read_commands(folder)) >= MAX_COMMANDS:
        raise UsageError(f"{folder / STEERING_FILE} has {MAX_COMMANDS} blocks, boosts and drops; delete some of them")
    _append(folder, command)
    return command


def _read_commands(folder: Path) -> list[SteeringCommand]:
    path = folder / STEERING_FILE
    commands = []
    for number, line in enumerate(file_lines(path, _MAX_BYTES), 1):
        try:
            commands.append(_parse_command(line))
        except UsageError as error:
            raise CollectionError(f"{path}:{number}: {error}; fix or delete the line") from None
    return commands


def _parse_command(line: str) -> SteeringCommand:
    """The command of a line, which the user may have written, with its host or URL in normal form."""
    word, _, argument = line.strip().partition(" ")
    action = _ACTIONS.get(word)
    if len(line) <= _MAX_LINE and argument:
        if action == "label":
            counts = [whole_number(count, maximum=_MAX_LABELS) for count in argument.split(" ")]
            if len(counts) <= 2 and None not in counts:
                return SteeringCommand("label", str(counts[0]), counts[1] if len(counts) == 2 else None)
        elif action == "drop":
            name, *numbers = argument.split(" ")
            counts = [whole_number(number, maximum=_MAX_LABELS) for number in numbers]
            if len(counts) == 2 and None not in counts:
                return SteeringCommand("drop", checked_argument(name), lines_before=counts[1], dropped=counts[0])
        elif action is not None:
            return SteeringCommand(action, checked_argument(argument))
    raise UsageError(
        "not `block` or `boost` with a host, a URL or a pattern of URLs, nor a line of `drop` or `label`:"
        f" {line[:100]!r}"
    )


def _append(folder: Path, command: SteeringCommand) -> None:
    path = folder / STEERING_FILE
    with disk_errors(path):
        append_lines(path, f"{command.line}\n")


def _write_commands(folder: Path, commands: Iterable[SteeringCommand]) -> None:
    path = folder / STEERING_FILE
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(f"{command.line}\n" for command in commands).encode())


def _label_lines(path: Path) -> list[str]:
    """The lines of a file of labels, with their ends; none if there is no file."""
    if not path.exists():
        return []
    with disk_errors(path):
        return read_regular_file(path, MAX_LABELS_BYTES).decode("utf-8", "surrogateescape").splitlines(keepends=True)


def _drop_labels(folder: Path, command: SteeringCommand) -> None:
    """Removes the labels of the last command, as far as they are there, from the review sample and labels.txt."""
    path = folder / LABELS_FILE
    lines = _label_lines(path)
    count = int(command.argument)
    if command.lines_before is not None:
        count = min(count, len(lines) - command.lines_before)
    if count <= 0 or not lines:
        return
    dropped = {line.partition(" ")[2].strip() for line in lines[-count:]}
    drop_from_review_sample(folder, lambda url: url in dropped)
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(lines[:-count]).encode("utf-8", "surrogateescape"))


def _dropped_lines(folder: Path) -> list[str]:
    return file_lines(folder / DROPPED_FILE, _MAX_DROPPED_BYTES)


def _restore_dropped(folder: Path, command: SteeringCommand) -> None:
    """Removes the keys of the URLs that a command dropped, as far as they are there."""
    assert command.lines_before is not None and command.dropped is not None
    lines = _dropped_lines(folder)
    remaining = lines[: command.lines_before] + lines[command.lines_before + command.dropped :]
    if remaining != lines:
        _write_dropped(folder, remaining)


def _write_dropped(folder: Path, lines: Iterable[str]) -> None:
    """Replaces the file: a kill while megabytes are appended could leave a part of a line, even no number."""
    path = folder / DROPPED_FILE
    with disk_errors(path), atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
