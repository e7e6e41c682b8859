"""Worlds of peers: what they have, like and ask for."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.lastfm import Lastfm
from lycosa_lab.worlds.peer_networks import PeerNetwork, RaggedArray, group_by_row, group_distinct
from lycosa_lab.worlds.registry import load_world, make_world, save_world

SMALL = {"consumers": 60, "providers": 140, "files": 900}


def test_rows_can_be_turned_and_turned_back() -> None:
    rows = group_by_row(np.array([2, 0, 2]), np.array([5, 1, 4]), 3)
    assert [rows.row(number).tolist() for number in range(3)] == [[1], [], [5, 4]]
    turned = rows.transposed(6)
    assert [turned.row(value).tolist() for value in (1, 4, 5)] == [[0], [2], [2]]
    assert turned.transposed(3).row(2).tolist() == [4, 5]
    assert group_distinct(np.array([0, 0, 0]), np.array([3, 1, 3]), 1, 4).row(0).tolist() == [1, 3]


@pytest.mark.parametrize("seed", [1, 2])
def test_everybody_asks_for_what_the_provider_has_and_both_like(seed: int) -> None:
    world = FileSharing(**SMALL, seed=seed)
    sharing, trace = world.sharing, world.sharing.trace
    assert (np.diff(trace.times) >= 0).all()
    asked = np.bincount(trace.consumers, minlength=len(world))
    assert asked[:60].min() >= 11 and not asked[60:].any()
    assert not sharing.libraries.lengths()[:60].any()  # consumers only ask
    category = sharing.categories_of(trace.items)
    assert category is not None
    for consumer, provider, item, liked in zip(
        trace.consumers.tolist(), trace.providers.tolist(), trace.items.tolist(), category.tolist(), strict=True
    ):
        assert item in sharing.libraries.row(provider)
        assert liked in sharing.interests.row(consumer) and liked in sharing.interests.row(provider)
    pairs = set(zip(trace.consumers.tolist(), trace.items.tolist(), strict=True))
    assert len(pairs) == len(trace)  # nobody asks twice


def test_files_of_ones_own_are_of_the_category_and_nobody_else_has_them() -> None:
    none, some = (FileSharing(**SMALL, own_files=share, seed=3).sharing for share in (0.0, 0.5))
    assert none.item_count == 900 and some.item_count > 2_000
    copies = some.holders().lengths()
    assert (copies == 1).sum() >= some.item_count - 900 and copies.max() > 5
    for provider in range(60, 200):
        liked = set(some.interests.row(provider).tolist())
        assert set(some.categories_of(some.libraries.row(provider)).tolist()) <= liked  # type: ignore[union-attr]


def test_those_who_ask_often_try_somebody_new_more_often() -> None:
    trace = FileSharing(consumers=3_000, providers=3_000, least_queries=1, queries=None, seed=2).sharing.trace
    asked = np.bincount(trace.consumers)
    known = np.bincount(np.unique(trace.consumers * 10_000 + trace.providers) // 10_000)
    seldom, often = (asked >= 5) & (asked < 10), (asked >= 10) & (asked < 30)
    new = (known - 1) / np.maximum(1, asked - 1)
    assert new[seldom].mean() < 0.3 < new[often].mean() < 0.5


def test_people_who_ask_in_one_go_ask_minutes_apart() -> None:
    def apart(sitting: float) -> float:
        trace = FileSharing(**SMALL, sitting=sitting, seed=3).sharing.trace
        return float(np.median([np.median(np.diff(trace.times[trace.consumers == who])) for who in range(60)]))

    assert apart(1.0) > 4 * 3_600 > 600 > apart(8.0)


def test_libraries_are_the_more_unequal_the_more_they_spread() -> None:
    sizes = [FileSharing(**SMALL, library_spread=spread, seed=3).sharing.libraries.lengths() for spread in (0.2, 2.0)]
    even, uneven = (np.quantile(each[60:], [0.1, 0.9]) for each in sizes)
    assert even[1] < 3 * even[0] and uneven[1] > 10 * uneven[0]


def test_files_follow_a_law_of_zipf() -> None:
    world = FileSharing(consumers=60, providers=2_000, files=20_000, own_files=0.0, skew=1.55, seed=1)
    copies = np.sort(world.sharing.holders().lengths())[::-1]
    assert copies[0] > 5 * copies[400] > 25 * copies[8_000] > 0


def test_the_same_seed_makes_the_same_world_and_another_seed_another() -> None:
    first, again, other = (FileSharing(**SMALL, seed=seed) for seed in (4, 4, 5))
    assert first.sharing.trace.items.tolist() == again.sharing.trace.items.tolist()
    assert first.sharing.trace.items.tolist() != other.sharing.trace.items.tolist()
    assert first.with_seed(5).sharing.trace.items.tolist() == other.sharing.trace.items.tolist()


def test_nobody_comes_back_where_that_is_turned_off() -> None:
    def repeated(repeats: float) -> float:
        trace = FileSharing(consumers=60, providers=2_000, seed=4, repeats=repeats).sharing.trace
        pairs = trace.consumers * 10_000 + trace.providers
        return 1.0 - len(np.unique(pairs)) / len(pairs)

    assert repeated(1.0) > 0.4 > 0.2 > repeated(0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"consumers": 0},
        {"files": 5},
        {"library": 0.5},
        {"repeats": 2.0},
        {"own_files": -0.1},
        {"sitting": 0.5},
        {"library_spread": 6},
        {"least_queries": 3, "queries": 2.0},
        {"providers": 2, "consumers": 1},
    ],
)
def test_a_world_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="file-sharing"):
        make_world("file-sharing", {key: str(value) for key, value in wrong.items()})


@pytest.fixture
def music(tmp_path: Path) -> Path:
    """Three people: 1 and 2 are friends, 3 is a friend of 2; each tagged something that another listens to."""
    listens = "userID\tartistID\tweight\n1\t10\t5\n1\t11\t5\n2\t12\t1\n3\t10\t3\n3\t13\t3\n4\t14\t1\n5\t14\t1\n"
    (tmp_path / "x-user_artists.dat.gz").write_bytes(gzip.compress(listens.encode()))
    (tmp_path / "user_friends.dat").write_text("userID\tfriendID\n1\t2\n2\t1\n2\t3\n3\t2\n4\t5\n")
    rows = [
        "1 12 7 1 4 2009",
        "2 10 7 1 4 2008",
        "2 10 8 1 4 2010",
        "3 12 9 1 1 2008",
        "1 10 7 2 2 2007",
        "1 99 7 1 1 2005",
    ]
    head = "userID\tartistID\ttagID\tday\tmonth\tyear\n"
    (tmp_path / "user_taggedartists.dat").write_text(head + "\n".join(row.replace(" ", "\t") for row in rows) + "\n")
    return tmp_path


def test_people_ask_for_what_they_tag_and_do_not_have_in_the_order_of_dates(music: Path) -> None:
    world = Lastfm(path=str(music), neighbours=2)
    trace = world.sharing.trace
    assert list(zip(trace.consumers.tolist(), trace.items.tolist(), strict=True)) == [(2, 2), (1, 0), (0, 2)]
    assert trace.providers.tolist()[0] == trace.providers.tolist()[2] == 1  # who alone listens to it
    assert trace.providers.tolist()[1] in (0, 2)
    assert {0, 2} <= set(world.links(1).tolist())
    assert world.sharing.interests.row(1).tolist() == [0, 1]


def test_music_that_cannot_be_read_is_refused_with_the_line(music: Path) -> None:
    with pytest.raises(UsageError, match="path=FOLDER"):
        Lastfm()
    with pytest.raises(UsageError, match=r"no file user_artists\.dat"):
        Lastfm(path=str(music / "none"))
    (music / "user_friends.dat").write_text("userID\tfriendID\n1\t2\n2\tx\n")
    with pytest.raises(UsageError, match=r"user_friends\.dat:3"):
        Lastfm(path=str(music))
    (music / "user_friends.dat").write_text("userID\tfriendID\n")
    with pytest.raises(UsageError, match="nothing in it"):
        Lastfm(path=str(music))


def test_peers_are_saved_and_loaded(tmp_path: Path) -> None:
    world = FileSharing(**SMALL, seed=2)
    save_world(world, tmp_path / "w")
    again = load_world(tmp_path / "w")
    assert isinstance(again, PeerNetwork)
    assert dict(again.facts) == dict(world.facts)
    assert again.sharing.trace.items.tolist() == world.sharing.trace.items.tolist()
    own, kept_items = world.sharing, again.sharing.trace.items
    assert np.array_equal(again.sharing.categories_of(kept_items), own.categories_of(kept_items))
    for rows, kept in (
        (world.sharing.libraries, again.sharing.libraries),
        (world.sharing.interests, again.sharing.interests),
    ):
        assert isinstance(kept, RaggedArray) and rows.values.tolist() == kept.values.tolist()
    (tmp_path / "w" / "sharing.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(UsageError, match="holds no peers"):
        load_world(tmp_path / "w")


@pytest.mark.parametrize("option", ["queries", "library", "sitting"])
def test_a_world_of_endless_sharing_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"{option}.* finite"):
        make_world("file-sharing", {"consumers": "10", "providers": "20", option: "inf"})
