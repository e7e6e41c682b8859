"""Whole crawls through the command line, against servers on loopback: what the stories need to be short."""

import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from collection.samples import warcio_check
from lycosa.cli import main
from lycosa.run.trust import ID_FILE, record_made_here
from processes import Process
from worlds import html

PATIENCE = 300.0  # seconds until something that ought to happen is given up, on however busy a machine
_AS_A_PROGRAM = "import sys; sys.argv[0] = 'lycosa'; from lycosa.cli import main; main()"


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def is_one_clear_line(self, code: int, *words: str) -> bool:
        """Whether it failed as a command should: one line of its own on standard error that says these words."""
        lines = [line for line in self.err.splitlines() if line.startswith("lycosa: ")]
        assert self.code == code, self
        assert "Traceback" not in self.err, self.err
        assert len(lines) == 1, self.err
        assert self.err.splitlines()[-1] == lines[0], self.err
        for word in words:
            assert word in lines[0], (word, lines[0])
        return True


def lycosa(*words: object) -> Said:
    """Runs a command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    argv, sys.argv = sys.argv, ["lycosa", *map(str, words)]
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv = argv
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Said(code, *said)


def done(*words: object) -> Said:
    """Runs a command in this process that has to succeed."""
    said = lycosa(*words)
    assert said.code == 0, said.err
    return said


def begin(*words: object, **options: Any) -> Process:
    """Starts a command as a process, and a session, of its own."""
    return Process(_AS_A_PROGRAM, *words, **options)


def end(process: Process) -> Said:
    """Waits for a process to end by itself."""
    out, err = process.communicate(timeout=PATIENCE)
    return Said(process.wait(), out, err)


def apart(*words: object, **options: Any) -> Said:
    """Runs a command as a process of its own to its end."""
    return end(begin(*words, **options))


def kill(process: Process) -> None:
    process.kill()
    process.communicate()


def wait_until(happened: Callable[[], bool], process: Process | None = None) -> None:
    """Returns once something has happened, or the process it is expected of has ended."""
    give_up_at = time.monotonic() + PATIENCE
    while not happened() and (process is None or process.poll() is None):
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.002)


def most_memory(process: Process) -> int:
    """The most bytes that a process has held so far; 0 once it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


# ------------------------------------------------------------ collections


def collection(
    folder: Path, seeds: Sequence[str] = (), *, topic: str = 'text = "honey bee hive"', rest: str = ""
) -> Path:
    """A collection with a recipe as a user might write it by hand; no delay."""
    folder.mkdir()
    (folder / "lycosa.toml").write_text(
        f'seeds = "{"seeds.txt" if seeds else ""}"\n[topic]\n{topic}\n'
        + (rest if "[requests]" in rest else f"[requests]\ndelay = 0\n{rest}"),
        encoding="utf-8",
    )
    if seeds:
        (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds), encoding="utf-8")
    record_made_here(folder)
    return folder


def copied(made: Path, folder: Path) -> Path:
    """A copy of a collection, made once for many tests, for one of them to change; it counts as made here too."""
    shutil.copytree(made, folder)
    (folder / ID_FILE).unlink()
    record_made_here(folder)
    return folder


def listing(path: Path, lines: Iterable[str]) -> Path:
    """A file with one entry a line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@contextlib.contextmanager
def catalog(folder: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"file:{folder / 'catalog.sqlite'}?mode=ro", uri=True)) as connection:
        yield connection


def rows(folder: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with catalog(folder) as connection:
        return connection.execute(sql, values).fetchall()


def pages(folder: Path) -> list[str]:
    """The URLs of the pages in the order of their arrival."""
    return [url for (url,) in rows(folder, "SELECT url FROM pages ORDER BY number")]


def waiting(folder: Path) -> dict[str, float]:
    return dict(rows(folder, "SELECT url, priority FROM frontier"))


def skipped(folder: Path) -> dict[str, str]:
    return dict(rows(folder, "SELECT url, reason FROM skips"))


def outcomes(folder: Path) -> dict[str, str]:
    """How the last fetch of each URL ended."""
    return dict(rows(folder, "SELECT url, outcome FROM fetches ORDER BY rowid"))


def archives(folder: Path) -> list[Path]:
    return sorted((folder / "archive").glob("*.warc.gz"))


def archived(folder: Path) -> dict[str, bytes]:
    """The bodies in the archive by their URL, as another program reads them."""
    found: dict[str, bytes] = {}
    for path in archives(folder):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    found[record.rec_headers.get_header("WARC-Target-URI")] = record.content_stream().read()
    return found


def passes_warcio_check(folder: Path) -> bool:
    warcio_check(*archives(folder))
    return True


def site(host: str, *, leaves: int, text: str = "honey bee hive") -> dict[Any, bytes]:
    """A front page that links to its leaves, which say different things and link onward and back."""
    urls = [f"http://{host}/{number}" for number in range(leaves)]
    made = {f"http://{host}/": html(f"Front of {host}", f"{text}, and everything starts here.", urls)}
    for number, url in enumerate(urls):
        words = " ".join(f"w{number}x{place}" for place in range(12))
        made[url] = html(f"Leaf {number}", f"{text} {words}.", [f"http://{host}/", urls[(number + 1) % leaves]])
    return made


def environment_with(folder: Path) -> dict[str, str]:
    """An environment in which Python finds the modules of a folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


def assert_goes_on_where_it_stopped(
    folder: Path, seeds: Sequence[str], *, topic: str, crawl: Sequence[object], sizes: Sequence[int] = (1, 17, 50, 60)
) -> None:
    """A crawl that is stopped at each of these numbers of pages ends as one that was not."""
    whole, stopped = (collection(folder / name, seeds, topic=topic) for name in ("whole", "stopped"))
    done("crawl", whole, "--pages", sizes[-1], *crawl)
    for size in sizes:
        said = done("crawl", stopped, "--pages", size, *crawl)
        assert "ranked again" not in said.err
        assert len(pages(stopped)) == size
    assert pages(stopped) == pages(whole)
    assert waiting(stopped) == waiting(whole)
    assert skipped(stopped) == skipped(whole)
