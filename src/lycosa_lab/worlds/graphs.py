"""Worlds that are graphs: links between nodes, without text."""

import html
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from lycosa.reading.words import FoldedWords
from lycosa.standing.graph_files import Graph, Int32Array, read_graph
from lycosa.vocabulary.arrays import concatenated_ranges
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Host, JsonValue, Link, Page, Url
from lycosa.vocabulary.urls import host_of, normalise

from .world import Category

_METADATA, _OFFSETS, _TARGETS, _NUMBERS = "graph.json", "offsets.npy", "targets.npy", "numbers.npy"
_NO_WORDS = FoldedWords(b"", stem="porter")
_GENERATED_URL = re.compile(r"http://n(0|[1-9][0-9]{0,17})\.graph\.example/")
_GENERATED_DOMAIN = ".graph.example/"
_STARTS_TRIED = 8  # nodes with the most links among which `best_start` chooses


class LinkGraph:
    """A graph as a world: nodes are pages that have links but no text.

    In memory, nodes are addressed by their numbers 0, 1, 2, ... instead of URLs. Over HTTP, a node has the URL that
    the graph names it by, or else http://n5.graph.example/, and its page lists its links. Here 5 is the number of the
    node in a file of pairs, or its position among the nodes of another file.
    """

    name = "graph"

    def __init__(self, graph: Graph, *, options: Mapping[str, JsonValue] | None = None):
        self.graph = graph
        self.options = dict(options or {})
        # Memory views: reading single numbers from them is faster than from arrays.
        self._offsets = graph.offsets.data
        self._targets = graph.targets.data

    def __len__(self) -> int:
        return len(self.graph)

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        sizes = {"pages": len(self), "links": len(self.graph.targets)}
        return {"name": self.name, **self.options, **sizes, "fingerprint": self._fingerprint}

    @cached_property
    def _fingerprint(self) -> str:
        """A hash of the links, 16 hexadecimal digits."""
        digest = xxhash.xxh3_64(np.ascontiguousarray(self.graph.offsets).data)
        digest.update(np.ascontiguousarray(self.graph.targets).data)
        return digest.hexdigest()

    def __contains__(self, url: object) -> bool:
        return isinstance(url, str | int) and self._node(cast("Url", url)) is not None

    def urls(self) -> Iterable[Url]:
        return cast("Iterable[Url]", range(len(self)))

    def read(self, url: Url) -> Page | None:
        """The links of a node as a page without words; each link as often as the graph has it."""
        number = self._node(url)
        if number is None:
            return None
        offsets = self._offsets
        numbers = cast("list[Url]", self._targets[offsets[number] : offsets[number + 1]].tolist())
        links = tuple(map(Link, numbers))
        return Page(url, title="", text="", main="", words=_NO_WORDS, links=links)

    def links(self, number: int) -> Int32Array:
        """The targets of the links of a node."""
        return self.graph.targets[self._offsets[number] : self._offsets[number + 1]]

    def out_links(self, url: Url) -> Sequence[Url]:
        """The targets of the links of a node, each as often as the graph has it."""
        number = self._node(url)
        return () if number is None else cast("list[Url]", self.links(number).tolist())

    def in_degrees(self) -> Int32Array:
        """How many links lead to each node."""
        return self._in_degrees

    def out_degrees(self) -> Int32Array:
        """How many links each node has."""
        return np.diff(self.graph.offsets)

    @cached_property
    def _in_degrees(self) -> Int32Array:
        return self.graph.in_degrees()

    def best_start(self) -> int:
        """Of the eight nodes with the most links, the one from which most nodes can be reached."""
        candidates: list[int] = np.argsort(-self.out_degrees(), kind="stable")[:_STARTS_TRIED].tolist()
        return max(candidates, key=lambda number: (self.reachable_count(number), -number))

    def reachable_count(self, number: int) -> int:
        """How many nodes can be reached from a node, itself included."""
        return int(self.reachable(number).sum())

    def reachable(self, number: int) -> NDArray[np.bool_]:
        """Which nodes can be reached from a node, itself included."""
        offsets, targets = self.graph.offsets, self.graph.targets
        is_reached = np.zeros(len(self), np.bool_)
        is_reached[number] = True
        level = np.array([number])  # breadth first, level by level
        while len(level):
            found = targets[concatenated_ranges(offsets[level], offsets[level + 1] - offsets[level])]
            level = np.unique(found[~is_reached[found]])
            is_reached[level] = True
        return is_reached

    # As a web of hosts

    @cached_property
    def hosts(self) -> Collection[Host]:
        if self._named_urls is None:
            return _GeneratedHosts(self)
        return sorted({host_of(self.url(number)) for number in range(len(self))})

    def url(self, number: int) -> Url:
        """The URL of a node over HTTP."""
        if self._named_urls is not None:
            return self._named_urls[number]
        names = self.graph.names
        return _generated_url(number if names is None else int(cast("Int32Array", names)[number]))

    def number(self, url: Url | str) -> int | None:
        """The node at a URL, None if there is none."""
        if self._named_urls is not None:
            return self._by_url.get(Url(url))
        generated = _GENERATED_URL.fullmatch(url)
        if generated is None:
            return None
        number, names = int(generated[1]), self.graph.names
        if names is not None:
            node = int(np.searchsorted(cast("Int32Array", names), number))
            return node if node < len(self) and names[node] == number else None
        return number if number < len(self) else None

    @cached_property
    def _named_urls(self) -> list[Url] | None:
        """The URLs that the graph names its nodes by; a generated one where that is no URL or not unique."""
        if not isinstance(self.graph.names, tuple):
            return None
        taken: dict[Url, None] = {}
        for number, name in enumerate(self.graph.names):
            url = normalise(name if "://" in name else f"http://{name}" if "." in name else "")
            is_usable = url is not None and url not in taken and not url.endswith(_GENERATED_DOMAIN)
            taken[url if url is not None and is_usable else _generated_url(number)] = None
        return list(taken)

    @cached_property
    def _by_url(self) -> dict[Url, int]:
        return {url: number for number, url in enumerate(self._named_urls or ())}

    def _node(self, url: Url) -> int | None:
        number = cast("int | str", url)
        if isinstance(number, str):
            return self.number(number)
        return number if 0 <= number < len(self._offsets) - 1 else None

    def page(self, url: Url) -> bytes | None:
        """A page with the links of a node, which is given by number or by URL."""
        number = self._node(url)
        if number is None:
            return None
        items = "".join(
            f'<li><a href="{html.escape(target)}">{html.escape(target)}</a></li>'
            for target in map(self.url, self.links(number).tolist())
        )
        title = html.escape(self.url(number))
        return f'<!doctype html><meta charset="utf-8"><title>{title}</title><ul>{items}</ul>'.encode()

    def redirect(self, url: Url) -> Url | None:
        return None

    def robots(self, host: Host) -> str | None:
        return None

    def directory(self) -> Sequence[Category]:
        return ()

    def topic(self, url: Url) -> str | None:
        return None

    def log_in_links(self, url: Url) -> float | None:
        """ln(1 + in-links within the graph); links from outside are unknown."""
        number = self._node(url)
        return None if number is None else math.log1p(int(self._in_degrees[number]))

    def save(self, folder: Path) -> None:
        names = self.graph.names
        texts = list(names) if isinstance(names, tuple) else None
        (folder / _METADATA).write_bytes(msgspec.json.encode(_GraphMetadata(self.options, texts)))
        np.save(folder / _OFFSETS, self.graph.offsets)
        np.save(folder / _TARGETS, self.graph.targets)
        if isinstance(names, np.ndarray):
            np.save(folder / _NUMBERS, names)

    @classmethod
    def load(cls, folder: Path) -> "LinkGraph":
        """The world that `save` wrote; its links are mapped into memory."""
        try:
            metadata = msgspec.json.decode((folder / _METADATA).read_bytes(), type=_GraphMetadata)
            offsets, targets = (np.load(folder / name, mmap_mode="r") for name in (_OFFSETS, _TARGETS))
            names = np.load(folder / _NUMBERS) if (folder / _NUMBERS).exists() else None
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            raise UsageError(f"{folder} holds no graph that can be read ({error}); make it again") from None
        texts = None if metadata.names is None else tuple(metadata.names)
        return LinkGraph(Graph(offsets, targets, names if texts is None else texts), options=metadata.options)


