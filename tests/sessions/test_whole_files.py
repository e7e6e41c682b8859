"""Files are written whole or not at all."""

import os
import threading

import pytest

from lycosa.sessions.whole_files import whole_file
from lycosa.vocabulary.errors import LycosaError


def test_a_file_takes_its_name_when_it_is_whole(tmp_path):
    path, link = tmp_path / "table", tmp_path / "link"
    path.write_bytes(b"before")
    link.symlink_to(path)
    with whole_file(link) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, path]


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_what_is_stopped_half_way_leaves_the_file_as_it_was(tmp_path, stop):
    path = tmp_path / "table"
    path.write_bytes(b"before")
    with pytest.raises(stop), whole_file(path) as file:
        file.write(b"half")
        raise stop
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_as_it_is(tmp_path):
    path, received = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    with whole_file(path) as file:
        file.write(b"all of it")
    reader.join()
    assert received == [b"all of it"]
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_one_clear_line(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "table"):
        with pytest.raises(LycosaError, match="cannot write"), whole_file(path):
            pass
