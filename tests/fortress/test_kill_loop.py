"""Every command that writes, killed anywhere: nothing is lost or doubled, and what is forgotten stays forgotten."""

import gzip
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from crawling import apart, archived, archives, begin, done, end, listing, lycosa, pages, passes_warcio_check, site
from fixtures.fixed_world import FixedWorld
from fortress import killing
from lycosa_lab.worlds.server import WorldServer
from worlds import html

pytestmark = pytest.mark.slow

SECRET = "http://secret.example/"
HOME = "http://a.example/"
TRACES = ("secret.example", "Zanzibar", "quixotry", "petrichor", "gargantuan")
OWN_FILES = ("lycosa.toml", "seeds.txt", "good.txt")
WITHOUT_END = 1 << 60


def world() -> FixedWorld:
    """Two sites; one has a secret: in titles, texts, anchors, and the queries of links, to others too."""
    made = site("a.example", leaves=12)
    links = [
        ("http://a.example/3", "petrichor"),
        (f"{SECRET}deep", "quixotry"),
        ("http://other.example/?q=Zanzibar", "petrichor"),
    ]
    made[SECRET] = html("Zanzibar", "honey bee hive petrichor", links)
    made[f"{SECRET}deep"] = html(
        "Zanzibar deep",
        "honey quixotry hive",
        [("http://a.example/5", "Zanzibar"), (f"{SECRET}?q=gargantuan", "quixotry")],
    )
    return FixedWorld(made, redirects={f"{SECRET}old": SECRET})


@pytest.fixture(scope="module")
def served() -> Iterator[WorldServer]:
    with WorldServer(world()) as server:
        yield server


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, served: WorldServer) -> Path:
    """A collection that was crawled, labelled, refreshed and crawled on."""
    place = tmp_path_factory.mktemp("kills")
    seeds = listing(place / "seeds.txt", [HOME, SECRET, f"{SECRET}old"])
    done("new", place / "c", "--topic", "honey bee hive", "--seeds", seeds)
    web = ["--delay", 0, "--resolve", served.resolve]
    done("crawl", place / "c", "--pages", 8, "--exclude-host", "other.example", *web)
    done("label", place / "c", f"{SECRET}deep", "--good")
    done("refresh", place / "c", "--budget", 4, *web)
    done("crawl", place / "c", "--pages", 10, "--exclude-host", "other.example", *web)
    done("report", place / "c")
    shutil.copy(archives(place / "c")[0], place / "copy.warc.gz")
    done("map", "build", place / "c", "--for", "hives", "--out", place / "atlas")
    assert {SECRET, f"{SECRET}deep"} <= set(pages(place / "c"))
    return place / "c"


def commands(folder: Path, served: WorldServer) -> dict[str, list[object]]:
    web = ["--delay", 0, "--resolve", served.resolve]
    return {
        "forget": ["forget", folder, "secret.example"],
        "rebuild": ["rebuild", folder],
        "crawl": ["crawl", folder, "--pages", 13, *web],
        "refresh": ["refresh", folder, "--budget", 6, *web],
        "label": ["label", folder, f"{HOME}2", "--bad"],
        "import": ["import", folder, folder.with_name("copy.warc.gz")],
        "control": ["control", folder, "block", "b.example"],
        "export": ["export", folder, "--out", folder.with_name("out.csv"), "--format", "csv"],
        "wacz": ["export", folder, "--format", "wacz", "--out", folder.with_name("out.wacz")],
        "report": ["report", folder],
        "map": ["map", "build", folder, "--for", "bees", "--out", folder.with_name("atlas")],
        "new": ["new", folder.with_name("another"), "--topic", "bees", "--seed", HOME],
        "trust": ["trust", folder],
    }


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that lies in a folder, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in OWN_FILES:
            data = path.read_bytes()
            yield path.name, gzip.decompress(data) if path.suffix == ".gz" else data


def traces(folder: Path) -> list[tuple[str, str]]:
    return [(name, word) for name, data in contents(folder) for word in TRACES if word.lower().encode() in data.lower()]


def assert_whole(folder: Path, before: set[str]) -> None:
    """Nothing of what there was is lost or there twice, other programs find nothing wrong, and nothing is left over."""
    listed = Counter(pages(folder))
    assert before <= set(listed) and set(listed.values()) == {1}
    assert set(listed) <= set(archived(folder))
    assert passes_warcio_check(folder)
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        twice = "SELECT url FROM fetches WHERE settled AND NOT again GROUP BY url HAVING count(*) > 1"
        assert connection.execute(twice).fetchall() == []
    left_over = [path.name for path in folder.rglob("*") if path.name.endswith(".new") or "rebuilt" in path.name]
    assert left_over == []
    assert not (folder / "journal.json").exists()
    assert done("search", folder, "honey", "--json").json


