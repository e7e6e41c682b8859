"""Who is answered, and what an answer can do: laws that hold for every route there is."""

import re
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree
from urllib.parse import quote

import pytest

from lycosa.run.topic import read_labels
from lycosa.run.trust import ID_FILE
from lycosa.screens.gate import MAX_BODY, SCREEN_POLICY, STORED_POLICY
from lycosa.screens.openapi import LABEL_PATH
from screens.serving import PORT, Browser
from story.test_hostile_text import HOME, NOT_FOR_TERMINALS, TITLES

PAGE = quote(f"{HOME}markup", safe="")
GETS = {  # every route that is read, with parameters
    "/": "/",
    "/c/{name}": "/c/bees",
    "/c/{name}/search": "/c/bees/search?q=honey",
    "/c/{name}/page": f"/c/bees/page?url={PAGE}",
    "/c/{name}/stored": f"/c/bees/stored?url={PAGE}",
    "/c/{name}/frontier": "/c/bees/frontier",
    "/api/collections": "/api/collections",
    "/api/collections/{name}": "/api/collections/bees",
    "/api/collections/{name}/search": "/api/collections/bees/search?q=honey",
    "/api/collections/{name}/page": f"/api/collections/bees/page?url={PAGE}",
    "/api/collections/{name}/frontier": "/api/collections/bees/frontier",
    "/api/openapi.json": "/api/openapi.json",
    "/metrics": "/metrics",
    "/static/{file}": "/static/screens.js",
}
POSTS = {"/c/{name}/label": "/c/bees/label", LABEL_PATH: "/api/collections/bees/label"}
SCREENS = [
    path for path in GETS.values() if not path.startswith(("/api", "/metrics", "/static")) and "stored" not in path
]
LABEL = {"url": f"{HOME}markup", "label": "good"}
everything = pytest.mark.parametrize("path", GETS.values())
every_post = pytest.mark.parametrize("path", POSTS.values())


def test_the_tables_have_every_route(browser):
    routes = {
        (route.path, method) for route in browser.gate._app.routes for method in route.methods if method != "HEAD"
    }
    assert routes == {*((path, "GET") for path in GETS), *((path, "POST") for path in POSTS)}


@everything
def test_nothing_is_read_without_the_cookie_or_the_token(root, path):
    stranger = Browser(root, has_cookie=False)
    for headers in ({}, {"cookie": f"lycosa-{PORT}=guess"}, {"authorization": "Bearer guess"}):
        answer = stranger.get(path, **headers)
        assert answer.status_code == 403
        assert "honey" not in answer.text
    between = "&" if "?" in path else "?"
    assert stranger.get(f"{path}{between}token=guess").status_code == 403
    assert stranger.get(path, authorization=f"Bearer {stranger.gate.token}").status_code == 200


OTHER_NAMES = ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", "127.0.0.1", f"127.0.0.1.nip.io:{PORT}", " "]


@everything
def test_no_other_name_of_the_server_is_answered(browser, path):
    for host in OTHER_NAMES:
        assert browser.get(path, host=host).status_code in (400, 421), host


@everything
def test_a_page_of_another_site_is_not_answered(browser, path):
    for site in ("cross-site", "same-site"):
        assert browser.get(path, sec_fetch_site=site).status_code == 403, site
    assert browser.get(path, sec_fetch_site="same-origin").status_code == 200


@everything
def test_every_answer_keeps_content_from_acting(browser, path):
    answer = browser.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    if path.startswith("/c/bees/stored"):
        assert policy == "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'" == STORED_POLICY
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert answer.headers["referrer-policy"] == "no-referrer"
    else:
        assert policy == SCREEN_POLICY
        assert "'unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers
    assert len(answer.headers.get_list("content-security-policy")) == 1


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(root):
    stranger = Browser(root, has_cookie=False)
    answer = stranger.get(f"/c/bees?token={stranger.gate.token}&x=1", sec_fetch_site="cross-site")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.gate.token.lower() not in cookie
    assert answer.headers["refresh"] == "0; url=/c/bees?x=1"
    assert stranger.get("/").status_code == 200
    away = stranger.get(f"//evil.example/?token={stranger.gate.token}")
    assert not re.search(r"url=(//|/?\\|http)", away.headers.get("refresh", ""))


@every_post
@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ""}, {"origin": f"https://127.0.0.1:{PORT}"},
     {"origin": "http://127.0.0.1:9"}, {"host": "evil.example"}, {"sec_fetch_site": "cross-site"}],
    ids=str,
)  # fmt: skip
def test_a_post_from_elsewhere_changes_nothing(root, browser, path, headers):
    before = read_labels(root / "bees")
    assert browser.post(path, LABEL, **headers).status_code in (400, 403, 421)
    assert read_labels(root / "bees") == before


