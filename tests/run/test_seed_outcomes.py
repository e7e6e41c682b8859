"""What became of the seeds is said in one line, redirects followed."""

from pathlib import Path

import pytest

from lycosa.collection.collection import Collection
from lycosa.reading import Reader
from lycosa.run.open import open_collection
from lycosa.run.seed_outcomes import explain_no_pages
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Fetch, LeftOut, LeftOutReason, Outcome, Skip, SkipReason, Url, Visit

HOME, MOVED, THERE = (Url(f"http://a.example/{name}") for name in ("", "moved", "there"))


@pytest.fixture
def empty(tmp_path: Path):
    with open_collection(tmp_path, clock=SimulatedClock(1.7e9), reader=Reader(), writable=True) as collection:
        yield collection


def visited(collection: Collection, url: Url, outcome: Outcome, **more) -> None:
    left_out = more.pop("left_out", None)
    collection.record(Visit(Candidate(url, 1.0), Fetch(url, outcome, 1.7e9, **more), left_out=left_out))


def test_each_seed_is_named_with_its_last_outcome(empty):
    visited(empty, HOME, Outcome.GONE, status=403, detail="HTTP 403 Forbidden")
    empty.catalog.add_skips([Skip(Candidate(THERE, 1.0), SkipReason.SCOPE, "host excluded")], 1.7e9)
    said = explain_no_pages(empty, [HOME, THERE, MOVED, HOME])
    assert said == (f"{HOME}: denied (403); {THERE}: not fetched (scope: host excluded); {MOVED}: not fetched yet")


def test_redirects_are_followed_to_where_they_end(empty):
    visited(empty, MOVED, Outcome.MOVED, status=301, location=THERE, detail=f"to {THERE}")
    visited(empty, THERE, Outcome.OK, status=200, left_out=LeftOut(LeftOutReason.LANGUAGE, "de"))
    assert explain_no_pages(empty, [MOVED]) == f"{MOVED}: moved (301) to {THERE}, left out (language de)"


def test_redirects_in_a_circle_end(empty):
    visited(empty, MOVED, Outcome.MOVED, status=301, location=MOVED, detail="to itself")
    assert explain_no_pages(empty, [MOVED]).count("moved") < 10


def test_of_many_seeds_a_few_are_named(empty):
    seeds = [Url(f"http://a.example/{number}") for number in range(1_200)]
    assert explain_no_pages(empty, seeds).endswith("; and 1,195 more seeds")
