"""What does the strategy `collaborative` cost a page, and how does that grow with the log?

python benchmarks/collaborative_cost.py [--accesses 100000 300000 1000000] [--pages 5000] [--svg growth.svg]

Logs are made up: few pages are read by many and most by few (Zipf), and few people read much; everybody has two of
twenty topics and reads three pages in four of these. A log of the largest size has 100 000 pages and 10 000 readers;
smaller ones are either the first accesses of it ("busier": the same pages and people), or have fewer of both in
proportion ("larger"). Times are processor time of the strategy and its queue, pages being there already.
"""

import argparse
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lycosa.logs.access_log import AccessLog, UrlColumn
from lycosa.pictures import Series, line_chart
from lycosa.strategies import Collaborative
from lycosa.vocabulary.records import Codes, Page, Url
from lycosa.vocabulary.text import codes_of, tokens_of
from lycosa_lab.simulation import crawl

TOPICS = 20
OWN = 0.75  # of what people read is on their topics
WORDS = 400  # of each topic
WORDS_OF_PAGE = 60
ACCESSES_OF_READER = 100
ACCESSES_OF_PAGE = 10


class MadeUpWords:
    """Words as codes alone."""

    tokens: tuple[str, ...] = ()
    numbers = 0

    def __init__(self, codes: Codes):
        self.term_counts = codes, np.ones(len(codes), np.uint64)
        self.length = len(codes)

    @property
    def terms(self) -> dict[str, int]:
        return {str(code): 1 for code in self.term_counts[0].tolist()}

    def terms_of(self, codes: Codes) -> list[str]:
        return list(map(str, codes.tolist()))

    def codes_of(self, texts: Sequence[str]) -> list[Codes]:
        return [codes_of(tokens_of(text)) for text in texts]

    @property
    def as_written(self) -> Self:
        return self


class MadeUpLog:
    """Readers of made-up pages, and the pages."""

    def __init__(self, *, accesses: int, pages: int, users: int, seed: int = 1):
        random = np.random.default_rng(seed)
        self.topic = random.integers(0, TOPICS, pages)
        popularity = 1.0 / np.arange(1, pages + 1)
        activity = 1.0 / np.arange(1, users + 1) ** 0.5
        who = random.choice(users, accesses, p=activity / activity.sum())
        interests = random.integers(0, TOPICS, (users, 2))
        what = np.empty(accesses, np.int64)
        wanted = np.where(random.random(accesses) < OWN, interests[who, random.integers(0, 2, accesses)], -1)
        for topic in range(-1, TOPICS):
            ours = np.flatnonzero(wanted == topic)
            theirs = np.flatnonzero(self.topic == topic) if topic >= 0 else np.arange(pages)
            what[ours] = random.choice(theirs, len(ours), p=popularity[theirs] / popularity[theirs].sum())
        self._who, self._what, self._when = who, what, np.sort(random.random(accesses)) * 30 * 86_400
        self._users = users

    def access_log(self, first: int) -> AccessLog:
        """The first accesses in time."""
        who, what, when = self._who[:first], self._what[:first], self._when[:first]
        pages, numbers = np.unique(what, return_inverse=True)
        urls = UrlColumn.of(map(url_of, pages.tolist()))
        return AccessLog.of_columns(urls, self._users, who.astype(np.int32), numbers.astype(np.int32), when)

    def read(self, url: Url) -> Page:
        number = number_of(url)
        random = np.random.default_rng(number)
        words = np.unique(random.integers(0, WORDS, WORDS_OF_PAGE) ** 2 // WORDS + WORDS * self.topic[number])
        return Page(url, "", "", "", MadeUpWords(words.astype(np.uint64)), ())

    def relevance(self, page: Page) -> float:
        return float(self.topic[number_of(page.url)] == 0)


def url_of(number: int) -> Url:
    return Url(f"http://site{number % 997}.example/{number}")


def number_of(url: Url) -> int:
    return int(url.rpartition("/")[2])


def cost(log: MadeUpLog, accesses: int, pages: int) -> tuple[AccessLog, NDArray[np.float64], float]:
    """The access_log, milliseconds of each page, and the share of pages on the topic."""
    access_log = log.access_log(accesses)
    steps = list(crawl(Collaborative(access_log), [], read=log.read, judge=log.relevance, pages=pages))
    return access_log, 1e3 * np.array([step.seconds for step in steps]), fmean(step.relevance for step in steps)


def rows(sizes: list[int], pages: int) -> Iterator[tuple[str, int, float]]:
    largest = max(sizes)
    busiest = MadeUpLog(accesses=largest, pages=largest // ACCESSES_OF_PAGE, users=largest // ACCESSES_OF_READER)
    print(
        "| log | accesses | pages read | readers | most readers of a page | ms a page | median | slowest | on topic |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind in ("busier", "larger"):
        for size in sizes:
            log = busiest
            if kind == "larger" and size < largest:
                log = MadeUpLog(accesses=size, pages=size // ACCESSES_OF_PAGE, users=size // ACCESSES_OF_READER)
            access_log, times, share = cost(log, size, pages)
            most = int(np.diff(access_log.users_by_url[0]).max())
            print(
                f"| {kind} | {access_log.access_count} | {len(access_log.urls)} | {access_log.users} | {most} "
                f"| {times.mean():.2f} | {np.median(times):.2f} | {times.max():.0f} | {share:.2f} |",
                flush=True,
            )
            yield kind, size, float(times.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accesses", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--pages", type=int, default=5_000, help="visited")
    parser.add_argument("--svg", type=Path, help="where to draw the growth")
    options = parser.parse_args()
    curves: dict[str, list[tuple[float, float]]] = {}
    for kind, size, milliseconds in rows(sorted(options.accesses), options.pages):
        curves.setdefault(kind, []).append((size, milliseconds))
    print(f"\nmemory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if options.svg:
        names = {"busier": "same pages and people", "larger": "pages and people in proportion"}
        series = [Series(names[kind], points) for kind, points in curves.items()]
        options.svg.write_text(line_chart(series, x_title="accesses in the log", y_title="ms of the strategy per page"))


if __name__ == "__main__":
    main()
