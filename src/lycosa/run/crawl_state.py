"""What a crawl continues with after a checkpoint: settings and seeds of the last run, frontier, strategy, loop."""

from collections.abc import Iterable, Sequence, Set
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET

from lycosa.collection.collection import Collection
from lycosa.collection.events import RunStart
from lycosa.collection.queries import HOLDS_KEY, PASSED_OVER_KEY
from lycosa.frontier.admission import Admission, Scope, host_url_or_pattern
from lycosa.frontier.durable import DurableFrontier, WaitingSample
from lycosa.loop import Loop
from lycosa.reading.fingerprint import NearDuplicates
from lycosa.recipe import Recipe
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import (
    REQUEST_FAILURES,
    Candidate,
    CheckedUrl,
    Count,
    Host,
    JsonValue,
    Outcome,
    SkipReason,
    Timestamp,
    Url,
    Visit,
)
from lycosa.vocabulary.urls import site_of
from lycosa.web.outcomes import MAX_WAIT

from .access_log import access_log_of_run
from .crawl import Status
from .crawl_journal import CrawlJournal
from .forgotten import is_forgotten, is_forgotten_name, read_forgotten
from .guides import Guide
from .recall import MAX_SAMPLE, RecallTracker
from .run_settings import Notify, RunSettings
from .steering import Steering, checked_argument, drop, read_dropped, read_steering
from .strategy_factory import STATE_TOO_LARGE, STRATEGY_STATE, StrategyFactory
from .topic import TopicJudge
from .topical_map import map_of_run
from .unanswered import UnansweredUrls

# Seconds; a hold is a time before which a host gets no request, and shorter ones are neither saved nor shown.
MIN_REPORTED_HOLD = 10.0
# Key of the state in the catalog: the frontier is not yet re-ranked after a change of scores or strategy.
RERANK_DUE = "ranks_behind"
_RANK_LISTS_KEY = "authority"  # key of the state: digest of the imported rank lists, None if they are not used
_BY_SCORES = "scores"  # value of `RERANK_DUE` if nothing but scores has changed
_NO_PAGE_OUTCOMES = REQUEST_FAILURES | {Outcome.GONE, Outcome.UNWANTED, Outcome.FORBIDDEN}


