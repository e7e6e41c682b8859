"""An event as a group of WARC records, and back.

A response is a `response` record (a `revisit` if it is a 304 or identical to what the archive has already) and a
`request` record; the rest of the event is JSON in a `metadata` record, which comes last and so completes the group.
Events without a response are a single `metadata` record. Its target is a URI of its own, such as
`urn:lycosa:visit:http://…`, because replay tools take every record with a page's URL as target for a capture of that
page. Version 0.1 wrote the plain URL; since events are read from the JSON, both can be read.
`Transfer-Encoding` is archived as `X-Archive-Orig-Transfer-Encoding`, because bodies are no longer chunked (a header
that already has this name gets the prefix once more). The headers of a 304 are in the JSON instead of the revisit
record, because replay tools would show an empty 304 instead of the page. A Brotli body, which other programs fail to
decode in pieces, is archived decoded, with `X-Archive-Orig-Content-Encoding`. A response whose body was not read is
marked `WARC-Truncated: unspecified`, the only reason of the standard that implies neither a limit nor a disconnect.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, BinaryIO, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from lycosa.vocabulary.records import (
    Candidate,
    Change,
    CheckedUrl,
    Count,
    Fetch,
    LeftOut,
    Outcome,
    PastFetch,
    Score,
    Seconds,
    Timestamp,
    Url,
    Visit,
)
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_of, normalise, path_of

from .events import Attempt, Event, FetchedExample, RunStart, RunStop, Scores, fetch_of, is_not_modified, is_revisit
from .json_text import to_json
from .warc import DAMAGED, Record, date_of, encode_record, one_line, read_records, sha1_digest

Decode = Callable[[bytes, str, int], tuple[bytes, bool]]  # body, Content-Encoding, max bytes -> content, is_truncated
NewId = Callable[[], str]

URN = "urn:lycosa:"
ORIGINAL_PREFIX = "X-Archive-Orig-"  # of headers that no longer describe the archived body
DECODED_HEADER = "x-archive-orig-content-encoding"  # lower-case header of a response that is archived decoded
_TRANSFER_ENCODING_NAME = re.compile(rf"(?:{ORIGINAL_PREFIX})*(?i:transfer-encoding)")
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
MAX_CONTENT = 1 << 26  # bytes of a decoded body that are read, whatever its metadata says
Headers = tuple[tuple[str, str], ...]


class FetchMetadata(Struct, frozen=True, omit_defaults=True):
    """The parts of a fetch that are not in request and response records; all of it if there was no response."""

    outcome: Outcome
    at: Timestamp
    url: Annotated[str, Meta(pattern=r"^(https?://[^/\s]|$)")] = ""  # if it differs from the candidate's
    elapsed: Seconds = 0.0
    location: CheckedUrl | None = None  # the target of a redirect
    host_not_before: Timestamp | None = None  # no request to the host before this time
    detail: str = ""  # what went wrong, for people
    http_version: str = "1.1"
    content: Count = 0  # bytes once decoded
    utf8: bool = False  # whether headers are UTF-8, because Latin-1 cannot encode them
    host_added: bool = False  # whether the archived request has a Host header that the fetch did not have
    reason: str = ""  # of the status line
    headers: Headers = ()
    request_headers: Headers = ()
    truncated: str = ""  # "length" or "time" if the body was truncated
    address: str = ""  # the IP address that answered
    status: int | None = None  # of a response whose headers are in no record


class VisitMetadata(Struct, frozen=True, omit_defaults=True, tag_field="lycosa", tag="visit"):
    """A visit, without its page and what its other records have."""

    candidate: Candidate
    fetch: FetchMetadata
    relevance: Score | None = None  # 0 to 1
    duplicate_of: CheckedUrl | None = None  # an earlier page with nearly the same text
    left_out: str = ""  # str of a LeftOut if the page is not kept
    standing: Score | None = None  # importance on the Web, 0 to 1
    known: PastFetch | None = None  # of a page fetched again, as the next two: the version it was compared with
    change: Change | None = None
    new_links: tuple[CheckedUrl, ...] = ()  # link targets that are not in the previous version
    is_copy: bool = False  # its text is that of an earlier page, word for word, and its links are not followed


class AttemptMetadata(Struct, frozen=True, tag_field="lycosa", tag="attempt"):
    """A fetch that failed and will be tried again."""

    candidate: Candidate
    fetch: FetchMetadata


class ExampleMetadata(Struct, frozen=True, tag_field="lycosa", tag="example"):
    """An example page, fetched for training."""

    url: CheckedUrl
    good: bool  # whether it is a positive example
    fetch: FetchMetadata


Metadata = VisitMetadata | AttemptMetadata | ExampleMetadata | RunStart | Scores | RunStop


class EventRecords(NamedTuple):
    """The records of one event in a file."""

    start: int  # byte offset
    end: int
    metadata: Metadata  # decoded
    response: Record | None  # or the revisit
    request: Record | None
    metadata_record: Record

    @property
    def first(self) -> Record:
        return self.response or self.metadata_record


class EncodedEvent(NamedTuple):
    """The records of one event, encoded for writing."""

    members: list[bytes]  # a gzip member for each record
    payload_digest: str  # of the body; empty without a response


# ---------------------------------------------------------------- writing


def encode_event(event: Event, new_id: NewId) -> EncodedEvent:
    """The records of an event, one gzip member each."""
    fetch = fetch_of(event)
    if fetch is None or fetch.status is None:
        return EncodedEvent([metadata_record(_metadata_of(event), new_id(), None)], "")
    fetch = _without_brotli(fetch)
    response_id = new_id()
    date, target = date_of(fetch.at), f"WARC-Target-URI: {fetch.url}"
    charset = _charset(fetch)
    first_line = f"HTTP/{_archived_version(fetch)} {fetch.status:03d} {one_line(fetch.reason)}"
    head = b"" if is_not_modified(fetch) else _head(first_line, fetch.headers, charset)
    known = event.known if isinstance(event, Visit) else None
    revisit = is_revisit(fetch)
    payload_digest = known.payload if revisit and known and known.payload else sha1_digest(fetch.body)
    lines = [target]
    if fetch.address:
        lines.append(f"WARC-IP-Address: {one_line(fetch.address)}")
    if not revisit or (known and known.payload):
        lines.append(f"WARC-Payload-Digest: {payload_digest}")
    if revisit:
        lines += _revisit_headers(fetch, known)
    elif fetch.truncated or (fetch.outcome is Outcome.UNWANTED and not fetch.body):
        lines.append(f"WARC-Truncated: {one_line(fetch.truncated) or 'unspecified'}")
    kind = "revisit" if revisit else "response"
    members = [encode_record(kind, response_id, date, "application/http; msgtype=response", head + fetch.body, *lines)]
    if fetch.request_headers:
        host_header: Headers = () if _names_host(fetch) else (("Host", host_of(fetch.url)),)
        request_head = _head(
            f"GET {path_of(fetch.url)} HTTP/{_archived_version(fetch)}", host_header + fetch.request_headers, charset
        )
        concurrent = f"WARC-Concurrent-To: {response_id}"
        mime = "application/http; msgtype=request"
        members.append(encode_record("request", new_id(), date, mime, request_head, target, concurrent))
    members.append(metadata_record(_metadata_of(event), new_id(), response_id))
    return EncodedEvent(members, payload_digest)


def _revisit_headers(fetch: Fetch, known: PastFetch | None) -> list[str]:
    """The headers of a revisit that refer to the record with its payload."""
    profile = NOT_MODIFIED if fetch.status == 304 else SAME_PAYLOAD
    lines = [f"WARC-Profile: {profile}", f"WARC-Refers-To-Target-URI: {fetch.url}"]
    return [*lines, f"WARC-Refers-To-Date: {date_of(known.at)}"] if known else lines


def metadata_record(metadata: Metadata, record_id: str, response_id: str | None) -> bytes:
    """The record that completes the group of an event."""
    url = url_of(metadata)
    lines = [f"WARC-Target-URI: {URN}{metadata.__struct_config__.tag}{f':{url}' if url else ''}"]
    if response_id:
        lines += [f"WARC-Concurrent-To: {response_id}", f"WARC-Refers-To: {response_id}"]
    return encode_record(
        "metadata", record_id, date_of(time_of(metadata)), "application/json", to_json(metadata), *lines
    )


def url_of(metadata: Metadata) -> Url | None:
    """The URL that was fetched, if one was."""
    if isinstance(metadata, ExampleMetadata):
        return metadata.url
    return metadata.candidate.url if isinstance(metadata, (VisitMetadata, AttemptMetadata)) else None


def url_of_record(record: Record) -> Url | None:
    """The URL that a record is about, by its target; None if that is not a URL."""
    target = record.headers.get("warc-target-uri", "").strip("<>")
    if target.startswith(URN):
        target = target.removeprefix(URN).partition(":")[2]
    return normalise(target)


def time_of(metadata: Metadata) -> float:
    """The time of the event, in seconds since the epoch."""
    return metadata.fetch.at if isinstance(metadata, (VisitMetadata, AttemptMetadata, ExampleMetadata)) else metadata.at


def _metadata_of(event: Event) -> Metadata:
    match event:
        case Visit():
            return VisitMetadata(
                candidate=event.candidate,
                fetch=_fetch_metadata(event.fetch, event.candidate.url),
                relevance=event.relevance,
                duplicate_of=event.duplicate_of,
                left_out="" if event.left_out is None else str(event.left_out),
                standing=event.standing,
                known=event.known,
                change=event.change,
                new_links=event.new_links,
                is_copy=event.is_copy,
            )
        case Attempt():
            return AttemptMetadata(event.candidate, _fetch_metadata(event.fetch, event.candidate.url))
        case FetchedExample():
            return ExampleMetadata(event.url, event.good, _fetch_metadata(event.fetch, event.url))
        case _:
            return event


def _fetch_metadata(fetch: Fetch, url: Url) -> FetchMetadata:
    has_response = fetch.status is not None
    has_head = has_response and not is_not_modified(fetch)  # in a record
    return FetchMetadata(
        outcome=fetch.outcome,
        at=fetch.at,
        url="" if fetch.url == url else fetch.url,
        elapsed=fetch.elapsed,
        location=fetch.location,
        host_not_before=fetch.host_not_before,
        detail=fetch.detail,
        http_version=fetch.http_version,
        content=len(fetch.content),
        utf8=has_response and _charset(fetch) == "utf-8",
        host_added=has_response and not _names_host(fetch),
        reason="" if has_head else fetch.reason,
        headers=() if has_head else fetch.headers,
        request_headers=() if has_response else fetch.request_headers,
        truncated=fetch.truncated,
        address="" if has_response else fetch.address,
        status=None if has_head else fetch.status,
    )


def _without_brotli(fetch: Fetch) -> Fetch:
    """The fetch with a Brotli body decoded and its headers adapted, as other WARC writers do."""
    encoding = fetch.header("content-encoding")
    if not encoding or not fetch.body or "br" not in (name.strip().lower() for name in encoding.split(",")):
        return fetch
    body = fetch.content or fetch.body
    headers = [
        (f"{ORIGINAL_PREFIX}{name}" if name.lower() in ("content-encoding", "content-length") else name, value)
        for name, value in fetch.headers
    ]
    return replace(fetch, body=body, headers=(*headers, ("Content-Length", str(len(body)))))


def _names_host(fetch: Fetch) -> bool:
    return "host" in [name.lower() for name, _ in fetch.request_headers]


def _archived_version(fetch: Fetch) -> str:
    return "1.0" if fetch.http_version == "1.0" else "1.1"  # the only versions that WARC readers support


def _charset(fetch: Fetch) -> str:
    for name, value in fetch.headers:  # a generator takes thrice as long
        if not (name.isascii() and value.isascii()):
            break
    else:
        if fetch.reason.isascii():
            return "latin-1"
    try:
        "".join((fetch.reason, *(text for pair in fetch.headers for text in pair))).encode("latin-1")
    except UnicodeEncodeError:
        return "utf-8"
    return "latin-1"


def _head(first_line: str, headers: Headers, charset: str) -> bytes:
    lines = [first_line]
    for name, value in headers:
        prefix = (
            ORIGINAL_PREFIX if len(name) >= 17 and name[-1] in "gG" and _TRANSFER_ENCODING_NAME.fullmatch(name) else ""
        )
        lines.append(one_line(f"{prefix}{name}: {value}"))
    lines.append("\r\n")
    return "\r\n".join(lines).encode(charset, "replace")


# ---------------------------------------------------------------- reading

_decoder: msgspec.json.Decoder[Metadata] = msgspec.json.Decoder(Metadata)


def groups(stream: BinaryIO, start: int = 0) -> Iterator[EventRecords]:
    """The complete groups from an offset on; records of no group are skipped."""
    return (part for part in groups_and_other_records(stream, start) if isinstance(part, EventRecords))


def groups_and_other_records(stream: BinaryIO, start: int = 0) -> Iterator[EventRecords | Record]:
    """The complete groups from an offset on, and in order the records of no group: the first record of a file, records
    of other programs or newer versions, unfinished groups, and damage.
    """
    earlier: list[Record] = []
    for each in read_records(stream, start):
        if each.kind == DAMAGED:
            yield each
        elif each.kind == "metadata" and (metadata := _decode_metadata(each)) is not None:
            response_id = each.headers.get("warc-concurrent-to")
            response = _first(
                record for record in earlier if response_id and record.headers.get("warc-record-id") == response_id
            )
            request = _first(
                record for record in earlier if response_id and record.headers.get("warc-concurrent-to") == response_id
            )
            if response_id is None or response is not None:
                begin = (response or each).offset
                yield from (stray for stray in earlier if stray.offset < begin)
                yield EventRecords(begin, each.offset + each.length, metadata, response, request, each)
            else:
                yield from (*earlier, each)
            earlier = []
        else:
            yield from earlier[:-1]
            earlier = [*earlier[-1:], each]
    yield from earlier


def _first(found: Iterator[Record]) -> Record | None:
    return next(found, None)


def _decode_metadata(record: Record) -> Metadata | None:
    if not record.block.startswith(b'{"lycosa":'):
        return None
    try:
        return _decoder.decode(record.block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def decode_event(group: EventRecords, decode: Decode) -> Event:
    """The event of a group, with its complete fetch."""
    metadata = group.metadata
    match metadata:
        case VisitMetadata():
            fetch = _fetch_of(group, metadata.fetch, metadata.candidate.url, decode)
            return Visit(
                candidate=metadata.candidate,
                fetch=fetch,
                page=None,
                relevance=metadata.relevance,
                duplicate_of=metadata.duplicate_of,
                left_out=LeftOut.parse(metadata.left_out),
                standing=metadata.standing,
                known=metadata.known,
                change=metadata.change,
                new_links=metadata.new_links,
                is_copy=metadata.is_copy,
            )
        case AttemptMetadata():
            return Attempt(metadata.candidate, _fetch_of(group, metadata.fetch, metadata.candidate.url, decode))
        case ExampleMetadata():
            return FetchedExample(metadata.url, metadata.good, _fetch_of(group, metadata.fetch, metadata.url, decode))
        case _:
            return metadata


def _fetch_of(group: EventRecords, metadata: FetchMetadata, url: Url, decode: Decode) -> Fetch:
    status, reason, headers, body = metadata.status, metadata.reason, metadata.headers, b""
    request_headers, address = metadata.request_headers, metadata.address
    if group.response:
        address = group.response.headers.get("warc-ip-address", "")
    if group.response and group.response.block:
        first_line, headers, body = _http(group.response.block, "utf-8" if metadata.utf8 else "latin-1")
        _, code, reason = (*first_line.split(" ", 2), "", "")[:3]
        status = whole_number(code, maximum=999)
    if group.request:
        _, request_headers, _ = _http(group.request.block, "utf-8" if metadata.utf8 else "latin-1")
        request_headers = request_headers[metadata.host_added :]
    fetch = Fetch(
        url=Url(metadata.url) or url,
        outcome=metadata.outcome,
        at=metadata.at,
        status=status,
        reason=reason,
        http_version=metadata.http_version,
        headers=headers,
        request_headers=request_headers,
        body=body,
        truncated=metadata.truncated,
        address=address,
        elapsed=metadata.elapsed,
        location=metadata.location,
        host_not_before=metadata.host_not_before,
        detail=metadata.detail,
    )
    return replace(fetch, content=_content(fetch, metadata.content, decode)) if metadata.content else fetch


def _content(fetch: Fetch, size: int, decode: Decode) -> bytes:
    encoding = fetch.header("content-encoding")
    size = min(size, MAX_CONTENT)
    return decode(fetch.body, encoding, size)[0] if encoding else fetch.body[:size]


def _http(block: bytes, charset: str) -> tuple[str, Headers, bytes]:
    head, _, body = block.partition(b"\r\n\r\n")
    first_line, *lines = head.decode(charset, "replace").split("\r\n")
    return first_line, tuple(_header(line) for line in lines), body


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(": ")
    original = name.removeprefix(ORIGINAL_PREFIX)
    return (original if original is not name and _TRANSFER_ENCODING_NAME.fullmatch(original) else name), value
