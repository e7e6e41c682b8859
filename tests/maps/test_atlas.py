"""An atlas keeps maps, extends them, merges them, and survives a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.maps import Atlas, Sighting, count_citations, draw_map, merge_atlases, url_map_of
from lycosa.vocabulary.errors import LycosaError, UsageError
from maps.small_atlases import extended, links, mapped_by, pages, ties, url_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "atlas"


def test_a_map_is_kept_as_it_was_drawn(path):
    numbers = sorted(range(100), key=url_of)
    pairs = [(int(one.split("-")[1][:-5]), int(other.split("-")[1][:-5])) for one, other in links(range(100))]
    ours = url_map_of(draw_map(numbers, pairs, seed=3), {number: url_of(number) for number in numbers})
    with Atlas(path, writable=True) as atlas:
        atlas.extend("bees", pages(range(100)), links(range(100)), at=5.0, seed=3)
        atlas.add_related("bees", ["wasps"])
    with Atlas(path) as atlas:
        assert atlas.topics() == ("bees",)
        assert atlas.portals_of("bees") == ours.portals
        theirs = atlas.crawl_map("bees")
        assert (theirs.portal_of, theirs.related, len(theirs)) == (ours.portal_of, {"wasps"}, 100)
        assert mapped_by(theirs) == set(pages(range(100)))
        assert theirs.ties_of("http://elsewhere.example/") == ()
        for portal in ours.portals:
            assert set(theirs.spokes[portal]) == set(ours.spokes[portal])
            others = {other for other in ours.portals if other != portal}
            assert set(atlas.ties_of(portal, "bees")) == others | set(ours.spokes[portal])
        for node, portal in ours.portal_of.items():
            assert atlas.ties_of(node, "bees") == (portal,)
        facts = atlas.facts("bees")
        assert (facts.pages, facts.portals, facts.sources) == (100, len(ours.portals), {"first": 100})
        assert (facts.drawn_at, facts.related) == (5.0, ("wasps",))


def test_extending_draws_the_map_that_all_pages_together_give(tmp_path):
    both = links(range(120))
    with Atlas(tmp_path / "one", writable=True) as atlas:
        atlas.extend("bees", pages(range(120)), both, at=1.0, seed=4)
    with Atlas(tmp_path / "two", writable=True) as atlas:
        atlas.extend("bees", pages(range(70)), both, at=1.0, seed=4)
    with Atlas(tmp_path / "two", writable=True) as atlas:
        atlas.extend("bees", pages(range(50, 120), source="second", at=200.0), both, at=2.0)
    assert ties(tmp_path / "one") == ties(tmp_path / "two")
    with Atlas(tmp_path / "two") as atlas:
        assert atlas.facts("bees").sources == {"second": 70, "first": 50}


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 60), st.integers(1, 90), st.integers(0, 5))
def test_the_order_of_a_merge_makes_no_difference(tmp_path_factory, first, count, seed):
    folder = tmp_path_factory.mktemp("merge")
    extended(folder / "a", range(70), source="a", seed=seed)
    extended(folder / "b", range(first, first + count), source="b", at=50.0, seed=seed + 1)
    extended(folder / "b", range(5), topic="wasps", source="b", at=50.0)
    with Atlas(folder / "b", writable=True) as atlas:
        atlas.mark_dead(url_of(first), 170.0)
        atlas.add_related("wasps", ["bees"])
        atlas.set_citations("b", count_citations(["bees", "wasps"], {1: 0, 2: 1}, [(1, 2)]))
    merge_atlases(folder / "a", folder / "b", folder / "ab", now=1e9)
    merge_atlases(folder / "b", folder / "a", folder / "ba", now=1e9)
    assert ties(folder / "ab") == ties(folder / "ba")
    with Atlas(folder / "ba") as other, Atlas(folder / "ab") as atlas:
        assert atlas.topics() == ("bees", "wasps")
        sources = atlas.facts("bees").sources
        assert sources["a"] == 70 - (first < 70)  # who saw a page last brought it; one is dead
        assert sources == other.facts("bees").sources
        assert atlas.related("wasps") == ("bees",)
        assert atlas.citations().links == ((0, 1), (0, 0))
        assert mapped_by(atlas.crawl_map("bees")) == (
            set(pages({*range(70), *range(first, first + count)})) - {url_of(first)}
        )


def test_merging_again_changes_nothing(tmp_path):
    extended(tmp_path / "a", range(70), source="a")
    extended(tmp_path / "b", range(40, 110), source="b")
    merge_atlases(tmp_path / "a", tmp_path / "b", tmp_path / "a", now=1e9)
    once = ties(tmp_path / "a")
    merge_atlases(tmp_path / "a", tmp_path / "b", tmp_path / "a", now=1e9)
    assert ties(tmp_path / "a") == once


def test_dead_pages_are_left_out_until_they_are_seen_alive(path):
    extended(path, range(100))
    with Atlas(path) as atlas:
        portal = atlas.portals_of("bees")[0]
        orphans = atlas.crawl_map("bees").spokes[portal]
    with Atlas(path, writable=True) as atlas:
        atlas.mark_dead(portal, 150.0)
    with Atlas(path) as atlas:
        crawl_map = atlas.crawl_map("bees")
        assert atlas.facts("bees").dead == 1
        assert portal not in mapped_by(crawl_map)
        assert len(crawl_map) == 99
        assert {crawl_map.ties_of(orphan) for orphan in orphans} <= {(crawl_map.portals[0],)}
    extended(path, range(100, 110), at=160.0)
    with Atlas(path) as atlas:
        assert (atlas.facts("bees").pages, atlas.facts("bees").dead) == (109, 0)
    extended(path, [int(portal.split("-")[1][:-5])], at=170.0)
    with Atlas(path) as atlas:
        assert portal in mapped_by(atlas.crawl_map("bees"))


def test_a_map_keeps_its_reach_and_weighs_texts_again_when_it_is_extended(path):
    def sketched(numbers):
        return {
            url_of(number): Sighting(1.0, "first", bytes([1 + 100 * (number % 4 == place) for place in range(128)]))
            for number in numbers
        }

    with Atlas(path, writable=True) as atlas:
        atlas.extend("bees", sketched(range(90)), links(range(300)), at=1.0, reach="far", similar=True, seed=9)
    with Atlas(path, writable=True) as atlas:
        atlas.extend("bees", sketched(range(90, 300)), links(range(300), seed=2), at=2.0)
    with Atlas(path) as atlas:
        facts = atlas.facts("bees")
        assert (facts.reach, facts.similar, facts.seed) == ("far", True, 9)
        crawl_map = atlas.crawl_map("bees")
    alike = [
        int(portal.split("-")[1][:-5]) % 4 == number % 4
        for number in range(300)
        if url_of(number) in crawl_map.portal_of
        for portal in crawl_map.ties_of(url_of(number))
    ]
    assert np.mean(alike) > 0.5  # a quarter by chance


def test_an_error_leaves_the_atlas_as_it_was(path):
    extended(path, range(50))
    before = path.read_bytes()
    with pytest.raises(RuntimeError), Atlas(path, writable=True) as atlas:
        atlas.extend("bees", pages(range(50, 90)), [], at=2.0)
        raise RuntimeError
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_two_writers_do_not_meet(path):
    extended(path, range(20))
    with Atlas(path, writable=True), pytest.raises(LycosaError, match="another program is writing"):
        Atlas(path, writable=True)
    extended(path, range(20, 40))
    with Atlas(path) as atlas:
        assert atlas.facts("bees").pages == 40


def test_who_reads_has_one_state_while_another_writes(path):
    extended(path, range(30))
    with Atlas(path) as atlas:
        extended(path, range(30, 90))
        assert len(atlas.crawl_map("bees")) == 30
    with Atlas(path) as atlas:
        assert len(atlas.crawl_map("bees")) == 90


WRITING = """
import sys
from pathlib import Path
sys.path[:0] = {paths!r}
from maps.small_atlases import extended
print("ready", flush=True)
for start in range(0, 10**6, 400):
    extended(Path({atlas!r}), range(start % 4000, start % 4000 + 800), source=f"crawl {{start}}")
    print(start, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.02, 0.11, 0.17])
