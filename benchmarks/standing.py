"""What does it cost to tell how well a page stands, beside telling how well it fits?

python benchmarks/standing.py [--pages 1000] [--rounds 3]

Pages of a synthetic world whose tokens are at hand; models learnt from 250 good and 250 bad pages. Every round has
pages whose terms nobody has counted yet, so that the first who asks pays for it; the best of some rounds.
"""

import argparse
from collections.abc import Callable, Iterator
from time import perf_counter

from lycosa.reading.words import FoldedWords
from lycosa.relevance import train
from lycosa.standing import FeatureExtractor, learn
from lycosa.standing import features as each
from lycosa.vocabulary.records import Page
from lycosa.vocabulary.text import folded
from lycosa_lab.worlds.synthetic import SyntheticWorld


def pages_of(world: SyntheticWorld, first: int, count: int) -> list[Page]:
    return [page for number in range(first, first + count) if (page := world.read(world.url(number))) is not None]


def fresh(pages: list[Page], *, stem: bool) -> list[Page]:
    """The same pages with tokens and nothing else made of their words; a reader has looked at the codes."""
    made = [
        Page(page.url, page.title, page.text, page.main, FoldedWords(folded(page.text), stem=stem), page.links)
        for page in pages
    ]
    for page in made:
        _ = page.tokens, page.words.length
    return made


def best_of(rounds: int, pages: Callable[[], list[Page]], work: Callable[[Page], object]) -> float:
    """Milliseconds for a page in the quickest round."""
    times = []
    for _ in range(rounds):
        given = pages()
        began = perf_counter()
        for page in given:
            work(page)
        times.append(perf_counter() - began)
    return 1e3 * min(times) / len(given)


def parts(features: FeatureExtractor) -> dict[str, Callable[[Page], object]]:
    return {
        "volume": each.information_volume,
        "location": lambda page: each.information_location(page.url),
        "specificity": lambda page: features.specificity(page.words.term_counts),
        "brokerage": each.information_brokerage,
        "link ratio": each.link_ratio,
        "quantitative ratio": each.quantitative_ratio,
        "traffic": lambda page: features.traffic.of(page.url),
    }


def rows(world: SyntheticWorld, count: int, rounds: int, *, stem: bool) -> Iterator[tuple[str, float]]:
    """What is measured, and the milliseconds it takes for a page."""
    good, bad, pages = pages_of(world, 0, 250), pages_of(world, 250, 250), pages_of(world, 1000, count)
    statuses = [world.log_in_links(page.url) or 0.0 for page in good]
    relevance = train(fresh(good, stem=stem), fresh(bad, stem=stem))
    model = learn(
        zip(fresh(good, stem=stem), statuses, strict=True),
        background=fresh(bad, stem=stem),
        traffic=world.site_traffic(),
    )
    judged = fresh(pages, stem=stem)
    for page in judged:
        relevance.relevance(page)
    for name, part in parts(model.features).items():
        yield name, best_of(rounds, lambda: judged, part)
    yield "standing, after relevance", best_of(rounds, lambda: judged, model.standing)
    yield "relevance", best_of(rounds, lambda: fresh(pages, stem=stem), relevance.relevance)
    yield (
        "relevance and standing",
        best_of(
            rounds, lambda: fresh(pages, stem=stem), lambda page: (relevance.relevance(page), model.standing(page))
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    world = SyntheticWorld(pages=asked.pages + 1000)
    print("| a page | stemmed | ms |\n|---|---|---:|")
    for stem in (True, False):
        for name, milliseconds in rows(world, asked.pages, asked.rounds, stem=stem):
            print(f"| {name} | {'yes' if stem else 'no'} | {milliseconds:.4f} |")


if __name__ == "__main__":
    main()
