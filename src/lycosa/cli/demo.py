import random
import shutil
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from lycosa.recipe import FILE_NAME, load_recipe
from lycosa.sessions.making import make_collection
from lycosa.sessions.opening import open_for_reading
from lycosa.sessions.settings import Settings
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.worlds.made_up import MadeUpWeb
from lycosa.worlds.serve import Served
from lycosa.worlds.words import TOPICS

from .options import program
from .progress import Progress
from .report import write_report
from .watching import run

EXAMPLES = 20


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the two collections go.")] = Path("demo"),
    pages: Annotated[int, typer.Option(metavar="N", min=50, max=1500, help="Pages to crawl.")] = 500,
    topic: Annotated[str, typer.Option(metavar="NAME", help="One of the made-up web's topics.")] = "beekeeping",
    seed: Annotated[int, typer.Option(metavar="N", help="Another number makes another web.")] = 1,
) -> None:
    """See a focused crawl at work. It crawls a made-up web on this machine, next to a breadth-first crawl."""
    world = MadeUpWeb(seed=seed)
    if topic not in world.topics:
        raise UsageError(f"no topic {topic!r}; there are {', '.join(world.topics)}")
    on_topic = [url for url in world.urls() if world.topic(url) == topic]
    examples = random.Random(seed).sample(on_topic, EXAMPLES)
    typer.echo(
        f"A made-up web: {len(world.urls())} pages on {len(world.hosts)} hosts, "
        f"{len(on_topic)} of them about {topic}.\n"
        f"Lycosa learns the topic from {EXAMPLES} example pages and crawls {pages} pages from the front page."
    )
    found: dict[str, tuple[int, int]] = {}
    with Served(world) as served:
        for name, strategy in (("focused", "best-first"), ("breadth-first", "breadth-first")):
            folder = _fresh(out / name)
            _make(folder, examples, world.front_page)
            typer.echo(f"\n{name} ({strategy}):")
            recipe = load_recipe(folder)
            recipe = replace(
                recipe,
                strategy=strategy,
                requests=replace(recipe.requests, delay=0.0, concurrency=16),
                stop=replace(recipe.stop, pages=pages),
            )
            with Progress() as progress:
                run(folder, recipe, Settings(resolve=(served.resolve,)), progress=progress, quiet=True)
            with open_for_reading(folder) as collection:
                stored = [page.url for page in collection.catalog.pages()]
            found[name] = sum(world.topic(url) == topic for url in stored), len(stored)
    _compare(found, topic)
    _say_what_next(out / "focused", TOPICS[topic][0])


def _say_what_next(folder: Path, word: str) -> None:
    with open_for_reading(folder) as collection:
        best = next(collection.catalog.pages("relevance", limit=1))
    commands = [
        f"search {folder} {word}",
        f"explain {folder} {best.url}",
        f"show {folder}",
        "new mine --examples pages-you-like.txt",
    ]
    typer.echo(f"\nreport       {write_report(folder)}\ncollection   {folder}")
    for head, command in zip_longest(("next",), commands, fillvalue=""):
        typer.echo(f"{head:12} {program()} {command}")


def _fresh(folder: Path) -> Path:
    if (folder / FILE_NAME).exists():
        shutil.rmtree(folder)
    return folder


def _make(folder: Path, examples: list[Url], front_page: Url) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    files = {"examples": folder.parent / "examples.txt", "seeds": folder.parent / "seeds.txt"}
    files["examples"].write_text("".join(f"{url}\n" for url in examples), encoding="utf-8")
    files["seeds"].write_text(f"{front_page}\n", encoding="utf-8")
    make_collection(folder, examples=files["examples"], seeds=files["seeds"])


def _compare(found: dict[str, tuple[int, int]], topic: str) -> None:
    typer.echo(f"\nharvest rate, by what the made-up web itself says is about {topic}:")
    for name, (good, stored) in found.items():
        share = good / stored if stored else 0.0
        typer.echo(f"  {name:14} {share:6.1%}  {'█' * round(40 * share)}  {good} of {stored} pages")
