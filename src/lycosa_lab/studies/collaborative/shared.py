"""The inputs of all jobs: names of the compared crawls, the predicates, and the log with its variants.

Listed pages are those of the world's directory, which has pages by topic. A field is a group of its topics.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec import Struct

from lycosa.logs.access_log import SECONDS_PER_DAY, AccessLog, UrlColumn
from lycosa.reading.reader import page_of_text
from lycosa.relevance import Keywords, UrlPattern
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, JsonValue, Page, Url
from lycosa.vocabulary.text import tokens_of
from lycosa_lab.study import Size
from lycosa_lab.worlds import Access, StudyWorld
from lycosa_lab.worlds.documents import DocumentWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld

COLLABORATIVE: Final = "collaborative"  # all three factors, the whole log, no seeds
DRAWS: Final = (COLLABORATIVE, "collaborative, draw 2", "collaborative, draw 3")  # from other random pages of the log
COMBINED: Final = "combined"  # the strategy `Combined`, by links and the whole log, without seeds
INTELLIGENT: Final = (
    "intelligent"  # the strategy `Intelligent`, without the log: the best of several runs from random pages
)
INTELLIGENT_RUNS: Final = tuple(f"intelligent, start {number}" for number in range(1, 6))

# The collaborative crawler with one of its three factors alone:
FREQUENCY: Final = "frequency"  # the share of satisfying pages among those that its readers read
SIGNATURE: Final = "signature"  # the same by the words of the pages that its readers read
TEMPORAL: Final = "temporal"  # whether its readers read satisfying pages shortly before or after it
SINGLE_FACTORS: Final = (FREQUENCY, SIGNATURE, TEMPORAL)

TWO_READERS: Final = "2 readers"  # without pages that fewer people read
FIVE_READERS: Final = "5 readers"
TEN_READERS: Final = "10 readers"
TENTH: Final = "10 % of readers"  # without the others
HUNDREDTH: Final = "1 % of readers"
SLOW_DECAY: Final = "half-life, a quarter"  # of the duration of the log, in which an access loses half its weight
FAST_DECAY: Final = "half-life, a twentieth"
REDUCED_LOGS: Final = (TWO_READERS, FIVE_READERS, TEN_READERS, TENTH, HUNDREDTH)
DECAYED_LOGS: Final = (SLOW_DECAY, FAST_DECAY)

SHUFFLED: Final = "collaborative, shuffled"  # accesses permuted among the readers

COLLABORATIVE_LISTED: Final = "collaborative, listed"  # these start from listed pages that satisfy the predicate
INTELLIGENT_LISTED: Final = "intelligent, listed"
COMBINED_LISTED: Final = "combined, listed"
BEST_FIRST_LISTED: Final = "best-first, listed"
GUIDED_LISTED: Final = "best-first with readers, listed"
FROM_LISTED_SEEDS: Final = (COLLABORATIVE_LISTED, INTELLIGENT_LISTED, COMBINED_LISTED, BEST_FIRST_LISTED, GUIDED_LISTED)


# Kinds of predicates: pages on a topic, on any topic of a field, on either of two topics, with a word, or with a part
# of the path in their URL.
TOPIC, FIELD, EITHER, WORD, PATH_PART = "topic", "field", "either of two", "word", "address"
TOPICAL = (TOPIC, FIELD, EITHER)
MIN_TOPIC_PAGES = 200  # pages of a topic or field
FIELD_COUNT = 2  # whole fields, unless there are too few topics
MAX_PATH_SHARE = 0.1  # of URLs; a path part that more have is too common
MIN_WORD_LENGTH = 4  # letters of a distinctive word
SAMPLE_SIZE = 1_500  # pages of the log read to estimate how many satisfy a predicate
SEED_COUNT = 10  # of a crawl from seeds
MIN_CRAWL_PAGES = 50  # of a crawl; for predicates that allow fewer, there is none
_NO_WORDS = page_of_text(Url(""), "", "").words
_PART = re.compile(r"[a-z]{3,}")


class CrawlPredicate(Struct, frozen=True):
    """The predicate of a crawl.

    needs_text: whether the text of a page is needed to decide, not only its URL.
    """

    name: str
    kind: str  # TOPIC, FIELD, EITHER, WORD or PATH_PART
    model: Relevance
    needs_text: bool = False

    def holds(self, page: Page) -> bool:
        return self.model.relevance(page) >= RELEVANT

    def holds_for_url(self, url: Url) -> bool:
        """Whether it holds for a URL, if it does not need the text."""
        return self.holds(Page(url, "", "", "", _NO_WORDS, ()))


class OnTopics:
    """Relevance by ground truth: 1 for pages on one of some topics, else 0."""

    def __init__(self, world: StudyWorld, names: Set[str]):
        self._world = world
        self._names = names
        self._listed = {
            entry.url for category in world.directory() if category.name in names for entry in category.entries
        }

    def relevance(self, page: Page) -> float:
        return float(page.url in self._listed or self._world.topic(page.url) in self._names)


class TopicSizes:
    """The topics of a world's directory by field, and their numbers of pages."""

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
        """The number of pages on any of some topics, by labels of pages or by listings."""
        listed = set[Url]().union(*(self._listed[name] for name in names))
        return max(sum(self._labels[name] for name in names), len(listed))


