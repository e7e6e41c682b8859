"""The first visits of a collection, kept without their text, until there are too many."""

from msgspec.structs import replace

from collection.samples import HOME, WOLF, fetched, visit
from lycosa.run.first_visits import MAX_VISITS, FirstVisits
from lycosa.vocabulary.records import Candidate, Outcome, Visit


def test_links_and_counts_of_words_are_kept_and_nothing_that_is_long() -> None:
    seen, visits = visit(HOME), FirstVisits()
    visits.add(seen)
    (only,) = visits
    kept, counted = only.visit, only.term_counts
    assert seen.page is not None and kept.page is not None and counted is not None
    assert kept.page.links == seen.page.links
    assert [each.tolist() for each in counted] == [each.tolist() for each in seen.page.words.term_counts]
    assert (kept.fetch.body, kept.fetch.content, kept.page.text, kept.page.main) == (b"", b"", "", "")
    assert kept.candidate == seen.candidate


def test_a_fetch_that_brought_no_page_is_a_visit_too() -> None:
    visits = FirstVisits()
    visits.add(Visit(Candidate(WOLF, 0.5), replace(fetched(WOLF), outcome=Outcome.GONE)))
    (only,) = visits
    kept, counted = only.visit, only.term_counts
    assert (kept.candidate.url, kept.page, counted) == (WOLF, None, None)


def test_of_too_many_there_is_none() -> None:
    visits, seen = FirstVisits(), Visit(Candidate(WOLF, 0.5), replace(fetched(WOLF), outcome=Outcome.GONE))
    for _ in range(MAX_VISITS):
        visits.add(seen)
    assert visits.is_complete
    visits.add(seen)
    assert not visits.is_complete
    assert list(visits) == []
