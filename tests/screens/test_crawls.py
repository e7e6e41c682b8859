"""Processes that the screens start: what is shown of them, and what they leave behind."""

import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from crawling import wait_until
from lycosa.screens import crawls as crawls_module
from lycosa.screens.crawls import Crawls
from lycosa.screens.overviews import CrawlFigures
from screens.serving import Browser


def crawls_that_run(code: str, processes: list) -> Crawls:
    """Crawls whose process is some Python code."""

    def launch(_: list[str], **options):
        processes.append(Popen([sys.executable, "-c", code], **{**options, "stdin": PIPE}))
        return processes[-1]

    return Crawls(launch=launch)


def test_a_crawl_that_has_reported_and_closed_its_socket_is_ending(root, temporary, monkeypatch):
    processes, reported = [], [CrawlFigures()]
    monkeypatch.setattr(crawls_module, "crawl_figures", lambda folder: reported[0])
    monkeypatch.setattr(crawls_module, "_CACHE_SECONDS", 0.0)
    crawls, folder = crawls_that_run("input()", processes), root / "bees"
    assert crawls.process_phase(folder) == "none"
    crawls.start(folder, "50")
    try:
        crawls.figures(folder)
        assert crawls.process_phase(folder) == "starting"
        reported[0] = CrawlFigures("running", pages=1)
        crawls.figures(folder)
        reported[0] = CrawlFigures()
        crawls.figures(folder)
        assert crawls.process_phase(folder) == "ending"
    finally:
        processes[0].communicate(b"\n")
    assert crawls.process_phase(folder) == "none"
    crawls.close()


def test_figures_asked_for_before_a_command_are_not_shown_after_it(root, monkeypatch):
    crawls, folder, asked = Crawls(), root / "bees", []

    def figures(_: Path) -> CrawlFigures:
        asked.append(None)
        if len(asked) > 1:
            return CrawlFigures("running")
        crawls.steer(folder, "resume")  # meanwhile, in another thread
        return CrawlFigures("paused")

    monkeypatch.setattr(crawls_module, "crawl_figures", figures)
    monkeypatch.setattr(crawls_module, "execute_command", lambda *_, **__: None)
    crawls.figures(folder)
    assert crawls.figures(folder)[0].phase == "running"


def test_the_last_line_of_a_long_output_is_shown(root, temporary):
    code = "import sys; print('x\\n' * 50_000); sys.exit('lycosa: the disk is full')"
    processes = []
    crawls = crawls_that_run(code, processes)
    crawls.start(root / "bees", "50")
    wait_until(lambda: processes[0].poll() is not None)
    assert crawls.failure_output(root / "bees") == "lycosa: the disk is full"
    crawls.close()
    assert list(temporary.iterdir()) == []


def test_a_process_that_cannot_be_launched_leaves_no_log(root, temporary):
    def launch(*_, **__):
        raise OSError("no more processes")

    with pytest.raises(OSError, match="no more processes"):
        Crawls(launch=launch).start(root / "bees", "50")
    assert list(temporary.iterdir()) == []


def test_a_log_that_windows_keeps_open_does_not_stop_the_screens_from_closing(root, temporary, monkeypatch):
    processes = []
    crawls = crawls_that_run("", processes)
    crawls.start(root / "bees", "50")
    processes[0].communicate()

    def unlink(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "the file is in use", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)
    crawls.close()
    assert not crawls.is_alive(root / "bees")


@pytest.mark.parametrize("phase", ["starting", "ending"])
def test_a_crawl_that_does_not_report_can_be_neither_started_nor_steered(root, monkeypatch, phase):
    monkeypatch.setattr(Crawls, "process_phase", lambda self, folder: phase)
    browser = Browser(root)
    crawl = browser.get("/c/bees/crawl").text
    assert f"{phase} …" in crawl
    assert 'name="action"' not in crawl
    assert f"{phase} …" in browser.get("/c/bees/refresh").text
