"""Re-ranks the frontier of a collection: as the strategy would have ranked it from the start."""

import time
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.collection.page_words import MAX_CACHED_PAGES
from lycosa.collection.queries import SITE_SKIPS_KEY
from lycosa.reading import Reader
from lycosa.strategies.base import SupportsRejudge
from lycosa.vocabulary.contracts import Relevance, Standing
from lycosa.vocabulary.records import RELEVANT, Visit
from lycosa.vocabulary.text import counted

from .crawl_journal import CrawlJournal
from .crawl_state import CrawlState
from .run_settings import Notify

_PROGRESS_INTERVAL = 5.0  # seconds between messages while the archive is read
_SAVE_INTERVAL = 1_000  # visits after which the frontier is written, to bound memory


class Reranker:
    """Re-ranks the frontier by the visits of the archive, or by new scores alone."""

    def __init__(
        self, state: CrawlState, collection: Collection, reader: Reader, *, journal: CrawlJournal, notify: Notify
    ):
        self._state = state
        self._collection = collection
        self._reader = reader
        self._journal = journal
        self._notify = notify

    def rerank_if_due(self) -> None:
        """Re-ranks the frontier if an earlier session left that to do."""
        strategy = self._state.loop.strategy  # first: a strategy that cannot be restored makes a ranking due
        due = self._state.reranking_due()
        if due == "no":
            return
        if due == "by scores" and isinstance(strategy, SupportsRejudge):
            pages = self._collection.catalog.page_scores(latest=MAX_CACHED_PAGES)
            self.rejudge(strategy, {page.url: page.relevance for page in pages if page.relevance is not None})
        else:
            self.rerank()
        self._state.mark_reranked()

    def rejudge(
        self,
        strategy: SupportsRejudge,
        relevances: Mapping[str, float],
        standings: Mapping[str, float] | None = None,
    ) -> None:
        """Re-ranks the frontier by new scores of earlier pages, by URL, without reading these pages again."""
        self._journal.record_skips(self._state.loop.put(strategy.rejudge(relevances, standings)))

    def rerank(
        self,
        *,
        judge: Relevance | None = None,
        standing: Standing | None = None,
        missing_standing: Standing | None = None,
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Rebuilds the frontier as the strategy would have from the start; with `judge` or `standing`, every page is
        also scored again.

        missing_standing: gives the standing of visits that have none.
        Returns the relevance by `judge` and the standing by `standing` of the stored pages.
        """
        relevances: dict[str, float] = {}
        standings: dict[str, float] = {}
        scores = {row.url: (row.relevance, row.standing) for row in self._collection.catalog.pages()}

        def scored_visits() -> Iterator[Visit]:
            for visit in self._archived_visits():
                relevance, page_standing = scores.get(visit.candidate.url, (visit.relevance, visit.standing))
                page = visit.page
                if page is not None:
                    scorer = standing or (missing_standing if page_standing is None else None)
                    page_standing = scorer.standing(page) if scorer else page_standing
                    relevance = judge.relevance(page) if judge else relevance
                    if judge and relevance is not None and visit.is_kept:
                        relevances[page.url] = relevance
                    if standing and page_standing is not None and visit.is_kept:
                        standings[page.url] = page_standing
                yield replace(visit, relevance=relevance, standing=page_standing)

        self.rerank_by_visits(scored_visits())
        if judge:
            self._state.status.recount([relevance >= RELEVANT for relevance in relevances.values()])
        return relevances, standings

    def rerank_by_visits(self, visits: Iterable[Visit]) -> None:
        """Rebuilds the frontier as if the strategy had made these visits from the start."""
        state, catalog = self._state, self._collection.catalog
        if catalog.get_state(SITE_SKIPS_KEY):
            catalog.put_state(SITE_SKIPS_KEY, 0)  # counted again
        strategy = state.strategy_factory.make(state.settings)
        state.loop.rerank_from_history(strategy, state.seeds, visits, from_sitemaps=state.from_sitemaps)
        state.queue_again()

    def _archived_visits(self) -> Iterator[Visit]:
        """The visits of the archive, with their pages. Meanwhile, the frontier is written and progress is reported."""
        number, reported_at = 0, time.monotonic()
        for event, _ in self._collection.archive.events():
            if not isinstance(event, Visit):
                continue
            number += 1
            if number % _SAVE_INTERVAL == 0:
                self._state.save_frontier()
            if time.monotonic() - reported_at > _PROGRESS_INTERVAL:
                reported_at = time.monotonic()
                pages = counted(self._state.status.pages, "page")
                self._notify(f"{number:,} visits of the archive read again; the collection has {pages}")
            yield replace(event, page=self._reader(event.fetch))
