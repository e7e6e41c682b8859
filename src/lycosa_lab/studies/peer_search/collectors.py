"""Simulated crawls by people with overlapping interests, written in the format that `lycosa crawl` writes."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from lycosa.reading import Reader
from lycosa.run.open import open_collection, open_for_reading
from lycosa.strategies import BestFirst
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa_lab.page_cache import PageCache
from lycosa_lab.simulation import Step, crawl
from lycosa_lab.topics import DirectoryTopic, TopicCosine, strategy_for
from lycosa_lab.worlds import StudyWorld
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.shared_collection import SharedCollection

FETCHED_AT = 1_000_000_000.0  # of all pages, so that the same run gives the same collections
SECOND_TOPIC_SHARE = 0.5  # of the peers, those with a second topic
SEED_COUNT = 5  # URLs from which the crawl for a topic starts
_RECIPE = '[topic]\ntext = "crawled in the lab"\n'
_HEADERS = (("content-type", "text/html; charset=utf-8"),)


class Collector(Struct, frozen=True):
    """A peer with a collection, and the numbers of its topics among those of the study."""

    topics: tuple[int, ...]
    relevances: Mapping[Url, float]  # by page


def collectors_of(
    topics: Sequence[DirectoryTopic], *, peer_count: int, max_pages: int, page_cache: PageCache, seed: int
) -> list[Collector]:
    """Each peer crawls one or two topics, up to `max_pages` pages together, from random seeds of the directory.

    First topics are divided evenly among the peers; second ones are drawn at random, as `seed` says.
    """
    collectors = []
    for peer in range(peer_count):
        rng = random.Random(f"{seed} {peer} collector")
        own_topics = [peer * len(topics) // peer_count]
        if rng.random() < SECOND_TOPIC_SHARE:
            own_topics.append(rng.choice([number for number in range(len(topics)) if number != own_topics[0]]))
        found: dict[Url, float] = {}
        for number in own_topics:
            for step in _crawled(topics[number], max_pages // len(own_topics), page_cache, rng):
                found[step.url] = max(step.relevance, found.get(step.url, 0.0))
        collectors.append(Collector(tuple(own_topics), found))
    return collectors


def _crawled(topic: DirectoryTopic, max_pages: int, page_cache: PageCache, rng: random.Random) -> Iterable[Step]:
    listed = [*topic.seeds, *topic.other_entries]  # by the directory
    strategy = strategy_for(BestFirst.name, topic, pages=max_pages, buffer=None, seed=rng.randrange(1 << 30))
    return crawl(
        strategy,
        rng.sample(listed, min(SEED_COUNT, len(listed))),
        read=page_cache.read,
        judge=TopicCosine(topic.as_page()),
        pages=max_pages,
    )


def union_of(collectors: Iterable[Collector]) -> dict[Url, float]:
    """All pages of all collectors, each with the relevance by the last collector that has it."""
    return {url: relevance for collector in collectors for url, relevance in collector.relevances.items()}


def write_collection(folder: Path, world: StudyWorld, relevances: Mapping[Url, float]) -> None:
    """Writes a collection of pages of a world, with archive, search index, and summary for peers."""
    folder.mkdir()
    write_file(folder / "lycosa.toml", _RECIPE, durable=False)
    reader = Reader()
    with open_collection(folder, clock=WallClock(), reader=reader, writable=True) as collection:
        for url, relevance in relevances.items():
            body = world.page(url) or b""
            fetch = Fetch(url, Outcome.OK, FETCHED_AT, 200, "OK", headers=_HEADERS, body=body, content=body)
            collection.record(Visit(Candidate(url, relevance), fetch, reader(fetch), relevance=relevance))
    with open_for_reading(folder) as collection:  # its pages, which were not fetched, have no IP address
        SharedCollection(collection, PeerFolder(folder), allow_private=True).update_summary()
