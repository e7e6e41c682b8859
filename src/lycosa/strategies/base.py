"""What strategies have in common."""

from collections.abc import Iterable

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Link, Url, Visit


def clamped(value: float | None) -> float:
    """What a model says, brought between 0 and 1; nothing, and what is no number, is 0."""
    if value is None:
        return 0.0
    if 0.0 <= value <= 1.0:
        return float(value)
    return 1.0 if value > 1.0 else 0.0


def checked_share(name: str, value: float) -> float:
    """An option that must lie between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie between 0 and 1, not {value:g}")
    return float(value)


def distinct_links(visit: Visit) -> Iterable[Link]:
    """The first link that may be followed to each URL but the page's own."""
    first: dict[Url, Link] = {}
    for link in visit.open_links():
        first.setdefault(link.target, link)
    first.pop(visit.candidate.url, None)
    return first.values()
