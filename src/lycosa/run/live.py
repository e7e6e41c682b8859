"""A crawl of a collection over HTTP: learn the topic, learn standing, build the crawl, run it."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from lycosa import __version__
from lycosa.collection.events import RunStart, RunStop
from lycosa.frontier.admission import Admission
from lycosa.recipe import DEFAULT_STRATEGY, FILE_NAME, FORMER_DEFAULT_STRATEGY, Recipe, uses_standing, utility_for
from lycosa.strategies import Mapped
from lycosa.strategies.hunter import Hunter
from lycosa.strategies.registry import STRATEGIES
from lycosa.strategies.target import RelevanceTarget
from lycosa.user_config import config_file
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Memory, Web
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.hosts import is_public
from lycosa.vocabulary.records import LeftOutReason, Page, Url, Visit
from lycosa.vocabulary.text import counted, quoted
from lycosa.vocabulary.urls import hostname_of, site_of
from lycosa.web.http import LiveWeb, user_agent
from lycosa.web.robots import RobotsWeb

from .access_log import access_log_of_recipe
from .control import CrawlControl
from .crawl import INTERRUPTED, Crawl
from .examples import PreCrawlJournal, PrefetchedWeb, fetch_examples, unvisited_examples
from .guides import nested_strategies
from .host_slots import CurrentSlots
from .options import CommandSettings
from .session import Session
from .sitemaps import urls_in_sitemaps
from .standing_training import StandingTrainer
from .topic_training import TopicTrainer
from .topical_map import open_map

_DEFAULT_TOLD_STATE = "default_told"  # key in the state of the catalog: whether the user was told of the new default


def make_web(
    recipe: Recipe,
    *,
    clock: Clock,
    allow_private: bool = False,
    resolve: Sequence[str] = (),
    slots: CurrentSlots | None = None,
) -> RobotsWeb:
    """The web with the request settings of a recipe.

    resolve: addresses at which hosts are to be reached, as HOST=ADDR:PORT; the host * stands for every host.
    slots: limit requests to one at a time per host.
    """
    requests, slots = recipe.requests, slots or CurrentSlots()
    name = user_agent(__version__, recipe.contact)
    live = LiveWeb(
        user_agent=name,
        clock=clock,
        timeout=requests.timeout,
        max_body=requests.max_body,
        allow_private=allow_private,
        allow_public=bool(recipe.contact),
        resolve=resolve,
        proxy=requests.proxy or None,
        headers=requests.headers,
        cookies=requests.cookies or None,
        may_connect=slots.claim_address if requests.address_limit else None,
        on_out_of_files=slots.note_file_limit,
    )
    return RobotsWeb(live, user_agent=name, clock=clock, slots=slots)


def require_contact(
    session: Session, resolve: Sequence[str], log_urls: Iterable[Url] = (), more_seeds: Sequence[Url] = ()
) -> None:
    """Raises UsageError if public hosts would be crawled without contact information.

    log_urls: pages of an access log; only those in scope count.
    more_seeds: in addition to those of the recipe.
    """
    if session.recipe.contact:
        return
    seeds = [*session.recipe_seeds(), *more_seeds]
    admission = Admission(session.recipe.scope, sites=frozenset(map(site_of, seeds)))
    log_urls_in_scope = (url for url in log_urls if is_public(hostname_of(url)) and admission.out_of_scope(url) is None)
    require_contact_for(chain(seeds, session.topic.examples.urls, log_urls_in_scope), "", resolve, session.folder)


def require_contact_for(urls: Iterable[Url], contact: str, resolve: Sequence[str], folder: Path | None) -> None:
    """Raises UsageError if a URL is on a public host, there is no contact, and `resolve` does not redirect the host.

    folder: of the collection, if there is one.
    """
    redirected_hosts = {entry.partition("=")[0].strip().lower() for entry in resolve}
    if contact or "*" in redirected_hosts:
        return
    for url in urls:
        name = hostname_of(url)
        if name not in redirected_hosts and is_public(name):
            or_recipe = f", for this one into {folder / FILE_NAME}" if folder else ""
            raise RecipeError(
                f"{name} is a public host, and those who run it must be able to reach you: say --contact "
                f'you@example.org; or for all collections, write contact = "you@example.org" into '
                f"{config_file()}{or_recipe}"
            )


class Visits(AbstractAsyncContextManager[AsyncGenerator[Visit, None]]):
    """The visits of a run, as a context manager: entering prepares the run, leaving ends it and closes all connections.

    A class, not an `asynccontextmanager`: when an event loop shuts down, it closes all generators at once, and one of
    them would be closed while it waits for another.
    """

    def __init__(self, session: Session, settings: CommandSettings):
        self._session = session
        self._settings = settings
        self._slots = CurrentSlots()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> AsyncGenerator[Visit, None]:
        async with AsyncExitStack() as stack:
            visits = await self._open(stack)
            self._stack = stack.pop_all()
        return visits

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._stack.__aexit__(*error)

    async def _open(self, stack: AsyncExitStack) -> AsyncGenerator[Visit, None]:
        """Prepares the run; clean-up is registered on the stack."""
        raise NotImplementedError

    def _web(self, stack: AsyncExitStack) -> RobotsWeb:
        """The web with the request settings of the session's recipe."""
        session, settings = self._session, self._settings
        require_contact(session, settings.resolve, more_seeds=settings.seeds)
        web = make_web(
            session.recipe,
            clock=session.clock,
            allow_private=settings.allow_private,
            resolve=settings.resolve,
            slots=self._slots,
        )
        stack.push_async_callback(web.close)
        return web


