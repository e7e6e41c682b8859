"""What crawls look for: pages on a topic, a whole field, or either of two topics, with a word, with a kind of URL."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set

from msgspec import Struct

from lycosa.lab.study import Size
from lycosa.reading.reader import page_of_text
from lycosa.reading.words import tokens_of
from lycosa.relevance import Keywords, UrlPattern
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Page, Plain, Url
from lycosa.worlds import StudyWorld

TOPIC, FIELD, EITHER, WORD, ADDRESS = "topic", "field", "either of two", "word", "address"
TOPICAL = (TOPIC, FIELD, EITHER)
FEWEST = 200  # pages of a topic or field
FIELDS = 2  # whole fields, unless there are not topics enough
COMMON = 0.1  # share of pages above which a part of URLs says too little
LONG = 4  # letters of a word that says something
_NO_WORDS = page_of_text(Url(""), "", "").words
_PART = re.compile(r"[a-z]{3,}")


class Aim(Struct, frozen=True):
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


class About:
    """1 for pages that by the world's own word are on one of some topics, else 0."""

    def __init__(self, world: StudyWorld, names: Set[str]):
        self._world = world
        self._names = names
        self._listed = {
            entry.url for category in world.directory() if category.name in names for entry in category.entries
        }

    def relevance(self, page: Page) -> float:
        return float(page.url in self._listed or self._world.topic(page.url) in self._names)


class Topics:
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


def chosen(world: StudyWorld, size: Size) -> list[Plain]:
    """What to look for, as plain data: the first topics that are large enough, the two largest fields, and three more.

    Where there are not topics enough, more fields take their place.
    """
    topics = Topics(world)
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


def aim_of(chosen: Plain, world: StudyWorld, sample: Sequence[Url]) -> Aim:
    """What plain data mean in a world.

    sample: pages that people read, whose URLs tell which parts these may have.
    """
    kind, about = chosen["kind"], chosen["about"]
    if kind == WORD:
        word = telling_word(world, about[0])
        return Aim(f"has “{word}”", kind, Keywords([word]), reads=True)
    if kind == ADDRESS:
        part = part_of_paths(sample)
        return Aim(f"URL with “{part}”", kind, UrlPattern([f"/:\\/\\/[^\\/]*\\/(.*[^a-z])?{part}([^a-z]|$)/"]))
    return Aim(chosen["name"], kind, About(world, frozenset(about)))


def telling_word(world: StudyWorld, topic: str) -> str:
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
