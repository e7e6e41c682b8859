"""Refresh: fetches stored pages again, and some new ones; the plan, the choice of pages, and the result.

A look is one fetch of a stored page. Standing is the importance of a page on the Web, whatever the topic.
"""

import dataclasses
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Set
from contextlib import AsyncExitStack
from functools import partial
from heapq import nlargest
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from lycosa.collection import Catalog
from lycosa.collection.rows import RefreshState
from lycosa.frontier.lanes import Lanes
from lycosa.recipe import Recipe
from lycosa.refresh import POLICIES, HistoryTable, Observation, expected_changes, history_of, policy_for
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import REFRESH, Candidate, Change, Host, Url, Visit
from lycosa.vocabulary.text import counted, quoted
from lycosa.vocabulary.urls import host_of

from .crawl import ALLOW_PRIVATE_HINT, INTERRUPTED
from .live import LiveRun, Visits, no_visits
from .open import open_for_reading
from .options import CommandSettings, FetchOptions, changed_recipe
from .refresh_memory import RefreshMemory
from .session import Session

DEFAULT_POLICY = "crawl-value"
DEFAULT_EXPAND = 0.7  # share of the requests for waiting links; within 2 % of the best in the study `one-budget`
MAX_REQUESTS = 10**12  # more must be a mistake
NEXT_REFRESH_AFTER = 86_400.0  # seconds until the next refresh, whose changes each policy is asked to estimate
MAX_NAMED = 5  # most important pages of each kind that a result lists
MIN_IMPORTANCE = 0.01  # of any page, so that each is fetched again some time
_DEFAULT_SCORE = 0.5  # relevance or standing if no page of the collection has one

_CHANGES = frozenset((Change.CHANGED, Change.VANISHED, Change.RETURNED))
_FAILURES = frozenset((Change.FAILED, Change.REFUSED))


class MeanScores(Struct, frozen=True):
    """Mean scores of the collection, used for pages that have none."""

    relevance: float = _DEFAULT_SCORE
    standing: float = _DEFAULT_SCORE
    has_standing: bool = False  # whether that of any page is known

    def importance(self, relevance: float | None, standing: float | None) -> float:
        """max(relevance × standing, `MIN_IMPORTANCE`)."""
        known_relevance = self.relevance if relevance is None else relevance
        return max(MIN_IMPORTANCE, known_relevance * (self.standing if standing is None else standing))


def history_in(catalog: Catalog, now: float, *, is_wanted: Callable[[Url], bool] = lambda url: True) -> HistoryTable:
    """The pages that may be fetched again, with the number and times of their fetches, and the number of changes.

    A vanished page is due again after as long as it had been gone at the last check: soon at first, then with doubling
    intervals.
    """
    all_pages = list(catalog.refresh_states())
    pages, means = [page for page in all_pages if is_wanted(page.url) and _is_due(page, now)], mean_scores(all_pages)
    importance = {page.url: means.importance(page.relevance, page.standing) for page in pages}
    table = history_of(_observations(catalog, {page.number for page in pages}), importance=importance)
    looked_at = {page.url: page.looked_at for page in pages}
    return dataclasses.replace(table, fetched_at=np.array([looked_at[url] for url in table.urls], dtype=np.float64))


def mean_scores(pages: Iterable[RefreshState]) -> MeanScores:
    pages = list(pages)
    standings = [page.standing for page in pages]
    has_standing = any(standing is not None for standing in standings)
    return MeanScores(_mean(page.relevance for page in pages), _mean(standings), has_standing)


def _is_due(page: RefreshState, now: float) -> bool:
    return page.vanished_at is None or now - page.looked_at >= page.looked_at - page.vanished_at


def _observations(catalog: Catalog, page_numbers: set[int]) -> Iterator[Observation]:
    scores = catalog.link_scores()
    for number, url, look in catalog.observations():
        if number in page_numbers and look.change not in _FAILURES:
            yield Observation(
                url,
                look.at,
                changed=look.change in _CHANGES,
                out_links=look.links or 0,
                new_links=look.new_links,
                link_score=float(scores.get(number, 0.0)),
            )


def _mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else _DEFAULT_SCORE


class NamedPage(Struct, frozen=True):
    """A page listed in a result."""

    url: Url
    title: str
    importance: float


