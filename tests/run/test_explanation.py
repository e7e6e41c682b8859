"""What is known of a URL, and the way that led to it; what became of the seeds, redirects followed."""

from pathlib import Path

import pytest

from crawling import collection
from lycosa.collection.collection import Collection
from lycosa.reading import Reader
from lycosa.run.explanation import explain_no_pages, facts_about, link_path_to
from lycosa.run.open import open_collection, open_for_reading
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Fetch, LeftOut, LeftOutReason, Outcome, Skip, SkipReason, Url, Visit
from sessions import crawl
from worlds import CHAIN

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
    assert said == (
        f"{HOME}: denied (403); {THERE}: not fetched (out of scope: host excluded); {MOVED}: not fetched yet"
    )


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


def test_the_way_begins_at_the_seed_and_ends_before_the_page(tmp_path):
    urls = list(CHAIN)
    folder = collection(tmp_path / "c", [urls[0]])
    crawl(folder, CHAIN, 3)
    with open_for_reading(folder) as opened:
        page = opened.catalog.page(urls[2])
        assert [step.url for step in link_path_to(opened.catalog, page)] == urls[:2]
        assert [facts_about(opened, url)["state"] for url in urls] == ["stored", "stored", "stored", "waiting"]
        assert facts_about(opened, Url("http://unknown.example/"))["state"] == "unknown"
