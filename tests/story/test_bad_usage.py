"""What is typed or written wrong: one line that names the way out, exit code 2, nothing asked of anybody."""

import re
import socket

import pytest

from crawling import collection, done, listing, lycosa
from fixtures.fixed_world import FixedWorld
from lycosa.vocabulary.urls import host_of
from lycosa_lab.worlds.server import WorldServer
from worlds import CHAIN

SEED = "http://chain.example/a"


@pytest.fixture
def folder(tmp_path):
    return collection(tmp_path / "c", [SEED])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--strategy", "nonsense"], ["best-first", "breadth-first", "random"]),
        (["--log-half-life", "0"], ["log_half_life: write a number above 0"]),
        (["--resolve", "nonsense"], ["HOST=ADDR:PORT"]),
        (["--resolve", "*=localhost:80"], ["IP address"]),
        (["--resolve", "*=127.0.0.1:99999"], ["HOST=ADDR:PORT"]),
    ],
)
def test_a_flag_that_makes_no_sense_is_told_with_what_would(folder, words, told):
    assert lycosa("crawl", folder, *words).is_one_clear_line(2, *told)
    assert not (folder / "archive").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--page", "3"], "No such option '--page'. Did you mean '--pages'?"),
        (["--pages", "ten"], "Invalid value for '--pages': 'ten' is not a whole number."),
        (["--delay", "long"], "Invalid value for '--delay': 'long' is not a number."),
        (["--pages", "-4"], "Invalid value for '--pages': -4 is out of range: it must be at least 1."),
        (["--target", "3"], "Invalid value for '--target': 3.0 is out of range: it must be between 0 and 1."),
    ],
)
def test_a_word_that_is_no_flag_or_no_number_is_answered_in_plain_words(folder, words, told):
    said = lycosa("crawl", folder, *words)
    assert (said.code, said.err.splitlines()[-1]) == (2, f"Error: {told}")


def test_flags_of_groups_of_commands_are_answered_alike(tmp_path):
    said = lycosa("world", "show", "w", "--categry", "x")
    assert (said.code, said.err.splitlines()[-1]) == (
        2,
        "Error: No such option '--categry'. Did you mean '--category'?",
    )
    said = lycosa("world", "serve", "w", "--port", "-4")
    assert said.err.splitlines()[-1] == (
        "Error: Invalid value for '--port': -4 is out of range: it must be between 0 and 65535."
    )
    assert lycosa("world", "show", tmp_path / "nowhere").is_one_clear_line(2, "there is no world")


@pytest.mark.parametrize("command", ["crawl", "world serve", "world practice", "lab compare", "peer search", "demo"])
def test_help_says_ranges_of_numbers_in_words(command):
    said = done(*command.split(), "--help").out
    assert "at least" in said or "between" in said
    assert not re.search(r"RANGE|INTEGER|FLOAT|TEXT|<=|>=", said)


def test_the_help_of_a_command_says_what_its_arguments_are():
    assert "NAME  The folder of the collection." in done("show", "--help").out


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        ("this is = = not toml", ["lycosa.toml", "line 1"]),
        ('strategy = "nonsense"', ["best-first"]),
        ('stratgy = "random"', ["stratgy"]),
        ("[requests]\ndelay = 'slow'", ["requests.delay: write a number of 0 or more"]),
        ("[requests]\ndelay = -1", ["requests.delay: write a number of 0 or more"]),
        ("[requests]\nconcurrency = 0", ["requests.concurrency: write a whole number from 1 to 1000"]),
        ("[requests.headers]\nname = 1", ["requests.headers", 'write a text: "…"']),
        ("[logs]\nhalf_life = 0", ["logs.half_life: write a number above 0"]),
        ("[stop]\nrecall = 1.5", ["stop.recall: write a number above 0 and up to 1"]),
        ("[utility]\nalpha = 2", ["utility.alpha: write a number from 0 to 1"]),
        ("[utility]\nform = 'foo'", ['utility.form: write "cobb-douglas" or "linear"']),
        ("sitemaps = 'yes'", ["sitemaps: write true or false"]),
        ("topic = 'bees'", ["topic: write a table of predicate, function, keywords"]),
        ("[topic]\npredicate = {all = [{nt = 1}]}", ["no key 'nt' in [topic.predicate.all[0]]", "keywords"]),
        ("[topic]\ntxt = 'bees'", ["topic", "txt"]),
        ("[topic]\nkeywords = 7", ['topic.keywords: write a list: ["…", "…"]']),
        ("[topic]\nkeywords = ['bee', 7]", ['topic.keywords[1]: write a text: "…"']),
        ("[stop]\npages = 'many'", ["stop.pages: write a whole number of 1 or more"]),
        ('seeds = "nowhere.txt"\n[topic]\ntext = "bees"', ["nowhere.txt"]),
        ('[topic]\ntext = "bees"', ["no seeds", "seeds.txt"]),
        ('seeds = "seeds.txt"', ["no topic", "lycosa.toml"]),
        ('seeds = "seeds.txt"\n[topic]\nexamples = "nowhere.txt"', ["nowhere.txt"]),
        ('seeds = "seeds.txt"\n[topic]\nkeywords = ["/(/"]', ["/(/"]),
        ('seeds = "seeds.txt"\n[topic]\nfunction = "nowhere_at_all:judge"', ["nowhere_at_all"]),
        ('seeds = "seeds.txt"\n[topic]\nfunction = "judge"', ["package.module:function"]),
        ('seeds = "seeds.txt"\n[topic]\ntext = "bees"\n[requests]\nheaders = { "Bad Name" = "x" }', ["Bad Name"]),
        ('seeds = "seeds.txt"\n[topic]\ntext = "bees"\n[requests]\nproxy = "nonsense://"', ["proxy"]),
        *(
            (f'[requests]\nproxy = "{proxy}"', ["requests.proxy", "host and port", "http://"])
            for proxy in ("foo", "http://foo", "http://foo:", "http://:3128", "http://a b:1")
        ),
    ],
)
def test_a_recipe_that_is_wrong_is_told_with_where(folder, recipe, told):
    (folder / "lycosa.toml").write_text(recipe, encoding="utf-8")
    assert lycosa("crawl", folder, "--resolve", "*=127.0.0.1:9").is_one_clear_line(2, *told)


