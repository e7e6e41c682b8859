"""Files are written whole or not at all, and text is read in whole lines, whoever made it."""

import errno
import gzip
import os
import re
import stat
import subprocess
import sys
import threading
import time
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.files import (
    DamagedTextError,
    LineSplitter,
    LineTooLongError,
    append_lines,
    atomic_write,
    chunks,
    decompressed,
    first_bytes,
    is_inside,
    line_blocks,
    numbered_lines,
    output_file,
    read_user_file,
    write_file,
)

WRITERS = [atomic_write, output_file]


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_takes_its_name_when_it_is_whole(tmp_path, write):
    path, link = tmp_path / "table", tmp_path / "link"
    path.write_bytes(b"before")
    link.symlink_to(path)
    with write(link) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, path]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(("name", "number"), [("loop", errno.ELOOP), (".", errno.EISDIR), ("/", errno.EISDIR)])
def test_where_no_file_can_be_is_an_error_of_the_disk(tmp_path, monkeypatch, write, name, number):
    monkeypatch.chdir(tmp_path)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises((OSError, LycosaError), match=re.escape(os.strerror(number))), write(Path(name)):
        pytest.fail("it can be written")
    assert [*tmp_path.iterdir()] == [loop]
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        is_inside(tmp_path, loop)


@pytest.mark.parametrize("content", ["näher\r\n", b"\xff\n"])
def test_a_whole_file_is_written_as_it_is(tmp_path, content):
    write_file(tmp_path / "table", content)
    assert (tmp_path / "table").read_bytes() == (content.encode() if isinstance(content, str) else content)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "table"
    path.write_bytes(b"before")

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("lycosa.vocabulary.files.os.fsync", full)
    with pytest.raises(OSError):
        write_file(path, "after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_what_is_stopped_half_way_leaves_the_file_as_it_was(tmp_path, stop, write):
    path = tmp_path / "table"
    path.write_bytes(b"before")
    with pytest.raises(stop), write(path) as file:
        file.write(b"half")
        raise stop
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_kill_leaves_the_file_as_it_was_and_the_next_writer_uses_what_it_left(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"before")
    killed = (
        "import os, sys; from pathlib import Path; from lycosa.vocabulary.files import atomic_write\n"
        "with atomic_write(Path(sys.argv[1])) as file: file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", killed, str(path)], check=False).returncode == -9
    assert path.read_bytes() == b"before"
    with atomic_write(path) as file:
        file.write(b"all")
    assert path.read_bytes() == b"all"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_at_once_leave_what_one_of_them_wrote(tmp_path):
    path = tmp_path / "table"

    def write(letter):
        for _ in range(20):
            with atomic_write(path, durable=False) as file:
                for _ in range(10):
                    file.write(letter * 100)
                    file.flush()

    writers = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            assert path.read_bytes() in (b"a" * 1000, b"b" * 1000, b"c" * 1000)
        time.sleep(0.001)
    assert list(tmp_path.iterdir()) == [path]


def test_who_does_not_wait_is_refused_while_another_writes(tmp_path):
    path = tmp_path / "table"
    with atomic_write(path) as file:
        with pytest.raises(BlockingIOError), atomic_write(path, wait=False):
            pass
        file.write(b"first")
    assert path.read_bytes() == b"first"


