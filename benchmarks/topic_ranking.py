"""How well does the judge of a crawl rank the articles of a subject before others, with word vectors and without?

python benchmarks/topic_ranking.py ARCHIVE [--subjects 24] [--articles 36] [--draws 2] [--seed 1] [--tops Art,IT]
    [--each]

ARCHIVE is wikipedia-schools-2007-html.tar.xz, Wikipedia for Schools 2007. Subjects are drawn from its index, with up to
so many articles of each; articles are read without the line that names their subjects. Each subject in its turn is the
topic, given by

    words       the name of the subject
    positives   10 of its articles, or half of them if these are fewer
    negatives   these, and 40 articles of other subjects

and all articles that were not given are ranked. The figure is the average precision: the mean, over the articles of the
subject, of the share of its articles among those ranked up to there; with the standard error over subjects. Subjects
that are as good as each other's parts (Art/Artists, People/Artists) share articles, and these count for both.

"start" is the judge before anything was crawled; "crawl" has learnt from the ranked pages themselves, unlabelled, as it
does from pages of a crawl. The cosine is that of Menczer, Pant and Srinivasan (2004).
"""

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import sqrt
from pathlib import Path
from unittest.mock import patch

import numpy as np

import lycosa.relevance.positive_unlabelled as judge
from lycosa.reading.reader import page_of_html, page_of_text
from lycosa.relevance import Cosine, background, train_from_positives
from lycosa.relevance.term_counts import TextTerms
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


def top_of(name: str) -> str:
    return name.partition("/")[0]


class Corpus:
    """Some subjects of the archive, and the articles drawn from them."""

    def __init__(self, archive: Path, *, subjects: int, articles: int, tops: Sequence[str], seed: int):
        world, chance = WikipediaSchools(path=str(archive)), random.Random(seed)
        listed = {category.name: sorted({entry.url for entry in category.entries}) for category in world.directory()}
        large = [name for name in sorted(listed) if len(listed[name]) >= FEWEST_ARTICLES]
        wanted = [name for name in large if (top_of(name) in tops if tops else top_of(name) not in DEVELOPMENT)]
        self.subjects = sorted(chance.sample(wanted, min(subjects, len(wanted))))
        drawn: set[Url] = set()
        for name in self.subjects:
            drawn.update(chance.sample(listed[name], min(articles, len(listed[name]))))
        self.pages = [self._page(world, url) for url in sorted(drawn)]
        self.is_good = {name: np.array([page.url in listed[name] for page in self.pages]) for name in self.subjects}
        self.background = [page_of_text(Url("text:"), "", text, stem=True) for text in background()]

    @staticmethod
    def _page(world: WikipediaSchools, url: Url) -> Page:
        content = world.page(url)
        assert content is not None
        return page_of_html(url, SUBJECT_LINE.sub(b"", content).decode("utf-8", "replace"), stem=True)


@contextmanager
def without_vectors() -> Iterator[None]:
    """For as long, the judge knows no vector of any word."""
    with patch.object(judge, "_score_meaning", lambda pages, kinds: None):
        yield


def figures(
    corpus: Corpus, name: str, given: str, good: Sequence[Page], bad: Sequence[Page], *, text: Page | None = None
) -> dict[str, float]:
    """The average precision of the judge that knows these pages, and the text of the topic, if given."""
    known = {page.url for page in (*good, *bad)}
    ranked = [place for place, page in enumerate(corpus.pages) if page.url not in known]
    pages, is_good = [corpus.pages[place] for place in ranked], corpus.is_good[name][ranked]
    found: dict[str, float] = {}
    for label, context in (("words and vectors", nullcontext()), ("words", without_vectors())):
        with context:
            for moment, crawled in (("start", ()), ("crawl", pages)):
                if bad and crawled:
                    continue  # with negatives there is nothing that pages of the crawl would have to stand for
                kinds = (good, bad, crawled, () if bad else corpus.background)
                examples, *others = ([page.terms for page in kind] for kind in kinds)
                model = train_from_positives([*examples, *([TextTerms(text)] if text else [])], *others)
                scores = [model.distance(page.terms) for page in pages]
                found[f"{given} | {moment} | {label}"] = average_precision(scores, is_good)
    return found


def by_words(corpus: Corpus, name: str) -> dict[str, float]:
    """The average precision of each judge that knows the name of the subject alone."""
    topic = page_of_text(Url("topic:"), "", name.split("/")[-1].replace("_", " "), stem=True)
    cosine = Cosine(topic.text)
    scores = [cosine.relevance(page) for page in corpus.pages]
    found = {"words | start | cosine": average_precision(scores, corpus.is_good[name])}
    return found | (figures(corpus, name, "words", [], [], text=topic) if topic.terms else {})


def by_examples(corpus: Corpus, name: str, chance: random.Random) -> dict[str, float]:
    """The average precision of each judge that knows examples."""
    is_good = corpus.is_good[name]
    good, bad = (np.flatnonzero(is_good == kind).tolist() for kind in (True, False))
    positives = [corpus.pages[place] for place in chance.sample(good, min(POSITIVES, len(good) // 2))]
    negatives = [corpus.pages[place] for place in chance.sample(bad, min(NEGATIVES, len(bad) // 2))]
    return figures(corpus, name, "positives", positives, []) | figures(corpus, name, "negatives", positives, negatives)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--subjects", type=int, default=24)
    parser.add_argument("--articles", type=int, default=36, help="drawn from each subject")
    parser.add_argument("--draws", type=int, default=2, help="of examples")
    parser.add_argument("--tops", default="", help="top-level subjects to draw from; else all not used in development")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="print every subject")
    options = parser.parse_args()
    tops = [top for top in options.tops.split(",") if top]
    corpus = Corpus(
        options.archive,
        subjects=options.subjects,
        articles=options.articles,
        tops=tops,
        seed=options.seed,
    )
    found: dict[str, list[float]] = defaultdict(list)
    for name in corpus.subjects:
        draws = [
            by_examples(corpus, name, random.Random(f"{name} {options.seed} {draw}")) for draw in range(options.draws)
        ]
        row = by_words(corpus, name) | {each: float(np.mean([draw[each] for draw in draws])) for each in draws[0]}
        for each, figure in row.items():
            found[each].append(figure)
        if options.each:
            print(name, *(f"{figure:.2f}" for figure in row.values()), flush=True)
    print(f"{len(corpus.subjects)} subjects, {len(corpus.pages)} articles, {options.draws} draws of examples\n")
    print("| given | when | judge | average precision | SE |\n|---|---|---|---:|---:|")
    for each, precisions in found.items():
        error = np.std(precisions, ddof=1) / sqrt(len(precisions)) if len(precisions) > 1 else float("nan")
        print(f"| {each} | {np.mean(precisions):.3f} | {error:.3f} |")


if __name__ == "__main__":
    main()
