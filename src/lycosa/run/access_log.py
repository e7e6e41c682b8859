"""The access log of a session: opening it, recording a reference to it in the run, reopening it from that reference."""

from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.logs import AccessLog, open_access_log
from lycosa.recipe import Logs, check_takes_log
from lycosa.strategies import Guided
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.text import quoted

from .guides import layers, recorded_reference, require_unchanged
from .trust import allowed_file


class LogReference(Struct, frozen=True):
    """How a run records its log."""

    file: str  # absolute path
    half_life: float | None  # days
    min_users: int
    stamp: str  # changes when the accesses in it change


class OpenLog(Struct, frozen=True):
    """An open log."""

    reference: LogReference
    access_log: AccessLog

    def wrap(self, strategy: Strategy) -> Strategy:
        """Adds the evidence of the log to the strategy, unless the strategy uses a log itself."""
        if any("log" in getattr(layer, "needs", ()) for layer in layers(strategy)):
            return strategy
        return Guided(strategy, self.access_log)


def open_log(settings: Logs, folder: Path, *, current: OpenLog | None = None) -> OpenLog | None:
    """The log that a recipe names, if any.

    current: the log that is open now, reused if it is the same.
    """
    if not settings.file:
        return None
    file = str((folder / settings.file).absolute())
    reference = LogReference(file, settings.half_life, settings.min_users, "")
    if current is not None and msgspec.structs.replace(current.reference, stamp="") == reference:
        return current
    return _open(reference)


def log_of_run(recorded: JsonValue, strategy: str, *, folder: Path) -> OpenLog | None:
    """The log of an archived run, if it had one. Raises UsageError if the log has changed since.

    folder: of the collection; unless it is trusted, the log must be inside it.
    """
    reference = recorded_reference(recorded, LogReference)
    if reference is None:
        return None
    check_takes_log(strategy)
    opened = _open(msgspec.structs.replace(reference, file=str(allowed_file(folder, reference.file))))
    return require_unchanged(opened, reference, what=f"the log {reference.file}")


def _open(reference: LogReference) -> OpenLog:
    path = Path(reference.file)
    if not path.is_file():
        raise UsageError(f"there is no log {path}; make it with: lycosa logs import FILE --into {quoted(path)}")
    access_log = open_access_log(path, min_users=reference.min_users)
    if not access_log.accesses:
        condition = f" that {reference.min_users} people have read" if reference.min_users > 1 else ""
        raise UsageError(f"the log {path} has no page in it{condition}; import others with: lycosa logs import")
    stamp = f"{access_log.accesses}-{access_log.fingerprint}"
    return OpenLog(msgspec.structs.replace(reference, stamp=stamp), access_log.aged(reference.half_life))
