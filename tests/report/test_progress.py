"""Progress says the same in every form, draws seldom, and shows strangers' text inert."""

import io
import re

import pytest
from rich.console import Console

from lycosa.cli.progress import Progress, ProgressScores, ProgressStats


class Seconds:
    """A clock that the test winds."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def console(*, terminal: bool, width: int = 100) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=width, record=True, color_system=None, legacy_windows=False
    )


WEIGHED = ProgressScores(mean_standing=0.61, recent_relevance=0.72, relevance=0.98, standing=0.55, utility=0.7)


def test_plain_lines_come_every_two_seconds_and_at_the_end():
    seconds, paper = Seconds(), console(terminal=False)
    with Progress(console=paper, monotonic=seconds) as progress:
        for page in range(1, 8):
            seconds.now += 0.5
            progress.update(ProgressStats(
                pages=page, target=10, highlighted=page // 2, pages_per_second=2.0, waiting=40 + page, errors=1,
                seconds_left=75.2, url=f"http://a.example/{page}",
            ))  # fmt: skip
    assert paper.file.getvalue() == (
        "4 of 10 pages, 50% relevant, 2.0 pages/s, 44 waiting, 1 error, 1:15 left; http://a.example/4\n"
        "7 of 10 pages, 43% relevant, 2.0 pages/s, 47 waiting, 1 error, 1:15 left; http://a.example/7\n"
    )


def test_plain_lines_leave_out_what_is_not_known():
    paper = console(terminal=False)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(ProgressStats(pages=0, highlighted=0))
    assert paper.file.getvalue() == "0 pages, 0.0 pages/s, 0 waiting, 0 errors\n"


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(("count", "is_told"), [(0, True), (12, True), (None, False)])
def test_with_an_access_log_it_tells_how_many_pages_came_through_readers(terminal, count, is_told):
    paper = console(terminal=terminal)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(ProgressStats(pages=20, highlighted=3, through_readers=count))
    assert (f"{count} through readers" in paper.file.getvalue()) == is_told


@pytest.mark.parametrize("terminal", [True, False])
def test_a_refresh_tells_requests_and_what_they_found(terminal):
    paper = console(terminal=terminal)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(
            ProgressStats(
                pages=20, target=50, highlighted=3, pages_per_second=2.0, unit="requests", notes=("3 changed", "1 new")
            )
        )
    said = paper.file.getvalue()
    for words in ("requests", "3 changed", "1 new", "2.0 requests/s"):
        assert words in said
    assert "relevant" not in said


def drawn(width: int, **figures) -> list[str]:
    """The lines of the live display, drawn once."""
    paper = console(terminal=True, width=width)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(ProgressStats(**figures))
    pictures = re.split(r"(?:\r|\x1b\[[\d;?]*[A-Za-z])+", paper.file.getvalue())
    return [line.rstrip() for line in next(filter(str.strip, pictures)).splitlines()]


BUSY = {
    "pages": 98765, "target": 200000, "highlighted": 98765, "pages_per_second": 178.4, "waiting": 1000000,
    "errors": 12345, "seconds_left": 37000, "title": "Honey and wax " * 20, "scores": WEIGHED,
}  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_figure_of_the_live_display_is_broken_in_two(width):
    lines = drawn(width, **BUSY)
    assert max(map(len, lines)) < width
    figures = ("98765 / 200000 pages", "10:16:40 left", "100% relevant", "importance 0.61", "178.4 pages/s")
    figures += ("1000000 waiting", "12345 errors", "latest pages 0.72")
    figures += ("found on: relevance 0.98, importance 0.55, score 0.70",)
    for words in figures:
        assert sum(words in line for line in lines) == 1, words


def test_the_live_display_has_a_row_for_each_kind_of_figure_at_80_columns():
    lines = drawn(80, **BUSY)
    assert lines[1].split()[-4:] == ["100%", "relevant", "importance", "0.61"]
    assert lines[2] == "178.4 pages/s  1000000 waiting  12345 errors"
    assert lines[3] == "latest pages 0.72  found on: relevance 0.98, importance 0.55, score 0.70"
    assert lines[4].startswith("Honey and wax") and len(lines) == 5


@pytest.mark.parametrize("width", [60, 80])
def test_the_figures_of_a_refresh_are_not_broken_in_two(width):
    notes = ("1234 changed", "5678 new", "9012 vanished")
    lines = drawn(width, pages=9999, target=10000, highlighted=1, unit="requests", notes=notes, seconds_left=4000)
    assert max(map(len, lines)) < width
    for words in (*notes, "9999 / 10000 requests", "0.0 requests/s"):
        assert sum(words in line for line in lines) == 1, words


def test_the_live_display_keeps_to_the_narrowest_terminal():
    lines = drawn(30, **BUSY)
    assert max(map(len, lines)) <= 30


def test_the_relevance_of_the_latest_pages_is_told_where_no_standing_is_known():
    shown = drawn(80, pages=5, highlighted=2, scores=ProgressScores(recent_relevance=0.5, is_estimate=True))
    assert "latest pages 0.50" in shown
    assert not any("importance" in line or "found on" in line for line in shown)
    paper = console(terminal=False)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(
            ProgressStats(pages=5, highlighted=2, scores=ProgressScores(recent_relevance=0.5, is_estimate=True))
        )
    assert paper.file.getvalue().startswith("5 pages, 40% relevant (estimate), latest pages 0.50, ")


def test_a_crawl_without_visits_prints_nothing():
    paper = console(terminal=False)
    with Progress(console=paper, monotonic=Seconds()):
        pass
    assert paper.file.getvalue() == ""


def test_the_live_display_shows_bar_figures_sparkline_and_last_page():
    seconds, paper = Seconds(), console(terminal=True)
    with Progress(console=paper, monotonic=seconds) as progress:
        for page in range(0, 101, 10):
            seconds.now += 1
            progress.update(ProgressStats(
                pages=page, target=200, highlighted=page // 2, pages_per_second=33.3, waiting=7, errors=2,
                seconds_left=3700, title="Honey and wax",
            ))  # fmt: skip
    shown = paper.export_text()
    for words in ("100 / 200 pages", "50% relevant", "33.3 pages/s", "7 waiting", "2 errors", "1:01:40 left", "▅▅▅▅"):
        assert words in shown
    assert "Honey and wax" in shown and "━" in shown


def test_the_live_display_draws_at_most_eight_times_a_second():
    seconds, paper = Seconds(), console(terminal=True)
    with Progress(console=paper, monotonic=seconds) as progress:
        for page in range(1, 1001):
            seconds.now += 0.001
            progress.update(ProgressStats(pages=page, highlighted=0))
    assert paper.file.getvalue().count(" pages/s") <= 10
    assert "1000 pages" in paper.file.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_titles_and_urls_cannot_steer_the_terminal_or_its_markup(terminal):
    nasty = "\x1b]0;owned\x07[bold red]x[/]\u202e\x9b2J\r\n"
    paper = console(terminal=terminal)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(ProgressStats(pages=1, highlighted=1, title=nasty, url=nasty))
    written = paper.file.getvalue()
    assert "[bold red]x[/]" in written
    assert not any(bad in written for bad in ("\x1b]", "\x07", "\u202e", "\x9b"))


@pytest.mark.parametrize("terminal", [True, False])
def test_the_silent_form_is_silent(terminal):
    paper = console(terminal=terminal)
    with Progress(mode="silent", console=paper) as progress:
        progress.update(ProgressStats(pages=1, highlighted=1, url="http://a.example/"))
    assert paper.file.getvalue() == ""


def test_progress_goes_to_standard_error(capsys):
    with Progress(mode="plain", monotonic=Seconds()) as progress:
        progress.update(ProgressStats(pages=1, highlighted=1))
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("1 page, 100% relevant")


def test_an_error_in_the_crawl_leaves_the_terminal_in_order():
    paper = console(terminal=True)
    with pytest.raises(RuntimeError), Progress(console=paper) as progress:
        progress.update(ProgressStats(pages=1, highlighted=1))
        raise RuntimeError
    assert paper.file.getvalue().rstrip("\n").endswith("\x1b[?25h")


def test_a_target_of_one_is_in_the_singular():
    for is_terminal in (False, True):
        paper = console(terminal=is_terminal)
        with Progress(console=paper) as progress:
            progress.update(ProgressStats(pages=1, target=1, highlighted=1))
        assert re.search("1 (of|/) 1 page(?!s)", paper.file.getvalue())
