"""Collections of somebody who means harm: an answer or one clear line for each command, in bounded time and memory."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from crawling import begin, done, end, listing, lycosa, most_memory, site, wait_until
from fixtures.fixed_world import FixedWorld
from fortress.conftest import MEMORY
from fortress.crafted import CRAFTED
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import LycosaError
from lycosa_lab.worlds.server import WorldServer
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.shared_collection import SharedCollection
from processes import Process

pytestmark = pytest.mark.slow
HOME = "http://a.example/"
MOST_MEMORY = 1 << 30  # bytes, of a process that holds some hundred megabytes when all is well
SECONDS = 90.0  # far more than any command takes; what hangs, hangs for ever


@pytest.fixture(scope="module")
def served() -> Iterator[WorldServer]:
    with WorldServer(FixedWorld(site("a.example", leaves=8), redirects={})) as server:
        yield server


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, served: WorldServer) -> Path:
    place = tmp_path_factory.mktemp("crafted")
    listing(place / "seeds.txt", [HOME])
    done("new", place / "c", "--topic", "honey bee hive", "--seeds", place / "seeds.txt")
    done("crawl", place / "c", "--pages", 5, "--delay", 0, "--resolve", served.resolve)
    done("label", place / "c", HOME, "--good")
    return place / "c"


@pytest.fixture
def crafted(whole: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The collection as somebody else would send it."""
    folder = Path(shutil.copytree(whole, tmp_path / "c"))
    (folder / ".id").unlink()
    CRAFTED[request.param](folder)
    return folder


def commands(folder: Path, served: WorldServer) -> list[list[object]]:
    web = ["--delay", 0, "--minutes", 1, "--resolve", served.resolve]
    return [
        ["show", folder],
        ["search", folder, "honey"],
        ["export", folder, "--out", "-"],
        ["explain", folder, HOME],
        ["cat", folder, HOME],
        ["pages", folder],
        ["report", folder, "--out", folder.with_name("report.html")],
        ["crawl", folder, "--pages", 7, *web],
        ["refresh", folder, "--budget", 3, "--delay", 0, "--resolve", served.resolve],
        ["label", folder, f"{HOME}1", "--bad"],
        ["forget", folder, f"{HOME}3"],
        ["rebuild", folder],
        ["show", folder, "--json"],
    ]


def assert_clear(code: int, err: str, what: object) -> None:
    assert "Traceback" not in err and "Error:" not in err.replace("lycosa: ", ""), (what, err)
    assert code in (0, 1, 2), (what, code, err)
    if code and not (code == 1 and "explain" in str(what)):  # which answers with 1 where a URL is unknown
        lines = [line for line in err.splitlines() if line.startswith("lycosa: ")]
        assert len(lines) == 1, (what, err)


def shared(folder: Path) -> None:
    """What `lycosa peer serve` does before it listens, and for a first query and a first request."""
    with open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder))
        for _ in content.pending_build(at_once=True) or ():
            pass
        content.find("honey", 5)
        content.fetch(HOME)


# One of each kind, in this process; `make fortress` runs all of them, each in a process of its own.
QUICK = [
    "pages is an endless view",
    "urls are blobs",
    "time is beyond all years",
    "file is a device",
    "candidates of nothing",
    "runs that refresh a list",
    "runs are not UTF-8",
    "state is tables",
    "a WARC file is a fifo",
    "lycosa.toml is a fifo",
    "model.json is deep",
    "recipe with code",
    "journal of a rebuild that has nothing",
]


@pytest.mark.parametrize("crafted", QUICK, indirect=True)
def test_a_crafted_collection_is_answered_or_refused_in_one_line(crafted, served):
    for command in commands(crafted, served):
        if command[0] in ("show", "export", "crawl", "forget", "rebuild"):
            said = lycosa(*command)
            assert_clear(said.code, said.err, command)


def test_there_are_crafted_collections_of_every_kind():
    assert len(CRAFTED) >= 200
    assert set(QUICK) <= set(CRAFTED)


@pytest.mark.fortress
@pytest.mark.parametrize("crafted", CRAFTED, indirect=True)
def test_every_crafted_collection_is_borne_in_bounded_time_and_memory(crafted, served, record_property):
    for command in commands(crafted, served):
        process = begin(*command)
        memory = _most_memory_until_the_end(process)
        record_property(MEMORY, memory)
        said = end(process)
        assert_clear(said.code, said.err, command)
        assert memory < MOST_MEMORY, command
    try:
        shared(crafted)
    except LycosaError as error:
        assert "\n" not in str(error)


def _most_memory_until_the_end(process: Process) -> int:
    most = 0

    def has_ended() -> bool:
        nonlocal most
        most = max(most, most_memory(process))
        return process.poll() is not None

    wait_until(partial(has_ended), process)
    return most
