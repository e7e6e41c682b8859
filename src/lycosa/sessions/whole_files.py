"""Files that are written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lycosa.vocabulary.errors import LycosaError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its name when it is whole; a pipe or a device is written as it is."""
    is_plain = path.is_file() or not path.exists()
    place = path.resolve()
    beside = place.with_name(f"{place.name}.new") if is_plain else place
    try:
        try:
            with beside.open("wb") as file:
                yield file
            if is_plain:
                beside.replace(place)
        except BaseException:
            if is_plain:
                beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LycosaError(f"cannot write {path}: {error.strerror}; give another file") from None
