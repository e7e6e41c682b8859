"""Shards: what is dealt and gathered is the collection that one process would have made, wherever it was killed."""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from collection.samples import collection_in, page_of, visit, warcio_check
from lycosa.collection import Attempt, Collection, RunStart, shards
from lycosa.collection.catalog import Catalog
from lycosa.collection.queries import HOLDS_KEY, SITE_SKIPS_KEY
from lycosa.collection.shards import (
    gather,
    has_shards,
    make_shards,
    may_be_behind,
    remove_shards,
    remove_useless_shards,
    shard_folders,
)
from lycosa.collection.upkeep_journal import UpkeepTask, read_upkeep_journal, write_upkeep_journal
from lycosa.frontier.durable import DurableFrontier
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.urls import host_of

SHARDS = 3
HOSTS = [f"h{number}.example" for number in range(5)]


def owner_of(url: Url) -> int:
    return int(host_of(url)[1]) % SHARDS


def url_of(host: int, number: int) -> Url:
    return Url(f"http://{HOSTS[host]}/{number}")


def visit_at(at: int, url: Url) -> Visit:
    """A visit of a page with a link to the same path of the next host."""
    target = url_of((int(host_of(url)[1]) + 1) % len(HOSTS), at)
    page = page_of(url, title=f"Title {at}", links=(Link(target, anchor="next"),))
    return visit(url, relevance=(at % 7) / 7, at=1.7e9 + at, page=page)


PLACES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20)), unique=True, max_size=8)


def record(collection: Collection, events: Sequence[Visit]) -> None:
    for event in events:
        collection.record(event)


def frontier_of(collection: Collection) -> DurableFrontier:
    return DurableFrontier(collection.catalog.connection, clock=SimulatedClock(0.0))


def make(folder: Path, visits: Sequence[Visit], waiting: Sequence[Candidate] = ()) -> Path:
    folder.mkdir(exist_ok=True)
    with collection_in(folder) as collection:
        collection.record(RunStart(1.7e9, "best-first", (HOSTS[0],), {}))
        frontier = frontier_of(collection)
        frontier.put(waiting)
        frontier.save()
        record(collection, visits)
    return folder


def opened(folder: Path, shard: Path) -> Collection:
    return collection_in(shard, part_of=folder)


def crawl(folder: Path, visits: Sequence[Visit]) -> None:
    """Each shard visits what it owns, in its order."""
    for number, shard in enumerate(shard_folders(folder)):
        with opened(folder, shard) as part:
            record(part, [each for each in visits if owner_of(each.candidate.url) == number])


