"""The inputs of all jobs: collections on disk, the central index of all of them, and the queries."""

import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.page_cache import PageCache
from lycosa_lab.study import Size
from lycosa_lab.topics import topics_of
from lycosa_lab.worlds import StudyWorld
from lycosa_peers.content import ContentSummary, LookupResult, SummaryDelta
from lycosa_peers.messages import MAX_HITS, CollectionStatistics, Contact, Item, PeerHit, Target
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.ranking import merge, query_words
from lycosa_peers.search import Answer, Stage
from lycosa_peers.shared_collection import CollectionSummary, SharedCollection

from .collectors import Collector, collectors_of, union_of, write_collection

TOP_K = 10  # places of a ranking that count; recall is of the pages in those of the central index
OWN_TOPIC_SHARE = 0.8  # of a peer's queries, those on its own topics; others are on any topic
QUERY_WORDS = 2  # of a query; fewer if the description has fewer
_ATTEMPTS = 50  # to draw words that occur together on a page
_CENTRAL = "central"


class Question(Struct, frozen=True):
    """A query of a peer, and the pages that count as relevant: the best in the central index."""

    asker: int
    query: str
    relevant: tuple[str, ...]  # URLs


@dataclass(frozen=True)
class PeerSearchInputs:
    """Collections in a temporary folder, which is removed with this object."""

    folder: tempfile.TemporaryDirectory[str]
    descriptions: Sequence[Sequence[str]]  # of each topic: the descriptions of its pages in the directory
    collectors: Sequence[Collector]
    size: Size
    seed: int

    def collection_folder(self, peer: int) -> Path:
        """The folder of the collection of a peer."""
        return Path(self.folder.name) / f"{peer:02d}"

    @property
    def central(self) -> Path:
        return Path(self.folder.name) / _CENTRAL


def prepare(world: StudyWorld, size: Size, seed: int) -> PeerSearchInputs:
    """Crawls all collections and writes them to disk, the central one too."""
    topics = topics_of(world, size["topics"])
    page_cache = PageCache(world)
    collectors = collectors_of(
        topics, peer_count=size["peers"], max_pages=size["pages"], page_cache=page_cache, seed=seed
    )
    by_topic = {category.name: [entry.description for entry in category.entries] for category in world.directory()}
    descriptions = [by_topic[topic.name] for topic in topics]
    inputs = PeerSearchInputs(tempfile.TemporaryDirectory(prefix="peers-"), descriptions, collectors, size, seed)
    for number, collector in enumerate(collectors):
        write_collection(inputs.collection_folder(number), world, collector.relevances)
    write_collection(inputs.central, world, union_of(collectors))
    return inputs


class CachedContent:
    """A collection that does not change, with cached answers of at most `limit` hits."""

    def __init__(self, content: SharedCollection, limit: int):
        self._content = content
        self._limit = limit
        self._found: dict[Target, LookupResult] = {}

    def find(self, target: Target, limit: int) -> LookupResult:
        found = self._found.get(target)
        if found is None:
            found = self._found[target] = self._content.find(target, self._limit)
        return found if len(found.hits) <= limit else LookupResult(found.hits[:limit], found.statistics)

    def find_own(self, target: Target, limit: int) -> LookupResult:
        return self.find(target, limit)

    def fetch(self, item: Item) -> bytes | None:
        return self._content.fetch(item)

    def is_item(self, item: Item, body: bytes) -> bool:
        return self._content.is_item(item, body)

    def is_plausible_hit(self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None) -> bool:
        return self._content.is_plausible_hit(target, hit, statistics)

    def body_matches_hit(
        self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None, body: bytes
    ) -> bool:
        return True  # all are honest here

    def unanswerable_query(self, number: int) -> str | None:
        return None  # no traps, as all are honest here

    def may_store(self, item: Item) -> bool:
        return self._content.may_store(item)

    def summary(self) -> CollectionSummary:
        return self._content.summary()

    def changes(self, since: int) -> SummaryDelta | None:
        return self._content.changes(since)

    def unpack(self, packed: bytes, version: int) -> CollectionSummary:
        return self._content.unpack(packed, version)

    def update(self, held: ContentSummary, change: bytes, version: int) -> CollectionSummary:
        return self._content.update(held, change, version)


class OpenCollections:
    """The collections of all peers and the central one, open for reading."""

    def __init__(self, inputs: PeerSearchInputs, peer_count: int):
        self.inputs = inputs
        self._stack = ExitStack()
        limit = inputs.size["limit"]  # the most hits that any search asks of a peer, and at which it ends
        self.contents = [self._open(inputs.collection_folder(peer), limit) for peer in range(peer_count)]
        self._central = self._open(inputs.central, MAX_HITS)

    def _open(self, folder: Path, limit: int) -> CachedContent:
        collection = self._stack.enter_context(open_for_reading(folder))
        content = SharedCollection(collection, PeerFolder(folder), allow_private=True)  # pages at private addresses
        return CachedContent(content, limit)

    def __enter__(self) -> "OpenCollections":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def relevant(self, query: str) -> tuple[str, ...]:
        """The URLs of the best pages by the central index."""
        found = self._central.find(query, MAX_HITS)
        # As if the central index were the asker itself: hits of our own content are not limited as claims of others.
        answer = Answer(Contact(_CENTRAL), _CENTRAL, Stage.OWN_CONTENT, found.hits, found.statistics)
        return top_urls(query, [answer], _CENTRAL)

    def questions(self, count: int, seed: int) -> list[Question]:
        """Queries of random peers: `QUERY_WORDS` words of a description in the directory, mostly of their own topics,
        for which the central index has a page."""
        rng = random.Random(f"{seed} questions")
        asked: list[Question] = []
        for _ in range(_ATTEMPTS * count):
            asker = rng.randrange(len(self.contents))
            own_topics, descriptions = self.inputs.collectors[asker].topics, self.inputs.descriptions
            topic = rng.choice(own_topics) if rng.random() < OWN_TOPIC_SHARE else rng.randrange(len(descriptions))
            words = query_words(rng.choice(descriptions[topic]))
            query = " ".join(rng.sample(words, min(QUERY_WORDS, len(words))))
            if query and (relevant := self.relevant(query)):
                asked.append(Question(asker, query, relevant))
                if len(asked) == count:
                    break
        if len(asked) < count:
            raise UsageError("hardly any page of this world has words of its directory; choose another world")
        return asked


def top_urls(query: str, answers: Sequence[Answer], own_name: str) -> tuple[str, ...]:
    """The URLs of the best hits, as the asker ranks them."""
    return tuple(hit.url for hit in merge(query, answers, own_name=own_name).hits[:TOP_K])
