"""From collections to maps: which pages get into which map, and what cannot be mapped."""

from pathlib import Path

import pytest

from crawling import collection, rows
from lycosa.maps import Atlas
from lycosa.run.atlas import AtlasPlan, BuiltAtlas, build_atlas
from lycosa.run.taxonomies import load_taxonomy
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Url
from maps.small_atlases import mapped_by
from sessions import NOW, crawl
from worlds import TOPICAL, TOPICAL_SEED, topic_of

WORDS = {"bees": '["bee", "honey", "hive"]', "ships": '["ship", "mast", "sail"]'}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All of one small web twice, judged for one topic each."""
    place = tmp_path_factory.mktemp("atlas")
    made = {}
    for name, words in WORDS.items():
        made[name] = collection(place / name, [TOPICAL_SEED], topic=f"keywords = {words}")
        crawl(made[name], TOPICAL, strategy="breadth-first")
    return made


def built(out: Path, *folders: Path, **wanted: object) -> BuiltAtlas:
    return build_atlas(folders, out, AtlasPlan(allow_private=True, **wanted), now=NOW)  # type: ignore[arg-type]


def on(topic: str) -> set[Url]:
    return {url for url in TOPICAL if topic_of(url) == topic}


def good_in(folder: Path) -> set[Url]:
    return {url for (url,) in rows(folder, "SELECT url FROM pages WHERE relevance > 0.8")}


def mapped(out: Path, topic: str) -> set[str]:
    with Atlas(out, allow_private=True) as atlas:
        return mapped_by(atlas.crawl_map(topic))


@pytest.mark.slow
def test_a_collection_is_of_one_topic_named_like_it(folders: dict[str, Path], tmp_path: Path) -> None:
    result = built(tmp_path / "a", folders["bees"])
    assert [facts.name for facts in result.topics] == ["bees"] == list(result.mapped_topics)
    good = good_in(folders["bees"])
    assert on("bees") <= good < set(TOPICAL)
    assert mapped(tmp_path / "a", "bees") <= good
    assert result.topics[0].sources == {"bees": len(good)}


def test_a_topic_may_be_named_and_its_map_is_extended_by_the_next_collection(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    built(tmp_path / "a", folders["bees"], topics=("everything",))
    result = built(tmp_path / "a", folders["ships"], topics=("everything",))
    assert result.mapped_topics == ("everything",)
    assert result.topics[0].pages == len(good_in(folders["bees"]) | good_in(folders["ships"]))


def test_collections_that_link_to_one_another_are_counted(folders: dict[str, Path], tmp_path: Path) -> None:
    result = built(tmp_path / "a", folders["bees"], folders["ships"])
    assert set(result.mapped_topics) == {"bees", "ships"}
    assert result.citations.counts.sum() > 0


def test_a_taxonomy_tells_the_topics_of_one_collection_apart(folders: dict[str, Path], tmp_path: Path) -> None:
    for topic in ("bees", "ships"):
        (tmp_path / "topics" / topic).mkdir(parents=True)
        for number, url in enumerate(sorted(on(topic))[:8]):
            (tmp_path / "topics" / topic / f"{number}.html").write_bytes(TOPICAL[url])
    seen: list[tuple[int, int]] = []
    result = build_atlas(
        [folders["bees"]],
        tmp_path / "a",
        AtlasPlan(topics=("ships",), related=("none",), allow_private=True),
        now=NOW,
        taxonomy=load_taxonomy(tmp_path / "topics"),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [facts.name for facts in result.topics] == ["ships"]
    assert on("ships") & mapped(tmp_path / "a", "ships") and not on("bees") & mapped(tmp_path / "a", "ships")
    assert seen == [(number, len(TOPICAL)) for number in range(1, len(TOPICAL) + 1)]


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"topics": ("auto",)}, "names no topic"),
        ({"topics": ("bees", "ships")}, "give --taxonomy"),
        ({"related": ("chess",)}, "Lycosa cannot know which pages are on 'chess'"),
    ],
)
def test_topics_that_nothing_tells_apart_are_refused(
    folders: dict[str, Path], tmp_path: Path, wanted: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        built(tmp_path / "a", folders["bees"], **wanted)
    assert not (tmp_path / "a").exists()


def test_two_collections_of_one_name_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two collections have the same name"):
        built(tmp_path / "a", folders["bees"], folders["bees"])


def test_collections_that_have_no_page_on_the_topic_make_no_map(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="chance above 1; give a lower --above"):
        built(tmp_path / "a", folders["bees"], above=1.0)
    empty = collection(tmp_path / "empty", [TOPICAL_SEED], topic='keywords = ["bee"]')
    crawl(empty, {}, strategy="best-first")
    with pytest.raises(UsageError, match="has no pages yet"):
        built(tmp_path / "a", empty)
    assert not (tmp_path / "a").exists()
