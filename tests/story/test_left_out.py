"""Nothing vanishes unexplained: what a crawl leaves out is counted, explained, and named with what changes it."""

from pathlib import Path
from typing import Any

import pytest

from crawling import Said, collection, done, lycosa, outcomes, pages, skipped
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

HOME = "http://a.example/"
LISTED = " ".join(f"word{number}" for number in range(400))


def page(name: str, links: list[Any] = [], text: str = "") -> bytes:  # noqa: B006
    return html(name, text or f"honey {' '.join(f'{name}{number}' for number in range(30))}", links)


def with_head(body: bytes, head: str) -> bytes:
    return body.replace(b"</head>", head.encode() + b"</head>")


NOINDEX = '<meta name="robots" content="noindex">'
DEUTSCH = "Die Bienen fliegen jeden Morgen aus dem Stock und sammeln den Honig, den wir im Winter mit Brot essen. " * 3
AWKWARD = {
    "/": response(page("home", ["/private", "/paper.pdf", "/app", "/long", "/many", "/old", "/key", "/list1"])),
    "/private": response(with_head(page("private", ["/behind"]), NOINDEX)),
    "/behind": response(page("behind")),
    "/paper.pdf": response(b"%PDF-1.4", Content_Type="application/pdf"),
    "/app": response(b'<title>App</title><div id="root"></div><script src="/app.js"></script>'),
    "/long": response(page("long", text="honey " * 300_000)),
    "/many": response(b"".join(b'<a href="/l%d" rel=nofollow>x</a>' % n for n in range(5_200))),
    "/old": response(b"", status="302 Found", Location="/new"),
    "/new": response(page("new")),
    "/key": response(b"no", status="401 Unauthorized"),
    "/list1": response(page("list", ["/list2", "/entry1"], text=f"{LISTED} page one")),
    "/list2": response(page("list", ["/list3", "/entry2"], text=f"{LISTED} page two")),
    "/list3": response(page("list", ["/entry3"], text=f"{LISTED} page three")),
    "/entry1": response(page("entry")),
    "/entry2": response(page("second")),
    "/entry3": response(page("third", [("/copy", "next")])),
    "/copy": response(page("third", [("/only-from-a-copy", "next")])),
    "/only-from-a-copy": response(page("lonely")),
}


def crawled(folder: Path, server: LoopbackServer, *words: object) -> Said:
    return done("crawl", folder, "--resolve", server.everything[0], *words)


@pytest.fixture(scope="module")
def awkward(tmp_path_factory) -> tuple[Path, Said]:
    folder = collection(tmp_path_factory.mktemp("awkward") / "c", [HOME])
    with LoopbackServer(AWKWARD) as server:
        return folder, crawled(folder, server)


def explained(folder: Path, path: str) -> str:
    return done("explain", folder, HOME + path).out


def test_the_end_of_a_crawl_and_show_count_what_was_left_out_and_say_what_changes_it(awkward):
    folder, said = awkward
    for line in (
        "1 page not kept, as it asks not to be (noindex); --keep-noindex",
        "1 file not kept, as not HTML (PDF 1)",
        "1 page truncated at 1,000,000 bytes",
        "200 links of 1 page not read",
        "1 page with scripts and hardly any text",
        "1 page with the text of another",
    ):
        assert f"left out: {line}" in said.err
        assert line in done("show", folder).out
    assert "skipped       nofollow 5000" in done("show", folder).out
    shown = done("show", folder, "--json").json
    assert shown["skipped"]["nofollow"] == 5_000
    found = shown["left_out"]
    assert found["noindex"] == found["other types"] == found["truncated"] == found["needs JavaScript"] == 1
    assert found["links beyond the cap"] == 200
    done("report", folder)
    assert "--keep-noindex" in (folder / "report.html").read_text(encoding="utf-8")


def test_every_url_that_was_left_out_is_explained(awkward):
    folder, _ = awkward
    assert "not kept: it asks not to be kept (noindex); lycosa crawl" in explained(folder, "private")
    assert "not HTML: application/pdf" in explained(folder, "paper.pdf")
    assert "JavaScript" in explained(folder, "app")
    assert "limit: max_body" in explained(folder, "long")
    assert "200 were left out" in explained(folder, "many")
    assert f"moved (302) to {HOME}new" in explained(folder, "old")
    assert "denied (401)" in explained(folder, "key")
    assert "has the same text as" in explained(folder, "copy")
    assert f"skipped: on a copy of {HOME}entry3" in explained(folder, "only-from-a-copy")
    unknown = lycosa("explain", folder, HOME + "nowhere")
    assert unknown.code == 1
    assert "1 page was truncated, 1 page has more links than are read, 1 page needs JavaScript" in unknown.out


