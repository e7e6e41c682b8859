"""What the user had a collection forget, kept as hashed keys: enough to never fetch it again, without naming it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lycosa.collection.errors import disk_errors
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import append_lines, read_regular_file
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import host_spellings, key_of, url_and_host_spellings

FORGOTTEN_FILE = "forgotten.txt"
_MAX_BYTES = 100_000_000


def read_forgotten(folder: Path) -> frozenset[int]:
    """The keys (`key_of`) of all URLs and hosts that the collection in a folder forgot."""
    path = folder / FORGOTTEN_FILE
    if not path.exists():
        return frozenset()
    try:
        with disk_errors(path):
            return frozenset(int(line) for line in read_regular_file(path, _MAX_BYTES).decode("ascii").split())
    except ValueError:
        raise CollectionError(f"{path} is damaged: each line should be a whole number; fix or delete it") from None


def is_forgotten(url: Url, forgotten: frozenset[int]) -> bool:
    """Whether the URL or its host was forgotten; of what is no absolute URL, nothing is."""
    if not url.startswith(("http://", "https://")):
        return False
    return not forgotten.isdisjoint(map(key_of, url_and_host_spellings(url)))  # which include those of its host


def is_forgotten_name(name: str, forgotten: frozenset[int]) -> bool:
    """The same for a host name, with or without a port, or a URL."""
    if "://" in name:
        return is_forgotten(Url(name), forgotten)
    return not forgotten.isdisjoint(map(key_of, host_spellings(name)))


def forgotten_test(folder: Path) -> Callable[[Url], bool] | None:
    """A function that says whether a URL was forgotten; None if nothing was."""
    forgotten = read_forgotten(folder)
    return partial(is_forgotten, forgotten=forgotten) if forgotten else None


def add_forgotten(folder: Path, url_or_host: str) -> None:
    """Adds the key of a URL or host to the file."""
    path = folder / FORGOTTEN_FILE
    with disk_errors(path):
        append_lines(path, f"{key_of(url_or_host)}\n")
