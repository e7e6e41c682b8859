"""Builds maps from collections: which pages are on which topics, and how they link to one another."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.rows import PageRow
from lycosa.maps import OTHERS, Atlas, CitationMatrix, Reach, Sighting, TopicFacts, count_citations, text_sketch
from lycosa.maps.atlas import MAX_TOPICS
from lycosa.maps.subgraph import Integers, link_array
from lycosa.reading import Reader
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import RELEVANT, Page, Url

from .open import open_for_reading

MIN_PROBABILITY = 0.8  # of a topic, for a page to be put into its map
_NEGLIGIBLE = 0.01  # probability at which a topic is ignored
AUTO, NONE = "auto", "none"
ProgressCallback = Callable[[int, int], None]  # pages read, of how many


class AtlasPlan(Struct, frozen=True, kw_only=True):
    """Which maps to build, and how.

    topics: topics of the taxonomy; without one, the name of the single topic that all collections are about.
    related: further topics to build maps for, from whose pages crawls go to the portals; or auto, or none.
    """

    topics: tuple[str, ...] = ()
    above: float = MIN_PROBABILITY
    related: tuple[str, ...] = (AUTO,)
    reach: Reach | None = None
    similar: bool | None = None
    seed: int | None = None
    allow_private: bool = False


class BuiltAtlas(Struct, frozen=True):
    """The result of `build_atlas`."""

    topics: tuple[TopicFacts, ...]  # whose maps were built
    known: tuple[str, ...]  # all topics with a map in the atlas
    citations: CitationMatrix
    left_out: Mapping[str, int]  # number of URLs that may not be in a map, by reason


def build_atlas(
    folders: Sequence[Path],
    out: Path,
    wanted: AtlasPlan,
    *,
    now: float,
    taxonomy: Taxonomy | None = None,
    count: ProgressCallback = lambda done, total: None,
) -> BuiltAtlas:
    """Builds maps from snapshots of collections, which may be crawled meanwhile, and adds them to the atlas at `out`,
    which is created if needed."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise UsageError(
            "two collections have the same name, which a map uses to record where pages came from; rename one"
        )
    _check_topics(wanted, taxonomy, names)
    survey = _Survey(wanted, taxonomy, sketches=_are_sketches_needed(out, wanted))
    with ExitStack() as stack:
        opened = [(name, _snapshot(stack, folder)) for name, folder in zip(names, folders, strict=True)]
        total = sum(collection.catalog.count() for _, collection in opened)
        for name, collection in opened:
            survey.read_pages(name, collection, lambda done: count(done, total))
        links = {name: survey.links_in(collection) for name, collection in opened}
    survey.require_topics()
    with Atlas(out, writable=True, allow_private=wanted.allow_private, now=now) as atlas:
        built = survey.put_into(atlas, links, now)
        if built.left_out and not any(facts.pages for facts in built.topics):
            reasons = ", ".join(f"{count} ({reason})" for reason, count in built.left_out.items())
            raise UsageError(f"all pages are left out: {reasons}; --allow-private keeps those at private addresses")
        return built


def _check_topics(wanted: AtlasPlan, taxonomy: Taxonomy | None, collections: Sequence[str]) -> None:
    for topic in {AUTO, NONE}.intersection(wanted.topics):
        raise UsageError(f"--for {topic} names no topic; write --related {topic}, or give the topic another name")
    if taxonomy is None and len(wanted.topics) > 1:
        raise UsageError("to tell several topics apart, give --taxonomy; or build the maps one after the other")
    known = taxonomy.topics if taxonomy is not None else wanted.topics or collections
    for topic in (*wanted.topics, *wanted.related):
        if topic in (*known, AUTO, NONE):
            continue
        if taxonomy is None:
            raise UsageError(f"without --taxonomy, nothing tells which pages are on {topic!r}; give one")
        raise UsageError(f"the taxonomy has no topic {topic!r}; it has {', '.join(taxonomy.topics[:20])}")


def _are_sketches_needed(out: Path, wanted: AtlasPlan) -> bool:
    if wanted.similar is not None or not out.exists():
        return bool(wanted.similar)
    with Atlas(out, allow_private=wanted.allow_private) as atlas:
        return any(atlas.facts(topic).similar for topic in atlas.topics())


def _snapshot(stack: ExitStack, folder: Path) -> Collection:
    """A collection, read within one transaction: a consistent snapshot."""
    collection = stack.enter_context(open_for_reading(folder))
    collection.catalog.connection.execute("BEGIN")
    if not collection.catalog.count():
        raise UsageError(f"{folder} has no pages yet; fill it with: lycosa crawl {folder}")
    return collection


