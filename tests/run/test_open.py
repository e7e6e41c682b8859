"""A collection as it is opened: for one who writes, for all who read, and for its search index."""

import shutil
from pathlib import Path

import pytest

from collection.samples import fetched
from crawling import collection
from lycosa.collection.search_index import SearchIndex
from lycosa.reading import Reader
from lycosa.run.open import bring_index_up_to_date, main_text_of, open_collection, open_for_reading
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Candidate, Url, Visit
from sessions import NOW

HIVE = Url("http://bees.example/hive")
PAGE = (
    b"<html><head><title>The hive</title></head><body><nav><a href='/'>Homeward navigation</a></nav>"
    b"<main><p>Bees live in a hive, which they fill with honey all summer long and guard against wasps.</p></main>"
    b"</body></html>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder, read = collection(tmp_path / "c"), Reader()
    with open_collection(folder, clock=SimulatedClock(NOW), reader=read, writable=True) as opened:
        fetch = fetched(HIVE, body=PAGE)
        opened.record(Visit(Candidate(HIVE, 0.5), fetch, read(fetch), relevance=0.5))
    return folder


def test_what_was_written_is_read(folder: Path) -> None:
    with open_for_reading(folder) as opened:
        assert [page.title for page in opened.catalog.pages()] == ["The hive"]
        page = opened.catalog.page(HIVE)
        assert page is not None and page.place is not None
        assert opened.archive.fetch_at(page.place).content == PAGE


def test_a_page_is_found_by_its_title_and_by_what_it_is_about(folder: Path) -> None:
    with open_for_reading(folder) as opened:
        for word, hits in (("hive", 1), ("honey", 1), ("navigation", 0)):
            assert len(opened.search.search(word)) == hits, word


def test_a_search_index_that_was_lost_is_made_again_from_the_archive(folder: Path) -> None:
    shutil.rmtree(folder / "search")
    with open_collection(folder, clock=SimulatedClock(NOW), reader=Reader(), writable=True):
        pass
    with open_for_reading(folder) as opened:
        assert [hit.title for hit in opened.search.search("honey")] == ["The hive"]


def test_one_writes_and_others_read_at_the_same_time(folder: Path) -> None:
    clock, reader = SimulatedClock(NOW), Reader()
    with open_collection(folder, clock=clock, reader=reader, writable=True), open_for_reading(folder) as readable:
        assert readable.catalog.count() == 1
        with pytest.raises(CollectionError):
            open_collection(folder, clock=clock, reader=reader, writable=True)


def test_a_folder_that_is_no_collection_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lycosa new"):
        open_for_reading(tmp_path / "none")
    with pytest.raises(UsageError, match=r"no lycosa\.toml"):
        open_for_reading(tmp_path)


def test_a_recipe_of_a_plug_in_that_is_not_installed_does_not_keep_one_from_reading(folder: Path) -> None:
    recipe = folder / "lycosa.toml"
    recipe.write_text('strategy = "somebody-elses"\n' + recipe.read_text())
    with open_for_reading(folder) as opened:
        assert opened.catalog.count() == 1


def test_the_main_text_of_a_page_is_without_its_navigation() -> None:
    text = main_text_of(fetched(HIVE, body=PAGE))
    assert "honey" in text and "navigation" not in text


def test_nothing_is_said_of_an_outdated_index_without_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = collection(tmp_path / "c")
    with open_collection(folder, clock=SimulatedClock(NOW), reader=Reader(), writable=True):
        pass
    monkeypatch.setattr(SearchIndex, "is_outdated", lambda index: True)
    messages: list[str] = []
    bring_index_up_to_date(folder, notify=messages.append)
    assert messages == []
