"""A collection opened for writing: restored, caught up with its archive, saved at checkpoints.

The journey of a crawl:

    open        `Session` opens the collection, restores the `CrawlState` of the last checkpoint, replays what the
                archive has beyond it (`archive_replay`), re-ranks if that is due (`reranker`) and removes what was
                forgotten (`removal`)
    run         `LiveRun` (`live`) begins a run and builds one `Crawl` (`crawl`), whose loop records every visit by the
                `CrawlJournal`
    checkpoint  between visits, `CheckpointSchedule` (`checkpoints`) decides when everything is saved; the last
                checkpoint is made on closing
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

from threadpoolctl import threadpool_limits

from lycosa.collection.collection import lock_collection
from lycosa.collection.events import Event, RunStart
from lycosa.collection.folder import check_folder
from lycosa.collection.shards import (
    gather,
    gather_archives,
    has_shards,
    may_be_behind,
    remove_shards,
    remove_useless_shards,
    shard_folders,
)
from lycosa.frontier.admission import Scope
from lycosa.frontier.durable import DurableFrontier
from lycosa.loop import Loop
from lycosa.reading import Reader
from lycosa.recipe import Recipe, read_seeds
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Memory, Relevance, Standing
from lycosa.vocabulary.records import Page, Url
from lycosa.vocabulary.text import counted

from .archive_replay import replay_archive
from .checkpoints import CheckpointSchedule
from .crawl import Assessor
from .crawl_journal import CrawlJournal
from .crawl_state import RERANK_DUE, CrawlState
from .forgotten import forgotten_test, is_forgotten, read_forgotten
from .open import open_collection, reader_of
from .recall import RECALL_BEHIND, RecallEstimate, RecallTracker
from .removal import remove_forgotten
from .reranker import Reranker
from .run_settings import Notify
from .stored_pages import StoredPages, open_words
from .topic import TopicJudge, examples_of
from .trust import check_collection, is_trusted, regular_file_or_folder, require_trust, without_untrusted_settings


class Session:
    """A collection opened for writing, by one process at a time, with the restored state of its crawl.

    On opening, catalog, search index, frontier and strategy catch up with the archive, which may be ahead of them after
    a kill. A crawl, an import or a refresh continues with `loop` and `status`.

    wrap_reader: wraps the page reader, for example with a cache.
    drops_untrusted_settings: whether whatever needs trust is left out of the recipe, for maintenance, which must be
        possible for untrusted collections.
    rerank: whether to re-rank the frontier if that is due, and to estimate recall on closing, which read the whole
        archive and all links; otherwise, the next session does it, and strategy and frontier are restored on first use.
    shard: the folder of a shard of the collection, which is opened instead, with the recipe, the models and the
        commands of the collection.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        *,
        clock: Clock,
        notify: Notify = lambda line: None,
        rebuild: bool = False,
        wrap_reader: Callable[[Reader], Reader] = lambda reader: reader,
        rerank: bool = True,
        drops_untrusted_settings: bool = False,
        shard: Path | None = None,
    ):
        check_collection(folder)
        if shard is not None:
            check_folder(shard)
        if drops_untrusted_settings:
            recipe = without_untrusted_settings(folder, recipe)
        else:
            require_trust(folder)
        if shard is None:
            if rebuild:
                gather_shards_for_rebuild(folder)
            gather_shards(folder, recipe, clock=clock, notify=notify, drops_untrusted_settings=drops_untrusted_settings)
        self.folder = folder
        self.recipe = recipe
        self.clock = clock
        self.notify = notify
        self._rerank = rerank
        self._checkpoints = CheckpointSchedule()
        self.reader = wrap_reader(reader_of(recipe, is_left_out=forgotten_test(folder)))
        self.topic = TopicJudge(recipe.topic, folder, self.reader, self._cached_terms, notify=notify)
        self.collection = collection = open_collection(
            shard or folder,
            clock=clock,
            reader=self.reader,
            writable=True,
            rebuild=rebuild,
            index_later=True,
            part_of=folder if shard else None,
        )
        self.pages = StoredPages(shard or folder, collection, self.reader, stem=recipe.topic.stem)
        try:
            self._recall = RecallTracker(collection.catalog, hash_seed=self.topic.hash_seed)
            self.journal = CrawlJournal(collection, recall=self._recall, checkpoints=self._checkpoints, clock=clock)
            self.state = CrawlState(
                folder,
                recipe,
                collection,
                topic=self.topic,
                journal=self.journal,
                recall=self._recall,
                clock=clock,
                notify=notify,
            )
            self.reranker = Reranker(self.state, collection, self.reader, journal=self.journal, notify=notify)
            self.status = self.state.status
            self.topical_map = self.state.topical_map
            self.access_log = self.state.access_log
            self._catch_up()
            self.pages_forgotten = 0  # number of pages that were removed just now
            if shard is None:  # from shards nothing is removed, but after their pages were gathered
                self.pages_forgotten = remove_forgotten(
                    folder,
                    collection,
                    self.state,
                    topic=self.topic,
                    pages=self.pages,
                    reranker=self.reranker,
                    checkpoint=self.checkpoint,
                    notify=notify,
                )
        except BaseException:
            self.pages.close()
            collection.close_without_checkpoint()  # the next session catches up from the last checkpoint
            raise

    def _catch_up(self) -> None:
        """Brings catalog, frontier and strategy up to the end of the archive and the latest commands of the user."""
        collection, state = self.collection, self.state
        if self._rerank:
            state.restore()
        if collection.rebuild_message:
            self.notify(collection.rebuild_message)
        if collection.index_was_outdated:
            self.notify("the search index was made by an older version: building it again before the next search")
        state.apply_steering()  # the frontier may lack the latest commands
        applied = replay_archive(
            collection, state, self.reader, checkpoint=self.checkpoint, clock=self.clock, notify=self.notify
        )
        if self._rerank:
            self.reranker.rerank_if_due()
        if applied:
            self._recall.invalidate()
            self.checkpoint()

    def __enter__(self) -> Self:
        # With small matrices, BLAS threads spend most of their time waiting for each other: on a busy machine, a crawl
        # took nine times the CPU time. The command line sets this before numpy is loaded.
        self._blas_threads = threadpool_limits(1, "blas")
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        try:
            self._close(error_type)
        finally:
            self._blas_threads.restore_original_limits()

    def _close(self, error_type: type[BaseException] | None) -> None:
        if error_type is not None:
            self.pages.close()
            # Something may be half done; the next session restores it from the archive.
            self.collection.close_without_checkpoint()
            return
        try:
            self._recall.finish(estimate_anew=self._rerank)
            self.checkpoint()
        except BaseException:
            self.pages.close()
            # Catalog and frontier stay consistent, as of the last checkpoint.
            self.collection.close_without_checkpoint()
            raise
        self.pages.close()
        self.collection.close()

    def _cached_terms(self, name: Url, count: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """The terms of an example file or of a built-in text, counted by `count` once and then saved under a name of
        the form of a URL. A method, since the topic is made before `pages`."""
        return self.pages.cached_terms(name, count)

    # ------------------------------------------------------------ seeds

    @property
    def seeds(self) -> Sequence[Url]:
        """The seeds of all runs so far, from recipe, flags and sitemaps."""
        return self.state.seeds

    def recipe_seeds(self, *, notify: Notify = lambda line: None) -> list[Url]:
        """The seeds of the recipe, else its good examples, even if the topic is a rule. Forgotten URLs are left out."""
        if self.recipe.seeds:
            path = regular_file_or_folder(self.folder / self.recipe.seeds)
            return self.not_forgotten(read_seeds(path, notify=notify))
        return [url for url, good in examples_of(self.recipe.topic, self.folder).urls.items() if good]

    def not_forgotten(self, urls: Iterable[Url]) -> list[Url]:
        """The URLs that were not forgotten."""
        forgotten = read_forgotten(self.folder)
        return [url for url in urls if not is_forgotten(url, forgotten)]

    # ------------------------------------------------------------ the parts of a run

    @property
    def loop(self) -> Loop:
        """The loop, with strategy and frontier as they were at the last checkpoint."""
        return self.state.loop

    @property
    def frontier(self) -> DurableFrontier:
        """The waiting URLs."""
        return self.state.frontier

    def assessor(
        self,
        judge: Relevance | None,
        standing: Standing | None = None,
        memory: Memory | None = None,
        *,
        score_ahead: Callable[[Page], None] = lambda page: None,
    ) -> Assessor:
        """An assessor with the settings of this collection."""
        return Assessor(
            read=self.reader,
            judge=judge,
            standing=standing,
            duplicates=self.state.duplicates,
            languages=frozenset(self.recipe.scope.languages),
            memory=memory,
            keep_noindex=self.recipe.scope.keep_noindex or self._earlier_runs_kept_noindex(),
            follow_copies=self.recipe.traps.follow_copies,
            score_ahead=score_ahead,
        )

    def _earlier_runs_kept_noindex(self) -> bool:
        """Whether earlier runs kept noindex pages, so that this one does too; ignored in untrusted collections."""
        return self.state.settings.scope.keep_noindex and is_trusted(self.folder)

    def begin_run(self, run: RunStart) -> list[str]:
        """Takes over seeds and settings of a run; returns the changes for which the frontier must be re-ranked."""
        return self.state.begin_run(run)

    def limits_dropped(self, scope: Scope) -> list[str]:
        """The limits of scope that the last run had and this one does not, as flags."""
        return self.state.settings.limits_dropped(scope)

    @property
    def rank_lists_digest(self) -> str:
        """The digest of the imported rank lists if the strategy uses standing, else empty."""
        return self.state.strategy_factory.rank_lists_digest

    def empty_frontier_reason(self) -> str:
        """The stop reason when the frontier is empty."""
        return self.state.empty_frontier_reason()

    def recall(self) -> RecallEstimate | None:
        """The estimated recall; None before the first relevant page."""
        return self._recall.estimate()

    def recall_to_stop_by(self) -> RecallEstimate | None:
        """The estimated recall, at the numbers of visits at which a crawl may stop by it; else None."""
        return self._recall.estimate_to_stop_by()

    # ------------------------------------------------------------ record and save

    def record(self, event: Event) -> None:
        """Records an event in archive and catalog."""
        self.journal.record(event)

    def checkpoint(self) -> None:
        """Saves everything, so that after a kill only later events are read from the archive."""
        with self._checkpoints.saving():
            self.state.save()
            self._recall.save()
            self.collection.checkpoint()
            self.pages.words.commit()

    @property
    def checkpoints_made(self) -> int:
        """The number of checkpoints that this session has made."""
        return self._checkpoints.count

    def checkpoint_if_due(self) -> None:
        """Saves everything if enough has happened since the last checkpoint."""
        if self._checkpoints.is_due():
            self.checkpoint()


def gather_shards(
    folder: Path, recipe: Recipe, *, clock: Clock, notify: Notify, drops_untrusted_settings: bool = False
) -> None:
    """Gathers the shards that a crawl by several workers has left, if it was killed; does nothing if there are none."""
    if not has_shards(folder):
        return
    with closing(lock_collection(folder)):
        remove_useless_shards(folder)
        if not has_shards(folder):
            return
        if may_be_behind(folder):
            for shard in shard_folders(folder):
                with Session(
                    folder,
                    recipe,
                    clock=clock,
                    notify=notify,
                    rerank=False,
                    drops_untrusted_settings=drops_untrusted_settings,
                    shard=shard,
                ):
                    pass
        pages = gather_closed_shards(folder, recipe)
    notify(f"a crawl by several workers was broken off: {counted(pages, 'page')} of them gathered")


def gather_shards_for_rebuild(folder: Path) -> None:
    """Gathers the archives of such shards alone, from which everything is rebuilt."""
    if has_shards(folder):
        with closing(lock_collection(folder)):
            remove_useless_shards(folder)
            if has_shards(folder):
                gather_archives(folder)


def gather_closed_shards(folder: Path, recipe: Recipe) -> int:
    """Moves what the shards have, which are closed with everything applied, into the collection, which is locked;
    returns the number of pages."""
    gathered = gather(folder, flags=(RERANK_DUE, RECALL_BEHIND))
    with closing(open_words(folder, stem=recipe.topic.stem)) as words:
        for shard, numbers in gathered:
            with closing(open_words(shard, stem=recipe.topic.stem)) as words_of_shard:
                for cached in words_of_shard.words_after(min(numbers, default=0) - 1):
                    if cached.number in numbers:
                        words.put(cached._replace(number=numbers[cached.number]))
        words.commit()
    remove_shards(folder)
    return sum(len(numbers) for _, numbers in gathered)
