"""An atlas: the maps of some topics in one file, which crawls extend and which can be shared.

The map of a topic ties its pages together: portals are tied to one another, and every other page is a spoke, tied to
one portal (see `topic_map`). Topics, pages and sources (the collections that pages and citations are from) have numbers
in the file, and names or URLs outside of it.

The file is untrusted: reading it is bounded, and URLs that no crawl may request are left out.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from msgspec import Struct

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.hosts import MAX_URL_LENGTH, why_url_refused
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import printable

from .atlas_file import TIMESTAMP_COLUMNS, atlas_errors, open_atlas_file, rewrite_atlas_file
from .citations import CitationMatrix, sum_citations
from .similarity import SketchSimilarity
from .subgraph import Integers, link_array
from .topic_map import MAX_TIES, REACHES, Reach, UrlMap, draw_map

MAX_PAGES = 2_000_000  # of a topic
MAX_TOPICS = 1_000
MAX_CITATIONS = 1_000_000  # pairs of topics that are read
MAX_NAME = 200  # characters, of a topic or a source
MAX_TIMESTAMP = 2.5e11  # seconds; in the year 9892, while calendars end at 9999
# A condition in SQL: whether a page was last seen dead.
IS_DEAD = "(dead_at IS NOT NULL AND dead_at >= coalesce(alive_at, dead_at))"
_LINK_DTYPE = np.dtype("<i4")  # of the page numbers in the column `links`


class TopicFacts(Struct, frozen=True):
    """A topic of an atlas: the size of its map, and the settings it was drawn with (see `draw_map`)."""

    name: str
    pages: int  # number of all pages, portals and dead ones included
    portals: int  # number of portals
    dead: int  # number of pages last seen dead, to which no crawl is sent
    drawn_at: float  # seconds since the epoch
    seed: int  # of the random numbers
    reach: str  # a Reach
    similar: bool  # whether pages are preferably tied to similar portals
    related: tuple[str, ...]  # topics from whose pages a crawl for this one is sent to its portals
    sources: Mapping[str, int]  # number of pages last seen by each collection


class Sighting(Struct, frozen=True, gc=False):
    """A page on a topic: when it was last seen alive, by which collection, and the sketch of its text, if any."""

    at: float
    source: str
    sketch: bytes | None = None


class _Member(NamedTuple):
    """A page of a topic."""

    page: int  # its number
    url: Url
    source: int  # number of the collection that saw it last
    alive_at: Any  # when it was last seen alive; unchecked


class AtlasReader:
    """The queries of an atlas.

    `left_out` counts, by reason, the URLs that no crawl may request and the ties beyond MAX_TIES of one page.
    A tie is a link of a map (see `topic_map`).
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, allow_private: bool):
        self.path = path
        self.left_out: dict[str, int] = {}
        self._connection = connection
        self._allow_private = allow_private
        self._crawl_maps: dict[str, UrlMap] = {}

    def topics(self) -> tuple[str, ...]:
        rows = self._rows("SELECT name FROM topics ORDER BY name LIMIT ?", MAX_TOPICS)
        return tuple(name for (name,) in rows if is_name(name))

    def sources(self) -> set[str]:
        """The names of the collections that pages or citations are from."""
        return {name for (name,) in self._rows("SELECT name FROM sources LIMIT ?", MAX_PAGES) if is_name(name)}

    def facts(self, topic: str) -> TopicFacts:
        number = self._topic_number(topic)
        (row,) = self._rows("SELECT drawn_at, seed, reach, similar FROM topics WHERE number = ?", number)
        (counts,) = self._rows(
            f"SELECT count(*), coalesce(sum(portal IS NULL), 0), coalesce(sum({IS_DEAD}), 0) FROM members"
            " JOIN pages ON number = page WHERE topic = ?",
            number,
        )
        by_source = self._rows(
            "SELECT name, count(*) FROM members JOIN sources ON sources.number = source"
            " WHERE topic = ? GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
            number,
            MAX_TOPICS,
        )
        sources = {name: count for name, count in by_source if is_name(name)}
        drawn_at, seed, reach, similar = row
        pages, portals, dead = counts
        if not (is_timestamp(drawn_at) and isinstance(seed, int) and seed >= 0 and reach in REACHES):
            raise UsageError(f"the atlas {self.path} does not say how {topic!r} was drawn; take another copy")
        return TopicFacts(
            topic, pages, portals, dead, drawn_at, seed, reach, bool(similar), self.related(topic), sources
        )

    def related(self, topic: str) -> tuple[str, ...]:
        """The topics from whose pages a crawl for this one is sent to its portals."""
        sql = "SELECT met FROM related WHERE topic = ? ORDER BY met LIMIT ?"
        return tuple(other for (other,) in self._rows(sql, self._topic_number(topic), MAX_TOPICS) if is_name(other))

    def citations(self) -> CitationMatrix:
        """The links between topics, over all collections."""
        return sum_citations(self.citations_by_source().values())

    def citations_by_source(self) -> dict[str, dict[tuple[str, str], int]]:
        """The links from topic to topic that each collection has."""
        sql = "SELECT name, citing, cited, links FROM citations JOIN sources ON number = source LIMIT ?"
        found: dict[str, dict[tuple[str, str], int]] = {}
        topics: set[str] = set()
        for name, citing, cited, links in self._rows(sql, MAX_CITATIONS):
            if not (is_name(name) and is_name(citing) and is_name(cited)):
                continue
            has_room = len(topics) < MAX_TOPICS - 1 or {citing, cited} <= topics
            if has_room and isinstance(links, int) and 0 < links < 1 << 40:
                topics |= {citing, cited}
                found.setdefault(name, {})[citing, cited] = links
        return found

    def portals_of(self, topic: str) -> tuple[Url, ...]:
        return self.crawl_map(topic).portals

    def ties_of(self, url: Url, topic: str) -> tuple[Url, ...]:
        """The ties of a page in the map of a topic."""
        return self.crawl_map(topic).ties_of(url)

    def crawl_map(self, topic: str) -> UrlMap:
        """The map of a topic in memory, without dead pages; the spokes of a dead portal go to the next living one."""
        if topic not in self._crawl_maps:
            portals, spokes = self._alive_ties(self._topic_number(topic))
            self._crawl_maps[topic] = UrlMap(portals, spokes, related=self.related(topic))
        return self._crawl_maps[topic]

    def edges(self, topic: str, *, clique: bool = True) -> Iterator[tuple[Url, Url | None, str]]:
        """Every tie of a topic's map once: two portals and "portals", or portal, spoke and "spoke".

        clique: whether all ties between portals are listed; otherwise each portal is one row (portal, None, "portal").
        """
        crawl_map = self.crawl_map(topic)
        for index, portal in enumerate(crawl_map.portals):
            if clique:
                yield from ((portal, other, "portals") for other in islice(crawl_map.portals, index + 1, None))
            else:
                yield portal, None, "portal"
            yield from ((portal, node, "spoke") for node in crawl_map.spokes[portal])

    def _alive_ties(self, topic: int) -> tuple[list[Url], dict[Url, list[Url]]]:
        sql = (
            f"SELECT page, url, portal, rank, {IS_DEAD} FROM members JOIN pages ON number = page WHERE topic = ?"
            " ORDER BY rank IS NULL, rank, page LIMIT ?"
        )
        portals: list[Url] = []
        spokes: dict[Url, list[Url]] = {}
        # By page number of a portal: its index among the living ones or, if it is dead, that of the next.
        next_portal: dict[int, int] = {}
        for page, url, portal, rank, is_dead in self._rows(sql, topic, MAX_PAGES):
            is_portal = portal is None and rank is not None
            if is_portal:
                next_portal[page] = len(portals)
            if is_dead or not self._is_allowed(url):
                continue
            if is_portal:
                portals.append(url)
                spokes[url] = []
            elif portals and portal in next_portal:
                tied = spokes[portals[next_portal[portal] % len(portals)]]
                if len(tied) < MAX_TIES:
                    tied.append(url)
                else:
                    self._leave_out(f"more than {MAX_TIES} ties of one page")
        return portals, spokes

    def _topic_number(self, name: str) -> int:
        (number,) = next(self._rows("SELECT number FROM topics WHERE name = ?", name), (None,))
        if number is None:
            known = ", ".join(self.topics()[:20]) or "none"
            raise UsageError(f"the atlas {self.path} has no map of {name!r}; there are {known}")
        return int(number)

    def _is_allowed(self, url: object) -> bool:
        reason = why_url_refused(url, allow_private=self._allow_private)
        if reason is not None:
            self._leave_out(reason)
        return reason is None

    def _leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def _rows(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with atlas_errors(self.path):
            yield from self._connection.execute(sql, values)


class Atlas(AtlasReader):
    """Maps of topics, with who saw each page last, and when it was last seen alive or dead.

    A writable atlas replaces its file when its context ends without an error.

    allow_private: whether private addresses may be in a map; atlases that others see should have none.
    start: the atlas to begin with, instead of the one at the path.
    now: a writable atlas reduces later timestamps to this, because no sighting could replace one from the future.
    """

    def __init__(
        self,
        path: Path,
        *,
        writable: bool = False,
        allow_private: bool = False,
        start: Path | None = None,
        now: float = math.inf,
    ):
        self._now = now
        self._file: AbstractContextManager[sqlite3.Connection] = (
            rewrite_atlas_file(path, start=start) if writable else closing(open_atlas_file(path))
        )
        super().__init__(path, self._file.__enter__(), allow_private=allow_private)
        with ExitStack() as on_error:
            on_error.push(self._file)
            if writable and now < math.inf:
                for table, column in TIMESTAMP_COLUMNS:
                    self._execute(f"UPDATE {table} SET {column} = ?1 WHERE {column} > ?1", now)
            on_error.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def extend(
        self,
        topic: str,
        pages: Mapping[Url, Sighting],
        links: Iterable[tuple[Url, Url]],
        *,
        at: float,
        seed: int | None = None,
        reach: Reach | None = None,
        similar: bool | None = None,
        dead: Mapping[Url, float] = {},
    ) -> None:
        """Adds pages on a topic with the hyperlinks among them, and draws its map again, without dead pages.

        links: by URL; those from or to pages that are not on the topic are ignored.
        seed, reach, similar: how the map is drawn; None for the previous values.
        at: the time of drawing.
        dead: the time at which pages were found to be gone; those not seen alive since are dead.
        """
        number, seed, reach, similar = self._settings(topic, at, seed, reach, similar)
        members = self._members(number)
        seen_numbers = self._add_pages(pages)
        for url in dead.keys() & seen_numbers.keys():
            self.mark_dead(url, dead[url])
        numbers = {member.url: member.page for member in members} | seen_numbers
        self._add_links((numbers[one], numbers[other]) for one, other in links if one in numbers and other in numbers)
        sources = {member.page: member.source for member in members}
        seen_at = {member.page: member.alive_at for member in members if is_timestamp(member.alive_at)}
        latest: dict[str, float] = {}  # sighting of each source
        for sighting in pages.values():
            latest[sighting.source] = max(sighting.at, latest.get(sighting.source, sighting.at))
        source_numbers = {name: self._add_source(name, last_at) for name, last_at in latest.items()}
        for url, page in seen_numbers.items():
            if pages[url].at >= seen_at.get(page, -math.inf):  # nobody has seen it later
                sources[page] = source_numbers[pages[url].source]
        sketches, hyperlinks = self._alive_pages(frozenset(numbers.values()))
        drawn = draw_map(
            [numbers[url] for url in sorted(numbers) if numbers[url] in sketches],  # in an order independent of history
            hyperlinks,
            seed=seed,
            reach=reach,
            similarity=SketchSimilarity(sketches) if similar else None,
        )
        self._write_members(number, drawn.portals, drawn.portal_of, sources)

    def merge(self, other: "Atlas") -> None:
        """Adds everything in another atlas, and draws all maps again."""
        sightings = {topic: other.sightings(topic) for topic in other.topics()}
        numbers = self._add_pages({url: seen for pages in sightings.values() for url, seen in pages.items()})
        for url, at in other.deaths():
            self.mark_dead(url, at)
        self._add_links(
            (numbers[one], numbers[another])
            for one, another in other.hyperlinks()
            if one in numbers and another in numbers
        )
        ours = self.topics()
        for topic in sorted({*ours, *sightings}):
            facts = self.facts(topic) if topic in ours else other.facts(topic)
            at = max(facts.drawn_at, other.facts(topic).drawn_at) if topic in sightings else facts.drawn_at
            reach = cast(Reach, facts.reach)
            self.extend(topic, sightings.get(topic, {}), (), at=at, seed=facts.seed, reach=reach, similar=facts.similar)
            if topic in sightings:
                self.add_related(topic, other.related(topic))
        our_citations = self.citations_by_source()
        for source, counts in other.citations_by_source().items():
            before = sum(our_citations.get(source, {}).values())
            if sum(counts.values()) > before:  # the later state of a collection has more links
                self._set_citations(source, counts)

    def sightings(self, topic: str) -> dict[Url, Sighting]:
        """The living pages on a topic."""
        rows = self._rows("SELECT number, name FROM sources LIMIT ?", MAX_PAGES)
        names = {number: name for number, name in rows if is_name(name)}
        sql = (
            "SELECT url, alive_at, source, substr(sketch, 1, 1024) FROM members JOIN pages ON number = page"
            f" WHERE topic = ? AND NOT {IS_DEAD} LIMIT ?"
        )
        return {
            url: Sighting(at, names[source], sketch if isinstance(sketch, bytes) else None)
            for url, at, source, sketch in self._rows(sql, self._topic_number(topic), MAX_PAGES)
            if is_timestamp(at) and source in names and self._is_allowed(url)
        }

    def hyperlinks(self) -> Iterator[tuple[Url, Url]]:
        """The links among all living pages."""
        rows = self._rows(f"SELECT number, url FROM pages WHERE NOT {IS_DEAD} LIMIT ?", MAX_PAGES)
        urls = {number: Url(url) for number, url in rows if isinstance(url, str) and len(url) <= MAX_URL_LENGTH}
        pairs = self._alive_pages(urls.keys())[1]
        return ((urls[one], urls[other]) for one, other in pairs.tolist() if other in urls)

    def deaths(self) -> Iterator[tuple[Url, float]]:
        """The pages last seen dead, and when."""
        rows = self._rows(f"SELECT url, dead_at FROM pages WHERE {IS_DEAD}")
        return ((url, at) for url, at in rows if is_timestamp(at) and self._is_allowed(url))

    def mark_dead(self, url: Url, at: float) -> None:
        """Records that a page is gone: no crawl is sent to it until it is seen alive again."""
        self._execute(
            "UPDATE pages SET dead_at = max(coalesce(dead_at, ?1), ?1) WHERE url = ?2", min(at, self._now), url
        )

    def add_related(self, topic: str, others: Iterable[str]) -> None:
        """Records that a crawl for `topic` is sent to its portals from pages of these topics."""
        number = self._topic_number(topic)
        for other in others:
            self._execute("INSERT OR IGNORE INTO related (topic, met) VALUES (?, ?)", number, _required_name(other))

    def set_citations(self, source: str, matrix: CitationMatrix) -> None:
        """Replaces the links between topics that a collection has."""
        counts = {
            (citing, cited): int(links)
            for citing, row in zip(matrix.topics, matrix.links, strict=True)
            for cited, links in zip(matrix.topics, row, strict=True)
            if links
        }
        self._set_citations(source, counts)

    # ------------------------------------------------------------ rows

    def _set_citations(self, source: str, counts: Mapping[tuple[str, str], int]) -> None:
        number = self._add_source(source, 0.0)
        self._execute("DELETE FROM citations WHERE source = ?", number)
        rows = [(number, citing, cited, links) for (citing, cited), links in counts.items()]
        sql = "INSERT INTO citations (source, citing, cited, links) VALUES (?, ?, ?, ?)"
        self._connection.executemany(sql, rows)

    def _settings(
        self, topic: str, at: float, seed: int | None, reach: Reach | None, similar: bool | None
    ) -> tuple[int, int, Reach, bool]:
        """The number of a topic, and how its map is drawn: as given, or else as before."""
        if topic in self.topics():
            before = self.facts(topic)
            seed = before.seed if seed is None else seed
            reach = cast(Reach, before.reach) if reach is None else reach
            similar = before.similar if similar is None else similar
        settings = (min(at, self._now), seed or 0, reach or "mixed", bool(similar))
        self._execute(
            "INSERT INTO topics (name, drawn_at, seed, reach, similar) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET drawn_at = excluded.drawn_at, seed = excluded.seed,"
            " reach = excluded.reach, similar = excluded.similar",
            _required_name(topic),
            *settings,
        )
        return self._topic_number(topic), *settings[1:]

    def _add_source(self, name: str, at: float) -> int:
        """Records that a collection was the source of something at a time; returns its number."""
        self._execute(
            "INSERT INTO sources (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = max(at, excluded.at)",
            _required_name(name),
            min(at, self._now),
        )
        ((number,),) = self._rows("SELECT number FROM sources WHERE name = ?", name)
        return int(number)

    def _add_pages(self, pages: Mapping[Url, Sighting]) -> dict[Url, int]:
        """Adds pages that were seen alive, except those that may not be in a map; returns their numbers."""
        kept = {url: sighting for url, sighting in pages.items() if self._is_allowed(url)}
        self._connection.executemany(
            "INSERT INTO pages (url, alive_at, sketch) VALUES (?, ?, ?) ON CONFLICT (url) DO UPDATE SET"
            " alive_at = max(coalesce(alive_at, excluded.alive_at), excluded.alive_at),"
            " sketch = coalesce(excluded.sketch, sketch)",
            ((url, min(sighting.at, self._now), sighting.sketch) for url, sighting in kept.items()),
        )
        return {url: number for url, number in self._rows("SELECT url, number FROM pages") if url in kept}

    def _members(self, topic: int) -> list[_Member]:
        sql = "SELECT page, url, source, alive_at FROM members JOIN pages ON number = page WHERE topic = ? LIMIT ?"
        members = map(_Member._make, self._rows(sql, topic, MAX_PAGES))
        return [member for member in members if self._is_allowed(member.url)]

    def _alive_pages(self, pages: Collection[int]) -> tuple[dict[int, bytes | None], Integers]:
        """Of some pages those that are not dead, with their sketches, and an array of their links."""
        sketches: dict[int, bytes | None] = {}
        sources, targets = [], []
        sql = f"SELECT number, substr(links, 1, ?), substr(sketch, 1, 1024) FROM pages WHERE NOT {IS_DEAD}"
        for number, links, sketch in self._rows(sql, _LINK_DTYPE.itemsize * MAX_TIES):
            if number in pages:
                sketches[number] = sketch if isinstance(sketch, bytes) else None
                if isinstance(links, bytes) and len(links) % _LINK_DTYPE.itemsize == 0 and links:
                    sources.append((number, len(links) // _LINK_DTYPE.itemsize))
                    targets.append(links)
        numbers, lengths = np.array(sources, dtype=np.int64).reshape(-1, 2).T
        linked = np.frombuffer(b"".join(targets), dtype=_LINK_DTYPE).astype(np.int64)
        return sketches, np.stack([np.repeat(numbers, lengths), linked], axis=1)

    def _add_links(self, links: Iterable[tuple[int, int]]) -> None:
        """Adds links to those of their pages, at most MAX_TIES each."""
        pairs = link_array(links)
        sources = np.unique(pairs[:, 0])
        before = self._alive_pages(frozenset(sources.tolist()))[1] if len(sources) else pairs
        # A link as one number, source × 2³² + target: sorting groups them by source, and duplicates lie side by side.
        keys = np.sort(np.concatenate([pairs, before]) @ np.array([1 << 32, 1]))
        keys = keys[np.diff(keys, prepend=-1) > 0]
        bounds = [*np.searchsorted(keys, sources << 32).tolist(), len(keys)]
        targets = (keys & 0xFFFFFFFF).astype(_LINK_DTYPE)
        rows = (
            (targets[start : min(end, start + MAX_TIES)].tobytes(), source)
            for source, start, end in zip(sources.tolist(), bounds[:-1], bounds[1:], strict=True)
        )
        self._connection.executemany("UPDATE pages SET links = ? WHERE number = ?", rows)

    def _write_members(
        self, topic: int, portals: Sequence[int], portal_of: Mapping[int, int], sources: Mapping[int, int]
    ) -> None:
        self._crawl_maps.clear()
        self._execute("DELETE FROM members WHERE topic = ?", topic)
        rows: list[tuple[int, int, int | None, int | None, int]]
        rows = [(topic, portal, None, rank, sources[portal]) for rank, portal in enumerate(portals)]
        rows += [(topic, page, portal, None, sources[page]) for page, portal in portal_of.items()]
        rows.sort(key=lambda row: row[1])
        sql = "INSERT INTO members (topic, page, portal, rank, source) VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(sql, rows)

    def _execute(self, sql: str, *values: object) -> None:
        self._connection.execute(sql, values)


def merge_atlases(
    first: Path, second: Path, out: Path, *, now: float, allow_private: bool = False
) -> Mapping[str, int]:
    """Merges two atlases into one, which may be one of the two; returns what was left out, counted by reason."""
    with (
        Atlas(second, allow_private=allow_private) as other,
        Atlas(out, writable=True, allow_private=allow_private, start=first, now=now) as merged,
    ):
        merged.merge(other)
        return Counter(other.left_out) + Counter(merged.left_out)


def is_timestamp(at: object) -> bool:
    """Whether this is a time in seconds since the epoch, before the year 9892."""
    return isinstance(at, float) and 0.0 <= at < MAX_TIMESTAMP


def is_name(name: object) -> bool:
    """Whether this may be the name of a topic or a collection."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable() and bool(name.strip())


def _required_name(name: str) -> str:
    if not is_name(name):
        raise UsageError(f"not a name for a topic or collection: {printable(str(name), 60)!r}; write a few words")
    return name
