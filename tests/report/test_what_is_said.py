"""What commands say: how a crawl ended, reasons in words, help that is whole, mistakes with the way out."""

import io
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import typer

from crawling import collection, done, listing, lycosa, site
from fixtures.fixed_world import FixedWorld
from lycosa import api
from lycosa.cli import COMMANDS, app
from lycosa.cli.options import program
from lycosa.run.reasons import reasons_in_words
from lycosa.strategies.hunter import FEATURES
from lycosa_lab.worlds.server import WorldServer
from web.loopback import LoopbackServer, response, silence
from worlds import html

HOME = "http://s.example/"


@pytest.fixture
def served():
    with WorldServer(FixedWorld(site("s.example", leaves=8))) as served:
        yield served


@pytest.mark.parametrize("flag", ["--verbose", "--json"])
def test_how_a_crawl_ended_is_said_without_figures(tmp_path, served, flag):
    examples = listing(tmp_path / "examples.txt", [HOME, "http://s.example/nowhere"])
    folder = collection(tmp_path / "c", [HOME], topic=f'examples = "{examples}"')
    said = done("crawl", folder, "--pages", 3, flag, "--resolve", served.resolve)
    for words in (
        "Done: 3 pages, as requested",
        "No off-topic examples given",
        "example http://s.example/nowhere",
    ):
        assert words in said.err
    assert "pages/s" not in said.err
    lines = said.out.splitlines()
    assert [json.loads(line)["url"] for line in lines][:1] == ([HOME] if flag == "--json" else [])


def test_a_topic_without_a_word_is_told_once(tmp_path):
    said = lycosa("crawl", collection(tmp_path / "c", [HOME], topic='text = "x"'))
    assert said.is_one_clear_line(1, "the topic 'x' has no usable word", "give examples")
    assert "the examples alone decide" not in said.err


def test_every_kind_of_outcome_is_shown(tmp_path):
    kinds = [401, 403, 404, 410, 418, 451]
    answers = {f"/{kind}": response(b"", f"{kind} No") for kind in kinds} | {"/": response(html("Home", "hive"))}
    with LoopbackServer(answers) as server:
        folder = collection(tmp_path / "c", [HOME, *(f"{HOME}{kind}" for kind in kinds)])
        done("crawl", folder, "--resolve", server.everything[0])
    [outcomes] = [line for line in done("show", folder).out.splitlines() if line.startswith("outcomes ")]
    assert all(f"({kind}) 1" in outcomes for kind in kinds) and " more" not in outcomes


def test_an_order_by_what_is_not_known_is_told(tmp_path, served):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 3, "--resolve", served.resolve)
    assert "the importance of no page is known" in done("pages", folder, "--order", "importance").err
    assert "the importance of no page is known" in done("export", folder, "--order", "importance").err
    assert done("pages", folder, "--order", "relevance").err == ""


def test_mistyped_names_are_answered_with_what_was_meant(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    recipe = folder / "lycosa.toml"
    recipe.write_text('strategy = "bestfirst"\n' + recipe.read_text())
    assert lycosa("crawl", folder).is_one_clear_line(2, "did you mean best-first?")
    said = lycosa("new", tmp_path / "d", "--example", "localhost:8099/x")
    assert said.is_one_clear_line(2, "http://localhost:8099/x")


def test_a_collection_names_itself(tmp_path, served):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 1, "--resolve", served.resolve)
    with api.open(folder) as opened:
        assert repr(opened) == f"<collection {folder}: 1 page>"
    assert repr(opened) == f"<collection {folder}: closed>"


def test_the_three_strongest_reasons_are_given_and_all_if_asked_for(tmp_path, served):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 3, "--resolve", served.resolve)
    parts = {"anchor": 1.0, "page": 0.9, "host": 0.8, "neighbours": 0.7}
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog, catalog:
        catalog.execute("UPDATE pages SET because = ? WHERE number = 2", (json.dumps({"parts": parts}),))
        [(url,)] = catalog.execute("SELECT url FROM pages WHERE number = 2")
    assert done("explain", folder, url).out.count("× as likely") == 3
    assert done("explain", folder, url, "-v").out.count("× as likely") == 4


