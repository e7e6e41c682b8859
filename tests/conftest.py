"""What all tests share: properties are never judged by the clock, and draw the same examples in every run.

`pytest --hypothesis-profile=random` draws others each time, and is how to look for examples that break a law.

A test carries the mark of the folder it stands in (`lab`, `peers`), so that `make check` can leave these out; a file or
a test outside of them marks itself, and so does whatever takes long (`slow`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
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


@pytest.fixture(autouse=True, scope="session")
def nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither settings nor tables of whoever runs the tests count in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LYCOSA_CONTACT", raising=False)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


def pytest_configure() -> None:
    gone = [folder for folder in MARK_OF_FOLDER if not (TESTS / folder).is_dir()]
    assert not gone, f"{gone}: no such folders of tests any more; say in {__file__} which mark theirs carry now"
