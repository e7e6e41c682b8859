import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from documents.small_webs import MANUALS, page, write
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.debian_docs import DEFAULT_PACKAGES, DebianDocs, known_packages

JINJA, PYTHON = "http://jinja.palletsprojects.com/en/3.1.x/", "http://docs.python.org/3/"
BOTH = "python-jinja2-doc/python3.11-doc"


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    folder = write(tmp_path / "unpacked", MANUALS)
    root = folder / "python3.11-doc/usr/share/doc/python3.11/html"
    (root / "library/news.html.gz").write_bytes(gzip.compress(page("News", "", "os.html").encode()))
    (root / "contents.html").symlink_to("index.html")
    (root / "jquery.js").symlink_to("../../../../javascript/jquery.js")
    (folder / "python-jinja2-doc/usr/share/doc/python3-jinja2").mkdir()
    (folder / "python-jinja2-doc/usr/share/doc/python3-jinja2/html").symlink_to("../python-jinja2-doc/html")
    write(root, {"more.html": page("More", "", "contents.html", "../../python3-jinja2/html/api.html")})
    return folder


def targets(world: DebianDocs, url: str) -> list[str]:
    read = world.read(Url(url))
    assert read is not None
    return [link.target for link in read.links]


def test_packages_stand_on_their_sites_and_links_between_them_lead_there(unpacked: Path) -> None:
    world = DebianDocs(folder=str(unpacked), packages=BOTH)
    assert world.hosts == ["docs.python.org", "jinja.palletsprojects.com"]
    assert f"{PYTHON}library/os.html" in targets(world, f"{JINJA}index.html")
    assert f"{PYTHON}library/os.html" in targets(world, f"{JINJA}api.html")
    assert f"{JINJA}api.html" in targets(world, f"{PYTHON}index.html")
    assert f"{PYTHON}library/news.html" in targets(world, f"{PYTHON}library/os.html")
    assert targets(world, f"{PYTHON}library/news.html") == [f"{PYTHON}library/os.html"]
    assert targets(world, f"{PYTHON}more.html") == [f"{PYTHON}index.html", f"{JINJA}api.html"]
    assert "Straße und café" in (world.read(Url(f"{PYTHON}library/latin.html")) or pytest.fail()).text


def test_a_category_lists_written_pages_the_home_first(unpacked: Path) -> None:
    world = DebianDocs(folder=str(unpacked), packages=BOTH)
    assert [category.name for category in world.directory()] == [
        "python-lang/python3.11-doc",
        "web-dev/python-jinja2-doc",
    ]
    python, jinja = ([entry.url for entry in category.entries] for category in world.directory())
    assert jinja == [f"{JINJA}index.html", f"{JINJA}api.html"]
    assert python[:2] == [f"{PYTHON}index.html", f"{PYTHON}library/os.html"]
    assert world.topic(Url(f"{JINJA}genindex.html")) == "web-dev/python-jinja2-doc"


def test_a_home_page_may_be_a_link_to_a_page_of_another_name(tmp_path: Path) -> None:
    root = "phylip-doc/usr/share/doc/phylip/html"
    files = {f"{root}/doc/main.html": page("Main"), f"{root}/phylip.html": page("Phylip", "", "doc/main.html", "doc/")}
    folder = write(tmp_path, files)
    (folder / root / "index.html").symlink_to("phylip.html")
    world = DebianDocs(folder=str(folder), packages="phylip-doc")
    assert [entry.description for entry in world.directory()[0].entries] == [
        "Phylip. Phylip doc/main.html doc/",
        "Main. Main",
    ]


def test_packages_unpacked_into_one_folder_do_as_well(tmp_path: Path, unpacked: Path) -> None:
    one = tmp_path / "one"
    for package in unpacked.iterdir():
        shutil.copytree(package, one, symlinks=True, dirs_exist_ok=True)
    assert list(DebianDocs(folder=str(one), packages=BOTH).urls()) == list(
        DebianDocs(folder=str(unpacked), packages=BOTH).urls()
    )


def test_unknown_and_missing_packages_are_told(unpacked: Path) -> None:
    with pytest.raises(
        UsageError, match=r"does not know what 'emacs' documents; packages are separated by slashes.*sphinx-doc"
    ):
        DebianDocs(folder=str(unpacked), packages="emacs")
    with pytest.raises(UsageError, match=r"sphinx-doc is not unpacked in .*dpkg-deb -x"):
        DebianDocs(folder=str(unpacked), packages="sphinx-doc")


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_without_apt_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"apt-get is not on this machine, and .*lacks m4-doc; .*debian-docs:folder=FOLDER"
    ):
        DebianDocs(packages="m4-doc", cache=str(tmp_path / "cache"))


def test_a_download_that_fails_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "apt-get", "echo 'E: Unable to locate package m4-doc' >&2; exit 100")
    program(tmp_path / "bin", "dpkg-deb", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(UsageError, match=r"Unable to locate package m4-doc.*apt-get update"):
        DebianDocs(packages="m4-doc", cache=str(tmp_path / "cache"))
    program(tmp_path / "bin", "apt-get", "exit 0")
    with pytest.raises(UsageError, match=r"downloaded no m4-doc"):
        DebianDocs(packages="m4-doc", cache=str(tmp_path / "cache"))
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not on this machine")
def test_a_package_is_downloaded_once_into_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(
        tmp_path / "source",
        {"usr/share/doc/m4/index.html": page("M4", "", "Bugs.html"), "usr/share/doc/m4/Bugs.html": page("Bugs")},
    )
    write(
        source,
        {
            "DEBIAN/control": "Package: m4-doc\nVersion: 1\nArchitecture: all\n"
            "Maintainer: a <a@a.example>\nDescription: m4\n"
        },
    )
    (source / "DEBIAN").chmod(0o755)
    subprocess.run(["dpkg-deb", "-b", source, tmp_path / "m4-doc_1_all.deb"], check=True, capture_output=True)
    program(tmp_path / "bin", "apt-get", f"cp {tmp_path}/m4-doc_1_all.deb .; echo asked >> {tmp_path}/asked")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):
        assert len(DebianDocs(packages="m4-doc")) == 2
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert [path.name for path in (tmp_path / "cache/lycosa/debian-docs").iterdir()] == ["m4-doc"]


def test_the_table_of_sites_is_sound() -> None:
    table = known_packages()
    assert set(DEFAULT_PACKAGES) <= set(table)
    assert len({site.base for site in table.values()}) == len(table)
    for site in table.values():
        assert re.fullmatch(r"[a-z0-9.-]+", site.host)
        assert site.topic
        assert not site.root.startswith("/")
        spoken = site.base.removeprefix("http://")
        own = [re.match(pattern, spoken + "x.html") for pattern in site.patterns if not pattern.startswith("/")]
        assert any(own), f"{site.name}: no pattern means its own base"
