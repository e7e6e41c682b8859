"""What to raise where a file that the user named cannot be written."""

from errno import EDQUOT, EFBIG, EIO, ENOSPC

from .errors import LycosaError, UsageError

_FAILS_MIDWAY = frozenset((EDQUOT, EFBIG, EIO, ENOSPC))  # disks that are full or broken


def cannot_write(what: object, error: OSError, *, way_out: str) -> LycosaError:
    """A wrong name, such as one in a closed folder, is bad usage; a disk that fails midway fails the job."""
    kind = LycosaError if error.errno in _FAILS_MIDWAY else UsageError
    return kind(f"cannot write {what}: {error.strerror or error}; {way_out}")
