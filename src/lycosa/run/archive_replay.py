"""Replays the end of the archive, which may be ahead of catalog, frontier and strategy after a kill."""

from collections.abc import Callable

from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.collection.events import Attempt, RunStart, Scores
from lycosa.reading import Reader
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import REFRESH, Fetch, Visit
from lycosa.vocabulary.urls import host_of

from .crawl_state import CrawlState
from .run_settings import Notify

_EVENTS_PER_CHECKPOINT = 1_000


def replay_archive(
    collection: Collection,
    state: CrawlState,
    reader: Reader,
    *,
    checkpoint: Callable[[], None],
    clock: Clock,
    notify: Notify,
) -> int:
    """Applies the events of the archive that the catalog lacks, as if they happened now; returns their number."""
    applied = 0
    for event, place in collection.unapplied():
        if isinstance(event, Visit):
            event = replace(event, page=reader(event.fetch))
            collection.apply(event, place)
            _restore_hold(state, event.fetch, clock)
            collection.catalog.add_skips(state.loop.replay(event), event.fetch.at)
        else:
            collection.apply(event, place)
            if isinstance(event, Attempt):
                _restore_hold(state, event.fetch, clock)
                if event.candidate.lane != REFRESH:  # pages to fetch again are chosen by the next refresh
                    state.frontier.requeue(replace(event.candidate, attempts=event.candidate.attempts + 1))
            elif isinstance(event, Scores) or (isinstance(event, RunStart) and state.begin_run(event)):
                state.request_reranking()
        applied += 1
        if applied % _EVENTS_PER_CHECKPOINT == 0:
            notify(f"{applied} events of the archive read again")
            checkpoint()
    return applied


def _restore_hold(state: CrawlState, fetch: Fetch, clock: Clock) -> None:
    """Holds the host until the time that its response asked for, unless that is past."""
    if fetch.host_not_before is not None and fetch.host_not_before > clock.now():
        state.hold(host_of(fetch.url), fetch.host_not_before)
