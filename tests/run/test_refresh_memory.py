"""What became of a page, told from one answer and what is known of it."""

import pytest
from msgspec.structs import replace

from collection.samples import WOLF, collection_in, fetched, look, page_of, visit
from lycosa.run.refresh_memory import MAX_FAILURES, MAX_NOT_MODIFIED, MIN_FAILING_TIME, RefreshMemory
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import (
    REFRESH,
    Candidate,
    Change,
    Fetch,
    LeftOut,
    LeftOutReason,
    Link,
    Outcome,
    Url,
    Visit,
)

T = 1.7e9
AGAIN = Candidate(WOLF, 0.5, lane=REFRESH)
KNOWN = page_of(WOLF, title=f"Title of {WOLF}")


def not_modified(at: float) -> Visit:
    answer = fetched(WOLF, at=at, outcome=Outcome.UNCHANGED, status=304, body=b"", content=b"")
    return replace(look(WOLF, Change.UNCHANGED, at=at), fetch=answer)


def forbidden(at: float) -> Visit:
    """A check that robots.txt forbade, so that nothing was requested."""
    return replace(look(WOLF, Change.FAILED, at=at), fetch=Fetch(WOLF, Outcome.FORBIDDEN, at))


def timeout(at: float) -> Visit:
    return replace(look(WOLF, Change.FAILED, at=at), fetch=Fetch(WOLF, Outcome.FAILED, at, detail="timeout"))


@pytest.fixture
def seen(tmp_path):
    """Makes the memory of a collection after some looks, at a moment."""
    opened = []

    def memory(*looks: Visit, now: float = T + 1e6) -> RefreshMemory:
        collection = collection_in(tmp_path)
        opened.append(collection)
        for event in (visit(WOLF, at=T), *looks):
            collection.record(event)
        return RefreshMemory(collection, [WOLF], clock=SimulatedClock(now))

    yield memory
    for collection in opened:
        collection.close_without_checkpoint()


def became(memory: RefreshMemory, page=None, *, left_out: LeftOut | None = None, **answer: object) -> Visit:
    fetch = memory.compared(fetched(WOLF, at=T + 1e6, **answer))
    read = page if fetch.outcome is Outcome.OK else None
    return memory.with_change(Visit(AGAIN, fetch, read, left_out=left_out))


def test_a_page_is_asked_for_by_what_its_server_called_it(seen):
    past = seen().past(WOLF)
    assert (past.etag, past.at, past.status) == ('"abc"', T, 200)


def test_not_modified_is_believed_some_times_in_a_row(seen):
    looks = [not_modified(T + 10 * number) for number in range(1, MAX_NOT_MODIFIED + 1)]
    assert seen(*looks[:-1]).past(WOLF) is not None


def test_and_then_the_page_is_asked_for_without_conditions(seen):
    looks = [not_modified(T + 10 * number) for number in range(1, MAX_NOT_MODIFIED + 1)]
    assert seen(*looks).past(WOLF) is None


def test_a_page_that_has_vanished_is_asked_for_without_conditions(seen):
    assert seen(look(WOLF, Change.VANISHED, at=T + 5)).past(WOLF) is None


def test_the_body_that_the_archive_has_is_unchanged_and_not_kept_twice(seen):
    told = became(seen())
    assert (told.change, told.fetch.outcome, told.fetch.body) == (Change.UNCHANGED, Outcome.UNCHANGED, b"")
    assert told.known.payload.startswith("sha1:")


def test_another_body_with_the_same_words_and_links_is_unchanged(seen):
    told = became(seen(), KNOWN, body=b"<p>other markup", content=b"<p>other markup")
    assert (told.change, told.page) == (Change.UNCHANGED, None)
    assert told.fetch.body == b"<p>other markup", "the archive keeps what it has not"


def test_other_words_are_a_change_and_so_is_another_link(seen):
    memory = seen()
    other = {"body": b"<p>other", "content": b"<p>other"}
    assert became(memory, page_of(WOLF, digest=3), **other).change is Change.CHANGED
    linking = replace(KNOWN, links=(Link(Url("http://new.example/")), Link(Url("http://new.example/"))))
    told = became(memory, linking, **other)
    assert (told.change, told.new_links) == (Change.CHANGED, ("http://new.example/",))


