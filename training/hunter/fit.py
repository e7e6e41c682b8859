"""Learns how much each feature of a link counts, and writes it: src/lycosa/strategies/hunter.json.

python fit.py WORLD WORLD ... [--rows FILE] [--out FILE]

Each WORLD is what `lycosa lab run --world` takes. `Hunter` crawls for the topics that are for development, from five
examples and from afar, as a user's crawl would. At every third page, the features of some links that wait are noted
down: the one that was taken, `RANDOM` drawn from all and `TOP` from the best; and whether the world has their target on
the topic. Then, over all rows,

    minimise  Σ_i u_i log(1 + exp(-y_i (b_t + w·z_i))) + DECAY |w|²   subject to  w ≥ 0,

where z are the standardised features, y is 1 for links to the topic and -1 for others, and the weights u of the rows
add up to 1, such that each world weighs the same, and within it each topic. Each topic t has an intercept of its own:
the links of one crawl compete with each other, and weights that told rich topics from poor ones would be of no use. The
one intercept that is written is fitted to all rows of the first step afterwards, with w as it is.

Each world teaches what it can. Of links as people write them, only Wikipedia for Schools has some; but it is one host.
So a first step learns all weights but that of "host" on it, in rounds: the crawls of the first go by `START`, those of
each further one by what was learnt from the rounds before. A second step learns the weight of "host" on the other
worlds, the others being as they are. The same worlds give the same file.

Printed are the weights, what is lost without each feature, and how well links of each world are told apart by weights
learnt on all worlds, or on one.

rows: where the rows are kept; if the file is there, nothing is crawled to collect them.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np

from lycosa.strategies.hunter import FEATURES, Hunter
from lycosa.strategies.registry import STRATEGIES, Entry
from lycosa.vocabulary.records import Skip, Url, Visit
from lycosa_lab.live_crawl import LiveTask, live_crawl
from lycosa_lab.studies.league.tasks import POSITIVES, STARTS, LeagueTask, TopicWeb, WorldPages, task_of, topics_of
from lycosa_lab.worlds.registry import open_world

OUT = Path(__file__).parents[2] / "src" / "lycosa" / "strategies" / "hunter.json"
TEACHER = "wikipedia-schools"  # of all weights but that of the host
ROUNDS = 2
START = {"page": 0.2, "anchor": 0.3, "neighbours": 0.3, "anchor led": 0.5}  # weights of the first round
TOPICS = 20  # of a world, at most
FEWEST_PAGES = 15  # of a topic
CRAWLS, CRAWLS_FOR_HOSTS = 34, 12  # of a world in a round; worlds of few topics have several draws of examples of each
EXAMPLES = 5
FEWEST, MOST = 150, 200  # pages of a crawl: 2.5 times those there are to find, within these bounds
SAMPLE = 4  # random links of the seeds that are followed first; those of the best alone would teach little at first
EXPLORE = 0.05  # share of pages one of whose links is taken at random, so that such links are seen too
EVERY, RANDOM, TOP, TOP_OF = 3, 10, 6, 30  # links noted down at every third page: of all that wait, and of the best
DECAY, INTERCEPT_DECAY = 1e-4, 1e-6
PRECISION = 1e-8  # of the gradient
NEGLIGIBLE = 0.001  # share of the loss; a feature without which it rises by less is of no use


@dataclass(frozen=True)
class Weights:
    """A model of links: log odds = intercept + Σ weight * feature."""

    of: np.ndarray
    intercept: float

    @classmethod
    def read(cls, path: Path) -> "Weights":
        learnt = msgspec.json.decode(path.read_bytes())
        return cls(np.array([learnt["weights"].get(name, 0.0) for name in FEATURES]), learnt["intercept"])


@dataclass(frozen=True)
class Rows:
    """Links that were met: their features, whether they lead to the topic, and whose they are."""

    features: np.ndarray
    is_good: np.ndarray
    worlds: np.ndarray
    topics: np.ndarray

    @classmethod
    def joined(cls, parts: "Sequence[Rows]") -> "Rows":
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    @classmethod
    def load(cls, path: Path) -> "Rows":
        with np.load(path) as kept:
            columns = [kept["names"].tolist().index(name) for name in FEATURES]
            return cls(kept["features"][:, columns], kept["is_good"], kept["worlds"], kept["topics"])

    def save(self, path: Path) -> None:
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        np.savez_compressed(path, names=np.array(FEATURES), **columns)

    def of(self, chosen: np.ndarray) -> "Rows":
        return Rows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def topic_numbers(self) -> np.ndarray:
        """Numbers from 0 on, one for each topic of a world."""
        names = np.char.add(np.char.add(self.worlds, " "), self.topics)
        return np.unique(names, return_inverse=True)[1]

    def shares(self) -> np.ndarray:
        """What each row weighs, 1 in all: each world the same, and within it each topic."""
        numbers = self.topic_numbers()
        shares = 1.0 / np.bincount(numbers)[numbers]
        for world in np.unique(self.worlds):
            shares[self.worlds == world] /= shares[self.worlds == world].sum()
        return shares / shares.sum()


# ------------------------------------------------------------ crawls


def recorder(task: LeagueTask, weights: Weights, *, explore: float) -> tuple[type[Hunter], list[tuple[Any, bool]]]:
    """A `Hunter` that goes by these weights, and the features and truths of links that it will note down."""
    noted: list[tuple[Any, bool]] = []
    chance = Random(3)

    class Recorder(Hunter):
        def __init__(self, *, judge: Any = lambda: None, example_urls: Any = (), sample: int = SAMPLE, seed: int = 0):
            super().__init__(judge=judge, example_urls=example_urls, sample=sample, explore=explore, seed=seed)
            self._weights, self._intercept = weights.of, weights.intercept

        def learn(self, event: Visit | Skip) -> None:
            if isinstance(event, Visit) and event.page is not None:
                self._pages_seen = getattr(self, "_pages_seen", 0) + 1
                if self._pages_seen % EVERY == 0:
                    self._note(event.candidate.url)
            super().learn(event)

        def _note(self, taken: Url) -> None:
            table = self._table
            (waiting,) = table.is_waiting.nonzero()
            if len(waiting) <= RANDOM:
                return
            best = waiting[np.argsort(-table.scores[waiting], kind="stable")[:TOP_OF]]
            chosen = {*chance.sample(waiting.tolist(), RANDOM), *chance.sample(best.tolist(), min(TOP, len(best)))}
            slot = table._slot_of.get(taken)
            if slot is not None and table.is_waiting[slot]:
                chosen.add(slot)
            slots = np.array(sorted(chosen))
            features = table.features(slots)
            noted.extend(
                (row, table._links[slot][0] in task.web.topic.pages) for slot, row in zip(slots, features, strict=True)
            )

    return Recorder, noted


def tasks_of(text: str, seed: int, crawls: int) -> Iterator[LeagueTask]:
    """Tasks on the topics of a world that are for development, each from its examples and from afar."""
    world = open_world(text)
    topics = [
        topic
        for topic in topics_of(world, held_out=2, development=TOPICS, min_pages=FEWEST_PAGES)
        if not topic.is_held_out
    ]
    pages = WorldPages(world)
    draws = ceil(crawls / (len(topics) * len(STARTS)))
    every = [(draw, topic, start) for draw in range(draws) for topic in topics for start in STARTS]
    for draw, topic, start in every[:crawls]:
        web = TopicWeb(pages, topic)
        task = task_of(web, start, POSITIVES, examples=EXAMPLES, negatives=0, seed=100 * seed + draw)
        if task is not None:
            yield task


def crawl(task: LeagueTask, weights: Weights, *, explore: float) -> tuple[float, list[tuple[Any, bool]]]:
    """The area under the harvest curve, as the league has it, and the links noted down."""
    strategy, noted = recorder(task, weights, explore=explore)
    pages = min(max(round(2.5 * len(task.truth)), FEWEST), MOST)
    seeds = () if list(task.seeds) == list(task.examples) else task.seeds
    with patch.dict(STRATEGIES, {Hunter.name: Entry(strategy)}):
        outcome = live_crawl(Hunter.name, LiveTask(examples=task.examples, seeds=seeds, pages=pages), task.web)
    order = [url for url in outcome.requested if url not in task.examples][: pages - len(task.examples)]
    found = np.zeros(pages - len(task.examples))
    found[: len(order)] = [url in task.truth and url in outcome.kept for url in order]
    ideal = np.minimum(np.arange(1, len(found) + 1), len(task.truth))
    return float(found.cumsum().sum() / ideal.sum()), noted


def collect(text: str, seed: int, weights: Weights, crawls: int) -> tuple[Rows, float]:
    """The rows of one world and round, and the mean area."""
    parts, areas = [], []
    for task in tasks_of(text, seed, crawls):
        area, noted = crawl(task, weights, explore=EXPLORE)
        areas.append(area)
        if noted:
            features, is_good = zip(*noted, strict=True)
            name, topic = task.web._world.name, task.web.topic.name
            world_column, topic_column = (np.full(len(noted), each) for each in (name, topic))
            parts.append(Rows(np.array(features), np.array(is_good), world_column, topic_column))
    return Rows.joined(parts), float(np.mean(areas))


# ------------------------------------------------------------ the fit


def fit(rows: Rows, without: Sequence[str] = (), given: Weights | None = None) -> Weights:
    """The weights that minimise the loss, by Newton steps within the bounds (Bertsekas 1982).

    without: features whose weights stay 0, or what is given.
    """
    given = given or Weights(np.zeros(len(FEATURES)), 0.0)
    fixed = rows.features @ given.of
    shares, numbers = rows.shares(), rows.topic_numbers()
    mean = shares @ rows.features
    deviation = np.sqrt(shares @ (rows.features - mean) ** 2) + 1e-9
    columns = np.column_stack(((rows.features - mean) / deviation, np.eye(numbers.max() + 1)[numbers]))
    is_bounded = np.arange(columns.shape[1]) < len(FEATURES)
    decay = 2 * np.where(is_bounded, DECAY, INTERCEPT_DECAY)
    is_left_out = np.zeros(columns.shape[1], bool)
    is_left_out[: len(FEATURES)] = [name in without for name in FEATURES]
    found = np.zeros(columns.shape[1])

    def value(at: np.ndarray) -> float:
        return float(shares @ _losses(fixed + columns @ at, rows.is_good) + decay @ at**2 / 2)

    for _ in range(200):
        chances = _logistic(fixed + columns @ found)
        gradient = columns.T @ (shares * (chances - rows.is_good)) + decay * found
        is_free = ~is_left_out & ~(is_bounded & (found <= 0) & (gradient > 0))
        if np.abs(gradient[is_free]).max() < PRECISION:
            break
        part = columns[:, is_free]
        hessian = (part * (shares * chances * (1 - chances))[:, None]).T @ part + np.diag(decay[is_free])
        step = np.zeros(len(found))
        step[is_free] = np.linalg.solve(hessian, gradient[is_free])
        now, length = value(found), 1.0
        while value(after := np.where(is_bounded, np.maximum(found - length * step, 0), found - length * step)) > now:
            length /= 2
            if length < 1e-12:
                raise ArithmeticError("the fit does not converge")
        found = after
    else:
        raise ArithmeticError("the fit does not converge")
    weights = given.of + found[: len(FEATURES)] / deviation
    return Weights(weights, _intercept(rows.features @ weights, rows.is_good, shares))


def _intercept(scores: np.ndarray, is_good: np.ndarray, shares: np.ndarray) -> float:
    """The intercept b at which Σ shares * logistic(b + scores) is the share of the good; it is found by bisection."""
    low, high = -30.0, 30.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if shares @ (_logistic(scores + middle) - is_good) > 0 else (middle, high)
    return (low + high) / 2


def log_loss(weights: Weights, rows: Rows) -> float:
    """The mean loss, each topic with the intercept that suits it best."""
    shares, numbers = rows.shares(), rows.topic_numbers()
    scores, total = rows.features @ weights.of, 0.0
    for number in range(numbers.max() + 1):
        own = numbers == number
        intercept = _intercept(scores[own], rows.is_good[own], shares[own])
        total += float(shares[own] @ _losses(scores[own] + intercept, rows.is_good[own]))
    return total


def ranked_right(weights: Weights, rows: Rows) -> float:
    """Probability that a link to the topic ranks before another, mean over topics (area under the ROC curve)."""
    found = []
    for topic in np.unique(rows.topics):
        part = rows.of(rows.topics == topic)
        scores = part.features @ weights.of
        good, bad = scores[part.is_good], np.sort(scores[~part.is_good])
        if len(good) and len(bad):
            below = np.searchsorted(bad, good, "left") + np.searchsorted(bad, good, "right")
            found.append(below.mean() / 2 / len(bad))
    return float(np.mean(found))


def _losses(logits: np.ndarray, is_good: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, logits) - is_good * logits


def _logistic(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))


def fitted(rows: Rows) -> Weights:
    """Both steps; the first alone where there is no other world."""
    own, others = rows.of(rows.worlds == TEACHER), rows.of(rows.worlds != TEACHER)
    first = fit(own, ["host"])
    if not len(others.is_good):
        return first
    return Weights(fit(others, [name for name in FEATURES if name != "host"], first).of, first.intercept)


def negligible(rows: Rows) -> list[str]:
    """The features that can go, one after the other, each time the one whose loss matters least."""
    gone: list[str] = []
    loss = log_loss(fit(rows), rows)
    while len(gone) < len(FEATURES) - 1:
        losses = {name: log_loss(fit(rows, [*gone, name]), rows) for name in FEATURES if name not in gone}
        least = min(losses, key=lambda name: losses[name])
        if losses[least] > (1 + NEGLIGIBLE) * loss:
            break
        gone.append(least)
        loss = losses[least]
    return gone


# ------------------------------------------------------------ what is printed


def print_weights(weights: Weights, rows: Rows) -> None:
    """The weights, and by how much the loss rises, world by world, where all weights are fitted without a feature."""
    worlds = {world: rows.of(rows.worlds == world) for world in np.unique(rows.worlds).tolist()}
    losses = {world: log_loss(fit(own), own) for world, own in worlds.items()}
    print(f"\n| feature | weight | {' | '.join(worlds)} |\n|---|---:|{'---:|' * len(worlds)}")
    for place, name in enumerate(FEATURES):
        rises = (log_loss(fit(own, [name]), own) / losses[world] - 1 for world, own in worlds.items())
        print(f"| {name} | {weights.of[place]:.3f} | {' | '.join(f'{rise:+.2%}' for rise in rises)} |")
    for world, own in worlds.items():
        print(f"can go on {world}, in this order: {', '.join(negligible(own)) or 'none'}")


def print_worlds(weights: Weights, rows: Rows) -> None:
    """How well the links of each world are told apart: log loss, and probability of the right order."""
    worlds = {world: rows.of(rows.worlds == world) for world in np.unique(rows.worlds).tolist()}
    models = {"base rate": Weights(np.zeros(len(FEATURES)), 0.0), "as written": weights, "all worlds alike": fit(rows)}
    models |= {f"fit of {world}": fit(own) for world, own in worlds.items()}
    print(f"\n| world | topics | rows | on topic | {' | '.join(models)} |\n|---|---:|---:|---:|{'---:|' * len(models)}")
    for world, own in worlds.items():
        cells = [f"{log_loss(model, own):.3f}, {ranked_right(model, own):.3f}" for model in models.values()]
        share = own.shares() @ own.is_good
        print(f"| {world} | {len(np.unique(own.topics))} | {len(own.is_good)} | {share:.1%} | {' | '.join(cells)} |")


def write(path: Path, weights: Weights, rows: Rows) -> None:
    worlds = {}
    for world in np.unique(rows.worlds).tolist():
        own = rows.of(rows.worlds == world)
        worlds[world] = {
            "topics": len(np.unique(own.topics)),
            "rows": len(own.is_good),
            "log_loss": round(log_loss(weights, own), 4),
        }
    learnt = {
        "weights": dict(zip(FEATURES, weights.of.round(3).tolist(), strict=True)),
        "intercept": round(weights.intercept, 3),
        "log_loss": round(log_loss(weights, rows), 4),
        "worlds": worlds,
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(learnt), indent=1) + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", metavar="WORLD", nargs="+")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    if options.rows and options.rows.exists():
        rows = Rows.load(options.rows)
    else:
        rows = rows_of(options.worlds)
        if options.rows:
            rows.save(options.rows)
    weights = fitted(rows)
    write(options.out, weights, rows)
    print_weights(weights, rows)
    print_worlds(weights, rows)


def rows_of(texts: Sequence[str]) -> Rows:
    """The rows of all rounds."""
    teachers = [text for text in texts if open_world(text).name == TEACHER]
    if not teachers:
        sys.exit(f"fit.py: the weights are learnt on {TEACHER}, and no world given is that")
    weights, parts = Weights(np.array([START.get(name, 0.0) for name in FEATURES]), 0.0), []
    rounds = [(teachers, CRAWLS)] * ROUNDS + [([text for text in texts if text not in teachers], CRAWLS_FOR_HOSTS)]
    for number, (worlds, crawls) in enumerate(rounds, 1):
        for text in worlds:
            rows, area = collect(text, number, weights, crawls)
            parts.append(rows)
            print(f"round {number}, {rows.worlds[0]}: area {area:.3f}, {len(rows.is_good):,} rows", flush=True)
        weights = fitted(Rows.joined(parts))
    return Rows.joined(parts)


if __name__ == "__main__":
    main()
