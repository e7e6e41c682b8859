"""What the screens cost: searches of a large collection, the weight of each screen, the server's memory; and what a
crawl pays for screens that are open.

    python benchmarks/screens.py --pages 100000                      makes the collection, then measures
    python benchmarks/screens.py --folder FOLDER                     of a folder that was made before
    python benchmarks/screens.py --folder FOLDER --paint             when a browser paints them; needs `make browser`
    python benchmarks/screens.py --crawl --crawl-pages 1000 --rounds 3

Searches are timed by the server, in milliseconds on the clock and of its processor; crawls by their processor time a
page, in rounds with and without three open screens that take turns.
"""

import argparse
import http.client
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from lycosa.collection.events import RunStart
from lycosa.recipe import load_recipe
from lycosa.run.open import open_collection, reader_of
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from measure import LYCOSA, cost_of, lycosa_command, make_collection, say, scratch
from world import ServedWorld, World, serving

NAME = "bench"
SEARCHES = 20  # of each kind
OPEN = 3  # screens beside a crawl
PAINTS = 5  # of each screen
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WORDS = 40  # of a page of the large collection
LINKS = 2
_TICKS = os.sysconf("SC_CLK_TCK")


class Answer(NamedTuple):
    status: int
    body: bytes
    cpu: float  # milliseconds of the server's processor


