"""The difference between two stored versions of a page."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.rows import LookRow
from lycosa.run.open import main_text_of, open_for_reading
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import printable

MAX_VERSIONS = 50  # the latest ones, which can be chosen
CONTEXT_SENTENCES = 2  # sentences shown around a change
_MAX_SENTENCES = 1_000  # of a version; comparing them takes quadratic time, longer for hostile pages
_MAX_SENTENCE_LENGTH = 600  # characters
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


class LookLine(Struct, frozen=True):
    """A look at a page, whether its version was stored or not."""

    look: int  # number of the fetch of the page, from 1
    at: float  # seconds since the epoch
    change: str  # what it found: new for the first look, else unchanged, changed, vanished or such
    bytes: int | None
    links: int | None  # number of links
    new_links: int  # number of link targets that the version before does not have
    is_stored: bool


class DiffLine(Struct, frozen=True):
    kind: Literal["same", "added", "removed", "gap"]
    text: str


class VersionsView(Struct, frozen=True):
    """What was added and removed between two versions of a page."""

    url: str
    title: str
    versions: list[LookLine]  # that are stored, oldest first
    old: int | None  # looks that are compared; None where there are no two versions
    new: int | None
    added: int  # number of sentences
    removed: int
    lines: list[DiffLine]
    is_cut: bool  # whether a version has more sentences than are compared


def versions_view(folder: Path, url: Url, old: int | None = None, new: int | None = None) -> VersionsView:
    """The difference between two versions, by default the latest; the oldest as `new` is compared with the next."""
    with open_for_reading(folder) as collection:
        row = collection.catalog.page(url)
        if row is None:
            raise UsageError("the collection has no such page")
        looks = [each for each in collection.catalog.looks(row.number) if each.place is not None][-MAX_VERSIONS:]
        stored = [look_line(look) for look in looks]
        if len(looks) < 2:
            return VersionsView(row.url, printable(row.title), stored, None, None, 0, 0, [], False)
        newer = _chosen(looks, new, looks[-1])
        before = [each for each in looks if each.look < newer.look]
        older = _chosen(looks, old, before[-1] if before else looks[0])
        if old is None and not before:
            newer = looks[1]
        texts = [_sentences(collection, each) for each in (older, newer)]
    lines = diff(*(sentences[:_MAX_SENTENCES] for sentences in texts))
    return VersionsView(
        url=row.url,
        title=printable(row.title),
        versions=stored,
        old=older.look,
        new=newer.look,
        added=sum(line.kind == "added" for line in lines),
        removed=sum(line.kind == "removed" for line in lines),
        lines=lines,
        is_cut=any(len(sentences) > _MAX_SENTENCES for sentences in texts),
    )


def look_line(look: LookRow) -> LookLine:
    return LookLine(
        look.look, look.at, printable(look.change, 40), look.bytes, look.links, look.new_links, look.place is not None
    )


def diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """The sentences that were added or removed, with some context.

    >>> [(line.kind, line.text) for line in diff(["One.", "Two."], ["One.", "Three."])]
    [('same', 'One.'), ('removed', 'Two.'), ('added', 'Three.')]
    """
    lines: list[DiffLine] = []
    opcodes = SequenceMatcher(None, old, new).get_opcodes()
    for index, (operation, old_start, old_end, new_start, new_end) in enumerate(opcodes):
        if operation == "equal":
            same = [DiffLine("same", text) for text in old[old_start:old_end]]
            head = CONTEXT_SENTENCES if index else 0
            tail = CONTEXT_SENTENCES if index + 1 < len(opcodes) else 0
            if len(same) > head + tail:
                hidden = len(same) - head - tail
                gap = DiffLine("gap", f"{hidden} {'sentence' if hidden == 1 else 'sentences'} as before")
                same = [*same[:head], gap, *same[len(same) - tail :]]
            lines += same
        else:
            lines += [DiffLine("removed", text) for text in old[old_start:old_end]]
            lines += [DiffLine("added", text) for text in new[new_start:new_end]]
    return lines


def _chosen(looks: Sequence[LookRow], wanted: int | None, otherwise: LookRow) -> LookRow:
    return next((each for each in looks if each.look == wanted), otherwise)


def _sentences(collection: Collection, look: LookRow) -> list[str]:
    text = main_text_of(collection.archive.fetch_at(look.place)) if look.place is not None else ""
    parts = (part for line in text.splitlines() for part in _SENTENCE_END.split(line))
    return [printable(part, _MAX_SENTENCE_LENGTH) for part in parts if part.strip()]