def test_a_recipe_that_is_not_text_is_told(folder):
    (folder / "lycosa.toml").write_bytes(b"\xff\xfe\x00")
    assert lycosa("crawl", folder).is_one_clear_line(2, "lycosa.toml")


def test_a_bad_url_in_a_seed_file_is_told_with_its_line(tmp_path, folder):
    lines = ["# where to begin", "", SEED, "not a url", "http://later.example/"]
    seeds = listing(tmp_path / "bad.txt", lines)
    assert lycosa("new", tmp_path / "n", "--topic", "bees", "--seeds", seeds).is_one_clear_line(
        2, "bad.txt:4:", "http://"
    )
    assert not (tmp_path / "n").exists()
    listing(folder / "seeds.txt", lines)
    assert lycosa("crawl", folder).is_one_clear_line(2, "seeds.txt:4:", "http://")


@pytest.mark.parametrize("option", ["--seeds", "--examples", "--negatives"])
@pytest.mark.parametrize("content", [None, b"", b"# nothing\n\n", b"\xff\xfe\x00\x01", b"http://\n", b"oneword\n"])
def test_files_that_say_nothing_are_told_by_name(tmp_path, option, content):
    path = tmp_path / "given.txt"
    if content is not None:
        path.write_bytes(content)
    said = lycosa("new", tmp_path / "n", "--topic", "bees", option, path)
    assert said.is_one_clear_line(2, "given.txt")
    assert not (tmp_path / "n").exists()


def test_a_folder_given_as_a_file_is_told(tmp_path):
    for option in ("--seeds", "--examples"):
        assert lycosa("new", tmp_path / "n", option, tmp_path).is_one_clear_line(2, tmp_path.name)


def test_a_collection_that_is_there_is_not_made_again(folder):
    before = (folder / "lycosa.toml").read_text(encoding="utf-8")
    assert lycosa("new", folder, "--topic", "ships").is_one_clear_line(2, "lycosa crawl")
    assert (folder / "lycosa.toml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "words",
    [
        ["crawl"],
        ["refresh", "--budget", "5"],
        ["show"],
        ["search", "bees"],
        ["explain", SEED],
        ["label", SEED, "--good"],
        ["report"],
        ["export"],
        ["import", "x.warc.gz"],
        ["rebuild"],
        ["forget", SEED],
    ],
)
def test_every_command_says_where_there_is_no_collection(tmp_path, words):
    command, *rest = words
    assert lycosa(command, tmp_path / "nowhere", *rest).is_one_clear_line(2, "nowhere", "lycosa new")
    (tmp_path / "empty").mkdir()
    assert lycosa(command, tmp_path / "empty", *rest).is_one_clear_line(2, "empty", "lycosa.toml")
    assert not any((tmp_path / "empty").iterdir())


@pytest.mark.parametrize(
    "words",
    [["show"], ["search", "bees"], ["explain", SEED], ["report"], ["export"], ["refresh", "--budget", "5"]],
    ids=lambda words: words[0],
)
def test_a_collection_that_was_never_crawled_says_how_to_fill_it(folder, words):
    command, *rest = words
    assert lycosa(command, folder, *rest).is_one_clear_line(1, "lycosa crawl")
    assert not (folder / "archive").exists()


