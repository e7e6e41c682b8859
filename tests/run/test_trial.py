import asyncio

import pytest

import lycosa
from crawling import collection, done
from lycosa.recipe import load_recipe
from lycosa.run.options import CommandSettings
from lycosa.run.trial import try_url
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import Url
from sessions import crawl
from web.loopback import LoopbackServer, response
from worlds import html

HOME = Url("http://a.example/")
WORDS = " ".join(f"meadow{number}" for number in range(20))
LINKS = [("/hive", "honey bee hives"), ("/ships", "ships at sea"), ("/private/a", "a"), ("http://b.example/", "b")]


def tried(folder, routes, url=HOME):
    with LoopbackServer(routes) as server:
        settings = CommandSettings(resolve=tuple(server.everything))
        trial = asyncio.run(try_url(folder, load_recipe(folder), url, settings, clock=WallClock()))
    return trial, server.paths()


def test_a_page_is_judged_and_its_links_ranked_and_nothing_is_stored(tmp_path):
    folder = collection(tmp_path / "c", [HOME], rest='[scope]\nhosts = ["a.example"]\n')
    before = sorted(tmp_path.rglob("*"))
    page = html("Bees", f"The honey bee lives in a hive. {WORDS}", LINKS)
    trial, asked = tried(folder, {"/": response(page)})
    assert trial.is_relevant and trial.title == "Bees" and trial.left_out == ""
    assert {"honey", "bee", "hive"} <= trial.words_for.keys()
    assert trial.links[0].url == HOME + "hive"
    assert [link.priority for link in trial.links] == sorted((link.priority for link in trial.links), reverse=True)
    assert {link.url for link in trial.links} == {HOME + "hive", HOME + "ships", HOME + "private/a"}
    assert trial.skipped == {"host not included": 1}
    assert asked == ["/robots.txt", "/"]
    assert sorted(tmp_path.rglob("*")) == before


