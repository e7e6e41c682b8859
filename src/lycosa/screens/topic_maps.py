"""Topical maps: the atlases in the folder, with their topics, portals, and citations between topics.

An atlas is a file with the maps of several topics. A map ties pages of earlier crawls together: its portals are pages
from which many others are reached, and every other page is a spoke of one portal.
"""

import stat
from collections.abc import Sequence, Set
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from lycosa.maps import Atlas, CitationMatrix, TopicFacts
from lycosa.pictures.heat_map import citations_heat_map
from lycosa.pictures.wheel import wheel
from lycosa.recipe import load_recipe
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import first_bytes
from lycosa.vocabulary.text import printable
from lycosa.vocabulary.urls import host_of, path_of

from .library import Library, is_plain, plain_entries
from .lines import Counted

MAX_TOPICS = 50  # of an atlas that are shown
MAX_PORTALS = 50  # of a topic
MAX_RELATED = 20
MAX_SOURCES = 10
_MAX_ATLASES = 100
_MAX_TOPIC_PAGES = 50_000  # of a topic whose portals are read into memory
_SQLITE_HEADER = b"SQLite format 3\0"


class TopicLine(Struct, frozen=True):
    """A topic of an atlas."""

    name: str
    pages: int  # number of pages
    portals: int  # number of portals
    dead: int  # pages that were gone when last seen
    drawn_at: float  # when its map was made, in seconds since the epoch
    reach: str  # how many links spokes are away from their portals: near, far or mixed
    related: list[str]  # topics whose pages lead to this one
    sources: list[Counted]  # collections, by the pages they were the last to see


class AtlasList(Struct, frozen=True):
    atlases: list[str]  # names of files


class AtlasView(Struct, frozen=True):
    """The screen of one atlas."""

    name: str
    topics: list[TopicLine]
    more_topics: int  # number of topics that are not listed
    topic: str  # whose portals are shown
    portals: list[Counted]  # with the number of spokes of each
    is_too_large: bool  # for its portals to be shown
    left_out: list[Counted]  # why pages are not shown
    citation_counts: list[list[int]] = field(name="citing")  # links from each topic to each, by `citation_topics`
    citation_topics: list[str] = field(name="cited")


def atlas_list(library: Library) -> AtlasList:
    """The atlases in the folder, without those of collections that are hidden."""
    hidden = library.hidden_names()
    files = (entry for entry in plain_entries(library.root) if entry.is_file(follow_symlinks=False))
    found = [entry.name for entry in files if _is_atlas(Path(entry.path), hidden)]
    return AtlasList(sorted(found)[:_MAX_ATLASES])


def _is_atlas(path: Path, hidden: Set[str]) -> bool:
    """Whether a file is an atlas that has nothing of the hidden collections."""
    try:
        if first_bytes(path, len(_SQLITE_HEADER)) != _SQLITE_HEADER:
            return False
        with Atlas(path) as atlas:
            return hidden.isdisjoint(atlas.sources())
    except (LycosaError, OSError):
        return False


def atlas_of(library: Library, folder: Path) -> str:
    """The name of the atlas that the recipe of a collection uses, if it is in the folder of the screens."""
    with suppress(LycosaError, OSError, ValueError):
        atlas_name = load_recipe(folder, for_reading=True).map.atlas
        path = (folder / atlas_name).resolve() if atlas_name else None
        if path is not None and path.parent == library.root and _is_atlas(path, library.hidden_names()):
            return path.name
    return ""


def atlas_view(library: Library, name: str, topic: str = "") -> AtlasView:
    """The topics of an atlas, and the portals of one of them, by default of the largest."""
    path = library.root / name
    try:
        is_file = is_plain(name) and stat.S_ISREG(path.lstat().st_mode)  # no link, wherever it leads
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        raise UsageError("there is no such atlas here")
    with Atlas(path) as atlas:
        if not library.hidden_names().isdisjoint(atlas.sources()):
            raise UsageError("there is no such atlas here")
        facts = [atlas.facts(each) for each in atlas.topics()]
        by_name = {each.name: each for each in facts}
        if topic and topic not in by_name:
            raise UsageError("the atlas has no map of this topic")
        facts.sort(key=lambda each: (-each.pages, each.name))
        shown = by_name[topic] if topic else facts[0] if facts else None
        is_too_large = shown is not None and shown.pages > _MAX_TOPIC_PAGES
        portals = list[Counted]()
        if shown is not None and not is_too_large:
            topic_map = atlas.crawl_map(shown.name)
            portals = [Counted(portal, len(topic_map.spokes[portal])) for portal in topic_map.portals[:MAX_PORTALS]]
        citations = _citations_among([each.name for each in facts], atlas.citations())
        left_out = dict(atlas.left_out)
    return AtlasView(
        name=name,
        topics=[_topic_line(each) for each in facts[:MAX_TOPICS]],
        more_topics=max(0, len(facts) - MAX_TOPICS),
        topic=shown.name if shown is not None else "",
        portals=portals,
        is_too_large=is_too_large,
        left_out=[Counted(printable(reason, 100), count) for reason, count in left_out.items()],
        citation_counts=[list(row) for row in citations.links],
        citation_topics=[printable(each, 80) for each in citations.topics],
    )


def _citations_among(largest_first: Sequence[str], citations: CitationMatrix) -> CitationMatrix:
    """The citations among the listed topics, in their order; if there are few, also those of topics without a map."""
    mapped = set(largest_first)
    order = [
        *(topic for topic in largest_first[:MAX_TOPICS] if topic in citations.topics),
        *(topic for topic in citations.topics if topic not in mapped),
    ][:MAX_TOPICS]
    index_of = {topic: index for index, topic in enumerate(citations.topics)}
    chosen = [index_of[topic] for topic in order]
    return CitationMatrix(tuple(order), tuple(tuple(citations.links[i][j] for j in chosen) for i in chosen))


def _topic_line(facts: TopicFacts) -> TopicLine:
    return TopicLine(
        name=facts.name,
        pages=facts.pages,
        portals=facts.portals,
        dead=facts.dead,
        drawn_at=facts.drawn_at,
        reach=facts.reach,
        related=[printable(each, 80) for each in facts.related[:MAX_RELATED]],
        sources=[Counted(printable(name, 80), count) for name, count in list(facts.sources.items())[:MAX_SOURCES]],
    )


def map_picture(view: AtlasView) -> str:
    """Portals and their spokes as SVG."""
    return wheel([(host_of(each.name) + path_of(each.name), each.count) for each in view.portals])


def citations_picture(view: AtlasView) -> str:
    """The citations between topics as SVG; empty if there are none."""
    if not any(any(row) for row in view.citation_counts):
        return ""
    return citations_heat_map(view.citation_counts, topics=view.citation_topics)