def contents(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in the catalog but the places of records in the archive; URLs for the numbers of pages."""
    queries = {
        "pages": "SELECT number, url, title, relevance, at, found_on, depth FROM pages ORDER BY number",
        "fetches": "SELECT url, at, outcome, settled FROM fetches ORDER BY at, url, rowid",
        "links": "SELECT url, rank, target, links.anchor FROM links JOIN pages ON number = source ORDER BY url, rank",
        "skips": "SELECT key, url, reason FROM skips ORDER BY key",
        "runs": "SELECT at, strategy FROM runs",
        "frontier": "SELECT url, priority FROM frontier ORDER BY arrival",
    }
    with closing(Catalog(folder / "catalog.sqlite", writable=False)) as catalog:
        return {name: catalog.connection.execute(sql).fetchall() for name, sql in queries.items()}


def assert_every_page_can_be_read(folder: Path) -> None:
    with collection_in(folder) as collection:
        assert not list(collection.unapplied())
        for page in collection.catalog.pages():
            assert page.place is not None
            archived = collection.archive.event_at(page.place)
            assert isinstance(archived, Visit)
            assert archived.candidate.url == page.url
    warcio_check(*sorted((folder / "archive").glob("*.warc.gz")))


@settings(max_examples=20)  # of some twenty files each
@given(PLACES, PLACES)
def test_what_shards_have_crawled_is_what_one_process_would_have(before, later):
    first = [visit_at(at, url_of(*place)) for at, place in enumerate(before)]
    later = [place for place in later if place not in before]
    second = [visit_at(at, url_of(*place)) for at, place in enumerate(later, 100)]
    with TemporaryDirectory() as scratch:
        whole = make(Path(scratch) / "one", [*first, *second])
        folder = make(Path(scratch) / "dealt", first)
        assert len(make_shards(folder, SHARDS, owner_of)) == SHARDS
        crawl(folder, second)
        gathered = gather(folder)
        assert sum(len(part.numbers) for part in gathered) == len(second)
        remove_shards(folder)
        assert contents(folder) == contents(whole)
        assert not has_shards(folder)
        assert_every_page_can_be_read(folder)


def sample_visits(start: int, *places: tuple[int, int]) -> list[Visit]:
    return [visit_at(at, url_of(*place)) for at, place in enumerate(places, start)]


BEFORE = sample_visits(0, (0, 1), (1, 1), (2, 1))
LATER = sample_visits(100, (4, 2), (0, 2), (1, 2), (2, 2), (3, 2))
WAITING = [Candidate(url_of(host, 9), 0.5) for host in range(5)]


def dealt(folder: Path) -> Path:
    make(folder, BEFORE, WAITING)
    make_shards(folder, SHARDS, owner_of)
    return folder


def recover(folder: Path) -> None:
    """What the next command does with shards that have nothing to catch up with."""
    remove_useless_shards(folder)
    if has_shards(folder):
        gather(folder)
        remove_shards(folder)


def test_waiting_urls_are_dealt_and_gathered_in_their_order(tmp_path):
    folder = dealt(tmp_path / "c")
    for number, shard in enumerate(shard_folders(folder)):
        owned = [each.url for each in WAITING if owner_of(each.url) == number]
        with opened(folder, shard) as part:
            frontier = frontier_of(part)
            assert len(frontier) == len(owned)
            assert all(map(frontier.is_known, owned))
            frontier.put([Candidate(url_of(number, 50), 0.9)])
            frontier.save()
    recover(folder)
    expected = [*((each.url, 0.5) for each in WAITING), *((url_of(number, 50), 0.9) for number in range(SHARDS))]
    assert sorted(contents(folder)["frontier"]) == sorted(expected)
    assert contents(folder)["frontier"][: len(WAITING)] == [(each.url, 0.5) for each in WAITING]


def test_urls_that_were_under_way_wait_unless_they_were_visited_or_wait_already(tmp_path):
    folder = dealt(tmp_path / "c")
    visited, already, new = LATER[0].candidate.url, WAITING[1].url, url_of(1, 77)
    with opened(folder, shard_folders(folder)[0]) as part:
        for number, url in enumerate((visited, already, new, new), 1):
            encoded = msgspec.json.encode(Candidate(url, 0.7))
            part.catalog.connection.execute("INSERT INTO outbox VALUES (?, 1, ?, ?)", (number, url, encoded))
        part.catalog.connection.execute("INSERT INTO outbox VALUES (9, 1, 'http://h1.example/x', x'00')")
    crawl(folder, LATER)
    recover(folder)
    waiting = contents(folder)["frontier"]
    assert waiting.count((new, 0.7)) == 1
    assert [url for url, _ in waiting].count(already) == 1
    assert visited not in [url for url, _ in waiting]
    assert "http://h1.example/x" not in [url for url, _ in waiting], "it is damaged"


def test_attempts_skips_counts_and_holds_come_home(tmp_path):
    folder = make(tmp_path / "c", BEFORE, WAITING)
    with collection_in(folder) as collection:
        collection.catalog.put_state(SITE_SKIPS_KEY, 5)
        collection.catalog.put_state(HOLDS_KEY, {"h1.example": 10.0})
    make_shards(folder, SHARDS, owner_of)
    attempt = Attempt(WAITING[0], Fetch(WAITING[0].url, Outcome.FAILED, 1.7e9 + 50, detail="timeout"))
    with opened(folder, shard_folders(folder)[0]) as part:
        part.record(attempt)
        skip = Skip(Candidate(url_of(3, 5), 0.1), SkipReason.SCOPE)
        part.catalog.add_skips([skip, replace(skip, candidate=LATER[0].candidate)], 1.7e9)
        part.catalog.put_state(SITE_SKIPS_KEY, 7)
    with opened(folder, shard_folders(folder)[1]) as part:
        part.catalog.put_state(SITE_SKIPS_KEY, 6)
        part.catalog.put_state(HOLDS_KEY, {"h1.example": 99.0})
        part.catalog.put_state("due", True)
    crawl(folder, LATER)
    gather(folder, flags=("due",))
    with closing(Catalog(folder / "catalog.sqlite", writable=False)) as catalog:
        assert catalog.get_state(SITE_SKIPS_KEY) == 8
        assert catalog.get_state(HOLDS_KEY) == {"h1.example": 99.0}
        assert catalog.get_state("due") is True
    assert (WAITING[0].url, 1.7e9 + 50, "failed", 0) in contents(folder)["fetches"]
    assert [url for _, url, _ in contents(folder)["skips"]] == [url_of(3, 5)], "what was visited is not skipped"


def test_to_gather_twice_changes_nothing(tmp_path):
    folder = dealt(tmp_path / "c")
    crawl(folder, LATER)
    gather(folder)
    once = contents(folder)
    assert gather(folder) == []
    remove_shards(folder)
    assert gather(folder) == []
    assert contents(folder) == once


def test_a_second_deal_adds_to_the_first(tmp_path):
    folder = dealt(tmp_path / "c")
    crawl(folder, LATER[:2])
    recover(folder)
    make_shards(folder, 2, lambda url: int(host_of(url)[1]) % 2)
    for number, shard in enumerate(shard_folders(folder)):
        with opened(folder, shard) as part:
            record(part, [each for each in LATER[2:] if int(host_of(each.candidate.url)[1]) % 2 == number])
    recover(folder)
    whole = make(tmp_path / "one", [*BEFORE, *LATER], WAITING)
    assert contents(folder) == contents(whole)
    assert_every_page_can_be_read(folder)


class _KilledError(BaseException):
    pass


class Killer:
    """Ends the process, as it were, before or after its n-th step that changes a file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.steps_left: float = float("inf")
        self._patch = monkeypatch

    def watch(self, owner: Any, name: str, *, halfway: Callable[..., None] | None = None) -> None:
        original = getattr(owner, name)

        def step(*arguments: Any, **options: Any) -> Any:
            self._count()
            if halfway is not None and self.steps_left < 1:
                halfway(*arguments)
            self._count()
            result = original(*arguments, **options)
            self._count()
            return result

        self._patch.setattr(owner, name, step)

    def _count(self) -> None:
        if self.steps_left <= 0:
            raise _KilledError
        self.steps_left -= 1


def remove_one_catalog(folder: Path, **options: Any) -> None:
    for path in sorted(Path(folder).glob("*/catalog.sqlite"))[:1]:
        path.unlink()


@pytest.mark.slow
def test_wherever_dealing_and_gathering_are_killed_nothing_is_lost(tmp_path, monkeypatch):
    whole = contents(make(tmp_path / "one", [*BEFORE, *LATER], WAITING))
    alone = contents(make(tmp_path / "before", BEFORE, WAITING))
    killer = Killer(monkeypatch)
    killer.watch(Path, "rename")
    killer.watch(Catalog, "commit")
    killer.watch(shards, "write_upkeep_journal")
    killer.watch(shards, "delete_upkeep_journal")
    killer.watch(shutil, "rmtree", halfway=remove_one_catalog)
    results: set[str] = set()
    for step in range(500):
        killer.steps_left = float("inf")
        folder = make(tmp_path / f"c{step}", BEFORE, WAITING)
        killer.steps_left = step
        is_killed = True
        with suppress(_KilledError):
            make_shards(folder, SHARDS, owner_of)
            steps_left, killer.steps_left = killer.steps_left, float("inf")
            crawl(folder, LATER)
            killer.steps_left = steps_left
            gather(folder)
            remove_shards(folder)
            is_killed = False
        killer.steps_left = float("inf")
        recover(folder)
        found = contents(folder)
        has_crawled = len(found["pages"]) > len(BEFORE)
        assert found == (whole if has_crawled else alone), step
        assert not (folder / "shards").exists()
        assert read_upkeep_journal(folder) is None
        assert_every_page_can_be_read(folder)
        results.add("crawled" if has_crawled else "undone")
        if not is_killed:
            break
        shutil.rmtree(folder)
    assert not is_killed
    assert results == {"crawled", "undone"}


def test_shards_that_were_moved_do_not_catch_up_again(tmp_path):
    folder = dealt(tmp_path / "c")
    assert may_be_behind(folder)
    gather(folder)
    assert not may_be_behind(folder)
    assert has_shards(folder)


def test_incomplete_shards_are_removed(tmp_path):
    folder = dealt(tmp_path / "c")
    write_upkeep_journal(folder, UpkeepTask("shards", "making"))
    remove_useless_shards(folder)
    assert not has_shards(folder)
    assert not (folder / "shards").exists()


def test_a_folder_that_is_no_shard_is_one_clear_line(tmp_path):
    folder = dealt(tmp_path / "c")
    before = contents(folder)
    shutil.rmtree(folder / "shards" / "01")
    make(folder / "shards" / "01", [])
    with pytest.raises(CollectionError, match=r"01 is no shard of a crawl; remove"):
        gather(folder)
    assert contents(folder) == before


def test_a_shard_without_its_archive_or_catalog_is_one_clear_line(tmp_path):
    for name in ("archive", "catalog.sqlite"):
        folder = dealt(tmp_path / name)
        path = folder / "shards" / "01" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        with pytest.raises(CollectionError) as raised:
            gather(folder)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["archive", "archive/x.warc.gz", "catalog.sqlite", "words.sqlite"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_in_shards_are_refused(tmp_path, name, kind):
    folder = dealt(tmp_path / "c")
    outside = tmp_path / "outside"
    outside.mkdir()
    path = folder / "shards" / "00" / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "link":
        path.symlink_to(outside)
    else:
        os.mkfifo(path)
    with pytest.raises(CollectionError, match=r"is a link|is not a folder|is no plain file"):
        gather(folder)
    assert list(outside.iterdir()) == []


def test_a_shard_that_ran_empty_and_caught_up_after_a_kill_is_gathered(tmp_path):
    """Its frontier begins at the first arrival again, which may be that of a waiting URL of another shard."""
    folder = dealt(tmp_path / "c")
    shard = shard_folders(folder)[1]
    with opened(folder, shard) as part:
        part.catalog.connection.execute("DELETE FROM frontier")  # all were fetched
        part.checkpoint()
    new = [url_of(1, number) for number in range(60, 60 + len(WAITING))]
    foreign = WAITING[0].url
    assert owner_of(foreign) != 1
    with opened(folder, shard) as part:
        frontier = frontier_of(part)
        frontier.put([Candidate(url, 0.4) for url in (*new, foreign)])
        frontier.save()
    recover(folder)
    waiting = [url for url, _ in contents(folder)["frontier"]]
    others = [each.url for each in WAITING if owner_of(each.url) != 1]
    assert sorted(waiting) == sorted([*others, *new])
