"""What a command costs: processor time and memory of its whole process tree, and the time on the clock."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from world import ServedWorld, World

LYCOSA = (sys.executable, "-c", "from lycosa.cli import main; main()")
TOPIC = 0
EXAMPLES = 30  # on the topic; twice as many are not


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
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
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


def _kept(log: Path) -> str:
    kept = Path(tempfile.gettempdir()) / "lycosa-benchmark.log"
    shutil.copyfile(log, kept)
    return str(kept)


def make_collection(folder: Path, world: World) -> None:
    """A collection that learns its topic from example pages in files, so that only the crawl asks the server."""
    for name, other, count in (("good", False, EXAMPLES), ("bad", True, 2 * EXAMPLES)):
        names = []
        for number in world.some_on_topic(TOPIC, count, other=other):
            path = folder / f"{name}-{number}.html"
            path.write_bytes(world.html(number))
            names.append(path.name)
        (folder / f"{name}.txt").write_text("\n".join(names))
    (folder / "seeds.txt").write_text(world.url(0))
    files = ("--examples", "good.txt", "--negatives", "bad.txt", "--seeds", "seeds.txt")
    subprocess.run([*LYCOSA, "new", "bench", *files], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def lycosa_command(pages: int) -> list[str]:
    """The whole focused crawl: SVM, best-first, WARC, catalog, search index."""
    bounds = (
        "--strategy",
        "best-first",
        "--pages",
        str(pages),
        "--dry-after",
        "0",
        "--delay",
        "0",
        "--concurrency",
        "64",
    )
    return [*LYCOSA, "crawl", "bench", *bounds, "--allow-private", "--quiet"]


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        yield Path(folder)


def crawl_with_lycosa(served: ServedWorld, pages: int, *, limit: float, say: Callable[[str], None]) -> Cost:
    with scratch() as folder:
        make_collection(folder, served.world())
        return cost_of(lycosa_command(pages), served, limit=limit, folder=folder, say=say)


def say(line: str) -> None:
    """Progress, beside the results."""
    print(line, file=sys.stderr, flush=True)
