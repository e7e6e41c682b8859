"""Walks of people through an encyclopaedia, as the game Wikispeedia records them: who read what, and when.

West, Leskovec: Human wayfinding in information networks (WWW 2012).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import DamagedTextError, LineTooLongError, numbered_lines, unpacked
from lycosa.vocabulary.records import Url

from .world import Access

COLUMNS = "person, time, seconds, articles parted by ';', and what follows"
BACK = "<"  # in the place of an article: the page before it was seen again
_LONGEST_LINE = 1 << 20  # bytes


def plain_name(name: str) -> str:
    """The name of an article without escapes, of which some files have two layers."""
    return unquote(unquote(name)).replace(" ", "_")


def walks_in(path: Path, articles: Mapping[str, Url]) -> tuple[Access, ...]:
    """What people read, in the order of time, of the articles that there are.

    The file, plain or gzipped, has a walk a line: person, time, seconds that it took, names of articles. Articles of a
    walk are taken to have been read in equal steps; going back is no access.

    articles: by their names, plain.
    """
    accesses: list[Access] = []
    users: dict[str, int] = {}
    for walk in sorted(_walks(path), key=lambda walk: walk.start):
        user = users.setdefault(walk.person, len(users))
        step = walk.seconds / max(1, len(walk.names))
        for place, name in enumerate(walk.names):
            url = articles.get(plain_name(name))
            if url is not None:
                accesses.append(Access(user, url, walk.start + place * step))
    if not accesses:
        raise UsageError(f"{path}: no walk leads through an article of this world; give walks through its articles")
    return tuple(sorted(accesses, key=lambda access: access.at))


class _Walk(NamedTuple):
    person: str
    start: float
    seconds: float
    names: list[str]


def _walks(path: Path) -> Iterator[_Walk]:
    try:
        with path.open("rb") as file:
            for number, data in numbered_lines(unpacked(file), longest_line=_LONGEST_LINE):
                line = data.decode()
                if line.strip() and not line.startswith("#"):
                    yield _walk(line.rstrip("\r").split("\t"), f"{path}, line {number}")
    except (OSError, DamagedTextError, LineTooLongError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); give a file of walks, such as paths_unfinished.tsv"
        ) from None


def _walk(fields: list[str], where: str) -> _Walk:
    try:
        person, start, seconds, names = fields[:4]
        walk = _Walk(person, float(start), float(seconds), [name for name in names.split(";") if name != BACK])
    except ValueError:
        raise UsageError(f"{where} is no walk; columns are {COLUMNS}, parted by tabs") from None
    if not (abs(walk.start) < 1e12 and 0.0 <= walk.seconds < 1e9):
        raise UsageError(f"{where}: a walk cannot begin at {start} and take {seconds} seconds")
    return walk
