"""The parsed entry of a log line, and the reasons for dropping a line.

Every line is either used or dropped for one of these reasons, the first that applies in the order of `Drop`.
"""

from enum import IntEnum


class Drop(IntEnum):
    """Why a line is dropped. Negative, because it replaces the number of a page."""

    EMPTY = -1
    TOO_LONG = -2
    BROKEN = -3
    TIME = -4
    NO_USER = -5
    DATE = -6
    METHOD = -7
    CONNECT = -8
    FAILED = -9
    MOVED = -10
    STATUS = -11
    KIND = -12
    SCHEME = -13
    NO_HOST = -14
    URL = -15
    LONG_URL = -16
    GROUP = -17
    DUPLICATE = -18


DESCRIPTIONS = {
    Drop.EMPTY: "empty, comment or heading",
    Drop.TOO_LONG: "too long",
    Drop.BROKEN: "not as the format has it",
    Drop.TIME: "no readable time",
    Drop.NO_USER: "nobody named",
    Drop.DATE: "impossible date",
    Drop.METHOD: "not GET",
    Drop.CONNECT: "CONNECT",
    Drop.FAILED: "failed",
    Drop.MOVED: "redirected",
    Drop.STATUS: "other status",
    Drop.KIND: "not a page",
    Drop.SCHEME: "not http or https",
    Drop.NO_HOST: "no host",
    Drop.URL: "no readable URL",
    Drop.LONG_URL: "URL too long",
    Drop.GROUP: "read by groups",
    Drop.DUPLICATE: "repeated",
}
REASONS_SHOWN = (Drop.TOO_LONG, Drop.BROKEN, Drop.TIME, Drop.NO_USER, Drop.DATE, Drop.NO_HOST, Drop.URL, Drop.LONG_URL)

PAGE, MAYBE_PAGE = 1, 0  # a successful request: for a page by its content type, or still to be judged by its URL


# User, seconds since the epoch, PAGE, MAYBE_PAGE or a Drop, and URL. In an entry that is dropped, the part that is
# wrong stands instead of the URL. A plain tuple, since millions are made.
Entry = tuple[bytes, float, int, bytes]


def dropped_entry(why: Drop, part: bytes = b"") -> Entry:
    """The entry of a line that is dropped. part: what is wrong with it."""
    return b"", 0.0, why, part


def classify_request(method: bytes, status: bytes, kind: bytes) -> int:
    """PAGE, MAYBE_PAGE or a Drop for a method, a status and a content type (`-` if unknown).

    Status 304 is a page view: the reader saw the page, from a cache.
    """
    if method != b"GET":
        return Drop.CONNECT if method == b"CONNECT" else Drop.METHOD
    if status not in (b"200", b"203", b"304"):
        if len(status) != 3 or not status.isdigit():
            return Drop.BROKEN
        return {b"0": Drop.FAILED, b"3": Drop.MOVED, b"4": Drop.FAILED, b"5": Drop.FAILED}.get(status[:1], Drop.STATUS)
    media_type = kind.partition(b";")[0].strip().lower()
    if media_type in (b"-", b"", b"0"):
        return MAYBE_PAGE
    return PAGE if media_type in (b"text/html", b"application/xhtml+xml") else Drop.KIND


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