class LiveCrawl(Visits):
    """The visits of a crawl over HTTP."""

    async def _open(self, stack: AsyncExitStack) -> AsyncGenerator[Visit, None]:
        run = LiveRun(self._session, self._web(stack), self._slots)
        crawl = await run.prepare(self._settings)
        return no_visits() if crawl is None else await run.visits(crawl, stack)


def describe_target_result(target: RelevanceTarget) -> str:
    """Whether the relevance target was met, in one line."""
    recent_relevance = target.recent_relevance or 0.0
    pages = f"the last {len(target)} pages have a mean" if len(target) > 1 else "the last page has a"
    recent = f"{pages} relevance of {recent_relevance:.2f}"
    if not target.is_attainable and recent_relevance < target.target:
        return f"target {target.target:g} was out of reach: {recent}, so links were ranked by relevance alone"
    if not target.is_attainable:
        return (
            f"target {target.target:g}: {recent}; the waiting links are below it, "
            "so links were ranked by relevance alone"
        )
    if target.alpha == 0.0:
        return f"target {target.target:g}: {recent}, so links were ranked by importance alone"
    return (
        f"target {target.target:g}: {recent}; relevance weighs {target.alpha:.2f}, importance {1.0 - target.alpha:.2f}"
    )


async def no_visits() -> AsyncGenerator[Visit, None]:
    """The visits of a run that is interrupted during its preparation: none."""
    return
    yield