class RefreshResult(Struct, frozen=True):
    """A refresh in numbers, of pages unless a comment says otherwise. Pages *looked at* were in the collection before;
    *new* ones were not."""

    policy: str
    budget: int  # URLs
    requests: int  # requests sent: without those for robots.txt, and URLs of the budget that were not requested
    looked_at: int
    unchanged: int
    changed: int
    vanished: int
    returned: int  # had vanished before
    still_gone: int
    failed: int  # could not be fetched this time
    refused: int  # not requested: connections to their addresses are not allowed
    new: int
    led_nowhere: int  # links: those that were followed and led to no page
    changed_pages: list[NamedPage]
    new_pages: list[NamedPage]
    vanished_pages: list[NamedPage]
    returned_pages: list[NamedPage]
    expected_changes: dict[str, float]  # found by each policy with the same budget a day from now
    pages: int  # in the collection
    stopped: str
    is_importance_known: bool = True  # of any page; otherwise, relevance alone chose the pages that are named


class RefreshTally:
    """Counts the visits of a refresh."""

    def __init__(self) -> None:
        self.counts: Counter[Change | str] = Counter()  # number of visits, by `Change`, "new" or "led nowhere"
        self.chosen: dict[Url, NamedPage] = {}  # the pages to fetch again, as they were before the refresh
        self.mean_scores = MeanScores()  # of the collection
        self._named: dict[Change | str, list[NamedPage]] = {}

    def add(self, visit: Visit) -> None:
        kind = visit.change or ("new" if visit.is_kept else "led nowhere")
        self.counts[kind] += 1
        if kind in ("new", Change.CHANGED, Change.VANISHED, Change.RETURNED):
            named = self._named.setdefault(kind, [])
            named.append(self._named_page(visit))
            if len(named) > 20 * MAX_NAMED:
                self._named[kind] = _most_important(named)

    def _named_page(self, visit: Visit) -> NamedPage:
        url = visit.candidate.url
        if visit.page is None or not visit.is_kept:
            return self.chosen.get(url, NamedPage(url, "", 0.0))
        return NamedPage(url, visit.page.title, round(self.mean_scores.importance(visit.relevance, visit.standing), 4))

    @property
    def look_count(self) -> int:
        """The number of looks; a page whose address was refused was not looked at."""
        return sum(self.counts[change] for change in Change if change is not Change.REFUSED)

    def result(self, **more: Any) -> RefreshResult:
        counts = self.counts
        return RefreshResult(
            looked_at=self.look_count,
            unchanged=counts[Change.UNCHANGED],
            changed=counts[Change.CHANGED],
            vanished=counts[Change.VANISHED],
            returned=counts[Change.RETURNED],
            still_gone=counts[Change.STILL_GONE],
            failed=counts[Change.FAILED],
            refused=counts[Change.REFUSED],
            new=counts["new"],
            led_nowhere=counts["led nowhere"],
            changed_pages=self._most_important_of(Change.CHANGED),
            new_pages=self._most_important_of("new"),
            vanished_pages=self._most_important_of(Change.VANISHED),
            returned_pages=self._most_important_of(Change.RETURNED),
            is_importance_known=self.mean_scores.has_standing,
            **more,
        )

    def _most_important_of(self, kind: Change | str) -> list[NamedPage]:
        return _most_important(self._named.get(kind, []))


def _most_important(pages: list[NamedPage]) -> list[NamedPage]:
    return nlargest(MAX_NAMED, pages, key=lambda page: page.importance)


class NobodyAnsweredError(LycosaError):
    """No request of a refresh got an answer."""


class RefreshPlan(Struct, frozen=True):
    """The parameters of one refresh."""

    budget: int  # URLs to fetch; one that robots.txt forbids or whose address is refused counts, too
    policy: str = DEFAULT_POLICY
    expand: float = DEFAULT_EXPAND  # probability that a request is for a waiting link


def plan_of(*, budget: int, policy: str | None = None, expand: float | None = None) -> RefreshPlan:
    """The plan; UsageError for wrong values."""
    plan = RefreshPlan(budget, policy or DEFAULT_POLICY, DEFAULT_EXPAND if expand is None else expand)
    if plan.budget < 1:
        raise UsageError(f"a budget of {counted(plan.budget, 'request')} fetches nothing; give 1 or more")
    if plan.budget > MAX_REQUESTS:
        raise UsageError(f"a budget of {counted(plan.budget, 'request')} is never used up; give {MAX_REQUESTS} or less")
    if not 0.0 <= plan.expand <= 1.0:
        raise UsageError(f"expand is a share from 0 (only pages seen before) to 1 (only new ones), not {plan.expand:g}")
    policy_for(plan.policy)
    return plan


def refresh_recipe(recipe: Recipe, plan: RefreshPlan, options: FetchOptions) -> Recipe:
    """The recipe with the limits of a refresh; limits of the whole collection stay as they are."""
    recipe = changed_recipe(recipe, options)
    return replace(recipe, stop=replace(recipe.stop, requests=plan.budget, dry_after=0, recall=None))