def test_a_killed_merge_leaves_a_whole_map(path, delay):
    extended(path, range(1000))
    script = WRITING.format(paths=[str(Path(__file__).parents[1])], atlas=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(3):
            process.stdout.readline()
        time.sleep(delay)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Atlas(path) as atlas:
        assert len(atlas.crawl_map("bees")) == atlas.facts("bees").pages >= 1000
    extended(path, range(5000, 5100))  # and what the killed one left is no hindrance
    with Atlas(path) as atlas:
        assert url_of(5050) in mapped_by(atlas.crawl_map("bees"))
    assert list(path.parent.iterdir()) == [path]


def test_a_topic_that_is_not_there_and_a_bad_name_are_refused(path):
    extended(path, range(10))
    with Atlas(path) as atlas, pytest.raises(UsageError, match="no map of 'wasps'; there are bees"):
        atlas.crawl_map("wasps")
    with Atlas(path, writable=True) as atlas, pytest.raises(UsageError, match="not a name"):
        atlas.extend("\x1b[31m", {}, (), at=1.0)


def test_a_page_that_is_gone_by_now_is_not_mapped_when_it_is_first_heard_of(tmp_path):
    pages = {url_of(number): Sighting(1e9, "b") for number in range(12)}
    with Atlas(tmp_path / "atlas", writable=True) as atlas:
        atlas.extend("t", pages, (), at=2e9, dead={url_of(3): 1.5e9, url_of(4): 0.5e9, url_of(99): 1.5e9})
    with Atlas(tmp_path / "atlas") as atlas:
        drawn = atlas.crawl_map("t")
    assert mapped_by(drawn) == set(pages) - {url_of(3)}
