"""Pictures of the screens, of the collections that `lycosa demo` makes: docs/pictures/screen-*.png.

    lycosa demo && python docs/pictures/screens.py demo

Adds to them what the demo lacks: an atlas, a study, a refresh of the made-up web as it is a month later, and a group of
peers. Needs playwright and chromium: make browser.
"""

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from lycosa_lab.cli.demo import WORLD
from lycosa_lab.worlds.server import WorldServer
from lycosa_lab.worlds.synthetic import SyntheticWorld

HERE = Path(__file__).parent
PATHS = {
    "collections": "/",
    "overview": "/c/best-first",
    "search": "/c/hunter/search?q=honey+hive",
    "crawl": "/c/best-first/crawl",
    "teach": "/c/best-first/teach",
    "frontier": "/c/best-first/frontier",
    "compare": "/compare?one=hunter&other=best-first",
    "refresh": "/c/hunter/refresh?kind=changed",
    "export": "/c/hunter/export",
    "new": "/new",
    "map": "/maps/atlas",
    "study": "/studies/freshness",
}
LINKED = {  # pictures of screens that links lead to: the screen with the first link, and what to click
    "page": ("search", "a.item"),
    "versions": ("refresh", "text=what changed"),
    "neighbours": ("search", "a.item", "text=pages that link here"),
}
PEERS = ["breadth-first", "best-first", "hunter"]  # the first asks the others
ASKED = "nectar swarm queen drone"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
LYCOSA = [sys.executable, "-m", "lycosa"]
REQUESTS = 100  # of the refresh
DAYS = 30.0  # after the crawl


def prepare(folder: Path) -> None:
    """Makes the atlas, the study and the refresh that are not there yet."""
    if not (folder / "atlas").exists():
        collections = [str(folder / name) for name in ("hunter", "best-first")]
        _run("map", "build", *collections, "--out", str(folder / "atlas"), "--for", "bees")
    if not (folder / "freshness").exists():
        _run("lab", "run", "freshness", "--out", str(folder / "freshness"))
    shown = subprocess.run([*LYCOSA, "show", str(folder / "hunter")], check=True, stdout=subprocess.PIPE, text=True)
    if " 0 rechecked" in shown.stdout:
        with WorldServer(SyntheticWorld(seed=1, **WORLD).at(DAYS)) as served:
            options = ("--budget", str(REQUESTS), "--delay", "0", "--resolve", served.resolve)
            _run("refresh", str(folder / "hunter"), *options)


@contextlib.contextmanager
def peers(folder: Path) -> Iterator[None]:
    """Serves the collections to each other, in a group; returns when the first knows the others."""
    secret = folder / "friends.secret"
    if not secret.exists():
        subprocess.run([*LYCOSA, "peer", "group", str(secret)], check=True, stdout=subprocess.DEVNULL)
    with contextlib.ExitStack() as stack:
        joined: list[str] = []
        for name in reversed(PEERS):
            words = [*LYCOSA, "peer", "serve", str(folder / name), "--listen", "127.0.0.1:0", "--allow-private"]
            command = [*words, "--group", str(secret), *joined]
            served = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(served.terminate)
            place = re.match(r"\w+@(\S+) serves", served.stdout.readline())[1]
            joined += ["--join", place]
        search = [*LYCOSA, "peer", "search", str(folder / PEERS[0]), ASKED, "--json"]
        subprocess.run(search, check=True, stdout=subprocess.DEVNULL)  # connects to those that it joins
        yield


def _run(*words: str) -> None:
    subprocess.run([*LYCOSA, *words, "--quiet"], check=True, stdout=subprocess.DEVNULL)


def main(folder: str) -> None:
    prepare(Path(folder))
    words = [*LYCOSA, "ui", folder, "--port", "0", "--no-browser"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        try:
            address = re.search(r"http://\S+", server.stderr.readline())[0]
            base = address.partition("/?")[0]
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(address)
            page.wait_for_selector("ul.cards")
            for name, path in PATHS.items():
                page.goto(base + path)
                page.screenshot(path=HERE / f"screen-{name}.png")
            for name, (path, *links) in LINKED.items():
                page.goto(base + PATHS[path])
                for link in links:
                    page.click(link)
                page.wait_for_url(f"**/{name}?**")
                page.wait_for_load_state("load")
                page.screenshot(path=HERE / f"screen-{name}.png")
            with peers(Path(folder)):
                page.goto(f"{base}/c/{PEERS[0]}/peers")
                page.fill("[name=q]", ASKED)
                page.keyboard.press("Enter")
                page.wait_for_selector("text=answered by")
                page.screenshot(path=HERE / "screen-peers.png", full_page=True)
            browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
