"""All crawls of one topic: traces of requests, page counts, and the maps built from the first crawl.

A map has the good pages of a crawl, with portals, from which links of the map lead to the others. A page is good if
P(topic | page) is above 0.5.
"""

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.maps import Reach, SketchSimilarity, TopicMap, UrlMap, count_citations, draw_map, url_map_of
from lycosa.pictures import bin_counts
from lycosa.strategies import BaselineFocused, Mapped
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import JsonValue, Page, Url
from lycosa_lab.measures import points_along
from lycosa_lab.simulation import crawl
from lycosa_lab.worlds import StudyWorld

from .shared import (
    AGAIN,
    BASELINE,
    BASELINE_LATER,
    BOTH_KINDS,
    BY_TEXT,
    CONTENT_CACHED,
    CONTENT_LATER,
    FAR,
    FIRST,
    MAPPED,
    MAPPED_AT_04,
    MAPPED_AT_08,
    MAPPED_LATER,
    NEAR,
    RELATED,
    URLS,
    URLS_LATER,
    JudgedPages,
    MapInputs,
    MapTopic,
)

POINTS = 60  # of every curve
BINS = 20  # of the histogram of probabilities
START = 0.1  # share of the downloads of a crawl that counts as its start
CURVES = ("good", "seen", "new", "new_good")  # what is counted along a crawl; seen or new: to the first crawl


class PageRequest(NamedTuple):
    """One request."""

    url: Url
    digest: int | None  # of the text; None if there is no page
    is_copy: bool  # served from copies of an earlier crawl, without a download


Trace = Sequence[PageRequest]


def run_crawl(
    strategy: Strategy,
    seeds: Sequence[Url],
    pages: JudgedPages,
    topic: str,
    *,
    downloads: int,
    copies: JudgedPages | None = None,
    copied_urls: Set[Url] = frozenset(),
) -> Trace:
    """All requests of a crawl, up to `downloads`; a request for a missing page counts as a download.

    copies: the pages of an earlier crawl, used instead of a download for the URLs `copied_urls`.
    """
    trace: list[PageRequest] = []
    downloaded = 0

    def source(url: Url) -> JudgedPages:
        return copies if copies is not None and url in copied_urls else pages

    def read(url: Url) -> Page | None:
        nonlocal downloaded
        is_copy = url in copied_urls
        judged = source(url).judge(url)
        downloaded += not is_copy
        if downloaded <= downloads:
            trace.append(PageRequest(url, judged.page.digest if judged else None, is_copy))
        return judged.page if judged else None

    steps = crawl(
        strategy,
        seeds,
        read=read,
        judge=lambda page: source(page.url).probability(page.url, topic),
        pages=downloads + len(copied_urls),
    )
    for _ in steps:
        if downloaded >= downloads:
            break
    return trace


def crawl_counts(trace: Trace, pages: JudgedPages, topic: str, seen: Set[Url], *, downloads: int) -> JsonValue:
    """Totals of a crawl, and curves of some of them over its downloads; copies do not count as downloads.

    A page is good by its current text, not by an old copy; it is new if the first crawl did not fetch it. Missing pages
    are neither, but dead. A page is true if the world says that it is on the topic; a copy is outdated if the page is
    another now.

    seen: the pages of the first crawl.
    """
    counts = dict.fromkeys((*CURVES, "true", "dead", "downloads", "copies", "outdated"), 0)
    points = points_along(downloads, POINTS)
    curves: dict[str, list[int]] = {name: [] for name in CURVES}
    for request in trace:
        url = request.url
        counts["copies" if request.is_copy else "downloads"] += 1
        now = pages.judge(url)
        counts["outdated"] += request.is_copy and (now is None or now.page.digest != request.digest)
        if now is None:
            counts["dead"] += 1
        else:
            is_good, is_seen = pages.is_good(url, topic), url in seen
            counts["good"] += is_good
            counts["seen"] += is_seen
            counts["new"] += not is_seen
            counts["new_good"] += is_good and not is_seen
            counts["true"] += pages.world.topic(url) == topic
        if not request.is_copy and counts["downloads"] == points[min(len(curves["good"]), len(points) - 1)]:
            for name in CURVES:
                curves[name].append(counts[name])
    for name in CURVES:  # a crawl that ended early keeps its last value
        curves[name] += [counts[name]] * (len(points) - len(curves[name]))
        curves[name][-1] = counts[name]
    return {**counts, "start": _start(trace, pages, topic, downloads), "curves": curves}


