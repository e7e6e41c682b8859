"""After a kill, catalog, frontier and strategy catch up with the archive."""

from pathlib import Path

import pytest

from crawling import collection, pages, waiting
from lycosa.collection.events import Attempt, RunStart
from lycosa.run.session import Session
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Outcome, Url
from sessions import NOW, crawl, opened, states
from worlds import TOPICAL, TOPICAL_SEED

BEES = Url("http://bees.example/0")
SEEN = 12  # pages


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["best-first", "adaptive", "infospiders"])
def test_after_a_kill_a_session_reads_from_the_archive_what_was_lost(tmp_path: Path, strategy: str) -> None:
    killed, whole = (collection(tmp_path / name, [TOPICAL_SEED]) for name in ("killed", "whole"))
    for folder, is_killed in ((killed, True), (whole, False)):
        crawl(folder, TOPICAL, 5, strategy=strategy)
        crawl(folder, TOPICAL, SEEN, strategy=strategy, is_killed=is_killed)
    assert len(pages(killed)) == 5, "the catalog does not know of the others yet"
    with opened(killed) as caught_up, opened(whole) as session:
        assert states(caught_up) == states(session)
    assert pages(killed) == pages(whole)
    assert waiting(killed) == waiting(whole)


def test_what_an_exception_leaves_half_done_is_read_again(crawled: Path) -> None:
    before = waiting(crawled)
    with pytest.raises(ZeroDivisionError), opened(crawled) as session:
        session.frontier.take(NOW)
        raise ZeroDivisionError
    assert waiting(crawled) == before
    with opened(crawled) as session:
        assert len(session.frontier) == len(before)


def test_a_fetch_that_failed_in_a_run_that_was_killed_is_tried_once_more(bees: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(bees, strategy="best-first") as session:
        run = RunStart(NOW, "best-first", (BEES,))
        session.record(run)
        session.begin_run(run)
        candidate = session.frontier.take(NOW)
        session.record(Attempt(candidate, Fetch(BEES, Outcome.FAILED, NOW, detail="timeout")))
        raise ZeroDivisionError
    with opened(bees, strategy="best-first") as session:
        again = session.frontier.take(NOW)
        assert (again.url, again.attempts) == (BEES, 1)


def test_rebuilding_afresh_comes_to_the_same(crawled: Path) -> None:
    with opened(crawled) as session:
        before, recipe = states(session), session.recipe
    waited = waiting(crawled)
    with Session(crawled, recipe, clock=SimulatedClock(NOW), rebuild=True) as session:
        assert states(session) == before
    assert waiting(crawled) == pytest.approx(waited)