def require_pages(folder: Path) -> None:
    """Raises CollectionError for a collection without pages, before anything is written."""
    with open_for_reading(folder) as collection:
        if not collection.catalog.count():
            raise CollectionError(f"{folder} has no pages to fetch again; fill it with: lycosa crawl {quoted(folder)}")


class Refresh(Visits):
    """The visits of a refresh over HTTP, until its budget is used up; `tally` counts the results."""

    def __init__(self, session: Session, settings: CommandSettings, plan: RefreshPlan):
        super().__init__(session, settings)
        self._plan = plan
        self._memory = RefreshMemory(session.collection, clock=session.clock)
        self.tally = RefreshTally()

    async def _open(self, stack: AsyncExitStack) -> AsyncGenerator[Visit, None]:
        session, plan, web = self._session, self._plan, self._web(stack)
        run = LiveRun(session, web, self._slots)
        if not await run.learn_topic():
            return no_visits()
        if session.loop.strategy.uses_standing:
            run.learn_standing()
        run.begin(session.state.run_with_last_settings(asdict(plan)))
        table = self._table(session.clock.now())
        chosen = self._choose(table, plan.budget)
        self.tally.mean_scores = mean_scores(session.collection.catalog.refresh_states())
        # Two queues: the waiting links of the frontier, and the pages to fetch again.
        lanes = Lanes(
            session.frontier,
            chosen,
            requests=plan.budget,
            expand=plan.expand,
            random=Random(self._random_seed()),
            clock=session.clock,
            delay=session.recipe.requests.delay,
            per_address=session.recipe.requests.address_limit,
            slow_slots=session.recipe.requests.slow_slots,
            substitutes=partial(self._choose, table),
            has_room=partial(session.status.has_room, session.recipe.stop),
        )
        stack.enter_context(session.loop.using_frontier(lanes))
        return await run.visits(run.crawl(web, self._memory, observe=self.tally.add), stack)

    def result(self) -> RefreshResult:
        """The result of the refresh, with the changes that each policy expects of the next."""
        status, budget = self._session.status, self._plan.budget
        next_refresh_at = self._session.clock.now() + NEXT_REFRESH_AFTER
        table = self._table(next_refresh_at)
        expected = {}
        for name in POLICIES:
            rows = policy_for(name, seed=self._random_seed()).choose(table, next_refresh_at, budget)
            expected[name] = round(expected_changes(table, rows, next_refresh_at), 2)
        return self.tally.result(
            policy=self._plan.policy,
            budget=budget,
            requests=status.fetch_counts.requests,
            pages=status.pages,
            stopped=status.stop_reason or INTERRUPTED,
            expected_changes=expected,
        )

    def require_an_answer(self) -> None:
        """Raises NobodyAnsweredError if no request was answered, unless the refresh was interrupted."""
        status, counts = self._session.status, self._session.status.fetch_counts
        if status.stop_reason != INTERRUPTED and (reason := counts.why_unanswered()):
            advice = ALLOW_PRIVATE_HINT if counts.are_all_refused else "is the network up?"
            raise NobodyAnsweredError(f"{reason}; {advice}")

    def _random_seed(self) -> int:
        """A random seed that differs between runs and is reproducible."""
        return len(self._session.collection.catalog.runs())

    def _table(self, at: float) -> HistoryTable:
        """The histories of the pages that may be fetched again at a given time."""
        return history_in(self._session.collection.catalog, at, is_wanted=self._session.state.is_in_scope)

    def _choose(self, table: HistoryTable, count: int, excluded_hosts: Set[Host] = frozenset()) -> list[Candidate]:
        """`count` pages to fetch again, most urgent first, without pages chosen before and those of hosts in
        `excluded_hosts`; their stored versions are loaded into the memory.
        """
        now, catalog, chosen_before = self._session.clock.now(), self._session.collection.catalog, self.tally.chosen
        table = table.only([url not in chosen_before and host_of(url) not in excluded_hosts for url in table.urls])
        rows = policy_for(self._plan.policy, seed=self._random_seed()).choose(table, now, count)
        ages = table.ages(now)
        chosen = []
        for row in rows.tolist():
            page = catalog.page(table.urls[row])
            if page is not None:
                self.tally.chosen[page.url] = NamedPage(page.url, page.title, round(float(table.importance[row]), 4))
                because = {"refresh": self._plan.policy, "days": round(float(ages[row]) / 86_400, 3)}
                chosen.append(
                    Candidate(
                        page.url, page.priority, page.found_on, page.anchor, because, depth=page.depth, lane=REFRESH
                    )
                )
        self._memory.load(candidate.url for candidate in chosen)
        return chosen