class CrawlState:
    """The state of a collection's crawl, restored from its catalog as of the last checkpoint.

    Frontier and loop are restored on first use, because that reads every waiting URL.

    journal: records the events of the loop.
    recall: estimates the share of the relevant pages that was found. It gets every visit, and is invalidated, so that
        it reads the catalog again, where something else changes what was found or can be.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        collection: Collection,
        *,
        topic: TopicJudge,
        journal: CrawlJournal,
        recall: RecallTracker,
        clock: Clock,
        notify: Notify,
    ):
        catalog = collection.catalog
        self._folder = folder
        self._recipe = recipe
        self._topic = topic
        self._sites_of_seeds_and_examples: frozenset[str] | None = None  # computed when it is needed
        self._catalog = catalog
        self._journal = journal
        self._recall = recall
        self._clock = clock
        self._notify = notify
        self._frontier: DurableFrontier | None = None
        self._loop: Loop | None = None
        self.saves_all_delays = False  # also short ones, as others go on with the crawl at once
        self._too_large_strategy: Strategy | None = None  # its state could not be saved
        self.topical_map = Guide("map", find=partial(map_of_run, folder=folder), notify=notify)
        self.access_log = Guide("access log", find=partial(access_log_of_run, folder=folder), notify=notify)
        self.strategy_factory = StrategyFactory(
            folder, recipe, topic=topic, map=self.topical_map, log=self.access_log, notify=notify
        )
        with catalog.reporting_errors():
            self._seeds: list[Url] = catalog.get_state("seeds", list[CheckedUrl]) or []
            self._from_sitemaps = set(catalog.get_state("sitemap_seeds", list[CheckedUrl]) or ())
            self.settings = RunSettings.restored(catalog, recipe, notify=notify)
            self.topical_map.activate(catalog.get_state("map"), self.settings.strategy)
            self.access_log.activate(catalog.get_state("logs"), self.settings.strategy)
            # The user's commands to the crawl: what to block, to boost and to drop.
            self._steering = _saved_steering(catalog.get_state("steering"))
            self._admission = Admission(
                self.settings.scope,
                recipe.traps,
                sites=self._sites_to_stay_on(self.settings.scope),
                forgotten=read_forgotten(folder),
                quotas=self.settings.quotas,
                blocked=self._steering.blocked,
                dropped=read_dropped(folder),
            )
            self._unanswered = UnansweredUrls(
                collection,
                admission=self._admission,
                frontier=lambda: self.frontier,
                retries=recipe.requests.retries,
            )
            totals = catalog.totals()
            self.status = Status(
                pages=totals.pages,
                relevant=totals.relevant,
                pages_since_relevant=catalog.pages_since_relevant(),
                bytes_kept=totals.bytes,
                began=clock.now(),
            )

    # ------------------------------------------------------------ restore and save

    def restore(self) -> None:
        """Restores frontier, strategy and loop, unless that was done."""
        if self._loop is None:
            with self._catalog.reporting_errors():
                self._loop = Loop(
                    self._restored_strategy(),
                    self.frontier,
                    journal=self._journal,
                    observe=self._observe,
                    clock=self._clock,
                    retries=self._recipe.requests.retries,
                )

    @property
    def loop(self) -> Loop:
        """The loop, with strategy and frontier; restored on first use."""
        self.restore()
        assert self._loop is not None
        return self._loop

    @property
    def frontier(self) -> DurableFrontier:
        """The waiting URLs; restored on first use."""
        if self._frontier is None:
            with self._catalog.reporting_errors():
                self._frontier = self._restored_frontier()
            self._recall.set_sampler(self._waiting_sample)
        return self._frontier

    @property
    def is_frontier_restored(self) -> bool:
        """Whether the frontier was read, and may have changed since."""
        return self._frontier is not None

    @cached_property
    def duplicates(self) -> NearDuplicates:
        """The index of near-duplicates, read from the catalog on first use."""
        duplicates = NearDuplicates(folder=self._folder)
        for url, fingerprint, digest in self._catalog.fingerprints():
            duplicates.add(fingerprint, url, digest)
        for url, digest, is_copy in self._catalog.duplicates():
            # A copy (`Visit.is_copy`) is a duplicate whose links are not followed.
            duplicates.add_duplicate(digest, url, is_followed=not is_copy)
        return duplicates

    @property
    def seeds(self) -> Sequence[Url]:
        """The seeds of all runs so far, from recipe, flags and sitemaps."""
        return self._seeds

    @property
    def from_sitemaps(self) -> Set[Url]:
        """The seeds that the user has not named: those of sitemaps."""
        return self._from_sitemaps

    def save_seeds(self) -> None:
        """Writes the seeds to the catalog; the caller commits."""
        self._catalog.put_state("seeds", self._seeds)
        if self._from_sitemaps or self._catalog.get_state("sitemap_seeds"):
            self._catalog.put_state("sitemap_seeds", [seed for seed in self._seeds if seed in self._from_sitemaps])

    def _restored_strategy(self) -> Strategy:
        """Restores the strategy of the last checkpoint; if that is not possible, makes a new one and requests a
        re-ranking."""
        strategy = self.strategy_factory.restored(self.settings, self._catalog)
        if strategy is None:
            self.request_reranking()
            return self.strategy_factory.make(self.settings)
        return strategy

    def _restored_frontier(self) -> DurableFrontier:
        """What waits in the catalog, with the holds of hosts, and how often each site was passed over for others, as it
        had used up its share of the requests.
        """
        catalog, requests = self._catalog, self._recipe.requests
        frontier = DurableFrontier(
            catalog.connection,
            clock=self._clock,
            admission=self._admission,
            delay=requests.delay,
            per_address=requests.address_limit,
            site_share=requests.site_share,
            named_sites=self._named_sites,
            slow_slots=requests.slow_slots,
            limit=self._recipe.waiting.limit,
            boosted=self._steering.boosted,
        )
        for host, until in (catalog.get_state(HOLDS_KEY, dict[str, Timestamp]) or {}).items():
            frontier.hold(Host(host), self._at_most_a_day(until))
        frontier.passed_over.update(catalog.get_state(PASSED_OVER_KEY, dict[str, Count]) or {})
        frontier.restore_settled(catalog.visited())
        self._admission.quota_usage.restore(catalog.page_counts_by_host())
        return frontier

    def save(self) -> None:
        """Writes frontier and strategy to the catalog, if they were restored; the caller commits."""
        if not self.is_frontier_restored:
            return
        catalog, settings = self._catalog, self.settings
        self.save_frontier()
        catalog.put_state("strategy", settings.strategy)
        if settings.options or catalog.get_state("options"):
            catalog.put_state("options", dict(settings.options))
        catalog.put_state("map", self.topical_map.reference)
        catalog.put_state("logs", self.access_log.reference)
        if self._steering != Steering() or catalog.get_state("steering"):
            catalog.put_state("steering", msgspec.to_builtins(self._steering))
        self._save_strategy()
        forgotten = read_forgotten(self._folder)
        # No request to these hosts until then, whether they are held or their delay is as long.
        min_hold = 0.0 if self.saves_all_delays else MIN_REPORTED_HOLD
        holds = self.frontier.resting_beyond(self._clock.now() + min_hold)
        saved_holds = {host: until for host, until in holds.items() if not is_forgotten_name(host, forgotten)}
        catalog.put_state(HOLDS_KEY, saved_holds)
        if (passed_over := self.frontier.passed_over) or catalog.get_state(PASSED_OVER_KEY):
            kept_sites = {site: count for site, count in passed_over.items() if not is_forgotten_name(site, forgotten)}
            catalog.put_state(PASSED_OVER_KEY, kept_sites)

    def _save_strategy(self) -> None:
        """Writes the state of the strategy, unless it is, or was before, too large."""
        strategy, catalog = self.loop.strategy, self._catalog
        if strategy is not self._too_large_strategy and not catalog.put_large_state(STRATEGY_STATE, strategy.state()):
            catalog.put_state(STRATEGY_STATE, STATE_TOO_LARGE)
            self._too_large_strategy = strategy

    def _waiting_sample(self) -> WaitingSample:
        with self._catalog.reporting_errors():
            return self.frontier.sample(MAX_SAMPLE)

    def save_frontier(self) -> None:
        """Writes the frontier alone."""
        with self._catalog.reporting_errors():
            self.frontier.save()

    def _observe(self, visit: Visit) -> None:
        self.status.add(visit)
        self._recall.add(visit)
        self._unanswered.observe(visit)
        if visit.page is not None and visit.is_kept and visit.duplicate_of is None:
            self.duplicates.add(visit.page.fingerprint, visit.page.url, visit.page.digest)
        elif visit.page is not None and visit.is_kept:
            self.duplicates.add_duplicate(visit.page.digest, visit.page.url, is_followed=not visit.is_copy)

    # ------------------------------------------------------------ runs

    def begin_run(self, run: RunStart) -> list[str]:
        """Applies and saves the settings of a run, and queues its seeds and what got no answer in earlier runs.

        Returns the changes for which the frontier must be re-ranked.
        """
        before, earlier_seeds = self.settings, frozenset(self._seeds)
        self._add_seeds(run)
        self.settings = RunSettings.of_run(run, self._recipe, notify=self._notify)
        changes = self._apply_strategy(run, before) + self._apply_limits(before)
        changes += self._save_settings(run)
        offer_all = self._save_skip_limits() or bool(changes)
        self._queue_seeds(run, offered_before=frozenset() if offer_all else earlier_seeds)
        self._unanswered.begin_run()
        return changes

    def _add_seeds(self, run: RunStart) -> None:
        """Adds the seeds of a run to those of earlier ones."""
        known, named_count = set(self._seeds), len(run.seeds) - (run.sitemap_seed_count or 0)
        self._seeds += [seed for seed in dict.fromkeys(run.seeds) if seed not in known]
        self._from_sitemaps.update(seed for seed in run.seeds[named_count:] if seed not in known)
        self._from_sitemaps.difference_update(run.seeds[:named_count])
        self._sites_of_seeds_and_examples = None

    def _apply_strategy(self, run: RunStart, before: RunSettings) -> list[str]:
        """Replaces the strategy if it, its map or its log has changed; returns what has."""
        settings = self.settings
        changes = settings.strategy_changes(before)
        if run.map != self.topical_map.reference:
            changes.append("map")
        if run.access_log != self.access_log.reference:
            changes.append("log")
        if changes:
            self.topical_map.activate(run.map, settings.strategy)
            self.access_log.activate(run.access_log, settings.strategy)
            self.loop.use_strategy(self.strategy_factory.make(settings))
        return changes

    def _apply_limits(self, before: RunSettings) -> list[str]:
        """Applies scope and quotas; returns which of them have changed."""
        settings, sites = self.settings, self._sites_to_stay_on(self.settings.scope)
        changes = settings.limit_changes(before)
        if sites != self._admission.sites and "scope" not in changes:  # a seed on another site widens the scope
            changes.append("scope")
        self._admission.set_scope(settings.scope, sites=sites)
        self.frontier.set_quotas(settings.quotas)
        if changes:  # re-ranking skips again what is still out of scope
            self._recall.invalidate()
            self._catalog.remove_skips(SkipReason.SCOPE, SkipReason.QUOTA)
        return changes

    def _save_settings(self, run: RunStart) -> list[str]:
        """Writes seeds and settings of the run to the catalog; returns "lists of ranks" if those have changed."""
        catalog = self._catalog
        self.save_seeds()
        catalog.put_state("scope", run.scope)
        catalog.put_state("utility", run.utility)  # how relevance is weighed against standing
        if run.quotas is not UNSET or catalog.get_state("quotas"):
            catalog.put_state("quotas", msgspec.to_builtins(self.settings.quotas))
        digest = None if run.rank_lists_digest is UNSET else run.rank_lists_digest
        if digest == catalog.get_state(_RANK_LISTS_KEY):
            return []
        catalog.put_state(_RANK_LISTS_KEY, digest)
        return ["lists of ranks"]

    def _save_skip_limits(self) -> bool:
        """Writes the limits of the recipe by which a seed may be skipped; returns whether they have changed."""
        limits = msgspec.to_builtins([self._recipe.traps, self._recipe.waiting])
        if limits == self._catalog.get_state("skip_limits"):
            return False
        self._catalog.put_state("skip_limits", limits)
        return True

    def _queue_seeds(self, run: RunStart, *, offered_before: Set[Url]) -> None:
        """Queues the new seeds of a run, and again those that failed before.

        offered_before: seeds that earlier runs with the same limits have queued. While other URLs wait, those of them
            that the frontier has dropped since are not queued again, as in a crawl that was not stopped.
        """
        nothing_waits = not len(self.frontier)
        seeds = [
            seed
            for seed in run.seeds
            if not self.frontier.is_known(seed) and (nothing_waits or seed not in offered_before)
        ]
        self._requeue_failed_seeds(seed for seed in run.seeds if self.frontier.is_settled(seed))
        if seeds or (nothing_waits and not self.status.pages):  # a strategy may start without seeds
            self.loop.start(seeds, from_sitemaps=self._from_sitemaps)

    def _requeue_failed_seeds(self, seeds: Iterable[Url]) -> None:
        """Queues seeds again that got no answer last time, as the network may be back; if no page was stored at all,
        also those for which the server had no page. Not those that the user has blocked or dropped since.
        """
        settled = set(seeds)  # visited or skipped
        if not settled:
            return
        may_have_changed = REQUEST_FAILURES if self.status.pages else _NO_PAGE_OUTCOMES
        for url, outcome in self._catalog.last_outcomes():
            if url in settled and outcome in may_have_changed and self.is_in_scope(url):
                is_from_sitemap = url in self._from_sitemaps
                because = {"sitemap" if is_from_sitemap else "seed": True}
                self.frontier.requeue(Candidate(url, 1.0, because=because, depth=int(is_from_sitemap)))

    def run_with_last_settings(self, refresh: JsonValue) -> RunStart:
        """A run with the settings of the last one, even if the recipe has changed.

        refresh: the settings of a refresh, as the run records them; None for a crawl.
        """
        return self.settings.run_start(
            self._clock.now(),
            refresh=refresh,
            map_=self.topical_map.reference,
            access_log=self.access_log.reference,
            rank_lists_digest=self.strategy_factory.rank_lists_digest,
        )

    def empty_frontier_reason(self) -> str:
        """The stop reason when the frontier is empty."""
        return self.settings.empty_frontier_reason(self._catalog.count_skips(SkipReason.QUOTA))

    def is_in_scope(self, url: Url) -> bool:
        """Whether a URL is in the scope of the last run."""
        return self._admission.out_of_scope(url) is None

    def _sites_to_stay_on(self, scope: Scope) -> frozenset[str]:
        """The sites of the seeds that the user named, if the scope needs them; computing them takes 0.1 s."""
        named = (seed for seed in self._seeds if seed not in self._from_sitemaps)
        return frozenset(map(site_of, named)) if scope.stay_on_sites else frozenset()

    def _named_sites(self) -> frozenset[str]:
        """The sites of the seeds that the user named, and of the good examples."""
        if self._sites_of_seeds_and_examples is None:
            seeds = (seed for seed in self._seeds if seed not in self._from_sitemaps)
            examples = (url for url, is_good in self._topic.examples.urls.items() if is_good)
            self._sites_of_seeds_and_examples = frozenset(map(site_of, chain(seeds, examples)))
        return self._sites_of_seeds_and_examples

    # ------------------------------------------------------------ changes between two visits

    def request_reranking(self, *, by_scores: bool = False) -> None:
        """Notes in the catalog that the frontier is to be re-ranked; `Reranker` does it.

        by_scores: whether nothing but scores has changed, so that a strategy that takes new scores of the pages it has
            seen (`SupportsRejudge`) need not see them again.
        """
        if not by_scores or not self._catalog.get_state(RERANK_DUE):
            self._catalog.put_state(RERANK_DUE, _BY_SCORES if by_scores else True)

    def reranking_due(self) -> Literal["no", "by scores", "from history"]:
        """Whether the frontier is to be re-ranked, and by what."""
        due = self._catalog.get_state(RERANK_DUE)
        if not due:
            return "no"
        return "by scores" if due == _BY_SCORES else "from history"

    def queue_again(self) -> None:
        """Queues again what no visit leads to, after a re-ranking has emptied the frontier: the URLs that the user has
        boosted, and those that got no answer in earlier runs."""
        self._queue_boosted(self._steering.boosted)
        self._unanswered.queue_one_per_host()

    def mark_reranked(self) -> None:
        """Notes in the catalog that the frontier was re-ranked."""
        self._catalog.put_state(RERANK_DUE, False)

    def apply_steering(self) -> None:
        """Applies the steering file if it has changed: blocks and boosts what it names, queues new URLs, and removes
        those that were dropped.

        Unblocking, and undoing a drop, request a re-ranking.
        """
        before, steering = self._steering, read_steering(self._folder)
        if steering == before:
            return
        self._steering = steering
        if set(before.blocked) - set(steering.blocked) or steering.dropped < before.dropped:
            # Re-ranking restores these links.
            self._catalog.remove_skips(SkipReason.SCOPE)
            self.request_reranking()
        self._journal.record_skips(self.frontier.block(steering.blocked, read_dropped(self._folder)))
        self.frontier.boost(steering.boosted)
        self._queue_boosted(name for name in steering.boosted if name not in before.boosted)

    def _queue_boosted(self, names: Iterable[str]) -> None:
        """Queues those of these names that are URLs, unless they are known."""
        urls = (Url(name) for name in names if host_url_or_pattern(name) == "URL")
        new = [Candidate(url, 1.0, because={"boosted": True}) for url in urls if not self.frontier.is_known(url)]
        self._journal.record_skips(self.loop.put(new))

    def drop(self, name: str) -> int:
        """Drops the waiting URLs that a host, a URL or a pattern names, not those found there later; returns their
        number."""
        name = checked_argument(name)
        urls = self.frontier.named(name)
        if urls:
            drop(self._folder, name, urls)
            self.apply_steering()
        return len(urls)

    def hold(self, host: Host, until: float) -> None:
        """Makes no request to a host until the given time; for a day at most, as the clock may have changed."""
        self.frontier.hold(host, self._at_most_a_day(until))

    def _at_most_a_day(self, until: float) -> float:
        return min(until, self._clock.now() + MAX_WAIT)

    def forget(self, forgotten: frozenset[int]) -> None:
        """Drops forgotten seeds, counts pages again, and removes skips for quotas, which re-ranking finds again.

        forgotten: the hashed keys of the URLs and hosts, as in `read_forgotten`.
        """
        self._recall.invalidate()
        self._admission.quota_usage.restore(self._catalog.page_counts_by_host())
        self._seeds = [seed for seed in self._seeds if not is_forgotten(seed, forgotten)]
        self._from_sitemaps.intersection_update(self._seeds)
        self._catalog.remove_skips(SkipReason.QUOTA)


def _saved_steering(saved: JsonValue) -> Steering:
    """The steering that the frontier had at the last checkpoint; none if invalid."""
    try:
        return msgspec.convert(saved or {}, Steering)
    except msgspec.ValidationError:
        return Steering()
