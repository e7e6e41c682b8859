"""Commands that are broken off, or can write no more, end in one line or none, and leave what was there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crawling import PATIENCE, begin, collection, done, end, lycosa, pages, site, wait_until
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crawled(tmp_path_factory) -> Path:
    folder = collection(tmp_path_factory.mktemp("broken") / "c", ["http://a.example/"])
    with WorldServer(FixedWorld(site("a.example", leaves=30))) as served:
        done("crawl", folder, "--resolve", served.resolve)
    return folder


def test_a_rebuild_that_is_broken_off_leaves_the_catalog_as_it_was(crawled, monkeypatch):
    before = pages(crawled)
    from lycosa.collection.collection import Collection

    applied = Collection.apply
    calls = iter(range(1_000))

    def apply(self, event, place):
        if next(calls) == 15:
            raise KeyboardInterrupt
        applied(self, event, place)

    monkeypatch.setattr(Collection, "apply", apply)
    assert lycosa("rebuild", crawled).code == 130
    monkeypatch.undo()
    assert pages(crawled) == before
    assert done("search", crawled, "honey").out.startswith("1. ")
    assert sorted(path.name for path in crawled.glob("rebuilt*")) == []
    done("rebuild", crawled)
    assert pages(crawled) == before
    assert done("search", crawled, "honey").out.startswith("1. ")


def program(*words: object, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lycosa", *map(str, words)], text=True, timeout=PATIENCE, **options)


def test_a_full_device_is_one_clear_line(crawled):
    with Path("/dev/full").open("w") as full:
        said = program("show", crawled, stdout=full, stderr=subprocess.PIPE)
    assert said.returncode == 1
    assert said.stderr.startswith("lycosa: cannot write standard output: No space left on device")
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [("new",), ("show",), ("crawl",), ("rebuild",)])
def test_a_name_that_is_too_long_is_one_clear_line(words):
    assert lycosa(*words, "x" * 300).is_one_clear_line(2, "File name too long")


def test_bytes_that_are_no_text_are_told_apart(tmp_path):
    said = program("show", os.fsdecode(b"\xff\xfe"), cwd=tmp_path, capture_output=True)
    assert said.returncode == 2
    assert "Traceback" not in said.stderr
    said = program("new", "c", "--topic", os.fsdecode(b"honey \xff"), cwd=tmp_path, capture_output=True)
    assert said.returncode == 2
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.25])
def test_ctrl_c_while_modules_are_loaded_says_nothing(tmp_path, seconds):
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"""
import os, signal, sys, threading
from lycosa.__main__ import main
sys.argv = ["lycosa", "world", "list"]
threading.Timer({seconds}, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
main()
""",
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    _, said = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said


def test_nothing_slow_is_imported_before_ctrl_c_is_silent():
    listed = "import sys; before = {*sys.modules}; import lycosa.__main__; print(*{*sys.modules} - before)"
    imported = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    assert "lycosa.__main__" in imported.stdout.split()
    assert not {"typing", "re", "click", "msgspec"} & {*imported.stdout.split()}


def test_ctrl_c_ends_the_demo_and_not_only_its_first_crawl(tmp_path):
    process = begin("demo", "--out", tmp_path / "demo", "--pages", 1500)
    wait_until(lambda: (tmp_path / "demo" / "hunter" / "archive").exists(), process)
    os.kill(process.pid, signal.SIGINT)
    said = end(process)
    assert said.code == 130, said
    assert "Traceback" not in said.err
    assert not (tmp_path / "demo" / "best-first").exists()
