"""A file that records upkeep in progress, so that the next command can finish it after a kill.

A rebuild makes a new catalog and index (`making`), which then replace the old ones (`installing`). After a kill, the
first stage is undone, the second completed. What is being forgotten is in `forgotten.txt`; the next session that opens
the collection forgets it. A rebuild takes over a removal that was interrupted, and leaves it again if it is undone.

A crawl by several workers makes shards (`making`), to which they add pages (`crawling`). Then these are moved into the
collection (`gathering`), and the shards removed (`removing`). After a kill, this goes on; shards that were not complete
are removed.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from lycosa.vocabulary.files import atomic_write, read_regular_file

from .errors import disk_errors

JOURNAL_FILE = "journal.json"
_MAX_BYTES = 1_000


class UpkeepTask(Struct, frozen=True):
    """An upkeep task in progress, and how far it has come."""

    task: Literal["rebuild", "forget", "shards"]
    stage: Literal["making", "installing", "crawling", "gathering", "removing"] = "making"
    forgets: bool = False  # whether a rebuild is also to complete an interrupted removal

    @property
    def completes_removal(self) -> bool:
        return self.task == "forget" or self.forgets


def read_upkeep_journal(folder: Path) -> UpkeepTask | None:
    """Reads the journal: the task that is in progress or was interrupted; None if there is none."""
    try:
        return msgspec.json.decode(read_regular_file(folder / JOURNAL_FILE, _MAX_BYTES), type=UpkeepTask)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # the usual case


def write_upkeep_journal(folder: Path, upkeep: UpkeepTask) -> None:
    """Writes the journal, durably, before the task begins or enters its next stage."""
    path = folder / JOURNAL_FILE
    with disk_errors(path), atomic_write(path) as file:
        file.write(msgspec.json.encode(upkeep))


def delete_upkeep_journal(folder: Path) -> None:
    """Deletes the journal, after the task is done."""
    path = folder / JOURNAL_FILE
    with disk_errors(path):
        path.unlink(missing_ok=True)
