"""Does a page cost more in a large collection than in a small one, and does memory grow?

python benchmarks/growth.py [--pages 20000] [--strategy NAME] [--out growth.svg]

One whole focused crawl from examples alone, which is killed (kill -9) in the middle and continued. Twenty times on the
way, processor time, memory and open files of the process and the size of the collection are read. The ratios compare
the end with the first tenth. At the end, the catalog is checked: every page is there once.
"""

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lycosa.pictures import Series, line_chart
from measure import BEST_FIRST, lycosa_command, make_collection, say, scratch, with_bytecode
from world import ServedWorld, serving

SAMPLES = 20
TICK = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """What a crawl has cost so far, and what it takes now."""

    pages: int
    cpu: float  # seconds, user and system, of both processes
    rss: float  # MB
    files: int  # open ones, sockets included
    disk: float  # MB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--limit", type=float, default=7_200.0, help="seconds the crawl may take")
    parser.add_argument("--strategy", default=BEST_FIRST, help="empty for the default one")
    parser.add_argument("--out", type=Path, help="SVG to draw memory by pages in")
    options = parser.parse_args()
    with serving(2 * options.pages) as served, scratch() as folder:
        make_collection(folder, served.world())
        samples = list(crawl(folder, served, options.pages, options.strategy, limit=options.limit))
        check_catalog(folder / "bench" / "catalog.sqlite", options.pages)
    if len(samples) <= SAMPLES // 2:
        sys.exit("the crawl ended before it was killed; give more pages")
    early, late = samples[SAMPLES // 10 - 1], samples[-1]
    print("| pages | CPU ms/page so far | CPU ms/page since the line above | RSS MB | open files | MB on disk |")
    print("|---:|---:|---:|---:|---:|---:|")
    for before, now in pairwise([Sample(0, 0.0, 0.0, 0, 0.0), *samples]):
        since = 1000 * (now.cpu - before.cpu) / max(1, now.pages - before.pages)
        print(f"| {now.pages} | {per_page(now):.2f} | {since:.2f} | {now.rss:.0f} | {now.files} | {now.disk:.0f} |")
    print(
        f"| ratio, {late.pages} to {early.pages} | {per_page(late) / per_page(early):.2f} | |"
        f" {late.rss / early.rss:.2f} | {late.files / max(1, early.files):.2f} | |"
    )
    print(f"Killed at {samples[len(samples) // 2 - 1].pages} pages and continued; every page is in the catalog once.")
    if options.out:
        memory = [(sample.pages / 1000, sample.rss) for sample in samples]
        title = "Memory of a crawl that was killed in the middle and continued"
        chart = line_chart([Series("RSS", memory)], title=title, x_title="thousand pages", y_title="MB")
        options.out.write_text(chart, encoding="utf-8")


def per_page(sample: Sample) -> float:
    return 1000 * sample.cpu / max(1, sample.pages)


def crawl(folder: Path, served: ServedWorld, pages: int, strategy: str, *, limit: float) -> Iterator[Sample]:
    """Samples of a crawl at equal steps; it is killed after half of them and continued."""
    spent, number, began = 0.0, 1, time.monotonic()
    process = started(folder, pages, strategy)
    while number <= SAMPLES:
        if time.monotonic() - began > limit:
            process.kill()
            process.wait()
            sys.exit(f"not done after {limit:.0f} s, {served.count()} pages")
        last = read_sample(process.pid, served, folder, spent)
        if last is None:  # it has ended
            break
        if last.pages >= number * pages // SAMPLES:
            say(f"  {last.pages} pages after {time.monotonic() - began:.0f} s, {last.rss:.0f} MB")
            yield last
            if number == SAMPLES // 2:
                process.send_signal(signal.SIGKILL)
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = -signal.SIGKILL
                spent += usage.ru_utime + usage.ru_stime
                process = started(folder, pages, strategy)
            number += 1
        time.sleep(0.02)
    if process.wait(limit):
        sys.exit(f"the crawl failed with {process.returncode}: {(folder / 'log.txt').read_text()[-500:]}")


def started(folder: Path, pages: int, strategy: str) -> "subprocess.Popen[bytes]":
    command = lycosa_command(pages, strategy)
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=with_bytecode())


def read_sample(pid: int, served: ServedWorld, folder: Path, spent: float) -> Sample | None:
    """What the process takes now; None if it has ended.

    spent: processor time of processes before it.
    """
    process = Path("/proc", str(pid))
    try:
        times = (process / "stat").read_text().rpartition(")")[2].split()
        lines = (process / "status").read_text().splitlines()
        rss = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
        files = sum(1 for _ in (process / "fd").iterdir())
    except (OSError, StopIteration):  # without VmRSS, it has ended and waits to be collected
        return None
    disk = sum(path.stat().st_size for path in (folder / "bench").rglob("*") if path.is_file()) / 1e6
    return Sample(served.count(), spent + (int(times[11]) + int(times[12])) / TICK, rss, files, disk)


def check_catalog(catalog: Path, pages: int) -> None:
    """Exits if pages are missing or there twice."""
    with closing(sqlite3.connect(catalog)) as connection:
        stored, distinct = connection.execute("SELECT count(*), count(DISTINCT url) FROM pages").fetchone()
        sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if not pages <= stored == distinct or sound != "ok":
        sys.exit(f"the catalog has {stored} pages, {distinct} distinct ones, of {pages}; integrity: {sound}")


if __name__ == "__main__":
    main()
