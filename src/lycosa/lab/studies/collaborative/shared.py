"""What all jobs share: names of the compared crawls, the predicates to crawl for, and the log in its variants."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec import Struct

from lycosa.lab.study import Size
from lycosa.logs.readings import SECONDS_A_DAY, Readings
from lycosa.logs.url_column import UrlColumn
from lycosa.reading.reader import page_of_text
from lycosa.relevance import Keywords, UrlPattern
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Page, Plain, Url
from lycosa.vocabulary.tokens import tokens_of
from lycosa.worlds import Access, StudyWorld
from lycosa.worlds.documents import DocumentWorld
from lycosa.worlds.synthetic import SyntheticWorld

COLLABORATIVE: Final = "collaborative"  # with all three factors and the whole log, from no seeds
DRAWS: Final = (COLLABORATIVE, "collaborative, draw 2", "collaborative, draw 3")  # by chance, other pages of the log
COMBINED: Final = "combined"  # likewise
INTELLIGENT: Final = "intelligent"  # the best of several runs from pages drawn by chance
STARTS: Final = tuple(f"intelligent, start {number}" for number in range(1, 6))

FREQUENCY: Final = "frequency"  # one factor alone
SIGNATURE: Final = "signature"
TEMPORAL: Final = "temporal"
ALONE: Final = (FREQUENCY, SIGNATURE, TEMPORAL)

TWO_READERS: Final = "2 readers"  # pages that fewer people read are not in the log
FIVE_READERS: Final = "5 readers"
TEN_READERS: Final = "10 readers"
TENTH: Final = "10 % of readers"  # the others are not in the log
HUNDREDTH: Final = "1 % of readers"
FADING: Final = "half-life, a quarter"  # of the time of the log, in which an access loses half its weight
FADING_FAST: Final = "half-life, a twentieth"
SCARCE: Final = (TWO_READERS, FIVE_READERS, TEN_READERS, TENTH, HUNDREDTH)
AGED: Final = (FADING, FADING_FAST)

SHUFFLED: Final = "collaborative, shuffled"  # what was read is dealt out among the readers by chance

COLLABORATIVE_LISTED: Final = "collaborative, listed"  # these from pages that the directory lists and that satisfy
INTELLIGENT_LISTED: Final = "intelligent, listed"
COMBINED_LISTED: Final = "combined, listed"
BEST_FIRST_LISTED: Final = "best-first, listed"
GUIDED_LISTED: Final = "best-first with readers, listed"
LISTED: Final = (COLLABORATIVE_LISTED, INTELLIGENT_LISTED, COMBINED_LISTED, BEST_FIRST_LISTED, GUIDED_LISTED)


TOPIC, FIELD, EITHER, WORD, ADDRESS = "topic", "field", "either of two", "word", "address"
TOPICAL = (TOPIC, FIELD, EITHER)
FEWEST = 200  # pages of a topic or field
FIELDS = 2  # whole fields, unless there are not topics enough
COMMON = 0.1  # share of pages above which a part of URLs says too little
LONG = 4  # letters of a word that says something
_NO_WORDS = page_of_text(Url(""), "", "").words
_PART = re.compile(r"[a-z]{3,}")


class Predicate(Struct, frozen=True):
    """A predicate, and whether one must read a page to tell whether it holds."""

    name: str
    kind: str
    predicate: Relevance
    reads: bool = False

    def holds(self, page: Page) -> bool:
        return self.predicate.relevance(page) >= 0.5

    def holds_at(self, url: Url) -> bool:
        """Whether it holds of the page at a URL, where one need not read it."""
        return self.holds(Page(url, "", "", "", _NO_WORDS, ()))


class OnTopics:
    """1 for pages that by the world's own word are on one of some topics, else 0."""

    def __init__(self, world: StudyWorld, names: Set[str]):
        self._world = world
        self._names = names
        self._listed = {
            entry.url for category in world.directory() if category.name in names for entry in category.entries
        }

    def relevance(self, page: Page) -> float:
        return float(page.url in self._listed or self._world.topic(page.url) in self._names)


class TopicSizes:
    """The topics of a world's directory by field, and how many pages are on them."""

    def __init__(self, world: StudyWorld):
        self._labels = Counter(map(world.topic, world.urls()))
        self._listed: dict[str, set[Url]] = defaultdict(set)
        for category in world.directory():
            self._listed[category.name].update(entry.url for entry in category.entries)
        self.names = list(self._listed)
        self.fields: dict[str, list[str]] = defaultdict(list)
        for name in self.names:
            self.fields[field_of(name)].append(name)

    def size(self, *names: str) -> int:
        """The pages on any of some topics, by the labels of pages or by what is listed."""
        listed = set[Url]().union(*(self._listed[name] for name in names))
        return max(sum(self._labels[name] for name in names), len(listed))


def field_of(name: str) -> str:
    return name.partition("/")[0]


def _name(about: Sequence[str]) -> str:
    return about[0] if len(about) == 1 else field_of(about[0])


