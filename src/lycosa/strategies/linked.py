"""Links as votes: one for each URL that a page links to."""

from collections.abc import Iterable

from lycosa.vocabulary.records import Link, Url, Visit


def linked_by(visit: Visit) -> Iterable[Link]:
    """The first link that may be followed to each URL but the page's own."""
    first: dict[Url, Link] = {}
    for link in visit.open_links():
        first.setdefault(link.target, link)
    first.pop(visit.candidate.url, None)
    return first.values()
