"""What a user has at hand is enough to begin: URLs on the command line, host names, bookmarks, a contact said once."""

import pytest

from crawling import collection, done, lycosa, pages
from vocabulary.test_url_files import BOOKMARKS, OPML
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow


def page(name: str) -> bytes:
    return response(html(name, f"honey bee hive {' '.join(f'{name}{number}' for number in range(20))}"))


def test_a_collection_is_made_of_urls_and_host_names_alone(tmp_path):
    said = done(
        "new", tmp_path / "c", "--example", "hives.example/a", "--example", "honey bee hives and combs",
        "--seed", "http://bees.example/start", "--seed", "combs.example",
    )  # fmt: skip
    assert "'hives.example/a' is read as https://hives.example/a" in said.err
    assert (tmp_path / "c/seeds.txt").read_text() == "http://bees.example/start\nhttps://combs.example/\n"
    assert (tmp_path / "c/examples/good.txt").read_text() == "https://hives.example/a\nhoney bee hives and combs\n"


def test_bookmarks_and_opml_are_taken_wherever_a_file_of_urls_is(tmp_path):
    (tmp_path / "bookmarks.html").write_text(BOOKMARKS)
    (tmp_path / "feeds.opml").write_text(OPML)
    said = done(
        "new", tmp_path / "c", "--examples", tmp_path / "bookmarks.html", "--seeds", tmp_path / "feeds.opml",
        "--seed", "https://hives.example/",
    )  # fmt: skip
    assert f"{tmp_path / 'bookmarks.html'}: 2 entries are not pages" in said.err
    assert (tmp_path / "c/seeds.txt").read_text() == "https://hives.example/\nhttps://combs.example/\n"
    good = (tmp_path / "c/examples/good.txt").read_text()
    assert good == "https://hives.example/a?x=1&y=2\nhttp://combs.example/\n"
    assert lycosa("new", tmp_path / "d", "--seeds", tmp_path / "c").is_one_clear_line(2, "cannot read the seeds")
    assert lycosa("new", tmp_path / "d", "--seed", "word").is_one_clear_line(2, "seeds:1:", "write http")


def test_a_recipe_may_name_bookmarks_and_a_run_may_add_seeds(tmp_path):
    with LoopbackServer({"/": page("home"), "/a?x=1&y=2": page("a"), "/more": page("more")}) as server:
        folder = collection(tmp_path / "c", ["http://x.example/"])
        (folder / "seeds.txt").write_text(BOOKMARKS.replace("https", "http"))
        said = done("crawl", folder, "--resolve", server.everything[0], "--seed", "http://bees.example/more")
        again = lycosa("crawl", folder, "--resolve", server.everything[0], "--seed", "wax.example/more", "--minutes", 0)
    assert set(pages(folder)) == {
        "http://hives.example/a?x=1&y=2",
        "http://combs.example/",
        "http://bees.example/more",
    }
    assert "2 entries are not pages" in said.err
    assert "'wax.example/more' is read as https://wax.example/more" in again.err


def test_the_contact_said_once_is_told_to_every_host(tmp_path, monkeypatch):
    config = tmp_path / "config" / "lycosa"
    config.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    with LoopbackServer({"/": page("home")}) as server:
        at_home = f"www.python.org=127.0.0.1:{server.port}"
        folder = collection(tmp_path / "c", ["http://www.python.org/"])
        elsewhere = collection(tmp_path / "d", ["http://www.debian.org/"])
        refused = lycosa("crawl", elsewhere, "--resolve", at_home)
        assert refused.is_one_clear_line(2, "www.debian.org is a public host", "--contact", str(config / "config.toml"))
        (config / "config.toml").write_text('contact = "me@config.example"\n')
        done("crawl", folder, "--resolve", at_home)
        assert all(b"me@config.example" in head for head in server.requests)
        server.requests.clear()
        monkeypatch.setenv("LYCOSA_CONTACT", "me@environment.example")
        done("refresh", folder, "--budget", 1, "--resolve", at_home)
        assert server.requests and all(b"me@environment.example" in head for head in server.requests)
        server.requests.clear()
        done("refresh", folder, "--budget", 1, "--resolve", at_home, "--contact", "me@run.example")
        assert server.requests and all(b"me@run.example" in head for head in server.requests)
        (config / "config.toml").write_text("contact = 1\n")
        monkeypatch.delenv("LYCOSA_CONTACT")
        assert lycosa("crawl", folder, "--resolve", at_home).is_one_clear_line(2, str(config / "config.toml"))
