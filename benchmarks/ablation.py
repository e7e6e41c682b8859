"""What does each part of `hunter` bring? Crawls with it and without it.

OMP_NUM_THREADS=1 python benchmarks/ablation.py WORLD [--held-out] [--dead-links] [--seeds 1,2] [--topics 20]
    [--parts "neighbours,host"] [--jobs 2] [--out FILE]

WORLD is what `lycosa lab run --world` takes. Crawls are whole ones, for the topics of the league: those for
development, or with --held-out the others; from five examples and from afar. Of a feature, the weight is set to 0. The
figure is the area under the harvest curve, as the league has it, and the difference that leaving a part out makes,
crawl by crawl, with its standard error. A part that brings something has a difference below 0. In the league, links to
pages that the world lacks are taken out; with --dead-links they stay, and requests for such pages count. With --out,
the areas of all crawls are written as JSON, from which `docs/studies/league.py` makes the table of the league's page.
"""

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from math import sqrt
from pathlib import Path
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace

import lycosa.relevance.positive_unlabelled as judge
import lycosa.run.topic_training as training
import lycosa.strategies.hunter as hunter
from lycosa.reading import Reader
from lycosa.strategies.hunter import FEATURES, Floats, Hunter
from lycosa.strategies.registry import STRATEGIES, Entry
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, Skip, Url, Visit
from lycosa_lab.live_crawl import LiveTask, live_crawl
from lycosa_lab.studies.league.tasks import (
    CACHED_PAGES,
    POSITIVES,
    STARTS,
    LeagueTask,
    TopicWeb,
    WorldPages,
    task_of,
    topics_of,
)
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.registry import open_world
from measure import say

EXAMPLES = 5
MIN_TOPIC_PAGES = 15  # of a topic
FEWEST, MOST = 150, 200  # pages of a crawl: 2.5 times those there are to find, within these bounds


class ScoresOnce(Hunter):
    """Scores links when they are found, and never again."""

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        self._visits_since_scored = -1  # it is never time to score all
        self._table.update_ratios()
        return super().propose(event)

    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        super().rejudge(relevances, standings)
        return ()


class SampledFirst(Hunter):
    """Draws four links of the seeds by chance, and follows them first."""

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        self._sample = 4
        return super().start(seeds)


class AllLinks:
    """A topic's web with the links of its pages that lead to no page; notes what is asked for."""

    def __init__(self, web: TopicWeb):
        self._web = web
        self.is_page: dict[Url, bool] = {}  # of each URL, in the order of the first request

    @property
    def seconds_parsing(self) -> float:
        return self._web.seconds_parsing

    def html(self, url: Url) -> bytes | None:
        html = self._web.html(url)
        self.is_page.setdefault(url, html is not None)
        return html

    def read(self, url: Url, reader: Reader) -> Page | None:
        page = parsed(self._web, url, reader)
        return page and replace(
            page, links=tuple(link for link in page.links if link.target not in self._web.topic.hidden)
        )


@lru_cache(maxsize=CACHED_PAGES)
def parsed(web: TopicWeb, url: Url, reader: Reader) -> Page | None:
    page = reader(Fetch(url, Outcome.OK, at=0.0, content=web.html(url)))
    return page and replace(page, noindex=False, nofollow=False)


@contextmanager
def without_features(names: Sequence[str]) -> Iterator[None]:
    weights, intercept = hunter._learnt_weights()
    kept = weights * [name not in names for name in FEATURES]
    with patch.object(hunter, "_learnt_weights", lambda: (kept, intercept)):
        yield


@contextmanager
def by_strategy(strategy: type[Hunter]) -> Iterator[None]:
    with patch.dict(STRATEGIES, {Hunter.name: Entry(strategy)}):
        yield


@contextmanager
def with_constant(module: object, name: str, value: object) -> Iterator[None]:
    with patch.object(module, name, value):
        yield


