"""The crawls of one topic on the test bed, each page read and scored once, and what the judges say of them."""

import random
from collections.abc import Sequence
from math import exp

from msgspec import Struct

from lycosa.reading.reader import page_of_text
from lycosa.relevance import train
from lycosa.strategies.utility import Utility
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import RELEVANT, Link, Page, Plain, Url

from .measures import Diversity, Harvest, MeanStatus, Reliability, Truth
from .side_by_side import at_points
from .simulation import Step, crawl
from .statistics import spearman
from .test_bed import Esteem, Examples, TestBed

FOLDS = 5  # each but one of which teaches the model that judges that one
POINTS = 20  # of the curves of a crawl: every 500 pages of 10 000
ALPHA_POINTS = 100
CELLS = 20  # of the map of topicality and status, each way
HIGHEST_STATUS = 8.0  # on the map: some 3 000 in-links; few pages have more

_NO_WORDS = page_of_text(Url(""), "", "").words


class Scored(Struct, frozen=True, gc=False):
    """What is kept of a page: its links, and what everybody thinks of it."""

    page: Page  # links alone, no text
    relevance: float  # as the crawler judges
    verdict: float  # as the evaluation classifier judges
    standings: tuple[float, ...]  # as the models of each source of in-links say


class TopicCrawls:
    """Crawls of one topic from its good examples, by any strategy, on scores that all of them share.

    Topicality is the share of pages that an evaluation classifier accepts; it has learnt from held-out examples.
    Status is the mean true ln(1 + in-links) of some pages of every part of the crawl.
    """

    def __init__(self, bed: TestBed, examples: Examples):
        self._bed = bed
        self.examples = examples
        self.relevance = train(bed.pages(examples.good), bed.pages(examples.bad), seed=bed.seed)
        self._as_if_unseen = _left_out(bed, examples)
        self.evaluator = train(bed.pages(examples.held_out_good), bed.pages(examples.held_out_bad), seed=bed.seed)
        self._esteems: tuple[Esteem, ...] = (bed.esteem, *((bed.other,) if bed.other else ()))
        self._models = [esteem.models[examples.topic] for esteem in self._esteems]
        self._scored: dict[Url, Scored | None] = {}
        self._links: dict[Url, Link] = {}  # one for each target: pages met often are linked to often

    def _score(self, url: Url) -> Scored | None:
        if url in self._scored:
            return self._scored[url]
        scored = self._scored[url] = self._read(url)
        return scored

    def _read(self, url: Url) -> Scored | None:
        page = self._bed.library.read(url)
        if page is None:
            return None
        links = self._links
        kept = tuple(links.setdefault(link.target, Link(link.target)) for link in page.links)
        return Scored(
            Page(url, "", "", "", _NO_WORDS, kept),
            self._as_if_unseen[url] if url in self._as_if_unseen else self.relevance.relevance(page),
            self.evaluator.relevance(page),
            tuple(model.standing(page) for model in self._models),
        )

    def read(self, url: Url) -> Page | None:
        scored = self._score(url)
        return scored.page if scored else None

    def _known(self, url: Url) -> Scored:
        scored = self._scored[url]
        assert scored is not None  # it was crawled
        return scored

    def run(self, strategy: Strategy, *, pages: int, source: int = 0) -> tuple[list[Step], list[float]]:
        """A crawl guided by what was learnt from one source of in-links, and α after each page where there is one."""
        steps: list[Step] = []
        alphas: list[float] = []
        for step in crawl(
            strategy,
            self.examples.good,
            read=self.read,
            judge=lambda page: self._known(page.url).relevance,
            standing=lambda page: self._known(page.url).standings[source],
            pages=pages,
        ):
            steps.append(step)
            if isinstance(strategy, Utility):
                alphas.append(strategy.alpha)
        return steps, alphas

    def crawled(self, strategy: Strategy, *, pages: int, source: int = 0) -> Plain:
        """A crawl and every judgement of it, by the same source of in-links as guided it."""
        return self.judged(*self.run(strategy, pages=pages, source=source), pages=pages, source=source)

    def judged(self, steps: Sequence[Step], alphas: Sequence[float], *, pages: int, source: int = 0) -> Plain:
        """The judgement of a crawl that was to bring so many pages, with status from a source of in-links."""
        bed, status = self._bed, self._esteems[source].source.status
        looked_at = self._looked_at(steps, bed.size["sampled"], bed.size["of"])
        known = {url: status(url) for url in looked_at}
        truth = Truth(
            is_relevant=lambda url: self._known(url).verdict >= RELEVANT,
            standing=known.get,
            directory_sites=bed.directory_sites,
        )
        points = points_of(pages, POINTS)
        curves = {
            name: at_points(points, measure.over(steps, truth))
            for name, measure in (
                ("topicality", Harvest),
                ("status", MeanStatus),
                ("sites", Diversity),
                ("reliability", Reliability),
            )
        }
        whole = Truth(is_relevant=lambda url: bed.world.topic(url) == self.examples.topic, standing=status)
        return {
            "pages": len(steps),
            "curves": curves,
            "alpha": at_points(points_of(pages, ALPHA_POINTS), alphas) if alphas else [],
            "true topicality": Harvest.value(steps, whole),
            "status of all pages": MeanStatus.value(steps, whole),
            "map": self._map([(self._known(url).verdict, known[url]) for url in looked_at]),
        }

    def _looked_at(self, steps: Sequence[Step], sampled: int, of: int) -> list[Url]:
        """So many pages of every so many, at random; of a last part that is shorter, as large a share."""
        chance = random.Random(f"{self._bed.seed} {self.examples.topic} sample")
        chosen: list[Url] = []
        for start in range(0, len(steps), of):
            part = steps[start : start + of]
            chosen += [step.url for step in chance.sample(part, min(len(part), -(-sampled * len(part) // of)))]
        return chosen

    def _map(self, points: Sequence[tuple[float, float | None]]) -> list[list[int]]:
        """How many pages have which topicality (columns) and status (rows); pages of higher status are left out."""
        cells = [[0] * CELLS for _ in range(CELLS)]
        for topicality, status in points:
            if status is not None and 0.0 <= status < HIGHEST_STATUS:
                column = min(CELLS - 1, int(topicality * CELLS))
                cells[int(status / HIGHEST_STATUS * CELLS)][column] += 1
        return cells

    def true_standing(self, url: Url) -> float:
        """What the standing of a page would be if its in-links were known; 0 to 1."""
        esteem = self._esteems[0]
        status = esteem.source.status(url)
        return 0.0 if status is None else 1.0 / (1.0 + exp(esteem.theta - status))

    def is_on_topic(self, url: Url) -> bool:
        """By the world's own truth."""
        return self._bed.world.topic(url) == self.examples.topic

    def about_models(self) -> Plain:
        """How good the evaluation classifier is on the crawler's examples, the model of standing on held-out ones."""
        bed, examples, esteem = self._bed, self.examples, self._esteems[0]
        good, bad = bed.pages(examples.good), bed.pages(examples.bad)
        right = sum(self.evaluator.relevance(page) >= RELEVANT for page in good)
        right += sum(self.evaluator.relevance(page) < RELEVANT for page in bad)
        unseen = [(page, esteem.source.status(page.url)) for page in bed.pages(examples.held_out_good)]
        told = [(self._models[0].prediction(page), status) for page, status in unseen if status is not None]
        fit = spearman([predicted for predicted, _ in told], [status for _, status in told])
        return {
            "examples": len(examples.good),
            "topped_up": examples.topped_up,
            "evaluator_accuracy": right / (len(good) + len(bad)),
            "standing_rank_correlation": None if fit.rho != fit.rho else fit.rho,
            "theta": esteem.theta,
            "pages_read": len(self._scored),
        }


def _left_out(bed: TestBed, examples: Examples) -> dict[Url, float]:
    """The relevance of the good examples as models judge that have not seen them.

    The crawler begins with these pages, and what it has learnt from it would always find perfect: for the first few
    hundred pages it would believe any target met.
    """
    good, bad = bed.pages(examples.good), bed.pages(examples.bad)
    judged: dict[Url, float] = {}
    for fold in range(FOLDS):
        model = train(
            [page for number, page in enumerate(good) if number % FOLDS != fold],
            [page for number, page in enumerate(bad) if number % FOLDS != fold],
            seed=bed.seed,
        )
        judged |= {page.url: model.relevance(page) for page in good[fold::FOLDS]}
    return judged


def points_of(pages: int, count: int) -> list[int]:
    """Where along a crawl curves are drawn."""
    return sorted({max(1, round(pages * place / count)) for place in range(1, count + 1)})
