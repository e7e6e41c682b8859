"""What is shown of a page that was found: a line about what was asked for, with nothing a terminal would obey."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

SNIPPET = 200  # characters
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\s]+")


def inert(text: str) -> str:
    """The text in one line, with nothing in it that a terminal would obey."""
    return _UNSHOWN.sub(" ", text).strip()


def marked(fragment: str, ranges: Iterable[Any]) -> str:
    """A fragment with what matched, which is at these bytes, between « and »."""
    data, parts, end = fragment.encode(), [], 0
    for each in ranges:  # in bytes
        parts += [data[end : each.start], "«".encode(), data[each.start : each.end], "»".encode()]
        end = each.end
    parts.append(data[end:])
    return inert(b"".join(parts).decode("utf-8", "replace"))


def around(runs: Sequence[str], body: str) -> str:
    """The text about the first of these that is in it, each between « and »; nothing where none is."""
    places = [(body.find(run), run) for run in runs]
    at, _ = min(((place, run) for place, run in places if place >= 0), default=(-1, ""))
    if at < 0:
        return ""
    fragment = body[max(0, at - SNIPPET // 4) : at + 3 * SNIPPET // 4]
    return inert(re.sub("|".join(map(re.escape, sorted(runs, key=len, reverse=True))), r"«\g<0>»", fragment))