def test_a_private_file_is_its_owners_alone_even_over_what_a_kill_left(tmp_path):
    path, leftover = tmp_path / "key", tmp_path / "key.new"
    leftover.write_bytes(b"left")
    leftover.chmod(0o644)
    with atomic_write(path, private=True) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        file.write(b"secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"secret"


def test_a_pipe_is_written_as_it_is(tmp_path):
    path, received = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    with output_file(path) as file:
        file.write(b"all of it")
    reader.join()
    assert received == [b"all of it"]
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_one_clear_line(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "table"):
        with pytest.raises(LycosaError, match="cannot write"), output_file(path):
            pass
        with pytest.raises(OSError), atomic_write(path):
            pass


# ---------------------------------------------------------------- reading


@given(st.lists(st.binary(max_size=30)), st.integers(1, 50), st.booleans())
def test_lines_are_those_of_the_text_in_pieces_of_any_size_plain_or_gzipped(lines, size, packed):
    text = b"\n".join(lines)
    file = BytesIO(gzip.compress(text) if packed else text)
    if not packed and text.startswith(b"\x1f\x8b"):
        return
    blocks = list(line_blocks(decompressed(file), longest_line=30 * (len(lines) + 1) + 30, size=size))
    whole = b"".join(block for _, block in blocks)
    assert whole == (text if text.endswith(b"\n") or not text else text + b"\n")
    numbers = [number for number, _ in blocks]
    assert numbers == [1 + whole[: whole.index(block, start)].count(b"\n") for start, block in _starts(blocks)]
    file.seek(0)
    numbered = list(numbered_lines(decompressed(file), longest_line=10_000))
    assert numbered == list(enumerate(whole[:-1].split(b"\n") if whole else [], 1))


def _starts(blocks):
    start = 0
    for _, block in blocks:
        yield start, block
        start += len(block)


def test_a_gzip_file_that_is_cut_off_is_read_up_to_there_and_its_line_is_named():
    text = b"".join(b"line %d of the text\n" % number for number in range(50_000))
    packed = gzip.compress(text)
    read = []
    with pytest.raises(DamagedTextError) as damage:
        for number, line in numbered_lines(decompressed(BytesIO(packed[: len(packed) // 2])), longest_line=100):
            read.append(line)
            assert line == b"line %d of the text" % (number - 1)
    assert len(read) > 10_000
    assert damage.value.line in (len(read), len(read) + 1)


@pytest.mark.parametrize("damaged", [b"\x1f\x8b", b"\x1f\x8b\x08\x00" + bytes(30), b"\x1f\x8b no gzip at all"])
def test_what_only_begins_as_gzip_is_damaged_from_its_first_line(tmp_path, damaged):
    with pytest.raises(DamagedTextError) as damage:
        list(line_blocks(decompressed(BytesIO(damaged)), longest_line=100))
    assert damage.value.line == 1
    path = tmp_path / "damaged"
    path.write_bytes(damaged)
    assert first_bytes(path) == b""


@pytest.mark.slow
def test_a_line_without_end_is_refused_by_its_number_and_costs_little_memory():
    bomb = gzip.compress(b"short\nshort\n" + bytes(50 << 20))
    seen = []
    with pytest.raises(LineTooLongError) as long:
        for _, line in numbered_lines(decompressed(BytesIO(bomb)), longest_line=1000):
            seen.append(line)
    assert (seen, long.value.line) == ([b"short", b"short"], 3)


def test_a_long_line_is_cut_where_the_reader_goes_on_behind_it():
    splitter = LineSplitter(longest_line=10)
    pieces_of_it = [b"one\n" + b"x" * 20, b"x" * 100, b"y\ntwo\nthr", b"ee"]
    assert [splitter.add(piece) for piece in pieces_of_it] == [b"one\n", b"", b"x" * 11 + b"y\ntwo\n", b""]
    assert (splitter.rest, splitter.line) == (b"three", 4)


def test_the_size_of_a_piece_may_be_another_each_time():
    sizes = iter([2, 3, 100])
    assert list(chunks(decompressed(BytesIO(b"abcdefgh")), lambda: next(sizes))) == [b"ab", b"cde", b"fgh"]


@given(before=st.sampled_from(["", "one\n", "one", "one\ntwo\n"]), added=st.sampled_from(["three\n", "three\nfour\n"]))
def test_lines_that_are_appended_are_whole(tmp_path_factory, before, added):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_text(before)
    append_lines(path, added)
    assert path.read_text().splitlines() == [*before.splitlines(), *added.splitlines()]


@pytest.mark.parametrize("before", ["", "one\n", "one"])
def test_lines_that_cannot_be_appended_leave_the_file_as_it_was(tmp_path, monkeypatch, before):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "lines.txt"
    path.write_text(before)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        append_lines(path, "two\n")
    assert path.read_text() == before


def test_a_file_that_a_user_names_is_read_up_to_a_limit(tmp_path):
    path = tmp_path / "given"
    path.write_bytes(b"12345")
    assert read_user_file(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_user_file(path, 4)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"by a pipe",))
    writer.start()
    assert read_user_file(tmp_path / "pipe", 100) == b"by a pipe"
    writer.join()


@pytest.mark.parametrize("write", WRITERS)
def test_a_link_under_the_temporary_name_is_not_followed(tmp_path, write):
    victim, path = tmp_path / "victim", tmp_path / "table"
    victim.write_bytes(b"precious")
    (tmp_path / "table.new").symlink_to(victim)
    with write(path) as file:
        file.write(b"after")
    assert victim.read_bytes() == b"precious"
    assert path.read_bytes() == b"after" and not path.is_symlink()
