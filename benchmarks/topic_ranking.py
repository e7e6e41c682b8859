"""How well do judges of pages rank the articles of a subject before others: by words, by word vectors, by both?

python benchmarks/topic_ranking.py ARCHIVE [--subjects 24] [--articles 36] [--draws 2] [--seed 1]
    [--tops Art,IT] [--stem] [--each]

ARCHIVE is wikipedia-schools-2007-html.tar.xz, Wikipedia for Schools 2007. Subjects are drawn from its index, with up to
so many articles of each; articles are read without the line that names their subjects. Each subject in its turn is the
topic, given by

    words       the name of the subject
    positives   10 of its articles, or half of them if these are fewer
    negatives   these, and 40 articles of other subjects

and all articles that were not given are ranked. The figure is the average precision: the mean, over the articles of the
subject, of the share of its articles among those ranked up to there; with the standard error over subjects. Subjects
that are as good as each other's parts (Art/Artists, People/Artists) share articles, and these count for both.

"crawl" means that the judge may learn from the ranked pages themselves, unlabelled, as it may from pages of a crawl.
"""

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import numpy as np

from lycosa.reading.reader import page_of_html, page_of_text
from lycosa.relevance import Cosine, background, train, train_from_positives
from lycosa.relevance.embedding import Direction, Vectors, shipped_table
from lycosa.vocabulary.records import Page, Url
from lycosa_lab.worlds.wikipedia_schools import WikipediaSchools

POSITIVES, NEGATIVES = 10, 40
FEWEST_ARTICLES = 25
DEVELOPMENT = ("Art", "Business_Studies", "Citizenship", "Countries", "IT", "Religion")  # judges may be tuned on these
SUBJECT_LINE = re.compile(rb'<h3 id="siteSub">.*?</h3>', re.DOTALL)

Scores = Sequence[float] | np.ndarray


def average_precision(scores: Scores, is_good: np.ndarray) -> float:
    ranked = is_good[np.argsort(-np.asarray(scores), kind="stable")]
    return float((ranked.cumsum() / np.arange(1, len(ranked) + 1))[ranked].mean())


def standardised(scores: Scores) -> np.ndarray:
    return (np.asarray(scores) - np.mean(scores)) / (np.std(scores) or 1.0)


def top_of(name: str) -> str:
    return name.partition("/")[0]


class Corpus:
    """Some subjects of the archive, and the articles drawn from them."""

    def __init__(self, archive: Path, *, subjects: int, articles: int, tops: Sequence[str], stem: bool, seed: int):
        world, chance = WikipediaSchools(path=str(archive)), random.Random(seed)
        listed = {category.name: sorted({entry.url for entry in category.entries}) for category in world.directory()}
        large = [name for name in sorted(listed) if len(listed[name]) >= FEWEST_ARTICLES]
        wanted = [name for name in large if (top_of(name) in tops if tops else top_of(name) not in DEVELOPMENT)]
        self.subjects = sorted(chance.sample(wanted, min(subjects, len(wanted))))
        drawn: set[Url] = set()
        for name in self.subjects:
            drawn.update(chance.sample(listed[name], min(articles, len(listed[name]))))
        self.pages = [self._page(world, url, stem=stem) for url in sorted(drawn)]
        self.is_good = {name: np.array([page.url in listed[name] for page in self.pages]) for name in self.subjects}
        self.background = [page_of_text(Url("text:"), "", text, stem=stem) for text in background()]
        table = shipped_table()
        self.vectors = np.stack([table.of_page(page) for page in self.pages])
        self.background_vectors = table.background

    @staticmethod
    def _page(world: WikipediaSchools, url: Url, *, stem: bool) -> Page:
        content = world.page(url)
        assert content is not None
        return page_of_html(url, SUBJECT_LINE.sub(b"", content).decode("utf-8", "replace"), stem=stem)