class GraphWorld(LinkGraph):
    """The graph in a file: pairs of node numbers, 'n NUMBER URL' and 'e FROM TO', or GML; plain or gzipped."""

    def __init__(self, *, path: str = ""):
        if not path:
            raise UsageError("this world needs its data: give graph:path=FILE, such as cnr-2000.edges.gz")
        if not Path(path).is_file():
            raise UsageError(f"there is no file {path}; say graph:path=FILE")
        super().__init__(read_graph(Path(path)), options={"path": Path(path).name})


class _GeneratedHosts(Collection[Host]):
    """The hosts of a graph whose nodes have no URLs: one for each node, computed on access."""

    def __init__(self, graph: LinkGraph):
        self._graph = graph

    def __len__(self) -> int:
        return len(self._graph)

    def __iter__(self) -> Iterator[Host]:
        return (host_of(self._graph.url(number)) for number in range(len(self._graph)))

    def __contains__(self, host: object) -> bool:
        return isinstance(host, str) and self._graph.number(f"http://{host}/") is not None


class _GraphMetadata(msgspec.Struct):
    options: dict[str, JsonValue]
    names: list[str] | None = None  # of the nodes, if they are texts


def _generated_url(number: int) -> Url:
    return Url(f"http://n{number}{_GENERATED_DOMAIN}")
