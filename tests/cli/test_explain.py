"""What `lycosa explain` prints."""

import shlex

import pytest

from crawling import collection, done, lycosa
from lycosa.cli.explain import _look_lines
from lycosa.collection.rows import LookRow
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
