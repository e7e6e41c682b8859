"""Builds maps from collections: which pages are on which topics, and how they link to one another.

In the map of a topic, the pages with the most links are portals; every other page is tied to one of them (see
`lycosa.maps.topic_map`). An atlas is a file with the maps of several topics.
"""

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
from lycosa.vocabulary.text import quoted

from .open import open_for_reading

MIN_PROBABILITY = 0.8  # that a page is on a topic, for it to be put into the map of the topic
_NEGLIGIBLE = 0.01  # probability up to which a topic is ignored
AUTO, NONE = "auto", "none"  # values of `AtlasPlan.related`: topics that cite each other often, or none
ProgressCallback = Callable[[int, int], None]  # called with the number of pages read and of all pages


class AtlasPlan(Struct, frozen=True, kw_only=True):
    """Which maps to build, and how.

    topics: topics of the taxonomy; without one, the name of the single topic that all collections are about.
    above: a page is put into the map of a topic if it is on the topic with a higher probability than this.
    related: further topics to build maps for, from whose pages crawls go to the portals; or auto, or none.
    reach: to which portals pages are tied; None for that of the existing map, else the default.
    similar: whether to prefer ties between pages with similar texts; None likewise.
    seed: of the random choices; None likewise.
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
    mapped_topics: tuple[str, ...]  # all topics with a map in the atlas
    citations: CitationMatrix
    left_out: Mapping[str, int]  # number of URLs that may not be in a map, by reason


def build_atlas(
    folders: Sequence[Path],
    out: Path,
    plan: AtlasPlan,
    *,
    now: float,
    taxonomy: Taxonomy | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> BuiltAtlas:
    """Builds maps from snapshots of collections, which may be crawled meanwhile, and adds them to the atlas at `out`,
    which is created if needed."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise UsageError(
            "two collections have the same name, which a map uses to record where pages came from; rename one"
        )
    _check_topics(plan, taxonomy, names)
    survey = _Survey(plan, taxonomy, needs_sketches=_are_sketches_needed(out, plan))
    with ExitStack() as stack:
        opened = [(name, _snapshot(stack, folder)) for name, folder in zip(names, folders, strict=True)]
        total = sum(collection.catalog.count() for _, collection in opened)
        for name, collection in opened:
            survey.read_pages(name, collection, lambda done: progress(done, total))
        links = {name: survey.links_in(collection) for name, collection in opened}
    survey.require_topics()
    with Atlas(out, writable=True, allow_private=plan.allow_private, now=now) as atlas:
        built = survey.put_into(atlas, links, now)
        if built.left_out and not any(facts.pages for facts in built.topics):
            reasons = ", ".join(f"{count} ({reason})" for reason, count in built.left_out.items())
            raise UsageError(f"all pages are left out: {reasons}; --allow-private keeps those at private addresses")
        return built


def _check_topics(plan: AtlasPlan, taxonomy: Taxonomy | None, collections: Sequence[str]) -> None:
    for topic in {AUTO, NONE}.intersection(plan.topics):
        raise UsageError(f"--for {topic} names no topic; write --related {topic}, or give the topic another name")
    if taxonomy is None and len(plan.topics) > 1:
        raise UsageError("to tell several topics apart, give --taxonomy; or build the maps one after the other")
    known_topics = taxonomy.topics if taxonomy is not None else plan.topics or collections
    for topic in (*plan.topics, *plan.related):
        if topic in (*known_topics, AUTO, NONE):
            continue
        if taxonomy is None:
            raise UsageError(f"Lycosa cannot know which pages are on {topic!r}; give --taxonomy")
        raise UsageError(f"the taxonomy has no topic {topic!r}; it has {', '.join(taxonomy.topics[:20])}")


def _are_sketches_needed(out: Path, plan: AtlasPlan) -> bool:
    if plan.similar is not None or not out.exists():
        return bool(plan.similar)
    with Atlas(out, allow_private=plan.allow_private) as atlas:
        return any(atlas.facts(topic).similar for topic in atlas.topics())


def _snapshot(stack: ExitStack, folder: Path) -> Collection:
    """A collection, read within one transaction: a consistent snapshot."""
    collection = stack.enter_context(open_for_reading(folder))
    collection.catalog.connection.execute("BEGIN")
    if not collection.catalog.count():
        raise UsageError(f"{folder} has no pages yet; fill it with: lycosa crawl {quoted(folder)}")
    return collection


