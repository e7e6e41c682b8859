"""What the screens show, and the same for programs."""

import os
import time
from errno import EACCES
from pathlib import Path
from shutil import copytree
from urllib.parse import quote
from xml.etree import ElementTree

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from crawling import PATIENCE, collection, lycosa
from lycosa.recipe import load_recipe
from lycosa.run.reasons import Factor
from lycosa.run.topic import read_labels
from lycosa.screens import charts, overviews, peers
from lycosa.screens.library import Library, NoSuchCollectionError
from lycosa.screens.page import PathStep
from lycosa.screens.search import SearchView
from lycosa.vocabulary.errors import UsageError
from screens.serving import Browser, folder_of_collections
from story.test_hostile_text import HOME, TITLES


def test_the_folder_lists_its_collections_and_says_what_is_wrong_with_one(browser):
    found = browser.get("/api/collections").json()
    assert [card["name"] for card in found["collections"]] == ["bees", "few", "new"]
    bees, _, new = found["collections"]
    assert bees["pages"] == len(TITLES) + 1
    assert bees["harvest_low"] <= bees["harvest_rate"] <= bees["harvest_high"]
    assert bees["waiting"] == browser.get("/api/collections/bees/frontier").json()["total"] > 0
    assert bees["crawl"]["phase"] == "none"
    assert "holds nothing yet" in new["problem"]
    assert "holds nothing yet" in browser.get("/c/new").text


def test_folders_that_may_not_be_read_do_not_hide_the_others(tmp_path, monkeypatch):
    collection(tmp_path / "bees", ["http://a.example/"])
    (tmp_path / "lost+found").mkdir()
    browser, status_of = Browser(tmp_path), os.stat

    def guarded(path, *arguments, **keywords):
        if "lost+found/" in str(path):
            raise PermissionError(EACCES, "Permission denied", str(path))
        return status_of(path, *arguments, **keywords)

    monkeypatch.setattr(os, "stat", guarded)
    for path in ("/", "/studies", "/maps"):
        assert browser.get(path).status_code == 200, path
    assert [card["name"] for card in browser.get("/api/collections").json()["collections"]] == ["bees"]
    assert browser.get("/c/lost+found").status_code == 404


