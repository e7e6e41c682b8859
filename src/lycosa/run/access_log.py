"""The access log (who read which page, when) of a session: opening it, and reopening it from the reference that the
run records."""

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

from .guides import nested_strategies, recorded_reference, require_unchanged
from .trust import allowed_file


class LogReference(Struct, frozen=True):
    """How a run records its log."""

    file: str  # absolute path
    half_life: float | None  # days
    min_users: int
    stamp: str  # changes when the accesses in it change


class OpenAccessLog(Struct, frozen=True):
    """An open log."""

    reference: LogReference
    access_log: AccessLog

    def wrap(self, strategy: Strategy) -> Strategy:
        """Adds the evidence of the log to the strategy, unless the strategy uses a log itself."""
        if any("log" in getattr(nested, "needs", ()) for nested in nested_strategies(strategy)):
            return strategy
        return Guided(strategy, self.access_log)


def access_log_of_recipe(settings: Logs, folder: Path, *, current: OpenAccessLog | None = None) -> OpenAccessLog | None:
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


def access_log_of_run(recorded: JsonValue, strategy: str, *, folder: Path) -> OpenAccessLog | None:
    """The log of an archived run, if it had one.

    Raises UsageError if it has changed since, cannot be opened or is empty, if it is outside an untrusted folder, or if
    the strategy cannot use a log.

    folder: of the collection; unless it is trusted, the log must be inside it.
    """
    reference = recorded_reference(recorded, LogReference)
    if reference is None:
        return None
    check_takes_log(strategy)
    opened = _open(msgspec.structs.replace(reference, file=str(allowed_file(folder, reference.file))))
    return require_unchanged(opened, reference, what=f"the log {reference.file}")


def _open(reference: LogReference) -> OpenAccessLog:
    path = Path(reference.file)
    if not path.is_file():
        raise UsageError(f"there is no log {path}; make it with: lycosa logs import FILE --into {quoted(path)}")
    access_log = open_access_log(path, min_users=reference.min_users)
    if not access_log.access_count:
        condition = f" that {reference.min_users} people have read" if reference.min_users > 1 else ""
        raise UsageError(
            f"the log {path} has no page in it{condition}; "
            f"import more accesses with: lycosa logs import FILE --into {quoted(path)}"
        )
    stamp = f"{access_log.access_count}-{access_log.digest}"
    return OpenAccessLog(msgspec.structs.replace(reference, stamp=stamp), access_log.decayed(reference.half_life))