def field_of(name: str) -> str:
    return name.partition("/")[0]


def _name(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else field_of(names[0])


def choose_predicates(world: StudyWorld, size: Size) -> list[JsonValue]:
    """The predicates of the study, as plain data: the first topics that are large enough, the two largest fields,
    either of two topics, a word, and a part of URLs.

    If there are too few topics, more fields are used. With a single topic, the second of the two is a field, which may
    contain it.
    """
    topics = TopicSizes(world)
    large_topics = [name for name in topics.names if topics.size(name) >= MIN_TOPIC_PAGES][: size["topics"]]
    fields = [names for names in topics.fields.values() if len(names) > 1 and topics.size(*names) >= MIN_TOPIC_PAGES]
    fields.sort(key=lambda names: -topics.size(*names))
    fields = fields[: FIELD_COUNT + size["topics"] - len(large_topics)]
    topic_groups = [[topic] for topic in large_topics] + fields
    if len(topic_groups) < 2:
        raise UsageError(
            f"collaborative needs two topics with {MIN_TOPIC_PAGES} pages or more, which this {world.name} world"
            " does not have; choose synthetic or wikipedia-schools:path=FILE,walks=FILE"
        )
    second_group = topic_groups[len(large_topics) - 1 if len(large_topics) > 1 else -1]
    others = [name for name in topics.names if name not in large_topics] or large_topics
    return [
        *({"kind": TOPIC, "name": topic, "about": [topic]} for topic in large_topics),
        *({"kind": FIELD, "name": field_of(names[0]), "about": names} for names in fields),
        {
            "kind": EITHER,
            "name": f"{_name(topic_groups[0])} or {_name(second_group)}",
            "about": [*topic_groups[0], *second_group],
        },
        {"kind": WORD, "about": [max(others, key=topics.size)]},
        {"kind": PATH_PART, "about": []},
    ]


def predicate_of(job: JsonValue, world: StudyWorld, sampled_urls: Sequence[Url]) -> CrawlPredicate:
    """The predicate described by plain data.

    job: its `kind`; `about`: its topics, or the topic of its word; `name`: of one on topics.
    sampled_urls: pages of the log, from whose URLs the path part is chosen.
    """
    kind, names = job["kind"], job["about"]
    if kind == WORD:
        word = distinctive_word(world, names[0])
        return CrawlPredicate(f"has “{word}”", kind, Keywords([word]), needs_text=True)
    if kind == PATH_PART:
        part = common_path_part(sampled_urls)
        return CrawlPredicate(
            f"URL with “{part}”", kind, UrlPattern([f"/:\\/\\/[^\\/]*\\/(.*[^a-z])?{part}([^a-z]|$)/"])
        )
    return CrawlPredicate(job["name"], kind, OnTopics(world, frozenset(names)))


def distinctive_word(world: StudyWorld, topic: str) -> str:
    """The word whose share in descriptions of pages on a topic most exceeds its share in others."""
    inside, outside = Counter[str](), Counter[str]()
    counts = [0, 0]
    for category in world.directory():
        is_inside = category.name == topic
        for entry in category.entries:
            words = {word for word in tokens_of(entry.description) if len(word) >= MIN_WORD_LENGTH and word.isalpha()}
            (inside if is_inside else outside).update(words)
            counts[is_inside] += 1
    if not inside:
        raise UsageError(
            f"collaborative needs descriptions of {topic} with words of {MIN_WORD_LENGTH} letters or more; "
            "this world has none"
        )
    return max(
        sorted(inside), key=lambda word: inside[word] / max(1, counts[True]) - outside[word] / max(1, counts[False])
    )


def common_path_part(urls: Iterable[Url]) -> str:
    """The most frequent path part that at most a tenth of the URLs have."""
    paths = [{str(found) for found in _PART.findall(url.split("/", 3)[-1])} for url in urls]
    counts = Counter(part for parts in paths for part in parts)
    rare = {part: count for part, count in counts.items() if count <= MAX_PATH_SHARE * len(paths)}
    if not rare:
        raise UsageError("collaborative needs URLs with paths that differ, and those of this world do not")
    return max(sorted(rare), key=lambda part: rare[part])


@dataclass(frozen=True)
class CollaborativeInputs:
    """The log, its variants, and limits of the crawls."""

    access_log: AccessLog
    variants: Mapping[str, AccessLog]  # reduced, decayed and shuffled logs, by the name of the crawl that uses them
    sampled_urls: Sequence[Url]  # random pages of the log, by which shares of it are estimated
    pages: int  # of a crawl, at most
    seed: int  # of random choices

    def crawl_length(self, satisfying_count: int) -> int:
        """The pages of a crawl, given how many pages of the log satisfy its predicate: at most half of these, so that
        no crawl exhausts the log; 0 if there are too few."""
        pages = min(self.pages, satisfying_count // 2)
        return pages if pages >= MIN_CRAWL_PAGES else 0


def prepare(world: StudyWorld, size: Size, seed: int) -> CollaborativeInputs:
    """Reads the log and derives its variants."""
    access_log = access_log_of(world, size, seed)
    duration = float(np.ptp(access_log.times)) / SECONDS_PER_DAY  # days
    if not duration:
        raise UsageError("collaborative needs a log of accesses at different times, and those of this world are at one")
    variants = {
        TWO_READERS: access_log.with_min_users(2),
        FIVE_READERS: access_log.with_min_users(5),
        TEN_READERS: access_log.with_min_users(10),
        TENTH: access_log.sample(0.1, seed=seed),
        HUNDREDTH: access_log.sample(0.01, seed=seed),
        SLOW_DECAY: access_log.decayed(duration / 4),
        FAST_DECAY: access_log.decayed(duration / 20),
        SHUFFLED: shuffled(access_log, seed),
    }
    sampled_urls = random.Random(f"{seed} sample").sample(access_log.urls, min(SAMPLE_SIZE, len(access_log.urls)))
    return CollaborativeInputs(access_log, variants, sampled_urls, size["pages"], seed)


def access_log_of(world: StudyWorld, size: Size, seed: int) -> AccessLog:
    """The log of the readers of a world; UsageError if it has none."""
    accesses: Sequence[Access] = ()
    if isinstance(world, SyntheticWorld):
        accesses = list(world.accesses(users=size["readers"], days=size["days"], seed=seed))
    elif isinstance(world, DocumentWorld):
        accesses = world.accesses()
    if not accesses:
        raise UsageError(
            f"collaborative needs a world with readers, which this {world.name} world does not have; choose synthetic"
            " or wikipedia-schools:path=FILE,walks=FILE"
        )
    return AccessLog.of((access.user, access.url, access.at) for access in accesses)


def shuffled(access_log: AccessLog, seed: int) -> AccessLog:
    """The same accesses with times and readers permuted: a control in which readers carry no information."""
    order = np.random.default_rng(seed).permutation(access_log.access_count)
    return AccessLog.of_columns(
        UrlColumn.of(access_log.urls),
        access_log.users,
        access_log.user_ids,
        access_log.url_ids[order],
        access_log.times,
    )


def count_satisfying(
    access_log: AccessLog, predicate: CrawlPredicate, world: StudyWorld, sampled_urls: Sequence[Url]
) -> int:
    """The number of pages of a log that satisfy a predicate; estimated from the sampled ones if texts are needed."""
    if not predicate.needs_text:
        return sum(map(predicate.holds_for_url, access_log.urls))
    found = sum(page is not None and predicate.holds(page) for page in map(world.read, sampled_urls))
    return round(found / max(1, len(sampled_urls)) * len(access_log.urls))


def random_starts(access_log: AccessLog, rng: random.Random, count: int) -> list[list[Url]]:
    """Disjoint seeds for `count` crawls: the pages of random accesses."""
    url_ids = access_log.url_ids
    drawn: dict[int, None] = {}
    wanted = min(count * SEED_COUNT, len(access_log.urls))
    while len(drawn) < wanted:
        drawn[int(url_ids[rng.randrange(len(url_ids))])] = None
    urls = [access_log.urls[number] for number in drawn]
    return [urls[start::count] for start in range(count)]


def directory_seeds(world: StudyWorld, predicate: CrawlPredicate, rng: random.Random) -> list[Url]:
    """Random pages of the directory that satisfy a predicate."""
    urls = list(dict.fromkeys(entry.url for category in world.directory() for entry in category.entries))
    rng.shuffle(urls)
    seeds: list[Url] = []
    for url in urls:
        if predicate.needs_text:
            page = world.read(url)
            holds = page is not None and predicate.holds(page)
        else:
            holds = predicate.holds_for_url(url)
        if holds:
            seeds.append(url)
        if len(seeds) == SEED_COUNT:
            break
    return seeds