def _start(trace: Trace, pages: JudgedPages, topic: str, downloads: int) -> float:
    """The share of good pages among the first requests."""
    first: Sequence[Url] = [request.url for request in trace[: max(1, round(START * downloads))]]
    return sum(pages.is_good(url, topic) for url in first) / max(1, len(first))


class DrawnMap(NamedTuple):
    """A topical map, and the URLs of its nodes."""

    name: str
    map: TopicMap
    urls: Sequence[Url]
    link_count: int  # hyperlinks among the pages

    def for_crawl(self, *, related: Sequence[str] = ()) -> UrlMap:
        """The map for a crawl; pages on related topics also lead to the portals."""
        return url_map_of(self.map, self.urls, related=related)


def map_of(
    name: str, good: Sequence[Url], pages: JudgedPages, *, seed: int, reach: Reach = "mixed", by_text: bool = False
) -> DrawnMap:
    """Draws the map of some good pages.

    reach: whether pages are preferably tied to portals within a few links ("near"), to others ("far"), or to any.
    by_text: whether to portals whose text resembles theirs.
    """
    links = links_among(good, pages)
    similarity = SketchSimilarity({index: pages.sketch(url) for index, url in enumerate(good)}) if by_text else None
    topic_map = draw_map(range(len(good)), links, seed=seed, reach=reach, similarity=similarity)
    return DrawnMap(name, topic_map, good, len(links))


