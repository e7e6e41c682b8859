"""Collections that are crawled in this process, over webs in memory and in simulated time."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lycosa.recipe import Budget, load_recipe
from lycosa.run.live import LiveRun
from lycosa.run.options import CommandSettings
from lycosa.run.session import Session
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Url
from lycosa.web.robots import RobotsWeb
from web.simulated import SimulatedWeb

NOW = 1.7e9  # seconds since the epoch at which a session begins


@contextmanager
def opened(
    folder: Path,
    *,
    now: float = NOW,
    notify: Callable[[str], None] = lambda line: None,
    rerank: bool = True,
    **changes: Any,
) -> Iterator[Session]:
    """A session of the collection, with changes to its recipe; one fetch at a time, so that its order is settled."""
    recipe = load_recipe(folder)
    recipe = replace(recipe, **{"requests": replace(recipe.requests, concurrency=1), **changes})
    with Session(folder, recipe, clock=SimulatedClock(now), notify=notify, rerank=rerank) as session:
        yield session


def web_of(world: Mapping[Url, Any], session: Session) -> RobotsWeb:
    """Pages in memory as a live crawl sees them, robots.txt and all."""
    return RobotsWeb(SimulatedWeb(world, clock=session.clock), user_agent="lycosa/0", clock=session.clock)


class _KilledError(Exception):
    pass


def crawl(
    folder: Path,
    world: Mapping[Url, Any],
    pages: int | None = None,
    *,
    settings: CommandSettings | None = None,
    is_killed: bool = False,
    **changes: Any,
) -> list[Url]:
    """What one run visits until the collection has so many pages, or nothing is left.

    is_killed: the run then ends without a checkpoint, so that only the archive knows of its pages.
    """
    urls: list[Url] = []
    with suppress(_KilledError), opened(folder, stop=Budget(pages=pages), **changes) as session:
        urls = asyncio.run(visited(session, world, settings, is_killed=is_killed))
        if is_killed:
            raise _KilledError
    return urls


async def visited(
    session: Session, world: Mapping[Url, Any], settings: CommandSettings | None = None, *, is_killed: bool = False
) -> list[Url]:
    """What one run of an open session visits."""
    run = LiveRun(session, web_of(world, session))
    crawl = await run.prepare(settings or CommandSettings())
    assert crawl is not None
    if is_killed:
        return [visit.candidate.url async for visit in crawl.visits()]
    async with AsyncExitStack() as stack:
        visits = await run.visits(crawl, stack)
        return [visit.candidate.url async for visit in visits]


def set_state(folder: Path, key: str, value: object) -> None:
    """Changes a value in the state of a catalog."""
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog, catalog:
        catalog.execute("UPDATE state SET value = ? WHERE key = ?", (json.dumps(value), key))


def states(session: Session) -> tuple[object, ...]:
    """What a session continues with: strategy, its state, status, size of the frontier."""
    status = session.status
    counted = (status.pages, status.relevant, status.pages_since_relevant, status.bytes_kept)
    return (session.state.settings.strategy, session.loop.strategy.state(), counted, len(session.frontier))
