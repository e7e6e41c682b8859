"""How much memory waiting URLs take: fills the frontier of a crawl, on disk as in a crawl, and looks.

python benchmarks/frontier_memory.py [--urls 1000000] [--hosts 1000] [--strategy NAME] [--out memory.svg]

With --strategy, a strategy ranks the links of pages, and its own memory counts too; run it once per strategy to compare
them. Otherwise the frontier is filled with links that are ranked already.
"""

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lycosa.frontier.admission import Admission
from lycosa.frontier.durable import DurableFrontier
from lycosa.pictures import Series, line_chart
from lycosa.reading import page_of_html
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.registry import find_strategy
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
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


def visits(urls: int, hosts: int, chance: random.Random) -> Iterator[Visit]:
    """The pages that those links are on."""
    for candidates in pages(urls, hosts, chance):
        first = candidates[0]
        assert first.found_on is not None
        links = "".join(f'<p>some text before <a href="{each.url}">{each.anchor}</a>' for each in candidates)
        page = page_of_html(first.found_on, links)
        yield Visit(Candidate(first.found_on, 1.0), Fetch(first.found_on, Outcome.OK, 0.0), page, first.priority)


def ranked(strategy: Strategy, urls: int, hosts: int, chance: random.Random) -> Iterator[Iterable[Candidate]]:
    """The same links, as a strategy ranks them."""
    for visit in visits(urls, hosts, chance):
        strategy.learn(visit)
        yield strategy.propose(visit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--strategy", help="the strategy that ranks the links")
    parser.add_argument("--out", type=Path, help="SVG to draw memory by waiting URLs in")
    options = parser.parse_args()
    chance = random.Random(1)
    strategy = find_strategy(options.strategy)() if options.strategy else None
    filled: Iterable[Iterable[Candidate]] = pages(options.urls, options.hosts, chance)
    if strategy is not None:
        for visit in visits(PER_PAGE, 1, random.Random(2)):  # loads what every strategy needs to read pages
            BestFirst().propose(visit)
        filled = ranked(strategy, options.urls, options.hosts, chance)
    before = resident()
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        connection = sqlite3.connect(Path(folder, "frontier.sqlite"))
        connection.execute("PRAGMA journal_mode = WAL")
        frontier = DurableFrontier(
            connection, clock=WallClock(), admission=Admission(), delay=0.0, limit=max(1, options.urls)
        )
        began = time.process_time()
        memory: list[tuple[float, float]] = [(0.0, before)]
        if strategy is not None:
            frontier.rank_by(strategy)
        for number, candidates in enumerate(filled, 1):
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
        "| waiting URLs | hosts | RSS MB | of which they take | bytes per URL | most RSS MB | µs to put one |"
        " µs to take one |\n|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    put, take = 1e6 * spent / options.urls, 1e6 * taking / max(1, taken)
    most = max(megabytes for _, megabytes in memory)
    each = 1e6 * (full - before) / max(1, options.urls)
    sizes = f"{full:.0f} | {full - before:.0f} | {each:.0f} | {most:.0f}"
    print(f"| {options.urls} | {options.hosts} | {sizes} | {put:.1f} | {take:.1f} |")
    if options.out:
        title = f"Memory of a frontier, {options.hosts:,} hosts"
        chart = line_chart([Series("RSS", memory)], title=title, x_title="million URLs that wait", y_title="MB")
        options.out.write_text(chart, encoding="utf-8")


if __name__ == "__main__":
    main()
