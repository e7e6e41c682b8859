"""The records of a crawl, in the order of a page's journey. All are frozen: new knowledge goes into a new record.

The glossary is in `vocabulary/__init__.py`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NewType, Protocol, Self

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from .personal_headers import is_personal_header

Url = NewType("Url", str)  # normalised by vocabulary.urls
Host = NewType("Host", str)  # host name, with the port unless it is the scheme's default
Codes = np.ndarray[tuple[int], np.dtype[np.uint64]]  # 64-bit hashes of words, one each
Indices = np.ndarray[tuple[int], np.dtype[np.intp]]  # into a text or an array
# Types with bounds, checked when records are read from files, which may be untrusted.
CheckedUrl = Annotated[Url, Meta(pattern=r"^https?://[^/\s]", max_length=100_000)]
Timestamp = Annotated[float, Meta(ge=-6e10, le=2.5e11)]  # seconds since the epoch, in the years 1 to 9999
Score = Annotated[float, Meta(ge=-1e9, le=1e9)]  # relevance, standing, or a priority on the scale of its strategy
Seconds = Annotated[float, Meta(ge=-1e9, le=1e9)]  # a duration
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
JsonValue = Any  # a JSON value: dictionaries with string keys, lists, strings, numbers, booleans, None

RELEVANT = 0.5  # the least relevance of a page that counts as on topic
LINKS, REFRESH = "links", "refresh"  # lanes: URLs found on pages, and pages of the collection to fetch again


class Link(Struct, frozen=True, gc=False):
    """A hyperlink of a page."""

    target: Url
    anchor: str = ""
    rel: str = ""  # the rel attribute, lower case
    position: int = 0  # offset of the anchor in the text of its page, in characters


class Candidate(Struct, frozen=True, gc=False):
    """A URL that may be fetched, its priority, and the reasons for it."""

    url: CheckedUrl
    priority: float  # higher is sooner
    found_on: CheckedUrl | None = None  # None for seeds
    anchor: str = ""
    because: Mapping[str, JsonValue] = {}  # the parts of the priority, for `lycosa explain`
    depth: Count = 0  # links from a seed
    hops: Count = 0  # redirects followed to get here
    attempts: Count = 0  # failed fetches so far
    lane: str = LINKS


class Outcome(StrEnum):
    """How a fetch ended. Failures of the Web are outcomes, not exceptions."""

    OK = "ok"  # an HTML page
    UNCHANGED = "unchanged"  # 304, or the same body as before
    MOVED = "moved"  # a redirect; its target is `Fetch.location`
    UNWANTED = "unwanted"  # not HTML; its body was not read
    FORBIDDEN = "forbidden"  # by robots.txt
    REFUSED = "refused"  # connections to its address are not allowed
    GONE = "gone"  # 404, 410 and the other 4xx
    BUSY = "busy"  # 429 or 503, or robots.txt out of reach: to be tried later
    FAILED = "failed"  # timeout, DNS, TLS, connection, protocol, 5xx
    POSTPONED = "postponed"  # not requested yet, for a local reason; stays in the frontier, and is not recorded


REQUEST_FAILURES = frozenset((Outcome.FAILED, Outcome.BUSY, Outcome.REFUSED))  # not GONE: the host has answered


class Fetch(Struct, frozen=True, gc=False):
    """The result of one request, with everything that the archive stores."""

    url: Url
    outcome: Outcome
    at: float  # seconds since the epoch, when the request was made
    status: int | None = None
    reason: str = ""  # of the status line
    http_version: str = "1.1"
    headers: tuple[tuple[str, str], ...] = ()  # as received, in order
    request_headers: tuple[tuple[str, str], ...] = ()  # without the values of those that may be secret
    body: bytes = b""  # as sent: still content-encoded, no longer chunked
    content: bytes = b""  # the body decoded
    truncated: str = ""  # "length" or "time" if the body was truncated
    address: str = ""  # the IP address that answered
    elapsed: float = 0.0  # seconds
    location: Url | None = None  # where MOVED leads
    host_not_before: float | None = None  # no request to the host before this time
    detail: str = ""  # what went wrong, for people

    def header(self, name: str) -> str | None:
        """The last value of a header, by its lower-case name."""
        for key, value in reversed(self.headers):
            if key.lower() == name:
                return value
        return None

    @property
    def is_personal(self) -> bool:
        """Whether it was requested with cookies or the like, so that the response may be for this user only."""
        return any(is_personal_header(name) for name, _ in self.request_headers)


class Words(Protocol):
    """The words of a page in several forms, each computed on first access and then cached."""

    @property
    def tokens(self) -> Sequence[str]:
        """The lower-case words of title and text, in order."""
        ...

    @property
    def terms(self) -> Mapping[str, int]:
        """The count of each word without stop words and numbers, stemmed if the reader stems."""
        ...

    @property
    def length(self) -> int:
        """The number of tokens."""
        ...

    @property
    def numbers(self) -> int:
        """The number of tokens that are numbers."""
        ...

    @property
    def codes(self) -> Codes:
        """The 64-bit codes of all tokens, unstemmed, in order."""
        ...

    @property
    def term_counts(self) -> tuple[Codes, Codes]:
        """`terms` as two arrays: the sorted 64-bit codes, and the count of each."""
        ...

    @property
    def term_positions(self) -> tuple[Codes, Indices]:
        """The codes of the terms in order, and the position of each, in characters of title + space + text."""
        ...

    def terms_of(self, codes: Codes) -> list[str]:
        """Some terms of the page, by their sorted codes."""
        ...

    def codes_of(self, texts: Sequence[str]) -> list[Codes]:
        """For each text, such as an anchor, the codes of its terms in order, stemmed as those of the page are."""
        ...

    @property
    def as_written(self) -> "Words":
        """The same words, unstemmed."""
        ...


class Page(Struct, frozen=True, gc=False):
    """A parsed HTML page."""

    url: Url
    title: str
    text: str  # all visible text
    main: str  # the text without elements marked up as navigation, asides or footers
    words: Words
    links: tuple[Link, ...]
    canonical: Url | None = None
    language: str = ""  # ISO 639-1, empty if unknown
    digest: int = 0  # a 64-bit hash of all words in order
    fingerprint: int = 0  # 64 one-bit minhashes: near-duplicates differ in few bits; 0 for short pages
    noindex: bool = False  # the page asks not to be kept
    nofollow: bool = False  # the page asks that its links are not followed
    links_beyond: int = 0  # links beyond the limit per page, which were not read
    needs_script: bool = False  # hardly any text or links, but scripts, which Lycosa does not run

    @property
    def tokens(self) -> Sequence[str]:
        return self.words.tokens

    @property
    def terms(self) -> Mapping[str, int]:
        return self.words.terms

    @property
    def as_written(self) -> "Page":
        """The page with unstemmed terms."""
        words = self.words.as_written
        return self if words is self.words else replace(self, words=words)

    def around(self, link: Link, width: int = 100) -> str:
        """The link's anchor and the text around it, `width` characters to each side."""
        start = max(0, link.position - width)
        return self.text[start : link.position + len(link.anchor) + width]


