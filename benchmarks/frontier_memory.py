"""How much memory waiting URLs take: fills the frontier of a crawl, on disk as in a crawl, and looks.

python benchmarks/frontier_memory.py [--urls 1000000] [--hosts 1000] [--out memory.svg]
"""

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lycosa.frontier.admission import Admission
from lycosa.frontier.durable import DurableFrontier
from lycosa.pictures import Series, line_chart
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Url
from measure import say

PER_PAGE = 40  # links put at a time
PAGES_PER_SAVE = 500


def resident() -> float:
    """MB of memory this process has now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def pages(urls: int, hosts: int, chance: random.Random) -> Iterator[list[Candidate]]:
    """Links as a crawl finds them: those of a page share its relevance."""
    for start in range(0, urls, PER_PAGE):
        relevance = chance.random()
        found_on = Url(f"http://host{chance.randrange(hosts)}.example/found/on/page-{start}.html")
        because = {"page": round(relevance, 4)}
        yield [
            Candidate(
                Url(f"http://host{chance.randrange(hosts)}.example/section-{number % 97}/some-page-{number}.html"),
                relevance,
                found_on,
                "an anchor of some words",
                because,
                3,
            )
            for number in range(start, min(start + PER_PAGE, urls))
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--out", type=Path, help="SVG to draw memory by waiting URLs in")
    options = parser.parse_args()
    before = resident()
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        connection = sqlite3.connect(Path(folder, "frontier.sqlite"))
        connection.execute("PRAGMA journal_mode = WAL")
        frontier = DurableFrontier(
            connection, clock=WallClock(), admission=Admission(), delay=0.0, limit=max(1, options.urls)
        )
        began = time.process_time()
        memory: list[tuple[float, float]] = [(0.0, before)]
        for number, candidates in enumerate(pages(options.urls, options.hosts, random.Random(1)), 1):
            frontier.put(candidates)
            if number % PAGES_PER_SAVE == 0:
                frontier.save()
                connection.commit()
                memory.append((len(frontier) / 1e6, resident()))
                if number % (10 * PAGES_PER_SAVE) == 0:
                    say(f"{len(frontier)} waiting, {resident():.0f} MB")
        frontier.save()
        connection.commit()
        spent = time.process_time() - began
        full = resident()
        memory.append((len(frontier) / 1e6, full))
        taken = min(10_000, len(frontier))
        began = time.process_time()
        for _ in range(taken):
            candidate = frontier.take(time.time())
            assert candidate is not None
            frontier.settle(candidate.url)
        taking = time.process_time() - began
        connection.close()
    print(
        "| waiting URLs | hosts | RSS MB | of which the frontier | most RSS MB | µs to put one | µs to take one |\n"
        "|---:|---:|---:|---:|---:|---:|---:|"
    )
    put, take = 1e6 * spent / options.urls, 1e6 * taking / max(1, taken)
    most = max(megabytes for _, megabytes in memory)
    print(
        f"| {options.urls} | {options.hosts} | {full:.0f} | {full - before:.0f} | {most:.0f} | {put:.1f} | {take:.1f} |"
    )
    if options.out:
        title = f"Memory of a frontier, {options.hosts:,} hosts"
        chart = line_chart([Series("RSS", memory)], title=title, x_title="million URLs that wait", y_title="MB")
        options.out.write_text(chart, encoding="utf-8")


if __name__ == "__main__":
    main()
