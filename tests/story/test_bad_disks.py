"""Folders that cannot be written, disks that are full, and two crawls at once: one line, and nothing lost."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from crawling import (
    apart,
    archived,
    begin,
    catalog,
    collection,
    done,
    end,
    kill,
    lycosa,
    pages,
    passes_warcio_check,
    rows,
    site,
    wait_until,
)
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from processes import Process, with_files_no_larger_than, without_the_rights_of_root

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=6, hosts=10, pages=400)


@pytest.fixture
def read_only(tmp_path):
    """How to start a process that must not write where permissions forbid it."""
    options = {"before": without_the_rights_of_root} if os.geteuid() == 0 else {}
    closed = tmp_path / "closed"
    closed.touch(0o444)
    if end(Process("import sys; open(sys.argv[1], 'w')", closed, **options)).code == 0:
        pytest.skip("nothing is forbidden to this user")
    return options


def locked_up(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def opened_up(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_read_only_collection_is_refused_in_one_line_and_can_still_be_looked_at(tmp_path, read_only):
    with WorldServer(WORLD) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page], topic='examples = "good.txt"')
        (folder / "good.txt").write_text("honey bees and their hives\n", encoding="utf-8")
        done("crawl", folder, "--pages", 20, "--resolve", served.resolve)
        url = pages(folder)[3]
        locked_up(folder)
        writing = (
            ["crawl", folder, "--pages", 40, "--resolve", served.resolve],
            ["label", folder, url, "--bad"],
            ["forget", folder, url],
            ["rebuild", folder],
            ["report", folder],
            ["import", folder, *(folder / "archive").glob("*.gz")],
            ["new", folder / "inside"],
        )
        for command in writing:
            assert apart(*command, **read_only).is_one_clear_line(1, "ermission"), command
        named = (
            ["export", folder, "--out", folder / "x.csv", "--format", "csv"],
            ["report", folder, "--out", folder / "r.html"],
            ["map", "build", folder, "--above", 0, "--out", folder / "atlas"],
            ["peer", "group", folder / "secret"],
        )
        for command in named:
            assert apart(*command, **read_only).is_one_clear_line(2, "ermission"), command
        for command in (["show", folder], ["search", folder, "the"], ["explain", folder, url], ["export", folder]):
            said = apart(*command, **read_only)
            assert said.code == 0, said.err
        opened_up(folder)
        done("crawl", folder, "--pages", 40, "--resolve", served.resolve)
    assert len(pages(folder)) == 40
    assert passes_warcio_check(folder)


def test_a_read_only_collection_that_was_never_crawled_is_refused_in_one_line(tmp_path, read_only):
    folder = collection(tmp_path / "c", ["http://a.example/"])
    locked_up(folder)
    said = apart("crawl", folder, "--resolve", "*=127.0.0.1:9", **read_only)
    assert said.is_one_clear_line(1, "ermission", "c")


@pytest.mark.parametrize("size", [40_000, 100_000, 400_000])
def test_a_full_disk_ends_the_crawl_in_one_line_and_loses_nothing(tmp_path, size):
    """No file may grow beyond a size, which is what a full disk does to archive, catalog and index alike."""
    with WorldServer(WORLD) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        command = ["crawl", folder, "--pages", 150, "--concurrency", 4, "--resolve", served.resolve]
        said = apart(*command, before=partial(with_files_no_larger_than, size))
        assert said.is_one_clear_line(1, "make room")
        done(*command)
        assert len(served.requests) - len(set(served.requests)) <= 4
    assert len(pages(folder)) == 150
    assert set(pages(folder)) <= set(archived(folder))
    assert passes_warcio_check(folder)


def test_a_disk_that_is_full_for_other_commands_too_ends_them_in_one_line(tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", mount], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this user may mount no small disk")
    try:
        with WorldServer(WORLD) as served:
            folder = collection(mount / "c", [WORLD.front_page])
            command = ["crawl", folder, "--pages", 300, "--resolve", served.resolve]
            assert apart(*command).is_one_clear_line(1, "make room")
            filler = mount / "filler"
            with pytest.raises(OSError, match="space"), filler.open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            assert apart(*command).is_one_clear_line(1, "make room")
            assert apart("report", folder, "--out", mount / "r.html").is_one_clear_line(1, "make room")
            filler.unlink()
            subprocess.run(["mount", "-o", "remount,size=60m", mount], check=True)
            assert apart("report", folder, "--out", "/dev/full").is_one_clear_line(1, "space", "make room")
            done(*command)
            assert len(pages(folder)) == 300
            assert set(pages(folder)) <= set(archived(folder))
            assert passes_warcio_check(folder)
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_second_crawl_of_the_same_collection_is_refused_and_the_first_goes_on(tmp_path):
    with WorldServer(WORLD, latency=0.05) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        first = begin("crawl", folder, "--pages", 300, "--concurrency", 1, "--resolve", served.resolve)
        try:
            wait_until(lambda: len(served.requests) > 3, first)
            for command in (
                ["crawl", folder, "--resolve", served.resolve],
                ["rebuild", folder],
                ["forget", folder, "nowhere.example"],
            ):
                assert lycosa(*command).is_one_clear_line(1, "another process is writing to ", str(first.pid)), command
            seen = len(served.requests)
            wait_until(lambda: len(served.requests) > seen, first)
            assert first.poll() is None
        finally:
            kill(first)
        done("crawl", folder, "--pages", 20, "--resolve", served.resolve)
        assert len(pages(folder)) == 20
        assert not (folder / "forgotten.txt").exists(), "a command that was refused has left its mark"


def test_a_damaged_catalog_is_named_with_the_way_out_and_the_way_out_works(tmp_path):
    with WorldServer(FixedWorld(site("a.example", leaves=12))) as served:
        folder = collection(tmp_path / "c", ["http://a.example/"])
        done("crawl", folder, "--pages", 6, "--resolve", served.resolve)
        before = rows(folder, "SELECT number, url, title, relevance, because FROM pages")
        with catalog(folder):
            pass
        for path in folder.glob("catalog.sqlite*"):
            path.write_bytes(b"not a database at all" * 500)
        for command in (
            ["show", folder],
            ["crawl", folder, "--resolve", served.resolve],
            ["explain", folder, "http://a.example/"],
        ):
            assert lycosa(*command).is_one_clear_line(1, "lycosa rebuild"), command
        done("rebuild", folder)
        assert rows(folder, "SELECT number, url, title, relevance, because FROM pages") == before
        done("crawl", folder, "--pages", 10, "--resolve", served.resolve)
        assert len(pages(folder)) == 10
