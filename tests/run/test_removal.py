"""Forgotten pages are removed from every file when a collection is next opened."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crawling import pages, waiting
from lycosa.collection.upkeep_journal import UpkeepTask, read_upkeep_journal, write_upkeep_journal
from lycosa.frontier.admission import Admission
from lycosa.recipe import load_recipe
from lycosa.run import removal
from lycosa.run.forgotten import add_forgotten, is_forgotten, is_forgotten_name
from lycosa.run.removal import REPORT_FILE, STANDING_FILE
from lycosa.run.session import Session
from lycosa.run.stored_pages import StoredPages
from lycosa.run.upkeep import finish_upkeep
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import key_of
from sessions import NOW, opened


def test_opening_removes_what_was_forgotten_once(crawled: Path) -> None:
    url = pages(crawled)[3]
    (crawled / REPORT_FILE).write_text("a report")
    (crawled / STANDING_FILE).write_text("{}")
    add_forgotten(crawled, url)
    with opened(crawled) as session:
        assert session.pages_forgotten == 1
    assert url not in pages(crawled) and url not in waiting(crawled)
    assert not (crawled / REPORT_FILE).exists() and not (crawled / STANDING_FILE).exists()
    with opened(crawled) as session:
        assert session.pages_forgotten == 0


def test_a_forgotten_seed_is_no_seed_any_more(crawled: Path) -> None:
    with opened(crawled) as session:
        [seed] = session.seeds
    add_forgotten(crawled, seed)
    with opened(crawled) as session:
        assert session.seeds == []


def test_a_removal_that_was_killed_is_done_again(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = pages(crawled)[3]
    add_forgotten(crawled, url)

    def killed(self: StoredPages) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(StoredPages, "forget_terms", killed)
        with pytest.raises(ZeroDivisionError), opened(crawled):
            pass
    assert read_upkeep_journal(crawled) == UpkeepTask("forget")
    with opened(crawled):
        pass
    assert read_upkeep_journal(crawled) is None
    assert url not in pages(crawled)


@pytest.mark.parametrize("is_undone", [False, True])
def test_a_rebuild_does_not_lose_a_removal_that_was_killed(
    crawled: Path, monkeypatch: pytest.MonkeyPatch, is_undone: bool
) -> None:
    (crawled / STANDING_FILE).write_text("{}")
    add_forgotten(crawled, pages(crawled)[3])

    def killed(*args: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(removal, "_remove_models", killed)
        with pytest.raises(ZeroDivisionError), opened(crawled):
            pass
        if is_undone:
            with pytest.raises(ZeroDivisionError):
                Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW), rebuild=True)
            assert read_upkeep_journal(crawled) == UpkeepTask("forget")
    with Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW), rebuild=True):
        pass
    assert read_upkeep_journal(crawled) is None
    assert not (crawled / STANDING_FILE).exists()


def test_a_removal_that_a_killed_rebuild_was_to_complete_is_completed(crawled: Path) -> None:
    write_upkeep_journal(crawled, UpkeepTask("rebuild", forgets=True))
    (crawled / STANDING_FILE).write_text("{}")
    finish_upkeep(crawled, clock=SimulatedClock(NOW))
    assert read_upkeep_journal(crawled) is None
    assert not (crawled / STANDING_FILE).exists()


def test_a_journal_of_a_removal_is_enough_to_do_it_again(crawled: Path) -> None:
    write_upkeep_journal(crawled, UpkeepTask("forget"))
    (crawled / STANDING_FILE).write_text("{}")
    with opened(crawled):
        pass
    assert read_upkeep_journal(crawled) is None
    assert not (crawled / STANDING_FILE).exists()


def test_a_rebuild_killed_after_it_forgot_leaves_no_page_that_is_forgotten_next(crawled: Path) -> None:
    first, second = pages(crawled)[3:5]
    add_forgotten(crawled, first)
    with opened(crawled):
        pass
    killed = Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW), rebuild=True)
    killed.collection.catalog.close()
    assert killed.collection._lock is not None
    killed.collection._lock.close()
    assert read_upkeep_journal(crawled) == UpkeepTask("rebuild")
    add_forgotten(crawled, second)
    with opened(crawled):
        pass
    left = b"".join(path.read_bytes() for path in crawled.rglob("*") if path.is_file() and path.suffix != ".gz")
    assert second.encode() not in left
    kept = pages(crawled)
    with Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW), rebuild=True):
        pass
    assert pages(crawled) == kept


def test_leftovers_of_a_rebuild_are_deleted_even_without_its_journal(crawled: Path) -> None:
    url = pages(crawled)[3]
    shutil.copy(crawled / "catalog.sqlite", crawled / "rebuilt.sqlite")
    (crawled / "rebuilt-search.new").mkdir()
    add_forgotten(crawled, url)
    with opened(crawled):
        pass
    assert not [path.name for path in crawled.iterdir() if "rebuilt" in path.name]


def test_forgetting_goes_on_whatever_was_forgotten_before(crawled: Path) -> None:
    """The target of a redirect, of a page that moved, of a duplicate and of a link; then texts that are no URL."""
    gone, other = "http://gone.example/", pages(crawled)[3]
    with closing(sqlite3.connect(crawled / "catalog.sqlite")) as catalog, catalog:
        for row, detail in enumerate((f"to {gone}", "to itself", "", "to ", "to //", f"to {gone}x"), 1):
            catalog.execute("UPDATE fetches SET outcome = 'moved', detail = ? WHERE rowid = ?", (detail, row))
        for number, why in enumerate((f"moved to {gone}", "moved to ", "moved to nowhere", ""), 1):
            catalog.execute("UPDATE pages SET vanished_at = 1, vanished_why = ? WHERE number = ?", (why, number))
        catalog.execute("UPDATE pages SET found_on = ?, duplicate_of = ? WHERE number = 2", (gone, gone))
    for forgotten in ("gone.example", "gone.example", other, gone, other):
        add_forgotten(crawled, forgotten)
        with opened(crawled):
            pass
    write_upkeep_journal(crawled, UpkeepTask("forget"))  # all of it once more
    with opened(crawled):
        pass
    assert other not in pages(crawled)
    with closing(sqlite3.connect(crawled / "catalog.sqlite")) as catalog:
        assert gone not in "\n".join(catalog.iterdump())


@pytest.mark.parametrize("text", ["", "x", "//", "to http://gone.example/", "http:", "/a/b", "\ud800"])
def test_what_is_no_url_was_not_forgotten(text: str) -> None:
    assert not is_forgotten(Url(text), frozenset((key_of(""), key_of("gone.example"))))


@pytest.mark.parametrize("stored", ["http://v.example./x", "http://v.example/x"])
@pytest.mark.parametrize(
    "name",
    ["v.example", "v.example.", "http://v.example/x", "http://v.example./x", "http://other.example/", "example."],
)
def test_a_host_is_forgotten_in_both_spellings(stored: str, name: str) -> None:
    forgotten = frozenset((key_of(name),))
    expected = "v.example" in name
    assert is_forgotten(Url(stored), forgotten) == expected
    assert (Admission(forgotten=forgotten).out_of_scope(Url(stored)) is not None) == expected
    for host in ("v.example", "v.example.", "v.example.:8080"):
        assert is_forgotten_name(host, forgotten) == (expected and "/" not in name)