def links_among(urls: Sequence[Url], pages: JudgedPages) -> NDArray[np.int64]:
    """The hyperlinks among some pages, one per row, as indices into `urls`."""
    index_of = {url: index for index, url in enumerate(urls)}
    found = [
        (source, index_of[link.target])
        for source, url in enumerate(urls)
        if (judged := pages.judge(url)) is not None
        for link in judged.page.links
        if link.target in index_of
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


class TopicJob:
    """The crawls of one topic; all of them share the judged pages.

    later: the world half a year later, None if it does not change.
    """

    def __init__(self, world: StudyWorld, later: StudyWorld | None, inputs: MapInputs, topic: MapTopic):
        self._inputs, self._topic, self._downloads = inputs, topic, inputs.pages
        self._now = JudgedPages([world, later] if later is not None else [world], inputs.taxonomy)
        self._later = JudgedPages([later, world], inputs.taxonomy) if later is not None else None
        self._first: list[Url] = []  # the pages of the first crawl
        self._good: list[Url] = []  # those of them that are good
        self._crawls: dict[str, JsonValue] = {}
        self._maps: list[JsonValue] = []

    def work(self) -> JsonValue:
        """Runs all crawls; returns their counts, and the maps that they used."""
        topic = self._topic
        self._first = [request.url for request in self._crawl(FIRST, BaselineFocused(), topic.first_seeds)]
        self._good = [url for url in self._first if self._now.is_good(url, topic.name)]
        crawl_map = self._draw(MAPPED, self._good).for_crawl()
        self._crawl(AGAIN, Mapped(crawl_map=crawl_map), topic.first_seeds)
        self._crawl(BASELINE, BaselineFocused())
        self._crawl(MAPPED, Mapped(crawl_map=crawl_map))
        self._crawl(URLS, BaselineFocused(), self._seeds_and_good_pages)
        self._crawl(CONTENT_CACHED, BaselineFocused(), uses_copies=True)
        self._crawl(MAPPED_AT_08, Mapped(crawl_map=crawl_map, map_priority=0.8))
        self._crawl(MAPPED_AT_04, Mapped(crawl_map=crawl_map, map_priority=0.4))
        self._crawl_by_other_maps()
        self._crawl_by_related_map()
        if self._later is not None:
            self._crawl_later(crawl_map, self._later)
        return {
            "topic": topic.name,
            "related": topic.related,
            "points": points_along(self._downloads, POINTS),
            "taxonomy": list(self._inputs.taxonomy.topics),
            "pages_read": self._now.count + (self._later.count if self._later is not None else 0),
            # Of the first crawl: a histogram of P(topic | page), and the number of good pages with P = 1.
            "chances": bin_counts((self._now.probability(url, topic.name) for url in self._first), bins=BINS),
            "certain": sum(self._now.probability(url, topic.name) == 1.0 for url in self._good),
            "citations": self._citations(),
            "crawls": self._crawls,
            "maps": self._maps,
        }

    @property
    def _seeds_and_good_pages(self) -> Sequence[Url]:
        """The seeds, and every good page of the first crawl."""
        return list(dict.fromkeys((*self._topic.other_seeds, *self._good)))

    def _crawl_by_other_maps(self) -> None:
        for drawn in (
            self._draw(NEAR, self._good, reach="near"),
            self._draw(FAR, self._good, reach="far"),
            self._draw(BY_TEXT, self._good, by_text=True),
        ):
            self._crawl(drawn.name, Mapped(crawl_map=drawn.for_crawl()))

    def _crawl_by_related_map(self) -> None:
        """Crawls with a map of the pages on the topic found by a crawl of a related topic: alone, and together with the
        pages of the first crawl."""
        name, related = self._topic.name, self._inputs.topic(self._topic.related)
        crawled = run_crawl(BaselineFocused(), related.first_seeds, self._now, related.name, downloads=self._downloads)
        pages_on_topic = [request.url for request in crawled if self._now.is_good(request.url, name)]
        pages_of_both = list(dict.fromkeys((*self._good, *pages_on_topic)))
        for drawn in (self._draw(RELATED, pages_on_topic), self._draw(BOTH_KINDS, pages_of_both)):
            crawl_map = drawn.for_crawl(related=[related.name])
            self._crawl(drawn.name, Mapped(crawl_map=crawl_map, topic_of=lambda page: self._now.topic(page.url)))

    def _crawl_later(self, crawl_map: UrlMap, later: JudgedPages) -> None:
        self._crawl(BASELINE_LATER, BaselineFocused(), pages=later)
        self._crawl(MAPPED_LATER, Mapped(crawl_map=crawl_map), pages=later)
        self._crawl(URLS_LATER, BaselineFocused(), self._seeds_and_good_pages, pages=later)
        self._crawl(CONTENT_LATER, BaselineFocused(), pages=later, uses_copies=True)

    def _draw(self, name: str, good: Sequence[Url], *, reach: Reach = "mixed", by_text: bool = False) -> DrawnMap:
        drawn = map_of(name, good, self._now, seed=self._inputs.seed, reach=reach, by_text=by_text)
        self._maps.append(
            {"map": name, "pages": len(good), "portals": len(drawn.map.portals), "links": drawn.link_count}
        )
        return drawn

    def _crawl(
        self,
        crawl_name: str,
        strategy: Strategy,
        seeds: Sequence[Url] = (),
        *,
        pages: JudgedPages | None = None,
        uses_copies: bool = False,
    ) -> Trace:
        """Crawls from the given seeds, by default the other ones, and keeps the counts."""
        pages = self._now if pages is None else pages
        name, first = self._topic.name, frozenset(self._first)
        trace = run_crawl(
            strategy,
            seeds or self._topic.other_seeds,
            pages,
            name,
            downloads=self._downloads,
            copies=self._now if uses_copies else None,
            copied_urls=first if uses_copies else frozenset(),
        )
        seen = first if crawl_name != FIRST else frozenset(request.url for request in trace)
        self._crawls[crawl_name] = crawl_counts(trace, pages, name, seen, downloads=self._downloads)
        return trace

    def _citations(self) -> list[list[int]]:
        """The links among the pages of the first crawl, from the topic of a row to that of a column."""
        topics = self._inputs.taxonomy.topics
        topic_numbers = {topic: index for index, topic in enumerate(topics)}
        topic_by_index = {
            index: topic for index, url in enumerate(self._first) if (topic := self._now.topic(url)) is not None
        }
        matrix = count_citations(
            topics,
            {index: topic_numbers[topic] for index, topic in topic_by_index.items()},
            links_among(self._first, self._now),
        )
        return [list(row) for row in matrix.links]
