"""Collections on beekeeping in a made-up web, for stories of how much their pages matter."""

from pathlib import Path

from crawling import Said, collection, done, listing
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

WORLD = PracticeWeb(seed=4, hosts=8, pages=240)
ON_TOPIC = [url for url in WORLD.urls() if WORLD.topic(url) == "beekeeping"]


def made(folder: Path, *, standing: str = "") -> Path:
    """A collection that learns its topic from twenty pages; `standing` are lines of that section of its recipe."""
    folder = collection(folder, [WORLD.front_page], topic='examples = "good.txt"', rest=f"[standing]\n{standing}\n")
    listing(folder / "good.txt", ON_TOPIC[:20])
    return folder


def crawled(folder: Path, served: WorldServer, *words: object) -> Said:
    """A crawl that weighs relevance against standing."""
    how = ("--strategy", "adaptive", "--delay", 0, "--resolve", served.resolve, "--allow-private")
    return done("crawl", folder, "--pages", 60, *how, *words)
