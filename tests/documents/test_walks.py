"""Walks through an encyclopaedia: who read what, when, and what is said of files that tell no walks."""

import gzip
from pathlib import Path

import pytest

from documents import small_webs
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.documents import DocumentWorld
from lycosa_lab.worlds.registry import load_world, save_world
from lycosa_lab.worlds.wikipedia_schools import WikipediaSchools, article_name, read_walks

BEE, SHIP, SEA = (Url(f"http://e.example/{name}.htm") for name in ("Bee", "Ship", "Sea"))
ARTICLES = {"Bee_(insect)": BEE, "Ship": SHIP, "Sea": SEA}
LINES = (
    "# FORMAT: person time seconds path target type\n\n"
    "bob\t2000\t90\tShip;<;Sea;Bee_%28insect%29\tFlower\ttimeout\n"
    "ann\t1000\t20\tBee_%2528insect%2529;Nowhere\tShip\trestart\n"
    "bob\t500\t10\tSea\tShip\trestart\n"
)


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["walks.tsv", "walks.tsv.gz"])
def test_walks_are_accesses_in_the_order_of_time(tmp_path: Path, name: str) -> None:
    accesses = read_walks(written(tmp_path / name, LINES), ARTICLES)
    assert [(access.user, access.url, access.at) for access in accesses] == [
        (0, SEA, 500.0),
        (1, BEE, 1000.0),
        (0, SHIP, 2000.0),
        (0, SEA, 2030.0),
        (0, BEE, 2060.0),
    ]


def test_names_are_plain_however_often_they_were_escaped() -> None:
    assert article_name("Bee_%2528insect%2529") == article_name("Bee_%28insect%29") == article_name("Bee (insect)")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("bob\tyesterday\t90\tShip\n", "line 1 is no walk"),
        ("bob\t1000\n", "line 1 is no walk"),
        ("bob\tnan\t90\tShip\n", "cannot begin at nan"),
        ("bob\t1000\t-5\tShip\n", "take -5 seconds"),
        ("bob\t1000\t90\tNowhere\n", "no walk leads through an article"),
        ("", "no walk leads through an article"),
    ],
)
def test_what_is_no_walk_is_told(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_walks(written(tmp_path / "walks.tsv", line), ARTICLES)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_walks(tmp_path / "missing.tsv", ARTICLES)
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(gzip.compress(LINES.encode())[:-9])
    with pytest.raises(UsageError, match="cannot be read"):
        read_walks(cut, ARTICLES)
    binary = tmp_path / "binary.tsv"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        read_walks(binary, ARTICLES)


def test_readers_stay_with_a_world_that_is_saved(tmp_path: Path) -> None:
    archive = small_webs.tar_of(tmp_path / "schools.tar.xz", small_webs.SCHOOLS)
    world = WikipediaSchools(path=str(archive), walks=str(written(tmp_path / "walks.tsv", LINES)))
    assert [access.url.rpartition("/")[2] for access in world.accesses()] == [
        "Bee_%2528insect%2529.htm",
        "Ship.htm",
        "Bee_%2528insect%2529.htm",
    ]
    assert all(access.url in world for access in world.accesses())
    save_world(world, tmp_path / "saved")
    saved = load_world(tmp_path / "saved")
    assert isinstance(saved, DocumentWorld)
    assert saved.accesses() == world.accesses()
    assert saved.facts == world.facts
    assert WikipediaSchools(path=str(archive)).accesses() == ()
