"""Where the time of a page goes: processor time of every stage between a fetch and a collection that can be searched.

python benchmarks/stages.py [--pages 500] [--rounds 3]

The judge is the one of a crawl from examples alone. Each stage runs alone over the same pages; the best of the rounds
counts. Network and event loop are not in here, nor is training. Below what a crawl costs stands what is done later, if
somebody asks for it.
"""

import argparse
import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from inspect import isfunction
from pathlib import Path
from typing import Any

from lycosa.collection.archive import Archive
from lycosa.collection.catalog import Catalog
from lycosa.collection.page_words import CachedWords, PageWords
from lycosa.collection.search_index import SearchIndex
from lycosa.frontier.durable import DurableFrontier
from lycosa.reading import Reader, main_text, reader
from lycosa.reading.words import terms_of
from lycosa.relevance import background
from lycosa.relevance.positive_unlabelled import MAX_UNLABELLED, train_from_positives
from lycosa.relevance.svm import LinearModel
from lycosa.relevance.term_counts import PageCounts
from lycosa.strategies.best_first import BestFirst
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, Url, Visit
from lycosa.vocabulary.text import tokens_of
from lycosa.vocabulary.urls import host_of
from lycosa.web.encodings import decoded
from measure import EXAMPLES, TOPIC, say
from world import World

SAVED_EVERY = 500  # pages, as in a crawl
LATER = ("search index (by the first search)", "main text (when asked for)")  # no part of a long crawl
Stage = Callable[[Path, list[Visit]], None]


def fetch_of(world: World, number: int) -> Fetch:
    """A page as it arrives from the network."""
    body = world.html(number)
    headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body))))
    return Fetch(Url(world.url(number)), Outcome.OK, time.time(), 200, "OK", headers=headers, body=body, content=body)


def page_of(fetch: Fetch) -> Page:
    page = Reader()(fetch)
    assert page is not None
    return page


def model_of(world: World) -> LinearModel:
    good, crawled = (
        [page_of(fetch_of(world, number)).terms for number in world.some_on_topic(TOPIC, count, other=other)]
        for other, count in ((False, EXAMPLES), (True, MAX_UNLABELLED))
    )
    return train_from_positives(good, [], crawled, [terms_of(tokens_of(text)) for text in background()])


def visits_of(world: World, model: LinearModel, count: int) -> list[Visit]:
    """Pages read and judged."""
    chance = random.Random(1)
    visits = []
    for number in chance.sample(range(1, world.pages), count):
        fetch = fetch_of(world, number)
        relevance = model.relevance(page_of(fetch))
        page = page_of(fetch)  # another one, whose words nobody has counted yet
        candidate = Candidate(fetch.url, chance.random(), Url(world.url(0)), "an anchor", {"page": 0.5}, 2)
        visits.append(Visit(candidate, fetch, page, relevance))
    return visits


def reading(visits: list[Visit]) -> dict[str, float]:
    """Seconds in each function of `lycosa.reading` that the reader calls, and in the reader itself."""
    spent: Counter[str] = Counter()
    functions = {
        name: function
        for name, function in vars(reader).items()
        if isfunction(function) and function.__module__.startswith("lycosa.reading.")
    }
    own = [name for name, function in functions.items() if function.__module__ == reader.__name__]
    for name in own:
        del functions[name]

    def with_stopwatch(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*values: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return function(*values, **options)
            finally:
                spent[f"reading: {name}"] += time.process_time() - began

        return timed

    for name, function in functions.items():
        setattr(reader, name, with_stopwatch(name, function))
    began = time.process_time()
    for visit in visits:
        page_of(visit.fetch)
    whole = time.process_time() - began
    for name, function in functions.items():
        setattr(reader, name, function)
    return {**spent, "reading: the rest": whole - sum(spent.values())}


def judging(model: LinearModel) -> Stage:
    def work(folder: Path, visits: list[Visit]) -> None:
        for visit in visits:
            if visit.page:
                model.relevance(visit.page)

    return work


def kept_words(folder: Path, visits: list[Visit]) -> None:
    words = PageWords(folder / "words.sqlite", made_by="benchmark")
    for number, visit in enumerate(visits, 1):
        if visit.page:
            words.put(CachedWords(number, visit.fetch.at, *PageCounts.of(visit.page)))
    words.commit()
    words.close()


def frontier(folder: Path, visits: list[Visit]) -> None:
    connection = sqlite3.connect(folder / "frontier.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    strategy = BestFirst()
    waiting = DurableFrontier(connection, clock=WallClock(), delay=0.0)
    waiting.rank_by(strategy)
    for number, visit in enumerate(visits, 1):
        waiting.settle(visit.candidate.url)
        strategy.learn(visit)
        waiting.put(strategy.propose(visit))
        taken = waiting.take(time.time())
        if taken is not None:
            waiting.settle(taken.url)
        if number % SAVED_EVERY == 0:
            waiting.save()
            connection.commit()
    waiting.save()
    connection.commit()
    connection.close()


def archive(folder: Path, visits: list[Visit]) -> None:
    written = Archive(folder / "archive", software="benchmark", clock=WallClock(), decode=decoded, writable=True)
    for visit in visits:
        written.append(visit)
    written.close()


def catalog(folder: Path, visits: list[Visit]) -> None:
    tables = Catalog(folder / "catalog.sqlite", writable=True)
    for number, visit in enumerate(visits, 1):
        tables.add(visit, None)
        if number % SAVED_EVERY == 0:
            tables.commit(None)
    tables.commit(None)
    tables.close()


def search_index(folder: Path, visits: list[Visit]) -> None:
    index = SearchIndex(folder / "search", text_of=lambda url: "")
    for visit in visits:
        if visit.page:
            index.add(visit.fetch.url, host_of(visit.fetch.url), visit.page.title, visit.page.main)
    index.commit()
    index.close()


def main_texts(folder: Path, visits: list[Visit]) -> None:
    for visit in visits:
        main_text(visit.fetch.content.decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    world = World(pages=max(2_000, 2 * options.pages), port=8000)
    model = model_of(world)
    visits = visits_of(world, model, options.pages)
    stages: dict[str, Stage] = {
        "judging": judging(model),
        "words kept": kept_words,
        "frontier and strategy": frontier,
        "archive": archive,
        "catalog": catalog,
        LATER[0]: search_index,
        LATER[1]: main_texts,
    }
    best: dict[str, float] = {}
    for number in range(1, options.rounds + 1):
        say(f"round {number} of {options.rounds}")
        seconds = reading(visits)
        for name, work in stages.items():
            with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
                began = time.process_time()
                work(Path(folder), visits)
                seconds[name] = time.process_time() - began
        best = {name: min(spent, best.get(name, spent)) for name, spent in seconds.items()}
    print("| stage | CPU ms/page |\n|---|---:|")
    in_crawl = [name for name in best if name not in LATER]
    for name in in_crawl:
        print(f"| {name} | {1000 * best[name] / options.pages:.3f} |")
    print(f"| a crawl, together | {1000 * sum(best[name] for name in in_crawl) / options.pages:.3f} |")
    for name in LATER:
        print(f"| {name} | {1000 * best[name] / options.pages:.3f} |")


if __name__ == "__main__":
    main()
