"""`lycosa demo`: three strategies crawl a synthetic web, side by side."""

import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import expm1
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from lycosa import api
from lycosa.cli.crawl_display import run_and_show
from lycosa.cli.options import shell_command
from lycosa.cli.progress import Progress
from lycosa.recipe import DEFAULT_STRATEGY, Recipe, uses_standing
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import read_regular_file
from lycosa.vocabulary.hosts import is_reserved
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import hostname_of
from lycosa_lab.worlds.server import WorldServer
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_lab.worlds.synthetic.vocabulary import TOPICS

STRATEGIES = tuple(dict.fromkeys((DEFAULT_STRATEGY, "best-first", "breadth-first")))
WORLD = {"pages": 40_000, "sites": 800, "topics": 24}
GOOD_EXAMPLES, BAD_EXAMPLES = 20, 40
MAX_BAR_LENGTH = 40  # characters
_MAX_EXAMPLES_SIZE = 100_000  # bytes


@dataclass(frozen=True)
class CrawlResult:
    """The result of a crawl, by the ground truth of the made-up web."""

    stored: int
    on_topic: int
    in_links: float  # of its pages on the topic: exp(mean of ln(1 + in-links)) - 1


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the collections go.")] = Path("demo"),
    pages: Annotated[int, typer.Option(metavar="N", min=50, max=1500, help="Pages to crawl.")] = 500,
    topic: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(TOPICS)}.")] = "beekeeping",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another number makes another web.")] = 1,
) -> None:
    """See Lycosa at work. Three strategies crawl a made-up web on this machine, side by side."""
    if topic not in TOPICS:
        raise UsageError(f"no topic {topic!r}; there are {', '.join(TOPICS)}")
    _remove_earlier([out / strategy for strategy in STRATEGIES])
    world = SyntheticWorld(seed=seed, **WORLD)
    on_topic = [url for url in world.urls() if _is_about(world, url, topic)]
    rng = random.Random(seed)
    good = rng.sample(on_topic, GOOD_EXAMPLES)
    bad = rng.sample([url for url in world.urls() if not _is_about(world, url, topic)], BAD_EXAMPLES)
    typer.echo(
        f"A made-up web: {len(world)} pages on {len(world.hosts)} hosts, {len(on_topic)} of them about {topic}.\n"
        f"Lycosa learns the topic from {len(good)} pages on it and {len(bad)} on others, and crawls {pages} pages"
        f" with each strategy."
    )
    results: dict[str, CrawlResult] = {}
    with WorldServer(world) as served:
        for strategy in STRATEGIES:
            folder = api.new(out / strategy, examples=good, negatives=bad)
            typer.echo(f"\n{strategy}:")
            crawl = api.crawl(
                folder, strategy=strategy, pages=pages, delay=0.0, concurrency=16, resolve=[served.resolve]
            )
            with Progress() as progress:
                is_interrupted = run_and_show(crawl, progress=progress, quiet=True)
            if is_interrupted:
                raise KeyboardInterrupt
            results[strategy] = _crawl_result(folder, world, topic)
    _compare(results, topic)
    _print_next_commands(out / STRATEGIES[0], TOPICS[topic][0])


def _is_about(world: SyntheticWorld, url: Url, topic: str) -> bool:
    return (world.topic(url) or "").endswith(f"/{topic}")


def _remove_earlier(folders: Sequence[Path]) -> None:
    """Removes the collections of an earlier demo; UsageError if one of the folders holds anything else."""
    earlier = [folder for folder in folders if folder.is_dir() and any(folder.iterdir())]
    for folder in earlier:
        if not _is_of_demo(folder):
            raise UsageError(f"{folder} is there already, and not from an earlier demo; give another folder with --out")
    for folder in earlier:
        shutil.rmtree(folder)


def _is_of_demo(folder: Path) -> bool:
    """Whether all examples of a collection are on made-up hosts."""
    try:
        examples = read_regular_file(folder / "examples" / "good.txt", _MAX_EXAMPLES_SIZE).decode().split()
    except (OSError, UnicodeDecodeError):
        return False
    return bool(examples) and all(url.startswith("http://") and is_reserved(hostname_of(url)) for url in examples)


def _crawl_result(folder: Path, world: SyntheticWorld, topic: str) -> CrawlResult:
    with api.open(folder) as collection:
        stored = [page.url for page in collection]
    on_topic = [url for url in stored if _is_about(world, url, topic)]
    log_in_links = [world.log_in_links(url) or 0.0 for url in on_topic]  # ln(1 + in-links)
    return CrawlResult(len(stored), len(on_topic), expm1(fmean(log_in_links)) if log_in_links else 0.0)


def _compare(results: Mapping[str, CrawlResult], topic: str) -> None:
    typer.echo(f"\non the topic, by what the made-up web itself says is about {topic}:")
    for name, result in results.items():
        share = result.on_topic / result.stored if result.stored else 0.0
        bar = "█" * round(MAX_BAR_LENGTH * share)
        typer.echo(f"  {name:14} {share:6.1%}  {bar}  {result.on_topic} of {result.stored} pages")
    typer.echo("\nimportance of those pages: links that lead to them from everywhere, geometric mean:")
    highest = max(result.in_links for result in results.values()) or 1.0
    for name, result in results.items():
        typer.echo(f"  {name:14} {result.in_links:6.1f}  {'█' * round(MAX_BAR_LENGTH * result.in_links / highest)}")
    for line in _why_not_first(results, DEFAULT_STRATEGY):
        typer.echo(f"\n{line}")


def _why_not_first(results: Mapping[str, CrawlResult], default: str) -> list[str]:
    """Why the default strategy is behind another one, by pages on the topic or by their importance."""
    lines, weighs_standing = [], uses_standing(Recipe(strategy=default))
    most_on_topic = max(results, key=lambda name: results[name].on_topic)
    if results[most_on_topic].on_topic > results[default].on_topic:
        explanation = ", which weighs importance too: --target 1 is for the topic alone" * weighs_standing
        lines.append(f"{most_on_topic} found more pages on the topic than {default}{explanation}.")
    most_linked = max(results, key=lambda name: results[name].in_links)
    if results[most_linked].in_links > results[default].in_links:
        explanation = ", which looks only at the topic" * (not weighs_standing)
        lines.append(f"The pages that {most_linked} found are more important than those of {default}{explanation}.")
    return lines


def _print_next_commands(folder: Path, word: str) -> None:
    with api.open(folder) as collection:
        best = next(collection.pages("relevance", limit=1))
        report = collection.write_report()
    commands = [
        shell_command("search", folder, word),
        shell_command("explain", folder, best.url),
        shell_command("show", folder),
        shell_command("new", "mine", "--examples", "pages-you-like.txt"),
        shell_command("ui", folder.parent),
    ]
    typer.echo(f"\nreport       {report}\ncollection   {folder}")
    for head, line in zip_longest(("next",), commands, fillvalue=""):
        typer.echo(f"{head:12} {line}")