def test_pages_of_a_long_list_are_no_dead_ends(awkward):
    folder, _ = awkward
    assert {HOME + path for path in ("list1", "list2", "list3", "entry1", "entry2", "entry3")} <= set(pages(folder))
    assert "nearly the same as" in explained(folder, "list2")
    assert skipped(folder)[HOME + "only-from-a-copy"].startswith("unfollowed")


def test_copies_are_followed_where_the_recipe_says_so(tmp_path):
    folder = collection(tmp_path / "c", [HOME], rest="[traps]\nfollow_copies = true\n")
    with LoopbackServer(AWKWARD) as server:
        crawled(folder, server)
    assert HOME + "only-from-a-copy" in pages(folder)


def test_pages_that_ask_not_to_be_kept_are_kept_where_the_user_wants_it(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer(AWKWARD) as server:
        crawled(folder, server, "--keep-noindex")
        assert HOME + "private" in pages(folder)
        done("refresh", folder, "--budget", 40, "--resolve", server.everything[0], "--delay", 0)
    assert done("explain", folder, HOME + "private").out.startswith(f"{HOME}private: stored")
    done("rebuild", folder)
    assert HOME + "private" in pages(folder)


def test_a_seed_is_followed_whatever_its_language(tmp_path):
    routes = {
        "/": response(page("front", ["/de", "/en"], text="This is the front page of the hive, in English words. " * 5)),
        "/de": response(page("bienen", text=DEUTSCH).replace(b'lang="en"', b'lang="de"')),
        "/en": response(
            page("bees", ["/further"], text="Another page about the bees and their honey, in English. " * 4)
        ),
        "/further": response(page("further")),
    }
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer(routes) as server:
        said = crawled(folder, server, "--language", "de")
    assert pages(folder) == [HOME + "de"]
    assert "left out: 2 pages not kept: in another language (en 2)" in said.err
    assert "its language is en; lycosa crawl" in explained(folder, "")
    assert "skipped: on a page in language en" in explained(folder, "further")
    assert HOME + "further" not in outcomes(folder)


def test_limits_that_flags_gave_and_the_next_run_has_not_are_told(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer(AWKWARD) as server:
        crawled(folder, server, "--include-host", "a.example", "--exclude-url", "*/list*", "--pages", 3)
        said = crawled(folder, server, "--include-host", "a.example", "--pages", 4)
        assert "The last run's limits (--exclude-url '*/list*') do not apply now" in said.err
        assert "do not apply now" not in crawled(folder, server, "--pages", 5, "--include-host", "a.example").err


# ------------------------------------------------------------ a run that gets nothing


def test_pages_left_out_by_an_earlier_run_are_kept_without_another_request(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer(AWKWARD) as server:
        crawled(folder, server)
        asked = server.paths().count("/private")
        said = crawled(folder, server, "--keep-noindex")
        assert server.paths().count("/private") == asked == 1
    assert "1 page kept now that earlier runs left out (noindex)" in said.err
    assert HOME + "private" in pages(folder)
    done("rebuild", folder)
    assert HOME + "private" in pages(folder)


@pytest.mark.parametrize("later", [["--language", "en"], ["--language", "de", "--language", "en"], []])
def test_pages_left_out_for_their_language_are_kept_by_a_run_that_admits_it(tmp_path, later):
    english = "This is another page of the hive, in English words that everybody knows. " * 5
    routes = {
        "/": response(page("bienen", ["/bees"], text=DEUTSCH).replace(b'lang="en"', b'lang="de"')),
        "/bees": response(page("bees", ["/further"], text=english)),
        "/further": response(page("further", text=f"{english} Further along. " * 2)),
    }
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer(routes) as server:
        crawled(folder, server, "--language", "de")
        assert pages(folder) == [HOME]
        said = crawled(folder, server, *later)
        assert server.paths().count("/bees") == 1
    assert "1 page kept now that earlier runs left out (language)" in said.err
    assert set(pages(folder)) == {HOME, HOME + "bees", HOME + "further"}
    done("rebuild", folder)
    assert HOME + "bees" in pages(folder)


@pytest.mark.parametrize(
    ("routes", "words", "why"),
    [
        ({"/": response(b"", status="404 Not Found")}, [], "http://a.example/: not found (404)"),
        ({"/": response(b"", status="401 Unauthorized")}, [], "http://a.example/: denied (401)"),
        ({"/": response(page("home"))}, ["--include-url", "a.example/*"], "(out of scope: URL not included)"),
        ({"/": response(page("home"))}, ["--include-url", "a.example/*"], "--include-url '*://a.example/*'"),
        ({"/": response(page("home"))}, ["--include-url", "http://b.example/*"], "name a seed within the scope"),
        ({"/": response(with_head(page("home"), NOINDEX))}, [], "left out (noindex)"),
        ({"/": response(with_head(page("home"), NOINDEX))}, [], "--keep-noindex keeps such pages"),
        ({"/": response(b"", status="404 Not Found")}, [], "run the same command to try again"),
        (
            {"/": response(b"", status="302 Found", Location="/gone"), "/gone": response(b"", status="410 Gone")},
            [],
            "moved (302) to http://a.example/gone, gone (410)",
        ),
        ({"/robots.txt": response(b"User-agent: *\nDisallow: /", Content_Type="text/plain")}, [], "robots.txt"),
    ],
)
def test_a_run_that_stored_nothing_says_what_became_of_its_seeds_and_fails(tmp_path, routes, words, why):
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer(routes) as server:
        said = lycosa("crawl", folder, "--resolve", server.everything[0], *words)
    assert said.is_one_clear_line(1, "no page was stored", why)
    assert "next: " not in said.err


def test_a_bare_host_without_tls_is_told_how_to_be_named(tmp_path):
    folder = collection(tmp_path / "c", ["a.example"], rest="[requests]\ndelay = 0\nretries = 0\n")
    plain = response(page("home"))
    with LoopbackServer({}, wrap=lambda connection: (connection.sendall(plain), connection)[1]) as server:
        said = lycosa("crawl", folder, "--resolve", server.everything[0])
    assert said.is_one_clear_line(
        1, "TLS error: ", f"if the host has no TLS: lycosa crawl {folder} --seed http://HOST/"
    )


def test_a_url_behind_a_copy_is_not_just_unknown(tmp_path):
    folder = collection(tmp_path / "c", [HOME], rest="[requests]\ndelay = 0\n")
    routes = {f"/{n or ''}": response(page("list", [(f"/{n + 1}", "next")])) for n in range(4)}
    with LoopbackServer(routes) as server:
        crawled(folder, server)
    assert len(pages(folder)) < len(routes)
    said = lycosa("explain", folder, "http://a.example/3")
    assert "  (the links of 1 page with the text of another were not followed; it may lie behind them)" in said.out


def test_seeds_that_could_not_be_reached_are_tried_again_by_the_next_run(tmp_path):
    folder = collection(tmp_path / "c", [HOME], rest="[requests]\ndelay = 0\nretries = 0\n")
    with LoopbackServer(AWKWARD) as server:
        there = server.everything[0]
    said = lycosa("crawl", folder, "--resolve", there)  # nobody listens any more
    assert said.is_one_clear_line(1, "no page was stored", "http://a.example/: unreachable: ")
    done("rebuild", folder)
    with LoopbackServer(AWKWARD) as server:
        crawled(folder, server)
    assert HOME in pages(folder)


def test_what_an_outage_lost_is_fetched_by_the_next_run(tmp_path):
    links = [f"http://{host}.example/{path}" for host, path in (("a", 1), ("b", 1), ("b", 2), ("c", 1))]
    routes = {"/": response(page("home", links)), "/1": response(page("one")), "/2": response(page("two"))}
    folder = collection(tmp_path / "c", [HOME], rest="[requests]\ndelay = 0\nretries = 0\n")
    with LoopbackServer(routes) as server:
        there = server.everything[0]
        crawled(folder, server, "--pages", 1)
    assert pages(folder) == [HOME]
    for _ in range(2):
        said = lycosa("crawl", folder, "--resolve", there, "--pages", 500)  # nobody listens any more
        assert said.is_one_clear_line(1, "no page was stored: nobody answered: all ", "same command to try again")
        assert "Stopped: " in said.err and "Done" not in said.err
    with LoopbackServer(routes) as server:
        said = crawled(folder, server, "--pages", 500)
    assert "Done: " in said.err
    assert set(pages(folder)) == {HOME, *links}
