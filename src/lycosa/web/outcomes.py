"""Classifies HTTP responses, live and simulated, as outcomes, and counts the fetches of a run."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC

from msgspec import Struct

from lycosa.vocabulary.media_types import HTML_TYPES, media_type
from lycosa.vocabulary.records import REQUEST_FAILURES, Fetch, Outcome, Url
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import join

Headers = tuple[tuple[str, str], ...]

DEFAULT_WAIT = 30.0  # seconds until the next request to a busy host that sent no Retry-After
MAX_WAIT = 86_400.0  # seconds; a longer Retry-After is reduced to this
SNIFFED_BYTES = 512  # bytes of content examined if there is no content type

_NOT_HTML = "not HTML but "
_LEADS_NOWHERE = "leads nowhere"
_PAGE_STATUSES = frozenset({200, 203})
_MOVED_STATUSES = frozenset({301, 302, 303, 307, 308})
_BUSY_STATUSES = frozenset({429, 503})
_HTML_START = re.compile(
    rb"\s*<(?:!doctype\s+html|!--|(?:html|head|title|meta|link|base|body|script|style|h1|h2|p|div|table|a|b|br|center"
    rb"|font|iframe|ul|ol|main|header|article|section|nav)[\s>/])",
    re.IGNORECASE,
)
_XML_START = re.compile(rb"\s*<\?xml\s", re.IGNORECASE)


class Classification(Struct, frozen=True, gc=False):
    """The outcome of a response, with the fields of `Fetch` that follow from it."""

    outcome: Outcome
    location: Url | None = None
    host_not_before: float | None = None
    detail: str = ""


_PAGE = Classification(Outcome.OK)


def classify(
    url: Url, status: int, reason: str, headers: Headers, *, now: float, start: bytes = b"", any_type: bool = False
) -> Classification:
    """The outcome of a response; `start` is the beginning of its content, for responses without a content type."""
    if status in _PAGE_STATUSES:
        if any_type:
            return _PAGE
        content_type = header(headers, "content-type")
        if is_html(content_type) or (not content_type and looks_like_html(start)):
            return _PAGE
        return Classification(Outcome.UNWANTED, detail=f"{_NOT_HTML}{media_type(content_type) or 'of no stated type'}")
    summary = f"HTTP {status} {reason}".rstrip()
    if status == 304:
        return Classification(Outcome.UNCHANGED)
    if status in _MOVED_STATUSES:
        location_header = header(headers, "location")
        location = join(url, location_header.strip()) if location_header else None
        if location is None:
            target = f": {location_header[:200]!r}" if location_header else ""
            return Classification(Outcome.FAILED, detail=f"{summary} {_LEADS_NOWHERE}{target}")
        return Classification(Outcome.MOVED, location=location, detail=f"to {location}")
    if status in _BUSY_STATUSES:
        wait = seconds_to_wait(header(headers, "retry-after"), now)
        return Classification(Outcome.BUSY, host_not_before=now + wait, detail=summary)
    if 400 <= status < 500:
        return Classification(Outcome.GONE, detail=summary)
    if 200 <= status < 400:
        return Classification(Outcome.UNWANTED, detail=f"{summary} is not a page")
    return Classification(Outcome.FAILED, detail=summary)


_DENIED_STATUSES = frozenset({401, 402, 403, 407, 451})
_OUT_OF_REACH = "robots.txt is out of reach: "


def robots_unreachable_detail(detail: str) -> str:
    """The detail for a page that was not requested because robots.txt could not be fetched, with the reason."""
    return f"{_OUT_OF_REACH}{detail}"


def outcome_name(outcome: Outcome, status: int | None) -> str:
    """An outcome in a word or two, with the status if it is informative.

    >>> outcome_name(Outcome.GONE, 401), outcome_name(Outcome.GONE, 404), outcome_name(Outcome.FAILED, None)
    ('denied (401)', 'not found (404)', 'unreachable')
    """
    match outcome:
        case Outcome.GONE if status in _DENIED_STATUSES:
            name = "denied"
        case Outcome.GONE:
            name = {404: "not found", 410: "gone", None: "not found"}.get(status, "rejected")
        case Outcome.BUSY | Outcome.FAILED if status is None:
            name = "unreachable"  # probably already robots.txt, which is requested first
        case Outcome.FAILED:
            name = "server error" if status is not None and status >= 500 else "no usable answer"
        case Outcome.UNWANTED if status is None or status in _PAGE_STATUSES:
            return "not HTML"
        case Outcome.UNWANTED:
            name = "not a page"
        case Outcome.FORBIDDEN:
            return "forbidden by robots.txt"
        case Outcome.REFUSED:
            return "address not allowed"
        case Outcome.OK | Outcome.UNCHANGED:
            return outcome.value
        case _:
            name = outcome.value
    return f"{name} ({status})" if status is not None else name


def outcome_counts(fetches: Iterable[tuple[Outcome, int | None, int]]) -> dict[str, int]:
    """The number of fetches by the name of their outcome, most frequent first.

    fetches: outcome, status, and the number of fetches with both.
    """
    counts: Counter[str] = Counter()
    for outcome, status, count in fetches:
        counts[outcome_name(outcome, status)] += count
    return dict(counts.most_common())


def outcome_in_words(outcome: Outcome, status: int | None, detail: str) -> str:
    """The name of an outcome, with the reason if known.

    >>> outcome_in_words(Outcome.BUSY, None, "robots.txt is out of reach: no such host")
    'unreachable: no such host'
    >>> outcome_in_words(Outcome.GONE, 401, "HTTP 401 Unauthorized")
    'denied (401)'
    >>> outcome_in_words(Outcome.FAILED, 302, "HTTP 302 Found leads nowhere: 'javascript:x'")
    "no usable answer (302): leads nowhere: 'javascript:x'"
    """
    name, detail = outcome_name(outcome, status), detail.removeprefix(_OUT_OF_REACH)
    if status and detail.startswith(f"HTTP {status}"):  # only what the name does not say
        _, found, reason = detail.partition(_LEADS_NOWHERE)
        detail = f"{found}{reason}"
    if outcome is Outcome.FORBIDDEN or not detail:
        return name
    if outcome is Outcome.MOVED:
        return f"{name} {detail}"
    return f"{name}: {media_type_in(detail)}"


def media_type_in(detail: str) -> str:
    """The media type in the detail of a fetch that brought no HTML; another detail as it is.

    >>> media_type_in("not HTML but image/png")
    'image/png'
    """
    return detail.removeprefix(_NOT_HTML)


def is_page_status(status: int) -> bool:
    return status in _PAGE_STATUSES


def is_html(content_type: str) -> bool:
    return media_type(content_type) in HTML_TYPES


def looks_like_html(start: bytes) -> bool:
    """Whether content without a type starts like HTML."""
    start = start[:SNIFFED_BYTES].removeprefix(b"\xef\xbb\xbf")
    if _XML_START.match(start):
        return b"<html" in start.lower()
    return _HTML_START.match(start) is not None


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """The last value of a header, by its lower-case name; empty if there is none."""
    last_value = ""
    for key, value in headers:
        if key.lower() == name:
            last_value = value
    return last_value


def seconds_to_wait(retry_after: str, now: float) -> float:
    """The seconds of a Retry-After header, given as a number or a date; at most a day."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), MAX_WAIT)
    from email.utils import parsedate_to_datetime  # imported late: 5 % of the start-up time of a command

    try:
        moment = parsedate_to_datetime(text[:64])
    except (ValueError, TypeError, OverflowError, IndexError):  # all that the parser may raise
        return DEFAULT_WAIT
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment.timestamp() - now, 0.0), MAX_WAIT)


