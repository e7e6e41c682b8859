"""What can be asked of an atlas, whoever made it."""

import sqlite3
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url

from .atlas_file import told
from .citations import CitationMatrix, summed
from .crawl_map import MOST_LINKS, CrawlMap
from .drawing import REACHES
from .public_urls import why_left_out

MOST_PAGES = 2_000_000  # of a topic
MOST_TOPICS = 1_000
MOST_CITATIONS = 1_000_000  # pairs of topics that a matrix tells of
LONGEST_NAME = 200  # characters, of a topic or a source
LAST_MOMENT = 2.5e11  # in the year 9892
DEAD = "(dead_at IS NOT NULL AND dead_at >= coalesce(alive_at, dead_at))"


class TopicFacts(Struct, frozen=True):
    """What an atlas says of a topic."""

    name: str
    pages: int
    portals: int
    dead: int  # pages last seen dead, which no crawl is sent to
    drawn_at: float
    seed: int
    reach: str
    similar: bool  # whether similar pages are rather tied
    related: tuple[str, ...]
    sources: Mapping[str, int]  # pages that each collection was the last to see


class AtlasQuestions:
    """The reading half of an atlas. Everything is bounded: URLs that no crawl may ask for are left out and counted in
    `left_out`, ties beyond 10 000 of one page are not followed."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, allow_private: bool):
        self.path = path
        self.left_out: dict[str, int] = {}
        self._connection = connection
        self._allow_private = allow_private
        self._crawl_maps: dict[str, CrawlMap] = {}

    def topics(self) -> tuple[str, ...]:
        rows = self._rows("SELECT name FROM topics ORDER BY name LIMIT ?", MOST_TOPICS)
        return tuple(name for (name,) in rows if is_name(name))

    def facts(self, topic: str) -> TopicFacts:
        number = self._topic(topic)
        (row,) = self._rows("SELECT drawn_at, seed, reach, similar FROM topics WHERE number = ?", number)
        (counts,) = self._rows(
            f"SELECT count(*), coalesce(sum(portal IS NULL), 0), coalesce(sum({DEAD}), 0) FROM members"
            " JOIN pages ON number = page WHERE topic = ?",
            number,
        )
        by_source = self._rows(
            "SELECT name, count(*) FROM members JOIN sources ON sources.number = source"
            " WHERE topic = ? GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
            number,
            MOST_TOPICS,
        )
        sources = {name: count for name, count in by_source if is_name(name)}
        drawn_at, seed, reach, similar = row
        pages, portals, dead = counts
        if not (is_moment(drawn_at) and isinstance(seed, int) and seed >= 0 and reach in REACHES):
            raise UsageError(f"the atlas {self.path} does not say how {topic!r} was drawn; take another copy")
        return TopicFacts(
            topic, pages, portals, dead, drawn_at, seed, reach, bool(similar), self.related(topic), sources
        )

    def related(self, topic: str) -> tuple[str, ...]:
        """The topics from whose pages a crawl for this one is sent to its portals."""
        sql = "SELECT met FROM related WHERE topic = ? ORDER BY met LIMIT ?"
        return tuple(met for (met,) in self._rows(sql, self._topic(topic), MOST_TOPICS) if is_name(met))

    def citations(self) -> CitationMatrix:
        """Which topics cite which, by all collections together."""
        return summed(self.citations_by_source().values())

    def citations_by_source(self) -> dict[str, dict[tuple[str, str], int]]:
        """The links from topic to topic that each collection has."""
        sql = "SELECT name, citing, cited, links FROM citations JOIN sources ON number = source LIMIT ?"
        found: dict[str, dict[tuple[str, str], int]] = {}
        topics: set[str] = set()
        for name, citing, other, links in self._rows(sql, MOST_CITATIONS):
            if not (is_name(name) and is_name(citing) and is_name(other)):
                continue
            has_room = len(topics) < MOST_TOPICS - 1 or {citing, other} <= topics
            if has_room and isinstance(links, int) and 0 < links < 1 << 40:
                topics |= {citing, other}
                found.setdefault(name, {})[citing, other] = links
        return found

    def portals_of(self, topic: str) -> tuple[Url, ...]:
        return self.for_crawl(topic).portals

    def links_of(self, url: Url, topic: str) -> tuple[Url, ...]:
        """Where the map of a topic leads from a page."""
        return self.for_crawl(topic).links_of(url)

    def for_crawl(self, topic: str) -> CrawlMap:
        """The map of a topic in memory, without pages last seen dead; what was tied to a dead portal is tied to the
        next one."""
        if topic not in self._crawl_maps:
            portals, spokes = self._living_ties(self._topic(topic))
            self._crawl_maps[topic] = CrawlMap(portals, spokes, related=self.related(topic))
        return self._crawl_maps[topic]

    def edges(self, topic: str, *, clique: bool = True) -> Iterator[tuple[Url, Url | None, str]]:
        """Every tie of a topic's map once, and its kind: of portals to one another, and of portals to their spokes.

        clique: else the ties between portals, which are all tied to one another, are one row for each portal.
        """
        crawl_map = self.for_crawl(topic)
        for place, portal in enumerate(crawl_map.portals):
            if clique:
                yield from ((portal, other, "portals") for other in islice(crawl_map.portals, place + 1, None))
            else:
                yield portal, None, "portal"
            yield from ((portal, node, "spoke") for node in crawl_map.spokes[portal])

    def _living_ties(self, topic: int) -> tuple[list[Url], dict[Url, list[Url]]]:
        sql = (
            f"SELECT page, url, portal, rank, {DEAD} FROM members JOIN pages ON number = page WHERE topic = ?"
            " ORDER BY rank IS NULL, rank, page LIMIT ?"
        )
        portals: list[Url] = []
        spokes: dict[Url, list[Url]] = {}
        heirs: dict[int, int] = {}  # the place of each portal, or of the next that lives
        for page, url, portal, rank, is_dead in self._rows(sql, topic, MOST_PAGES):
            is_portal = portal is None and rank is not None
            if is_portal:
                heirs[page] = len(portals)
            if is_dead or not self._may_be_in(url):
                continue
            if is_portal:
                portals.append(url)
                spokes[url] = []
            elif portals and portal in heirs:
                tied = spokes[portals[heirs[portal] % len(portals)]]
                if len(tied) < MOST_LINKS:
                    tied.append(url)
                else:
                    self._leave_out(f"more than {MOST_LINKS} ties of one page")
        return portals, spokes

    def _topic(self, name: str) -> int:
        found = list(self._rows("SELECT number FROM topics WHERE name = ?", name))
        if not found:
            there = ", ".join(self.topics()[:20]) or "none"
            raise UsageError(f"the atlas {self.path} has no map of {name!r}; there are {there}")
        return int(found[0][0])

    def _may_be_in(self, url: object) -> bool:
        reason = why_left_out(url, allow_private=self._allow_private)
        if reason is not None:
            self._leave_out(reason)
        return reason is None

    def _leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def _rows(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with told(self.path):
            yield from self._connection.execute(sql, values)


def is_moment(at: object) -> bool:
    """Whether this can be seconds since the epoch that a calendar has."""
    return isinstance(at, float) and 0.0 <= at < LAST_MOMENT


def is_name(name: object) -> bool:
    """Whether this can be the name of a topic or a collection."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable() and bool(name.strip())
