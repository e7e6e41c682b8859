import tempfile

import pytest

from screens.serving import Browser, folder_of_collections


@pytest.fixture(scope="package")
def root(tmp_path_factory):
    return folder_of_collections(tmp_path_factory.mktemp("screens"))


@pytest.fixture(scope="package")
def browser(root):
    return Browser(root)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """An empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
