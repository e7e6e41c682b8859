"""Who is answered, and what an answer can do: laws that hold for every route there is."""

import re
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree
from urllib.parse import quote

import pytest

from lycosa.run.topic import read_labels
from lycosa.run.trust import ID_FILE
from lycosa.screens.access_control import FIGURE_POLICY, MAX_BODY, SCREEN_POLICY, STORED_PAGE_POLICY
from lycosa.screens.openapi import (
    COLLECTIONS_PATH,
    CRAWL_PATH,
    EXPORT_PATH,
    FRONTIER_PATH,
    LABEL_PATH,
    PEERS_PATH,
    REFRESH_PATH,
    TEACH_PATH,
)
from screens.serving import PORT, Browser
from story.test_hostile_text import HOME, NOT_FOR_TERMINALS, TITLES

MAPPED = "http://maps.example.org/"
PAGE = quote(f"{HOME}markup", safe="")
GETS = {  # every route that is read, with parameters
    "/": "/",
    "/c/{name}": "/c/bees",
    "/c/{name}/search": "/c/bees/search?q=honey",
    "/c/{name}/page": f"/c/bees/page?url={PAGE}",
    "/c/{name}/stored": f"/c/bees/stored?url={PAGE}",
    "/c/{name}/frontier": "/c/bees/frontier",
    "/c/{name}/crawl": "/c/bees/crawl",
    "/c/{name}/events": "/c/bees/events?once=1",
    "/c/{name}/teach": "/c/bees/teach",
    "/c/{name}/refresh": "/c/few/refresh",
    "/c/{name}/versions": f"/c/few/versions?url={PAGE}",
    "/c/{name}/neighbours": f"/c/bees/neighbours?url={PAGE}",
    "/c/{name}/export": "/c/bees/export",
    "/c/{name}/export/file": "/c/bees/export/file?format=csv&content=text",
    "/c/{name}/peers": "/c/bees/peers",
    "/compare": "/compare?one=bees&other=few",
    "/maps": "/maps",
    "/maps/{file}": "/maps/atlas",
    "/studies": "/studies",
    "/studies/{path:path}": "/studies/results/small",
    "/figures/{path:path}": "/figures/results/small/one.svg",
    "/new": "/new",
    "/api/collections": "/api/collections",
    "/api/collections/{name}": "/api/collections/bees",
    "/api/collections/{name}/search": "/api/collections/bees/search?q=honey",
    "/api/collections/{name}/page": f"/api/collections/bees/page?url={PAGE}",
    "/api/collections/{name}/frontier": "/api/collections/bees/frontier",
    "/api/collections/{name}/crawl": "/api/collections/bees/crawl",
    "/api/collections/{name}/teach": "/api/collections/bees/teach",
    "/api/collections/{name}/refresh": "/api/collections/few/refresh",
    "/api/collections/{name}/versions": f"/api/collections/few/versions?url={PAGE}",
    "/api/collections/{name}/neighbours": f"/api/collections/bees/neighbours?url={PAGE}",
    EXPORT_PATH: "/api/collections/bees/export?format=csv&content=text",
    PEERS_PATH: "/api/collections/bees/peers",
    "/api/compare": "/api/compare?one=bees&other=few",
    "/api/maps": "/api/maps",
    "/api/maps/{file}": "/api/maps/atlas",
    "/api/studies": "/api/studies",
    "/api/studies/{path:path}": "/api/studies/results/small",
    "/api/openapi.json": "/api/openapi.json",
    "/metrics": "/metrics",
    "/static/{file}": "/static/screens.js",
}
LABEL = {"url": f"{HOME}markup", "label": "good"}
POSTS = {  # every route that changes something, with fields that would
    "/c/{name}/label": ("/c/bees/label", LABEL),
    LABEL_PATH: ("/api/collections/bees/label", LABEL),
    "/c/{name}/crawl": ("/c/bees/crawl", {"action": "start", "pages": "50"}),
    "/c/{name}/teach": ("/c/bees/teach", {"url": HOME, "answer": "yes"}),
    "/c/{name}/steer": ("/c/bees/steer", {"action": "block", "what": "ads.example"}),
    "/c/{name}/refresh": ("/c/bees/refresh", {"requests": "5", "expand": "0.5"}),
    "/c/{name}/peers": ("/c/bees/peers", {"q": "honey"}),
    PEERS_PATH: ("/api/collections/bees/peers", {"q": "honey"}),
    "/new": ("/new", {"name": "made", "topic": "honey bees", "seeds": HOME}),
    COLLECTIONS_PATH: ("/api/collections", {"name": "made", "topic": "honey bees", "seeds": HOME}),
    CRAWL_PATH: ("/api/collections/bees/crawl", {"action": "start", "pages": "50"}),
    TEACH_PATH: ("/api/collections/bees/teach", {"url": HOME, "answer": "yes"}),
    FRONTIER_PATH: ("/api/collections/bees/frontier", {"action": "block", "what": "ads.example"}),
    REFRESH_PATH: ("/api/collections/bees/refresh", {"requests": "5", "expand": "0.5"}),
}
SCREENS = [
    path
    for path in GETS.values()
    if not path.startswith(("/api", "/metrics", "/static", "/figures"))
    and not {"stored", "events", "file"} & set(path.partition("?")[0].split("/"))
]
everything = pytest.mark.parametrize("path", GETS.values())
every_post = pytest.mark.parametrize(("path", "fields"), POSTS.values(), ids=lambda each: str(each)[:30])


