"""Seeing the pages of a collection again, and new ones on the way."""

from collections.abc import AsyncGenerator, Set
from contextlib import aclosing
from functools import partial
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import asdict, replace

from lycosa.crawler import INTERRUPTED, OF_ONES_OWN, Budget
from lycosa.frontier.lanes import Lanes
from lycosa.recipe import Recipe
from lycosa.refresh import POLICIES, HistoryTable, expected_changes, policy_for
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import REFRESH, Candidate, Change, Host, Url, Visit
from lycosa.vocabulary.urls import host_of
from lycosa.web.robots import RobotsWeb

from .crawling import Crawling, insist_on_contact, make_web
from .histories import history_in, typical_of
from .opening import open_for_reading
from .seen_before import SeenBefore
from .session import Session
from .settings import Settings
from .tally import Named, Refreshed, Tally

POLICY = "crawl-value"  # which pages are seen again, where nothing else is said
EXPAND = 0.7  # share of the requests that go to links that wait; within 2 % of the best in the study `one-budget`
MOST_REQUESTS = 10**12  # that anybody can mean
NEXT_REFRESH = 86_400.0  # seconds from now, for which it is told what the policies expect


class NobodyAnsweredError(LycosaError):
    pass


class Plan(Struct, frozen=True):
    """What a user wants of one refresh."""

    budget: int  # requests
    policy: str = POLICY
    expand: float = EXPAND  # probability that a request goes to a link that waits


def plan_of(*, budget: int, policy: str | None = None, expand: float | None = None) -> Plan:
    """The plan, once it is known to be possible."""
    plan = Plan(budget, policy or POLICY, EXPAND if expand is None else expand)
    if plan.budget < 1:
        raise UsageError(f"a budget of {plan.budget} requests sees nothing; give 1 or more")
    if plan.budget > MOST_REQUESTS:
        raise UsageError(f"a budget of {plan.budget} requests is never used up; give {MOST_REQUESTS} or less")
    if not 0.0 <= plan.expand <= 1.0:
        raise UsageError(f"expand is a share from 0 (only pages seen before) to 1 (only new ones), not {plan.expand:g}")
    policy_for(plan.policy)
    return plan


def refreshing_recipe(recipe: Recipe, plan: Plan, *, minutes: float | None = None) -> Recipe:
    """The recipe with the bounds of a refresh; those of the whole collection stay as they are."""
    stop = recipe.stop
    minutes = minutes if minutes is not None else stop.minutes
    bounds = Budget(requests=plan.budget, minutes=minutes, pages=stop.pages, bytes=stop.bytes, dry_after=0)
    return replace(recipe, stop=bounds)


def insist_on_pages(folder: Path) -> None:
    """Refuses a collection that has nothing to see again, before anything is written."""
    with open_for_reading(folder) as collection:
        if not collection.catalog.count():
            raise CollectionError(f"{folder} has no pages to see again; fill it with: lycosa crawl {folder}")


class Refreshing:
    """A refresh of a session's collection over HTTP; `tally` counts what came of it."""

    def __init__(self, session: Session, settings: Settings, plan: Plan):
        self._session = session
        self._settings = settings
        self._plan = plan
        self._memory = SeenBefore(session.collection, clock=session.clock)
        self.tally = Tally()

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Looks at pages and follows links until the budget is used up, and leaves no connection open."""
        session, settings = self._session, self._settings
        insist_on_contact(session, settings.resolve)
        web = make_web(
            session.recipe, clock=session.clock, allow_private=settings.allow_private, resolve=settings.resolve
        )
        try:
            async with aclosing(self._visits_on(web)) as visits:
                async for visit in visits:
                    yield visit
        finally:
            await web.close()

    async def _visits_on(self, web: RobotsWeb) -> AsyncGenerator[Visit, None]:
        session, crawl = self._session, self._session.crawl
        crawling = Crawling(session, web)
        await crawling.learn_topic()
        if crawl.is_interrupted:
            crawl.stopped = INTERRUPTED
            return
        crawl.web = web
        crawling.learn_standing(session.strategy_name)
        crawling.begin(session.run_as_before(asdict(self._plan)))
        crawl.memory = self._memory
        table = self._table(session.clock.now())
        chosen = self._chosen(table, self._plan.budget)
        self.tally.typical = typical_of(session.collection.catalog.refresh_states())
        crawl.frontier = Lanes(
            session.frontier,
            chosen,
            turns=self._plan.budget,
            expand=self._plan.expand,
            chance=Random(self._seed()),
            clock=session.clock,
            delay=session.recipe.requests.delay,
            instead=partial(self._chosen, table),
            has_room=crawl.has_room,
        )
        try:
            async with aclosing(crawling.follow()) as visits:
                async for visit in visits:
                    self.tally.add(visit)
                    yield visit
        finally:
            crawl.frontier = session.frontier

    def result(self) -> Refreshed:
        """What came of the refresh, and what each policy expects of the next."""
        crawl, budget = self._session.crawl, self._plan.budget
        then = self._session.clock.now() + NEXT_REFRESH
        table = self._table(then)
        expected = {}
        for name in POLICIES:
            rows = policy_for(name, seed=self._seed()).choose(table, then, budget)
            expected[name] = round(expected_changes(table, rows, then), 2)
        return self.tally.result(
            policy=self._plan.policy,
            budget=budget,
            requests=crawl.asked.requests,
            pages=crawl.pages,
            stopped=crawl.stopped or INTERRUPTED,
            expected_changes=expected,
        )

    def insist_on_an_answer(self) -> None:
        """Raises where nothing that was asked for brought any answer, unless somebody ended the refresh."""
        crawl, asked = self._session.crawl, self._session.crawl.asked
        if asked.fetches and not asked.answers and crawl.stopped != INTERRUPTED:
            why = f" ({asked.latest_trouble})" if asked.latest_trouble else ""
            if self.tally.counts[Change.REFUSED] == asked.fetches:
                raise NobodyAnsweredError(f"nobody was asked, every address was refused{why}; {OF_ONES_OWN}")
            raise NobodyAnsweredError(
                f"nobody answered: all {asked.fetches} fetches were in vain{why}; is the network there?"
            )

    def _seed(self) -> int:
        """Chance is another one in every run, and the same if the run were made again."""
        return len(self._session.collection.catalog.runs())

    def _table(self, moment: float) -> HistoryTable:
        """What is known of the pages that may be seen again at a moment."""
        session = self._session

        def is_wanted(url: Url) -> bool:
            return session.is_in_scope(url)

        return history_in(session.collection.catalog, moment, is_wanted=is_wanted)

    def _chosen(self, table: HistoryTable, count: int, left_alone: Set[Host] = frozenset()) -> list[Candidate]:
        """So many pages to see again, the most urgent first, besides those chosen before and those of some hosts; it is
        taken down how they were."""
        now, catalog, known = self._session.clock.now(), self._session.collection.catalog, self.tally.known
        table = table.of([url not in known and host_of(url) not in left_alone for url in table.urls])
        rows = policy_for(self._plan.policy, seed=self._seed()).choose(table, now, count)
        ages = table.ages(now)
        chosen = []
        for row in rows.tolist():
            page = catalog.page(table.urls[row])
            if page is not None:
                self.tally.known[page.url] = Named(page.url, page.title, round(float(table.importance[row]), 4))
                because = {"refresh": self._plan.policy, "days": round(float(ages[row]) / 86_400, 3)}
                chosen.append(
                    Candidate(
                        page.url, page.priority, page.found_on, page.anchor, because, depth=page.depth, lane=REFRESH
                    )
                )
        self._memory.know(candidate.url for candidate in chosen)
        return chosen
