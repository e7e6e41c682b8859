"""What is being done to a collection between crawls, noted in its folder: after a kill, the next command ends it.

A rebuild makes another catalog and index beside those there are (`making`), which then take their place
(`installing`). What was being made is dropped; what was being installed is installed. What is being forgotten is in
`forgotten.txt`, and forgotten by whoever opens the collection next.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from lycosa.vocabulary.files import atomic_write, read_regular_file

from .errors import disk_errors

JOURNAL_FILE = "journal.json"
_MAX_BYTES = 1_000


class Upkeep(Struct, frozen=True):
    """What was under way."""

    task: Literal["rebuild", "forget"]
    stage: Literal["making", "installing"] = "making"


def read_journal(folder: Path) -> Upkeep | None:
    """What is under way, or was when a process was killed; None where nothing is."""
    try:
        return msgspec.json.decode(read_regular_file(folder / JOURNAL_FILE, _MAX_BYTES), type=Upkeep)
    except (OSError, msgspec.DecodeError):
        return None  # mostly there is none


def write_journal(folder: Path, upkeep: Upkeep) -> None:
    """Notes what is about to be done; when it returns, that survives a kill and a power failure."""
    path = folder / JOURNAL_FILE
    with disk_errors(path), atomic_write(path) as file:
        file.write(msgspec.json.encode(upkeep))


def end_journal(folder: Path) -> None:
    """Notes that it is done."""
    path = folder / JOURNAL_FILE
    with disk_errors(path):
        path.unlink(missing_ok=True)
