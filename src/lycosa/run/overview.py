"""A collection in numbers: counts, what the user has measured, and what the model estimates."""

from pathlib import Path

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.queries import Queries
from lycosa.collection.rows import ChangeRow, Summary
from lycosa.frontier.durable import count_waiting
from lycosa.recipe import load_recipe
from lycosa.relevance.harvest import harvest_interval
from lycosa.web.outcomes import outcome_counts

from .omissions import Omission, omissions_in_words
from .recall import RecallEstimate, current_recall
from .review import SampleResult, sample_result
from .topic import calibration_of, has_topic_changed


class Overview(Struct, frozen=True):
    """What a collection holds."""

    facts: Summary
    waiting: int  # number of URLs
    changes: list[ChangeRow]
    recall: RecallEstimate | None
    is_recall_behind: bool  # whether pages were visited or scored since it was estimated
    sample: SampleResult | None  # what the labels of pages drawn at random say
    harvest_interval: tuple[float, float]  # the interval of the harvest rate, measured if possible, else estimated
    outcomes: dict[str, int]  # number of fetches by outcome, in words
    left_out: list[Omission]
    target: float | None  # relevance target of the latest crawl
    has_topic_changed: bool = False  # since the pages were scored

    @property
    def is_measured(self) -> bool:
        return self.sample is not None and self.sample.is_enough

    @property
    def pages_when_measured(self) -> int | None:
        """Number of pages in the collection when the harvest rate was measured; None if it was not, or has not grown a
        lot since."""
        return (
            self.sample.pages_then if self.sample is not None and self.is_measured and self.sample.is_behind else None
        )

    @property
    def harvest_rate(self) -> float:
        """The share of relevant pages: measured, if enough random pages were labelled, else estimated by the model."""
        return self.sample.share if self.sample is not None and self.is_measured else self.facts.harvest_rate


def overview(collection: Collection) -> Overview:
    """Scans the tables of pages, fetches and skips."""
    folder, catalog = collection.folder, collection.catalog
    recipe = load_recipe(folder, for_reading=True)
    facts = catalog.summary()
    sample = sample_result(folder, catalog)
    recall, is_recall_behind = current_recall(catalog, facts.pages)
    with catalog.reporting_errors():
        waiting = count_waiting(catalog.connection)
    return Overview(
        facts=facts,
        waiting=waiting,
        changes=catalog.latest_changes(),
        recall=recall,
        is_recall_behind=is_recall_behind,
        sample=sample,
        harvest_interval=harvest_rate_interval(folder, facts.relevant, facts.pages, sample),
        outcomes=outcome_counts(catalog.outcomes_and_statuses()),
        left_out=omissions_in_words(facts.omissions, recipe),
        target=_target(catalog),
        has_topic_changed=has_topic_changed(recipe.topic, folder, catalog),
    )


def harvest_rate_interval(folder: Path, relevant: int, pages: int, sample: SampleResult | None) -> tuple[float, float]:
    """The interval of the harvest rate: that of the random sample if it is large enough, else of the estimate."""
    if sample is not None and sample.is_enough:
        return sample.low, sample.high
    return harvest_interval(relevant, pages, calibration_of(load_recipe(folder, for_reading=True).topic, folder))


def _target(catalog: Queries) -> float | None:
    """The relevance target of the latest crawl, if it had one."""
    for key in ("options", "utility"):
        saved = catalog.get_state(key)
        target = saved.get("target") if isinstance(saved, dict) else None
        if isinstance(target, int | float) and 0.0 <= target <= 1.0:
            return float(target)
    return None
