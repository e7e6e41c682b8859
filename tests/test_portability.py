"""Lycosa where there is no POSIX: crawl, label, search and export do without its modules, and without CLD 2."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from crawling import PATIENCE, site
from fixtures.fixed_world import FixedWorld
from lycosa.reading.language import _langid_detector, _primary_code, language_of
from lycosa_lab.worlds.server import WorldServer

AS_ON_WINDOWS = """
import asyncio, functools, json, os, signal, socket, subprocess, sys

MISSING = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix_ipc", "pycld2"}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in MISSING:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in ("fchmod", "fchown", "chown", "O_DIRECTORY", "O_CLOEXEC", "getuid", "geteuid", "killpg", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
pair = functools.partial(socket.socketpair, socket.AF_UNIX)
socket.socketpair = lambda *_: pair()
del socket.AF_UNIX

def add_signal_handler(*_):
    raise NotImplementedError

asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = add_signal_handler
from lycosa.cli import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["lycosa", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (words, end.code)
assert not MISSING & set(sys.modules)
"""
TEXTS = {
    "en": "The bees of this hive have been busy all through the summer, and the keeper is pleased with their honey.",
    "de": "Die Bienen dieses Stocks waren den ganzen Sommer über fleißig, und der Imker freut sich über ihren Honig.",
    "fr": "Les abeilles de cette ruche ont travaillé tout l'été, et l'apiculteur est content de leur miel.",
    "es": "Las abejas de esta colmena han trabajado todo el verano, y el apicultor está contento con su miel.",
    "ru": "Пчёлы этого улья трудились всё лето, и пасечник доволен мёдом, который они собрали за это время.",
    "ja": "この巣箱の蜜蜂は夏の間ずっと忙しく働き、養蜂家は彼らが作った蜂蜜に満足しています。",
    "ar": "عملت نحلات هذه الخلية طوال الصيف، والنحال سعيد بالعسل الذي صنعته خلال هذه الأشهر الطويلة.",
}


def run(*commands: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """Runs commands one after the other, in one process."""
    words = json.dumps([[*map(str, words)] for words in commands])
    return subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS, words], capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.slow
def test_crawl_label_search_and_export_need_no_module_of_posix(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    with WorldServer(FixedWorld(site("bees.test", leaves=8))) as server:
        there = ["--resolve", server.resolve, "--delay", 0]
        ended = run(
            ["new", folder, "--topic", "honey bee hive", "--seed", "http://bees.test/", "--contact", "me@example.org"],
            ["crawl", folder, "--pages", 5, *there],
            ["label", folder, "http://bees.test/0", "--good"],
            ["crawl", folder, "--pages", 9, "--language", "en", *there],
            ["refresh", folder, "--budget", 3, *there],
            ["search", folder, "honey"],
            ["explain", folder, "http://bees.test/1"],
            ["show", folder],
            ["report", folder],
            ["export", folder, "--format", "csv", "--text", "--out", tmp_path / "bees.csv"],
            ["export", folder, "--format", "parquet", "--out", tmp_path / "bees.parquet"],
            ["export", folder, "--format", "wacz", "--out", tmp_path / "bees.wacz"],
            ["rebuild", folder],
            ["forget", folder, "http://bees.test/2"],
        )
    assert ended.returncode == 0, (ended.stdout, ended.stderr)
    assert (tmp_path / "bees.csv").read_text(encoding="utf-8").count("http://bees.test/") >= 9
    assert not list(folder.glob("**/*.new"))
    assert not list(folder.glob("**/*.held"))


@pytest.mark.slow
def test_one_process_at_a_time_writes_without_flock(tmp_path: Path) -> None:
    """A second crawl is refused while a lock is held, and the lock of `filelock` is held by one alone."""
    program = """
from pathlib import Path
from lycosa.vocabulary import locks
from lycosa.vocabulary.files import atomic_write

assert not locks.HAS_FLOCK
path = Path(sys.argv[1])
first = locks.Lock(path.open("a+"))
with path.open("a+") as again:
    try:
        locks.Lock(again)
    except BlockingIOError:
        first.close()
with locks.Lock(path.open("a+")):
    pass
with atomic_write(path) as out:
    out.write(b"whole")
try:
    with atomic_write(path) as out:
        out.write(b"half")
        raise ValueError
except ValueError:
    pass
assert path.read_bytes() == b"whole"
print("done")
"""
    prelude = AS_ON_WINDOWS.partition("from lycosa.cli import main")[0]
    ended = subprocess.run(
        [sys.executable, "-c", prelude + program, tmp_path / "file"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.stdout == "done\n", ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
@pytest.mark.parametrize("language", TEXTS)
def test_both_detectors_know_the_languages_of_plain_texts(language: str) -> None:
    assert language_of(TEXTS[language]) == language
    assert _primary_code(_langid_detector()(TEXTS[language])) == language


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "12 34 56", "x"])
def test_what_says_nothing_has_no_language(text: str) -> None:
    assert language_of(text) == ""