@pytest.mark.slow
def test_the_tables_have_every_route(browser):
    routes = {
        (route.path, method)
        for route in browser.application._app.routes
        for method in route.methods
        if method != "HEAD"
    }
    assert routes == {*((path, "GET") for path in GETS), *((path, "POST") for path in POSTS)}


@pytest.mark.slow
@everything
def test_nothing_is_read_without_the_cookie_or_the_token(root, path):
    stranger = Browser(root, has_cookie=False)
    for headers in ({}, {"cookie": f"lycosa-{PORT}=guess"}, {"authorization": "Bearer guess"}):
        answer = stranger.get(path, **headers)
        assert answer.status_code == 403
        assert "honey" not in answer.text
    between = "&" if "?" in path else "?"
    assert stranger.get(f"{path}{between}token=guess").status_code == 403
    assert stranger.get(path, authorization=f"Bearer {stranger.application.token}").status_code == 200


OTHER_NAMES = ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", "127.0.0.1", f"127.0.0.1.nip.io:{PORT}", " "]


@pytest.mark.slow
@everything
def test_no_other_name_of_the_server_is_answered(browser, path):
    for host in OTHER_NAMES:
        assert browser.get(path, host=host).status_code in (400, 421), host


@pytest.mark.slow
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
        assert policy == "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'" == STORED_PAGE_POLICY
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert answer.headers["referrer-policy"] == "no-referrer"
    elif path.startswith("/figures"):
        assert policy == "sandbox; default-src 'none'; style-src 'unsafe-inline'" == FIGURE_POLICY
        assert answer.headers["content-type"] == "image/svg+xml"
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
    answer = stranger.get(f"/c/bees?token={stranger.application.token}&x=1", sec_fetch_site="cross-site")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.application.token.lower() not in cookie
    assert answer.headers["refresh"] == "0; url=/c/bees?x=1"
    assert stranger.get("/").status_code == 200
    name, _, session = answer.headers["set-cookie"].partition(";")[0].partition("=")
    other = Browser(root, has_cookie=False)
    other.application._session = session
    assert other.get("/", cookie=f'other={{"of": [1]}}; {name}={session}; x@y=z').status_code == 200
    assert other.get("/", cookie=f"{name}=guess").status_code == 403
    away = stranger.get(f"//evil.example/?token={stranger.application.token}")
    assert not re.search(r"url=(//|/?\\|http)", away.headers.get("refresh", ""))


