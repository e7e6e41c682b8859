"""A few more pages of a crawl, of the URLs that wait already, for callers that are not to choose where it goes."""

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

MAX_MINUTES = 5.0  # of one call, unless the user says otherwise


def resumed_recipe(recipe: Recipe, requests: int, options: FetchOptions) -> Recipe:
    """The recipe bounded to so many requests; bounds of the whole collection stay as they are."""
    recipe = changed_recipe(recipe, options)
    minutes = MAX_MINUTES if recipe.stop.minutes is None else recipe.stop.minutes
    return replace(recipe, stop=replace(recipe.stop, requests=requests, minutes=minutes, dry_after=0, recall=None))


class ResumedCrawl(Visits):
    """The visits of a crawl that goes on as the run before it, with its strategy, scope and quotas and without seeds.

    Only URLs that wait when it begins are fetched; the links of their pages wait for a later run.
    """

    async def _open(self, stack: AsyncExitStack) -> AsyncGenerator[Visit, None]:
        session, web = self._session, self._web(stack)
        run = LiveRun(session, web)
        if not await run.learn_topic():
            return no_visits()
        if session.loop.strategy.uses_standing:
            run.learn_standing()
        run.begin(session.run_as_before(None))
        crawl = run.crawl(web)
        parts = {field.name: getattr(crawl, field.name) for field in fields(crawl)}
        # Without checkpoints and training on the way: at a checkpoint the links set aside would be missing.
        return await run.visits(_OfWaiting(**{**parts, "between_visits": lambda: None, "session": session}), stack)


@dataclass(frozen=True, kw_only=True)
class _OfWaiting(Crawl):
    session: Session

    async def visits(self) -> AsyncGenerator[Visit, None]:
        waiting = WaitingOnly(self.loop.frontier)
        try:
            with self.loop.through(waiting):
                async with aclosing(super().visits()) as visits:
                    async for visit in visits:
                        yield visit
        finally:
            self.session.record_skips(self.loop.put(waiting.aside))
