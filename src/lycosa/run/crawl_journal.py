"""The journal of a crawl: records its events in the collection."""

from collections.abc import Sequence

from lycosa.collection.collection import Collection
from lycosa.collection.events import Event, Scores
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Skip, SkipReason

from .checkpoints import CheckpointSchedule
from .recall import RecallTracker


class CrawlJournal:
    """Records the events of a crawl in archive and catalog, and counts them for the next checkpoint."""

    def __init__(self, collection: Collection, *, recall: RecallTracker, checkpoints: CheckpointSchedule, clock: Clock):
        self._collection = collection
        self._recall = recall
        self._checkpoints = checkpoints
        self._clock = clock

    def record(self, event: Event) -> None:
        self._collection.record(event)
        self._checkpoints.count_event()
        if isinstance(event, Scores) and event.relevance:
            self._recall.invalidate()  # the set of relevant pages has changed

    def record_skips(self, skips: Sequence[Skip]) -> None:
        """Records skips, URLs that are never fetched, and why; not those of forgotten URLs, which leave no trace."""
        recorded = [skip for skip in skips if skip.reason is not SkipReason.FORGOTTEN]
        self._collection.catalog.add_skips(recorded, self._clock.now())
        self._recall.exclude(skips)
