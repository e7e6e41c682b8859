"""What a command costs: processor time and memory of its whole process tree, and the time on the clock."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from compileall import compile_dir
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from world import ServedWorld, World

LYCOSA = (sys.executable, "-c", "from lycosa.cli import main; main()")
TOPIC = 0
EXAMPLES = 30  # on the topic; of those that are not, twice as many
CONCURRENCY = 64
BEST_FIRST = "best-first"


class Cost(NamedTuple):
    pages: int  # distinct ones, as the server counted
    seconds: float
    cpu: float  # seconds, user and system
    rss: float  # MB, of the largest process

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds

    @property
    def cpu_per_page(self) -> float:
        """Milliseconds."""
        return 1000 * self.cpu / max(1, self.pages)


def cost_of(
    command: Sequence[str], served: ServedWorld, *, limit: float, folder: Path, say: Callable[[str], None]
) -> Cost:
    """Runs a crawler to its end, or kills it after `limit` seconds; its failure is the benchmark's."""
    served.reset()
    log = folder / "log.txt"
    began = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, env=with_bytecode()
        )
        next_word = began + 5
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            seconds = time.monotonic() - began
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                break
            if seconds > limit:
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -9
                sys.exit(f"{command[0]}: not done after {limit:.0f} s, {served.count()} pages; see {_kept(log)}")
            if time.monotonic() > next_word:
                say(f"  {served.count()} pages after {seconds:.0f} s")
                next_word += 5
            time.sleep(0.02)
    if process.returncode:
        sys.exit(f"a crawler failed with {process.returncode}; see {_kept(log)}")
    return Cost(served.count(), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@cache
def with_bytecode() -> dict[str, str]:
    """The environment, with Lycosa compiled as pip compiles what it installs: else each start of a checkout that may
    not write bytecode costs nearly a second, which no installation takes."""
    package = find_spec("lycosa")
    assert package is not None and package.submodule_search_locations is not None
    for folder in package.submodule_search_locations:
        compile_dir(folder, quiet=2)
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _kept(log: Path) -> str:
    kept = Path(tempfile.gettempdir()) / "lycosa-benchmark.log"
    shutil.copyfile(log, kept)
    return str(kept)


def make_collection(folder: Path, world: World, *, negatives: bool = False) -> None:
    """A collection that learns its topic from example pages in files, so that only the crawl asks the server.

    negatives: whether pages off the topic are given too; few people have some, and without them the judge is trained
        again and again as the crawl grows.
    """
    given = ["--seeds", "seeds.txt"]
    (folder / "seeds.txt").write_text(world.url(0))
    for option, name, other, count in (
        ("--examples", "good", False, EXAMPLES),
        ("--negatives", "bad", True, 2 * EXAMPLES),
    ):
        if other and not negatives:
            continue
        names = []
        for number in world.some_on_topic(TOPIC, count, other=other):
            path = folder / f"{name}-{number}.html"
            path.write_bytes(world.html(number))
            names.append(path.name)
        (folder / f"{name}.txt").write_text("\n".join(names))
        given += [option, f"{name}.txt"]
    subprocess.run([*LYCOSA, "new", "bench", *given], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def lycosa_command(pages: int, strategy: str) -> list[str]:
    """The whole focused crawl: judge, strategy, WARC, catalog, search index; an empty strategy is the default one."""
    bounds = ["--pages", str(pages), "--dry-after", "0", "--delay", "0", "--concurrency", str(CONCURRENCY)]
    named = ["--strategy", strategy] if strategy else []
    return [*LYCOSA, "crawl", "bench", *named, *bounds, "--allow-private", "--quiet"]


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        yield Path(folder)


def crawl_with_lycosa(
    served: ServedWorld, pages: int, *, limit: float, strategy: str = BEST_FIRST, negatives: bool = False
) -> Cost:
    with scratch() as folder:
        make_collection(folder, served.world(), negatives=negatives)
        return cost_of(lycosa_command(pages, strategy), served, limit=limit, folder=folder, say=say)


def say(line: str) -> None:
    """Progress, beside the results."""
    print(line, file=sys.stderr, flush=True)
