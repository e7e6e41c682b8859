"""A collection opened for writing: its journal, its checkpoints, and the restored loop of its crawl."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from shlex import quote
from typing import Any, Self

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from threadpoolctl import threadpool_limits

from lycosa import __version__
from lycosa.collection.events import Attempt, Event, RunStart, Scores
from lycosa.collection.journal import Upkeep, end_journal, read_journal, write_journal
from lycosa.collection.page_words import MAX_KEPT, WORDS_FILE, PageWords
from lycosa.collection.queries import CROWDED
from lycosa.collection.rows import ExampleRow, PageRow
from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.durable import DurableFrontier
from lycosa.frontier.quotas import Quotas
from lycosa.loop import Loop
from lycosa.reading import Reader
from lycosa.reading.fingerprint import NearDuplicates
from lycosa.recipe import Recipe, UtilityOptions, make_strategy, read_seeds, uses_standing, utility_for
from lycosa.relevance.counted import CountedTerms
from lycosa.standing import Traffic, read_traffic
from lycosa.standing.authority import AuthorityTable
from lycosa.strategies.base import BaseStrategy, SupportsRejudge
from lycosa.strategies.registry import STRATEGIES, check_options, find_strategy
from lycosa.user_config import authority_file
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Memory, Relevance, Standing, Strategy
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import (
    REFRESH,
    RELEVANT,
    Candidate,
    CheckedUrl,
    Fetch,
    Host,
    Moment,
    Outcome,
    Page,
    Plain,
    Skip,
    SkipReason,
    Url,
    Visit,
)
from lycosa.vocabulary.urls import host_of, site_of
from lycosa.web.outcomes import MAX_WAIT

from .access_log import log_of_run
from .crawl import NOTHING_LEFT, Assessor, Status
from .forgotten import forgetter, is_forgotten, is_forgotten_name, read_forgotten
from .guides import Guide, layers
from .open import open_collection, reader_of
from .recall import OUT_OF_REACH, RECALL_BEHIND, RECALL_STATE, RecallEstimate, RecallEstimator, restored_recall
from .review import drop_from_sample
from .steering import Steering, forget_steering, read_steering
from .topic import MODEL_FILE, TopicJudge, examples_of, forget_labels
from .topical_map import map_of_run
from .trust import check_collection, harmless, is_trusted, plain_file, require_trust

_RANKS_BEHIND = "ranks_behind"  # state: the frontier is not yet re-ranked after a change of scores or strategy
_BY_SCORES = "scores"  # its value if nothing but scores has changed
REPORT_FILE = "report.html"
STANDING_FILE = "standing.json"
_PROGRESS_INTERVAL = 5.0  # seconds between messages while the archive is read
_WORK_PER_CHECKPOINT = 20  # least processor time between checkpoints, in times what the last one took
_UNANSWERED = frozenset((Outcome.FAILED, Outcome.BUSY, Outcome.REFUSED))
_NO_PAGE = _UNANSWERED | {Outcome.GONE, Outcome.UNWANTED, Outcome.FORBIDDEN}
SHORT_HOLD = 10.0  # seconds; shorter holds are not saved
Tell = Callable[[str], None]


class Session:
    """A collection opened for writing, by one process at a time, with the restored loop of its crawl.

    On opening, catalog, search index, frontier and strategy catch up with the archive, which may be ahead of them after
    a kill. A crawl, an import or a refresh continues with `loop`, `status` and `duplicates`.

    wrap_reader: wraps the page reader, for example with a cache.
    is_upkeep: whether this is maintenance only, which must be possible for untrusted collections: whatever needs trust
        is left out of the recipe.
    ranks: whether to re-rank the frontier if that is due, and to estimate recall on closing, which read the whole
        archive and all links; otherwise, the next session does it, and strategy and frontier are restored on first use.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        *,
        clock: Clock,
        tell: Tell = lambda line: None,
        afresh: bool = False,
        wrap_reader: Callable[[Reader], Reader] = lambda reader: reader,
        ranks: bool = True,
        is_upkeep: bool = False,
    ):
        check_collection(folder)
        if is_upkeep:
            recipe = harmless(folder, recipe)
        else:
            require_trust(folder)
        self.folder = folder
        self.recipe = recipe
        self.clock = clock
        self.tell = tell
        self.reader = wrap_reader(reader_of(recipe, is_left_out=forgetter(folder)))
        self.topic = TopicJudge(recipe.topic, folder, self.reader, self._cached_terms)
        self.collection = open_collection(
            folder, clock=clock, reader=self.reader, writable=True, afresh=afresh, index_later=True
        )
        self._checkpointed_at = time.monotonic()
        self._cpu_at_checkpoint, self._cpu_of_checkpoint = time.process_time(), 0.0
        self._unsaved = 0
        self._counted: dict[tuple[Url, float], CountedTerms] = {}  # of examples and of the page sample
        self._recall: RecallEstimator | None = None  # None if it must be restored from the catalog
        self._is_recall_behind = bool(self.collection.catalog.get_state(RECALL_BEHIND))  # in the catalog
        self._ranks = ranks
        self._frontier: DurableFrontier | None = None
        self.map = Guide("map", find=partial(map_of_run, folder=folder), tell=tell)
        self.log = Guide("access log", find=partial(log_of_run, folder=folder), tell=tell)
        try:
            with self.collection.catalog.guarded():
                self._restore_settings()
                self._loop = self._restored_loop() if ranks else None
            if self.collection.settled:
                tell(self.collection.settled)
            if self.collection.index_was_outdated:
                tell("the search index was made by an older version: building it again before the next search")
            self.steer()  # the frontier may lack the latest commands
            self._catch_up(ranks=ranks)
            self.pages_forgotten = self._finish_forgetting()
        except BaseException:
            self.collection.abandon()  # the next session catches up from the last checkpoint
            raise

    def __enter__(self) -> Self:
        # With small matrices, BLAS threads spend most of their time waiting for each other: on a busy machine, a crawl
        # took nine times the CPU time. The command line sets this before numpy is loaded.
        self._blas_threads = threadpool_limits(1, "blas")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._close(kind)
        finally:
            self._blas_threads.restore_original_limits()

    def _close(self, kind: type[BaseException] | None) -> None:
        if kind is not None:
            self.words.close()
            self.collection.abandon()  # something may be half done; the next session restores it from the archive
            return
        try:
            if self._is_recall_behind and self._ranks:
                self.recall()
            elif self._is_recall_behind:
                self.collection.catalog.put_state(RECALL_BEHIND, True)
            self.checkpoint()
        except BaseException:
            self.words.close()
            self.collection.abandon()  # catalog and frontier stay consistent, as of the last checkpoint
            raise
        self.words.close()
        self.collection.close()

    @property
    def seeds(self) -> Sequence[Url]:
        """The seeds of all runs so far, from recipe, flags and sitemaps."""
        return self._seeds

    def recipe_seeds(self, *, tell: Tell = lambda line: None) -> list[Url]:
        """The seeds of the recipe, else its good examples, even if the topic is a rule. Forgotten URLs are left out."""
        if self.recipe.seeds:
            return self.not_forgotten(read_seeds(plain_file(self.folder / self.recipe.seeds), tell=tell))
        return [url for url, good in examples_of(self.recipe.topic, self.folder).urls.items() if good]

    def not_forgotten(self, urls: Iterable[Url]) -> list[Url]:
        """The URLs that were not forgotten."""
        forgotten = read_forgotten(self.folder)
        return [url for url in urls if not is_forgotten(url, forgotten)]

    def _restore_settings(self) -> None:
        """What the last run went by, and how far it came."""
        catalog, recipe = self.collection.catalog, self.recipe
        self._seeds: list[Url] = catalog.get_state("seeds", list[CheckedUrl]) or []
        last = catalog.get_state("strategy", str) or recipe.strategy
        self.strategy_name, self._options = self._permitted(last, catalog.get_state("options", dict[str, Any]) or {})
        utility = catalog.get_state("utility") or msgspec.to_builtins(recipe.utility)
        self._utility = utility_for(self.strategy_name, _utility_of(utility))
        self.map.activate(catalog.get_state("map"), self.strategy_name)
        self.log.activate(catalog.get_state("logs"), self.strategy_name)
        self._scope = catalog.get_state("scope", Scope) or Scope()  # of the last run, flags included
        self._quotas = _quotas_of(catalog.get_state("quotas"))  # of the last run too
        self._admission = Admission(
            self._scope,
            recipe.traps,
            sites=self._sites_to_stay_on(self._scope),
            forgotten=read_forgotten(self.folder),
            quotas=self._quotas,
        )
        self._steering = _steering_of(catalog.get_state("steering"))
        self._admission.blocked = self._steering.blocked
        pages, relevant, size = catalog.totals()
        self.status = Status(
            pages=pages,
            relevant=relevant,
            pages_since_relevant=catalog.pages_since_relevant(),
            bytes_kept=size,
            began=self.clock.now(),
        )

    @property
    def loop(self) -> Loop:
        """The loop, with strategy and frontier as they were at the last checkpoint."""
        if self._loop is None:
            with self.collection.catalog.guarded():
                self._loop = self._restored_loop()
        return self._loop

    @property
    def frontier(self) -> DurableFrontier:
        """What waits, as it was at the last checkpoint."""
        if self._frontier is None:
            with self.collection.catalog.guarded():
                self._frontier = self._restored_frontier()
        return self._frontier

    @property
    def is_restored(self) -> bool:
        """Whether the frontier was read, and may have changed since."""
        return self._frontier is not None

    def _restored_frontier(self) -> DurableFrontier:
        catalog, recipe = self.collection.catalog, self.recipe
        frontier = DurableFrontier(
            catalog.connection,
            clock=self.clock,
            admission=self._admission,
            delay=recipe.requests.delay,
            per_address=recipe.requests.address_limit,
            slow_slots=recipe.requests.slow_slots,
            limit=recipe.waiting.limit,
            boosted=self._steering.boosted,
        )
        for host, until in (catalog.get_state("holds", dict[str, Moment]) or {}).items():
            frontier.hold(Host(host), self._bounded(until))
        frontier.restore_settled(catalog.visited())
        self._admission.pages.restore(catalog.pages_of_hosts())
        return frontier

    def _restored_loop(self) -> Loop:
        return Loop(
            self._restored_strategy(),
            self.frontier,
            journal=self,
            observe=self._observe,
            clock=self.clock,
            retries=self.recipe.requests.retries,
        )

    @cached_property
    def duplicates(self) -> NearDuplicates:
        """The index of near-duplicates, read from the catalog on first use."""
        found = NearDuplicates(folder=self.folder)
        for url, fingerprint, digest in self.collection.catalog.fingerprints():
            found.add(fingerprint, url, digest)
        for digest in self.collection.catalog.digests_of_duplicates():
            found.add_copy(digest)
        return found

    def _sites_to_stay_on(self, scope: Scope) -> frozenset[str]:
        """The sites of the seeds if the scope needs them; computing them takes 0.1 s."""
        return frozenset(map(site_of, self._seeds)) if scope.stay_on_sites else frozenset()

    def recall(self) -> RecallEstimate | None:
        """The estimated recall; None before the first relevant page."""
        if self._recall is None:
            self._recall = restored_recall(self.collection.catalog)
        return self._recall.estimate()

    def _observe(self, visit: Visit) -> None:
        self.status.add(visit)
        self._is_recall_behind = True
        if self._recall is not None:
            self._recall.add(visit)
        if visit.page is not None and visit.is_kept and visit.duplicate_of is None:
            self.duplicates.add(visit.page.fingerprint, visit.page.url, visit.page.digest)
        elif visit.page is not None and visit.is_kept:
            self.duplicates.add_copy(visit.page.digest)

    def assessor(
        self, judge: Relevance | None, standing: Standing | None = None, memory: Memory | None = None
    ) -> Assessor:
        """An assessor with the settings of this collection."""
        return Assessor(
            read=self.reader,
            judge=judge,
            standing=standing,
            duplicates=self.duplicates,
            languages=frozenset(self.recipe.scope.languages),
            memory=memory,
            keep_noindex=self.recipe.scope.keep_noindex or self._kept_noindex(),
            follow_copies=self.recipe.traps.follow_copies,
        )

    def _kept_noindex(self) -> bool:
        """Whether earlier runs kept noindex pages, so that this one does too; ignored in untrusted collections."""
        return self._scope.keep_noindex and is_trusted(self.folder)

    def _restored_strategy(self) -> Strategy:
        """The strategy of the last checkpoint; if an older version saved less, the frontier must be re-ranked."""
        strategy, state = self._made_strategy(), self._strategy_state()
        if self.collection.catalog.get_state("strategy") not in (None, self.strategy_name):
            self.collection.catalog.put_state(_RANKS_BEHIND, True)
            return strategy
        if state is None:
            return strategy
        try:
            strategy.restore(state)
            self._restore_visited(strategy)
        except (LookupError, TypeError, ValueError, AttributeError):
            self.tell("an older version has crawled here: ranking again what waits")
            self.collection.catalog.put_state(_RANKS_BEHIND, True)
            return self._made_strategy()
        return strategy

    def _restore_visited(self, strategy: Strategy) -> None:
        """Passes the visited URLs, which may be millions, to strategies that need them."""
        for layer in layers(strategy):
            if isinstance(layer, BaseStrategy) and type(layer).restore_visited is not BaseStrategy.restore_visited:
                layer.restore_visited(self.collection.catalog.visited())

    def _strategy_state(self) -> Plain:
        """The state of the strategy at the last checkpoint, without that of a map or log that is missing now."""
        catalog = self.collection.catalog
        state, log_is_lost = catalog.get_state("strategy_state"), catalog.get_state("logs") and not self.log.reference
        if state is None or (log_is_lost and "log" in find_strategy(self.strategy_name).needs):
            return None
        if log_is_lost:
            state = _inner(state)
        return _inner(state) if catalog.get_state("map") and not self.map.reference else state

    # ------------------------------------------------------------ from the archive

    def rank_later(self, *, by_scores: bool = False) -> None:
        """Has the next session that ranks re-rank the frontier.

        by_scores: whether nothing but scores has changed, so that a `SupportsRejudge` need not see the pages again.
        """
        catalog = self.collection.catalog
        if not by_scores or not catalog.get_state(_RANKS_BEHIND):
            catalog.put_state(_RANKS_BEHIND, _BY_SCORES if by_scores else True)

    def _rank(self) -> None:
        """Re-ranks the frontier if that is due."""
        catalog, strategy = self.collection.catalog, self.loop.strategy
        behind = catalog.get_state(_RANKS_BEHIND)
        if not behind:
            return
        if behind == _BY_SCORES and isinstance(strategy, SupportsRejudge):
            judged = catalog.judged(latest=MAX_KEPT)
            relevances: dict[str, float] = {url: relevance for _, url, _, relevance in judged if relevance is not None}
            self.record_skips(self.loop.put(strategy.rejudge(relevances)))
        else:
            self.rerank()
        catalog.put_state(_RANKS_BEHIND, False)

    def _catch_up(self, *, ranks: bool) -> None:
        """Applies the events of the archive that the catalog lacks."""
        catalog = self.collection.catalog
        applied = 0
        for event, place in self.collection.unapplied():
            if isinstance(event, Visit):
                event = replace(event, page=self.reader(event.fetch))
                self.collection.apply(event, place)
                self._hold_as_asked(event.fetch)
                catalog.add_skips(self.loop.replay(event), event.fetch.at)
            else:
                self.collection.apply(event, place)
                if isinstance(event, Attempt):
                    self._hold_as_asked(event.fetch)
                    if event.candidate.lane != REFRESH:  # pages to fetch again are chosen by the next refresh
                        self.frontier.give_back(replace(event.candidate, attempts=event.candidate.attempts + 1))
                elif isinstance(event, Scores) or (isinstance(event, RunStart) and self.begin_run(event)):
                    catalog.put_state(_RANKS_BEHIND, True)
            applied += 1
            if applied % 1_000 == 0:
                self.tell(f"{applied} events of the archive read again")
                self.checkpoint()
        if ranks:
            self._rank()
        if applied:
            self._recall, self._is_recall_behind = None, True
            self.checkpoint()

    def _hold_as_asked(self, fetch: Fetch) -> None:
        """Restores the hold that a host asked for."""
        if fetch.host_not_before is not None and fetch.host_not_before > self.clock.now():
            self.hold(host_of(fetch.url), fetch.host_not_before)

    def hold(self, host: Host, until: float) -> None:
        """Holds a host until the given time; for a day at most, as the clock may have changed."""
        self.frontier.hold(host, self._bounded(until))

    def _bounded(self, until: float) -> float:
        return min(until, self.clock.now() + MAX_WAIT)

    def begin_run(self, run: RunStart) -> list[str]:
        """Takes over seeds and strategy of a run; returns the changes for which the frontier must be re-ranked."""
        known = set(self._seeds)
        self._seeds += [seed for seed in run.seeds if seed not in known]
        scope = _scope_of(run.scope)
        strategy, options = self._permitted(run.strategy, run.options or {})
        utility = utility_for(strategy, _utility_of(run.utility))
        changes = [
            what
            for what, before, now in (
                ("strategy", self.strategy_name, strategy),
                ("options", self._options, options),
                ("target", self._utility, utility),
                ("map", self.map.reference, run.map),
                ("log", self.log.reference, run.logs),
            )
            if before != now
        ]
        quotas = _quotas_of(run.quotas or None)
        authority = None if run.authority is UNSET else run.authority
        has_other_ranks = authority != self.collection.catalog.get_state("authority")
        bounds = ["scope"] * (_bounds(scope) != _bounds(self._scope)) + ["quotas"] * (quotas != self._quotas)
        if changes:
            self.strategy_name, self._options, self._utility = strategy, options, utility
            self.map.activate(run.map, strategy)
            self.log.activate(run.logs, strategy)
            self.loop.use_strategy(self._made_strategy())
        self._use_scope(scope)
        self._quotas = quotas
        self.frontier.set_quotas(quotas)
        if bounds:  # re-ranking skips again what is still out of scope
            self._recall, self._is_recall_behind = None, True
            self.collection.catalog.remove_skips(SkipReason.SCOPE, SkipReason.QUOTA)
        self.collection.catalog.put_state("seeds", self._seeds)
        self.collection.catalog.put_state("scope", run.scope)
        self.collection.catalog.put_state("utility", run.utility)
        if has_other_ranks:
            self.collection.catalog.put_state("authority", authority)
        if run.quotas is not UNSET or self.collection.catalog.get_state("quotas"):
            self.collection.catalog.put_state("quotas", msgspec.to_builtins(quotas))
        seeds = [seed for seed in run.seeds if not self.frontier.is_known(seed)]
        self._try_again(seed for seed in run.seeds if self.frontier.is_settled(seed))
        if seeds or not (self.status.pages or len(self.frontier)):  # a strategy may start without seeds
            named = frozenset(run.seeds[len(run.seeds) - (run.sitemap_seeds or 0) :])
            self.loop.start(seeds, from_sitemaps=named)
        return changes + bounds + ["lists of ranks"] * has_other_ranks

    def _try_again(self, seeds: Iterable[Url]) -> None:
        """Queues seeds again that got no answer last time, as the network may be back; if no page was stored at all,
        also those for which the server had no page.
        """
        settled = set(seeds)
        if not settled:
            return
        may_have_changed = _UNANSWERED if self.status.pages else _NO_PAGE
        for url, outcome in self.collection.catalog.last_outcomes():
            if url in settled and outcome in may_have_changed:
                self.frontier.give_back(Candidate(url, 1.0, because={"seed": True}))

    def limits_dropped(self, scope: Scope) -> list[str]:
        """The limits of scope that the last run had and this one does not, as flags."""
        before, dropped = self._scope, list[str]()
        for flag, had, has in (
            ("--include-host", before.hosts, scope.hosts),
            ("--exclude-host", before.exclude_hosts, scope.exclude_hosts),
            ("--include-url", before.urls, scope.urls),
            ("--exclude-url", before.exclude_urls, scope.exclude_urls),
            ("--language", before.languages, scope.languages),
        ):
            dropped += [f"{flag} {quote(each)}" for each in had if each not in has]
        return dropped + ["--stay"] * (before.stay_on_sites and not scope.stay_on_sites)

    def run_as_before(self, refresh: Plain) -> RunStart:
        """A run with the strategy, scope and quotas of the last one, even if the recipe has changed."""
        scope, utility = msgspec.to_builtins(self._scope), msgspec.to_builtins(self._utility)
        return RunStart(
            self.clock.now(),
            self.strategy_name,
            (),
            scope,
            utility,
            refresh,
            self.map.reference,
            self.log.reference,
            self._options or UNSET,
            msgspec.to_builtins(self._quotas) or UNSET,
            self.authority_digest or UNSET,
        )

    def steer(self) -> None:
        """Applies the steering file: hosts to block, and hosts and URLs to boost."""
        before, steering = self._steering, read_steering(self.folder)
        if steering == before:
            return
        self._steering = steering
        if set(before.blocked) - set(steering.blocked):  # re-ranking restores the links of unblocked hosts
            self.collection.catalog.remove_skips(SkipReason.SCOPE)
            self.rank_later()
        self.record_skips(self.frontier.block(steering.blocked))
        self.frontier.boost(steering.boosted)
        urls = (Url(name) for name in steering.boosted if "://" in name and name not in before.boosted)
        new = [Candidate(url, 1.0, because={"boosted": True}) for url in urls if not self.frontier.is_known(url)]
        self.record_skips(self.loop.put(new))

    def is_in_scope(self, url: Url) -> bool:
        """Whether a URL is in the scope of this collection."""
        return self._admission.out_of_scope(url) is None

    def nothing_left(self) -> str:
        """The stop reason when nothing waits."""
        skipped, quotas = self.collection.catalog.count_skips(SkipReason.QUOTA), self._quotas
        if not skipped or quotas == Quotas():
            return NOTHING_LEFT
        limits = (f"{bound} a {of}" for of, bound in (("host", quotas.per_host), ("site", quotas.per_site)) if bound)
        flags = " or ".join(
            flag for flag, bound in (("--per-host", quotas.per_host), ("--per-site", quotas.per_site)) if bound
        )
        return (
            f"nothing is left to fetch within the quotas of pages ({', '.join(limits)}), for which {skipped} links "
            f"were skipped; a higher {flags} goes on"
        )

    def _use_scope(self, scope: Scope) -> None:
        self._scope = scope
        self._admission.set_scope(scope, sites=self._sites_to_stay_on(scope))

    def _permitted(self, strategy: str, options: Mapping[str, Plain]) -> tuple[str, Mapping[str, Plain]]:
        """The strategy of a run, and its options. A plug-in runs only if the recipe or a flag names it, not because an
        archived run does; otherwise, the recipe's strategy is used. Options that are no longer valid are dropped, so
        that one bad run cannot make a collection unusable."""
        if strategy in STRATEGIES or strategy == self.recipe.strategy:
            try:
                if options:  # a strategy without any is made when it is needed
                    find_strategy(strategy)(**check_options(strategy, options))
            except UsageError as error:
                self.tell(f"going on without the options of the run before: {error}")
                return strategy, {}
            return strategy, options
        self.tell(
            f"the run before went by the plug-in {strategy}, which the recipe does not name; "
            f"going on by {self.recipe.strategy}"
        )
        return self.recipe.strategy, self.recipe.options

    def _made_strategy(self) -> Strategy:
        stem = self.recipe.topic.stem
        example_urls = [url for url, is_good in self.topic.examples.urls.items() if is_good]
        strategy = make_strategy(
            self.strategy_name,
            topic_words=self.topic.words,
            stem=stem,
            language=self.topic.language,
            utility=self._utility,
            judge=self.topic.word_weights,
            options=self._options,
            example_urls=example_urls,
            domain_reach=self._domain_reach,
            access_log=self.log.active.access_log if self.log.active else None,
        )
        return self.log.wrap(self.map.wrap(strategy))

    def _domain_reach(self, url: Url) -> float:
        """By the table of the recipe, else by the imported rank lists."""
        if self.recipe.standing.traffic or self.authority is None:
            return self._traffic.of(url) - self._traffic.neutral
        return self.authority.value(url)

    @cached_property
    def authority(self) -> AuthorityTable | None:
        """The imported rank lists; None if there are none or the recipe does not use them."""
        return AuthorityTable.load(authority_file()) if self.recipe.standing.authority else None

    @property
    def authority_digest(self) -> str:
        """The digest of these lists if the strategy uses standing, else empty."""
        return self.authority.digest if uses_standing(self.recipe) and self.authority is not None else ""

    @cached_property
    def _traffic(self) -> Traffic:
        """The recipe's table of domains, read on first use."""
        file = self.recipe.standing.traffic
        return Traffic(read_traffic(plain_file(self.folder / file)) if file else None)

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
        known = {row.url: (row.relevance, row.standing) for row in self.collection.catalog.pages()}

        told_at = time.monotonic()

        def past_visits() -> Iterator[Visit]:
            nonlocal told_at
            for number, visit in enumerate(self._archived_visits(), 1):
                if number % 1_000 == 0:
                    self._write_frontier()
                if time.monotonic() - told_at > _PROGRESS_INTERVAL:
                    told_at = time.monotonic()
                    self.tell(f"{number:,} visits of the archive read again, of {self.status.pages:,} pages and more")
                relevance, estimate = known.get(visit.candidate.url, (visit.relevance, visit.standing))
                page = visit.page
                if page is not None:
                    by = standing or (missing_standing if estimate is None else None)
                    estimate = by.standing(page) if by else estimate
                    relevance = judge.relevance(page) if judge else relevance
                    if judge and relevance is not None and visit.is_kept:
                        relevances[page.url] = relevance
                    if standing and estimate is not None and visit.is_kept:
                        standings[page.url] = estimate
                yield replace(visit, relevance=relevance, standing=estimate)

        self.rank_by(past_visits())
        if judge:
            self.status.recount([relevance >= RELEVANT for relevance in relevances.values()])
        return relevances, standings

    def rank_by(self, visits: Iterable[Visit]) -> None:
        """Rebuilds the frontier as if the strategy had made these visits from the start."""
        if self.collection.catalog.get_state(CROWDED):
            self.collection.catalog.put_state(CROWDED, 0)  # counted again
        self.loop.rerank_from_history(self._made_strategy(), self._seeds, visits)

    def _archived_visits(self) -> Iterator[Visit]:
        for event, _ in self.collection.archive.events():
            if isinstance(event, Visit):
                yield replace(event, page=self.reader(event.fetch))

    @cached_property
    def words(self) -> PageWords:
        """The saved word counts of scored pages."""
        made_by = f"1 {'stems' if self.recipe.topic.stem else 'words'} {__version__}"
        return PageWords(self.folder / WORDS_FILE, made_by=made_by)

    def _cached_terms(self, name: Url, count: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """The terms of an example file or of a built-in text, counted once."""
        terms: Mapping[str, int] | None = self.words.terms(name, 0.0)
        if terms is None:
            terms = count()
            self.words.put_terms(name, 0.0, terms)
        return terms

    def terms(self, url: Url) -> CountedTerms | None:
        """The terms of a stored page or fetched example, for training."""
        row: PageRow | ExampleRow | None = self.collection.catalog.page(url)
        if row is None or row.place is None:
            row = self.collection.catalog.example(url)
        if row is None or row.place is None:
            return None
        if (url, row.at) not in self._counted:
            terms = self.words.terms(url, row.at)
            if terms is None:
                page = self.reader(self.collection.archive.fetch_at(row.place))
                if page is None:
                    return None
                terms = dict(page.terms)
                self.words.put_terms(url, row.at, terms)
            self._counted[url, row.at] = CountedTerms(terms)
        return self._counted[url, row.at]

    def page(self, url: Url) -> Page | None:
        """A stored page or fetched example, read from the archive."""
        row = self.collection.catalog.page(url)
        if row is not None and row.place is not None:
            return self.reader(self.collection.archive.fetch_at(row.place))
        example = self.collection.catalog.example(url)
        if example is not None and example.place is not None:
            return self.reader(self.collection.archive.fetch_at(example.place))
        return None

    def _finish_forgetting(self) -> int:
        """Removes what is to be forgotten from every file of the collection; returns the number of removed pages.

        The journal records this until it is done, so that after a kill the next session does it again.
        """
        catalog, forgotten = self.collection.catalog, read_forgotten(self.folder)
        was_killed = read_journal(self.folder) == Upkeep("forget")
        is_noted = sorted(forgotten) == (catalog.get_state("forgotten", list[int]) or [])
        if is_noted and not was_killed:
            return 0
        write_journal(self.folder, Upkeep("forget"))

        def is_gone(url: Url) -> bool:
            return is_forgotten(url, forgotten)

        forget_labels(self.folder, is_gone)
        drop_from_sample(self.folder, is_gone)
        forget_steering(self.folder, lambda name: is_forgotten_name(name, forgotten))
        self.steer()
        self.topic.read_examples()
        (self.folder / REPORT_FILE).unlink(missing_ok=True)
        pages = self.collection.forget(is_gone)
        if pages or was_killed:
            self._forget_models()
        numbers = {number for number, *_ in catalog.judged()}
        self._counted.clear()
        self.words.forget(is_gone, numbers)
        self._recall, self._is_recall_behind = None, True
        self._admission.pages.restore(catalog.pages_of_hosts())
        self._seeds = [seed for seed in self._seeds if not is_forgotten(seed, forgotten)]
        catalog.remove_skips(SkipReason.QUOTA)  # re-ranking skips again what is still over a quota
        self.rerank()
        catalog.put_state("seeds", self._seeds)
        catalog.put_state("forgotten", sorted(forgotten))
        self.checkpoint()
        if self.collection.compact():
            end_journal(self.folder)
        else:
            self.tell("another program reads the catalog: the next command removes the last of what was forgotten")
        return pages

    def _forget_models(self) -> None:
        """Deletes models that may contain words of forgotten pages; the next crawl trains new ones."""
        (self.folder / STANDING_FILE).unlink(missing_ok=True)
        if not self.topic.learns or self.topic.wants_background or not self._has_usable_model():
            (self.folder / MODEL_FILE).unlink(missing_ok=True)

    def _has_usable_model(self) -> bool:
        """Whether all examples of the saved model still exist."""
        try:
            return self.topic.load() is not None
        except LycosaError:
            return False

    # ------------------------------------------------------------ the journal of the crawl

    def record(self, event: Event) -> None:
        self.collection.record(event)
        self._unsaved += 1
        if isinstance(event, Scores) and event.relevance:
            self._recall, self._is_recall_behind = None, True  # the set of relevant pages has changed

    def record_skips(self, skips: Iterable[Skip]) -> None:
        kept = [skip for skip in skips if skip.reason is not SkipReason.FORGOTTEN]  # those leave no trace
        self.collection.catalog.add_skips(kept, self.clock.now())
        if self._recall is not None:
            for skip in skips:
                if skip.reason in OUT_OF_REACH:
                    self._recall.leave_out(skip.candidate.url)

    def checkpoint(self) -> None:
        """Saves everything, so that after a kill only later events are read from the archive."""
        catalog, cpu_before = self.collection.catalog, time.process_time()
        if self.is_restored:
            self._save_loop()
        if self._recall is not None and self._is_recall_behind:
            catalog.put_state(RECALL_STATE, msgspec.to_builtins(self._recall.estimate()))
            if catalog.get_state(RECALL_BEHIND):
                catalog.put_state(RECALL_BEHIND, False)
            self._is_recall_behind = False
        self.collection.checkpoint()
        self.words.commit()
        self._unsaved = 0
        self._checkpointed_at, self._cpu_at_checkpoint = time.monotonic(), time.process_time()
        self._cpu_of_checkpoint = self._cpu_at_checkpoint - cpu_before

    def _save_loop(self) -> None:
        """Saves the frontier and the state of the strategy in the catalog."""
        catalog = self.collection.catalog
        self._write_frontier()
        catalog.put_state("strategy", self.strategy_name)
        if self._options or catalog.get_state("options"):
            catalog.put_state("options", dict(self._options))
        catalog.put_state("map", self.map.reference)
        catalog.put_state("logs", self.log.reference)
        if self._steering != Steering() or catalog.get_state("steering"):
            catalog.put_state("steering", msgspec.to_builtins(self._steering))
        catalog.put_state("strategy_state", self.loop.strategy.state())
        holds, forgotten = self.frontier.holds(self.clock.now() + SHORT_HOLD), read_forgotten(self.folder)
        kept = {host: until for host, until in holds.items() if not is_forgotten_name(host, forgotten)}
        catalog.put_state("holds", kept)

    def _write_frontier(self) -> None:
        with self.collection.catalog.guarded():
            self.frontier.save()

    def checkpoint_if_due(self) -> None:
        """Saves after 500 events; otherwise every 2 seconds if saving is a small part of the work, else every 10."""
        if self._unsaved >= 500:
            self.checkpoint()
        elif self._unsaved and (seconds := time.monotonic() - self._checkpointed_at) > 2.0:
            work = time.process_time() - self._cpu_at_checkpoint
            if work > _WORK_PER_CHECKPOINT * self._cpu_of_checkpoint or seconds > 10.0:
                self.checkpoint()


def _inner(state: Plain) -> Plain:
    """The state of the wrapped strategy in that of its wrapper."""
    return state.get("inner") if isinstance(state, dict) else None


def _bounds(scope: Scope) -> Scope:
    """The part of the scope that decides which URLs may wait."""
    return replace(scope, keep_noindex=False)


def _utility_of(saved: Plain) -> UtilityOptions:
    """The utility options of a run; the defaults if invalid, so that one bad run cannot make a collection unusable."""
    try:
        return msgspec.convert(saved or {}, UtilityOptions)
    except msgspec.ValidationError:
        return UtilityOptions()


def _steering_of(saved: Plain) -> Steering:
    """The steering that the frontier had at the last checkpoint; none if invalid."""
    try:
        return msgspec.convert(saved or {}, Steering)
    except msgspec.ValidationError:
        return Steering()


def _scope_of(saved: Plain) -> Scope:
    """The scope of a run; no limits if invalid."""
    try:
        return msgspec.convert(saved or {}, Scope)
    except msgspec.ValidationError:
        return Scope()


def _quotas_of(saved: Plain) -> Quotas:
    """The quotas of a run; none if invalid."""
    try:
        return msgspec.convert(saved or {}, Quotas)
    except msgspec.ValidationError:
        return Quotas()
