"""What is left out in words: every kind with its number and what changes it, and nothing where nothing is."""

from lycosa.collection.rows import Omissions
from lycosa.recipe import Recipe
from lycosa.run.omissions import omissions_in_words

NOTHING = Omissions({}, 0, 0, 0, {}, 0, 0, 0, {}, 0, {})
EVERYTHING = Omissions(
    left_out={"noindex": 2, "language en": 3, "language fr": 1, "language": 2, "said by a newer version": 1},
    unexplained=4,
    near_duplicates=5,
    copies=1,
    truncated={"length": 1, "time": 2},
    pages_of_many_links=1,
    links_beyond=45_000,
    needs_script=1,
    other_types={"not HTML but application/pdf": 6, "not HTML but image/png": 1, "HTTP 204 is not a page": 1},
    forbidden=7,
    skipped={"quota": 8, "trap": 9, "evicted": 10, "scope": 11, "site": 12},
    passed_over={"a.example": 3, "b.example": 2},
)


def test_where_nothing_is_left_out_nothing_is_said():
    assert omissions_in_words(NOTHING, Recipe()) == []


def test_every_kind_is_named_once_with_its_number_and_what_changes_it():
    found = omissions_in_words(EVERYTHING, Recipe())
    assert {each.kind: each.count for each in found} == {
        "noindex": 2,
        "language": 6,
        "other reasons": 1,
        "reason unknown": 4,
        "other types": 8,
        "robots.txt": 7,
        "truncated": 1,
        "truncated by time": 2,
        "links beyond the cap": 45_000,
        "needs JavaScript": 1,
        "near-duplicates": 5,
        "copies": 1,
        "per-host bound": 8,
        "traps": 9,
        "crowded sites": 12,
        "over their share": 5,
        "evicted": 10,
    }
    assert all(each.remedy for each in found)
    lines = "\n".join(map(str, found))
    assert "6 pages not kept: in another language (en 3, unknown 2, fr 1)" in lines
    assert "8 files not kept, as not HTML (PDF 6, image/png 1, HTTP 204 is not a page 1)" in lines
    assert "domains of several hosts passed over 5 times for requests elsewhere" in lines
    assert "45,000 links of 1 page not read" in lines
    assert "1 page truncated at 1,000,000 bytes" in lines