def test_a_collection_without_a_page_has_nothing_to_see_again(folder):
    with WorldServer(FixedWorld({})) as served:
        assert lycosa("crawl", folder, "--resolve", served.resolve).is_one_clear_line(1, "not found (404)")
        said = lycosa("refresh", folder, "--budget", 5, "--resolve", served.resolve)
    assert said.is_one_clear_line(1, "no pages", "lycosa crawl")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--budget", 5, "--policy", "nonsense"], ["uniform", "crawl-value", "lambda"]),
        (["--budget", 0], ["budget", "1 or more"]),
        (["--budget", -3], ["budget", "1 or more"]),
        (["--budget", 5, "--expand", 1.5], ["from 0", "to 1"]),
        (["--budget", 5, "--expand", -0.1], ["from 0", "to 1"]),
        (["--budget", 5, "--expand", "nan"], ["from 0", "to 1"]),
        (["--budget", 5, "--resolve", "nonsense"], ["HOST=ADDR:PORT"]),
    ],
)
def test_a_refresh_that_makes_no_sense_is_told_with_what_would(crawled, words, told):
    assert lycosa("refresh", crawled, *words).is_one_clear_line(2, *told)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = collection(tmp_path_factory.mktemp("bad") / "c", [SEED])
    with WorldServer(FixedWorld(CHAIN)) as served:
        done("crawl", folder, "--pages", 4, "--resolve", served.resolve)
    return folder


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["export", "--format", "nonsense"], ["jsonl", "csv", "parquet", "urls"]),
        (["label", SEED], ["--good", "--bad"]),
        (["label", SEED, "--good", "--bad"], ["--good", "--bad"]),
        (["label", "not a url", "--good"], ["http://"]),
        (["explain", "not a url"], ["http://"]),
        (["explain", "ftp://a.example/"], ["http://"]),
        (["forget", "http://"], ["example.org"]),
        (["forget", "not/a/host"], ["example.org"]),
        (["forget", ""], ["example.org"]),
        (["import", "nowhere.warc.gz"], ["nowhere.warc.gz"]),
        (["import", "lycosa.toml"], ["not a WARC file"]),
    ],
)
def test_arguments_that_make_no_sense_are_told_with_what_would(crawled, words, told, monkeypatch):
    monkeypatch.chdir(crawled)
    command, *rest = words
    assert lycosa(command, crawled, *rest).is_one_clear_line(2, *told)


def test_control_characters_in_an_argument_are_shown_inert(crawled):
    said = lycosa("explain", crawled, "\x1b[31mred\x07")
    assert said.code == 2
    assert "\x1b" not in said.err
    assert "\x07" not in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["crawl", "--pages", "0"],
        ["crawl", "--pages", "many"],
        ["crawl", "--delay", "-1"],
        ["crawl", "--concurrency", "0"],
        ["crawl", "--nonsense"],
        ["refresh"],
        ["refresh", "--budget", "many"],
        ["search", "bees", "--limit", "0"],
        ["search"],
        ["nonsense"],
    ],
)
def test_options_out_of_their_range_are_usage_errors(crawled, words):
    command, *rest = words
    said = lycosa(command, crawled, *rest)
    assert said.code == 2
    assert "Traceback" not in said.err
    assert "Error" in said.err


def test_a_log_that_cannot_be_written_is_told(crawled):
    said = lycosa("crawl", crawled, "--log", crawled / "nowhere" / "log", "--resolve", "*=127.0.0.1:9")
    assert said.is_one_clear_line(2, "nowhere", "--log")


def test_a_place_to_export_to_that_cannot_be_written_is_told(crawled):
    nowhere = crawled / "nowhere" / "x"
    for format_ in ("csv", "parquet"):
        assert lycosa("export", crawled, "--format", format_, "--out", nowhere).is_one_clear_line(2, "nowhere", "--out")
    assert lycosa("report", crawled, "--out", nowhere).is_one_clear_line(2, "nowhere", "--out")
    assert lycosa("peer", "group", nowhere).is_one_clear_line(2, "nowhere")


def test_a_dash_is_standard_output(crawled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert done("export", crawled, "--out", "-").out == done("export", crawled).out
    assert done("report", crawled, "--out", "-").out.startswith("<!doctype html>")
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_is_told(crawled):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = lycosa("world", "serve", "synthetic:pages=900", "--port", port)
        assert said.is_one_clear_line(2, f"127.0.0.1:{port}", "another --port")
        assert lycosa("peer", "serve", crawled, "--listen", f"127.0.0.1:{port}").is_one_clear_line(2, "--listen")


def test_the_host_of_a_search_is_a_name_alone(crawled):
    assert lycosa("search", crawled, "bees", "--host", SEED).is_one_clear_line(2, "--host", "www.example.org")
    host = host_of(SEED)
    assert (
        done("search", crawled, "page", "--host", host.upper()).out
        == done("search", crawled, "page", "--host", host).out
    )


def test_every_command_explains_itself():
    commands = [
        "new",
        "crawl",
        "show",
        "search",
        "explain",
        "label",
        "report",
        "export",
        "import",
        "rebuild",
        "forget",
        "demo",
    ]
    told = done("--help").out
    for command in commands:
        assert command in told
        assert len(done(command, "--help").out.splitlines()) > 5
