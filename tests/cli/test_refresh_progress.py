"""The progress of a refresh counts what its budget counts."""

from types import SimpleNamespace
from typing import Any

from lycosa.cli.progress import ProgressStats
from lycosa.cli.refresh import _RefreshProgress, _result_lines
from lycosa.frontier.memory import MemoryFrontier
from lycosa.run.refresh import RefreshTally
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa.web.outcomes import FetchCounts

URL = Url("http://a.example/")


class Shown:
    """A progress display that keeps what it would draw."""

    shows_stats = True

    def __init__(self) -> None:
        self.stats = ProgressStats()

    def update(self, stats: ProgressStats) -> None:
        self.stats = stats


def test_urls_that_robots_txt_forbids_count() -> None:
    fetch_counts, shown, clock = FetchCounts(), Shown(), SimulatedClock()
    session: Any = SimpleNamespace(
        status=SimpleNamespace(fetch_counts=fetch_counts), frontier=MemoryFrontier(clock=clock), clock=clock
    )
    visits: Any = SimpleNamespace(tally=RefreshTally())
    progress = _RefreshProgress(session, visits, 2, shown)  # type: ignore[arg-type]
    for outcome in (Outcome.OK, Outcome.FORBIDDEN):
        visit = Visit(Candidate(URL, 1.0), Fetch(URL, outcome, at=0.0))
        fetch_counts.count(visit.fetch)
        progress(visit)
    assert (shown.stats.pages, shown.stats.target, shown.stats.unit) == (2, 2, "URLs")


def test_requests_are_not_counted_as_a_part_of_a_budget_of_urls() -> None:
    tally = RefreshTally()
    result = tally.result(policy="fixed", budget=2, requests=1, pages=3, stopped="", expected_changes={})
    assert _result_lines(result)[1].startswith("1 request (budget: 2 URLs): "), "one was forbidden by robots.txt"
