"""How people become numbers: by a hash that only the holder of a key can make again.

The key lies beside the log, in a file that its owner alone may read. It joins later imports to the same people. Without
it no one can tell whether a given address or name is in the log; once it is deleted, not even its owner.
"""

import hashlib
import os
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lycosa.vocabulary.errors import LycosaError, UsageError

KEY_BYTES = 32
HASH_BYTES = 16


def key_file_of(log: Path) -> Path:
    return log.with_name(f"{log.name}.key")


def hashing(key_file: Path) -> Callable[[bytes], bytes]:
    """The keyed hash; the key is made by chance where there is none."""
    try:
        try:
            file = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = key_file.read_bytes()
        else:
            key = secrets.token_bytes(KEY_BYTES)
            with os.fdopen(file, "wb") as opened:
                opened.write(key)
                opened.flush()
                os.fsync(opened.fileno())
    except OSError as error:
        raise LycosaError(f"cannot use the key {key_file}: {error.strerror}; give access or room") from None
    if len(key) != KEY_BYTES:
        raise UsageError(f"{key_file} is not the key of a log; put the right one back, or delete it to begin anew")
    return partial(_hashed, key)


def _hashed(key: bytes, user: bytes) -> bytes:
    return hashlib.blake2b(user, key=key, digest_size=HASH_BYTES).digest()
