"""Atlases of a few made-up pages."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from lycosa.maps import Atlas, Sighting, UrlMap


def url_of(number: int) -> str:
    return f"http://site{number % 7}.example/page-{number}.html"


def pages(numbers, *, source="first", at=100.0):
    return {url_of(number): Sighting(at, source) for number in numbers}


def links(numbers, *, seed=1, each=6):
    random = np.random.default_rng(seed)
    numbers = list(numbers)
    sources = (len(numbers) * random.random(each * len(numbers)) ** 2).astype(int)
    targets = random.integers(0, len(numbers), each * len(numbers))
    return [(url_of(numbers[source]), url_of(numbers[target])) for source, target in zip(sources, targets, strict=True)]


def extended(path: Path, numbers, *, topic="bees", source="first", at=100.0, seed=1, **options) -> None:
    with Atlas(path, writable=True) as atlas:
        atlas.extend(topic, pages(numbers, source=source, at=at), links(numbers, seed=seed), at=at, **options)


def ties(path: Path, topic: str = "bees"):
    with Atlas(path) as atlas:
        return {(*sorted(edge[:2]), edge[2]) for edge in atlas.edges(topic)}


def mapped_by(crawl_map: UrlMap) -> set[str]:
    return {*crawl_map.portals, *crawl_map.portal_of}


def atlas_of(path: Path, maps: Mapping[str, Mapping[str, Sequence[str]]], *, related: Sequence[str] = ()) -> Path:
    """An atlas with just these ties: for each topic its portals, and the spokes of each."""
    with Atlas(path, writable=True):
        pass
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO sources VALUES (1, 'a test', 1.0)")
        for topic, (name, ties) in enumerate(maps.items(), 1):
            urls = [*ties, *(node for nodes in ties.values() for node in nodes)]
            file.executemany("INSERT OR IGNORE INTO pages (url, alive_at) VALUES (?, 1.0)", ((url,) for url in urls))
            numbers = dict(file.execute("SELECT url, number FROM pages"))
            file.execute("INSERT INTO topics VALUES (?, ?, 1.0, 0, 'mixed', 0)", (topic, name))
            rows = [(topic, numbers[portal], None, rank) for rank, portal in enumerate(ties)]
            rows += [(topic, numbers[node], numbers[portal], None) for portal in ties for node in ties[portal]]
            file.executemany("INSERT INTO members VALUES (?, ?, ?, ?, 1)", rows)
            file.executemany("INSERT INTO related VALUES (?, ?)", ((topic, met) for met in related))
    return path
