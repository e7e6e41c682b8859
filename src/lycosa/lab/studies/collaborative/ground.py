"""What the crawls for all aims share: the log, less of the log, and pages to begin with."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lycosa.lab.study import Size
from lycosa.logs.readings import SECONDS_A_DAY, Readings
from lycosa.logs.url_column import UrlColumn
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.worlds import Access, StudyWorld
from lycosa.worlds.documents import DocumentWorld
from lycosa.worlds.synthetic import SyntheticWorld

from .aims import Aim
from .kinds import FADING, FADING_FAST, FIVE_READERS, HUNDREDTH, SHUFFLED, TEN_READERS, TENTH, TWO_READERS

SAMPLE = 1_500  # pages of the log that are read to tell how many satisfy a predicate
SEEDS = 10  # of a crawl that needs some
FEWEST_PAGES = 50  # of a crawl


@dataclass(frozen=True)
class Ground:
    """What all jobs need and none changes."""

    readings: Readings
    less: Mapping[str, Readings]  # the log as the crawls named so have it
    sample: Sequence[Url]  # of the log, by chance
    pages: int  # of a crawl, at most
    seed: int

    def length(self, targets: int) -> int:
        """The pages of a crawl: half as many as could be found at most, so that none exhausts the log; 0: too few."""
        pages = min(self.pages, targets // 2)
        return pages if pages >= FEWEST_PAGES else 0


def lay_out(world: StudyWorld, size: Size, seed: int) -> Ground:
    readings = readings_of(world, size, seed)
    span = float(np.ptp(readings.times)) / SECONDS_A_DAY
    less = {
        TWO_READERS: readings.with_at_least(2),
        FIVE_READERS: readings.with_at_least(5),
        TEN_READERS: readings.with_at_least(10),
        TENTH: readings.sample(0.1, seed=seed),
        HUNDREDTH: readings.sample(0.01, seed=seed),
        FADING: readings.aged(span / 4),
        FADING_FAST: readings.aged(span / 20),
        SHUFFLED: shuffled(readings, seed),
    }
    sample = random.Random(f"{seed} sample").sample(readings.urls, min(SAMPLE, len(readings.urls)))
    return Ground(readings, less, sample, size["pages"], seed)


def readings_of(world: StudyWorld, size: Size, seed: int) -> Readings:
    """The world's own log, where it has readers."""
    accesses: Sequence[Access] = ()
    if isinstance(world, SyntheticWorld):
        accesses = list(world.accesses(users=size["readers"], days=size["days"], seed=seed))
    elif isinstance(world, DocumentWorld):
        accesses = world.accesses()
    if not accesses:
        raise UsageError(
            f"collaborative needs a world with readers, which this {world.name} world has not; say synthetic or"
            " wikipedia-schools:path=FILE,walks=FILE"
        )
    return Readings.of((access.user, access.url, access.at) for access in accesses)


def shuffled(readings: Readings, seed: int) -> Readings:
    """The same accesses, each at the time and by the reader of another, so that readers tell nothing."""
    order = np.random.default_rng(seed).permutation(readings.accesses)
    return Readings.of_columns(
        UrlColumn.of(readings.urls), readings.users, readings.walkers, readings.walks[order], readings.times
    )


def targets_in(readings: Readings, aim: Aim, world: StudyWorld, sample: Sequence[Url]) -> int:
    """How many pages of a log satisfy a predicate; by a sample where they must be read for that."""
    if not aim.reads:
        return sum(map(aim.holds_at, readings.urls))
    found = sum(page is not None and aim.holds(page) for page in map(world.read, sample))
    return round(found / max(1, len(sample)) * len(readings.urls))


def starts_by_chance(readings: Readings, chance: random.Random, count: int) -> list[list[Url]]:
    """Pages to begin with, as if accesses were drawn; each start has others."""
    walks = readings.walks
    drawn: dict[int, None] = {}
    wanted = min(count * SEEDS, len(readings.urls))
    while len(drawn) < wanted:
        drawn[int(walks[chance.randrange(len(walks))])] = None
    urls = [readings.urls[number] for number in drawn]
    return [urls[start::count] for start in range(count)]


def listed_seeds(world: StudyWorld, aim: Aim, chance: random.Random) -> list[Url]:
    """Pages of the directory that satisfy a predicate."""
    urls = list(dict.fromkeys(entry.url for category in world.directory() for entry in category.entries))
    chance.shuffle(urls)
    seeds: list[Url] = []
    for url in urls:
        if aim.reads:
            page = world.read(url)
            holds = page is not None and aim.holds(page)
        else:
            holds = aim.holds_at(url)
        if holds:
            seeds.append(url)
        if len(seeds) == SEEDS:
            break
    return seeds