def test_links_that_are_known_already_are_counted(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    routes = {
        "/": response(html("Bees", f"The honey bee lives in a hive. {WORDS}", LINKS)),
        "/hive": response(html("Hive", f"A hive of bees. {WORDS}")),
    }
    with LoopbackServer(routes) as server:
        done("crawl", folder, "--pages", 2, *(word for each in server.everything for word in ("--resolve", each)))
    trial, _ = tried(folder, routes)
    assert trial.links == ()
    assert trial.known == {"fetched already": 1, "waiting already": 3}


def test_redirects_robots_noindex_and_languages_are_said(tmp_path):
    folder = collection(tmp_path / "c", [HOME], rest='[scope]\nlanguages = ["de"]\n')
    noindex = html("Bees", f"The honey bee lives in a hive. {WORDS}").replace(
        b"</head>", b'<meta name="robots" content="noindex, nofollow"></head>'
    )
    robots = response(b"User-agent: *\nDisallow: /private\n", Content_Type="text/plain")
    routes = {
        "/robots.txt": robots,
        "/": response(b"", "302 Found", Location="/bees"),
        "/bees": response(html("Bees", f"The honey bee lives in a hive and so do we all. {WORDS}", LINKS)),
        "/noindex": response(noindex),
        "/loop": response(b"", "302 Found", Location="/loop"),
    }
    trial, _ = tried(folder, routes)
    assert trial.hops == ("http://a.example/: moved (302) to http://a.example/bees",)
    assert (trial.url, trial.left_out) == (HOME + "bees", "language en")
    assert trial.links == () and list(trial.skipped) == ["on a page in language en"]
    assert tried(folder, routes, Url(HOME + "noindex"))[0].left_out == "noindex"
    private, asked = tried(folder, routes, Url(HOME + "private/x"))
    assert (private.is_page, private.outcome) == (False, "forbidden by robots.txt")
    assert asked == ["/robots.txt"]
    _, asked = tried(folder, routes, Url(HOME + "loop"))
    assert asked.count("/loop") == 6


def test_examples_are_fetched_where_there_is_no_model_yet(tmp_path):
    folder = collection(tmp_path / "c", topic='examples = "good.txt"')
    (folder / "good.txt").write_text("http://a.example/good\nhttp://a.example/gone\n")
    routes = {
        "/good": response(html("Hives", f"honey bee hive queen swarm {WORDS}")),
        "/": response(html("Bees", f"The honey bee queen. {WORDS}")),
    }
    trial, asked = tried(folder, routes)
    assert trial.is_relevant
    assert asked == ["/robots.txt", "/good", "/gone", "/"]


def test_good_examples_are_fetched_also_where_there_are_many_bad_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("lycosa.run.trial.MAX_EXAMPLES", 4)
    folder = collection(tmp_path / "c", topic='examples = "good.txt"\nnegatives = "bad.txt"')
    (folder / "good.txt").write_text("http://a.example/good\n")
    (folder / "bad.txt").write_text("".join(f"http://a.example/bad{number}\n" for number in range(6)))
    routes = {
        "/good": response(html("Hives", f"honey bee hive queen swarm {WORDS}")),
        "/": response(html("Bees", f"The honey bee queen. {WORDS}")),
        **{f"/bad{number}": response(html("Ships", f"ship mast sail {number}")) for number in range(6)},
    }
    trial, asked = tried(folder, routes)
    assert trial.relevance is not None
    assert asked == ["/robots.txt", "/good", "/bad0", "/bad1", "/bad2", "/"]


def test_stored_examples_do_not_count_towards_those_that_are_fetched(tmp_path, monkeypatch):
    folder = collection(tmp_path / "c", topic='examples = "good.txt"')
    good = [f"http://a.example/good{number}" for number in range(4)]
    (folder / "good.txt").write_text("".join(f"{url}\n" for url in good))
    crawl(folder, {Url(url): html("Hives", f"honey bee hive queen swarm {WORDS}") for url in good})
    (folder / "model.json").unlink()
    (folder / "good.txt").write_text("".join(f"{url}\n" for url in (*good, "http://a.example/more")))
    monkeypatch.setattr("lycosa.run.trial.MAX_EXAMPLES", 1)
    routes = {path: response(html("More", f"honey bee queen {WORDS}")) for path in ("/more", "/")}
    assert tried(folder, routes)[1] == ["/robots.txt", "/more", "/"]


def test_a_damaged_collection_is_not_taken_for_one_that_was_never_crawled(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    page = html("Bees", f"The honey bee lives in a hive. {WORDS}")
    crawl(folder, {HOME: page})
    (folder / "catalog.sqlite").write_bytes(b"no catalog" * 1_000)
    with pytest.raises(CollectionError, match="lycosa rebuild"):
        tried(folder, {"/": response(page)})


def test_public_hosts_are_not_asked_without_a_contact(tmp_path):
    folder = collection(tmp_path / "c")
    with pytest.raises(RecipeError, match="public host"):
        asyncio.run(
            try_url(folder, load_recipe(folder), Url("http://www.python.org/"), CommandSettings(), clock=WallClock())
        )


def test_links_are_ranked_by_the_state_of_the_strategy_and_the_map_of_the_recipe(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    recipe = folder / "lycosa.toml"
    recipe.write_text(f'strategy = "pagerank"\n{recipe.read_text()}')
    routes = {
        "/": response(html("Bees", f"The honey bee lives in a hive. {WORDS}", LINKS)),
        **{path: response(html("More", f"honey bee {path} {WORDS}", LINKS)) for path in ("/hive", "/ships")},
    }
    fresh, _ = tried(folder, routes)
    with LoopbackServer(routes) as server:
        assert len(list(lycosa.crawl(folder, pages=3, resolve=server.everything))) >= 3
    restored, _ = tried(folder, routes)
    assert [each.because for each in fresh.links] != [each.because for each in restored.links]
    recipe.write_text(recipe.read_text().replace("pagerank", "best-first"))
    alone, _ = tried(folder, routes)
    done("map", "build", folder, "--out", folder / "atlas", "--allow-private")
    recipe.write_text(f'{recipe.read_text()}[map]\natlas = "atlas"\n')
    mapped, _ = tried(folder, routes)
    assert max(each.priority for each in mapped.links) < max(each.priority for each in alone.links)
