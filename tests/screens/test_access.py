"""Screens that other machines reach, by a password, and screens that are published."""

from pathlib import Path
from shutil import copytree

import pytest

from crawling import lycosa
from lycosa.run.atlas import AtlasPlan, build_atlas
from lycosa.run.upkeep import rebuild
from lycosa.screens.access_control import LOGIN, ScreenAccess
from lycosa.vocabulary.clock import WallClock
from screens.serving import PORT, Browser
from screens.test_safety import GETS, POSTS, SCREENS
from sharing import add_pages, as_made_before_cookies_were_recorded

PASSWORD = "correct horse battery"
REMOTE = f"http://192.0.2.7:{PORT}"
PUBLIC = "https://bees.example"


@pytest.fixture
def remote(root):
    return Browser(root, has_cookie=False, base=REMOTE, password=PASSWORD, is_remote=True)


@pytest.fixture
def public(root):
    return Browser(root, has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC)


def log_in(browser, password=PASSWORD, **headers):
    return browser.post(LOGIN, {"password": password}, **headers)


# ---------------------------------------------------------------- by a password


@pytest.mark.slow
@pytest.mark.parametrize("path", GETS.values())
def test_nothing_is_shown_before_the_password(remote, path):
    answer = remote.get(path)
    if path.startswith("/static/"):  # which the page that asks for it needs
        assert answer.status_code == 200
    elif path.startswith(("/api/", "/metrics")):
        assert answer.status_code == 403
    else:
        assert (answer.status_code, answer.headers["location"]) == (303, LOGIN)


@pytest.mark.parametrize(("path", "fields"), POSTS.values(), ids=lambda each: str(each)[:30])
def test_nothing_is_changed_before_the_password(remote, path, fields):
    assert remote.post(path, fields).status_code == 403
    assert remote.launched == []


def test_the_password_becomes_a_cookie(remote):
    assert 'type="password"' in remote.get(LOGIN).text
    assert log_in(remote, "wrong").status_code == 403
    answer = log_in(remote)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert PASSWORD not in cookie
    assert remote.get("/c/bees").status_code == 200


def test_a_password_is_not_taken_from_another_site(remote):
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}):
        assert log_in(remote, **headers).status_code == 403, headers
    assert log_in(remote, host=f"evil.example:{PORT}").status_code == 421
    assert remote.get("/c/bees").status_code == 303


def test_passwords_cannot_be_guessed_fast(root):
    now = [0.0]
    slow = Browser(root, has_cookie=False, base=REMOTE, password=PASSWORD, is_remote=True)
    slow.application._clock = lambda: now[0]
    statuses = [log_in(slow, f"guess {number}").status_code for number in range(8)]
    assert statuses == [403] * 5 + [429] * 3
    assert log_in(slow).status_code == 429  # not even the right one
    now[0] = 61.0
    assert log_in(slow).status_code == 303


def test_addresses_of_one_network_guess_as_often_as_one_and_keep_nobody_else_out(root):
    remote = Browser(root, has_cookie=False, base=REMOTE, password=PASSWORD, is_remote=True)
    statuses = []
    for number in range(200):
        remote.open()._transport.client = (f"2001:db8::{number:x}", 50_000)
        statuses.append(log_in(remote, f"guess {number}").status_code)
    assert statuses == [403] * 5 + [429] * 195
    remote.open()._transport.client = ("2001:db8:0:1::7", 50_000)
    assert log_in(remote).status_code == 303


def test_guesses_through_the_proxy_count_for_those_who_make_them(root):
    proxied = Browser(root, has_cookie=False, base=PUBLIC, password=PASSWORD, read_only=True, public_url=PUBLIC)
    proxied.open()._transport.client = ("127.0.0.1", 50_000)
    guesses = [log_in(proxied, "guess", x_forwarded_for="198.51.100.7, 192.0.2.1").status_code for _ in range(8)]
    assert guesses == [403] * 5 + [429] * 3
    assert log_in(proxied, x_forwarded_for="192.0.2.1, 198.51.100.7").status_code == 303


def test_nobody_but_the_proxy_says_for_whom_a_request_is(root):
    for access in ({"is_remote": True}, {"read_only": True, "public_url": PUBLIC}):
        base = PUBLIC if "public_url" in access else REMOTE
        browser = Browser(root, has_cookie=False, base=base, password=PASSWORD, **access)
        browser.open()._transport.client = ("192.0.2.1", 50_000)
        for number in range(5):
            assert log_in(browser, "guess", x_forwarded_for=f"198.51.100.{number}").status_code == 403
        assert log_in(browser, x_forwarded_for="198.51.100.7").status_code == 429


def test_guesses_from_everywhere_do_not_keep_out_who_has_logged_in_before(root):
    remote = Browser(root, has_cookie=False, base=REMOTE, password=PASSWORD, is_remote=True)
    remote.open()._transport.client = ("192.0.2.1", 50_000)
    assert log_in(remote).status_code == 303
    for number in range(120):
        remote.open()._transport.client = (f"198.51.100.{number}", 50_000)
        status = log_in(remote, "guess").status_code
        assert status == (403 if number < 100 else 429)
    remote.open()._transport.client = ("192.0.2.1", 50_000)
    assert log_in(remote).status_code == 303
    for _ in range(5):
        log_in(remote, "guess")
    assert log_in(remote).status_code == 429


