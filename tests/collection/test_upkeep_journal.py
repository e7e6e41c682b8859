"""What was under way when a process was killed, and how it ends."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace

from collection.samples import HOME, WOLF, collection_in, page_of, visit
from lycosa.collection import collection as collections
from lycosa.collection.upkeep_journal import (
    JOURNAL_FILE,
    UpkeepTask,
    delete_upkeep_journal,
    read_upkeep_journal,
    write_upkeep_journal,
)
from lycosa.vocabulary.records import Visit

INSTALLING = UpkeepTask("rebuild", "installing")


class _Killed(BaseException):
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with collection_in(tmp_path) as collection:
        for url in (HOME, WOLF):
            collection.record(visit(url))
    return tmp_path


def killed_rebuild(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A rebuild that is killed just before something is done to the disk at its end."""

    def die(*_: object) -> NoReturn:
        raise _Killed

    def dying(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        return lambda path, target: die() if path.name == step else move(path, target)

    collection = collection_in(folder, rebuild=True)
    for event, place in collection.unapplied():
        assert isinstance(event, Visit)
        collection.apply(replace(event, page=page_of(event.candidate.url, title="Title")), place)
    with monkeypatch.context() as patch:
        if step == "drop the old index":
            patch.setattr(shutil, "rmtree", lambda path, **_: path.exists() and die())
        elif step == "end":
            patch.setattr(collections, "delete_upkeep_journal", die)
        else:
            patch.setattr(Path, "replace", dying(Path.replace))
            patch.setattr(Path, "rename", dying(Path.rename))
        patch.setattr(collection, "close_without_checkpoint", lambda: collection.catalog.close())
        with pytest.raises(_Killed):
            collection.close()
    assert collection._lock is not None
    collection._lock.close()


def test_what_is_under_way_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_upkeep_journal(tmp_path) is None
    write_upkeep_journal(tmp_path, INSTALLING)
    assert read_upkeep_journal(tmp_path) == INSTALLING
    delete_upkeep_journal(tmp_path)
    assert read_upkeep_journal(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b'{"task": "x"}', b'{"task": "\xff"}', b"[" * 900, bytes(2_000)])
def test_what_is_no_journal_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / JOURNAL_FILE).write_bytes(content)
    assert read_upkeep_journal(tmp_path) is None


@pytest.mark.parametrize("step", ["rebuilt.sqlite", "search", "drop the old index", "rebuilt-search", "end"])
@pytest.mark.parametrize("writable", [True, False])
def test_a_rebuild_killed_while_it_is_installed_is_finished_by_the_next(folder, monkeypatch, step, writable):
    killed_rebuild(folder, monkeypatch, step)
    assert read_upkeep_journal(folder) == INSTALLING
    with collection_in(folder, writable=writable) as collection:
        assert [page.url for page in collection.catalog.pages()] == [HOME, WOLF]
        assert len(collection.search.search("Title")) == 2
        assert bool(collection.rebuild_message) is writable
    assert read_upkeep_journal(folder) is None
    assert not [path.name for path in folder.iterdir() if "rebuilt" in path.name or path.name.endswith(".old")]


def test_a_rebuild_killed_on_its_way_changes_nothing(folder):
    collection = collection_in(folder, rebuild=True)
    events = collection.unapplied()
    collection.apply(*next(events))
    collection.catalog.close()
    assert collection._lock is not None
    collection._lock.close()  # as a kill would
    assert read_upkeep_journal(folder) == UpkeepTask("rebuild")
    with collection_in(folder, writable=False) as opened:
        assert opened.catalog.count() == 2
    assert read_upkeep_journal(folder) is None
    assert not [path.name for path in folder.iterdir() if "rebuilt" in path.name]


def test_a_rebuild_without_pages_removes_the_old_index(folder):
    for path in (folder / "archive").iterdir():
        path.unlink()
    with collection_in(folder, rebuild=True) as collection:
        assert not list(collection.unapplied())
    with collection_in(folder, writable=False) as opened:
        assert opened.search.search("Title") == []
        assert opened.pages_not_indexed() == 0
    with collection_in(folder) as collection:
        collection.record(visit(HOME))
    with collection_in(folder, writable=False) as opened:
        assert [hit.url for hit in opened.search.search("Title")] == [HOME]


def test_while_another_process_rebuilds_what_there_is_can_be_read(folder):
    rebuilding = collection_in(folder, rebuild=True)
    with collection_in(folder, writable=False) as opened:
        assert opened.catalog.count() == 2
    assert read_upkeep_journal(folder) == UpkeepTask("rebuild")
    rebuilding.close_without_checkpoint()
    assert read_upkeep_journal(folder) is None
