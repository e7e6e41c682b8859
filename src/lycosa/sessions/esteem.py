"""How much pages matter, as a session's crawl tells: learnt from what the recipe names, or as it comes with Lycosa."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct

from lycosa.collection.trouble import told
from lycosa.reading import Reader
from lycosa.recipe import StandingSource
from lycosa.standing import (
    StandingModel,
    count_in_links,
    known,
    learn,
    median_prediction,
    prior,
    read_in_links,
    read_traffic,
)
from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import Page, Plain, Url
from lycosa.vocabulary.urls import normalise
from lycosa.worlds.edge_lists import graph_in
from lycosa.worlds.graphs import LinkGraph

from .opening import open_for_reading
from .session import Session

MODEL_FILE = "standing.json"
MOST_PAGES = 2_000  # of other collections, that are read again to learn from
_BUILT_IN = "no in-links are given: a model that comes with Lycosa tells how much pages matter"


class _Saved(Struct, frozen=True):
    sources: str  # what the model was learnt from
    model: Plain


def esteem_of(session: Session) -> StandingModel:
    """The model of a session's collection: the one that was learnt before, or else learnt now and kept."""
    source, path = session.recipe.standing, session.folder / MODEL_FILE
    traffic = read_traffic(session.folder / source.traffic) if source.traffic else None
    fingerprint = _fingerprint(source, session.folder)
    if path.exists():
        saved = _read(path)
        if saved.sources == fingerprint:
            return StandingModel.from_plain(saved.model, traffic=traffic, source=str(path))
    model = _learnt(session, source, traffic)
    with told(path):
        fresh = path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(_Saved(fingerprint, model.to_plain())))
        fresh.replace(path)
    return model


def _read(path: Path) -> _Saved:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Saved)
    except (OSError, msgspec.DecodeError) as error:
        raise CollectionError(f"{path}: not a model of ours ({error}); delete it to have it learnt again") from None


def _learnt(session: Session, source: StandingSource, traffic: dict[str, float] | None) -> StandingModel:
    examples = [page for url in session.topic.examples.urls if (page := session.page(url)) is not None]
    pages, in_links, what = _sources(session, source, examples)
    if not what:
        session.tell(_BUILT_IN)
        model = prior()
    else:
        model = learn(
            known(pages, in_links), background=examples, traffic=traffic, characteristic=source.characteristic
        )
        session.tell(f"how much pages matter is learnt from {what}: {model.pages} pages")
        for note in model.notes:
            session.tell(f"standing: {note}")
    theta = source.theta if source.theta is not None else median_prediction(model, examples)
    return model.with_theta(theta)


def _sources(
    session: Session, source: StandingSource, examples: list[Page]
) -> tuple[Iterable[Page], dict[Url, int], str]:
    """The pages there are to learn from, what is known of their in-links, and how to call the source; else nothing."""
    folder = session.folder
    if source.in_links:
        return [*examples, *_pages_of(session)], read_in_links(folder / source.in_links), source.in_links
    if source.collections:
        folders = [folder / name for name in source.collections]
        in_links = count_in_links(pair for other in folders for pair in _links_of(other))
        return _archived_pages(folders), in_links, f"{len(folders)} collections"
    if source.graph:
        return [*examples, *_pages_of(session)], _in_links_of_graph(folder / source.graph), source.graph
    return [], {}, ""


def _pages_of(session: Session) -> Iterator[Page]:
    """Pages of the collection itself, every n-th where there are many."""
    step = 1 + session.crawl.pages // MOST_PAGES
    for row in session.collection.catalog.pages():
        if row.number % step == 0 and (page := session.page(row.url)) is not None:
            yield page


def _links_of(folder: Path) -> Iterator[tuple[Url, Url]]:
    with open_for_reading(folder) as collection:
        yield from collection.catalog.link_pairs()


def _archived_pages(folders: list[Path]) -> Iterator[Page]:
    read = Reader()
    for folder in folders:
        with open_for_reading(folder) as collection:
            step = 1 + collection.catalog.count() * len(folders) // MOST_PAGES
            for row in collection.catalog.pages():
                if row.number % step == 0 and row.place is not None:
                    page = read(collection.archive.fetch_at(row.place))
                    if page is not None:
                        yield page


def _in_links_of_graph(path: Path) -> dict[Url, int]:
    graph = graph_in(path)
    if not isinstance(graph.names, tuple):
        raise RecipeError(f"{path}: a graph of numbers, which tells nothing of pages; name one with URLs")
    counts = LinkGraph(graph).in_degrees().tolist()
    return {url: count for name, count in zip(graph.names, counts, strict=True) if (url := normalise(name))}


def _fingerprint(source: StandingSource, folder: Path) -> str:
    """What a model depends on: the recipe's words and the state of the files they name."""
    files = [source.in_links, source.traffic, source.graph, *(f"{name}/catalog.sqlite" for name in source.collections)]
    states = []
    for name in filter(None, files):
        path = folder / name
        states.append((name, path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (name, 0, 0))
    return xxhash.xxh3_128_hexdigest(msgspec.json.encode([msgspec.to_builtins(source), states]))
