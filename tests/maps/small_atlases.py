"""Atlases of a few made-up pages."""

from pathlib import Path

import numpy as np

from lycosa.maps import Atlas, Sighting


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
