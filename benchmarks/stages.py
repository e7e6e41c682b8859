"""Where the time of a page goes: processor time of every stage between a fetch and a collection that can be searched.

python benchmarks/stages.py [--pages 500] [--rounds 3]

Each stage runs alone over the same pages; the best of the rounds counts. Network and event loop are not in here.
"""

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lycosa.collection.archive import Archive
from lycosa.collection.catalog import Catalog
from lycosa.collection.search_index import SearchIndex
from lycosa.frontier.durable import DurableFrontier
from lycosa.reading import Reader, main_text
from lycosa.reading.decode import decode
from lycosa.reading.fingerprint import fingerprint_of
from lycosa.reading.html import parse_html
from lycosa.reading.language import language_of
from lycosa.reading.words import terms_of, tokens_of
from lycosa.relevance.svm import train
from lycosa.strategies.best_first import BestFirst
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa.vocabulary.urls import host_of
from lycosa.web.encodings import decoded
from measure import TOPIC, say
from world import World

HTML = "text/html; charset=utf-8"
SAVED_EVERY = 500  # pages, as in a crawl
Stage = Callable[[Path], None]


def visits_of(world: World, count: int) -> list[Visit]:
    """Pages as they arrive from the network, read and judged."""
    reader = Reader()
    chance = random.Random(1)
    good, bad = (_texts(world, other=other) for other in (False, True))
    model = train(good, bad)
    visits = []
    for number in chance.sample(range(1, world.pages), count):
        body, url = world.html(number), Url(world.url(number))
        headers = (("Content-Type", HTML), ("Content-Length", str(len(body))))
        fetch = Fetch(url, Outcome.OK, time.time(), 200, "OK", headers=headers, body=body, content=body)
        page = reader(fetch)
        assert page is not None
        candidate = Candidate(url, chance.random(), Url(world.url(0)), "an anchor", {"page": 0.5}, 2)
        visits.append(Visit(candidate, fetch, page, model.relevance(page)))
    return visits


def _texts(world: World, *, other: bool) -> list[dict[str, int]]:
    numbers = world.some_on_topic(TOPIC, 30, other=other)
    return [terms_of(tokens_of(parse_html(world.html(n).decode(), Url(world.url(n))).text)) for n in numbers]


def stages_of(world: World, visits: list[Visit]) -> dict[str, Stage]:
    """Every stage as something that does the work for all pages, given an empty folder."""
    pages = [visit.page for visit in visits if visit.page]
    htmls = [decode(visit.fetch.content, HTML) for visit in visits]
    texts = [main_text(html) for html in htmls]
    model = train(_texts(world, other=False), _texts(world, other=True))

    def all_of(function: Callable[..., object], *columns: Iterable[object]) -> Stage:
        rows = list(zip(*columns, strict=True))

        def work(folder: Path) -> None:
            for row in rows:
                function(*row)

        return work

    return {
        "decode and parse": all_of(
            lambda fetch: parse_html(decode(fetch.content, HTML), fetch.url), [visit.fetch for visit in visits]
        ),
        "tokens": all_of(lambda page: tokens_of(f"{page.title} {page.text}"), pages),
        "terms": all_of(lambda page: terms_of(page.tokens), pages),
        "fingerprint": all_of(lambda page: fingerprint_of(page.text), pages),
        "language": all_of(lambda page: language_of(page.text, "en"), pages),
        "SVM": all_of(model.relevance, pages),
        "frontier": lambda folder: _frontier(folder, visits),
        "archive": lambda folder: _archive(folder, visits),
        "catalog": lambda folder: _catalog(folder, visits),
        "main text": all_of(main_text, htmls),
        "search index": lambda folder: _search(folder, visits, texts),
    }


def _frontier(folder: Path, visits: list[Visit]) -> None:
    connection = sqlite3.connect(folder / "frontier.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    strategy = BestFirst()
    frontier = DurableFrontier(connection, clock=WallClock(), delay=0.0)
    frontier.rank_by(strategy)
    for number, visit in enumerate(visits, 1):
        frontier.settle(visit.candidate.url)
        strategy.learn(visit)
        frontier.put(strategy.propose(visit))
        taken = frontier.take(time.time())
        if taken is not None:
            frontier.settle(taken.url)
        if number % SAVED_EVERY == 0:
            frontier.save()
            connection.commit()
    frontier.save()
    connection.commit()
    connection.close()


def _archive(folder: Path, visits: list[Visit]) -> None:
    archive = Archive(folder / "archive", software="benchmark", clock=WallClock(), decode=decoded, writable=True)
    for visit in visits:
        archive.append(visit)
    archive.close()


def _catalog(folder: Path, visits: list[Visit]) -> None:
    catalog = Catalog(folder / "catalog.sqlite", writable=True)
    for number, visit in enumerate(visits, 1):
        catalog.add(visit, None)
        if number % SAVED_EVERY == 0:
            catalog.commit(None)
    catalog.commit(None)
    catalog.close()


def _search(folder: Path, visits: list[Visit], texts: list[str]) -> None:
    index = SearchIndex(folder / "search")
    for number, (visit, text) in enumerate(zip(visits, texts, strict=True), 1):
        title = visit.page.title if visit.page else ""
        index.add(number, visit.fetch.url, host_of(visit.fetch.url), title, text, visit.relevance)
    index.commit()
    index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    world = World(pages=max(2_000, 2 * options.pages), port=8000)
    visits = visits_of(world, options.pages)
    stages = stages_of(world, visits)
    best = dict.fromkeys(stages, float("inf"))
    for number in range(1, options.rounds + 1):
        say(f"round {number} of {options.rounds}")
        for name, work in stages.items():
            with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
                began = time.process_time()
                work(Path(folder))
                best[name] = min(best[name], 1000 * (time.process_time() - began) / options.pages)
    print("| stage | CPU ms/page |\n|---|---:|")
    for name, cost in best.items():
        print(f"| {name} | {cost:.3f} |")
    print(f"| together | {sum(best.values()):.3f} |")


if __name__ == "__main__":
    main()
