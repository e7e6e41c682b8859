import gzip
import os
import tarfile
from pathlib import Path

import pytest

from documents.small_webs import GARDEN, tar_of, write
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds import archives
from lycosa_lab.worlds.archives import gunzip, list_files, read_files, read_symlinks


def everything(name: str) -> bool:
    return True


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    return member


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.xz", ".tar.bz2"])
def test_a_folder_and_its_tar_hold_the_same_files(tmp_path: Path, suffix: str) -> None:
    folder = write(tmp_path / "garden", GARDEN)
    packed = tar_of(tmp_path / f"garden{suffix}", GARDEN)
    assert list_files(folder, everything) == list_files(packed, everything) == sorted(GARDEN)
    assert dict(read_files(folder, everything)) == dict(read_files(packed, everything))
    assert [name for name, _ in read_files(packed, lambda name: "bees" in name)] == [
        "bees/index.html",
        "bees/drones.html",
    ]


@pytest.mark.parametrize(
    "member",
    [
        special("../outside.html", tarfile.REGTYPE),
        special("a/../../outside.html", tarfile.REGTYPE),
        special("/etc/outside.html", tarfile.REGTYPE),
        special("a/link.html", tarfile.SYMTYPE, "../../outside.html"),
        special("link.html", tarfile.SYMTYPE, "/etc/passwd"),
        special("hard.html", tarfile.LNKTYPE, "../outside.html"),
        special("pipe.html", tarfile.FIFOTYPE),
        special("disk.html", tarfile.BLKTYPE),
    ],
    ids=lambda member: f"{member.name} {member.linkname}".strip(),
)
def test_a_member_that_leads_out_or_is_no_file_is_named(tmp_path: Path, member: tarfile.TarInfo) -> None:
    packed = tar_of(tmp_path / "bad.tar.gz", {"good.html": "good"}, member)
    for read in (lambda: list_files(packed, everything), lambda: list(read_files(packed, everything))):
        with pytest.raises(UsageError, match=r"bad.tar.gz, member ") as told:
            read()
        assert repr(member.name) in str(told.value)


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz", ".tar"])
def test_an_archive_that_is_cut_short_is_named(tmp_path: Path, suffix: str) -> None:
    whole = tar_of(tmp_path / f"whole{suffix}", {"page.html": os.urandom(50_000)})
    cut = tmp_path / f"cut{suffix}"
    cut.write_bytes(whole.read_bytes()[:30_000])
    with pytest.raises(UsageError, match=f"cut{suffix} is cut short or is no archive"):
        list(read_files(cut, everything))


def test_an_archive_with_a_damaged_header_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sparse.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("page.html")
        member.pax_headers = {"GNU.sparse.map": "x,y"}
        tar.addfile(member)
    with pytest.raises(UsageError, match=r"sparse.tar is cut short or is no archive"):
        list_files(path, everything)


def test_what_is_no_archive_and_what_is_not_there_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"page.html": "x", "false.tar.gz": "this was never packed"})
    with pytest.raises(UsageError, match=r"neither a folder nor a tar"):
        list_files(tmp_path / "page.html", everything)
    with pytest.raises(UsageError, match=r"cut short or is no archive"):
        list_files(tmp_path / "false.tar.gz", everything)
    with pytest.raises(UsageError, match=r"there is no folder or archive"):
        list_files(tmp_path / "nowhere.tar", everything)


def test_too_many_and_too_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "garden", GARDEN)
    packed = tar_of(tmp_path / "garden.tar", GARDEN)
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    monkeypatch.setattr(archives, "MAX_FILE_SIZE", 30)
    for source in (folder, packed):
        with pytest.raises(UsageError, match=r"more than 3 files"):
            list_files(source, everything)
        with pytest.raises(UsageError, match=r"index.html'? is larger"):
            list(read_files(source, everything))
    monkeypatch.setattr(archives, "MAX_FILE_SIZE", 10_000)
    monkeypatch.setattr(archives, "MAX_TOTAL_SIZE", 500)
    with pytest.raises(UsageError, match=r"name a smaller folder"):
        list(read_files(folder, everything))


def test_too_many_links_of_an_archive_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(4):
            link = tarfile.TarInfo(f"{number}.html")
            link.type, link.linkname = tarfile.SYMTYPE, "index.html"
            tar.addfile(link)
    assert len(read_symlinks(path)) == 4
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    with pytest.raises(UsageError, match=r"more than 3 files"):
        read_symlinks(path)


def test_links_inside_are_followed_by_name_and_links_out_of_a_folder_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "garden", GARDEN)
    (folder / "home.html").symlink_to("bees/index.html")
    (folder / "insects").symlink_to("bees")
    assert read_symlinks(folder) == {"home.html": "bees/index.html", "insects": "bees"}
    assert list_files(folder, everything) == sorted(GARDEN)
    packed = tar_of(tmp_path / "garden.tar", GARDEN, special("bees/home.html", tarfile.SYMTYPE, "../index.html"))
    assert read_symlinks(packed) == {"bees/home.html": "index.html"}
    (folder / "out.html").symlink_to("../../secret.html")
    with pytest.raises(UsageError, match=r"out.html is a link that leads out"):
        read_symlinks(folder)
    assert "out.html" not in read_symlinks(folder, refuse_outside=False)


def test_gzipped_files_are_bounded_and_must_be_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"page " * 1000)
    assert gunzip(packed, "a.gz") == b"page " * 1000
    with pytest.raises(UsageError, match=r"a.gz is cut short"):
        gunzip(packed[:-12], "a.gz")
    with pytest.raises(UsageError, match=r"a.gz is not a gzip file"):
        gunzip(b"page", "a.gz")
    monkeypatch.setattr(archives, "MAX_FILE_SIZE", 4000)
    with pytest.raises(UsageError, match=r"a.gz is larger"):
        gunzip(packed, "a.gz")
