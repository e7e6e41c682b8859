"""An atlas: the maps of some topics in one file, which crawls extend and others can be given."""

import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from msgspec import Struct

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plain_text import visible
from lycosa.vocabulary.records import Url

from .atlas_file import MOMENTS, opened, rewritten
from .citations import CitationMatrix
from .crawl_map import MOST_LINKS
from .drawing import Reach, draw_map
from .public_urls import LONGEST_URL
from .questions import DEAD, MOST_PAGES, AtlasQuestions, is_moment, is_name
from .similarity import Resemblance
from .subgraph import Integers, pairs_in

_NUMBERS = np.dtype("<i4")  # as the links of a page are kept


class Sighting(Struct, frozen=True, gc=False):
    """A page on a topic: when it was last seen alive, by whom, and the sketch of its text where there is one."""

    at: float
    source: str
    sketch: bytes | None = None


class Atlas(AtlasQuestions):
    """Maps of topics, with who saw each page last, and when it was last seen alive or dead.

    A writable one replaces its file when its context ends well; else the file stays as it was.

    allow_private: whether private addresses may be in a map, which those of others should never have.
    start: the atlas to begin with, in place of the one at the path.
    now: a writable one takes later moments for this one; nobody could ever see a page after a moment far ahead.
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
        self._held: AbstractContextManager[sqlite3.Connection] = (
            rewritten(path, start=start) if writable else closing(opened(path))
        )
        super().__init__(path, self._held.__enter__(), allow_private=allow_private)
        if writable and now < math.inf:
            for table, moment in MOMENTS:
                self._do(f"UPDATE {table} SET {moment} = ?1 WHERE {moment} > ?1", now)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *about: Any) -> None:
        self._held.__exit__(*about)

    def extend(
        self,
        topic: str,
        good: Mapping[Url, Sighting],
        links: Iterable[tuple[Url, Url]],
        *,
        at: float,
        seed: int | None = None,
        reach: Reach | None = None,
        similar: bool | None = None,
        dead: Mapping[Url, float] = {},
    ) -> None:
        """Takes in pages on a topic with the hyperlinks among them, and draws its map again, without the pages that
        are dead by now. Seed, reach and `similar` stay as they were where they are not given.

        links: by URL; those from or to pages that are not on the topic count for nothing.
        dead: when pages were found gone; of those that were not seen alive since, no map is drawn.
        """
        number, seed, reach, similar = self._settings(topic, at, seed, reach, similar)
        members = self._members(number)
        new = self._numbers_of(good)
        for url in dead.keys() & new.keys():
            self.seen_dead(url, dead[url])
        numbers = {url: page for page, url, *_ in members} | new
        self._keep_links((numbers[one], numbers[other]) for one, other in links if one in numbers and other in numbers)
        sources = {page: source for page, _, source, _ in members}
        seen_at = {page: at for page, _, _, at in members if is_moment(at)}
        latest: dict[str, float] = {}
        for sighting in good.values():
            latest[sighting.source] = max(sighting.at, latest.get(sighting.source, sighting.at))
        by_name = {name: self._source(name, seen_at) for name, seen_at in latest.items()}
        last_seen = {url: page for url, page in new.items() if good[url].at >= seen_at.get(page, -math.inf)}
        sources |= {page: by_name[good[url].source] for url, page in last_seen.items()}
        living, hyperlinks = self._living(frozenset(numbers.values()))
        drawn = draw_map(
            [numbers[url] for url in sorted(numbers) if numbers[url] in living],  # one order, whoever came first
            hyperlinks,
            seed=seed,
            reach=reach,
            similarity=Resemblance(living) if similar else None,
        )
        self._write(number, drawn.portals, drawn.portal_of, sources)

    def take_over(self, other: "Atlas") -> None:
        """Takes in all that another atlas knows, and draws all maps again."""
        brought = {topic: other.sightings(topic) for topic in other.topics()}
        numbers = self._numbers_of({url: seen for good in brought.values() for url, seen in good.items()})
        for url, at in other.deaths():
            self.seen_dead(url, at)
        self._keep_links(
            (numbers[one], numbers[another])
            for one, another in other.hyperlinks()
            if one in numbers and another in numbers
        )
        ours = self.topics()
        for topic in sorted({*ours, *brought}):
            known = self.facts(topic) if topic in ours else other.facts(topic)
            at = max(known.drawn_at, other.facts(topic).drawn_at) if topic in brought else known.drawn_at
            reach = cast(Reach, known.reach)
            self.extend(topic, brought.get(topic, {}), (), at=at, seed=known.seed, reach=reach, similar=known.similar)
            if topic in brought:
                self.relate(topic, other.related(topic))
        counted = self.citations_by_source()
        for source, counts in other.citations_by_source().items():
            if sum(counts.values()) > sum(counted.get(source, {}).values()):  # the later state of a collection has more
                self._keep_citations(source, counts)

    def sightings(self, topic: str) -> dict[Url, Sighting]:
        """The living pages on a topic."""
        rows = self._rows("SELECT number, name FROM sources LIMIT ?", MOST_PAGES)
        names = {number: name for number, name in rows if is_name(name)}
        sql = (
            "SELECT url, alive_at, source, substr(sketch, 1, 1024) FROM members JOIN pages ON number = page"
            f" WHERE topic = ? AND NOT {DEAD} LIMIT ?"
        )
        return {
            url: Sighting(at, names[source], sketch if isinstance(sketch, bytes) else None)
            for url, at, source, sketch in self._rows(sql, self._topic(topic), MOST_PAGES)
            if is_moment(at) and source in names and self._may_be_in(url)
        }

    def hyperlinks(self) -> Iterator[tuple[Url, Url]]:
        """The links among all living pages."""
        rows = self._rows(f"SELECT number, url FROM pages WHERE NOT {DEAD} LIMIT ?", MOST_PAGES)
        urls = {number: Url(url) for number, url in rows if isinstance(url, str) and len(url) <= LONGEST_URL}
        pairs = self._living(urls.keys())[1]
        return ((urls[one], urls[other]) for one, other in pairs.tolist() if other in urls)

    def deaths(self) -> Iterator[tuple[Url, float]]:
        """The pages last seen dead, and when."""
        rows = self._rows(f"SELECT url, dead_at FROM pages WHERE {DEAD}")
        return ((url, at) for url, at in rows if is_moment(at) and self._may_be_in(url))

    def seen_dead(self, url: Url, at: float) -> None:
        """A page of a map was gone: no crawl is sent to it before it was seen alive again."""
        self._do("UPDATE pages SET dead_at = max(coalesce(dead_at, ?1), ?1) WHERE url = ?2", min(at, self._now), url)

    def relate(self, topic: str, met: Iterable[str]) -> None:
        """A crawl for `topic` is sent to its portals from pages of these topics."""
        number = self._topic(topic)
        for each in met:
            self._do("INSERT OR IGNORE INTO related VALUES (?, ?)", number, _name(each))

    def cite(self, source: str, matrix: CitationMatrix) -> None:
        """Keeps which topics cite which in a collection, in place of what it said before."""
        counts = {
            (citing, cited): int(links)
            for citing, row in zip(matrix.topics, matrix.links, strict=True)
            for cited, links in zip(matrix.topics, row, strict=True)
            if links
        }
        self._keep_citations(source, counts)

    # ------------------------------------------------------------ rows

    def _keep_citations(self, source: str, counts: Mapping[tuple[str, str], int]) -> None:
        number = self._source(source, 0.0)
        self._do("DELETE FROM citations WHERE source = ?", number)
        rows = [(number, citing, cited, links) for (citing, cited), links in counts.items()]
        self._connection.executemany("INSERT INTO citations VALUES (?, ?, ?, ?)", rows)

    def _settings(
        self, topic: str, at: float, seed: int | None, reach: Reach | None, similar: bool | None
    ) -> tuple[int, int, Reach, bool]:
        """The number of a topic, and how its map is drawn: as asked, or else as before."""
        if topic in self.topics():
            before = self.facts(topic)
            seed = before.seed if seed is None else seed
            reach = cast(Reach, before.reach) if reach is None else reach
            similar = before.similar if similar is None else similar
        settings = (min(at, self._now), seed or 0, reach or "mixed", bool(similar))
        self._do(
            "INSERT INTO topics (name, drawn_at, seed, reach, similar) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET drawn_at = excluded.drawn_at, seed = excluded.seed,"
            " reach = excluded.reach, similar = excluded.similar",
            _name(topic),
            *settings,
        )
        return self._topic(topic), *settings[1:]

    def _source(self, name: str, at: float) -> int:
        self._do(
            "INSERT INTO sources (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = max(at, excluded.at)",
            _name(name),
            min(at, self._now),
        )
        ((number,),) = self._rows("SELECT number FROM sources WHERE name = ?", name)
        return int(number)

    def _numbers_of(self, good: Mapping[Url, Sighting]) -> dict[Url, int]:
        """The numbers of pages that were seen alive, but for those that may not be in a map."""
        kept = {url: sighting for url, sighting in good.items() if self._may_be_in(url)}
        self._connection.executemany(
            "INSERT INTO pages (url, alive_at, sketch) VALUES (?, ?, ?) ON CONFLICT (url) DO UPDATE SET"
            " alive_at = max(coalesce(alive_at, excluded.alive_at), excluded.alive_at),"
            " sketch = coalesce(excluded.sketch, sketch)",
            ((url, min(sighting.at, self._now), sighting.sketch) for url, sighting in kept.items()),
        )
        return {url: number for url, number in self._rows("SELECT url, number FROM pages") if url in kept}

    def _members(self, topic: int) -> list[tuple[int, Url, int, Any]]:
        sql = "SELECT page, url, source, alive_at FROM members JOIN pages ON number = page WHERE topic = ? LIMIT ?"
        return [row for row in self._rows(sql, topic, MOST_PAGES) if self._may_be_in(row[1])]

    def _living(self, wanted: Collection[int]) -> tuple[dict[int, bytes | None], Integers]:
        """Those of some pages that are not dead, with their sketches, and the links they have."""
        sketches: dict[int, bytes | None] = {}
        sources, targets = [], []
        sql = f"SELECT number, substr(links, 1, ?), substr(sketch, 1, 1024) FROM pages WHERE NOT {DEAD}"
        for number, links, sketch in self._rows(sql, _NUMBERS.itemsize * MOST_LINKS):
            if number in wanted:
                sketches[number] = sketch if isinstance(sketch, bytes) else None
                if isinstance(links, bytes) and len(links) % _NUMBERS.itemsize == 0 and links:
                    sources.append((number, len(links) // _NUMBERS.itemsize))
                    targets.append(links)
        numbers, lengths = np.array(sources, dtype=np.int64).reshape(-1, 2).T
        linked = np.frombuffer(b"".join(targets), dtype=_NUMBERS).astype(np.int64)
        return sketches, np.stack([np.repeat(numbers, lengths), linked], axis=1)

    def _keep_links(self, links: Iterable[tuple[int, int]]) -> None:
        """Adds links to those that their pages are known to have."""
        pairs = pairs_in(links)
        sources = np.unique(pairs[:, 0])
        before = self._living(frozenset(sources.tolist()))[1] if len(sources) else pairs
        keys = np.sort(np.concatenate([pairs, before]) @ np.array([1 << 32, 1]))
        keys = keys[np.diff(keys, prepend=-1) > 0]
        bounds = [*np.searchsorted(keys, sources << 32).tolist(), len(keys)]
        targets = (keys & 0xFFFFFFFF).astype(_NUMBERS)
        rows = (
            (targets[start : min(end, start + MOST_LINKS)].tobytes(), source)
            for source, start, end in zip(sources.tolist(), bounds[:-1], bounds[1:], strict=True)
        )
        self._connection.executemany("UPDATE pages SET links = ? WHERE number = ?", rows)

    def _write(
        self, topic: int, portals: Sequence[int], portal_of: Mapping[int, int], sources: Mapping[int, int]
    ) -> None:
        self._crawl_maps.clear()
        self._do("DELETE FROM members WHERE topic = ?", topic)
        rows: list[tuple[int, int, int | None, int | None, int]]
        rows = [(topic, portal, None, rank, sources[portal]) for rank, portal in enumerate(portals)]
        rows += [(topic, page, portal, None, sources[page]) for page, portal in portal_of.items()]
        rows.sort(key=lambda row: row[1])
        self._connection.executemany("INSERT INTO members VALUES (?, ?, ?, ?, ?)", rows)

    def _do(self, sql: str, *values: object) -> None:
        self._connection.execute(sql, values)


def _name(name: str) -> str:
    if not is_name(name):
        raise UsageError(f"not a name for a topic or collection: {visible(str(name), 60)!r}; write a few words")
    return name


def merge_atlases(
    first: Path, second: Path, out: Path, *, now: float, allow_private: bool = False
) -> Mapping[str, int]:
    """Writes what both know into one atlas, which may be one of the two; tells what was left out, and why."""
    with (
        Atlas(second, allow_private=allow_private) as other,
        Atlas(out, writable=True, allow_private=allow_private, start=first, now=now) as merged,
    ):
        merged.take_over(other)
        return Counter(other.left_out) + Counter(merged.left_out)