def test_a_rate_measured_when_the_collection_was_small_says_so(tmp_path, served):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 8, "--resolve", served.resolve)
    with api.open(folder) as opened:
        urls = [page.url for page in opened.pages()]
    sample = [f"good {pages} {url}" for url in urls[:5] for pages in (4, 4)]
    (folder / "sample.txt").write_text("".join(f"{line}\n" for line in sample))
    said = done("show", folder).out
    assert "when the collection had 4 pages; 4 pages have come since (to measure again: lycosa review " in said
    facts = done("show", folder, "--json").json
    assert (facts["harvest_measured"], facts["harvest_measured_at"], facts["harvest_is_behind"]) == (1.0, 4, True)
    assert (facts["sample"]["pages_then"], facts["sample"]["pages_now"]) == (4, 8)


def test_a_redirect_loop_is_told_once(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    with LoopbackServer({"/": response(b"", "302 Found", Location="/")}) as server:
        said = lycosa("crawl", folder, *(word for each in server.everything for word in ("--resolve", each)))
    assert said.err.splitlines()[-1].count("moved (302)") == 1


def test_a_page_with_more_links_to_it_than_are_shown_says_so(tmp_path):
    web = site("s.example", leaves=14)
    web |= {url: html("Leaf", "honey", [HOME]) for url in web if url != HOME}
    folder = collection(tmp_path / "c", [HOME])
    with WorldServer(FixedWorld(web)) as server:
        done("crawl", folder, "--pages", 15, "--resolve", server.resolve)
    assert "linked from (the first 10, of more):" in done("explain", folder, HOME).out


def test_endless_input_without_line_ends_ends_a_review(tmp_path, served, monkeypatch):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 3, "--resolve", served.resolve)
    monkeypatch.setattr("sys.stdin", io.StringIO("y" * 300_000))
    assert "the review ends here" in done("review", folder).err


def test_contradictory_examples_are_named_where_they_leave_no_topic(tmp_path):
    examples = listing(tmp_path / "examples.txt", [HOME])
    said = done("new", tmp_path / "c", "--examples", examples, "--negatives", examples)
    assert "listed both as good and as bad" in said.out
    assert "it needs a topic" not in said.out


