"""Taking pages of other peers into a collection, with where they came from."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lycosa.recipe import load_recipe
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Url

from .intake import Intake
from .session import Session, Tell


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
    """Takes pages into the collection as of the time at which others fetched them; `explain` tells whose they are."""
    pages, known, unusable = list[Url](), list[Url](), list[Url]()
    with Session(folder, load_recipe(folder), clock=clock, tell=tell) as session:
        intake = Intake(session)
        for each in given:
            if intake.is_known(each.url):
                known.append(each.url)
                continue
            with tempfile.NamedTemporaryFile(suffix=".warc") as file:
                file.write(each.record)
                file.flush()
                fetches = list(intake.pages_in(Path(file.name)))
            if len(fetches) != 1 or fetches[0].url != each.url:
                unusable.append(each.url)
                continue
            intake.take(fetches[0], {"taken from peer": each.provider})
            pages.append(each.url)
    return Taken(tuple(pages), tuple(known), tuple(unusable))
