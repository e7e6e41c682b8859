"""Forgotten pages are removed from every file when a collection is next opened."""

from pathlib import Path

import pytest

from crawling import pages, waiting
from lycosa.collection.journal import Maintenance, read_journal, write_journal
from lycosa.run.forgotten import add_forgotten
from lycosa.run.removal import REPORT_FILE, STANDING_FILE
from lycosa.run.stored_pages import StoredPages
from sessions import opened


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
    assert read_journal(crawled) == Maintenance("forget")
    with opened(crawled):
        pass
    assert read_journal(crawled) is None
    assert url not in pages(crawled)


def test_a_journal_of_a_removal_is_enough_to_do_it_again(crawled: Path) -> None:
    write_journal(crawled, Maintenance("forget"))
    (crawled / STANDING_FILE).write_text("{}")
    with opened(crawled):
        pass
    assert read_journal(crawled) is None
    assert not (crawled / STANDING_FILE).exists()
