"""The waiting URLs, best first."""

from pathlib import Path

from msgspec import Struct

from lycosa.frontier.durable import best_waiting, count_waiting, waiting_hosts
from lycosa.run.open import open_for_reading
from lycosa.run.reasons import Factor, factors_of, reasons_in_words, shown_priority
from lycosa.run.steering import read_steering
from lycosa.vocabulary.records import Timestamp
from lycosa.vocabulary.text import printable

from .lines import MAX_COUNTED, clamp_page

WAITING_PER_PAGE = 50
MAX_WAITING = 10_000  # that can be paged through


class WaitingLine(Struct, frozen=True):
    url: str
    priority: float
    depth: int  # number of links from a seed
    found_on: str  # URL of the page with the link; empty if there is none, as for seeds
    anchor: str
    why: str  # the reasons for the priority, in words
    factors: list[Factor]  # of the priority


class WaitingHost(Struct, frozen=True):
    host: str
    waiting: int  # number of URLs
    best: float  # highest priority


class HeldHost(Struct, frozen=True):
    """A host that gets no request for some time, because it asked for that or failed."""

    host: str
    until: float  # in seconds since the epoch


class FrontierView(Struct, frozen=True):
    """The screen of the frontier."""

    total: int  # waiting URLs of all hosts
    host: str  # whose URLs are listed; empty for all
    page: int  # of the list, from 1
    last_page: int
    waiting: list[WaitingLine]
    hosts: list[WaitingHost]
    held_total: int  # hosts on hold at the last checkpoint, as long as their holds last
    held: list[HeldHost]  # the first of these to be asked again
    blocked: list[str]  # hosts, URLs and patterns that the user excluded from the crawl
    boosted: list[str]  # hosts, URLs and patterns that the user gave a higher priority
    dropped: int  # number of URLs that waited when the user dropped them


def frontier_view(folder: Path, *, now: float, host: str = "", page: int = 1) -> FrontierView:
    """A page of the waiting URLs, best first."""
    with open_for_reading(folder) as collection, collection.catalog.reporting_errors():
        connection = collection.catalog.connection
        hosts = [
            WaitingHost(each.host, each.waiting, each.best_priority) for each in waiting_hosts(connection, MAX_COUNTED)
        ]
        holds = collection.catalog.get_state("holds", dict[str, Timestamp]) or {}
        total = count_waiting(connection)
        host_total = next((each.waiting for each in hosts if each.host == host), None)
        shown_total = total if not host else host_total if host_total is not None else MAX_WAITING
        page, last_page, start = clamp_page(page, min(shown_total, MAX_WAITING), WAITING_PER_PAGE)
        rows = best_waiting(connection, offset=start, limit=WAITING_PER_PAGE, host=host or None)
    if host and host_total is None:
        last_page = page if len(rows) < WAITING_PER_PAGE else min(page + 1, last_page)  # they are not counted
    steering = read_steering(folder)
    held = sorted((until, host) for host, until in holds.items() if until > now)
    return FrontierView(
        total=total,
        host=host,
        page=page,
        last_page=last_page,
        waiting=[
            WaitingLine(
                each.url,
                shown_priority(each.priority, each.because),
                each.depth,
                each.found_on or "",
                printable(each.anchor, 200),
                printable(reasons_in_words(each.because, max_factors=3), 400),
                factors_of(each.because),
            )
            for each in rows
        ],
        hosts=hosts,
        held_total=len(held),
        held=[HeldHost(printable(host, 200), until) for until, host in held[:MAX_COUNTED]],
        blocked=[printable(each, 200) for each in steering.blocked[:100]],
        boosted=[printable(each, 200) for each in steering.boosted[:100]],
        dropped=steering.dropped,
    )