PARTS: Mapping[str, Callable[[], AbstractContextManager[None]]] = {
    **{name: lambda name=name: without_features([name]) for name in FEATURES},
    "words that led": lambda: without_features(["anchor led", "around led"]),
    "scoring again": lambda: by_strategy(ScoresOnce),
    "links of examples first": lambda: with_constant(hunter, "_MIN_EXAMPLE_LOGIT", -hunter._LOGIT_LIMIT),
    "beginning with the best links": lambda: by_strategy(SampledFirst),
    "meaning": lambda: with_constant(judge, "_MEANING_WEIGHT", 0.0),
    "training again": lambda: with_constant(training, "RETRAIN_AT", ()),
}


def tasks_of(world: StudyWorld, *, held_out: bool, topics: int, seeds: Sequence[int]) -> Iterator[LeagueTask]:
    chosen = topics_of(
        world,
        held_out=max(2, topics if held_out else 2),
        development=0 if held_out else topics,
        min_pages=MIN_TOPIC_PAGES,
    )
    pages = WorldPages(world)
    for topic in (topic for topic in chosen if topic.is_held_out == held_out):
        web = TopicWeb(pages, topic)
        for seed in seeds:
            for start in STARTS:
                task = task_of(web, start, POSITIVES, examples=EXAMPLES, negatives=0, seed=seed)
                if task is not None:
                    yield task


def area(task: LeagueTask, *, dead_links: bool = False) -> tuple[float, float]:
    """The area under the harvest curve of one crawl, and the share of its requests that led to no page."""
    pages = min(max(round(2.5 * len(task.truth)), FEWEST), MOST)
    seeds = () if list(task.seeds) == list(task.examples) else task.seeds
    web = AllLinks(task.web)
    given = LiveTask(examples=task.examples, seeds=seeds, pages=pages)
    outcome = live_crawl(Hunter.name, given, web if dead_links else task.web)
    requested = web.is_page if dead_links else outcome.requested
    order = [url for url in requested if url not in task.examples][: pages - len(task.examples)]
    found = np.zeros(pages - len(task.examples))
    found[: len(order)] = [url in task.truth and url in outcome.kept for url in order]
    ideal = np.minimum(np.arange(1, len(found) + 1), len(task.truth))
    dead = sum(not web.is_page.get(url, True) for url in order) / max(1, len(order))
    return float(found.cumsum().sum() / ideal.sum()), dead


def area_without(part: str, number: int, *, dead_links: bool) -> tuple[float, float]:
    """As `area`, of one of `TASKS`; by the whole of `hunter` where no part is named."""
    with PARTS[part]() if part else nullcontext():
        return area(TASKS[number], dead_links=dead_links)


TASKS: list[LeagueTask] = []  # of this run; processes begin with them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", metavar="WORLD")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--dead-links", action="store_true")
    parser.add_argument("--seeds", type=lambda text: [int(number) for number in text.split(",")], default=[1, 2])
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    world = open_world(options.world)
    TASKS.extend(tasks_of(world, held_out=options.held_out, topics=options.topics, seeds=options.seeds))
    found: dict[str, list[tuple[float, float]]] = {}
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:

        def areas(part: str) -> Floats:
            """A row for each crawl: its area, and the share of its requests that led to no page."""
            one = partial(area_without, part, dead_links=options.dead_links)
            found[part] = list(pool.map(one, range(len(TASKS))))
            return np.array(found[part])

        whole = areas("")
        mean, dead = whole.mean(axis=0)
        print(f"{len(TASKS)} crawls, area {mean:.3f}; {dead:.1%} of the requests led to no page\n")
        print("| without | area | difference | led to no page |\n|---|---:|---:|---:|", flush=True)
        for part in options.parts:
            say(part)
            without = areas(part)
            gaps, (mean, dead) = without[:, 0] - whole[:, 0], without.mean(axis=0)
            error = gaps.std(ddof=1) / sqrt(len(gaps))
            print(f"| {part} | {mean:.3f} | {gaps.mean():+.3f} ± {error:.3f} | {dead:.1%} |", flush=True)
    if options.out:
        facts = {"world": world.name, "held_out": options.held_out, "dead_links": options.dead_links}
        facts["all_parts"] = list(PARTS)
        tasks = [{"topic": task.web.topic.name, "start": task.start} for task in TASKS]
        options.out.write_text(json.dumps({**facts, "tasks": tasks, "parts": found}, indent=1))


if __name__ == "__main__":
    main()
