"""The Web as WARC files remember it."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType
from msgspec import Struct

from lycosa.collection.foreign import refuse_arc
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.vocabulary.urls import normalise
from lycosa.web.encodings import decoded
from lycosa.web.outcomes import classify, header, is_page_status


class Place(Struct, frozen=True, gc=False):
    """Where a record begins."""

    path: Path
    offset: int  # bytes into the file as it lies on disk


class ArchivedWeb:
    """Answers with the last response that the archives hold for a URL."""

    def __init__(self, places: Mapping[Url, Place], *, max_body: int = 1_000_000):
        self._places = places
        self._max_body = max_body

    @classmethod
    def from_files(cls, paths: Iterable[Path | str], *, max_body: int = 1_000_000) -> "ArchivedWeb":
        """Looks through WARC files, gzipped or not, once; of a damaged file it knows what comes before the damage."""
        places: dict[Url, Place] = {}
        for path in map(Path, paths):
            for url, offset in _responses_in(path):
                places[url] = Place(path, offset)
        return cls(places, max_body=max_body)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Url]:
        """The URLs there is an answer for."""
        return iter(self._places)

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return self._read(url, self._max_body, any_type=False)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        return self._read(url, limit, any_type=True)

    async def close(self) -> None:
        pass

    def _read(self, url: Url, limit: int, *, any_type: bool) -> Fetch:
        place = self._places.get(url)
        if place is None:
            return Fetch(url, Outcome.GONE, 0.0, detail="not in the archive")
        try:
            with place.path.open("rb") as file:
                file.seek(place.offset)
                record = next(iter(ArchiveIterator(file, parse_http=True, auto_decode="transfer")))
                body = record.reader.read(limit + 1)
        except (OSError, StopIteration, ValueError) as trouble:
            return Fetch(
                url, Outcome.FAILED, 0.0, detail=f"{place.path} cannot be read at byte {place.offset}: {trouble}"
            )
        return _fetch_of(url, record, body, limit, any_type=any_type)


def _fetch_of(url: Url, record: WarcRecord, body: bytes, limit: int, *, any_type: bool) -> Fetch:
    at = record.record_date.timestamp() if record.record_date else 0.0
    head = record.http_headers
    if head is None or head.status_code is None:
        return Fetch(url, Outcome.FAILED, at, detail="the record holds no HTTP response")
    status = int(head.status_code)
    headers = tuple((str(name), str(value)) for name, value in head)
    version, _, reason = str(head.status_line).partition(" ")
    reason = reason.partition(" ")[2]
    content, is_truncated = b"", len(body) > limit
    if is_page_status(status):
        content, is_content_truncated = decoded(body[:limit], header(headers, "content-encoding"), limit)
        is_truncated = is_truncated or is_content_truncated
    classification = classify(url, status, reason, headers, now=at, start=content, any_type=any_type)
    wanted = classification.outcome is not Outcome.UNWANTED
    return Fetch(
        url,
        classification.outcome,
        at,
        status=status,
        reason=reason,
        http_version=version.partition("/")[2] or "1.1",
        headers=headers,
        body=body[:limit] if wanted else b"",
        content=content if wanted else b"",
        truncated=("length" if is_truncated else str(record.headers.get("WARC-Truncated") or "")) if wanted else "",
        address=str(record.headers.get("WARC-IP-Address") or ""),
        location=classification.location,
        detail=classification.detail,
    )


def _responses_in(path: Path) -> Iterator[tuple[Url, int]]:
    try:
        with path.open("rb") as file:
            start = file.read(65_536)
            refuse_arc(path, start)
            file.seek(0)
            seen = False
            try:
                for record in ArchiveIterator(file, parse_http=False):
                    seen = True
                    if record.record_type != WarcRecordType.response:
                        continue
                    url = normalise(str(record.headers.get("WARC-Target-URI") or "").strip("<>"))
                    if url is not None:
                        yield url, record.stream_pos
            except OSError as damage:
                if not seen:
                    raise UsageError(f"{path} is not a WARC file ({damage}); name a .warc or .warc.gz file") from None
            if not seen and start:
                raise UsageError(f"{path} holds no WARC record; name a .warc or .warc.gz file")
    except OSError as trouble:
        raise UsageError(f"cannot read {path}: {trouble.strerror or trouble}; name a readable WARC file") from None
