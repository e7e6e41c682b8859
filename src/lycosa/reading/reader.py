"""Makes pages from fetches, text or HTML."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from lycosa.vocabulary.records import Fetch, Outcome, Page, Url
from lycosa.vocabulary.text import folded

from .decode import decode
from .fingerprint import digest_of, fingerprint_of
from .html import MAX_LINKS, Parsed, parse_html
from .language import language_of
from .robots_directives import directives_in
from .terms import StemmingOption
from .words import FoldedWords


@dataclass(frozen=True)
class Reader:
    """Turns a fetch into a page.

    stem: whether to stem by the page's language, or the name of a Snowball algorithm for all pages.
    check_language: whether to detect the language even if the page declares one.
    max_links: limit of links per page.
    is_left_out: links to URLs for which this is true are dropped, such as forgotten ones.

    >>> fetch = Fetch(Url("http://a.example/"), Outcome.OK, at=0.0, content=b"<title>Spiders</title><p>They hunt.")
    >>> Reader(stem=True)(fetch).terms
    {'spider': 1, 'hunt': 1}
    """

    stem: StemmingOption = False
    check_language: bool = False
    max_links: int = MAX_LINKS
    is_left_out: Callable[[Url], bool] | None = None

    def __call__(self, fetch: Fetch) -> Page | None:
        """The page of a fetch; None if its outcome is not OK. Never raises, whatever the content."""
        if fetch.outcome is not Outcome.OK:
            return None
        html = decode(fetch.content, fetch.header("content-type") or "")
        size = len(fetch.body or fetch.content)
        parsed = parse_html(html, fetch.url, max_links=self.max_links, size=size)
        robots = frozenset(_header_robots(fetch.headers)) | parsed.robots
        page = _page(fetch.url, parsed, robots=robots, stem=self.stem, check_language=self.check_language)
        return page if self.is_left_out is None else _without_links_to(page, self.is_left_out)


def _without_links_to(page: Page, is_left_out: Callable[[Url], bool]) -> Page:
    """The page without links to some URLs."""
    links = tuple(link for link in page.links if not is_left_out(link.target))
    canonical = None if page.canonical is not None and is_left_out(page.canonical) else page.canonical
    return replace(page, links=links, canonical=canonical)


def page_of_html(url: Url, html: str, *, stem: StemmingOption = False) -> Page:
    """A page from HTML that was not fetched, such as an example in a file."""
    parsed = parse_html(_encodable(html), url)
    return _page(url, parsed, robots=parsed.robots, stem=stem)


def page_of_text(url: Url, title: str, text: str, *, stem: StemmingOption = False) -> Page:
    """A page from plain text, without links."""
    title, text = (" ".join(_encodable(part).split()) for part in (title, text))
    parsed = Parsed(title=title, text=text, main=text, links=(), canonical=None, language="", robots=frozenset())
    return _page(url, parsed, robots=parsed.robots, stem=stem)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _page(
    url: Url, parsed: Parsed, *, robots: frozenset[str], stem: StemmingOption, check_language: bool = False
) -> Page:
    language = language_of(parsed.text, parsed.language, prefer_detected=check_language)
    words = FoldedWords(folded(f"{parsed.title} {parsed.text}"), stem=stem, language=language)
    return Page(
        url=url,
        title=parsed.title,
        text=parsed.text,
        main=parsed.main,
        words=words,
        links=parsed.links,
        canonical=parsed.canonical,
        language=language,
        digest=digest_of(words.codes),
        fingerprint=fingerprint_of(words.codes),
        noindex=not robots.isdisjoint(("noindex", "none")),
        nofollow=not robots.isdisjoint(("nofollow", "none")),
        links_beyond=parsed.links_beyond,
        needs_script=parsed.needs_script,
    )


def _header_robots(headers: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The directives of X-Robots-Tag headers that are for all robots or for Lycosa."""
    for name, value in headers:
        if name.lower() == "x-robots-tag":
            yield from directives_in(value, names_agents=True)
