"""An archive file without what is to be forgotten."""

from collections.abc import Callable
from typing import BinaryIO

from msgspec.structs import replace

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import normalise

from .events import Run, Scores
from .groups import AttemptNote, NewId, Note, VisitNote, about, metadata_record, parts
from .warc import Record


def copy_without(
    source: BinaryIO, out: BinaryIO, is_forgotten: Callable[[Url], bool], new_id: NewId
) -> tuple[int, int]:
    """Copies a file without the forgotten URLs; returns how many events went, and how much else was changed.

    Records that are not understood go where they are about such a URL, and stay as they are where they are not.
    """
    gone = changed = 0
    for part in parts(source):
        behind = source.tell()  # where `parts` reads on
        if isinstance(part, Record):
            if _is_about_forgotten(part, is_forgotten):
                changed += 1
            else:
                _copy(source, part.offset, part.offset + part.length, out)
        elif (note := without(part.note, is_forgotten)) is None:
            gone += 1
        elif note == part.note:
            _copy(source, part.start, part.end, out)
        else:
            changed += 1
            _copy(source, part.start, part.metadata.offset, out)
            out.write(metadata_record(note, new_id(), part.metadata.headers.get("warc-concurrent-to")))
        source.seek(behind)
    return gone, changed


def _is_about_forgotten(record: Record, is_forgotten: Callable[[Url], bool]) -> bool:
    url = normalise(record.headers.get("warc-target-uri", "").strip("<>"))
    return url is not None and is_forgotten(url)


def without(note: Note, is_forgotten: Callable[[Url], bool]) -> Note | None:
    """The note with the forgotten URLs left out; None where it is about one of them."""
    url = about(note)
    if url is not None and is_forgotten(url):
        return None
    match note:
        case Run():
            return replace(note, seeds=tuple(seed for seed in note.seeds if not is_forgotten(seed)))
        case Scores():
            relevance, standing = (
                {page: value for page, value in values.items() if not is_forgotten(Url(page))}
                for values in (note.relevance, note.standing)
            )
            return replace(note, relevance=relevance, standing=standing)
        case VisitNote() | AttemptNote():
            if note.candidate.found_on and is_forgotten(note.candidate.found_on):
                note = replace(note, candidate=replace(note.candidate, found_on=None, anchor=""))
            if note.fetch.location and is_forgotten(note.fetch.location):
                return None
            if isinstance(note, VisitNote) and note.duplicate_of and is_forgotten(note.duplicate_of):
                note = replace(note, duplicate_of=None)
            if isinstance(note, VisitNote) and any(map(is_forgotten, note.new_links)):
                note = replace(note, new_links=tuple(link for link in note.new_links if not is_forgotten(link)))
    return note


def _copy(source: BinaryIO, start: int, end: int, out: BinaryIO) -> None:
    source.seek(start)
    while start < end:
        chunk = source.read(min(1 << 20, end - start))
        if not chunk:
            return
        out.write(chunk)
        start += len(chunk)
