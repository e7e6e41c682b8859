"""What an HTTP response means for a crawl; the same for live, archived and simulated ones."""

import re
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime

from msgspec import Struct

from lycosa.vocabulary.media_types import HTML_TYPES, media_type
from lycosa.vocabulary.records import Outcome, Url
from lycosa.vocabulary.urls import join

Headers = tuple[tuple[str, str], ...]

DEFAULT_WAIT = 30.0  # seconds a busy host is left alone when it does not say for how long
LONGEST_WAIT = 86_400.0  # seconds; no host holds us longer than this by Retry-After
SNIFFED = 512  # bytes of content looked at where there is no content type

_PAGE_STATUSES = frozenset({200, 203})
_MOVED_STATUSES = frozenset({301, 302, 303, 307, 308})
_BUSY_STATUSES = frozenset({429, 503})
_HTML_START = re.compile(
    rb"\s*<(?:!doctype\s+html|!--|(?:html|head|title|meta|link|base|body|script|style|h1|h2|p|div|table|a|b|br|center"
    rb"|font|iframe|ul|ol|main|header|article|section|nav)[\s>/])",
    re.IGNORECASE,
)
_XML_START = re.compile(rb"\s*<\?xml\s", re.IGNORECASE)


class Verdict(Struct, frozen=True, gc=False):
    """How a fetch ended, with what follows from it."""

    outcome: Outcome
    location: Url | None = None
    host_not_before: float | None = None
    detail: str = ""


_PAGE = Verdict(Outcome.OK)


def classify(
    url: Url, status: int, reason: str, headers: Headers, *, now: float, start: bytes = b"", any_type: bool = False
) -> Verdict:
    """The verdict on a response; `start` is the beginning of its content, looked at where it names no type."""
    if status in _PAGE_STATUSES:
        if any_type:
            return _PAGE
        content_type = header(headers, "content-type")
        if is_html(content_type) or (not content_type and looks_like_html(start)):
            return _PAGE
        return Verdict(Outcome.UNWANTED, detail=f"not HTML but {media_type(content_type) or 'of no stated type'}")
    said = f"HTTP {status} {reason}".rstrip()
    if status == 304:
        return Verdict(Outcome.UNCHANGED)
    if status in _MOVED_STATUSES:
        named = header(headers, "location")
        location = join(url, named.strip()) if named else None
        if location is None:
            return Verdict(Outcome.FAILED, detail=f"{said} leads nowhere" + (f": {named[:200]!r}" if named else ""))
        return Verdict(Outcome.MOVED, location=location)
    if status in _BUSY_STATUSES:
        wait = seconds_to_wait(header(headers, "retry-after"), now)
        return Verdict(Outcome.BUSY, host_not_before=now + wait, detail=said)
    if 400 <= status < 500:
        return Verdict(Outcome.GONE, detail=said)
    if 200 <= status < 400:
        return Verdict(Outcome.UNWANTED, detail=f"{said} is not a page")
    return Verdict(Outcome.FAILED, detail=said)


def is_page_status(status: int) -> bool:
    return status in _PAGE_STATUSES


def is_html(content_type: str) -> bool:
    return media_type(content_type) in HTML_TYPES


def looks_like_html(start: bytes) -> bool:
    """Whether content of no stated type begins as HTML does."""
    start = start[:SNIFFED].removeprefix(b"\xef\xbb\xbf")
    if _XML_START.match(start):
        return b"<html" in start.lower()
    return _HTML_START.match(start) is not None


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """The last value of a header by its lower-case name; empty where there is none."""
    found = ""
    for key, value in headers:
        if key.lower() == name:
            found = value
    return found


def seconds_to_wait(retry_after: str, now: float) -> float:
    """What a Retry-After header asks for, as seconds or as a date; never more than a day."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text[:64])
    except (ValueError, TypeError, OverflowError, IndexError):  # whatever strange dates make of the parser
        return DEFAULT_WAIT
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment.timestamp() - now, 0.0), LONGEST_WAIT)