def test_programs_without_a_token_are_told_so_in_json(root):
    for access in ({}, {"password": PASSWORD}):
        answer = Browser(root, has_cookie=False, **access).get("/api/collections")
        assert (answer.status_code, answer.headers["content-type"]) == (403, "application/json")
        assert "Authorization: Bearer" in answer.json()["error"]


def test_addresses_in_figures_are_answered_and_names_are_not(root):
    remote = ScreenAccess(PORT, is_remote=True)
    for host in (f"192.0.2.7:{PORT}", f"[2001:db8::1]:{PORT}", f"127.0.0.1:{PORT}", f"localhost:{PORT}"):
        assert remote.origins(host) == {f"http://{host}"}
    for host in (f"evil.example:{PORT}", "192.0.2.7", "192.0.2.7:1", f"192.0.2.7.nip.io:{PORT}", ""):
        assert remote.origins(host) == frozenset()
    assert ScreenAccess(PORT).origins(f"192.0.2.7:{PORT}") == frozenset()  # without --listen


def test_every_loopback_address_is_answered(root):
    local = ScreenAccess(PORT)
    for name in ("127.0.0.1", "127.0.0.2", "[::1]", "localhost"):
        assert local.origins(f"{name}:{PORT}") == {f"http://{name}:{PORT}"}
    for host in (f"127.0.0.2.nip.io:{PORT}", f"[::2]:{PORT}", f"[::1:{PORT}", f"::1:{PORT}", "127.0.0.2"):
        assert local.origins(host) == frozenset()
    other = Browser(root, base=f"http://127.0.0.2:{PORT}")
    assert other.get("/c/bees").status_code == 200


def test_browsers_leave_out_port_80():
    assert ScreenAccess(80).origins("127.0.0.1") == {"http://127.0.0.1"}
    assert ScreenAccess(80, is_remote=True).origins("192.0.2.7") == {"http://192.0.2.7"}
    assert ScreenAccess(80, is_remote=True).origins("[2001:db8::1]") == {"http://[2001:db8::1]"}
    assert ScreenAccess(80, is_remote=True).origins("evil.example") == frozenset()


# ---------------------------------------------------------------- published


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in GETS.values() if not path.endswith("/bees/peers")])
def test_everybody_may_read_what_is_published(public, path):
    assert public.get(path).status_code == 200
    assert public.get(path, host="evil.example").status_code == 421
    assert public.get(path, sec_fetch_site="cross-site").status_code == 403
    following = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert public.get(path, **following, sec_fetch_dest="document").status_code == 200  # a link
    assert public.get(path, **following, sec_fetch_dest="iframe").status_code == 403


@pytest.mark.parametrize(("path", "fields"), POSTS.values(), ids=lambda each: str(each)[:30])
def test_nothing_is_changed_of_what_is_published(public, path, fields):
    assert public.post(path, fields).status_code == 403
    assert public.ask("POST", path, authorization=f"Bearer {public.application.token}").status_code == 403
    assert public.launched == []


@pytest.mark.slow
def test_published_screens_offer_nothing_to_change_and_ask_no_peers(public):
    for path in SCREENS:
        if path not in ("/new", "/c/bees/peers"):
            text = public.get(path).text
            assert 'method="post"' not in text, path
            assert "published, read-only" in text
    assert public.get("/c/bees/peers").status_code == 400
    assert public.get("/api/collections/bees/peers").json() == {"error": "read-only screens ask no peers"}


