"""Imports pages that others have fetched, from WARC files or from peers."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.foreign import ForeignFetches
from lycosa.recipe import load_recipe
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Candidate, Fetch, JsonValue, Url
from lycosa.web.encodings import decoded

from .forgotten import is_forgotten, read_forgotten
from .run_settings import Notify
from .session import Session
from .topic_training import TopicTrainer

MAX_CLOCK_SKEW = 86_400.0  # seconds by which the clock of others may be ahead of ours


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
            latest=self._session.clock.now() + MAX_CLOCK_SKEW,
        )

    def is_known(self, url: Url) -> bool:
        """Whether the page is in the collection already, or was forgotten."""
        return self._session.frontier.is_settled(url) or is_forgotten(url, self._forgotten)

    def add(self, fetch: Fetch, because: dict[str, JsonValue]) -> None:
        """Stores a page as if it had been fetched here; `because` says where it came from."""
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


def import_peer_pages(folder: Path, received: Iterable[PeerPage], *, clock: Clock, notify: Notify) -> ImportedPeerPages:
    """Imports pages with the time at which they were fetched; `lycosa explain` names the peer."""
    pages, known, unusable = list[Url](), list[Url](), list[Url]()
    with Session(folder, load_recipe(folder, notify=notify), clock=clock, notify=notify) as session:
        importer = Importer(session)
        for page in received:
            if importer.is_known(page.url):
                known.append(page.url)
                continue
            with tempfile.NamedTemporaryFile(suffix=".warc") as file:
                file.write(page.record)
                file.flush()
                fetches = list(importer.pages_in(Path(file.name)))
            if len(fetches) != 1 or fetches[0].url != page.url:
                unusable.append(page.url)
                continue
            # Whatever the peer says, its pages are not personal: they were requested without secrets of this user.
            importer.add(replace(fetches[0], request_headers=()), {"taken from peer": page.provider})
            pages.append(page.url)
    return ImportedPeerPages(tuple(pages), tuple(known), tuple(unusable))
