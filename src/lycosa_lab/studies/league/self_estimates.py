"""What crawls say of themselves, harvest rate and recall, against what is true.

There are two truths for recall. *Recall* is of the pages of the topic that are reachable from the seeds. *Judged
recall* is of the reachable pages that the crawl's own model, as it is at the end, calls relevant: what the estimate
would be if it erred in nothing but the model, whose errors are then on both sides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lycosa.run.recall import RecallEstimate
from lycosa.vocabulary.records import RELEVANT, Url
from lycosa_lab.live_crawl import LiveOutcome, LiveTask, live_crawl
from lycosa_lab.worlds import StudyWorld

from .tasks import POSITIVES, WITHIN, TopicWeb, WorldPages, task_of, topics_of

EXAMPLES = 5  # pages on the topic that the crawler gets
MIN_TOPIC_PAGES = 15  # of a topic for which to crawl
_HELD_OUT = 2  # topics that a league needs, and that are left out here


@dataclass(frozen=True)
class SelfEstimate:
    """The estimates of one crawl at its end, and the truth."""

    topic: str
    budget: int  # pages
    pages: int  # of the collection
    true_recall: float
    judged_recall: float
    recall: RecallEstimate | None  # None if the crawl gives none
    true_harvest: float  # share of the pages that are on the topic
    harvest: float  # as the crawl reports it, with the interval that follows
    harvest_low: float
    harvest_high: float
    stop_reason: str

    def recall_error(self) -> float:
        """The estimate minus judged recall; minus the latter if there is no estimate."""
        return (self.recall.recall if self.recall is not None else 0.0) - self.judged_recall

    def holds(self, recall: float) -> bool:
        """Whether the interval of recall holds this value."""
        return self.recall is not None and self.recall.recall_low <= recall + 1e-9 and recall <= self.recall.recall_high

    @property
    def is_harvest_covered(self) -> bool:
        return self.harvest_low <= self.true_harvest <= self.harvest_high


def self_estimates(
    world: StudyWorld,
    strategy: str,
    *,
    topics: int,
    budgets: Sequence[int],
    stop_at: float | None = None,
    min_topic_pages: int = MIN_TOPIC_PAGES,
    seed: int = 1,
) -> Iterator[SelfEstimate]:
    """Crawls for the league's development topics from five examples: a crawl of its own for each budget.

    topics: how many of them at most.
    stop_at: a recall at which crawls stop before the budget.
    """
    pages = WorldPages(world, cached=len(world))
    for topic in topics_of(world, held_out=_HELD_OUT, development=topics, min_pages=min_topic_pages):
        if topic.is_held_out:
            continue
        web = TopicWeb(pages, topic)
        task = task_of(web, WITHIN, POSITIVES, examples=EXAMPLES, negatives=0, seed=seed)
        if task is None:
            continue
        for budget in budgets:
            outcome = live_crawl(strategy, LiveTask(examples=task.examples, pages=budget, recall=stop_at), web)
            yield _self_estimate(web, task.seeds, outcome, budget)


def _self_estimate(web: TopicWeb, seeds: Sequence[Url], outcome: LiveOutcome, budget: int) -> SelfEstimate:
    reachable = web.reachable(seeds)
    truth, kept, overview = web.topic.pages & reachable, outcome.kept, outcome.overview
    judged_found = sum(relevance is not None and relevance >= RELEVANT for relevance in outcome.relevances.values())
    judged_missed = sum(outcome.relevance(url) >= RELEVANT for url in reachable - kept)
    return SelfEstimate(
        topic=web.topic.name,
        budget=budget,
        pages=len(kept),
        true_recall=len(truth & kept) / len(truth),
        judged_recall=judged_found / max(1, judged_found + judged_missed),
        recall=overview.recall,
        true_harvest=len(web.topic.pages & kept) / max(1, len(kept)),
        harvest=outcome.claimed_harvest,
        harvest_low=overview.harvest_interval[0],
        harvest_high=overview.harvest_interval[1],
        stop_reason=outcome.stop_reason,
    )
