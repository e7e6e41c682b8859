"""What do maps cost: to build, to extend by another crawl, to look something up in, to crawl by; and a taxonomy?

python benchmarks/map_cost.py [--pages 100000] [--links 1000000] [--new 15000] [--reach mixed] [--crawled 15000]

Pages by made-up URLs on few sites, links spread as on the Web: few pages have many. An atlas is written from them, then
a crawl is taken in of which half the pages are new. Then strategies hear of a crawl of 15 000 pages with 15 links
each, a little over half of them relevant and half of them in the map, as crawls by a map are: the baseline and `mapped`
in turns, the median of their ratios. Last, a taxonomy judges pages of 300 words, from their text and with their words
counted before. Times are processor time of this process, memory is its largest.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.maps import REACHES, Atlas, Sighting, UrlMap
from lycosa.reading import page_of_text
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.strategies import BaselineFocused, Mapped
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Url, Visit

LOOK_UPS = 100_000
LINKS_OF_A_PAGE = 15
TOPICS = 22  # as the larger taxonomy of the paper has, with others


def url_of(number: int) -> Url:
    return Url(f"http://site{number % 997}.example.org/section-{number % 31}/page-{number}.html")


def links_among(first: int, last: int, count: int, *, seed: int) -> Iterator[tuple[Url, Url]]:
    """Links between pages of a range, the earlier of them having more."""
    random = np.random.default_rng(seed)
    sources = first + ((last - first) * random.random(count) ** 3).astype(int)
    targets = random.integers(first, last, count)
    return ((url_of(source), url_of(target)) for source, target in zip(sources.tolist(), targets.tolist(), strict=True))


def seconds_of(job: Callable[[], None]) -> float:
    began = time.process_time()
    job()
    return time.process_time() - began


def take_in(path: Path, first: int, last: int, links: int, options: argparse.Namespace) -> None:
    good = {url_of(number): Sighting(float(last), f"crawl-{first}") for number in range(first, last)}
    with Atlas(path, writable=True) as atlas:
        atlas.extend("bees", good, links_among(first, last, links, seed=first), at=float(last), reach=options.reach)


def look_up(crawl_map: UrlMap, urls: list[Url]) -> float:
    """Microseconds of one, as a crawl does it."""
    spokes, portal_of = crawl_map.spokes, crawl_map.portal_of
    return 1e6 * seconds_of(lambda: [spokes.get(url) or portal_of.get(url) for url in urls] and None) / len(urls)


def a_crawl(pages: int, crawled: int) -> list[Visit]:
    """Visits of pages, half of them in the map."""
    random = np.random.default_rng(2)
    words = page_of_text(Url(""), "", "").words
    visits = []
    for number in random.integers(0, 2 * pages, crawled).tolist():
        url = url_of(number)
        links = tuple(Link(url_of(target)) for target in random.integers(0, 2 * pages, LINKS_OF_A_PAGE).tolist())
        relevance = 0.99 if random.random() < 0.55 else 0.01
        page = Page(url, "", "", "", words, links)
        visits.append(Visit(Candidate(url, 0.6, depth=3), Fetch(url, Outcome.OK, 1.0), page, relevance=relevance))
    return visits


def hears(strategy: Strategy, visits: list[Visit]) -> float:
    """Microseconds a page that a strategy takes to learn from visits and propose candidates."""

    def all_of_them() -> None:
        for visit in visits:
            strategy.learn(visit)
            list(strategy.propose(visit))

    return 1e6 * seconds_of(all_of_them) / len(visits)


def hears_and_queues(strategy: Strategy, visits: list[Visit]) -> float:
    """The same with its queue, as studies time strategies."""
    frontier = SequentialFrontier()
    frontier.rank_by(strategy)

    def all_of_them() -> None:
        for visit in visits:
            frontier.settle(visit.candidate.url)
            strategy.learn(visit)
            frontier.put(strategy.propose(visit))
            frontier.take()

    return 1e6 * seconds_of(all_of_them) / len(visits)


def beside_the_baseline(
    measured: Callable[[Strategy, list[Visit]], float], crawl_map: UrlMap, visits: list[Visit], rounds: int
) -> tuple[float, float]:
    """The baseline's cost, and that of `mapped` as a multiple of it."""
    turns = [
        (measured(BaselineFocused(), visits), measured(Mapped(crawl_map=crawl_map), visits)) for _ in range(rounds)
    ]
    return median(alone for alone, _ in turns), median(mapped / alone for alone, mapped in turns)


def texts(count: int) -> list[Page]:
    """Pages of 300 words, the commonest in most of them."""
    random = np.random.default_rng(3)
    ranks = (20_000 ** random.random((count, 300))).astype(int).tolist()
    return [page_of_text(Url(""), "", " ".join(f"word{rank}" for rank in page)) for page in ranks]


def judges(taxonomy: Taxonomy, pages: list[Page]) -> float:
    """Microseconds a page for the chances of all topics."""
    return 1e6 * seconds_of(lambda: [taxonomy.probabilities(page) for page in pages] and None) / len(pages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--new", type=int, default=15_000, help="pages of the second crawl")
    parser.add_argument("--reach", choices=REACHES, default="mixed")
    parser.add_argument("--crawled", type=int, default=15_000, help="pages of the crawl that strategies hear of")
    parser.add_argument("--rounds", type=int, default=15, help="turns of the strategies")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "atlas"
        per_page = options.links // options.pages
        first = options.pages - options.new // 2
        built = seconds_of(lambda: take_in(path, 0, options.pages, options.links, options))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        extended = seconds_of(lambda: take_in(path, first, first + options.new, options.new * per_page, options))
        size = path.stat().st_size
        with Atlas(path) as atlas:
            loaded = seconds_of(lambda: atlas.crawl_map("bees") and None)
            crawl_map = atlas.crawl_map("bees")
            facts = atlas.facts("bees")
    random = np.random.default_rng(1)
    any_page = [url_of(number) for number in random.integers(0, options.pages, LOOK_UPS).tolist()]
    portals = list(crawl_map.portals)[:1000]
    print(f"{facts.pages} pages, {facts.portals} portals, {size / facts.pages:.0f} bytes a page\n")
    print("| | |\n|---|---:|")
    print(f"| build, s | {built:.2f} |\n| memory, MB | {memory:.0f} |")
    print(f"| take in {options.new} pages, s | {extended:.2f} |")
    print(f"| taking in, as a share of building | {extended / built:.2f} |\n| load for a crawl, s | {loaded:.2f} |")
    print(f"| look up a page, µs | {look_up(crawl_map, any_page):.2f} |")
    print(f"| look up a portal, µs | {look_up(crawl_map, portals):.2f} |")
    visits = a_crawl(options.pages, options.crawled)
    for said, measured in (("strategy a page", hears), ("strategy and queue a page", hears_and_queues)):
        alone, mapped = beside_the_baseline(measured, crawl_map, visits, options.rounds)
        print(f"| {said}, baseline-focused, µs | {alone:.2f} |\n| the same, mapped, as a multiple | {mapped:.2f} |")
    taxonomy = Taxonomy.train({f"topic {number}": texts(50) for number in range(TOPICS)})
    pages = texts(2_000)
    for said in ("words and chances of a page", "chances alone"):
        print(f"| {said}, {TOPICS} topics, µs | {judges(taxonomy, pages):.0f} |")


if __name__ == "__main__":
    main()