@pytest.mark.parametrize(
    ("answer", "change"),
    [
        ({"outcome": Outcome.GONE, "status": 404}, Change.VANISHED),
        ({"outcome": Outcome.GONE, "status": 410}, Change.VANISHED),
        ({"outcome": Outcome.GONE, "status": 403}, Change.FAILED),
        ({"outcome": Outcome.GONE, "status": 401}, Change.FAILED),
        ({"outcome": Outcome.MOVED, "status": 301, "location": Url("http://a.example/")}, Change.VANISHED),
        ({"outcome": Outcome.MOVED, "status": 308, "location": Url("http://a.example/")}, Change.VANISHED),
        ({"outcome": Outcome.MOVED, "status": 302, "location": Url("http://a.example/")}, Change.FAILED),
        ({"outcome": Outcome.UNWANTED, "status": 200}, Change.VANISHED),
        ({"outcome": Outcome.FORBIDDEN, "status": None}, Change.FAILED),
        ({"outcome": Outcome.BUSY, "status": 503}, Change.FAILED),
        ({"outcome": Outcome.FAILED, "status": None}, Change.FAILED),
        ({"outcome": Outcome.REFUSED, "status": None}, Change.REFUSED),
    ],
)
def test_what_is_gone_is_told_from_what_failed(seen, answer, change):
    assert became(seen(), **answer).change is change


def test_a_page_that_asks_not_to_be_kept_has_vanished(seen):
    other = {"body": b"<p>other", "content": b"<p>other"}
    assert became(seen(), KNOWN, left_out=LeftOut(LeftOutReason.NOINDEX), **other).change is Change.VANISHED


def test_failures_in_a_row_make_a_page_vanish_but_not_within_a_day(seen):
    looks = [look(WOLF, Change.FAILED, at=T + 10 * number) for number in range(1, MAX_FAILURES)]
    failing = {"outcome": Outcome.FAILED, "status": None}
    soon = seen(*looks, now=T + MIN_FAILING_TIME - 1)
    assert became(soon, **failing).change is Change.FAILED
    later = RefreshMemory(soon._collection, [WOLF], clock=SimulatedClock(T + MIN_FAILING_TIME))
    assert became(later, **failing).change is Change.VANISHED
    assert became(later, outcome=Outcome.FORBIDDEN, status=None).change is Change.FAILED


def test_to_be_refused_is_no_failure_and_never_makes_a_page_vanish(seen):
    looks = [look(WOLF, Change.REFUSED, at=T + 10 * number) for number in range(1, 2 * MAX_FAILURES)]
    memory = seen(*looks)
    assert became(memory, outcome=Outcome.REFUSED, status=None).change is Change.REFUSED
    assert became(memory, outcome=Outcome.FAILED, status=None).change is Change.FAILED, "the first that counts"


def test_what_robots_txt_forbids_is_no_failure_of_the_page_and_never_makes_it_vanish(seen):
    memory = seen(*(forbidden(T + 10 * number) for number in range(1, 2 * MAX_FAILURES)))
    assert became(memory, outcome=Outcome.FAILED, status=None).change is Change.FAILED, "the first that counts"


def test_checks_that_robots_txt_forbids_do_not_end_a_row_of_failures_either(seen):
    memory = seen(timeout(T + 10), forbidden(T + 20), timeout(T + 30), forbidden(T + 40))
    assert became(memory, outcome=Outcome.FORBIDDEN, status=None).change is Change.FAILED
    assert became(memory, outcome=Outcome.FAILED, status=None).change is Change.VANISHED


def test_a_look_that_went_well_ends_a_row_of_failures(seen):
    looks = [look(WOLF, Change.FAILED, at=T + 10), not_modified(T + 20), look(WOLF, Change.FAILED, at=T + 30)]
    assert became(seen(*looks), outcome=Outcome.FAILED, status=None).change is Change.FAILED


def test_what_had_vanished_is_still_gone_or_has_returned(seen):
    memory = seen(look(WOLF, Change.VANISHED, at=T + 5))
    assert became(memory, outcome=Outcome.GONE, status=404).change is Change.STILL_GONE
    assert became(memory, outcome=Outcome.FAILED, status=None).change is Change.STILL_GONE
    assert became(memory).change is Change.RETURNED
    told = became(memory, KNOWN, body=b"<p>other markup", content=b"<p>other markup")
    assert (told.change, told.page) == (Change.RETURNED, KNOWN)