def test_a_folder_that_is_gone_is_said_in_a_line(tmp_path):
    browser = Browser(tmp_path)
    tmp_path.rmdir()
    answer = browser.get("/api/collections")
    assert (answer.status_code, "cannot be read" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("name", ["a" * 300, "a\\u0000b", "loop"])
def test_a_collection_whose_recipe_names_an_impossible_file_does_not_hide_the_others(root, tmp_path, name):
    root = Path(copytree(root, tmp_path / "copy"))
    recipe = root / "few" / "lycosa.toml"
    recipe.write_text(recipe.read_text().replace("good.txt", name))
    (root / "few" / "loop").symlink_to(root / "few" / "loop")
    browser = Browser(root)
    assert browser.get("/").status_code == 200
    assert browser.get("/c/few").status_code in (200, 503)


def test_the_overview_has_runs_hosts_curve_and_the_last_pages(browser):
    found = browser.get("/api/collections/bees").json()
    assert found["curve"][-1][0] == len(TITLES) + 1
    assert found["hosts"] == [{"name": "text.example", "count": len(TITLES) + 1}]
    assert [page["number"] for page in found["latest"]] == list(
        range(len(TITLES) + 1, len(TITLES) + 1 - overviews.LATEST_PAGES, -1)
    )
    assert found["runs"][0]["stopped"]


def test_search_pages_through_all_answers_and_each_once(browser):
    found = [browser.get(f"/api/collections/bees/search?q=honey&page={page}").json() for page in (1, 2)]
    assert found[0]["total"] == len(TITLES) + 1
    assert found[0]["last_page"] == 2
    urls = [hit["url"] for page in found for hit in page["hits"]]
    assert len(urls) == len(set(urls)) == len(TITLES) + 1
    assert "«honey»" in found[0]["hits"][0]["snippet"]


@pytest.mark.parametrize(
    ("asked", "total"),
    [
        ("q=percentx", 1),
        ("q=percent", 1),
        ("q=honey&host=text.example", len(TITLES) + 1),
        ("q=honey&host=other.example", 0),
        ("q=honey&language=xx", 0),
        ("q=honey&label=bad", 0),
        ("q=honey&min_relevance=1.0", None),
        ("q=nothingofthekind", 0),
    ],
)
def test_search_is_narrowed_down(browser, asked, total):
    found = browser.get(f"/api/collections/bees/search?{asked}").json()
    assert (
        found["total"] == len([hit for hit in found["hits"] if hit["relevance"] == 1.0])
        if total is None
        else total == found["total"]
    )


def test_a_word_that_is_being_typed_finds_words_that_begin_with_it(browser):
    part = browser.get("/c/bees/search?q=percen&typed=1&part=1").text
    assert "<html" not in part
    assert quote(f"{HOME}percent") in part
    assert quote(f"{HOME}percent") not in browser.get("/c/bees/search?q=percen&part=1").text


def test_a_page_tells_the_way_that_led_to_it(browser):
    found = browser.get(f"/api/collections/bees/page?url={quote(HOME + 'plus', safe='')}").json()
    assert [step["url"] for step in found["way"]] == [HOME, f"{HOME}plus"]
    assert found["way"][1]["factors"]
    assert found["state"] == "stored"
    assert any("honey bees" in paragraph for paragraph in found["text"])
    text = browser.get(f"/c/bees/page?url={quote(HOME + 'plus', safe='')}").text
    assert 'sandbox title="Stored copy' in text
    waiting = browser.get(f"/api/collections/bees/page?url={quote(HOME + 'more/plus', safe='')}").json()
    assert waiting["state"] == "waiting"
    assert browser.get("/c/bees/page?url=http://unknown.example/").status_code == 404
    assert browser.get("/c/bees/page?url=nonsense").status_code == 400


def _steps(count):
    factor = Factor("words", -1.5, "<b>words</b>")
    seed = PathStep("http://a.example/", "<script>0</script>", is_stored=True, relevance=0.9)
    return [seed] + [
        PathStep(f"http://a.example/{number}", f"page {number}", True, 0.1, None, 0.25, number, "a & b", "", [factor])
        for number in range(1, count)
    ]


def test_the_path_to_a_page_is_a_graph_with_the_parts_of_each_score():
    graph = ElementTree.fromstring(charts.path_graph(_steps(3)))
    texts = ["".join(each.itertext()) for each in graph.iter("text")]
    assert texts == [
        "0.90",
        "<script>0</script>",
        "a & b",
        "0.250",
        "0.10",
        "page 1",
        "a & b",
        "0.250",
        "0.10",
        "page 2",
    ]
    assert len(graph.findall(".//circle")) == 3
    assert [each.findtext("title") for each in graph.iter("rect")] == ["-1.50 <b>words</b>"] * 2
    assert charts.path_graph(_steps(1)) == ""


def test_a_long_path_is_drawn_with_its_beginning_and_its_end():
    texts = [each.text for each in ElementTree.fromstring(charts.path_graph(_steps(40))).iter("text")]
    shown = [text for text in texts if (text and text.startswith("page")) or text == "28 more"]
    assert shown == ["page 1", "page 2", "28 more", *(f"page {number}" for number in range(31, 40))]


def test_the_frontier_comes_best_first_and_by_host(browser):
    found = browser.get("/api/collections/bees/frontier").json()
    scores = [each["priority"] for each in found["waiting"]]
    assert scores == sorted(scores, reverse=True)
    assert found["total"] == len(scores) > 1
    assert found["hosts"][0]["host"] == "text.example"
    assert browser.get("/api/collections/bees/frontier?host=other.example").json()["waiting"] == []


@pytest.mark.slow
def test_a_label_is_saved_and_learnt(root, tmp_path):
    root = Path(copytree(root, tmp_path / "copy"))
    browser = Browser(root)
    answer = browser.post("/c/bees/label", {"url": f"{HOME}plus", "label": "bad"})
    assert answer.status_code == 303
    assert read_labels(root / "bees") == {f"{HOME}plus": False}
    shown = browser.get(answer.headers["location"]).text
    assert 'role="status"' in shown
    assert 'label bad">bad' in shown
    labelled = browser.get("/api/collections/bees/search?q=honey&label=bad").json()
    assert [hit["url"] for hit in labelled["hits"]] == [f"{HOME}plus"]


@pytest.mark.slow
def test_numbers_that_are_none_are_as_if_not_given(browser):
    for asked in (
        "page=-1",
        "page=x",
        "page=99999999999999",
        "page=²",
        "min_relevance=nan",
        "min_relevance=7",
        "label=x",
    ):
        assert browser.get(f"/api/collections/bees/search?q=honey&{asked}").status_code == 200, asked
        assert browser.get(f"/api/collections/bees/frontier?{asked}").status_code == 200, asked


# ---------------------------------------------------------------- for programs


def test_a_client_made_from_the_description_gets_what_it_describes(browser):
    described = browser.get("/api/openapi.json").json()
    given = {"name": "bees", "url": f"{HOME}plus", "q": "honey", "one": "bees", "other": "few"}
    given |= {"file": "atlas", "path": "results/small"}
    asked = 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if method != "get":
                continue
            parameters = operation["parameters"]
            address = path.format(**{each["name"]: given[each["name"]] for each in parameters if each["in"] == "path"})
            query = {
                each["name"]: given[each["name"]]
                for each in parameters
                if each["in"] == "query" and each["name"] in given
            }
            answer = browser.get(
                address + "?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
            )
            assert answer.status_code == 200
            described_contents = operation["responses"]["200"]["content"]
            media_type = answer.headers["content-type"]
            value = answer.json() if media_type == "application/json" else answer.text
            assert_is_as_described(value, described_contents[media_type]["schema"], described)
            asked += 1
    assert asked == 17
    assert browser.get("/api/collections/nothing").json() == {"error": "there is no such collection here"}


def test_programs_do_what_the_screens_do(root, tmp_path):
    root = Path(copytree(root, tmp_path / "copy"))
    browser = Browser(root)
    described = browser.get("/api/openapi.json").json()

    def ask(path, collection_name, **fields):
        answer = browser.post(path.format(name=collection_name), fields)
        assert answer.status_code == 200, answer.text
        form = described["paths"][path]["post"]
        schema = form["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
        assert set(schema["required"]) <= set(fields) <= set(schema["properties"])
        assert ("name" in {each["name"] for each in form["parameters"]}) == ("{name}" in path)
        answer_schema = form["responses"]["200"]["content"]["application/json"]["schema"]
        assert_is_as_described(answer.json(), answer_schema, described)
        return answer.json()

    made = ask("/api/collections", "", name="made", topic="honey bees", seeds=HOME, pages="9")
    assert (made["name"], load_recipe(root / "made").stop.pages) == ("made", 9)
    assert ask("/api/collections/{name}/crawl", "made", action="start", pages="9")["next_budget"] == 9
    ask("/api/collections/{name}/refresh", "few", requests="5", expand="0.5")
    assert [words[4] for words in browser.launched] == ["crawl", "refresh"]
    url = browser.get("/api/collections/bees/teach").json()["page"]["url"]
    assert ask("/api/collections/{name}/teach", "bees", url=url, answer="no")["labelled"] == 1
    assert read_labels(root / "bees") == {url: False}
    assert ask("/api/collections/{name}/teach", "bees", answer="undo")["labelled"] == 0
    assert ask("/api/collections/{name}/frontier", "bees", action="boost", what="a.example")["boosted"] == ["a.example"]
    assert ask("/api/collections/{name}/frontier", "bees", action="drop", what="text.example")["total"] == 0
    assert ask("/api/collections/{name}/frontier", "bees", action="undo")["dropped"] == 0
    refused = browser.post("/api/collections/bees/crawl", {"action": "fly"})
    assert (refused.status_code, "unknown action" in refused.json()["error"]) == (400, True)


def test_the_description_has_every_route_of_the_interface(browser):
    described = browser.get("/api/openapi.json").json()["paths"]
    routes = {
        (route.path.replace(":path", ""), method.lower())
        for route in browser.application._app.routes
        for method in route.methods
        if method != "HEAD" and route.path.startswith("/api/") and route.path != "/api/openapi.json"
    }
    assert {(path, method) for path, methods in described.items() for method in methods} == routes


@pytest.mark.parametrize("asked", ["format=jsonl&most=3", "format=csv&content=text", "format=urls&min_relevance=0.5"])
def test_programs_get_the_export_of_the_screen(browser, asked):
    got = browser.get(f"/api/collections/bees/export?{asked}")
    saved = browser.get(f"/c/bees/export/file?{asked}")
    assert got.text == saved.text != ""
    assert got.headers["content-type"] == saved.headers["content-type"]
    refused = browser.get("/api/collections/bees/export?format=parquet")
    assert (refused.status_code, "no such format" in refused.json()["error"]) == (400, True)


def test_programs_get_the_peers_and_their_answers(root, tmp_path, monkeypatch):
    root = Path(copytree(root, tmp_path / "copy"))
    (root / "bees" / "peer").mkdir()
    hit = {"url": "http://a.example/", "title": "Honey", "relevance": 0.5, "providers": [["B", "10.0.0.2:7"]]}
    outputs = {
        "show": {"name": "A", "is_running": True, "neighbours": [{"name": "B"}]},
        "search": {"hits": [hit], "answered": ["B"]},
    }
    commands = []

    def run(folder, output_type, *arguments):
        commands.append(arguments)
        return msgspec.convert(outputs[arguments[0]], output_type)

    monkeypatch.setattr(peers, "_run_command", run)
    browser = Browser(root)
    described = browser.get("/api/openapi.json").json()
    methods = described["paths"]["/api/collections/{name}/peers"]
    known = browser.get("/api/collections/bees/peers?q=honey").json()
    assert ([each["name"] for each in known["peers"]], known["hits"]) == (["B"], None)
    assert [words[0] for words in commands] == ["show"]  # nobody is asked by reading
    found = browser.post("/api/collections/bees/peers", {"q": "honey"}).json()
    assert [each["providers"] for each in found["hits"]] == [["B"]]
    assert commands[-1][-1] == "honey"
    for method, value in (("get", known), ("post", found)):
        schema = methods[method]["responses"]["200"]["content"]["application/json"]["schema"]
        assert_is_as_described(value, schema, described)
    reader = Browser(root, read_only=True)
    assert reader.get("/api/collections/bees/peers").status_code == 400
    assert len(commands) == 3


def test_a_peer_that_is_a_buddy_and_a_neighbour_is_listed_once(tmp_path, monkeypatch):
    (tmp_path / "peer").mkdir()
    (tmp_path / "lycosa.toml").write_text("")
    status = {
        "name": "A",
        "neighbours": [{"name": "C"}, {"name": "B", "address": "10.0.0.2:7", "is_down": True}],
        "buddies": [{"name": "D", "count": 1}, {"name": "B", "count": 3}],
    }
    monkeypatch.setattr(peers, "_run_command", lambda folder, output_type, *_: msgspec.convert(status, output_type))
    known = peers.peers_view(tmp_path).peers
    assert {each.name: (each.kind, each.address, each.answers, each.is_down) for each in known} == {
        "B": ("buddy and neighbour", "10.0.0.2:7", 3, True),
        "D": ("buddy", "", 1, False),
        "C": ("neighbour", "", 0, False),
    }
    assert [each.name for each in known] == ["D", "B", "C"]


def assert_is_as_described(value, schema, described):
    """Whether a value has the fields and types of a schema, as far as these say them."""
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("anyOf", [schema])
    if value is None:
        assert {"type": "null"} in kinds
        return
    schema = next(each for each in kinds if each.get("type") != "null")
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        assert set(schema.get("required", [])) <= set(value)
        assert set(value) <= set(schema["properties"])
        for name, each in value.items():
            assert_is_as_described(each, schema["properties"][name], described)
    elif kind == "array" and isinstance(schema.get("items"), dict):
        for each in value:
            assert_is_as_described(each, schema["items"], described)
    elif kind in ("string", "integer", "number", "boolean"):
        assert isinstance(value, {"string": str, "integer": int, "number": (int, float), "boolean": bool}[kind])


def test_the_guide_has_a_picture_of_every_screen_of_a_collection(browser):
    docs = Path(__file__).parents[2] / "docs"
    guide = (docs / "guide" / "screens.md").read_text(encoding="utf-8")
    paths = {route.path for route in browser.application._app.routes if "GET" in route.methods}
    found = {path.removeprefix("/c/{name}/") for path in paths if path.startswith("/c/{name}/")}
    screens = found - {"stored", "events", "export/file"}  # parts of screens, and a download
    assert {"frontier", "neighbours", "peers"} <= screens
    for screen in screens:
        assert f"](../pictures/screen-{screen}.png)" in guide, screen
        assert (docs / "pictures" / f"screen-{screen}.png").is_file(), screen


@pytest.mark.parametrize("query", ["honey", ""])
def test_a_page_beyond_the_last_shows_the_last(browser, query):
    last = browser.get(f"/api/collections/bees/search?q={query}").json()["last_page"]
    found, beyond = (
        browser.get(f"/api/collections/bees/search?q={query}&page={page}").json() for page in (last, last + 30)
    )
    assert found["hits"] and beyond["page"] == last
    assert beyond["hits"] == found["hits"]


def test_the_answers_are_records_of_their_types(browser):
    msgspec.json.decode(browser.get("/api/collections/bees/search?q=honey").content, type=SearchView)


def test_prometheus_reads_the_metrics(browser):
    answer = browser.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    pages = {sample.labels["collection"]: sample.value for sample in families["lycosa_pages"].samples}
    assert pages == {"bees": len(TITLES) + 1, "few": 6, "new": 0}
    unreadable = {sample.labels["collection"]: sample.value for sample in families["lycosa_unreadable"].samples}
    assert unreadable == {"bees": 0, "few": 0, "new": 1}
    assert all(family.documentation and family.type == "gauge" for family in families.values())


# ---------------------------------------------------------------- parts


def test_a_collection_is_served_alone_too(root):
    alone = Library(root / "bees")
    assert alone.names() == ["bees"]
    assert alone.folder("bees") == (root / "bees").resolve()
    for name in ("new", "..", "", "bees/../new"):
        with pytest.raises(NoSuchCollectionError):
            alone.folder(name)
    for name in ("..", ".", "", "/", "bees/..", "../bees", "bees\0", "\udc80", "b\nees"):
        with pytest.raises(NoSuchCollectionError):
            Library(root).folder(name)


@pytest.mark.slow
def test_many_collections_come_by_pages(tmp_path):
    for number in range(overviews.COLLECTIONS_PER_PAGE + 2):
        collection(tmp_path / f"c{number:02}")
    browser = Browser(tmp_path)
    pages = [browser.get(f"/api/collections?page={page}").json()["collections"] for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [overviews.COLLECTIONS_PER_PAGE, 2, 2]  # beyond the last: the last
    assert "Next" in browser.get("/").text


def test_an_overview_is_made_again_when_the_collection_changes(root, monkeypatch):
    made = []
    monkeypatch.setattr(
        overviews, "overview", lambda collection, real=overviews.overview: made.append(1) or real(collection)
    )
    monkeypatch.setattr(overviews, "_CACHE_SECONDS", 0.0)
    overviews.Overviews().card("bees", root / "bees")  # SQLite makes its files on first opening
    made.clear()
    screens = overviews.Overviews()
    for _ in range(3):
        screens.card("bees", root / "bees")
    assert len(made) == 1
    (root / "bees" / "sample.txt").touch()
    screens.card("bees", root / "bees")
    (root / "bees" / "sample.txt").unlink()
    assert len(made) == 2
    os.utime(root / "bees" / "good.txt", (1, 1))  # the examples, by which the harvest rate is calibrated
    screens.card("bees", root / "bees")
    assert len(made) == 3
    monkeypatch.setattr(overviews, "_MAX_CACHED", 2)
    for name in ("few", "bees", "few"):
        screens.card(name, root / name)
    (root / "few" / "sample.txt").touch()
    screens.card("few", root / "few")  # made again, it takes the place of none but itself
    (root / "few" / "sample.txt").unlink()
    assert set(screens._cache) == {root / "bees", root / "few"}


def test_what_is_wrong_is_said_in_a_line(tmp_path):
    assert lycosa("ui", tmp_path / "nowhere", "--no-browser").is_one_clear_line(2, "is no folder")
    with pytest.raises(UsageError, match="is no folder"):
        Library(tmp_path / "nowhere")


def test_a_missing_library_is_said_in_a_line(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "lycosa.screens.server", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "lycosa.screens.server")
    assert lycosa("ui", tmp_path, "--no-browser").is_one_clear_line(2, "pip install 'lycosa[ui]'")


def test_a_port_that_is_taken_is_said_in_a_line(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert lycosa("ui", tmp_path, "--no-browser", "--port", port).is_one_clear_line(2, str(port), "--port")


@pytest.mark.slow
def test_pages_that_a_crawl_left_out_of_the_index_are_added_when_somebody_searches(tmp_path, monkeypatch):
    monkeypatch.setattr("lycosa.collection.collection._MAX_INDEXED_ON_CLOSE", 0)
    browser = Browser(folder_of_collections(tmp_path))

    def not_indexed() -> int:
        answer = browser.get("/api/collections/bees/search?q=honey").json()
        assert "not_indexed" in answer, answer
        return answer["not_indexed"]

    with browser.open():
        assert not_indexed() > 0
        deadline = time.monotonic() + PATIENCE
        while not_indexed() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not_indexed() == 0
        assert "not in the index" not in browser.get("/c/bees/search?q=honey").text