def test_a_crawl_whose_host_is_on_hold_says_so_and_how_to_go_on(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    busy = response(b"later", "503 Service Unavailable", Retry_After="3000")
    with LoopbackServer({"/": busy, "/robots.txt": busy}) as server:
        resolve = [word for each in server.everything for word in ("--resolve", each)]
        lycosa("crawl", folder, "--pages", 3, *resolve)
        said = lycosa("crawl", folder, "--pages", 3, *resolve)
    assert said.is_one_clear_line(1, "s.example is on hold for 50 more minutes")
    assert "lycosa search" not in said.err


def test_a_crawl_that_had_no_time_for_its_examples_says_so_and_how_to_go_on(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic='examples = "seeds.txt"')
    with LoopbackServer({"/": silence, "/robots.txt": silence}) as server:
        said = lycosa("crawl", folder, "--minutes", 0.001, "--resolve", server.everything[0])
    assert said.is_one_clear_line(1, "run the same command with more --minutes")


@pytest.mark.parametrize("flags", [["--quiet"], ["--quiet", "--json"]])
def test_a_quiet_crawl_says_nothing_beside_its_result(tmp_path, served, flags):
    folder = collection(tmp_path / "c", [HOME])
    said = done("crawl", folder, "--pages", 3, *flags, "--resolve", served.resolve)
    assert said.err == ""
    assert len(said.out.splitlines()) == (3 if "--json" in flags else 0)


@pytest.mark.parametrize(
    ("because", "words"),
    [
        ({"seed": True}, "a seed"),
        ({"page": 0.5045}, "found on a page of relevance 0.50"),
        (
            {"page": 0.1, "anchor": 0.5},
            "found on a page of relevance 0.10, by a link whose text has 50% of the topic's words",
        ),
        ({"depth": 2, "redirected": True}, "found at depth 2, after a redirect"),
        ({"chance": True}, "drawn at random"),
        ({"imported from": "x.warc.gz"}, "imported from x.warc.gz"),
        ({"page": "odd", "mine": 7, "also": True}, "page odd, mine 7, also"),
        ({}, "requested by the user"),
        (
            {"words": 2.5, "links": 0.5},
            "2.5 × as likely because of the words of the pages that link to it, "
            "0.5 × as likely because of the pages that link to it",
        ),
        (
            {"readers": {"frequency": 1.8, "signature": 1.0, "temporal": 1.63, "people": 12}},
            "read by 12 people, 1.8 × as likely because of how many of their pages are on the topic, "
            "1.63 × as likely because of what they read shortly before or after",
        ),
        (
            {"relevance": 0.4, "standing": 0.7, "utility": 0.82, "worth": 0.7},
            "found on a page of relevance 0.40, importance 0.70",
        ),
        ({"readers": {"people": 1}}, "read by one person"),
        ({"readers": "somehow"}, "readers somehow"),
        (
            {"parts": {"page": 0.1, "anchor": -0.69, "links": 0.001}},
            "0.5 × as likely because of the most typical word of its link text, "
            "1.1 × as likely because of the relevance of the pages that link to it",
        ),
        ({"parts": {}}, "a link about which nothing is known"),
        ({"parts": {"odd": 0.69}}, "2 × as likely because of odd"),
        ({"parts": 3}, "parts 3"),
        (
            {"parts": {"page": 0.69}, "sample": True},
            "drawn at random to explore, 2 × as likely because of the relevance of the pages that link to it",
        ),
        ({"example": True}, "an example"),
        ({"words": 1.0, "links": 0.5}, "0.5 × as likely because of the pages that link to it"),
        ({"links": 1.0}, "a link about which nothing is known"),
        (
            {"standing_parts": {"parents": 0.001, "sites": 0.53, "domain": -0.69}},
            "0.5 × the odds of high importance because of the rank or visitors of its site, "
            "1.7 × the odds of high importance because of how many other sites link to it",
        ),
        ({"standing_parts": {"parents": 0.0}}, "the usual odds of high importance"),
    ],
)
def test_reasons_are_told_in_words(because, words):
    assert reasons_in_words(because) == words


@pytest.mark.parametrize("feature", FEATURES)
def test_every_part_of_the_default_strategy_has_words_of_its_own(feature):
    words = reasons_in_words({"parts": {feature: 1.0}})
    assert words.startswith("2.7 × as likely because of ")
    assert not words.endswith(f" of {feature}")


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        ("best-first", "found on a page of relevance "),
        ("hunter", "× as likely because of the relevance of the pages that link to it"),
    ],
)
def test_explain_and_the_report_give_the_same_reason(tmp_path, served, strategy, reason):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 3, "--quiet", "--strategy", strategy, "--resolve", served.resolve)
    assert reason in done("explain", folder, "http://s.example/0").out
    done("report", folder)
    assert reason in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("parts", [20, 2_000])
def test_the_priority_is_shown_however_many_reasons_there_are(tmp_path, served, parts):
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 3, "--quiet", "--resolve", served.resolve)
    because = json.dumps({"parts": {f"feature number {number}": 0.69 for number in range(parts)}})
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog, catalog:
        (url,) = catalog.execute("SELECT url FROM pages WHERE number = 2").fetchone()
        catalog.execute("UPDATE pages SET because = ? WHERE url = ?", (because, url))
    lines = done("explain", folder, url, "-v").out.splitlines()
    (why,) = (line for line in lines if line.startswith("  why: "))
    assert "; score " in why and why.endswith(", 1 click from a seed")
    assert 400 < len(why) < 2_100


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_whole_and_names_what_it_asks_for(command):
    said = done(*filter(None, [command]), "--help").out
    assert "..." not in re.sub(r"\[[A-Z]+\]\.\.\.", "", said)  # of arguments that may be several
    assert not any(type_ in said for type_ in ("range>", "list[", "--strategy <", "--host <"))
    arguments = said.partition("Arguments:")[2].partition("Options:")[0]
    assert ">  [required]" not in arguments, "an argument without help"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_help_of_each_begins_with(name):
    command = typer.main.get_command(app).get_command(None, name)
    if not hasattr(command, "commands"):  # of a group, the list names the commands in it
        assert (command.help or "").startswith(re.split("[:.,]", COMMANDS[name])[0])


