"""The topical map of a session: opening it, recording a reference to it in the run, and reopening it by that."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.maps.atlas import Atlas
from lycosa.maps.topic_map import UrlMap
from lycosa.recipe import Map, check_takes_map
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.strategies import Mapped
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue, Page
from lycosa.vocabulary.text import quoted

from .guides import recorded_reference, require_unchanged
from .taxonomies import load_taxonomy
from .trust import allowed_file, regular_file_or_folder


class MapReference(Struct, frozen=True):
    """How a run records its map."""

    atlas: str  # absolute path
    topic: str
    priority: float  # of the links of the map
    share: float  # by which the priorities of other links are multiplied
    taxonomy: str  # absolute path, or empty
    allow_private: bool  # whether it includes pages at private addresses
    stamp: str  # changes when the atlas is written, or the taxonomy changes


class OpenMap(Struct, frozen=True):
    """An open map."""

    reference: MapReference
    links: UrlMap  # of the topic, with the related topics whose pages also lead to its portals
    taxonomy: Taxonomy | None = None

    def wrap(self, strategy: Strategy) -> Mapped:
        """Adds the map to the strategy."""
        return Mapped(
            strategy.inner if isinstance(strategy, Mapped) else strategy,
            self.links,
            map_priority=self.reference.priority,
            share=self.reference.share,
            topic_of=self.topic_of if self.taxonomy else None,
        )

    def topic_of(self, page: Page) -> str | None:
        """The most probable topic of a page, by its unstemmed words; None without a taxonomy."""
        return self.taxonomy.best(page.as_written) if self.taxonomy else None

    @property
    def advice(self) -> str:
        """Advice on how to make better use of the map; empty if there is none."""
        if self.taxonomy is not None or not self.links.related:
            return ""
        topics = ", ".join(sorted(self.links.related)[:8])
        return f"pages on {topics} also lead to portals of the map; to recognise them, give --taxonomy PATH"


def open_map(settings: Map, folder: Path, *, allow_private: bool = False) -> OpenMap | None:
    """The map that a recipe names, if any."""
    if not settings.atlas:
        return None
    atlas = (folder / settings.atlas).absolute()
    taxonomy = str((folder / settings.taxonomy).absolute()) if settings.taxonomy else ""
    reference = MapReference(str(atlas), settings.topic, settings.priority, settings.share, taxonomy, allow_private, "")
    return _open(reference)


def map_of_run(recorded: JsonValue, strategy: str, *, folder: Path) -> OpenMap | None:
    """The map of an archived run, if it had one. Raises UsageError if the atlas or the taxonomy has changed since.

    folder: of the collection; unless it is trusted, the atlas must be inside it.
    """
    reference = recorded_reference(recorded, MapReference)
    if reference is None:
        return None
    check_takes_map(strategy)
    for name in filter(None, (reference.atlas, reference.taxonomy)):
        allowed_file(folder, name)
    return require_unchanged(_open(reference), reference, what=_files_in_words(reference))


def _open(reference: MapReference) -> OpenMap:
    path = regular_file_or_folder(Path(reference.atlas))
    with Atlas(path, allow_private=reference.allow_private) as atlas:
        topic = _topic_of(atlas, reference.topic, path)
        links = atlas.crawl_map(topic)
    file_status = path.stat()
    stamp = f"{file_status.st_size}-{file_status.st_mtime_ns}"
    taxonomy = load_taxonomy(regular_file_or_folder(Path(reference.taxonomy))) if reference.taxonomy else None
    if taxonomy is not None:  # by content, as it may be trained on a folder
        stamp += f"-{hashlib.sha256(msgspec.json.encode(taxonomy.to_plain())).hexdigest()}"
    return OpenMap(msgspec.structs.replace(reference, topic=topic, stamp=stamp), links, taxonomy)


def _files_in_words(reference: MapReference) -> str:
    atlas = f"the atlas {reference.atlas}"
    return f"{atlas} or the taxonomy {reference.taxonomy}" if reference.taxonomy else atlas


def _topic_of(atlas: Atlas, topic: str, path: Path) -> str:
    topics = atlas.topics()
    if topic in topics:
        return topic
    if not topics:
        build = f"lycosa map build NAME --out {quoted(path)}"
        raise UsageError(f"the atlas {path} has no map in it; build one with: {build}")
    if not topic and len(topics) == 1:
        return next(iter(topics))
    problem = f"has no map for {topic!r}" if topic else "has maps for several topics"
    raise UsageError(f"the atlas {path} {problem}; name one with --map-topic: {', '.join(map(repr, topics))}")
