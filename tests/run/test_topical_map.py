"""The map that a session goes by: opened from an atlas, and found again by what a run says of it."""

from pathlib import Path

import msgspec
import pytest

from lycosa.reading import page_of_text
from lycosa.recipe import Map
from lycosa.run.topical_map import OpenMap, map_of_run, open_map
from lycosa.strategies import BestFirst, Mapped
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from maps.small_atlases import atlas_of, mapped_by

TIES = {"http://bees.org/": ["http://bees.org/hive", "http://wax.org/"]}


@pytest.fixture
def atlas(tmp_path: Path) -> Path:
    return atlas_of(tmp_path / "bees.atlas", {"bees": TIES}, related=["wax"])


def opened(folder: Path, **wanted: object) -> OpenMap:
    found = open_map(Map(atlas="bees.atlas", **wanted), folder)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_recipe_without_an_atlas_goes_by_no_map(tmp_path: Path) -> None:
    assert open_map(Map(), tmp_path) is None
    assert map_of_run(None, "adaptive", folder=Path("bees")) is None


def test_the_only_topic_of_an_atlas_need_not_be_named(atlas: Path) -> None:
    found = opened(atlas.parent, priority=0.3)
    assert (found.reference.topic, found.reference.priority) == ("bees", 0.3)
    assert found.reference.atlas == str(atlas)
    assert mapped_by(found.links) == {*TIES, *TIES["http://bees.org/"]}


def test_a_map_is_found_again_by_what_its_run_says_of_it(atlas: Path) -> None:
    found = opened(atlas.parent)
    said = msgspec.to_builtins(found.reference)
    again = map_of_run(said, "adaptive", folder=atlas.parent)
    assert again is not None and again.reference == found.reference
    atlas.unlink()
    atlas_of(atlas, {"bees": TIES | {"http://new.org/": []}})
    with pytest.raises(UsageError, match="has changed since"):
        map_of_run(said, "adaptive", folder=atlas.parent)


def test_a_map_whose_taxonomy_has_changed_is_not_opened_again(atlas: Path, tmp_path: Path) -> None:
    for topic in ("wax", "bees"):
        (tmp_path / "topics" / topic).mkdir(parents=True)
        (tmp_path / "topics" / topic / "1.txt").write_text(f"{topic} and more of {topic}")
    said = msgspec.to_builtins(opened(tmp_path, taxonomy="topics").reference)
    assert map_of_run(said, "adaptive", folder=tmp_path) is not None
    (tmp_path / "topics" / "wax" / "2.txt").write_text("candles")
    with pytest.raises(UsageError, match=r"or the taxonomy .* has changed since"):
        map_of_run(said, "adaptive", folder=tmp_path)


@pytest.mark.parametrize(
    ("said", "strategy", "complaint"),
    [({"atlas": 3}, "adaptive", "is invalid"), ("text", "adaptive", "is invalid")],
)
def test_what_makes_no_sense_is_refused(said: object, strategy: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        map_of_run(said, strategy, folder=Path("bees"))


def test_a_strategy_that_cannot_go_by_a_map_is_refused(atlas: Path) -> None:
    with pytest.raises(UsageError, match="pagerank"):
        map_of_run(msgspec.to_builtins(opened(atlas.parent).reference), "pagerank", folder=atlas.parent)


def test_of_several_topics_one_is_to_be_named(tmp_path: Path) -> None:
    atlas_of(tmp_path / "bees.atlas", {"bees": TIES, "ships": {"http://sea.org/": []}})
    with pytest.raises(UsageError, match="maps for several topics; name one with --map-topic: 'bees', 'ships'"):
        opened(tmp_path)
    with pytest.raises(UsageError, match="has no map for 'chess'"):
        opened(tmp_path, topic="chess")
    assert mapped_by(opened(tmp_path, topic="ships").links) == {"http://sea.org/"}


def test_an_atlas_without_a_map_is_refused(tmp_path: Path) -> None:
    atlas_of(tmp_path / "bees.atlas", {})
    with pytest.raises(UsageError, match="has no map in it; build one with: lycosa map build"):
        opened(tmp_path)


def test_a_map_with_related_topics_says_what_would_make_more_of_it(atlas: Path, tmp_path: Path) -> None:
    assert "pages on wax also" in opened(atlas.parent).advice
    for topic in ("wax", "bees"):
        (tmp_path / "topics" / topic).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "topics" / topic / f"{number}.txt").write_text(f"{topic} and more of {topic}")
    assert opened(atlas.parent, taxonomy="topics").advice == ""


def test_the_topics_of_pages_are_told_by_whole_words(atlas: Path, tmp_path: Path) -> None:
    for topic, text in {"wax": "candles made of wax", "bees": "bees in their hives"}.items():
        (tmp_path / "topics" / topic).mkdir(parents=True)
        (tmp_path / "topics" / topic / "1.txt").write_text(text)
    pages = [
        page_of_text(Url("http://a.example/"), "", "candles of hives, candles", stem=stem) for stem in (False, True)
    ]
    assert list(map(opened(atlas.parent, taxonomy="topics").topic_of, pages)) == ["wax", "wax"]
    assert opened(atlas.parent).topic_of(pages[0]) is None


def test_a_strategy_has_one_map_beside_it(atlas: Path) -> None:
    found = opened(atlas.parent)
    first = found.wrap(BestFirst())
    second = found.wrap(first)
    assert isinstance(second, Mapped) and second.inner is first.inner