@every_post
def test_a_post_needs_the_token_of_the_form_and_the_cookie(root, browser, path):
    before = read_labels(root / "bees")
    for token in ("", "guess", browser.gate.token):
        assert browser.post(path, LABEL, form_token=token).status_code == 403
    assert Browser(root, has_cookie=False).post(path, LABEL).status_code == 403
    assert browser.post(path, {**LABEL, "more": "x" * MAX_BODY}).status_code == 413
    assert browser.post(path, {**LABEL, "label": "maybe"}).status_code == 400
    assert browser.post(path, {**LABEL, "url": "javascript:alert(1)"}).status_code == 400
    assert read_labels(root / "bees") == before


@every_post
def test_read_only_screens_change_nothing_and_offer_nothing(root, path):
    reader = Browser(root, read_only=True)
    before = read_labels(root / "bees")
    assert reader.post(path, LABEL).status_code == 403
    assert reader.ask("POST", path, authorization=f"Bearer {reader.gate.token}").status_code == 403
    assert read_labels(root / "bees") == before
    assert all("<form" not in reader.get(each).text or "method=" not in reader.get(each).text for each in SCREENS)


@everything
def test_there_are_no_other_methods(browser, path):
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        answer = browser.ask(method, path, origin="http://evil.example")
        assert answer.status_code == 405, method
        assert "access-control-allow-methods" not in answer.headers


NAMES = [
    "%2e%2e",
    "..%2fbees",
    "bees%2f..%2fbees",
    ".hidden",
    "notes",
    "link",
    "%00",
    "bees%00",
    "a" * 5000,
    "%5c",
    "nothing",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_folder(root, browser, tmp_path, name):
    outside = folder_of_outside(tmp_path)
    if not (root / "link").is_symlink():
        (root / "link").symlink_to(outside)
    try:
        for route in ("/c/{}", "/c/{}/search?q=honey", "/c/{}/frontier", "/api/collections/{}"):
            answer = browser.get(route.format(name))
            assert answer.status_code == 404, (route, name)
            assert str(root) not in answer.text
    finally:
        (root / "link").unlink()


def folder_of_outside(place):
    folder = place / "outside"
    folder.mkdir()
    (folder / "lycosa.toml").write_text('[topic]\ntext = "secret"\n')
    (folder / "archive").mkdir()
    return folder


class Seen(HTMLParser):
    """The elements and attributes of a screen, as a browser would read them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers, self.targets = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on") or name == "style"]
        self.targets += [value or "" for name, value in attributes if name in ("href", "src", "action", "formaction")]


SHOWING = [
    *SCREENS,
    *(f"/c/bees/page?url={quote(HOME + name, safe='')}" for name in TITLES),
    "/c/bees/search?q=" + quote('"><script>alert(1)</script>'),
    "/c/bees/frontier?host=" + quote('"><script>'),
]


@pytest.mark.parametrize("path", SHOWING)
def test_titles_texts_and_addresses_that_would_act_are_shown_and_do_nothing(browser, path):
    text = browser.get(path).text
    seen = Seen(text)
    assert seen.tags.count("script") == 1  # our own, by its address
    assert not {"img", "object", "embed", "base", "style"} & set(seen.tags)
    assert seen.handlers == []
    assert [each for each in seen.targets if not each.startswith(("/", "#", HOME)) or each.startswith("//")] == []
    found = NOT_FOR_TERMINALS.search(text.replace("\n", " "))
    assert found is None, text[max(0, found.start() - 40) : found.end() + 40]


def test_the_json_is_as_inert(browser):
    for name in TITLES:
        found = browser.get(f"/api/collections/bees/page?url={quote(HOME + name, safe='')}")
        assert found.headers["content-type"] == "application/json"
        assert NOT_FOR_TERMINALS.search(found.json()["page"]["title"]) is None


def test_a_stored_page_names_nothing_to_load_before_the_policy_holds(browser):
    text = browser.get(f"/c/bees/stored?url={PAGE}").text
    assert "honey bees" in text
    assert not {"link", "base", "meta"} & set(Seen(text).tags)


def test_a_collection_of_somebody_else_is_shown_and_not_obeyed(root, tmp_path):
    root = Path(copytree(root, tmp_path / "copy"))
    folder = root / "bees"
    (folder / ID_FILE).unlink()
    recipe = (folder / "lycosa.toml").read_text()
    (folder / "lycosa.toml").write_text(recipe + 'proxy = "http://spy.example:80"\n')
    browser = Browser(root)
    assert "not trusted" in browser.get("/").text
    assert "spy.example" not in browser.get("/c/bees").text
    assert browser.post("/c/bees/label", LABEL).status_code == 400
    assert read_labels(folder) == {}
    (folder / "labels.txt").symlink_to("/etc/hostname")
    browser = Browser(root)
    for path in ("/c/bees/search?q=honey", "/c/bees/frontier"):
        assert browser.get(path).status_code == 503
    assert "is a link" in browser.get("/").text
