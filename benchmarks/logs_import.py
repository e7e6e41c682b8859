"""How quickly is an access log imported, in how much memory, and how quickly is what was imported opened?

python benchmarks/logs_import.py [--lines 2000000] [--urls 300000] [--users 20000] [--pages 0.9]

A Squid log is made up: users and URLs as unevenly read as on the Web, some lines pictures, failures or other methods.
Times are processor time of this process; memory is the largest that it had after the log had been made.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lycosa.logs import open_access_log
from lycosa.logs.imports import ImportOptions, import_logs

START = 1_700_000_000.0
BLOCK = 100_000


def write_log(path: Path, *, lines: int, urls: int, users: int, pages: float, seed: int = 1) -> None:
    random = np.random.default_rng(seed)
    at = START
    with path.open("w") as file:
        for start in range(0, lines, BLOCK):
            count = min(BLOCK, lines - start)
            who = (users * random.random(count) ** 1.2).astype(int).tolist()
            what = (urls * random.random(count) ** 2).astype(int).tolist()
            kind = random.random(count).tolist()
            gaps = random.exponential(max(0.02, 60 / users), count).cumsum() + at
            at = float(gaps[-1])
            file.writelines(
                f"{when:.3f} {80 + page % 900:6} 10.{user >> 16}.{user >> 8 & 255}.{user & 255} "
                f"{_result(chance, pages)} {500 + page % 30000} GET {_url(page)} - HIER_DIRECT/192.0.2.{page % 250} "
                f"{'text/html' if chance < pages else 'image/png'}\n"
                for when, user, page, chance in zip(gaps.tolist(), who, what, kind, strict=True)
            )


def _url(page: int) -> str:
    return f"http://site{page % 4999}.example.org/section-{page % 31}/page-{page}.html"


def _result(chance: float, pages: float) -> str:
    return "TCP_MISS/200" if chance < pages else "TCP_HIT/200" if chance < (1 + pages) / 2 else "TCP_MISS/404"


def measure(path: Path, into: Path) -> None:
    began = time.process_time()
    (done,) = import_logs([path], into, ImportOptions(max_per_day=10**9, max_per_minute=10**9), now=START * 2)
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.process_time()
    access_log = open_access_log(into)
    opened = time.process_time() - began
    began = time.process_time()
    access_log.users_of(0)
    access_log.urls_of(0)
    prepared = time.process_time() - began
    print("| | |\n|---|---|")
    print(f"| lines | {done.file.lines} |")
    print(f"| accesses, users, pages | {access_log.access_count}, {access_log.users}, {len(access_log.urls)} |")
    print(f"| lines a second | {done.file.lines / took:.0f} |")
    print(f"| largest memory of the import, MB | {peak:.0f} |")
    print(f"| file, bytes an access | {into.stat().st_size / max(1, access_log.access_count):.1f} |")
    print(f"| open, s | {opened:.3f} |")
    print(f"| first question, s | {prepared:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--urls", type=int, default=300_000)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--pages", type=float, default=0.9, help="share of lines that are page views")
    parser.add_argument("--measure", nargs=2, type=Path, metavar=("LOG", "INTO"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "access.log"
        write_log(path, lines=options.lines, urls=options.urls, users=options.users, pages=options.pages)
        command = [sys.executable, __file__, "--measure", str(path), str(Path(folder) / "made.log")]
        sys.stdout.flush()
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
