"""Imports pages that others have fetched, from WARC files or from peers."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lycosa.collection.foreign import ForeignFetches
from lycosa.recipe import load_recipe
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Candidate, Fetch, JsonValue, Url
from lycosa.web.encodings import decoded

from .forgotten import is_forgotten, read_forgotten
from .run_settings import Notify
from .session import Session
from .topic_training import TopicTrainer

AHEAD_SECONDS = 86_400.0  # by which the clock of others may be ahead of ours


class Importer:
    """Imports pages into a session as if they had been fetched here, at the time when they were fetched.

    They are scored by the collection's model; a function of the recipe is run only by the next crawl.
    """

    def __init__(self, session: Session):
        self._session = session
        self._forgotten = read_forgotten(session.folder)
        self._assess = session.assessor(TopicTrainer(session).available_judge())

    def pages_in(self, path: Path) -> ForeignFetches:
        """The pages of a WARC file, except those dated in the future."""
        return ForeignFetches(
            path,
            decode=decoded,
            max_bytes=self._session.recipe.requests.max_body,
            latest=self._session.clock.now() + AHEAD_SECONDS,
        )

    def is_known(self, url: Url) -> bool:
        """Whether the page is in the collection already, or was forgotten."""
        return self._session.frontier.is_settled(url) or is_forgotten(url, self._forgotten)

    def take(self, fetch: Fetch, because: dict[str, JsonValue]) -> None:
        self._session.loop.step(Candidate(fetch.url, 0.0, because=because), fetch, self._assess)
        self._session.checkpoint_if_due()


class PeerPage(Struct, frozen=True):
    """A stored page of another peer: its WARC record, uncompressed, and the peer that sent it."""

    url: Url
    record: bytes
    provider: str


class ImportedPeerPages(Struct, frozen=True):
    """The pages of peers that were imported, and those that were not."""

    pages: tuple[Url, ...]
    known: tuple[Url, ...]  # already in the collection, or forgotten
    unusable: tuple[Url, ...]  # not HTML, not the announced page, or dated in the future


def import_peer_pages(folder: Path, given: Iterable[PeerPage], *, clock: Clock, notify: Notify) -> ImportedPeerPages:
    """Imports pages with the time at which they were fetched; `lycosa explain` names the peer."""
    pages, known, unusable = list[Url](), list[Url](), list[Url]()
    with Session(folder, load_recipe(folder, notify=notify), clock=clock, notify=notify) as session:
        importer = Importer(session)
        for each in given:
            if importer.is_known(each.url):
                known.append(each.url)
                continue
            with tempfile.NamedTemporaryFile(suffix=".warc") as file:
                file.write(each.record)
                file.flush()
                fetches = list(importer.pages_in(Path(file.name)))
            if len(fetches) != 1 or fetches[0].url != each.url:
                unusable.append(each.url)
                continue
            importer.take(fetches[0], {"taken from peer": each.provider})
            pages.append(each.url)
    return ImportedPeerPages(tuple(pages), tuple(known), tuple(unusable))
