"""A crawl of a collection, from its examples to its last page."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from itertools import chain

import msgspec

from lycosa import __version__
from lycosa.collection.events import Example, Run, Stop
from lycosa.frontier.admission import Admission
from lycosa.recipe import FILE_NAME, Recipe, uses_standing
from lycosa.relevance.svm import RETRAIN_AT
from lycosa.run.crawl import INTERRUPTED, EverySeedRefusedError
from lycosa.strategies import Mapped
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.hosts import is_public
from lycosa.vocabulary.records import Fetch, Host, Outcome, Url, Visit
from lycosa.vocabulary.urls import host_of, hostname_of, site_of
from lycosa.web.live import LiveWeb, user_agent
from lycosa.web.prefetched import PrefetchedWeb
from lycosa.web.robots import RobotsWeb
from lycosa.web.sitemaps import urls_in_sitemaps

from .access_log import open_log
from .examples import fetch_examples
from .guides import layers
from .options import Settings
from .session import Session
from .standing import StandingTrainer
from .topical_map import open_map
from .training import Training

_PREDICATE = "predicate"  # state: by which the pages were judged
_REMEMBERED_FOR = 86_400  # seconds in which an example page need not be fetched again
_MOST_REMEMBERED = 64_000_000  # bytes of example pages that need not be fetched twice


def make_web(recipe: Recipe, *, clock: Clock, allow_private: bool = False, resolve: Sequence[str] = ()) -> RobotsWeb:
    """The Web as a recipe wants it asked."""
    requests = recipe.requests
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
    )
    return RobotsWeb(live, user_agent=name, clock=clock)


def insist_on_contact(session: Session, resolve: Sequence[str], read: Iterable[Url] = ()) -> None:
    """Refuses to ask public hosts without saying who asks.

    read: pages of a log; they count as far as they are within the scope.
    """
    own = {entry.partition("=")[0].strip().lower() for entry in resolve}
    if session.recipe.contact or "*" in own:
        return
    seeds = session.recipe_seeds()
    admission = Admission(session.recipe.scope, sites=frozenset(map(site_of, seeds)))
    wanted = (url for url in read if is_public(hostname_of(url)) and admission.out_of_scope(url) is None)
    for url in chain(seeds, session.topic.examples.urls, wanted):
        name = hostname_of(url)
        if name not in own and is_public(name):
            raise RecipeError(
                f"{name} is a public host, and those who run it must be able to reach you: "
                f'put contact = "you@example.org" at the top of {session.folder / FILE_NAME}'
            )


async def crawl_live(session: Session, settings: Settings) -> AsyncGenerator[Visit, None]:
    """Crawls over HTTP until something ends it, and leaves no connection open."""
    insist_on_contact(session, settings.resolve)
    web = make_web(session.recipe, clock=session.clock, allow_private=settings.allow_private, resolve=settings.resolve)
    crawling = Crawling(
        session,
        web,
        sitemaps=settings.sitemaps,
        allow_private=settings.allow_private,
        resolve=settings.resolve,
    )
    try:
        async with aclosing(crawling.visits()) as visits:
            async for visit in visits:
                yield visit
    finally:
        await web.close()


class Crawling:
    """A run of a session's crawl on a web."""

    def __init__(
        self,
        session: Session,
        web: RobotsWeb,
        *,
        sitemaps: bool = False,
        allow_private: bool = False,
        resolve: Sequence[str] = (),
    ):
        self._session = session
        self._web = web
        self._sitemaps = sitemaps or session.recipe.sitemaps
        self._allow_private = allow_private
        self._resolve = resolve
        self._training = Training(session)
        self._esteem = StandingTrainer(session)
        self._not_before: dict[Host, float] = {}  # when a host may be asked for its next sitemap

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Learns the topic, then crawls until the recipe says stop, something stops it, or nothing is left."""
        session, crawl = self._session, self._session.crawl
        recipe, seeds = session.recipe, session.recipe_seeds()
        log_found = open_log(recipe.logs, session.folder, known=session.log.in_use)
        if not seeds and log_found is None:
            raise RecipeError(
                f'{session.folder}: no seeds; name a file of URLs in {FILE_NAME} (seeds = "seeds.txt"), '
                "or give examples as URLs, or begin where people went with --logs"
            )
        if log_found is not None:
            insist_on_contact(session, self._resolve, log_found.readings.urls)
        map_found = open_map(recipe.map, session.folder, allow_private=self._allow_private, stem=recipe.topic.stem)
        if map_found is not None and map_found.missing:
            session.tell(map_found.missing)
        await self.learn_topic()
        if crawl.is_interrupted:
            crawl.stopped = INTERRUPTED
            return
        crawl.web = PrefetchedWeb(self._web, self._examples_at_hand())
        if self._sitemaps:
            seeds += await self._sitemap_urls(seeds)
        self.learn_standing(recipe.strategy)
        self.begin(
            Run(
                session.clock.now(),
                recipe.strategy,
                tuple(seeds),
                msgspec.to_builtins(recipe.scope),
                msgspec.to_builtins(recipe.utility),
                map=session.map.offer(map_found),
                logs=session.log.offer(log_found),
            )
        )
        async with aclosing(self.follow()) as visits:
            async for visit in visits:
                yield visit

    def begin(self, run: Run) -> None:
        """Notes that a run has begun, and ranks what waits anew where it goes another way than the one before."""
        session = self._session
        session.record(run)
        if session.begin_run(run) and session.crawl.pages:
            session.tell(
                f"strategy, target, map, log or scope have changed: what waits is ranked anew for {run.strategy}"
            )
            session.relive()
        self._esteem.judge_anew()
        self._training.train_if_due()  # a kill may have come before it

    async def follow(self) -> AsyncGenerator[Visit, None]:
        """The visits of a run that has begun, each kept before the next."""
        session, crawl = self._session, self._session.crawl
        try:
            async with aclosing(crawl.visits()) as visits:
                async for visit in visits:
                    yield visit
                    session.checkpoint_if_due()
                    self._training.train_if_due()
                    self._esteem.learn_if_due()
            self._tell_what_is_dead()
        finally:
            session.record(Stop(session.clock.now(), crawl.stopped or INTERRUPTED))
            session.checkpoint()

    def _tell_what_is_dead(self) -> None:
        for strategy in layers(self._session.crawl.strategy):
            if isinstance(strategy, Mapped) and strategy.dead:
                self._session.tell(
                    f"gone by now, of the pages of the map: {len(strategy.dead)}; "
                    f"its atlas learns of it by: lycosa map build {self._session.folder} --for TOPIC --out ATLAS"
                )

    async def _sitemap_urls(self, seeds: Iterable[Url]) -> list[Url]:
        named: dict[Url, None] = {}
        for seed in seeds:
            named.update(dict.fromkeys(await self._web.sitemaps(seed)))
        urls = await urls_in_sitemaps(self._web, named, before=self._wait_for_turn)
        self._session.tell(f"{len(urls)} URLs in {len(named)} sitemaps")
        return urls

    async def _wait_for_turn(self, url: Url) -> bool:
        """Waits until a sitemap may be asked for; False if somebody has interrupted the crawl."""
        session, host = self._session, host_of(url)
        while (wait := self._not_before.get(host, 0.0) - session.clock.now()) > 0 and not session.crawl.is_interrupted:
            await session.clock.sleep_until(session.clock.now() + min(wait, 1.0))
        self._not_before[host] = session.clock.now() + session.recipe.requests.delay
        session.frontier.hold(host, self._not_before[host])
        return not session.crawl.is_interrupted

    def learn_standing(self, strategy: str) -> None:
        """Gives the crawl what tells how much pages matter, where the strategy wants to know."""
        self._session.crawl.esteem = None
        if uses_standing(strategy):
            self._esteem.learn()

    async def learn_topic(self) -> None:
        """Makes the crawl's judge, from example pages that are fetched for it."""
        self._esteem.check()  # while nothing has been fetched yet
        self._session.topic.check()
        await self._learn_topic()
        self._go_by_predicate()

    def _go_by_predicate(self) -> None:
        """Judges every page anew where the predicate of the recipe is another one than in the run before."""
        session, catalog = self._session, self._session.collection.catalog
        said = msgspec.to_builtins(session.recipe.topic.predicate)
        if session.crawl.judge is not None and said != catalog.get_state(_PREDICATE):
            if session.crawl.pages:
                self._training.judge_anew("the predicate has changed")
            catalog.put_state(_PREDICATE, said)  # last: after a kill before here, the next run does it again

    async def _learn_topic(self) -> None:
        session, topic = self._session, self._session.topic
        if not topic.learns:
            session.crawl.judge = topic.untrained(may_run_code=True)
            self._judge_imported()
            return
        model = topic.load()
        if model is not None:
            session.crawl.judge = topic.judge(model)
            if topic.runs_code:
                self._judge_imported()
            return
        await self._fetch_examples()
        if session.crawl.is_interrupted:
            return
        if topic.wants_negatives:
            session.tell(
                "no negatives given: a built-in background stands for them, and at "
                f"{', '.join(map(str, RETRAIN_AT))} pages the pages least like the examples join it"
            )
        self._training.learn()

    def _judge_imported(self) -> None:
        if any(row.relevance is None for row in self._session.collection.catalog.pages()):
            self._training.judge_anew("some pages were imported")

    async def _fetch_examples(self) -> None:
        session = self._session
        missing = {url: good for url, good in session.topic.examples.urls.items() if session.page(url) is None}
        if missing:
            session.tell(f"fetching {len(missing)} example pages")
        examples = fetch_examples(
            missing,
            web=self._web,
            clock=session.clock,
            requests=session.recipe.requests,
            interrupted=lambda: session.crawl.is_interrupted,
        )
        answered: set[Url] = set()
        async with aclosing(examples):
            try:
                async for example in examples:
                    answered.add(example.url)
                    self._take_example(example)
            except EverySeedRefusedError:
                if not session.topic.has_good_page(session.page):
                    raise
        for url in missing.keys() - answered:
            session.tell(f"example {url}: not reached")
        session.checkpoint()

    def _take_example(self, example: Example) -> None:
        self._let_rest(example.fetch)
        outcome = example.fetch.outcome
        if outcome is Outcome.OK:
            self._session.record(example)
        else:
            why = example.fetch.detail or example.fetch.status or ""
            self._session.tell(f"example {example.url}: {outcome} {why}")

    def _let_rest(self, fetch: Fetch) -> None:
        """The crawl that begins is not to hurry a host that was asked for an example."""
        delay = self._session.recipe.requests.delay
        not_before = max(fetch.host_not_before or 0.0, self._session.clock.now() + delay if delay else 0.0)
        if not_before:
            self._session.frontier.hold(host_of(fetch.url), not_before)

    def _examples_at_hand(self) -> dict[Url, Fetch]:
        """Example pages that were fetched, by this run or an earlier one, and not visited yet."""
        session = self._session
        fetched: dict[Url, Fetch] = {}
        size = 0
        for example in session.collection.catalog.examples():
            is_old = example.at < session.clock.now() - _REMEMBERED_FOR
            if example.place is None or is_old or session.frontier.is_settled(example.url):
                continue
            fetch = session.collection.archive.fetch_at(example.place)
            size += len(fetch.body) + len(fetch.content)
            if size > _MOST_REMEMBERED:
                break
            if fetch.url == example.url:
                fetched[example.url] = fetch
        return fetched
