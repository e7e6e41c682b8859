"""Pages that others have fetched, on their way into a collection."""

from pathlib import Path

from lycosa.collection.foreign import ForeignFetches
from lycosa.vocabulary.records import Candidate, Fetch, Plain, Url
from lycosa.web.encodings import decoded

from .forgotten import is_forgotten, read_forgotten
from .session import Session
from .training import Training

AHEAD_SECONDS = 86_400.0  # by which the clock of another may be ahead of ours


class Intake:
    """Takes pages into a session as if they had been fetched here when the others fetched them.

    They are judged by the collection's model; a function of the recipe is not run here, but by the next crawl.
    """

    def __init__(self, session: Session):
        self._session = session
        self._forgotten = read_forgotten(session.folder)
        session.crawl.judge = Training(session).judge_at_hand()

    def pages_in(self, path: Path) -> ForeignFetches:
        """The pages of a WARC file, those of a time that cannot be left out."""
        return ForeignFetches(
            path,
            decode=decoded,
            max_bytes=self._session.recipe.requests.max_body,
            latest=self._session.clock.now() + AHEAD_SECONDS,
        )

    def is_known(self, url: Url) -> bool:
        """Whether the collection has the page already, or was told to forget it."""
        return self._session.frontier.is_settled(url) or is_forgotten(url, self._forgotten)

    def take(self, fetch: Fetch, because: dict[str, Plain]) -> None:
        self._session.crawl.absorb(Candidate(fetch.url, 0.0, because=because), fetch)
        self._session.checkpoint_if_due()
