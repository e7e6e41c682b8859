"""Sockets that only their owner can connect to."""

import os
import stat
from pathlib import Path

import pytest

from lycosa.vocabulary.sockets import private_unix_socket


def test_only_the_owner_can_connect_and_nothing_else_is_affected(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        with private_unix_socket(str(tmp_path / "socket")):
            assert stat.S_IMODE((tmp_path / "socket").stat().st_mode) == 0o600
            (tmp_path / "folder").mkdir()
            assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o755
    finally:
        os.umask(umask)


def test_a_path_that_is_taken_is_an_error_and_leaves_the_umask(tmp_path: Path) -> None:
    (tmp_path / "socket").touch()
    umask = os.umask(0o022)
    try:
        with pytest.raises(OSError):
            private_unix_socket(str(tmp_path / "socket"))
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(umask)
