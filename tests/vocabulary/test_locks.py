"""Who may lock a file."""

import os
import stat
from pathlib import Path

import pytest

from lycosa.vocabulary.locks import Lock, open_lock_file


@pytest.mark.parametrize(
    ("umask", "before", "after"),
    [
        (0o022, None, 0o600),
        (0o002, None, 0o660),  # of a group that shares a folder
        (0o022, 0o644, 0o600),  # made by an older version
        (0o022, 0o664, 0o660),
        (0o022, 0o600, 0o600),
    ],
)
def test_who_may_not_write_a_file_cannot_lock_it_either(
    tmp_path: Path, umask: int, before: int | None, after: int
) -> None:
    path = tmp_path / ".lock"
    if before is not None:
        path.touch()
        path.chmod(before)
    previous = os.umask(umask)
    try:
        with Lock(open_lock_file(path)):
            assert stat.S_IMODE(path.stat().st_mode) == after
    finally:
        os.umask(previous)


def test_the_lock_file_of_somebody_else_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(descriptor: int, mode: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchmod", refused)
    path = tmp_path / ".lock"
    path.touch(0o644)
    with Lock(open_lock_file(path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