def state(root):
    """What a request could have changed."""
    noted = ("labels.txt", "steering.txt", "sample.txt")
    files = {name: (root / "bees" / name).read_bytes() for name in noted if (root / "bees" / name).exists()}
    return files, sorted(path.name for path in root.iterdir())


ELSEWHERE = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": f"https://127.0.0.1:{PORT}"},
    {"origin": "http://127.0.0.1:9"},
    {"host": "evil.example"},
    {"sec_fetch_site": "cross-site"},
]


@every_post
def test_a_post_from_elsewhere_changes_nothing(root, browser, path, fields):
    before = state(root)
    for headers in ELSEWHERE:
        assert browser.post(path, fields, **headers).status_code in (400, 403, 421), headers
    assert state(root) == before
    assert browser.launched == []


@every_post
def test_a_post_needs_the_token_of_the_form_and_the_cookie(root, browser, path, fields):
    before = state(root)
    for token in ("", "guess", browser.application.token):
        assert browser.post(path, fields, form_token=token).status_code == 403
    assert Browser(root, has_cookie=False).post(path, fields).status_code == 403
    assert browser.post(path, {**fields, "more": "x" * MAX_BODY}).status_code == 413
    assert state(root) == before
    assert browser.launched == []


@every_post
def test_read_only_screens_change_nothing(root, path, fields):
    reader = Browser(root, read_only=True)
    before = state(root)
    assert reader.post(path, fields).status_code == 403
    assert reader.ask("POST", path, authorization=f"Bearer {reader.application.token}").status_code == 403
    assert state(root) == before
    assert reader.launched == []


@pytest.mark.slow
def test_read_only_screens_offer_nothing_to_change_and_looking_changes_nothing(root):
    reader = Browser(root, read_only=True)
    before = state(root)
    for path in SCREENS:
        if path != "/new":
            assert 'method="post"' not in reader.get(path).text, path
    assert state(root) == before


NONSENSE = [
    ("/c/bees/label", {**LABEL, "label": "maybe"}),
    ("/c/bees/label", {**LABEL, "url": "javascript:alert(1)"}),
    ("/c/bees/label", {}),
    ("/c/bees/crawl", {"action": "start", "pages": "many"}),
    ("/c/bees/crawl", {"action": "start", "pages": "5 --allow-private"}),
    ("/c/bees/crawl", {"action": "start", "pages": "-5"}),
    ("/c/bees/crawl", {"action": "explode"}),
    ("/c/bees/refresh", {"requests": "many", "expand": "0.5"}),
    ("/c/bees/refresh", {"requests": "5", "expand": "0.5 --allow-private"}),
    ("/c/bees/refresh", {"requests": "5", "expand": "nan"}),
    ("/c/bees/refresh", {"requests": "--resolve", "expand": "1"}),
    ("/c/bees/teach", {"url": HOME, "answer": "perhaps"}),
    ("/c/bees/steer", {"action": "block", "what": "not a host"}),
    ("/c/bees/steer", {"action": "label", "what": "1"}),
    ("/new", {"name": "../up", "topic": "bees", "seeds": HOME}),
    ("/new", {"name": "", "topic": "bees", "seeds": HOME}),
    ("/new", {"name": "a/b", "topic": "bees", "seeds": HOME}),
    ("/new", {"name": "bees", "topic": "bees", "seeds": HOME}),
    ("/new", {"name": "made", "topic": "bees"}),
    ("/new", {"name": "made", "seeds": HOME}),
    ("/new", {"name": "made", "seeds": HOME, "examples": "/etc/hostname"}),
    ("/new", {"name": "made", "seeds": HOME, "examples": "../../some file.txt"}),
    ("/new", {"name": "made", "seeds": HOME, "examples": "~/.ssh/id_rsa"}),
    ("/new", {"name": "made", "topic": "bees", "seeds": "/etc/hostname"}),
]


