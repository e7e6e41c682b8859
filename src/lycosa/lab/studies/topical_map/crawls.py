"""One crawl in the lab, and everything it asked for."""

from collections.abc import Sequence, Set
from typing import NamedTuple

from lycosa.lab.simulation import crawl
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Page, Url

from .pages import JudgedPages


class Request(NamedTuple):
    """One page asked for."""

    url: Url
    digest: int | None  # of what was read, None where nothing is there
    is_copy: bool  # taken from what an earlier crawl had stored, which costs no download


Trace = Sequence[Request]


def run(
    strategy: Strategy,
    seeds: Sequence[Url],
    pages: JudgedPages,
    topic: str,
    *,
    downloads: int,
    copies: JudgedPages | None = None,
    copied: Set[Url] = frozenset(),
) -> Trace:
    """All requests of a crawl until it has downloaded so much; one for a page that is not there counts as any other.

    copies, copied: where copies of pages are found, and of which, that are used instead of a download.
    """
    trace: list[Request] = []
    downloaded = 0

    def source(url: Url) -> JudgedPages:
        return copies if copies is not None and url in copied else pages

    def read(url: Url) -> Page | None:
        nonlocal downloaded
        is_copy = url in copied
        judged = source(url).judged(url)
        downloaded += not is_copy
        if downloaded <= downloads:
            trace.append(Request(url, judged.page.digest if judged else None, is_copy))
        return judged.page if judged else None

    steps = crawl(
        strategy,
        seeds,
        read=read,
        judge=lambda page: source(page.url).chance(page.url, topic),
        pages=downloads + len(copied),
    )
    for _ in steps:
        if downloaded >= downloads:
            break
    return trace
