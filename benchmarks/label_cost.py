"""What a label costs in a large collection, and what `lycosa show` costs after it: processor time of whole commands.

    python benchmarks/label_cost.py [--pages 10000] [--labels 6] [--folder FOLDER]

Each label is a command of its own: it loads the program, trains the model again and scores every page again. The first
one is left out, as it keeps words that the following ones read.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from measure import EXAMPLES, LYCOSA, TOPIC, with_bytecode
from world import serving


def make_collection(folder: Path, pages: int) -> None:
    """Crawls a collection from examples alone."""
    with serving(2 * pages) as served:
        world = served.world()
        names = []
        for number in world.some_on_topic(TOPIC, EXAMPLES):
            names.append(f"good-{number}.html")
            (folder / names[-1]).write_bytes(world.html(number))
        (folder / "good.txt").write_text("\n".join(names))
        (folder / "seeds.txt").write_text(world.url(0))
        run(folder, "new", "bench", "--examples", "good.txt", "--seeds", "seeds.txt")
        options = ("--dry-after", "0", "--delay", "0", "--concurrency", "64", "--allow-private", "--quiet")
        run(folder, "crawl", "bench", "--pages", str(pages), *options)


def run(folder: Path, *words: str) -> float:
    """Runs a command of Lycosa; returns its processor time in seconds, user and system."""
    process = subprocess.Popen((*LYCOSA, *words), cwd=folder, stdout=subprocess.DEVNULL, env=with_bytecode())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"lycosa {' '.join(words)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--labels", type=int, default=6)
    parser.add_argument("--folder", type=Path, help="take a copy of this collection instead of crawling one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lycosa-labels-") as name:
        folder = Path(name)
        if given.folder:
            shutil.copytree(given.folder, folder / "bench")
        else:
            make_collection(folder, given.pages)
        with closing(sqlite3.connect(folder / "bench" / "catalog.sqlite")) as catalog:
            urls = [
                url for (url,) in catalog.execute("SELECT url FROM pages ORDER BY url LIMIT ?", (given.labels + 1,))
            ]
            (pages,) = catalog.execute("SELECT count(*) FROM pages").fetchone()
        labels, shows = [], []
        for number, url in enumerate(urls):
            labels.append(run(folder, "label", "bench", url, "--bad" if number % 2 else "--good"))
            shows.append(run(folder, "show", "bench"))
        print(f"{pages} pages, CPU seconds, median of {given.labels} (least): ", end="")
        print(f"label {statistics.median(labels[1:]):.2f} ({min(labels[1:]):.2f})", end=", ")
        print(f"show after it {statistics.median(shows[1:]):.2f} ({min(shows[1:]):.2f}), ", end="")
        print(f"lycosa --version {min(run(folder, '--version') for _ in range(3)):.2f}")


if __name__ == "__main__":
    main()