class Screens:
    """A server of screens as a process of its own."""

    def __init__(self, folder: Path):
        words = [*LYCOSA, "ui", str(folder), "--port", "0", "--no-browser"]
        self._process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", self._process.stderr.readline())
        if found is None:
            sys.exit("the screens did not start")
        self.address, self.port, self._token = found[0], int(found[1]), found[2]

    def get(self, path: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        before = self._cpu()
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return Answer(answer.status, body, 1e3 * (self._cpu() - before))

    def watch(self, path: str, is_over: threading.Event) -> None:
        """Reads the events of a screen until it is over, as a browser does."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
        answer = connection.getresponse()
        while not is_over.is_set() and answer.readline():
            pass
        connection.close()

    def most_memory(self) -> float:
        """MB held at most."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()


@contextmanager
def screens_of(folder: Path) -> Iterator[Screens]:
    screens = Screens(folder)
    try:
        yield screens
    finally:
        screens.close()


def make_large(root: Path, pages: int) -> Path:
    """A collection of so many pages, written by the collection's own writer, with its search index."""
    folder = root / NAME
    seed = root / "seeds.txt"
    seed.write_text("http://host0.example/0.html\n")
    command = [*LYCOSA, "new", str(folder), "--topic", "honey bees and their hives", "--seeds", str(seed)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    chance, clock = random.Random(1), WallClock()
    words = [f"{['honey', 'bee', 'hive', 'swarm'][n % 4]}{n}" if n % 9 == 0 else f"w{n:x}o" for n in range(6_000)]
    frequent = ["honey", "bees", "hive", *words]
    weights = [1 / (rank + 2) for rank in range(len(frequent))]
    reader = reader_of(load_recipe(folder))
    urls = [Url(f"http://host{number % 500}.example/{number}.html") for number in range(pages)]
    with open_collection(folder, clock=clock, reader=reader, writable=True) as collection:
        collection.record(RunStart(clock.now(), "hunter", (urls[0],)))
        for number, url in enumerate(urls):
            text = " ".join(chance.choices(frequent, weights, k=WORDS))
            links = "".join(f'<a href="{urls[chance.randrange(pages)]}">page</a>' for _ in range(LINKS))
            title = " ".join(chance.choices(frequent, weights, k=4))
            html = f"<html lang=en><title>{title}</title><body><p>{text}</p>{links}</body></html>".encode()
            fetch = Fetch(
                url,
                Outcome.OK,
                clock.now(),
                200,
                "OK",
                headers=(("Content-Type", "text/html"),),
                body=html,
                content=html,
            )
            candidate = Candidate(url, chance.random(), urls[max(0, number - 1)], "page", {}, depth=3)
            collection.record(
                Visit(candidate, fetch, reader(fetch), relevance=chance.random(), standing=chance.random())
            )
            if number % 1_000 == 999:
                collection.checkpoint()
            if number % 10_000 == 9_999:
                say(f"  {number + 1} pages written")
    return folder


QUERIES = {  # what is searched for, and how
    "one frequent word": {"q": "honey"},
    "two words": {"q": "honey hive"},
    "a rare word": {"q": "bee999"},
    "a phrase": {"q": '"honey bees"'},
    "a word being typed": {"q": "hon", "typed": "1"},
    "the hundredth page": {"q": "honey", "page": "100"},
    "of a host": {"q": "honey", "host": "host7.example"},
    "of some relevance": {"q": "honey", "min_relevance": "0.8"},
    "sorted by date": {"q": "honey", "order": "newest"},
    "no query": {},
    "no query, sorted by date": {"order": "newest"},
}


def measure_screens(root: Path) -> None:
    with screens_of(root) as screens:
        for _ in range(2):
            screens.get(f"/api/collections/{NAME}/search?q=honey")  # opened, and in the cache of the disk
        print(f"{'search':28}{'ms, median':>12}{'ms, most':>10}{'CPU ms':>8}")
        for what, asked in QUERIES.items():
            times, cpu = [], 0.0
            for _ in range(SEARCHES):
                answer = screens.get(f"/api/collections/{NAME}/search?{urlencode(asked)}")
                times.append(msgspec.json.decode(answer.body)["milliseconds"])
                cpu += answer.cpu
            print(f"{what:28}{statistics.median(times):12.1f}{max(times):10.1f}{cpu / SEARCHES:8.1f}", flush=True)
        print(f"\nserver: {screens.most_memory():.0f} MB after searches")
        static = sum(len(screens.get(f"/static/{name}").body) for name in ("screens.css", "screens.js", "icon.svg"))
        print(f"\n{'screen, with style and script':52}{'KB':>6}{'CPU ms':>8}")
        for path in screen_paths(screens):
            answer = screens.get(path)
            size = (len(answer.body) + static) / 1000
            print(f"{path[:50]:52}{size:6.0f}{answer.cpu:8.0f}{'' if answer.status == 200 else f'  {answer.status}'}")
        began = time.monotonic()
        exported = screens.get(f"/c/{NAME}/export/file?format=csv")
        print(
            f"\nexport: {len(exported.body) / 1e6:.0f} MB, {time.monotonic() - began:.0f} s, {exported.cpu:.0f} CPU ms"
        )
        print(f"server: {screens.most_memory():.0f} MB at most")


def measure_paints(root: Path) -> None:
    """Seconds until a browser, with a profile of its own for each screen, paints text or a chart first."""
    from playwright.sync_api import sync_playwright

    first_paint = "performance.getEntriesByName('first-contentful-paint').map(each => each.startTime)"
    with screens_of(root) as screens, sync_playwright() as playwright:
        path = next(path for name in BROWSERS if (path := shutil.which(name)))
        browser = playwright.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox", "--disable-gpu"])
        print(f"{'screen':52}{'ms, median':>12}{'ms, most':>10}")
        for path in screen_paths(screens):
            times = []
            for _ in range(PAINTS):
                page = browser.new_page()
                page.goto(screens.address)
                page.wait_for_selector("h1")
                page.goto(f"http://127.0.0.1:{screens.port}{path}")
                while not (found := page.evaluate(first_paint)):
                    page.wait_for_timeout(10)
                times += found
                page.close()
            print(f"{path[:50]:52}{statistics.median(times):12.0f}{max(times):10.0f}", flush=True)
        browser.close()


def screen_paths(screens: Screens) -> list[str]:
    """The screens of the collection and of its folder."""
    found = msgspec.json.decode(screens.get(f"/api/collections/{NAME}/search?q=honey").body)["hits"]
    url, base = quote(found[0]["url"], ""), f"/c/{NAME}"
    paths = ["/", base, f"{base}/search?q=honey", f"{base}/page?url={url}", f"{base}/neighbours?url={url}"]
    paths += [f"{base}/{each}" for each in ("crawl", "refresh", "teach", "frontier", "export")]
    return [*paths, f"/compare?one={NAME}&other={NAME}", "/maps", "/studies", "/new"]


def measure_crawls(pages: int, rounds: int, limit: float) -> None:
    """Crawls with and without open screens, in turns."""
    costs: dict[int, list[float]] = {0: [], OPEN: []}
    with serving(max(2_000, 2 * pages)) as served:
        for number in range(2 * rounds):
            opened = (0, OPEN)[(number + number // 2) % 2]  # 0 3 3 0 0 3 …
            costs[opened].append(_crawl(served.world(), served, pages, opened, limit))
            say(f"  {opened} screens: {costs[opened][-1]:.2f} CPU ms a page")
    medians = {opened: statistics.median(each) for opened, each in costs.items()}
    print(f"crawl, CPU ms a page: {medians[0]:.2f} alone, {medians[OPEN]:.2f} with {OPEN} screens open; ", end="")
    print(f"ratio {medians[OPEN] / medians[0]:.3f} (medians of {rounds} rounds)")


def _crawl(world: World, served: ServedWorld, pages: int, opened: int, limit: float) -> float:
    with scratch() as folder:
        make_collection(folder, world, negatives=True)
        with screens_of(folder) as screens:
            is_over = threading.Event()
            watchers = [
                threading.Thread(target=screens.watch, args=(f"/c/{NAME}/events", is_over)) for _ in range(opened)
            ]
            for each in watchers:
                each.start()
            cost = cost_of(lycosa_command(pages, ""), served, limit=limit, folder=folder, say=say)
            is_over.set()
            for each in watchers:
                each.join()
        return cost.cpu_per_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="with a collection that was made before, or to make it in")
    parser.add_argument("--paint", action="store_true", help="measure when a browser paints the screens, and no more")
    parser.add_argument("--crawl", action="store_true", help="measure what a crawl pays for open screens, and no more")
    parser.add_argument("--crawl-pages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one crawl")
    options = parser.parse_args()
    if options.crawl:
        measure_crawls(options.crawl_pages, options.rounds, options.limit)
        return
    with scratch() as temporary:
        root = options.folder or temporary
        root.mkdir(exist_ok=True)
        if not (root / NAME).exists():
            make_large(root, options.pages)
        (measure_paints if options.paint else measure_screens)(root)


if __name__ == "__main__":
    main()
