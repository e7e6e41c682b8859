"""How much pages matter, as a session's crawl tells: learnt from what the recipe names, or as it comes with Lycosa."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct

from lycosa.collection.events import Scores
from lycosa.collection.trouble import told
from lycosa.reading import Reader
from lycosa.recipe import StandingSource
from lycosa.standing import (
    StandingModel,
    count_in_links,
    labelled,
    learn,
    median_prediction,
    prior,
    read_graph_in_links,
    read_in_links,
    read_traffic,
)
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import atomic_write
from lycosa.vocabulary.records import Page, Plain, Url

from .open import open_for_reading
from .session import Session

MODEL_FILE = "standing.json"
LEARN_AT = (100, 1_000)  # pages of the collection with which its model is learnt anew; θ is settled at the first
MOST_PAGES = 2_000  # of a collection, that are read again to learn from
EXPLORED = 500  # pages of the collection whose median prediction is θ
_BUILT_IN = "no in-links are given: a model that comes with Lycosa tells how much pages matter"


class _Saved(Struct, frozen=True):
    sources: str  # what the model was learnt from
    model: Plain


class StandingTrainer:
    """Makes the model of how much pages matter of a session's crawl, and makes it anew as the collection grows.

    It is learnt from pages whose in-links are told: good examples and, at 100 and 1 000 pages, those of the collection.
    θ is the median of what it says of the examples at first, and of the collection's own pages from the hundredth on.
    """

    def __init__(self, session: Session):
        self._session = session
        self._source = session.recipe.standing
        self._is_new = False
        self._stage: int | None = None  # of LEARN_AT; None before the model is made

    def check(self) -> None:
        """Tells what is wrong with the tables of the recipe, before anything is fetched."""
        source, folder = self._source, self._session.folder
        if source.in_links:
            read_in_links(folder / source.in_links)
        if source.traffic:
            read_traffic(folder / source.traffic)

    def learn(self) -> None:
        """Gives the crawl its model: the one that was learnt before, or one learnt now where that knows too little."""
        session, path = self._session, self._session.folder / MODEL_FILE
        is_first, self._stage = self._stage is None, self._stage_now()
        saved = _read(path) if path.exists() else None
        if saved is not None and saved.sources == self._fingerprint():
            model = StandingModel.from_plain(saved.model, traffic=self._traffic(), source=str(path))
        else:
            model, self._is_new = self._learnt(), True
        session.crawl.esteem = model
        if is_first or self._is_new:
            self._tell_of(model, is_first=is_first)

    def judge_anew(self) -> None:
        """Says of the pages of the collection how much they matter, where the model is new or has not told of some."""
        session, model = self._session, self._session.crawl.esteem
        if not isinstance(model, StandingModel):
            return
        if session.crawl.pages and (self._is_new or session.collection.catalog.has_pages_without_standing()):
            session.tell(f"how much pages matter is known better: judging {session.crawl.pages} pages anew")
            _, standing = session.relive(esteem=model)
            session.record(Scores(session.clock.now(), "how much pages matter is learnt anew", {}, standing))
            session.checkpoint()
        if self._is_new:
            self._save(model)  # last: after a kill before here, the next run learns and judges again
            self._is_new = False

    def learn_if_due(self) -> None:
        """Learns anew once there are pages enough to learn from."""
        if self._stage is not None and self._stage < self._stage_now():
            self.learn()
            self.judge_anew()

    def _stage_now(self) -> int:
        """How many of the numbers of pages are reached with which it is learnt anew."""
        learns_from_own_pages = bool(self._source.in_links or (self._source.graph and not self._source.collections))
        return bisect_right(LEARN_AT if learns_from_own_pages else LEARN_AT[:1], self._session.crawl.pages)

    def _tell_of(self, model: StandingModel, *, is_first: bool) -> None:
        source, tell = self._source, self._session.tell
        if not _name_of(source):
            if is_first:
                tell(_BUILT_IN)
            if is_first and source.traffic:
                tell(f"{source.traffic} is not used: that model knows nothing of traffic; give in_links to learn from")
        elif model.notes:
            for note in model.notes:
                tell(f"{_name_of(source)}: {note}")
        elif self._is_new:
            tell(f"how much pages matter is learnt from {_name_of(source)}: {model.pages} pages")

    def _save(self, model: StandingModel) -> None:
        path = self._session.folder / MODEL_FILE
        with told(path), atomic_write(path) as file:
            file.write(msgspec.json.encode(_Saved(self._fingerprint(), model.to_plain())))

    def _traffic(self) -> dict[str, float] | None:
        return read_traffic(self._session.folder / self._source.traffic) if self._source.traffic else None

    def _learnt(self) -> StandingModel:
        session, source = self._session, self._source
        examples = {url: page for url in session.topic.examples.urls if (page := session.page(url)) is not None}
        is_good = session.topic.examples.urls
        if _name_of(source):
            in_links = self._in_links()
            pages = self._pages({url: page for url, page in examples.items() if is_good[url]})
            model = learn(
                labelled(pages, in_links),
                background=[page for url, page in examples.items() if not is_good[url]],
                traffic=self._traffic(),
                characteristic=source.characteristic,
            )
        else:
            model = prior()
        if source.theta is not None:
            return model.with_theta(source.theta)
        sample = _pages_of(session, EXPLORED) if self._stage else examples.values()
        return model.with_theta(median_prediction(model, sample))

    def _in_links(self) -> dict[Url, int]:
        source, folder = self._source, self._session.folder
        if source.in_links:
            return read_in_links(folder / source.in_links)
        if source.collections:
            return count_in_links(pair for name in source.collections for pair in _links_of(folder / name))
        return read_graph_in_links(folder / source.graph)

    def _pages(self, good: Mapping[Url, Page]) -> Iterator[Page]:
        """The pages there are to learn from, each once."""
        if self._source.collections and not self._source.in_links:
            yield from _archived_pages([self._session.folder / name for name in self._source.collections])
            return
        yield from good.values()
        if self._stage:
            yield from (page for page in _pages_of(self._session, MOST_PAGES) if page.url not in good)

    def _fingerprint(self) -> str:
        """What a model depends on: the recipe's words, the state of the files they name, the examples and how many
        pages there are."""
        source, folder = self._source, self._session.folder
        files = [source.in_links, source.traffic, source.graph]
        files += [f"{name}/catalog.sqlite" for name in source.collections]
        states = []
        for name in filter(None, files):
            path = folder / name
            states.append((name, path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (name, 0, 0))
        said = [msgspec.to_builtins(source), states, self._session.topic.examples.digest, self._stage]
        return xxhash.xxh3_128_hexdigest(msgspec.json.encode(said))


def _read(path: Path) -> _Saved:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Saved)
    except (OSError, msgspec.DecodeError) as error:
        raise CollectionError(f"{path}: not a model of ours ({error}); delete it to have it learnt again") from None


def _name_of(source: StandingSource) -> str:
    """What in-links come from; nothing where they come from nowhere."""
    if source.in_links:
        return source.in_links
    if source.collections:
        return f"{len(source.collections)} collection{'s' if len(source.collections) > 1 else ''}"
    return source.graph


def _pages_of(session: Session, most: int) -> Iterator[Page]:
    """Pages of the collection itself, every n-th where there are many."""
    step = 1 + session.crawl.pages // most
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
