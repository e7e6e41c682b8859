"""Why a line of a log is no page view, and how the parts of a line tell.

Every line is either used or dropped for one of these reasons, the first that applies in the order of `Drop`.
"""

from enum import IntEnum


class Drop(IntEnum):
    """Negative, since they stand where a page that is kept has its number."""

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


SAYS = {
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
SHOWN = (Drop.TOO_LONG, Drop.BROKEN, Drop.TIME, Drop.NO_USER, Drop.DATE, Drop.NO_HOST, Drop.URL, Drop.LONG_URL)

PAGE, MAYBE_PAGE = 1, 0  # what is known of a successful view before its URL is looked at


# What a line says: user, seconds since the epoch, PAGE, MAYBE_PAGE or a Drop, URL. Where it is dropped, the part that
# is wrong stands in place of the URL. A bare tuple, since millions are made.
Entry = tuple[bytes, float, int, bytes]


def dropped(why: Drop, part: bytes = b"") -> Entry:
    return b"", 0.0, why, part


def verdict_of(method: bytes, status: bytes, kind: bytes) -> int:
    """Whether a method, a status and a content type (`-` where it is not told) make a page view.

    304 is one: the reader saw the page, only the copy at hand was good still.
    """
    if method != b"GET":
        return Drop.CONNECT if method == b"CONNECT" else Drop.METHOD
    if status not in (b"200", b"203", b"304"):
        if len(status) != 3 or not status.isdigit():
            return Drop.BROKEN
        return {b"0": Drop.FAILED, b"3": Drop.MOVED, b"4": Drop.FAILED, b"5": Drop.FAILED}.get(status[:1], Drop.STATUS)
    told = kind.partition(b";")[0].strip().lower()
    if told in (b"-", b"", b"0"):
        return MAYBE_PAGE
    return PAGE if told in (b"text/html", b"application/xhtml+xml") else Drop.KIND


def shape_of(part: bytes, limit: int = 40) -> str:
    """How a part of a line is built, with nothing of what it says: letters are `a`, figures `0`, all else outside
    punctuation `?`."""
    shown = "".join(_letter(code) for code in part[:limit])
    return shown + "…" if len(part) > limit else shown


def _letter(code: int) -> str:
    character = chr(code)
    if character.isdigit() and code < 128:
        return "0"
    if character.isalpha() and code < 128:
        return "a"
    return character if 32 <= code < 127 else "?"
