"""Trains the model of standing (the importance of a page on the Web) of a crawl, and trains it again as the collection
grows. An authority table holds the imported lists of ranks."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct

from lycosa.collection.errors import disk_errors
from lycosa.collection.events import Scores
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
from lycosa.standing.authority_table import AuthorityStanding
from lycosa.strategies.base import SupportsRejudge
from lycosa.vocabulary.contracts import Standing
from lycosa.vocabulary.files import atomic_write, read_regular_file
from lycosa.vocabulary.records import JsonValue, Page, Url
from lycosa.vocabulary.text import counted, printable

from .open import open_for_reading
from .removal import STANDING_FILE
from .session import Session
from .topic import UNUSABLE_MODEL
from .trust import regular_file_or_folder

_MAX_BYTES = 100_000_000
RETRAIN_AT = (100, 1_000)  # sizes of the collection at which the model is trained again; θ is fixed at the first
MAX_PAGES = 2_000  # of the collection, read for training
THETA_PAGES = 500  # pages of the collection over whose predictions θ is the median
_BUILT_IN = "No link data given; estimating importance with the built-in model."


class _SavedStanding(Struct, frozen=True):
    sources: str  # fingerprint of the training data
    model: JsonValue


class StandingTrainer:
    """Estimates the standing of pages, with a model that is trained again as the collection grows.

    It is trained on pages whose in-links are known: good examples and, at 100 and 1 000 pages, those of the collection.
    θ, the prediction at which standing is 0.5, is the median prediction for the examples at first, and for the
    collection's own pages from the hundredth on.
    """

    def __init__(self, session: Session):
        self._session = session
        self._source = session.recipe.standing
        self.model: StandingModel | None = None  # None until it is trained or loaded
        self._is_new = False  # whether the model was trained here, and pages are not yet scored by it
        self._stage: int | None = None  # sizes in RETRAIN_AT reached when the model was trained; None before

    @property
    def judge(self) -> Standing | None:
        """The current model, combined with the imported rank lists if there are any."""
        if self.model is None or self._session.state.strategy_factory.authority is None:
            return self.model
        return AuthorityStanding(self.model, self._session.state.strategy_factory.authority)

    def standing(self, page: Page) -> float:
        """The standing of a page by the current model."""
        judge = self.judge
        assert judge is not None
        return judge.standing(page)

    def check(self) -> None:
        """Raises if the tables of the recipe cannot be read, before anything is fetched."""
        source, folder = self._source, self._session.folder
        if source.in_links:
            read_in_links(regular_file_or_folder(folder / source.in_links))
        if source.traffic:
            read_traffic(regular_file_or_folder(folder / source.traffic))

    def learn(self) -> None:
        """Loads the saved model, or trains one if its training data has changed."""
        path = self._session.folder / STANDING_FILE
        is_first, self._stage = self._stage is None, self._current_stage()
        model = self._load(path) if path.exists() else None
        if model is None:
            model, self._is_new = self._train(), True
        self.model = model
        if is_first or self._is_new:
            self._report(model, is_first=is_first)

    def _load(self, path: Path) -> StandingModel | None:
        """The saved model, if it was trained on the current data and can be used."""
        sources, traffic = self._fingerprint(), self._traffic()
        try:
            saved = _read_standing(path)
            if saved.sources == sources:
                return StandingModel.from_plain(saved.model, traffic=traffic, source=str(path))
        except UNUSABLE_MODEL as error:
            self._session.notify(f"the model of importance is trained again: {path}: {printable(str(error))}")
        return None

    def rescore_pages(self) -> None:
        """Estimates the standing of the stored pages, if the model is new or some pages have none."""
        session, model, judge = self._session, self.model, self.judge
        if model is None or judge is None:
            return
        if session.status.pages and (self._is_new or session.collection.catalog.has_pages_without_standing()):
            session.notify(f"Importance model updated: re-scoring {counted(session.status.pages, 'page')}.")
            standing = self._rescored(judge)
            session.record(Scores(session.clock.now(), "how much pages matter is learnt anew", {}, standing))
            session.checkpoint()
        if self._is_new:
            self._save(model)  # last: after a kill before here, the next run trains and scores again
            self._is_new = False

    def _rescored(self, model: Standing) -> dict[str, float]:
        """The standing of every page; re-ranks the frontier."""
        session, strategy = self._session, self._session.loop.strategy
        if not isinstance(strategy, SupportsRejudge):
            return session.reranker.rerank(standing=model)[1]
        urls = (row.url for row in session.collection.catalog.pages())
        pages = ((url, session.pages.page(url)) for url in urls)
        standing: dict[str, float] = {url: model.standing(page) for url, page in pages if page is not None}
        session.reranker.rejudge(strategy, {}, standing)
        return standing

    def learn_if_due(self) -> None:
        """Trains again when the collection reaches the next size in RETRAIN_AT."""
        if self._stage is not None and self._stage < self._current_stage():
            self.learn()
            self.rescore_pages()

    def _current_stage(self) -> int:
        """The number of sizes in RETRAIN_AT that are reached."""
        learns_from_own_pages = bool(self._source.in_links or (self._source.graph and not self._source.collections))
        return bisect_right(RETRAIN_AT if learns_from_own_pages else RETRAIN_AT[:1], self._session.status.pages)

    def _report(self, model: StandingModel, *, is_first: bool) -> None:
        source, notify = self._source, self._session.notify
        authority = self._session.state.strategy_factory.authority
        if is_first and authority is not None:
            lists = ", ".join(each.name for each in authority.sources)
            notify(f"Importance also uses site ranks from {lists} ({counted(len(authority), 'rank')})")
        if not _source_name(source):
            if is_first:
                notify(_BUILT_IN)
            if is_first and source.traffic:
                notify(f"{source.traffic} is not used for pages: that model knows nothing of traffic; give in_links")
        elif model.notes:
            for note in model.notes:
                notify(f"{_source_name(source)}: {note}")
        elif self._is_new:
            notify(f"importance is learned from {_source_name(source)}: {counted(model.pages, 'page')}")

    def _save(self, model: StandingModel) -> None:
        path = self._session.folder / STANDING_FILE
        saved = msgspec.json.encode(_SavedStanding(self._fingerprint(), model.to_plain()))
        try:
            StandingModel.from_plain(msgspec.json.decode(saved, type=_SavedStanding).model, traffic=self._traffic())
        except UNUSABLE_MODEL as error:
            self._session.notify(f"the model of importance is not saved: it could not be read: {printable(str(error))}")
            with disk_errors(path):
                path.unlink(missing_ok=True)
            return
        with disk_errors(path), atomic_write(path) as file:
            file.write(saved)

    def _traffic(self) -> dict[str, float] | None:
        traffic = self._source.traffic
        return read_traffic(regular_file_or_folder(self._session.folder / traffic)) if traffic else None

    def _train(self) -> StandingModel:
        session, source = self._session, self._source
        examples = {url: page for url in session.topic.examples.urls if (page := session.pages.page(url)) is not None}
        labels = session.topic.examples.urls
        if _source_name(source):
            in_links = self._in_links()
            pages = self._training_pages({url: page for url, page in examples.items() if labels[url]})
            model = learn(
                labelled(pages, in_links),
                background=[page for url, page in examples.items() if not labels[url]],
                traffic=self._traffic(),
                characteristic=source.characteristic,
            )
        else:
            model = prior()
        if source.theta is not None:
            return model.with_theta(source.theta)
        sample = _sample_pages(session, THETA_PAGES) if self._stage else examples.values()
        return model.with_theta(median_prediction(model, sample))

    def _in_links(self) -> dict[Url, int]:
        source, folder = self._source, self._session.folder
        if source.in_links:
            return read_in_links(regular_file_or_folder(folder / source.in_links))
        if source.collections:
            return count_in_links(pair for name in source.collections for pair in _link_pairs(folder / name))
        return read_graph_in_links(regular_file_or_folder(folder / source.graph))

    def _training_pages(self, good: Mapping[Url, Page]) -> Iterator[Page]:
        """The distinct pages for training."""
        if self._source.collections and not self._source.in_links:
            folders = [self._session.folder / name for name in self._source.collections]
            yield from _sample_archives(folders, self._session.reader)
            return
        yield from good.values()
        if self._stage:
            yield from (page for page in _sample_pages(self._session, MAX_PAGES) if page.url not in good)

    def _fingerprint(self) -> str:
        """A fingerprint of the training data: the recipe's settings, the state of the files they name, the examples,
        the stage, and whether the background is stemmed."""
        source, folder = self._source, self._session.folder
        files = [source.in_links, source.traffic, source.graph]
        files += [f"{name}/catalog.sqlite" for name in source.collections]
        states = []
        for name in filter(None, files):
            path = folder / name
            states.append((name, path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (name, 0, 0))
        recipe = {key: value for key, value in msgspec.to_builtins(source).items() if key != "authority"}
        inputs = [recipe, states, self._session.topic.examples.digest, self._stage]
        if self._session.state.strategy_factory.authority is not None:
            inputs.append(self._session.state.strategy_factory.authority.digest)
        if self._session.recipe.topic.stem and _source_name(source):  # the built-in model uses no terms
            inputs.append("stems")
        return xxhash.xxh3_128_hexdigest(msgspec.json.encode(inputs))


def _read_standing(path: Path) -> _SavedStanding:
    with disk_errors(path):
        return msgspec.json.decode(read_regular_file(path, _MAX_BYTES), type=_SavedStanding)


def _source_name(source: StandingSource) -> str:
    """The source of in-links; empty if there is none."""
    if source.in_links:
        return source.in_links
    if source.collections:
        return counted(len(source.collections), "collection")
    return source.graph


def _sample_pages(session: Session, limit: int) -> Iterator[Page]:
    """Up to `limit` pages of the collection, evenly spaced."""
    step = 1 + session.status.pages // limit
    for row in session.collection.catalog.pages():
        if row.number % step == 0 and (page := session.pages.page(row.url)) is not None:
            yield page


def _link_pairs(folder: Path) -> Iterator[tuple[Url, Url]]:
    with open_for_reading(folder) as collection:
        yield from collection.catalog.link_pairs()


def _sample_archives(folders: list[Path], read: Reader) -> Iterator[Page]:
    for folder in folders:
        with open_for_reading(folder) as collection:
            step = 1 + collection.catalog.count() * len(folders) // MAX_PAGES
            for row in collection.catalog.pages():
                if row.number % step == 0 and row.place is not None:
                    page = read(collection.archive.fetch_at(row.place))
                    if page is not None:
                        yield page
