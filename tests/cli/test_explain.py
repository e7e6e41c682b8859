"""What `lycosa explain` prints."""

import shlex

import pytest

from crawling import collection, done, lycosa
from fixtures.fixed_world import FixedWorld
from lycosa.cli.explain import _look_lines
from lycosa.collection.rows import LookRow
from lycosa_lab.worlds.server import WorldServer
from web.loopback import LoopbackServer, response
from worlds import html

HOME = "http://a.example/"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "words"),
    [
        (
            html("home", "Words of the hive " * 20, []).replace(
                b"</head>", b'<meta name="robots" content="noindex"></head>'
            ),
            [],
        ),
        (html("home", "These are English words about the bees and their hive. " * 9, []), ["--language", "de"]),
    ],
    ids=["noindex", "language"],
)
def test_suggested_commands_can_be_copied_whatever_the_folder_is_called(tmp_path, page, words):
    folder = collection(tmp_path / "my bees", [HOME])
    with LoopbackServer({"/": response(page)}) as server:
        lycosa("crawl", folder, "--resolve", server.everything[0], *words)  # fails, as no page is stored
        said = done("explain", folder, HOME).out
        suggested = said.partition("lycosa crawl")[2].partition(" keeps it")[0]
        assert shlex.split(suggested)[0] == str(folder)
        done("crawl", *shlex.split(suggested), "--resolve", server.everything[0])
    assert done("explain", folder, HOME).out.startswith(f"{HOME}: stored")


def test_one_look_is_one_time():
    look = LookRow(1, 0.0, "new", 200, digest=1, bytes=2, links=3, new_links=3, place=None)
    assert _look_lines([look])[0] == "  seen 1 time, 1 version:"


SEED, OLD, NEW, COPY = (f"{HOME}{path}" for path in ("", "old", "new", "copy"))
TEXT = " ".join(f"In hive {number} of the garden, bees make honey {number * 7}." for number in range(80))


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A crawl of a page that links to a redirect, and of two pages that are nearly the same."""
    folder = collection(tmp_path_factory.mktemp("moved") / "c", [SEED])
    world = FixedWorld(
        {
            SEED: html("Home", "Everything begins here.", [(OLD, "the hives"), (COPY, "a copy")]),
            NEW: html("Hives", f"{TEXT} First.", [HOME]),
            COPY: html("Hives", f"{TEXT} Second.", [HOME]),
        },
        redirects={OLD: NEW},
    )
    with WorldServer(world) as served:
        done("crawl", folder, "--concurrency", 1, "--resolve", served.resolve)
    return folder


def test_the_way_to_the_target_of_a_redirect_begins_at_the_seed(moved):
    said = done("explain", moved, NEW).out
    assert f"why: redirected from {OLD}, linked as “the hives”; " in said
    assert said.partition("path from a seed:\n")[2].startswith(f"    {SEED}\n    {OLD}\n  ")


def test_pages_that_are_nearly_the_same_are_not_called_copies(moved):
    said = [done("explain", moved, url).out for url in (NEW, COPY)]
    assert sum("  other pages are nearly the same; this is the most important of them\n" in each for each in said) == 1
    assert sum("  nearly the same as " in each for each in said) == 1
    assert not any("cop" in each.replace(COPY, "").replace("a copy", "") for each in said)


def test_the_report_names_the_link_to_a_page(moved):
    done("report", moved)
    report = (moved / "report.html").read_text(encoding="utf-8")
    assert f"linked as “a copy” from {SEED}; " in report