def kill_and_check(base: Path, place: Path, served: WorldServer, name: str, kill: Callable[[], None]) -> None:
    """Kills a command, looks at what is left, gives it once more, and looks again."""
    folder = Path(shutil.copytree(base, place / "c"))
    for beside in ("copy.warc.gz", "atlas"):
        shutil.copy(base.with_name(beside), place)
    before = set(pages(folder))
    command = commands(folder, served)[name]
    end(begin(*command, before=kill))
    shown = done("show", folder, "--json").json  # the next command, whichever it is
    was_forgotten = (folder / "forgotten.txt").exists()
    if was_forgotten:
        assert traces(folder) == []
        before = {url for url in before if "secret" not in url}
    assert shown["pages"] >= len(before)
    if name == "map":
        topics = {each["topic"] for each in done("map", "show", place / "atlas", "--json").json["topics"]}
        assert topics in ({"hives"}, {"hives", "bees"})  # as it was, or as it shall be
    if name == "new" and (place / "another").exists():
        shutil.rmtree(place / "another")  # nothing was in it yet
    said = lycosa(*command)
    assert said.code == 0, said.err
    if name == "forget":
        before = {url for url in before if "secret" not in url}
        assert traces(folder) == []
        done("crawl", folder, "--pages", 12, "--delay", 0, "--resolve", served.resolve)
        assert traces(folder) == []
    assert_whole(folder, before)


def changes(base: Path, place: Path, served: WorldServer, name: str) -> int:
    """How often a command changes something on the disk when nobody kills it."""
    folder = Path(shutil.copytree(base, place / "counted"))
    for beside in ("copy.warc.gz", "atlas"):
        shutil.copy(base.with_name(beside), place)
    count_file = listing(place / "count", ["0" * 9])
    said = apart(*commands(folder, served)[name], before=killing.at_change(WITHOUT_END, count_file))
    assert said.code == 0, said.err
    return int(count_file.read_text().split()[0])


# Where kills were once fatal, and one of each other command; `make fortress` kills three hundred times.
QUICK = [
    *(("forget", share) for share in (0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.98)),
    *(("rebuild", share) for share in (0.1, 0.5, 0.8, 0.9, 0.95, 1.0)),
    *((name, 0.7) for name in ("crawl", "refresh", "label", "import", "control", "export", "new")),
    ("map", 0.9),
]


@pytest.fixture(scope="module")
def how_often(base: Path, tmp_path_factory: pytest.TempPathFactory, served: WorldServer) -> Callable[[str], int]:
    known: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in known:
            known[name] = changes(base, tmp_path_factory.mktemp("counts"), served, name)
        return known[name]

    return of


@pytest.mark.parametrize(("name", "share"), QUICK)
def test_a_command_killed_on_its_way_loses_nothing(base, tmp_path, served, how_often, name, share):
    number = max(1, round(share * how_often(name)))
    kill_and_check(base, tmp_path, served, name, killing.at_change(number))


@pytest.mark.parametrize("share", [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0])
def test_an_import_of_a_log_that_is_killed_can_be_repeated(tmp_path, share):
    lines = [f'1.2.3.{n % 9} - - [10/Oct/2025:13:55:{n} +0000] "GET /{n} HTTP/1.1" 200 99' for n in range(10, 50)]
    access = listing(tmp_path / "access", lines)

    def command(name: str) -> list[object]:
        return ["logs", "import", access, "--into", tmp_path / name, "--site", HOME]

    count_file = listing(tmp_path / "count", ["0" * 9])
    said = apart(*command("whole"), before=killing.at_change(WITHOUT_END, count_file))
    assert said.code == 0, said.err
    number = max(1, round(share * int(count_file.read_text().split()[0])))
    end(begin(*command("killed"), before=killing.at_change(number)))
    done(*command("killed"))
    whole, killed = (done("logs", "show", tmp_path / name, "--json").json for name in ("whole", "killed"))
    assert (killed["lines"], killed["accesses"], killed["users"]) == (40, whole["accesses"], 9)


@pytest.mark.fortress
@pytest.mark.parametrize("seed", range(300))
def test_every_command_killed_anywhere_loses_nothing(base, tmp_path, served, how_often, seed):
    chance = Random(seed)
    names = list(commands(base, served))
    name = names[seed % len(names)] if seed % 3 else chance.choice(["forget", "rebuild", "crawl", "refresh"])
    if seed % 4 == 0:
        kill = killing.after(chance.uniform(0.001, 0.9))
    else:
        kill = killing.at_change(chance.randint(1, how_often(name)))
    kill_and_check(base, tmp_path, served, name, kill)