def by_words(corpus: Corpus, name: str) -> dict[str, float]:
    """The average precision of each judge that knows the name of the subject alone."""
    topic = page_of_text(Url("topic:"), "", name.split("/")[-1].replace("_", " "))
    cosine, is_good = Cosine(topic.text), corpus.is_good[name]
    direction = Direction.of_words(shipped_table().of_page(topic), corpus.background_vectors)
    words, vectors = [cosine.relevance(page) for page in corpus.pages], direction.similarity(corpus.vectors)
    both = standardised(words) + standardised(vectors)
    found = {"words: cosine": words, "vectors": vectors, "both": both}
    return {f"words | {judge}": average_precision(scores, is_good) for judge, scores in found.items()}


def by_examples(corpus: Corpus, name: str, chance: random.Random) -> dict[str, float]:
    """The average precision of each judge that knows examples."""
    is_good = corpus.is_good[name]
    good, bad = (np.flatnonzero(is_good == kind).tolist() for kind in (True, False))
    positives, negatives = (
        chance.sample(good, min(POSITIVES, len(good) // 2)),
        chance.sample(bad, min(NEGATIVES, len(bad) // 2)),
    )
    ranked = np.setdiff1d(np.arange(len(is_good)), positives + negatives)
    pages = [corpus.pages[place] for place in ranked]
    examples, others = ([corpus.pages[place] for place in places] for places in (positives, negatives))
    models = {
        "positives | words: SVM": train(examples, corpus.background),
        "positives, crawl | words: SVM, retrained": train_from_positives(
            *([page.terms for page in kind] for kind in (examples, (), pages, corpus.background))
        ),
        "negatives | words: SVM": train(examples, others),
    }
    origins: dict[str, Vectors] = {
        "positives": corpus.background_vectors,
        "positives, crawl": corpus.vectors[ranked],
        "negatives": corpus.vectors[negatives],
    }
    found: dict[str, float] = {}
    for (judge, model), (given, origin) in zip(models.items(), origins.items(), strict=True):
        words = [model.distance(page.terms) for page in pages]
        vectors = Direction.of_examples(corpus.vectors[positives], origin).similarity(corpus.vectors[ranked])
        for label, scores in (
            (judge, words),
            (f"{given} | vectors", vectors),
            (f"{given} | both", standardised(words) + standardised(vectors)),
        ):
            found[label] = average_precision(scores, is_good[ranked])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--subjects", type=int, default=24)
    parser.add_argument("--articles", type=int, default=36, help="drawn from each subject")
    parser.add_argument("--draws", type=int, default=2, help="of examples")
    parser.add_argument("--tops", default="", help="top-level subjects to draw from; else all not used in development")
    parser.add_argument("--stem", action="store_true", help="judge words by their stems")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="print every subject")
    options = parser.parse_args()
    tops = [top for top in options.tops.split(",") if top]
    corpus = Corpus(
        options.archive,
        subjects=options.subjects,
        articles=options.articles,
        tops=tops,
        stem=options.stem,
        seed=options.seed,
    )
    found: dict[str, list[float]] = defaultdict(list)
    for name in corpus.subjects:
        draws = [
            by_examples(corpus, name, random.Random(f"{name} {options.seed} {draw}")) for draw in range(options.draws)
        ]
        row = by_words(corpus, name) | {judge: float(np.mean([draw[judge] for draw in draws])) for judge in draws[0]}
        for judge, figure in row.items():
            found[judge].append(figure)
        if options.each:
            print(name, *(f"{figure:.2f}" for figure in row.values()), flush=True)
    print(f"{len(corpus.subjects)} subjects, {len(corpus.pages)} articles, {options.draws} draws of examples\n")
    print("| given | judge | average precision | SE |\n|---|---|---:|---:|")
    for judge, figures in found.items():
        error = np.std(figures, ddof=1) / sqrt(len(figures)) if len(figures) > 1 else float("nan")
        print(f"| {judge} | {np.mean(figures):.3f} | {error:.3f} |")


if __name__ == "__main__":
    main()