class FetchCounts:
    """Counts the fetches of a run: fetches = requests + not_sent."""

    def __init__(self) -> None:
        self.requests = 0  # sent, answered or not; without those for robots.txt
        self.not_sent = 0  # without a request: robots.txt forbids it or is unreachable, or the address is refused
        self.refused = 0  # of these, those to an address that may not be connected to
        self.answers = 0  # fetches that a server answered, including by a robots.txt that forbids
        self.latest_failure = ""  # detail of the latest fetch without an answer

    @property
    def fetches(self) -> int:
        return self.requests + self.not_sent

    def stop_reason(self) -> str:
        """The stop reason of a run that was limited to so many fetches."""
        others = f"; {self.not_sent} more were not sent (robots.txt or a disallowed address)" if self.not_sent else ""
        return f"{counted(self.requests, 'request')} made, as requested{others}"

    def why_unanswered(self) -> str:
        """Why no fetch was answered; empty if one was, or if there was none."""
        if not self.fetches or self.answers:
            return ""
        trouble = f" ({self.latest_failure})" if self.latest_failure else ""
        if self.are_all_refused:
            return f"no host was contacted, every address was refused{trouble}"
        failed = "the only fetch" if self.fetches == 1 else f"all {self.fetches:,} fetches"
        return f"nobody answered: {failed} failed{trouble}"

    @property
    def are_all_refused(self) -> bool:
        """Whether no connection was made, because every address was refused."""
        return 0 < self.fetches == self.refused

    def count(self, fetch: Fetch) -> None:
        if fetch.outcome is Outcome.POSTPONED:
            return
        if was_requested(fetch):
            self.requests += 1
        else:
            self.not_sent += 1
        self.refused += fetch.outcome is Outcome.REFUSED
        if was_answered(fetch):
            self.answers += 1
        else:
            self.latest_failure = fetch.detail


def was_answered(fetch: Fetch) -> bool:
    """Whether a server answered, if only by a robots.txt that forbids the page."""
    return fetch.status is not None or fetch.outcome not in REQUEST_FAILURES


def was_requested(fetch: Fetch) -> bool:
    """Whether a request was sent: not if robots.txt forbids it or is unreachable, or the address was refused."""
    is_out_of_reach = fetch.outcome is Outcome.BUSY and fetch.status is None
    return not is_out_of_reach and fetch.outcome not in (Outcome.FORBIDDEN, Outcome.REFUSED)