def choose_predicates(world: StudyWorld, size: Size) -> list[Plain]:
    """What to look for, as plain data: the first topics that are large enough, the two largest fields, and three more.

    Where there are not topics enough, more fields take their place.
    """
    topics = TopicSizes(world)
    leaves = [name for name in topics.names if topics.size(name) >= FEWEST][: size["topics"]]
    fields = [names for names in topics.fields.values() if len(names) > 1 and topics.size(*names) >= FEWEST]
    fields.sort(key=lambda names: -topics.size(*names))
    fields = fields[: FIELDS + size["topics"] - len(leaves)]
    about = [[leaf] for leaf in leaves] + fields
    if len(about) < 2:
        raise UsageError(
            f"collaborative needs two topics with {FEWEST} pages or more, which this {world.name} world has not; say"
            " synthetic or wikipedia-schools:path=FILE,walks=FILE"
        )
    apart = about[len(leaves) - 1 if len(leaves) > 1 else -1]
    others = [name for name in topics.names if name not in leaves] or leaves
    return [
        *({"kind": TOPIC, "name": leaf, "about": [leaf]} for leaf in leaves),
        *({"kind": FIELD, "name": field_of(names[0]), "about": names} for names in fields),
        {"kind": EITHER, "name": f"{_name(about[0])} or {_name(apart)}", "about": [*about[0], *apart]},
        {"kind": WORD, "about": [max(others, key=topics.size)]},
        {"kind": ADDRESS, "about": []},
    ]


def predicate_of(choose_predicates: Plain, world: StudyWorld, sample: Sequence[Url]) -> Predicate:
    """What plain data mean in a world.

    sample: pages that people read, whose URLs tell which parts these may have.
    """
    kind, about = choose_predicates["kind"], choose_predicates["about"]
    if kind == WORD:
        word = distinctive_word(world, about[0])
        return Predicate(f"has “{word}”", kind, Keywords([word]), reads=True)
    if kind == ADDRESS:
        part = part_of_paths(sample)
        return Predicate(f"URL with “{part}”", kind, UrlPattern([f"/:\\/\\/[^\\/]*\\/(.*[^a-z])?{part}([^a-z]|$)/"]))
    return Predicate(choose_predicates["name"], kind, OnTopics(world, frozenset(about)))


def distinctive_word(world: StudyWorld, topic: str) -> str:
    """The word that descriptions of pages on a topic have most more often than others."""
    inside, outside = Counter[str](), Counter[str]()
    counts = [0, 0]
    for category in world.directory():
        is_inside = category.name == topic
        for entry in category.entries:
            words = {word for word in tokens_of(entry.description) if len(word) >= LONG and word.isalpha()}
            (inside if is_inside else outside).update(words)
            counts[is_inside] += 1
    return max(
        sorted(inside), key=lambda word: inside[word] / max(1, counts[True]) - outside[word] / max(1, counts[False])
    )


def part_of_paths(urls: Iterable[Url]) -> str:
    """The most frequent part of the paths of URLs that no more than a tenth of them have."""
    paths = [{str(found) for found in _PART.findall(url.split("/", 3)[-1])} for url in urls]
    counts = Counter(part for parts in paths for part in parts)
    rare = {part: count for part, count in counts.items() if count <= COMMON * len(paths)}
    if not rare:
        raise UsageError("collaborative needs URLs with paths that differ, which this world has not")
    return max(sorted(rare), key=lambda part: rare[part])


SAMPLE = 1_500  # pages of the log that are read to tell how many satisfy a predicate
SEEDS = 10  # of a crawl that needs some
FEWEST_PAGES = 50  # of a crawl


@dataclass(frozen=True)
class CollaborativeInputs:
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


def prepare(world: StudyWorld, size: Size, seed: int) -> CollaborativeInputs:
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
    return CollaborativeInputs(readings, less, sample, size["pages"], seed)


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


def targets_in(readings: Readings, aim: Predicate, world: StudyWorld, sample: Sequence[Url]) -> int:
    """How many pages of a log satisfy a predicate; by a sample where they must be read for that."""
    if not aim.reads:
        return sum(map(aim.holds_at, readings.urls))
    found = sum(page is not None and aim.holds(page) for page in map(world.read, sample))
    return round(found / max(1, len(sample)) * len(readings.urls))


def random_starts(readings: Readings, chance: random.Random, count: int) -> list[list[Url]]:
    """Pages to begin with, as if accesses were drawn; each start has others."""
    walks = readings.walks
    drawn: dict[int, None] = {}
    wanted = min(count * SEEDS, len(readings.urls))
    while len(drawn) < wanted:
        drawn[int(walks[chance.randrange(len(walks))])] = None
    urls = [readings.urls[number] for number in drawn]
    return [urls[start::count] for start in range(count)]


def listed_seeds(world: StudyWorld, aim: Predicate, chance: random.Random) -> list[Url]:
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