class LiveRun:
    """Prepares and runs one crawl of a session: first the models, then the crawl.

    is_worker: whether it crawls a shard, beside other workers.
    """

    def __init__(self, session: Session, web: RobotsWeb, slots: CurrentSlots | None = None, *, is_worker: bool = False):
        self._session = session
        self._web = web
        self._slots = slots or CurrentSlots()
        self._is_worker = is_worker
        self.is_handed_over = False  # whether workers go on with the run, so that it does not end here
        self._standing = StandingTrainer(session)
        self.topic = TopicTrainer(session, self._standing, is_worker=is_worker)

    async def prepare(self, settings: CommandSettings) -> Crawl | None:
        """Learns the topic and standing and builds the crawl; None if interrupted."""
        session, recipe = self._session, self._session.recipe
        seeds = list(
            dict.fromkeys((*session.recipe_seeds(notify=session.notify), *session.not_forgotten(settings.seeds)))
        )
        quotas = recipe.stop.quotas()
        log = access_log_of_recipe(recipe.logs, session.folder, current=session.access_log.active)
        if not seeds and log is None:
            if session.topic.examples.contradictory:
                raise RecipeError(
                    f"{session.folder}: every example is labelled both good and bad, so there is nowhere to start; "
                    "remove one of the two labels, or give seeds"
                )
            if not len(session.frontier):
                raise RecipeError(
                    f'{session.folder}: no seeds; name a file of URLs in {FILE_NAME} (seeds = "seeds.txt"), '
                    "or give examples as URLs, or start from the pages of an access log with --logs"
                )
            require_contact(session, settings.resolve, more_seeds=session.state.seeds)
        if log is not None:
            require_contact(session, settings.resolve, log.access_log.urls)
        map_ = open_map(recipe.map, session.folder, allow_private=settings.allow_private)
        if map_ is not None and map_.advice:
            session.notify(map_.advice)
        if not await self.learn_topic():
            return None
        web = PrefetchedWeb(self._web, unvisited_examples(session))
        sitemap_urls: list[Url] = []
        if settings.sitemaps or recipe.sitemaps:
            sitemap_urls = await self._sitemap_urls(seeds)
            seeds += sitemap_urls
        if uses_standing(recipe):
            self.learn_standing()
        self._notify_default_strategy(settings)
        if dropped := session.limits_dropped(recipe.scope):
            session.notify(
                f"The last run's limits ({', '.join(dropped)}) do not apply now: flags apply to one run. To keep them, "
                f"put them into [scope] of {session.folder / FILE_NAME}"
            )
        self.begin(
            RunStart(
                at=session.clock.now(),
                strategy=recipe.strategy,
                seeds=tuple(seeds),
                scope=msgspec.to_builtins(recipe.scope),
                utility=msgspec.to_builtins(utility_for(recipe.strategy, recipe.utility)),
                map=session.topical_map.prepare(map_),
                access_log=session.access_log.prepare(log),
                options=recipe.options or UNSET,
                quotas=msgspec.to_builtins(quotas) or UNSET,
                sitemap_seed_count=len(sitemap_urls) or UNSET,
                rank_lists_digest=session.rank_lists_digest or UNSET,
            )
        )
        return self.crawl(web)

    def _notify_default_strategy(self, settings: CommandSettings) -> None:
        """Tells the user once of the default strategy: before the first run that uses it if earlier runs used another
        one, or if the recipe names the former default."""
        session, catalog = self._session, self._session.collection.catalog
        strategy, used = session.recipe.strategy, [run.strategy for run in catalog.runs()]
        if DEFAULT_STRATEGY in used:
            return
        if strategy == DEFAULT_STRATEGY and used and used[-1] in STRATEGIES:
            session.notify(
                f"Using the default strategy, {strategy}; the last run used {used[-1]} (--strategy {used[-1]} keeps it)"
            )
        elif (
            strategy == FORMER_DEFAULT_STRATEGY
            and not settings.names_strategy
            and not catalog.get_state(_DEFAULT_TOLD_STATE)
        ):
            session.notify(
                f"Using {strategy}, which {session.folder / FILE_NAME} names; the default is now {DEFAULT_STRATEGY}, "
                f"which finds more pages on the topic (--strategy {DEFAULT_STRATEGY} tries it)"
            )
            catalog.put_state(_DEFAULT_TOLD_STATE, True)

    def relevance(self, page: Page) -> float:
        """The relevance of a page by the current model."""
        return self.topic.relevance(page)

    async def learn_topic(self) -> bool:
        """Makes the relevance judge, fetching example pages if needed; False if interrupted or out of time."""
        session = self._session
        self._standing.check()  # before anything is fetched
        session.topic.check()
        await self.topic.learn(lambda: fetch_examples(session, self._web, self._slots))
        if session.status.is_interrupted:
            session.status.stop(INTERRUPTED)
        return not session.status.stop_reason

    def learn_standing(self) -> None:
        """Trains or loads the standing model."""
        self._standing.learn()

    def begin(self, run: RunStart) -> None:
        """Records the start of a run, and re-ranks the frontier if the run differs from the one before."""
        session = self._session
        session.record(run)
        changed = session.begin_run(run)
        if "strategy" in changed:  # then a change of target or options needs no mention
            changed = [what for what in changed if what not in ("options", "target")]
        if changed and session.status.pages:
            session.notify(f"changed: {', '.join(changed)}; the waiting links are ranked again for {run.strategy}")
            session.reranker.rerank(missing_standing=self._standing.judge)
        self._standing.rescore_pages()
        self.topic.train_if_due()  # in case the last run was killed before training
        scope = session.recipe.scope
        if scope.keep_noindex:
            self._store_pages_left_out(LeftOutReason.NOINDEX)
        self._store_pages_left_out(
            LeftOutReason.LANGUAGE, lambda language: not scope.languages or language in scope.languages
        )

    def _store_pages_left_out(
        self, reason: LeftOutReason, is_wanted: Callable[[str], bool] = lambda detail: True
    ) -> None:
        """Stores pages that an earlier run fetched but left out; they are read from the archive.

        is_wanted: whether this run keeps pages that were left out with a detail, such as a language.
        """
        session, kept = self._session, 0
        assess = session.assessor(self.topic, self._standing if self._standing.model else None)
        for left_out, location in session.collection.catalog.left_out(reason):
            if not is_wanted(left_out.detail):
                continue
            if not session.status.has_room(session.recipe.stop):
                break
            archived = session.collection.archive.event_at(location)
            if isinstance(archived, Visit) and (visit := assess(archived.candidate, archived.fetch)).is_kept:
                session.loop.process(visit)
                self.topic.observe(visit)
                kept += 1
        if kept:
            session.notify(f"{counted(kept, 'page')} kept now that earlier runs left out ({reason})")

    def crawl(
        self,
        web: Web,
        memory: Memory | None = None,
        observe: Callable[[Visit], None] = lambda visit: None,
        may_get_more: Callable[[], bool] = lambda: False,
    ) -> Crawl:
        """The complete crawl of a run that has begun."""
        session = self._session
        return Crawl(
            web=web,
            assess=session.assessor(
                self.topic,
                self._standing if self._standing.model else None,
                memory,
                score_ahead=self.topic.score_ahead,
            ),
            loop=session.loop,
            clock=session.clock,
            status=session.status,
            budget=session.recipe.stop,
            concurrency=session.recipe.requests.concurrency,
            observe=lambda visit: self._observe(visit, observe),
            between_visits=self._between_visits,
            empty_frontier_reason=session.empty_frontier_reason,
            recall=session.recall_to_stop_by,
            slots=self._slots,
            notify=session.notify,
            may_get_more=may_get_more,
        )

    def _observe(self, visit: Visit, observe: Callable[[Visit], None]) -> None:
        self.topic.observe(visit)
        observe(visit)

    def _between_visits(self) -> None:
        self._session.checkpoint_if_due()
        self.topic.train_if_due()
        if not self._is_worker:
            self._standing.learn_if_due()

    async def visits(
        self, crawl: Crawl, stack: AsyncExitStack, *, may_save: bool = True
    ) -> AsyncGenerator[Visit, None]:
        """The visits of the crawl, which the user may control meanwhile; its end is always recorded.

        may_save: whether the collection may be saved before that.
        """
        stack.push(self._end)
        control = CrawlControl(self._session, self.topic, may_save=may_save)
        stack.push_async_callback(control.close)
        await control.open()
        return await stack.enter_async_context(aclosing(crawl.visits()))

    def _end(self, error_type: type[BaseException] | None, *_: object) -> None:
        session = self._session
        if self.is_handed_over and error_type is None:
            return
        if error_type is None:
            self._report_dead_pages()
            self._report_target()
            if not session.status.is_interrupted:
                self.topic.finish()
                self.topic.report_unknown_words()
        reason = INTERRUPTED
        if error_type is not None and issubclass(error_type, Exception):  # of a plug-in, or a full disk
            reason = f"an error ({error_type.__name__})"
        session.record(RunStop(session.clock.now(), session.status.stop_reason or reason))
        session.checkpoint()

    def _report_dead_pages(self) -> None:
        for strategy in nested_strategies(self._session.loop.strategy):
            if isinstance(strategy, Mapped) and strategy.dead:
                self._session.notify(
                    f"{counted(len(strategy.dead), 'page')} of the map vanished; "
                    f"to update its atlas: lycosa map build {quoted(self._session.folder)} --for TOPIC --out ATLAS"
                )

    def _report_target(self) -> None:
        """If there is a relevance target, tells whether it was met."""
        for strategy in nested_strategies(self._session.loop.strategy):
            if isinstance(strategy, Hunter) and strategy.target is not None and strategy.recent_relevance is not None:
                self._session.notify(describe_target_result(strategy.target))

    async def _sitemap_urls(self, seeds: Iterable[Url]) -> list[Url]:
        session, journal = self._session, PreCrawlJournal(self._session)
        in_sitemaps = await urls_in_sitemaps(
            self._web,
            robots=self._web,
            host_urls=seeds,
            clock=session.clock,
            requests=session.recipe.requests,
            slots=self._slots,
            journal=journal,
            holds=journal.holds(),
            interrupted=lambda: session.status.is_interrupted,
            minutes=session.recipe.stop.minutes,
            began=session.status.began,
        )
        foreign = f"; {counted(in_sitemaps.foreign, 'URL')} of other sites left out" if in_sitemaps.foreign else ""
        session.notify(
            f"{counted(len(in_sitemaps.urls), 'URL')} in {counted(in_sitemaps.sitemaps_in_robots, 'sitemap')}{foreign}"
        )
        return in_sitemaps.urls
