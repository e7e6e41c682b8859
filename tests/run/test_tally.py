"""What came of a refresh, counted and named."""

from msgspec.structs import replace

from collection.samples import CARS, HOME, WOLF, collection_in, look, visit
from lycosa.run.refresh import Named, Tally, Typical, history_in, typical_of
from lycosa.vocabulary.records import Change

T = 1.7e9
REST = {
    "policy": "fixed",
    "budget": 9,
    "requests": 3,
    "pages": 3,
    "stopped": "",
    "expected_changes": {},
}


def test_a_page_counts_as_much_by_name_as_it_does_when_pages_are_chosen(tmp_path):
    """WOLF has no standing: that of the average page stands in, in the table and in the tally."""
    found = [visit(HOME, 0.8, at=T, standing=0.5), visit(WOLF, 0.6, at=T, standing=None)]
    found.append(visit(CARS, 0.7, at=T, standing=0.1))
    tally = Tally()
    with collection_in(tmp_path) as collection:
        for event in found:
            collection.record(event)
        table = history_in(collection.catalog, T + 1)
        tally.typical = typical_of(collection.catalog.refresh_states())
    for event in found:
        tally.add(event)
    named = {page.url: page.importance for page in tally.result(**REST).new_pages}
    assert named == {url: round(worth, 4) for url, worth in zip(table.urls, table.importance.tolist(), strict=True)}
    assert named[WOLF] == 0.6 * 0.3


def test_where_nothing_is_known_of_any_page_all_count_the_same():
    tally = Tally()
    for url in (HOME, WOLF):
        tally.add(replace(visit(url, at=T, standing=None), relevance=None))
    assert {page.importance for page in tally.result(**REST).new_pages} == {Typical().importance(None, None)}


def test_pages_that_were_refused_are_told_apart_and_were_not_looked_at():
    tally = Tally()
    for change in (Change.UNCHANGED, Change.FAILED, Change.REFUSED, Change.REFUSED):
        tally.add(look(HOME, change, at=T))
    result = tally.result(**REST)
    assert (result.looked_at, result.failed, result.refused) == (2, 1, 2)


def test_a_page_that_has_vanished_is_named_as_it_was():
    tally = Tally()
    tally.known[HOME] = Named(HOME, "Home", 0.4)
    tally.add(look(HOME, Change.VANISHED, at=T))
    result = tally.result(**REST)
    assert (result.looked_at, result.vanished, result.vanished_pages) == (1, 1, [Named(HOME, "Home", 0.4)])
