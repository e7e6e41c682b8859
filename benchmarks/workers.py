"""What a crawl by several workers costs beside one by one process: processor time, memory, bytes between the workers.

    python benchmarks/workers.py [--pages 10000] [--workers 1 2] [--rounds 1] [--strategy NAME]

Processor time of the slowest worker bounds the speed of a machine with enough cores, whatever else runs on it; the time
on the clock is that of this machine, which also serves the pages. `coordinator` is the share of one core that the
first process takes while the workers crawl.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from lycosa import api
from measure import CONCURRENCY, make_collection, say, scratch, with_bytecode
from world import serving

_TICKS = os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Reads processor time and memory of the children of this process until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.cpu: dict[int, float] = {}  # seconds, by process
        self.rss: dict[int, float] = {}  # MB, the most
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.05):
            with suppress(OSError):
                for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
                    with suppress(OSError, ValueError, StopIteration):
                        times = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                        status = Path(f"/proc/{child}/status").read_text().splitlines()
                        peak = next(line for line in status if line.startswith("VmHWM"))
                        self.cpu[int(child)] = (int(times[11]) + int(times[12])) / _TICKS
                        self.rss[int(child)] = int(peak.split()[1]) / 1024


def crawl(folder: Path, pages: int, workers: int, strategy: str) -> dict[str, Any]:
    """One crawl in this process; its figures."""
    handed_over: list[tuple[float, float]] = []  # processor time and time
    options: Any = {"strategy": strategy} if strategy else {}
    run = api.crawl(
        folder,
        pages=pages,
        workers=workers,
        dry_after=0,
        delay=0,
        concurrency=CONCURRENCY,
        allow_private=True,
        notify=lambda line: handed_over.append((time.process_time(), time.monotonic())) if "go on" in line else None,
        **options,
    )
    parallel = run.crawl() if isinstance(run, api.ParallelRun) else None
    watch, began = Watch(), time.monotonic()
    watch.start()

    async def visits() -> tuple[int, tuple[float, float]]:
        relevant, last = 0, (0.0, 0.0)
        async for visit in run if parallel is None else parallel.visits():
            relevant += bool(visit.relevance and visit.relevance >= 0.5)
            last = (time.process_time(), time.monotonic())
        return relevant, last

    relevant, last = asyncio.run(visits())
    if parallel is not None:
        with parallel.finished():
            pass
    seconds, cpu = time.monotonic() - began, time.process_time()
    watch.stopped.set()
    watch.join()
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    of_workers = sorted(watch.cpu.values())
    return {
        "seconds": seconds,
        "pages": pages,
        "relevant": relevant,
        "cpu": cpu + sum(of_workers),
        "slowest": max(of_workers, default=cpu),
        "rss": max(watch.rss.values(), default=int(peak.split()[1]) / 1024),
        "wire": 0 if parallel is None else parallel.bytes_between / pages,
        "coordinator": (last[0] - handed_over[0][0]) / (last[1] - handed_over[0][1]) if handed_over else 0.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--strategy", default="")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of one crawl, in a process of its own
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(crawl(options.folder, options.pages, options.workers[0], options.strategy)))
        return
    results: dict[int, list[dict[str, Any]]] = {workers: [] for workers in options.workers}
    with serving(2 * options.pages) as served:
        for _ in range(options.rounds):
            for workers, rounds in results.items():
                say(f"{workers} workers")
                served.reset()
                with scratch() as folder:
                    make_collection(folder, served.world())
                    command = [sys.executable, __file__, "--folder", str(folder / "bench"), "--workers", str(workers)]
                    more = ["--pages", str(options.pages), "--strategy", options.strategy]
                    done = subprocess.run([*command, *more], check=True, stdout=subprocess.PIPE, env=with_bytecode())
                rounds.append(json.loads(done.stdout))
    print("| workers | pages | CPU ms/page | slowest worker | MB | bytes/page | coordinator | pages/s | relevant |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for workers, rounds in results.items():
        of = {key: median(each[key] for each in rounds) for key in rounds[0]}
        print(
            f"| {workers} | {of['pages']:.0f} | {1000 * of['cpu'] / of['pages']:.2f} | "
            f"{1000 * of['slowest'] / of['pages']:.2f} | {of['rss']:.0f} | {of['wire']:.0f} | "
            f"{of['coordinator']:.1%} | {of['pages'] / of['seconds']:.0f} | {of['relevant']:.0f} |"
        )


if __name__ == "__main__":
    main()