@pytest.mark.parametrize(("path", "fields"), NONSENSE, ids=str)
def test_fields_that_mean_nothing_or_too_much_are_refused_in_a_line(root, browser, path, fields):
    before = state(root)
    answer = browser.post(path, fields)
    assert answer.status_code == 400
    assert str(root) not in answer.text
    assert state(root) == before
    assert browser.launched == []


@pytest.mark.slow
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


OUTSIDE = [
    "/maps/%2e%2e%2foutside.atlas",
    "/maps/link.atlas",
    "/maps/.hidden",
    "/maps/bees",
    "/maps/catalog.sqlite",
    f"/maps/{'a' * 300}",
    "/studies/%2e%2e",
    "/studies/link",
    "/studies/results",
    "/studies/bees",
    "/figures/results/small/results.json",
    "/figures/results/small/link.svg",
    "/figures/results/small/..%2fone.svg",
    "/figures/results/../small/one.svg",
    "/compare?one=..&other=bees",
    "/compare?one=bees&other=few&one_run=9",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_map_study_or_figure_is_read_from_elsewhere(root, browser, path):
    links = {
        root / "link.atlas": root / "bees" / "catalog.sqlite",
        root / "link": root / "results" / "small",
        root / "results" / "small" / "link.svg": Path("/etc/hostname"),
    }
    for link, target in links.items():
        if not link.is_symlink():
            link.symlink_to(target)
    try:
        for kind in ("", "/api"):
            assert browser.get(f"{kind}{path}").status_code in (400, 404), kind
    finally:
        for link in links:
            link.unlink()


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
    assert not {"object", "embed", "base", "style"} & set(seen.tags)
    assert seen.tags.count("img") == (1 if path.startswith("/studies/") else 0)  # a picture of a study
    assert seen.handlers == []
    assert [
        each for each in seen.targets if not each.startswith(("/", "#", HOME, MAPPED)) or each.startswith("//")
    ] == []
    found = NOT_FOR_TERMINALS.search(text.replace("\n", " "))
    assert found is None, text[max(0, found.start() - 40) : found.end() + 40]


@pytest.mark.slow
def test_the_json_is_as_inert(browser):
    for name in TITLES:
        found = browser.get(f"/api/collections/bees/page?url={quote(HOME + name, safe='')}")
        assert found.headers["content-type"] == "application/json"
        assert NOT_FOR_TERMINALS.search(found.json()["page"]["title"]) is None


def test_a_stored_page_names_nothing_to_load_before_the_policy_holds(browser):
    text = browser.get(f"/c/bees/stored?url={PAGE}").text
    assert "honey bees" in text
    assert not {"link", "base", "meta"} & set(Seen(text).tags)


@pytest.mark.slow
def test_a_collection_of_somebody_else_is_shown_and_not_obeyed(root, tmp_path):
    root = Path(copytree(root, tmp_path / "copy"))
    folder = root / "bees"
    (folder / ID_FILE).unlink()
    recipe = (folder / "lycosa.toml").read_text()
    (folder / "lycosa.toml").write_text(recipe + 'proxy = "http://spy.example:80"\n')
    browser = Browser(root)
    assert "not trusted" in browser.get("/").text
    assert "spy.example" not in browser.get("/c/bees").text
    for path, fields in POSTS.values():
        if "/bees/" in path and not path.endswith("/bees/peers"):
            assert browser.post(path, fields).status_code == 400, path
    (folder / "peer").mkdir()
    assert browser.get("/c/bees/peers").status_code == 400
    assert read_labels(folder) == {}
    assert browser.launched == []
    (folder / "labels.txt").symlink_to("/etc/hostname")
    browser = Browser(root)
    for path in ("/c/bees/search?q=honey", "/c/bees/frontier"):
        assert browser.get(path).status_code == 503
    assert "is a link" in browser.get("/").text