SECRETS = """
[requests]
delay = 0
proxy = "http://user:SECRET@proxy.example:80"
cookies = "SECRET-cookies.txt"
headers = { Authorization = "SECRET" }
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_damaged", [False, True])
def test_published_screens_show_no_secrets_of_a_recipe(root, tmp_path, is_damaged):
    root = Path(copytree(root, tmp_path / "copy"))
    recipe = (root / "bees" / "lycosa.toml").read_text()
    without = recipe.partition("[requests]")[0]
    mistake = "SECRET = 1\n" if is_damaged else ""
    (root / "bees" / "lycosa.toml").write_text(without + SECRETS + mistake)
    public = Browser(root, has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC)
    answers = [public.get(path) for path in GETS.values()]
    assert (public.get("/c/bees/search?q=honey").status_code == 200) != is_damaged
    for answer in answers:
        assert "SECRET" not in answer.text, answer.url
        assert str(tmp_path) not in answer.text, answer.url
    if is_damaged:  # whose owner is told
        assert "SECRET" in Browser(root).get("/").text


COOKIE = (("Cookie", "(left out)"),)


@pytest.mark.slow
def test_published_screens_have_no_collection_with_pages_that_were_sent_for_a_cookie(root, tmp_path):
    root = Path(copytree(root, tmp_path / "copy"))
    add_pages(root / "bees", {"http://bank.example/": ("Account", "honey of Ada")}, request_headers=COOKIE)
    public = Browser(root, has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC)
    for path in GETS.values():
        answer = public.get(path)
        if path.startswith(("/c/bees", "/api/collections/bees")):
            assert answer.status_code == 404, path
        assert "bank.example" not in answer.text and "Ada" not in answer.text, path
    assert '"bees"' not in public.get("/api/collections").text and "/c/bees" not in public.get("/").text
    assert public.get("/c/few").status_code == 200
    alone = Browser(root / "bees", has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC)
    assert alone.get("/c/bees").status_code == 404 and alone.get("/").status_code < 500
    assert Browser(root).get("/c/bees/search?q=Ada").status_code == 200  # the owner's own screens
    behind_password = {"read_only": True, "public_url": PUBLIC, "password": PASSWORD}
    friend = Browser(root, has_cookie=False, base=PUBLIC, **behind_password)
    log_in(friend)
    assert friend.get("/c/bees").status_code == 200


@pytest.mark.parametrize(
    ("requests", "is_shown"),
    [("", True), ('cookies = "a=b"', False), ('headers = { X-Key = "1" }', False), ("headers = { DNT = '1' }", True)],
)
def test_of_an_older_collection_the_recipe_tells_whether_it_is_published(tmp_path, requests, is_shown):
    folder = add_pages(tmp_path / "bees", {"http://bank.example/": ("Account", "honey")})
    as_made_before_cookies_were_recorded(folder, requests)
    for _ in range(2):
        public = Browser(tmp_path, has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC)
        assert (public.get("/c/bees").status_code == 200) == is_shown
        rebuild(folder, clock=WallClock(), notify=lambda line: None)
    newer = add_pages(tmp_path / "newer", {"http://a.example/": ("A", "honey")})
    rebuild(newer, clock=WallClock(), notify=lambda line: None)
    with (newer / "lycosa.toml").open("a") as recipe:
        recipe.write(f"[requests]\n{requests}\n")
    assert public.get("/c/newer").status_code == 200


def test_published_screens_have_no_atlas_of_a_collection_with_pages_that_were_sent_for_a_cookie(tmp_path):
    add_pages(tmp_path / "bank", {"http://bank.example/": ("Account", "honey")}, request_headers=COOKIE)
    add_pages(tmp_path / "bees", {"http://bees.example/": ("Bees", "honey")})
    for name in ("bank", "bees"):
        build_atlas([tmp_path / name], tmp_path / f"{name}.atlas", AtlasPlan(topics=("honey",), above=0.1), now=1.0)
    with (tmp_path / "bees" / "lycosa.toml").open("a") as recipe:
        recipe.write('[map]\natlas = "../bank.atlas"\n')
    public = Browser(tmp_path, has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC)
    for path in ("/maps", "/api/maps", "/c/bees", "/maps/bank.atlas", "/api/maps/bank.atlas"):
        answer = public.get(path)
        assert "bank" not in answer.text.replace(f"&#39;{path}&#39;", ""), path
        assert (answer.status_code == 200) == ("bank" not in path), path
    assert "http://bees.example/" in public.get("/api/maps/bees.atlas").text
    assert "http://bank.example/" in Browser(tmp_path).get("/api/maps/bank.atlas").text  # the owner's own screens


def test_a_cookie_of_a_published_site_is_sent_by_https_alone(root):
    public = Browser(root, has_cookie=False, base=PUBLIC, read_only=True, public_url=PUBLIC, password=PASSWORD)
    assert public.get("/c/bees").status_code == 303  # with a password, not everybody
    assert "secure" in log_in(public).headers["set-cookie"].lower()


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--listen", "0.0.0.0"), ("--password-file",)),
        (("--listen", "example.org"), ("not an IP address",)),
        (("--listen", "0.0.0.0", "--password-file", "short"), ("too short",)),
        (("--password-file", "missing"), ("missing", "another file")),
        (("--password-file", "empty"), ("no password",)),
        (("--public-url", PUBLIC), ("--read-only",)),
        (("--read-only", "--public-url", "https://bees.example/path"), ("whole site",)),
        (("--read-only", "--public-url", "https://user@bees.example"), ("whole site",)),
        (("--read-only", "--public-url", "ftp://bees.example"), ("whole site",)),
        (("--read-only", "--public-url", "https://bees.example:x"), ("whole site",)),
        (("--read-only", "--public-url", "https://bees.example:"), ("whole site",)),
        (("--read-only", "--public-url", "https://bücher.example"), ("xn--bcher-kva.example",)),
        (("--read-only", "--public-url", f"https://{'ü' * 70}.example"), ("ASCII form",)),
    ],
    ids=str,
)
def test_what_would_let_others_in_by_mistake_is_refused_in_a_line(tmp_path, monkeypatch, options, words):
    (tmp_path / "short").write_text("secret\n")
    (tmp_path / "empty").write_text("\n")
    monkeypatch.chdir(tmp_path)
    assert lycosa("ui", tmp_path, "--no-browser", "--port", 0, *options).is_one_clear_line(2, *words)
