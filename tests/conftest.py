"""What all tests share: properties are never judged by the clock, and draw the same examples in every run.

`pytest --hypothesis-profile=random` draws others each time, and is how to look for examples that break a law.

A test carries the mark of the folder it stands in (`lab`, `peers`), so that `make check` can leave these out; a file or
a test outside of them marks itself, and so does whatever takes long (`slow`).
"""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy, as the command line does: they wait for each other

import pytest
from filelock import FileLock
from hypothesis import settings

TESTS = Path(__file__).parent
MARK_OF_FOLDER = {
    "documents": "lab",
    "fixtures": "lab",
    "graphs": "lab",
    "lab": "lab",
    "synthetic": "lab",
    "peers": "peers",
}

settings.register_profile("lycosa", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("lycosa")


@pytest.hookimpl(tryfirst=True)  # before pytest takes away what `-m` leaves out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if mark := MARK_OF_FOLDER.get(item.path.relative_to(TESTS).parts[0]):
            item.add_marker(mark)
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (-slow[item.path], item.path))  # long files first: the last to end shall be short ones


@pytest.fixture(autouse=True, scope="session")
def nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither settings nor tables of whoever runs the tests count in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LYCOSA_CONTACT", raising=False)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def compiled_kernel(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The kernel of simulated peers: in a new checkout one process compiles it, for a quarter of a minute, while the
    others wait; then these load what was compiled."""
    from lycosa_lab.peers.runs import warm_up

    with FileLock(tmp_path_factory.getbasetemp().parent / "kernel.lock"):
        warm_up()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A crawl is a ring of objects that holds megabytes; hundreds of them would wait for the collector."""
    if item.get_closest_marker("slow"):
        gc.collect()


def pytest_collection_finish() -> None:
    gc.freeze()  # what importing left is not looked at again each time


def pytest_configure(config: pytest.Config) -> None:
    if worker := getattr(config, "workerinput", None):
        _begin_elsewhere(config, int(worker["workerid"].removeprefix("gw")), int(worker["workercount"]))
    gone = [folder for folder in MARK_OF_FOLDER if not (TESTS / folder).is_dir()]
    assert not gone, f"{gone}: no such folders of tests any more; say in {__file__} which mark theirs carry now"


def _begin_elsewhere(config: pytest.Config, number: int, count: int) -> None:
    """Each of the processes that run all tests imports these from another place on, so that what takes longest in a new
    checkout, to compile them, is done once and not by every process."""
    if [Path(each).resolve() for each in config.args] == [TESTS]:
        parts = sorted(
            each for each in TESTS.iterdir() if each.name.startswith("test_") or any(each.rglob("test_*.py"))
        )
        first = len(parts) * number // count
        config.args = [str(each) for each in (*parts[first:], *parts[:first])]
