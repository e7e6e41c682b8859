"""Pictures of the screens, of the collections that `lycosa demo` makes: docs/pictures/screen-*.png.

    lycosa demo && python docs/pictures/screens.py demo

Needs playwright and chromium: make browser.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PATHS = {
    "collections": "/",
    "overview": "/c/best-first",
    "search": "/c/hunter/search?q=honey+hive",
    "crawl": "/c/best-first/crawl",
    "teach": "/c/best-first/teach",
    "frontier": "/c/best-first/frontier",
    "compare": "/compare?one=hunter&other=best-first",
    "refresh": "/c/hunter/refresh",
    "export": "/c/hunter/export",
    "new": "/new",
}
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def main(folder: str) -> None:
    words = [sys.executable, "-m", "lycosa", "ui", folder, "--port", "0", "--no-browser"]
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
            page.goto(base + PATHS["search"])
            page.click("a.item")
            page.wait_for_load_state("load")
            page.screenshot(path=HERE / "screen-page.png")
            browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