@pytest.mark.slow
def test_help_and_a_mistyped_command_load_no_command():
    program = "import sys; sys.argv = ['lycosa', *sys.argv[1:]]; from lycosa.cli import main\n"
    program += "try: main()\nfinally: print(*sys.modules)"
    for words in (["--help"], ["serch"]):
        said = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
        assert not {"numpy", "lycosa.cli.search", "lycosa.recipe"} & set(said.stdout.split())
    assert "Did you mean 'search'?" in said.stderr


@pytest.mark.parametrize(
    ("found", "called", "hinted"),
    [
        (None, "{here}/.venv/bin/lycosa", ".venv/bin/lycosa"),
        (None, "/elsewhere/bin/lycosa", "/elsewhere/bin/lycosa"),
        (None, ".venv/bin/lycosa", ".venv/bin/lycosa"),
        (None, "lycosa", "lycosa"),
        ("/usr/bin/lycosa", "{here}/.venv/bin/lycosa", "lycosa"),
        (None, "/usr/lib/pytest/__main__.py", "lycosa"),
    ],
)
def test_hints_name_the_command_as_it_can_be_called(tmp_path, monkeypatch, found, called, hinted):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: found)
    monkeypatch.setattr(sys, "argv", [called.format(here=tmp_path)])
    assert program() == hinted


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        ("this is = = not toml", ["lycosa.toml", "line 1", "key = "]),
        ('strategy = "nonsense"', ["lycosa.toml", "best-first"]),
        ('stratgy = "random"', ["'stratgy'", "at the top", "strategy", "contact"]),
        ("[topic]\ntxt = 'bees'", ["'txt'", "[topic]", "text", "keywords"]),
        ("[scope]\nhosts = ['https://a.example/']", ["scope.hosts", "https://a.example/", "example.org"]),
        ("[scope]\nexclude_hosts = ['a.example/x']", ["scope.exclude_hosts"]),
        ("[scope]\nhosts = ['']", ["scope.hosts"]),
        ("[scope]\nhosts = ['*.a.example']", ["scope.hosts", "subdomains"]),
        ("[scope]\nlanguages = ['english']", ["scope.languages", "english", "two letters"]),
    ],
)
def test_a_recipe_that_is_wrong_is_told_with_what_would_be_right(tmp_path, recipe, told):
    folder = collection(tmp_path / "c", [HOME])
    (folder / "lycosa.toml").write_text(recipe, encoding="utf-8")
    assert lycosa("crawl", folder).is_one_clear_line(2, *told)


@pytest.mark.parametrize(
    ("flag", "value"), [("--include-host", "http://a.example"), ("--exclude-host", "a/b"), ("--language", "english")]
)
def test_a_flag_that_is_wrong_is_told_by_its_name(tmp_path, flag, value):
    folder = collection(tmp_path / "c", [HOME])
    assert lycosa("crawl", folder, flag, value).is_one_clear_line(2, flag, value)


def test_hosts_may_be_written_in_capitals(tmp_path, served):
    folder = collection(tmp_path / "c", [HOME], rest='[scope]\nhosts = ["S.Example"]')
    done("crawl", folder, "--pages", 3, "--quiet", "--resolve", served.resolve)
    assert done("show", folder, "--json").json["pages"] == 3


def test_a_collection_without_seeds_is_told_when_it_is_made(tmp_path):
    said = done("new", tmp_path / "a", "--topic", "bees").out
    assert "needs seeds" in said and "seeds.txt" in said and "--seed URL" in said
    assert said.splitlines()[-1] == f"then: lycosa crawl {tmp_path / 'a'} --pages 500"
    assert "needs a topic" in done("new", tmp_path / "with blank", "--topic", "", "--seed", HOME).out
    assert "crawl '" in done("new", tmp_path / "with another blank", "--topic", "bees", "--seed", HOME).out
    examples = listing(tmp_path / "examples.txt", ["a text of several words about bees"])
    assert "needs seeds" in done("new", tmp_path / "b", "--examples", examples).out
    assert "needs seeds" not in done("new", tmp_path / "c", "--examples", listing(examples, [HOME])).out
    assert "needs seeds" not in done("new", tmp_path / "d", "--topic", "bees", "--seeds", examples).out