class _Survey:
    """The pages of some collections, numbered, and their topics."""

    def __init__(self, wanted: AtlasPlan, taxonomy: Taxonomy | None, *, sketches: bool):
        self._wanted = wanted
        self._sketches = sketches
        self._taxonomy = taxonomy
        self._topics: list[str] = list(taxonomy.topics) if taxonomy else []
        self._read = Reader()
        self._numbers: dict[Url, int] = {}
        self._urls: list[Url] = []
        self._sightings: list[Sighting] = []
        self._good: dict[str, set[int]] = {}
        self._topic_of: dict[int, int] = {}  # index of the most probable topic of a page
        self._dead: dict[Url, float] = {}
        self._done = 0

    def read_pages(self, name: str, collection: Collection, count: Callable[[int], None]) -> None:
        for url, at in collection.catalog.dead_urls():
            self._dead[url] = max(at, self._dead.get(url, at))
        for row in collection.catalog.pages():
            self._done += 1
            count(self._done)
            if row.vanished_at is not None:
                self._dead[row.url] = max(row.vanished_at, self._dead.get(row.url, row.vanished_at))
                continue
            page = self._page(collection, row) if self._taxonomy or self._sketches else None
            sketch = text_sketch(page) if page and self._sketches else None
            number = self._number(row, Sighting(row.looked_at, name, sketch))
            for topic, probability in self._probabilities(name, row, page):
                if probability > self._wanted.above:
                    self._good.setdefault(topic, set()).add(number)
                if probability > RELEVANT:
                    self._topic_of[number] = self._topics.index(topic)

    def _page(self, collection: Collection, row: PageRow) -> Page | None:
        return self._read(collection.archive.fetch_at(row.place)) if row.place else None

    def _number(self, row: PageRow, sighting: Sighting) -> int:
        number = self._numbers.setdefault(row.url, len(self._urls))
        if number == len(self._urls):
            self._urls.append(row.url)
            self._sightings.append(sighting)
        elif sighting.at > self._sightings[number].at:
            self._sightings[number] = sighting
        return number

    def _probabilities(self, name: str, row: PageRow, page: Page | None) -> Iterable[tuple[str, float]]:
        if self._taxonomy is None:
            topic = self._wanted.topics[0] if self._wanted.topics else name
            if topic not in self._topics:
                self._topics.append(topic)
            return [(topic, row.relevance or 0.0)]
        if page is None:
            return ()
        found = self._taxonomy.probabilities(page)
        return [(self._topics[place], float(found[place])) for place in np.flatnonzero(found > _NEGLIGIBLE).tolist()]

    def links_in(self, collection: Collection) -> Integers:
        """The links from pages of a collection to pages of any of them."""
        numbers = self._numbers
        return link_array(
            (numbers[source], numbers[target])
            for source, target in collection.catalog.link_pairs()
            if target in numbers and source in numbers
        )

    def require_topics(self) -> None:
        above = self._wanted.above
        missing = [topic for topic in self._wanted.topics if topic not in self._good]
        if missing or not set(self._good) - {OTHERS}:
            what = f"on {', '.join(missing)} " if missing and self._taxonomy else ""
            raise CollectionError(f"no page {what}has a chance above {above:g}; give a lower --above, or crawl more")

    def put_into(self, atlas: Atlas, links: Mapping[str, Integers], now: float) -> BuiltAtlas:
        for name, pairs in links.items():
            atlas.set_citations(name, count_citations(self._topics, self._topic_of, pairs))
        for url, at in self._dead.items():
            atlas.mark_dead(url, at)
        citations = atlas.citations()
        related = {topic: self._related(topic, citations) for topic in self._main_topics()}
        drawn = dict.fromkeys([*related, *(other for others in related.values() for other in others)])
        pairs = np.concatenate(list(links.values()))
        for topic in drawn:
            if topic in self._good:
                self._extend(atlas, topic, pairs, now)
        there = atlas.topics()
        for topic, others in related.items():
            atlas.add_related(topic, others)
            for other in others:
                if other in there:
                    atlas.add_related(other, [topic])
        facts = tuple(atlas.facts(topic) for topic in drawn if topic in there)
        return BuiltAtlas(facts, there, citations, dict(atlas.left_out))

    def _main_topics(self) -> Sequence[str]:
        return self._wanted.topics or [topic for topic in sorted(self._good) if topic != OTHERS][:MAX_TOPICS]

    def _related(self, topic: str, citations: CitationMatrix) -> Sequence[str]:
        if self._wanted.related == (AUTO,):
            return citations.related(topic)
        return [other for other in self._wanted.related if other not in (topic, NONE, AUTO)]

    def _extend(self, atlas: Atlas, topic: str, pairs: Integers, now: float) -> None:
        good = {self._urls[number]: self._sightings[number] for number in sorted(self._good[topic])}
        wanted = self._wanted
        atlas.extend(
            topic,
            good,
            self._links_among(self._good[topic], pairs),
            at=now,
            seed=wanted.seed,
            reach=wanted.reach,
            similar=wanted.similar,
            dead=self._dead,
        )

    def _links_among(self, good: Iterable[int], pairs: Integers) -> Iterator[tuple[Url, Url]]:
        """Links with at least one end on the topic; the other may be in the map already."""
        is_good = np.zeros(len(self._urls), dtype=np.bool_)
        is_good[list(good)] = True
        urls = self._urls
        return ((urls[one], urls[other]) for one, other in pairs[is_good[pairs].any(axis=1)].tolist())