class PastFetch(Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of an earlier fetch of a URL: enough for a conditional request."""

    url: CheckedUrl
    at: Timestamp
    outcome: Outcome
    status: int | None = None
    digest: int = 0
    etag: str = ""
    last_modified: str = ""
    payload: str = ""  # WARC-Payload-Digest of the body, if the body was compared


class Change(StrEnum):
    """The result of fetching a page of the collection again."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"  # there is a new version of it
    VANISHED = "vanished"  # it no longer exists, or is no longer to be kept
    STILL_GONE = "still gone"
    RETURNED = "returned"  # had vanished, and exists again
    FAILED = "failed"  # the fetch failed; the stored page stays
    REFUSED = "refused"  # no request was made, as connections to its address are not allowed; the stored page stays


class LeftOutReason(StrEnum):
    """Why a page that was fetched is not kept."""

    NOINDEX = "noindex"  # the page asks for it
    LANGUAGE = "language"  # out of scope; the detail is its code. Links are followed only if the page is a seed
    OTHER = ""  # a reason written by another version of Lycosa, which is the detail


class LeftOut(Struct, frozen=True, gc=False):
    """Why a page that was fetched is not kept, with a detail.

    >>> str(LeftOut(LeftOutReason.LANGUAGE, "de"))
    'language de'
    >>> LeftOut.parse("language de")
    LeftOut(reason=<LeftOutReason.LANGUAGE: 'language'>, detail='de')
    """

    reason: LeftOutReason
    detail: str = ""

    def __str__(self) -> str:
        """The spelling of archives and catalogs."""
        return f"{self.reason} {self.detail}".strip()

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The inverse of `str`; None for an empty text."""
        if not text:
            return None
        reason, _, detail = text.partition(" ")
        return cls(LeftOutReason(reason), detail) if reason in _KNOWN_REASONS else cls(LeftOutReason.OTHER, text)


_KNOWN_REASONS = frozenset(LeftOutReason) - {LeftOutReason.OTHER}


class Visit(Struct, frozen=True, gc=False):
    """A candidate that was fetched, with its page and scores: what a strategy learns from."""

    candidate: Candidate
    fetch: Fetch
    page: Page | None = None  # None if the fetch returned none
    relevance: float | None = None  # 0 to 1
    duplicate_of: Url | None = None  # an earlier page with nearly the same text
    left_out: LeftOut | None = None  # why the page is not kept
    standing: float | None = None  # importance on the Web, 0 to 1; None if the strategy does not use it
    known: PastFetch | None = None  # of a page fetched again: the version it was compared with
    change: Change | None = None  # of a page fetched again
    new_links: tuple[Url, ...] = ()  # of a page fetched again: link targets that are not in the previous version
    is_copy: bool = False  # its text is that of an earlier page, word for word, and its links are not followed

    @property
    def is_kept(self) -> bool:
        return self.page is not None and self.left_out is None

    @property
    def why_not_followed(self) -> str:
        """Why none of the page's links is followed, whatever their own `rel` says; empty if they are."""
        left_out = self.left_out
        if self.is_copy:
            return f"on a copy of {self.duplicate_of}"
        if left_out is not None and left_out.reason is LeftOutReason.LANGUAGE and self.candidate.depth > 0:
            return f"on a page in language {left_out.detail}"  # seeds are followed in any language
        return ""

    def open_links(self) -> Sequence[Link]:
        """The links that may be followed from here."""
        page = self.page
        if page is None or page.nofollow or self.why_not_followed:
            return ()
        return [link for link in page.links if not link.rel or "nofollow" not in link.rel]


class SkipReason(StrEnum):
    """Why a candidate was never fetched."""

    EVICTED = "evicted"  # dropped from a full frontier; it may be proposed again
    NOFOLLOW = "nofollow"  # of the link or its page; another link may lead there
    UNFOLLOWED = "unfollowed"  # found on copies of pages, or in a language out of scope; another link may lead there
    REDIRECT = "redirect"  # too many redirects in a row; another link may lead there
    SCOPE = "scope"  # out of the scope of the crawl
    QUOTA = "quota"  # its host or site has used up its quota of pages
    TRAP = "trap"  # looks like a crawler trap
    SITE = "site"  # its registered domain has too many hosts or URLs for the pages it brought; it may be proposed again
    FORGOTTEN = "forgotten"  # the user removed it from the collection


_SKIPS_IN_WORDS = {
    SkipReason.EVICTED: "dropped: too many waiting",
    SkipReason.NOFOLLOW: "nofollow",
    SkipReason.UNFOLLOWED: "on a copy or in another language",
    SkipReason.REDIRECT: "too many redirects",
    SkipReason.SCOPE: "out of scope",
    SkipReason.QUOTA: "host or site quota",
    SkipReason.TRAP: "looks like a trap",
    SkipReason.SITE: "site too large",
    SkipReason.FORGOTTEN: "forgotten",
}


def skip_in_words(why: str) -> str:
    """Why a candidate was never fetched, given in the spelling of the catalog, in words for people.

    >>> skip_in_words("scope: host excluded"), skip_in_words("unfollowed: on a page in language de")
    ('out of scope: host excluded', 'on a page in language de')
    """
    reason, _, detail = why.partition(": ")
    words = _SKIPS_IN_WORDS.get(reason, reason)  # type: ignore[call-overload]
    if reason == SkipReason.UNFOLLOWED and detail:
        return detail
    return f"{words}: {detail}" if detail else words


def skip_counts(skips: Mapping[str, int]) -> dict[str, int]:
    """The number of skips by their reason in words, most frequent first; `skips` has the spelling of the catalog.

    >>> skip_counts({"scope: host excluded": 1, "unfollowed: on a copy of a": 1, "unfollowed: on a copy of b": 1})
    {'on a copy or in another language': 2, 'out of scope: host excluded': 1}
    """
    counts: dict[str, int] = {}
    for why, count in skips.items():
        is_unfollowed = why.startswith(SkipReason.UNFOLLOWED)  # its details differ from page to page
        words = skip_in_words(SkipReason.UNFOLLOWED if is_unfollowed else why)
        counts[words] = counts.get(words, 0) + count
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


class Skip(Struct, frozen=True, gc=False):
    """A candidate that was never fetched, and why."""

    candidate: Candidate
    reason: SkipReason
    detail: str = ""  # which rule, for people

    @property
    def why(self) -> str:
        """Reason and detail in the spelling of the catalog.

        >>> Skip(Candidate(Url("http://a.example/"), 0.5), SkipReason.SCOPE, "host excluded").why
        'scope: host excluded'
        """
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)
