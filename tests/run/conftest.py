"""Collections that the tests of a session begin with: a new one, and a crawled one."""

from pathlib import Path

import pytest

from crawling import collection, copied
from sessions import crawl
from worlds import TOPICAL, TOPICAL_SEED


@pytest.fixture
def bees(tmp_path: Path) -> Path:
    """A new collection."""
    return collection(tmp_path / "bees", [TOPICAL_SEED])


@pytest.fixture(scope="session")
def crawled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("session") / "bees", [TOPICAL_SEED])
    crawl(folder, TOPICAL, 12, strategy="best-first")
    return folder


@pytest.fixture
def crawled(crawled_once: Path, tmp_path: Path) -> Path:
    """A collection of twelve pages, crawled by best-first."""
    return copied(crawled_once, tmp_path / "bees")
