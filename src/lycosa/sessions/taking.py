"""Taking pages of other peers into a collection, with where they came from."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lycosa.collection.foreign import ForeignFetches
from lycosa.recipe import load_recipe
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Candidate, Url
from lycosa.web.encodings import decoded

from .forgotten import is_forgotten, read_forgotten
from .session import Session, Tell
from .training import Training

AHEAD_SECONDS = 86_400.0  # by which the clock of another may be ahead of ours


class Given(Struct, frozen=True):
    """A stored page of another peer: its WARC record, unpacked, and who gave it."""

    url: Url
    record: bytes
    provider: str


class Taken(Struct, frozen=True):
    """What came of pages that were given."""

    pages: tuple[Url, ...]
    known: tuple[Url, ...]  # the collection has them already, or was told to forget them
    unusable: tuple[Url, ...]  # no HTML page, not the one it was said to be, or of a time that cannot be


def take_pages(folder: Path, given: Iterable[Given], *, clock: Clock, tell: Tell) -> Taken:
    """Takes pages into the collection as if they had been fetched when the other fetched them.

    They are judged by the collection's model; `lycosa explain` tells from whom they are.
    """
    pages, known, unusable = list[Url](), list[Url](), list[Url]()
    with Session(folder, load_recipe(folder), clock=clock, tell=tell) as session:
        session.crawl.judge = Training(session).judge_at_hand()
        forgotten = read_forgotten(folder)
        for each in given:
            if session.frontier.is_settled(each.url) or is_forgotten(each.url, forgotten):
                known.append(each.url)
                continue
            with tempfile.NamedTemporaryFile(suffix=".warc") as file:
                file.write(each.record)
                file.flush()
                fetches = list(
                    ForeignFetches(
                        Path(file.name),
                        decode=decoded,
                        max_bytes=session.recipe.requests.max_body,
                        latest=clock.now() + AHEAD_SECONDS,
                    )
                )
            if len(fetches) != 1 or fetches[0].url != each.url:
                unusable.append(each.url)
                continue
            because = {"taken from peer": each.provider}
            session.crawl.absorb(Candidate(each.url, 0.0, because=because), fetches[0])
            pages.append(each.url)
    return Taken(tuple(pages), tuple(known), tuple(unusable))