class _Survey:
    """The pages of some collections, numbered, and their topics.

    needs_sketches: whether to compute text sketches, by which the texts of pages are compared.
    """

    def __init__(self, plan: AtlasPlan, taxonomy: Taxonomy | None, *, needs_sketches: bool):
        self._plan = plan
        self._needs_sketches = needs_sketches
        self._taxonomy = taxonomy
        self._topics: list[str] = list(taxonomy.topics) if taxonomy else []
        self._read = Reader()
        self._numbers: dict[Url, int] = {}  # of pages: indices into the next two lists
        self._urls: list[Url] = []
        self._sightings: list[Sighting] = []  # the latest of each page
        self._on_topic: dict[str, set[int]] = {}  # numbers of the pages on each topic
        self._topic_of: dict[int, int] = {}  # index of the most probable topic of a page
        self._dead: dict[Url, float] = {}  # pages that are gone, and when that was found
        self._done = 0  # number of pages read

    def read_pages(self, name: str, collection: Collection, progress: Callable[[int], None]) -> None:
        for url, at in collection.catalog.dead_urls():
            self._dead[url] = max(at, self._dead.get(url, at))
        for row in collection.catalog.pages():
            self._done += 1
            progress(self._done)
            if row.vanished_at is not None:
                self._dead[row.url] = max(row.vanished_at, self._dead.get(row.url, row.vanished_at))
                continue
            page = self._page(collection, row) if self._taxonomy or self._needs_sketches else None
            sketch = text_sketch(page) if page and self._needs_sketches else None
            number = self._add_page(row, Sighting(row.looked_at, name, sketch))
            for topic, probability in self._probabilities(name, row, page):
                if probability > self._plan.above:
                    self._on_topic.setdefault(topic, set()).add(number)
                if probability > RELEVANT:
                    self._topic_of[number] = self._topics.index(topic)

    def _page(self, collection: Collection, row: PageRow) -> Page | None:
        return self._read(collection.archive.fetch_at(row.place)) if row.place else None

    def _add_page(self, row: PageRow, sighting: Sighting) -> int:
        number = self._numbers.setdefault(row.url, len(self._urls))
        if number == len(self._urls):
            self._urls.append(row.url)
            self._sightings.append(sighting)
        elif sighting.at > self._sightings[number].at:
            self._sightings[number] = sighting
        return number

    def _probabilities(self, name: str, row: PageRow, page: Page | None) -> Iterable[tuple[str, float]]:
        if self._taxonomy is None:
            topic = self._plan.topics[0] if self._plan.topics else name
            if topic not in self._topics:
                self._topics.append(topic)
            return [(topic, row.relevance or 0.0)]
        if page is None:
            return ()
        probabilities = self._taxonomy.probabilities(page)
        return [
            (self._topics[index], float(probabilities[index]))
            for index in np.flatnonzero(probabilities > _NEGLIGIBLE).tolist()
        ]

    def links_in(self, collection: Collection) -> Integers:
        """The links from pages of a collection to pages of any of them."""
        numbers = self._numbers
        return link_array(
            (numbers[source], numbers[target])
            for source, target in collection.catalog.link_pairs()
            if target in numbers and source in numbers
        )

    def require_topics(self) -> None:
        above = self._plan.above
        missing = [topic for topic in self._plan.topics if topic not in self._on_topic]
        if missing or not set(self._on_topic) - {OTHERS}:
            topics = f"on {', '.join(missing)} " if missing and self._taxonomy else ""
            raise CollectionError(f"no page {topics}has a chance above {above:g}; give a lower --above, or crawl more")

    def put_into(self, atlas: Atlas, links: Mapping[str, Integers], now: float) -> BuiltAtlas:
        for name, pairs in links.items():
            atlas.set_citations(name, count_citations(self._topics, self._topic_of, pairs))
        for url, at in self._dead.items():
            atlas.mark_dead(url, at)
        citations = atlas.citations()
        related = {topic: self._related(topic, citations) for topic in self._main_topics()}
        to_build = dict.fromkeys([*related, *(other for others in related.values() for other in others)])
        pairs = np.concatenate(list(links.values()))
        for topic in to_build:
            if topic in self._on_topic:
                self._build_map(atlas, topic, pairs, now)
        mapped = atlas.topics()
        for topic, others in related.items():
            atlas.add_related(topic, others)
            for other in others:
                if other in mapped:
                    atlas.add_related(other, [topic])
        facts = tuple(atlas.facts(topic) for topic in to_build if topic in mapped)
        return BuiltAtlas(facts, mapped, citations, dict(atlas.left_out))

    def _main_topics(self) -> Sequence[str]:
        return self._plan.topics or [topic for topic in sorted(self._on_topic) if topic != OTHERS][:MAX_TOPICS]

    def _related(self, topic: str, citations: CitationMatrix) -> Sequence[str]:
        if self._plan.related == (AUTO,):
            return citations.related(topic)
        return [other for other in self._plan.related if other not in (topic, NONE, AUTO)]

    def _build_map(self, atlas: Atlas, topic: str, pairs: Integers, now: float) -> None:
        on_topic = {self._urls[number]: self._sightings[number] for number in sorted(self._on_topic[topic])}
        plan = self._plan
        atlas.extend(
            topic,
            on_topic,
            self._links_among(self._on_topic[topic], pairs),
            at=now,
            seed=plan.seed,
            reach=plan.reach,
            similar=plan.similar,
            dead=self._dead,
        )

    def _links_among(self, on_topic: Iterable[int], pairs: Integers) -> Iterator[tuple[Url, Url]]:
        """Links with at least one end on the topic; the other may be in the map already."""
        is_on_topic = np.zeros(len(self._urls), dtype=np.bool_)
        is_on_topic[list(on_topic)] = True
        urls = self._urls
        return ((urls[source], urls[target]) for source, target in pairs[is_on_topic[pairs].any(axis=1)].tolist())
