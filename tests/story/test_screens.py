"""The screens in a real browser: found, read, judged; and what a hostile page or site can do there."""

import contextlib
import re
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import Popen
from urllib.parse import quote

import pytest
import uvicorn

from crawling import PATIENCE, begin, collection, kill, rows, wait_until
from lycosa.run.review import read_sample
from lycosa.run.steering import read_steering
from lycosa.run.topic import read_labels
from lycosa.screens.access_control import ScreenAccess
from lycosa.screens.app import make_app
from lycosa.screens.crawls import Crawls
from lycosa.screens.library import Library
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.server import WorldServer
from lycosa_lab.worlds.synthetic import SyntheticWorld
from screens.serving import WORLD, folder_of_collections
from screens.test_safety import GETS, SCREENS
from story.test_hostile_text import HOME

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [  # it asks nobody but the screens, and needs no rights that a container does not have
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; run: make browser")
    if CHROMIUM is None:
        pytest.skip("there is no chromium; run: make browser")
    with playwright.sync_playwright() as started:  # each launch has a new profile, in a folder that it deletes
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A folder, and the secret address of its screens."""
    root = folder_of_collections(tmp_path_factory.mktemp("ui"))
    server = begin("ui", root, "--port", 0, "--no-browser")
    try:
        yield root, re.search(r"http://\S+", server.stderr.readline())[0]
    finally:
        kill(server)


@pytest.fixture
def page(chromium, served):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page.goto(served[1])
    _wait_for_screen(page, "ul.cards")
    yield page
    context.close()


def _wait_for_screen(page, selector):
    """Waits for a screen that has such an element, and for its script: from then on keys do what they say."""
    page.wait_for_selector(selector)
    page.wait_for_load_state()


def test_a_page_is_found_read_and_judged_by_the_keyboard(served, page):
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    _wait_for_screen(page, "svg.chart")
    page.keyboard.press("/")
    page.keyboard.type("hives")
    page.keyboard.press("Enter")
    _wait_for_screen(page, "ol.hits a.item")
    page.keyboard.press("Control+A")
    page.keyboard.type("percen")  # a word that is being typed
    page.wait_for_selector("ol.hits:not(:has(li + li)) a.item")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    _wait_for_screen(page, "ol.way li.here")
    assert page.locator("ol.way > li").count() == 2
    assert page.locator("ul.factors").count() == 1
    page.keyboard.press("y")
    page.wait_for_selector("[role=status]")
    assert read_labels(served[0] / "bees") == {f"{HOME}percent": True}
    base = served[1].partition("/?")[0]
    assert [url for url in asked if not url.startswith(f"{base}/")] == []
    assert [each for each in complaints if not each.startswith("Blocked script execution")] == []  # of the stored copy


TAB_IN_VIEW = """() => [...document.querySelectorAll(".bar nav [aria-current]")].every((tab) => {
  const box = tab.getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth;
})"""


KEYS_BESIDE_THEIR_TEXTS = """() => [...document.querySelectorAll(".key")].every((key) => {
  const text = document.createRange();
  text.selectNodeContents(key.nextSibling);
  const [box, line] = [key.getBoundingClientRect(), text.getClientRects()[0]];
  return line.top < box.bottom && box.top < line.bottom && line.left >= box.right;
})"""


@pytest.mark.parametrize("width", [360, 1024, 1440])
def test_no_screen_is_wider_than_the_window(served, page, width):
    base = served[1].partition("/?")[0]
    page.set_viewport_size({"width": width, "height": 800})
    for path in SCREENS:
        page.goto(base + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(TAB_IN_VIEW), path
        assert page.evaluate(KEYS_BESIDE_THEIR_TEXTS), path


@pytest.mark.parametrize("route", ["/c/{name}/page", "/c/{name}/neighbours", "/compare", "/c/{name}/frontier", "/maps"])
def test_j_and_k_move_through_the_list_of_every_screen(served, page, route):
    page.goto(served[1].partition("/?")[0] + GETS[route])
    page.keyboard.press("j")
    address = page.evaluate("document.activeElement.href")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.href") == address
    page.keyboard.press("Enter")
    page.wait_for_url(address)


LACKING = """() => {
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((each) => each / 255)
      .map((each) => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!colour.includes("rgba(0, 0, 0, 0)")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const named = (element) => (element.textContent || "").trim() || element.getAttribute("aria-label") || element.title
    || element.labels && element.labels.length;
  const lacking = [];
  for (const element of document.querySelectorAll("main *, header *, footer *")) {
    const style = getComputedStyle(element);
    if (element.closest("svg") || style.visibility === "hidden" || !element.getClientRects().length) continue;
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (hasText) {
      const [one, other] = [luminance(style.color), luminance(paper(element))].sort((a, b) => b - a);
      const isLarge = parseFloat(style.fontSize) >= 24;
      const isFaint = (one + 0.05) / (other + 0.05) < (isLarge ? 3 : 4.5);
      if (isFaint) lacking.push(`contrast: ${element.outerHTML.slice(0, 90)}`);
    }
    if (element.matches("a, button, select, textarea, input:not([type=hidden])") && !named(element))
      lacking.push(`name: ${element.outerHTML.slice(0, 90)}`);
    if (element.matches("a, button, select, textarea, input:not([type=hidden])") && element.tabIndex < 0)
      lacking.push(`keyboard: ${element.outerHTML.slice(0, 90)}`);
  }
  for (const image of document.querySelectorAll("img:not([alt]), iframe:not([title]), svg[role=img]:not(:has(title))"))
    lacking.push(`name: ${image.outerHTML.slice(0, 90)}`);
  if (document.querySelectorAll("h1").length !== 1 || !document.documentElement.lang) lacking.push("one h1, and lang");
  return lacking;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_can_be_read_and_is_reached_by_the_keyboard(served, page, scheme):
    """Contrast of at least 4.5 (AA); all that can be pressed or filled in has a name, and is in the tab order."""
    base = served[1].partition("/?")[0]
    page.emulate_media(color_scheme=scheme)
    for path in SCREENS:
        page.goto(base + path)
        assert page.evaluate(LACKING) == [], path


WEIGHT = 200_000  # bytes of a screen with all that it loads, but for the stored copy of a page


def test_no_screen_weighs_more_than_it_may_or_asks_anybody_else(served, page):
    base = served[1].partition("/?")[0]
    loaded = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    for path in SCREENS:
        page.goto(base + path)
        parts = page.evaluate(f"{loaded}.map(each => [each.name, each.decodedBodySize])")
        assert [name for name, _ in parts if not name.startswith(f"{base}/")] == []
        assert 0 < sum(size for name, size in parts if "/stored?" not in name) < WEIGHT, path


def test_a_stored_page_runs_nothing_and_asks_nobody(served, page):
    dialogs, asked = [], []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    base = served[1].partition("/?")[0]
    stored = f"{base}/c/bees/stored?url={quote(HOME + 'markup', safe='')}"
    page.goto(f"{base}/c/bees/page?url={quote(HOME + 'markup', safe='')}")
    framed = page.frame_locator("iframe")
    framed.locator("h1").wait_for()
    framed.get_by_text("x", exact=True).first.click()  # its link is javascript:
    assert page.evaluate("document.querySelector('iframe').contentDocument") is None  # an origin of its own
    with page.expect_console_message(lambda message: "frame-src" in message.text):
        framed.locator(f"a[href^='{HOME}more']").click()  # the policy of the screen keeps the frame from going there
    page.goto(stored)
    assert page.evaluate("self.origin") == "null"
    assert dialogs == []
    assert [url for url in asked if not url.startswith(f"{base}/")] == []
    assert "alert(9)" in WORLD[f"{HOME}markup"].decode()


class _Evil(BaseHTTPRequestHandler):
    """Another server of the machine, whose page tries to frame, to read and to post."""

    target = ""

    def do_GET(self):
        html = (
            f"<!doctype html><iframe id=f src='{self.target}/'></iframe><form id=p method=post target=t"
            f" action='{self.target}/c/bees/label'><input name=url value='{HOME}plus'><input name=label value=bad>"
            f"</form><iframe name=t></iframe><script>var read = fetch('{self.target}/api/collections', {{credentials:"
            "'include'}).then(a => a.text()).catch(e => 'refused'); document.getElementById('p').submit()</script>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(html)

    def log_message(self, *_):
        pass


def test_a_result_that_is_pressed_while_others_arrive_is_opened(served, page):
    held = []
    page.goto(f"{served[1].partition('/?')[0]}/c/bees/search?q=honey")
    page.route("**/search?*part=1*", lambda route: held.append(route))
    with page.expect_request("**/search?*part=1*"):
        page.fill("[name=q]", "percent")
    wait_until(lambda: page.evaluate("true") and held)
    page.hover("ol.hits a.item >> nth=0")
    page.mouse.down()
    with page.expect_response("**/search?*part=1*") as answered:
        held[0].continue_()
    answered.value.finished()
    page.mouse.up()
    page.wait_for_selector("ol.way li.here")


STUBBED_EVENTS = "window.EventSource = class { constructor() { window.source = this; } close() {} };"
DRAW_ANEW = """() => {
  const html = document.getElementById("live").innerHTML;
  source.onmessage({ data: JSON.stringify(html + "<p id=anew></p>") });
}"""


def test_a_number_that_was_typed_is_kept_when_a_live_screen_is_drawn_anew(served, page):
    page.add_init_script(STUBBED_EVENTS)
    page.goto(f"{served[1].partition('/?')[0]}/c/bees/crawl")
    page.fill("[name=pages]", "777")
    page.keyboard.press("Tab")
    page.evaluate(DRAW_ANEW)
    page.wait_for_selector("#anew", state="attached")
    assert page.input_value("[name=pages]") == "777"
    assert page.evaluate("document.activeElement.value") == "start"


COUNTED_SUBMITS = """
  window.sent = 0;
  window.addEventListener("submit", (event) => { if (!event.defaultPrevented) sent += 1; event.preventDefault(); });
"""


def test_a_form_is_sent_once_and_its_screen_is_not_drawn_anew_before_the_answer(served, page):
    page.add_init_script(STUBBED_EVENTS)
    page.add_init_script(COUNTED_SUBMITS)  # no answer comes
    page.goto(f"{served[1].partition('/?')[0]}/c/bees/crawl")
    for _ in range(2):
        page.click("#live [value=start]")
    page.evaluate(DRAW_ANEW)
    assert (page.evaluate("sent"), page.query_selector("#anew")) == (1, None)
    page.keyboard.press("Escape")  # gives up
    page.evaluate(DRAW_ANEW)
    page.wait_for_selector("#anew", state="attached")
    page.click("#live [value=start]")
    assert page.evaluate("sent") == 2


def test_a_page_of_another_port_can_neither_frame_read_nor_post(served, page):
    root, address = served
    _Evil.target = address.partition("/?")[0]
    before = read_labels(root / "bees")
    with HTTPServer(("127.0.0.1", 0), _Evil) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{evil.server_port}/")
        assert page.evaluate("read") == "refused"
        page.wait_for_load_state("networkidle")
        texts = [frame.content() for frame in page.frames[1:]]
        evil.shutdown()
    assert all("Collections" not in text for text in texts)
    assert read_labels(root / "bees") == before


def test_a_collection_is_made_crawled_paused_taught_and_steered_in_the_browser(chromium, tmp_path):
    world = SyntheticWorld(seed=1, pages=40_000, sites=400, topics=8)  # more than is crawled before it is stopped

    def is_good(url: str) -> bool:
        return world.topic(Url(url)) == topic

    topic = world.topic(next(iter(world.urls())))
    good = [url for url in world.urls() if world.topic(url) == topic][:12]
    with _apart(WorldServer(world)) as served, _served_here(tmp_path, served.resolve) as (base, address):
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE * 1000)
        context.add_init_script(COUNTED_EVENTS)
        page = context.new_page()
        page.goto(address)
        page.click("text=New collection")
        page.fill("[name=name]", "bees")
        page.click("form.form button")
        assert "what is it about?" in page.inner_text("[role=alert]")
        page.fill("[name=examples]", good[0])
        file = {"name": "good.txt", "mimeType": "text/plain", "buffer": "\n".join(good[1:]).encode()}
        page.set_input_files("[data-into=examples]", file)
        wait_until(lambda: page.input_value("[name=examples]") == "\n".join(good))
        links = "".join(f"<DT><A HREF='{url}'>bees</A>" for url in [*good[:2], "javascript:alert(1)"])
        bookmarks = f"<!DOCTYPE NETSCAPE-Bookmark-file-1><DL>{links}<IMG SRC='http://elsewhere.example/'></DL>"
        page.fill("[name=examples]", "")
        page.set_input_files(
            "[data-into=examples]", {"name": "b.html", "mimeType": "text/html", "buffer": bookmarks.encode()}
        )
        wait_until(lambda: page.input_value("[name=examples]") == "\n".join(good[:2]))
        page.fill("[name=examples]", "\n".join(good))
        page.click("form.form button")
        page.wait_for_selector("[name=pages]")
        _crawl_on_when_the_harvest_dries_up(tmp_path / "bees")
        page.fill("[name=pages]", "100000")
        page.click("[value=start]")
        page.wait_for_selector("#live [value=pause]")
        _wait_for_screen(page, "#live svg.chart")  # drawn anew by events, and never loaded again
        page.keyboard.press("p")
        page.click("#live [value=resume]")
        _press_slowly(page, "#live [value=pause]")
        page.click("#live [value=resume]")
        page.wait_for_selector("#live [value=pause]")
        page.click("#live [value=stop]")
        page.wait_for_selector("#live [value=start]")
        drawn, said = {}, ""
        for _ in range(20):
            page.goto(f"{base}/c/bees/teach")
            url = page.inner_text(".question a.url")
            with page.expect_navigation():
                page.keyboard.press("y" if is_good(url) else "n")
            said = page.inner_text("main")
            drawn = {each.url: each.good for each in read_sample(tmp_path / "bees")}
        assert "Saved. Model retrained" in said
        assert drawn
        assert drawn == {url: is_good(url) for url in drawn}
        share = sum(drawn.values()) / len(drawn)
        assert f"{share:.0%}" in said.partition("Measured")[2]
        page.goto(f"{base}/c/bees/frontier")
        host = page.inner_text("aside li a >> nth=0")
        page.fill("[name=what]", host)
        page.click("[value=block]")
        page.wait_for_selector(f"text=blocked: {host}")
        _drop_the_first_host(page, base)
        stored = len(_urls(tmp_path / "bees"))
        page.goto(f"{base}/c/bees/crawl")
        page.fill("[name=pages]", "100000")
        page.click("#live [value=start]")
        page.wait_for_selector("#live [value=stop]")
        wait_until(lambda: len(_urls(tmp_path / "bees")) > stored)
        page.click("#live [value=stop]")
        page.wait_for_selector("#live [value=start]")
        _find_and_explain(page, base)
        _refresh(page, base, tmp_path / "bees")
        page.goto(f"{base}/c/bees/export")
        page.select_option("[name=format]", "urls")
        with page.expect_download() as download:
            page.click("text=Save")
        assert set(Path(download.value.path()).read_text().split()) == _urls(tmp_path / "bees")
        context.close()
    assert read_steering(tmp_path / "bees").blocked == (host,)


def _drop_the_first_host(page, base):
    """Drops what waits of the host that has most, which is then no longer among the hosts."""
    page.goto(f"{base}/c/bees/frontier")
    host, count = (page.inner_text(f"aside li {each} >> nth=0") for each in ("a", "span"))
    page.fill("[name=what]", f"*://{host}/*")
    page.click("[value=drop]")
    page.wait_for_selector(f"text=dropped: {count} URL")
    assert host not in page.locator("aside ul").first.locator("a").all_inner_texts()


def _crawl_on_when_the_harvest_dries_up(folder):
    recipe = folder / "lycosa.toml"
    text = recipe.read_text(encoding="utf-8")
    assert "# dry_after = 1000 " in text
    recipe.write_text(text.replace("# dry_after = 1000 ", "dry_after = 0 "), encoding="utf-8")


COUNTED_EVENTS = """
  window.received = 0;
  window.EventSource = class extends EventSource {
    constructor(...given) { super(...given); this.addEventListener("message", () => { window.received += 1; }); }
  };
"""


def _press_slowly(page, button):
    """Clicks a button of a live screen, and holds the mouse button down while updates arrive."""
    page.hover(button)
    page.mouse.down()
    received = page.evaluate("received")
    wait_until(lambda: page.evaluate("received") > received + 1)
    page.mouse.up()


def _urls(folder):
    return {url for (url,) in rows(folder, "SELECT url FROM pages")}


def _find_and_explain(page, base):
    """Searches for a word that is there, sorts the answers, and reads why the first was fetched."""
    page.goto(f"{base}/c/bees/search")
    word = re.search(r"\w{5,}", page.inner_text("ol.hits li >> nth=0 >> p"))[0]
    page.fill("[name=q]", word)
    page.wait_for_selector("ol.hits mark")
    page.select_option("[name=order]", "oldest")
    page.wait_for_url("**order=oldest**")
    page.click("ol.hits a.item >> nth=0")
    page.wait_for_selector("ol.way li.here")
    page.click("text=pages that link here")
    page.wait_for_selector("text=Linked from")


def _refresh(page, base, folder):
    """Sees some pages again, and reads what was found; the made-up web does not change."""
    page.goto(f"{base}/c/bees/refresh")
    page.fill("[name=requests]", "10")
    page.fill("[name=expand]", "0")
    page.click("[value=start]")
    wait_until(lambda: _runs_that_ended(folder) > 0)
    page.goto(f"{base}/c/bees/refresh")
    seen = dict(rows(folder, "SELECT change, count(*) FROM looks WHERE look > 1 GROUP BY 1"))
    assert sum(seen.values()) == 10
    kinds, counts = (page.locator(f"dl.figures {each}").all_inner_texts() for each in ("dt", "dd"))
    assert dict(zip(kinds, map(int, counts), strict=True)) == seen


def _runs_that_ended(folder):
    return rows(folder, "SELECT count(*) FROM runs WHERE refresh IS NOT NULL AND stopped_at IS NOT NULL")[0][0]


@contextlib.contextmanager
def _apart(server):
    """Opens and closes a server in another thread, as Playwright has a loop in this one."""
    with ThreadPoolExecutor(1) as other:
        opened = other.submit(server.__enter__).result()
        try:
            yield opened
        finally:
            other.submit(server.__exit__, None, None, None).result()


@contextlib.contextmanager
def _served_here(root, resolve):
    """The screens in this process, so that crawls that they start find a made-up web."""
    crawls = Crawls(launch=lambda words, **options: Popen([*words, "--resolve", resolve, "--delay", "0"], **options))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        application = make_app(Library(root), ScreenAccess(port), crawls=crawls)
        config = uvicorn.Config(application, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/?token={application.token}"
        finally:
            server.should_exit = True
            thread.join()
            crawls.close()


RUNNING = "li.card:has(a[href='/c/{}']) .state.running"


def test_two_crawls_run_at_a_time_and_the_collections_show_both(chromium, tmp_path):
    world = SyntheticWorld(seed=1, pages=40_000, sites=400, topics=8)  # more than is crawled before they are stopped
    seeds = sorted(world.urls())[:10]
    folders = [collection(tmp_path / name, seeds, rest="[stop]\ndry_after = 0\n") for name in ("bees", "wasps")]
    with _apart(WorldServer(world)) as served, _served_here(tmp_path, served.resolve) as (base, address):
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("ul.cards")
        for folder in folders:
            page.goto(f"{base}/c/{folder.name}/crawl")
            page.fill("[name=pages]", "100000")
            page.click("#live [value=start]")
            page.wait_for_selector("#live [value=stop]")
        wait_until(lambda: all(_stored(folder) for folder in folders))
        before = [_stored(folder) for folder in folders]
        page.goto(f"{base}/")
        assert [page.locator(RUNNING.format(folder.name)).count() for folder in folders] == [1, 1]
        wait_until(lambda: all(_stored(folder) > count for folder, count in zip(folders, before, strict=True)))
        page.goto(f"{base}/c/bees/crawl")
        page.click("#live [value=stop]")
        page.wait_for_selector("#live [value=start]")
        page.goto(f"{base}/")
        assert [page.locator(RUNNING.format(folder.name)).count() for folder in folders] == [0, 1]
        page.goto(f"{base}/c/wasps/crawl")
        page.click("#live [value=stop]")
        page.wait_for_selector("#live [value=start]")
        context.close()


def _stored(folder):
    """The number of pages in the catalog; 0 before there is one."""
    return len(_urls(folder)) if (folder / "catalog.sqlite").exists() else 0


def test_a_name_that_was_bent_to_this_machine_is_not_answered(served):
    port = int(re.search(r":(\d+)/", served[1])[1])
    token = served[1].rpartition("=")[2]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET /?token={token} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 421")
    assert b"set-cookie" not in answer.lower()
