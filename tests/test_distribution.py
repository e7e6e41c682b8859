"""Wheel and sdist: they build, install into an empty environment without a compiler, and work in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawling import PATIENCE

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def run(*words: object, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ended = subprocess.run(
        [*map(str, words)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert not check or ended.returncode == 0, ended.stdout + ended.stderr
    return ended


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, folder=out)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty environment into which the wheel was installed, nothing compiled."""
    home = tmp_path_factory.mktemp("empty") / "env"
    venv.create(home, with_pip=False)  # our pip does for it, and takes no seconds to be installed
    (wheel,) = built.glob("*.whl")
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        home / "bin" / "python",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--only-binary=:all:",
    )
    guide = (ROOT / "docs" / "guide" / "quick-start.md").read_text(encoding="utf-8")
    assert f"pip install '{wheel.name}[parquet]'\n" in guide
    ended = run(*pip, f"{wheel}[parquet]", folder=home, check=False)
    if ended.returncode:
        offline = re.search(
            "No matching distribution|Could not find a version|ConnectionError|NewConnection", ended.stderr
        )
        assert offline, ended.stderr
        pytest.skip("the libraries that Lycosa needs cannot be had here")
    return home / "bin"


def test_the_wheel_has_the_three_packages_and_their_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_the_sdist_holds_what_is_needed_to_build_and_test(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        "src/lycosa/__init__.py",
        "tests/conftest.py",
    } <= names
    assert not [name for name in names if name.startswith((".venv", "demo/", "dist/"))]


@pytest.fixture
def practice(installed: Path, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """An empty folder with what `lycosa world practice` writes, and where its web is."""
    words = [installed / "lycosa", "world", "practice", "--port", "0"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            server.stdout.readline()
            yield tmp_path, address
        finally:
            server.terminate()


def test_the_first_part_of_the_quick_start_works_from_the_wheel(installed: Path, practice: tuple[Path, str]) -> None:
    folder, address = practice
    guide = (ROOT / "docs" / "guide" / "quick-start.md").read_text(encoding="utf-8")
    assert "\n```\nlycosa world practice\n```\n" in guide
    commands = re.findall(r"^\$ (lycosa .+)$", guide, re.MULTILINE)
    wanted = [command for command in commands if command.split()[1] in ("new", "crawl", "search", "export", "rebuild")]
    assert {command.split()[1] for command in wanted} == {"new", "crawl", "search", "export", "rebuild"}
    for command in wanted:
        words = shlex.split(command.replace("127.0.0.1:8090", address).replace("--pages 200", "--pages 40"))
        if words[1] == "crawl" and "40" not in words:
            continue  # the longer ones, which go on with it
        run(installed / "lycosa", *words[1:], folder=folder)
    assert (folder / "bees.wacz").exists()


def test_it_does_not_overwrite_files_of_yours(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("https://example.org/\n", encoding="utf-8")
    ended = run(installed / "lycosa", "world", "practice", "--port", "0", folder=tmp_path, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "lycosa: there is a seeds.txt already; do this in an empty folder\n"
    assert (tmp_path / "seeds.txt").read_text(encoding="utf-8") == "https://example.org/\n"
