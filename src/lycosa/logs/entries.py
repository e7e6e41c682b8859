"""The parsed entry of a log line, and the reasons for dropping a line.

Every line is either used or dropped for one of these reasons, the first that applies in the order of `DropReason`.
"""

from enum import IntEnum


class DropReason(IntEnum):
    """Why a line is dropped. Negative, because it takes the place of the number of a page in `Accesses.pages`."""

    EMPTY = -1
    TOO_LONG = -2
    BROKEN = -3
    BAD_TIME = -4
    NO_USER = -5
    BAD_DATE = -6
    NOT_GET = -7
    CONNECT = -8
    FAILED = -9
    MOVED = -10
    OTHER_STATUS = -11
    NOT_A_PAGE = -12
    SCHEME = -13
    NO_HOST = -14
    BAD_URL = -15
    LONG_URL = -16
    GROUP = -17  # its user made too many requests for one person: a proxy that many share, or a robot
    DUPLICATE = -18


DESCRIPTIONS = {
    DropReason.EMPTY: "empty, comment or heading",
    DropReason.TOO_LONG: "too long",
    DropReason.BROKEN: "not as the format has it",
    DropReason.BAD_TIME: "no readable time",
    DropReason.NO_USER: "nobody named",
    DropReason.BAD_DATE: "impossible date",
    DropReason.NOT_GET: "not GET",
    DropReason.CONNECT: "CONNECT",
    DropReason.FAILED: "failed",
    DropReason.MOVED: "redirected",
    DropReason.OTHER_STATUS: "other status",
    DropReason.NOT_A_PAGE: "not a page",
    DropReason.SCHEME: "not http or https",
    DropReason.NO_HOST: "no host",
    DropReason.BAD_URL: "no readable URL",
    DropReason.LONG_URL: "URL too long",
    DropReason.GROUP: "read by groups",
    DropReason.DUPLICATE: "repeated",
}
_READABLE = {  # plainer than those in logs that were imported before
    DESCRIPTIONS[DropReason.BROKEN]: "not in the log format",
    DESCRIPTIONS[DropReason.GROUP]: "of proxies or robots",
}


def readable_reason(stored: str) -> str:
    """Why lines were dropped, in the words of messages.

    >>> readable_reason("not as the format has it"), readable_reason("no host")
    ('not in the log format', 'no host')
    """
    return _READABLE.get(stored, stored)


EXAMPLE_REASONS = (  # of which the user is shown examples
    DropReason.TOO_LONG,
    DropReason.BROKEN,
    DropReason.BAD_TIME,
    DropReason.NO_USER,
    DropReason.BAD_DATE,
    DropReason.NO_HOST,
    DropReason.BAD_URL,
    DropReason.LONG_URL,
)

PAGE, MAYBE_PAGE = 1, 0  # a successful request: for a page by its content type, or still to be judged by its URL


# User, time in seconds since the epoch, PAGE, MAYBE_PAGE or a DropReason, and URL. An entry that is dropped has the
# wrong part of the line instead of the URL. A plain tuple, since millions are made.
Entry = tuple[bytes, float, int, bytes]


def dropped_entry(reason: DropReason, part: bytes = b"") -> Entry:
    """The entry of a line that is dropped. part: the wrong part of the line."""
    return b"", 0.0, reason, part


def classify_request(method: bytes, status: bytes, content_type: bytes) -> int:
    """PAGE, MAYBE_PAGE or a DropReason for a method, a status and a content type (`-` if unknown).

    Status 304 is a page view: the reader saw the page, from a cache.
    """
    if method != b"GET":
        return DropReason.CONNECT if method == b"CONNECT" else DropReason.NOT_GET
    if status not in (b"200", b"203", b"304"):
        if len(status) != 3 or not status.isdigit():
            return DropReason.BROKEN
        return {b"0": DropReason.FAILED, b"3": DropReason.MOVED, b"4": DropReason.FAILED, b"5": DropReason.FAILED}.get(
            status[:1], DropReason.OTHER_STATUS
        )
    media_type = content_type.partition(b";")[0].strip().lower()
    if media_type in (b"-", b"", b"0"):
        return MAYBE_PAGE
    return PAGE if media_type in (b"text/html", b"application/xhtml+xml") else DropReason.NOT_A_PAGE


def redacted_shape(part: bytes, limit: int = 40) -> str:
    """The shape of a text without its contents: letters become `a`, digits `0`, and all but punctuation `?`."""
    shown = "".join(_letter(code) for code in part[:limit])
    return shown + "…" if len(part) > limit else shown


def _letter(code: int) -> str:
    character = chr(code)
    if character.isdigit() and code < 128:
        return "0"
    if character.isalpha() and code < 128:
        return "a"
    return character if 32 <= code < 127 else "?"
