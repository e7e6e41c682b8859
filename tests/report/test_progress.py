"""Progress says the same in every form, draws seldom, and shows strangers' text inert."""

import io

import pytest
from rich.console import Console

from lycosa.cli.progress import Progress


class Seconds:
    """A clock that the test winds."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def console(*, terminal: bool) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=100, record=True, color_system=None, legacy_windows=False
    )


def test_plain_lines_come_every_two_seconds_and_at_the_end():
    seconds, paper = Seconds(), console(terminal=False)
    with Progress(console=paper, monotonic=seconds) as progress:
        for page in range(1, 8):
            seconds.now += 0.5
            progress.update(
                pages=page, target=10, relevant=page // 2, pages_per_second=2.0, waiting=40 + page, errors=1,
                seconds_left=75.2, url=f"http://a.example/{page}",
            )  # fmt: skip
    assert paper.file.getvalue() == (
        "4 of 10 pages, 50% relevant, 2.0 pages/s, 44 waiting, 1 errors, 1:15 left; http://a.example/4\n"
        "7 of 10 pages, 43% relevant, 2.0 pages/s, 47 waiting, 1 errors, 1:15 left; http://a.example/7\n"
    )


def test_plain_lines_leave_out_what_is_not_known():
    paper = console(terminal=False)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(pages=0, relevant=0)
    assert paper.file.getvalue() == "0 pages, – relevant, 0.0 pages/s, 0 waiting, 0 errors\n"


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
            progress.update(
                pages=page, target=200, relevant=page // 2, pages_per_second=33.3, waiting=7, errors=2,
                seconds_left=3700, title="Honey and wax",
            )  # fmt: skip
    shown = paper.export_text()
    for words in ("100 / 200 pages", "harvest 50%", "33.3 pages/s", "7 waiting", "2 errors", "1:01:40 left", "▅▅▅▅"):
        assert words in shown
    assert "Honey and wax" in shown and "━" in shown


def test_the_live_display_draws_at_most_eight_times_a_second():
    seconds, paper = Seconds(), console(terminal=True)
    with Progress(console=paper, monotonic=seconds) as progress:
        for page in range(1, 1001):
            seconds.now += 0.001
            progress.update(pages=page, relevant=0)
    assert paper.file.getvalue().count(" pages/s") <= 10
    assert "1000 pages" in paper.file.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_titles_and_urls_cannot_steer_the_terminal_or_its_markup(terminal):
    nasty = "\x1b]0;owned\x07[bold red]x[/]\u202e\x9b2J\r\n"
    paper = console(terminal=terminal)
    with Progress(console=paper, monotonic=Seconds()) as progress:
        progress.update(pages=1, relevant=1, title=nasty, url=nasty)
    written = paper.file.getvalue()
    assert "[bold red]x[/]" in written
    assert not any(bad in written for bad in ("\x1b]", "\x07", "\u202e", "\x9b"))


@pytest.mark.parametrize("terminal", [True, False])
def test_the_silent_form_is_silent(terminal):
    paper = console(terminal=terminal)
    with Progress(form="silent", console=paper) as progress:
        progress.update(pages=1, relevant=1, url="http://a.example/")
    assert paper.file.getvalue() == ""


def test_progress_goes_to_standard_error(capsys):
    with Progress(form="plain", monotonic=Seconds()) as progress:
        progress.update(pages=1, relevant=1)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("1 pages, 100% relevant")


def test_an_error_in_the_crawl_leaves_the_terminal_in_order():
    paper = console(terminal=True)
    with pytest.raises(RuntimeError), Progress(console=paper) as progress:
        progress.update(pages=1, relevant=1)
        raise RuntimeError
    assert paper.file.getvalue().rstrip("\n").endswith("\x1b[?25h")
