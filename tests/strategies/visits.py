"""Visits of pages of which only relevance, standing and links are known."""

from collections.abc import Sequence

from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Url, Visit
from pages import GivenWords


def visit_of(
    name: str,
    relevance: float | None = None,
    standing: float | None = None,
    *,
    links: Sequence[str | Link] = ("out",),
    depth: int = 0,
) -> Visit:
    """A visit of http://NAME.example/ with links to others by their names."""
    url = url_of(name)
    out = tuple(link if isinstance(link, Link) else Link(url_of(link)) for link in links)
    page = Page(url, name, "", "", GivenWords({}), out)
    candidate = Candidate(url, 1.0, depth=depth)
    return Visit(candidate, Fetch(url, Outcome.OK, 0.0), page, relevance=relevance, standing=standing)


def url_of(name: str) -> Url:
    return Url(f"http://{name}.example/")
