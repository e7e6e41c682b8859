"""A folder that somebody else has packed makes no command write, wait, listen or speak elsewhere."""

import os
import socket
from pathlib import Path

import pytest

from crawling import done, lycosa
from lycosa.recipe import load_recipe
from lycosa.run.control import CrawlRequest, ask
from lycosa.run.trust import ID_FILE, concerns, is_trusted, note_made_here, trust
from lycosa_peers.peer_folder import PeerFolder
from sharing import add_pages

PRECIOUS = "what the user has written\n"


@pytest.fixture
def foreign(tmp_path) -> Path:
    folder = add_pages(tmp_path / "foreign", {"http://bees.example/": ("Bees", "honey")})
    (folder / ID_FILE).unlink(missing_ok=True)
    return folder


@pytest.fixture
def precious(tmp_path) -> Path:
    path = tmp_path / "precious"
    path.write_text(PRECIOUS)
    return path


@pytest.mark.parametrize("command", ["show", "pages", "rebuild", "crawl", "report", "trust", "control"])
@pytest.mark.parametrize("name", [".lock", ".id", "journal.json"])
def test_a_link_to_a_file_of_the_user_leaves_it_as_it_is(foreign, precious, command, name):
    if name != "journal.json":
        (foreign / "journal.json").write_text('{"task": "rebuild", "stage": "installing"}')
    (foreign / name).unlink(missing_ok=True)
    (foreign / name).symlink_to(precious)
    said = lycosa(command, foreign, *(["undo"] if command == "control" else []))
    assert "Traceback" not in said.err
    assert precious.read_text() == PRECIOUS


@pytest.mark.parametrize("name", [".lock", ".id"])
def test_a_pipe_is_not_waited_for(foreign, name):
    (foreign / name).unlink(missing_ok=True)
    os.mkfifo(foreign / name)
    assert lycosa("rebuild", foreign).is_one_clear_line(1, name, "is no plain file")


def test_a_number_is_another_each_time_a_folder_is_trusted(foreign):
    (foreign / ID_FILE).write_text("0" * 32 + "\n")
    trust(foreign)
    first = (foreign / ID_FILE).read_text()
    trust(foreign)
    assert len({"0" * 32 + "\n", first, (foreign / ID_FILE).read_text()}) == 3
    assert is_trusted(foreign)


def test_what_is_trusted_cannot_be_said_in_another_way(foreign):
    recipe = foreign / "lycosa.toml"
    recipe.write_text('[requests.headers]\nA = "1\\nrequests.headers.B = 2"\n')
    trust(foreign)
    assert is_trusted(foreign)
    recipe.write_text('[requests.headers]\nA = "1"\nB = "2"\n')
    assert not is_trusted(foreign)


@pytest.mark.parametrize(
    "rule", ["/(?:a|a)*$/", "/(a|aa)+$/", "/a{2,}b/", "/" + "a?" * 20 + "a" * 20 + "/", r"/\w+ing/"]
)
def test_a_regular_expression_that_may_hang_needs_trust(foreign, rule):
    (foreign / "lycosa.toml").write_text(f"[topic]\nkeywords = ['{rule}']\n")
    assert len(concerns(foreign, load_recipe(foreign, to_read=True))) == 1


@pytest.mark.parametrize(
    "line", ["max_body = 1000000000000", "timeout = 1e6", "retries = 1000000", "concurrency = 100000"]
)
def test_what_costs_without_end_is_refused_whoever_wrote_it(foreign, line):
    (foreign / "lycosa.toml").write_text(f"[requests]\n{line}\n")
    assert lycosa("crawl", foreign).is_one_clear_line(2, line.split()[0])


def test_the_peer_of_somebody_else_is_not_taken_over(foreign):
    folder = foreign / "peer"
    folder.mkdir()
    (folder / "settings.json").write_text('{"listen": "0.0.0.0:7999", "at": null, "allow_private": true}')
    for words in (["search", foreign, "honey"], ["show", foreign]):
        assert lycosa("peer", *words).is_one_clear_line(1, "was not made on this machine", "lycosa trust")
    assert "peer/" in done("trust", foreign).out
    assert PeerFolder(foreign).read("settings.json") is not None


def test_what_a_peer_has_made_here_is_its_own(foreign):
    made = PeerFolder(foreign)
    made.write("pins.json", b"{}")
    assert PeerFolder(foreign).read("pins.json") == b"{}"


def test_a_crawl_is_asked_by_its_own_socket_alone(foreign, tmp_path):
    with socket.socket(socket.AF_UNIX) as other, socket.create_server(("127.0.0.1", 0)) as port:
        other.bind(str(tmp_path / "s"))
        other.listen()
        other.setblocking(False)
        port.setblocking(False)
        (foreign / "control.sock").symlink_to(tmp_path / "s")
        (foreign / "control.json").write_text(f'{{"port": {port.getsockname()[1]}, "token": "x"}}')
        assert ask(foreign, CrawlRequest("status")) is None
        for listener in (other, port):
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_what_a_folder_says_does_not_steer_the_terminal(foreign):
    note_made_here(foreign)
    (foreign / "steering.txt").write_text("block evil.example\x1b[2J\n")
    said = lycosa("control", foreign, "undo")
    assert "\x1b" not in said.out + said.err
    (foreign / "lycosa.toml").write_text('seeds = "nowhere\\u001b[2J.txt"\n')
    said = lycosa("crawl", foreign)
    assert "nowhere" in said.err
    assert "\x1b" not in said.err
