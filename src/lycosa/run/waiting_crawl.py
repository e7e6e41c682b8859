"""A crawl of a few more waiting URLs, for callers that may not choose what is crawled."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, fields

from msgspec.structs import replace

from lycosa.frontier.waiting_only import WaitingOnly
from lycosa.recipe import Recipe
from lycosa.vocabulary.records import Visit

from .crawl import Crawl
from .live import LiveRun, Visits, no_visits
from .options import FetchOptions, changed_recipe
from .session import Session

MAX_MINUTES = 5.0  # of one call, by default


def waiting_crawl_recipe(recipe: Recipe, requests: int, options: FetchOptions) -> Recipe:
    """The recipe with a limit of requests; limits of the whole collection stay as they are."""
    recipe = changed_recipe(recipe, options)
    minutes = MAX_MINUTES if recipe.stop.minutes is None else recipe.stop.minutes
    return replace(recipe, stop=replace(recipe.stop, requests=requests, minutes=minutes, dry_after=0, recall=None))


class WaitingCrawl(Visits):
    """Continues the last run, with its strategy, scope and quotas and without new seeds.

    Only URLs that wait at the start are fetched; the links of their pages wait for a later run.
    """

    async def _open(self, stack: AsyncExitStack) -> AsyncGenerator[Visit, None]:
        session, web = self._session, self._web(stack)
        run = LiveRun(session, web)
        if not await run.learn_topic():
            return no_visits()
        if session.loop.strategy.uses_standing:
            run.learn_standing()
        run.begin(session.state.run_with_last_settings(None))
        crawl = run.crawl(web)
        crawl_fields = {field.name: getattr(crawl, field.name) for field in fields(crawl)}
        # No checkpoints and no training during the run: a checkpoint would lack the links that are set aside.
        waiting_crawl = _WaitingUrlsCrawl(**{**crawl_fields, "between_visits": lambda: None, "session": session})
        return await run.visits(waiting_crawl, stack, may_save=False)


@dataclass(frozen=True, kw_only=True)
class _WaitingUrlsCrawl(Crawl):
    """A crawl that fetches only the URLs that wait at its start; links found meanwhile are set aside until its end."""

    session: Session

    async def visits(self) -> AsyncGenerator[Visit, None]:
        waiting = WaitingOnly(self.loop.frontier)
        try:
            with self.loop.using_frontier(waiting):
                async with aclosing(super().visits()) as visits:
                    async for visit in visits:
                        yield visit
        finally:
            self.session.journal.record_skips(self.loop.put(waiting.set_aside))
