"""All crawls of one topic, and what is kept of them."""

from collections.abc import Sequence

from lycosa.maps import CrawlMap, Reach, cited
from lycosa.pictures import bin_counts
from lycosa.strategies import BaselineFocused, Mapped
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Plain, Url
from lycosa.worlds import StudyWorld

from . import kinds
from .crawls import Trace, run
from .ground import Ground, Topic
from .judging import judged, points_of
from .mapping import Drawn, drawn, links_among
from .pages import JudgedPages

BINS = 20


class TopicJob:
    """The crawls of one topic, on pages that all of them share.

    later: the world half a year on, None where it does not go on.
    """

    def __init__(self, world: StudyWorld, later: StudyWorld | None, ground: Ground, topic: Topic):
        self._ground, self._topic, self._downloads = ground, topic, ground.pages
        self._now = JudgedPages([world, later] if later is not None else [world], ground.taxonomy)
        self._later = JudgedPages([later, world], ground.taxonomy) if later is not None else None
        self._first: list[Url] = []  # the pages of the first crawl
        self._good: list[Url] = []  # those of them that are good
        self._crawls: dict[str, Plain] = {}
        self._maps: list[Plain] = []

    def work(self) -> Plain:
        topic = self._topic
        self._first = [request.url for request in self._crawl(kinds.FIRST, BaselineFocused(), topic.first)]
        self._good = [url for url in self._first if self._now.is_good(url, topic.name)]
        same = self._drawn(kinds.MAPPED, self._good).for_crawl()
        self._crawl(kinds.AGAIN, Mapped(crawl_map=same), topic.first)
        self._crawl(kinds.BASELINE, BaselineFocused())
        self._crawl(kinds.MAPPED, Mapped(crawl_map=same))
        self._crawl(kinds.URLS, BaselineFocused(), self._with_good)
        self._crawl(kinds.CONTENT, BaselineFocused(), copied=True)
        self._crawl(kinds.KEEN, Mapped(crawl_map=same, map_priority=0.8))
        self._crawl(kinds.SHY, Mapped(crawl_map=same, map_priority=0.4))
        self._crawl_by_other_maps()
        self._crawl_by_a_related_map()
        if self._later is not None:
            self._crawl_later(same, self._later)
        return {
            "topic": topic.name,
            "related": topic.related,
            "points": points_of(self._downloads),
            "taxonomy": list(self._ground.taxonomy.topics),
            "pages_read": self._now.count + (self._later.count if self._later is not None else 0),
            "chances": bin_counts((self._now.chance(url, topic.name) for url in self._first), bins=BINS),
            "certain": sum(self._now.chance(url, topic.name) == 1.0 for url in self._good),
            "citations": self._citations(),
            "crawls": self._crawls,
            "maps": self._maps,
        }

    @property
    def _with_good(self) -> Sequence[Url]:
        """The seeds, and every good page of the first crawl."""
        return list(dict.fromkeys((*self._topic.other, *self._good)))

    def _crawl_by_other_maps(self) -> None:
        for made in (
            self._drawn(kinds.NEAR, self._good, reach="near"),
            self._drawn(kinds.FAR, self._good, reach="far"),
            self._drawn(kinds.ALIKE, self._good, by_text=True),
        ):
            self._crawl(made.name, Mapped(crawl_map=made.for_crawl()))

    def _crawl_by_a_related_map(self) -> None:
        """With a map of all pages on the topic that a crawl of a related one came by, alone and in one map with those
        of the first crawl."""
        name, related = self._topic.name, self._ground.topic(self._topic.related)
        crawled = run(BaselineFocused(), related.first, self._now, related.name, downloads=self._downloads)
        met = [request.url for request in crawled if self._now.is_good(request.url, name)]
        both = list(dict.fromkeys((*self._good, *met)))
        for made in (self._drawn(kinds.RELATED, met), self._drawn(kinds.BOTH, both)):
            crawl_map = made.for_crawl(related=[related.name])
            self._crawl(made.name, Mapped(crawl_map=crawl_map, topic_of=lambda page: self._now.topic(page.url)))

    def _crawl_later(self, same: CrawlMap, later: JudgedPages) -> None:
        self._crawl(kinds.BASELINE_LATER, BaselineFocused(), pages=later)
        self._crawl(kinds.MAPPED_LATER, Mapped(crawl_map=same), pages=later)
        self._crawl(kinds.URLS_LATER, BaselineFocused(), self._with_good, pages=later)
        self._crawl(kinds.CONTENT_LATER, BaselineFocused(), pages=later, copied=True)

    def _drawn(self, name: str, good: Sequence[Url], *, reach: Reach = "mixed", by_text: bool = False) -> Drawn:
        made = drawn(name, good, self._now, seed=self._ground.seed, reach=reach, by_text=by_text)
        self._maps.append({"map": name, "pages": len(good), "portals": len(made.map.portals), "links": made.links})
        return made

    def _crawl(
        self,
        kind: str,
        strategy: Strategy,
        seeds: Sequence[Url] = (),
        *,
        pages: JudgedPages | None = None,
        copied: bool = False,
    ) -> Trace:
        """Crawls from the other seeds, if not from these, and keeps what came of it."""
        pages = self._now if pages is None else pages
        name, first = self._topic.name, frozenset(self._first)
        trace = run(
            strategy,
            seeds or self._topic.other,
            pages,
            name,
            downloads=self._downloads,
            copies=self._now if copied else None,
            copied=first if copied else frozenset(),
        )
        seen = first if kind != kinds.FIRST else frozenset(request.url for request in trace)
        self._crawls[kind] = judged(trace, pages, name, seen, downloads=self._downloads)
        return trace

    def _citations(self) -> list[list[int]]:
        """The links among the pages of the first crawl, from the topic of a row to that of a column."""
        topics = self._ground.taxonomy.topics
        number = {topic: place for place, topic in enumerate(topics)}
        about = {place: topic for place, url in enumerate(self._first) if (topic := self._now.topic(url)) is not None}
        matrix = cited(
            topics, {place: number[topic] for place, topic in about.items()}, links_among(self._first, self._now)
        )
        return [list(row) for row in matrix.links]
