"""What does each part of `hunter` bring? Crawls with it and without it.

python benchmarks/ablation.py WORLD [--held-out] [--seeds 1,2] [--topics 20] [--parts "neighbours,sample"]

WORLD is what `lycosa lab run --world` takes. Crawls are whole ones, for the topics of the league: those for
development, or with --held-out the others; from five examples and from afar. Of a feature, the weight is set to 0. The
figure is the area under the harvest curve, as the league has it, and the difference that leaving a part out makes,
crawl by crawl, with its standard error. A part that brings something has a difference below 0.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import sqrt
from unittest.mock import patch

import numpy as np

import lycosa.relevance.positive_unlabelled as judge
import lycosa.run.training as training
import lycosa.strategies.hunter as hunter
from lycosa.strategies.hunter import FEATURES, Hunter
from lycosa.strategies.registry import STRATEGIES, Entry
from lycosa.vocabulary.records import Candidate, Skip, Url, Visit
from lycosa_lab.live_crawl import LiveTask, live_crawl
from lycosa_lab.studies.league.tasks import POSITIVES, STARTS, LeagueTask, TopicWeb, WorldPages, task_of, topics_of
from lycosa_lab.worlds.registry import open_world
from measure import say

EXAMPLES = 5
FEWEST_PAGES = 15  # of a topic
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


class WithoutSample(Hunter):
    """Draws no links by chance."""

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        starts = super().start(seeds)
        self._to_sample.clear()
        return starts


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
    "links of examples first": lambda: with_constant(hunter, "_EXAMPLE_LOGIT", -hunter._LOGIT_LIMIT),
    "sample": lambda: by_strategy(WithoutSample),
    "meaning": lambda: with_constant(judge, "_MEANING", 0.0),
    "training again": lambda: with_constant(training, "RETRAIN_AT", ()),
}


def tasks_of(text: str, *, held_out: bool, topics: int, seeds: Sequence[int]) -> Iterator[LeagueTask]:
    world = open_world(text)
    chosen = topics_of(
        world, held_out=max(2, topics if held_out else 2), development=0 if held_out else topics, fewest=FEWEST_PAGES
    )
    pages = WorldPages(world)
    for topic in (topic for topic in chosen if topic.is_held_out == held_out):
        web = TopicWeb(pages, topic)
        for seed in seeds:
            for start in STARTS:
                task = task_of(web, start, POSITIVES, examples=EXAMPLES, negatives=0, seed=seed)
                if task is not None:
                    yield task


def area(task: LeagueTask) -> float:
    """The area under the harvest curve of one crawl."""
    pages = min(max(round(2.5 * len(task.truth)), FEWEST), MOST)
    seeds = () if list(task.seeds) == list(task.examples) else task.seeds
    outcome = live_crawl(Hunter.name, LiveTask(examples=task.examples, seeds=seeds, pages=pages), task.web)
    order = [url for url in outcome.requested if url not in task.examples][: pages - len(task.examples)]
    found = np.zeros(pages - len(task.examples))
    found[: len(order)] = [url in task.truth and url in outcome.kept for url in order]
    ideal = np.minimum(np.arange(1, len(found) + 1), len(task.truth))
    return float(found.cumsum().sum() / ideal.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", metavar="WORLD")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seeds", type=lambda text: [int(number) for number in text.split(",")], default=[1, 2])
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS))
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    tasks = list(tasks_of(options.world, held_out=options.held_out, topics=options.topics, seeds=options.seeds))
    whole = np.array([area(task) for task in tasks])
    print(
        f"{len(tasks)} crawls, area {whole.mean():.3f}\n\n| without | area | difference |\n|---|---:|---:|", flush=True
    )
    for part in options.parts:
        say(part)
        with PARTS[part]():
            gaps = np.array([area(task) for task in tasks]) - whole
        error = gaps.std(ddof=1) / sqrt(len(gaps))
        print(f"| {part} | {(whole + gaps).mean():.3f} | {gaps.mean():+.3f} ± {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
