"""Interest ratios of URLs, estimated from the links to them, and the strategy that uses them.

The interest ratio of a URL is how much more likely its page is to satisfy a predicate, given the links to it, than the
pages visited so far; 1 without evidence. A page satisfies the predicate of a crawl if it is relevant.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, Candidate, JsonValue, Outcome, Page, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.urls import is_node, secure_key_of

from .base import BaseStrategy, checked_number, clamped, distinct_links
from .interest import FeatureCounts, Ids, LinkCounts, LogRatios, Tally, link_log_ratios, log_interest_ratios, logistic

WEIGHTS: Mapping[str, float] = {
    "words": 1.0,
    "tokens": 1.0,
    "links": 1.0,
    "siblings": 1.0,
}  # of the factors, by default
NEUTRAL_PRIORITY = 0.5  # priority without evidence: a ratio of 1
NO_PAGE = -1  # instead of 0 or 1, for a URL that was settled without a page
_MAX_PARENTS = 4  # the latest pages linking to a URL that are remembered
_MAX_WORDS = 64  # the most frequent words of a page count
_MAX_TOKENS = 24  # the first tokens of a URL count
_MAX_SIBLINGS = 32  # scored again after a visit
_MAX_OLDEST = 16  # least recently scored URLs that are scored again after a visit
_MIN_PAGES = 3  # that must have a word or token before it counts
_MAX_EXPONENT = 700.0  # above it, exp() overflows
_NOT_FINAL = frozenset(  # reasons for a skip after which the URL may be found again
    (SkipReason.EVICTED, SkipReason.SITE, SkipReason.NOFOLLOW, SkipReason.UNFOLLOWED, SkipReason.REDIRECT)
)
_NO_IDS: Ids = np.empty(0, np.int64)
_split_tokens = re.compile(r"[^\W\d_]{2,}").findall


class LinkedUrl(Struct):
    """The links to a waiting URL."""

    found_on: Url
    anchor: str
    depth: int
    parents: list[int]  # the latest pages that link here, by number
    linking_pages: int = 0  # number of pages that link here
    satisfying: int = 0  # of these, those that satisfy the predicate
    tokens: tuple[int, ...] | None = None  # of the URL, computed when first needed; not saved


class Parent(Struct):
    """A visited page some of whose links wait."""

    words: Ids
    targets: dict[Url, None]  # links that wait
    visited: int = 0  # number of linked pages that were visited
    satisfying: int = 0  # of these, those that satisfy the predicate


class LinkMemory:
    """The URLs that wait, the pages that link to them, and the outcome of those visited.

    max_waiting, max_pages, max_visited: how many of each are remembered; the oldest are dropped.
    """

    def __init__(self, *, max_waiting: int, max_pages: int, max_visited: int):
        self._max_waiting = max_waiting
        self._max_pages = max_pages
        self._max_visited = max_visited
        self.linked_urls: dict[Url, LinkedUrl] = {}  # least recently scored first
        self._parents: dict[int, Parent] = {}
        self._visited: dict[int, int] = {}  # by key: 1 satisfies, 0 does not, or NO_PAGE
        self._last_parent = 0  # parents are numbered from 1

    def outcome_of(self, url: Url) -> int | None:
        """1 if the page satisfies the predicate, 0 if not, NO_PAGE, or None if the URL is not settled."""
        return self._visited.get(secure_key_of(url))

    def parents_of(self, linked: LinkedUrl | None) -> list[Parent]:
        """The remembered pages that link to a URL."""
        return [self._parents[number] for number in linked.parents if number in self._parents] if linked else []

    def add_links(
        self, page_url: Url, depth: int, links: Iterable[tuple[Url, str]], words: Ids, satisfies: bool
    ) -> list[Url]:
        """Records the links of a page, by URL and anchor; returns the URLs that wait."""
        self._last_parent += 1
        number, parent = self._last_parent, Parent(words, {})
        for target, anchor in links:
            outcome = self.outcome_of(target)
            if outcome is not None:
                parent.visited += outcome != NO_PAGE
                parent.satisfying += outcome == 1
                continue
            linked = self.linked_urls.get(target)
            if linked is None:
                linked = self.linked_urls[target] = LinkedUrl(page_url, anchor, depth, [])
            linked.linking_pages += 1
            linked.satisfying += satisfies
            linked.parents.append(number)
            if len(linked.parents) > _MAX_PARENTS:
                self._unlink(linked.parents.pop(0), target)
            parent.targets[target] = None
        if parent.targets:
            self._parents[number] = parent
        return list(parent.targets)

    def settle(self, url: Url, outcome: int) -> None:
        """Records the outcome of a URL, which then no longer waits."""
        key = secure_key_of(url)
        self._visited.pop(key, None)
        self._visited[key] = outcome
        self.drop(url)

    def drop(self, url: Url) -> None:
        """Forgets a URL, which may be found again."""
        linked = self.linked_urls.pop(url, None)
        for number in linked.parents if linked else ():
            self._unlink(number, url)

    def redirect(self, url: Url, target: Url) -> None:
        """Copies the links to a URL to the one it has moved to, unless that is known already."""
        linked = self.linked_urls.get(url)
        if linked is None or target in self.linked_urls or self.outcome_of(target) is not None:
            return
        self.linked_urls[target] = replace(linked, parents=list(linked.parents), tokens=None)
        for parent in self.parents_of(linked):
            parent.targets[target] = None

    def siblings(self, parents: Iterable[Parent], limit: int) -> list[Url]:
        """Up to `limit` waiting URLs that are linked from the same pages."""
        found: dict[Url, None] = {}
        for parent in parents:
            found |= dict.fromkeys(islice(parent.targets, limit))
        return list(islice(found, limit))

    def oldest(self, limit: int) -> list[Url]:
        return list(islice(self.linked_urls, limit))

    def touch(self, urls: Iterable[Url]) -> None:
        """Marks URLs as the most recently scored."""
        for url in urls:
            self.linked_urls[url] = self.linked_urls.pop(url)

    def trim(self) -> None:
        """Drops the oldest entries beyond the limits."""
        while len(self.linked_urls) > self._max_waiting:
            self.drop(next(iter(self.linked_urls)))
        while len(self._parents) > self._max_pages:
            del self._parents[next(iter(self._parents))]
        while len(self._visited) > self._max_visited:
            del self._visited[next(iter(self._visited))]

    def _unlink(self, number: int, url: Url) -> None:
        parent = self._parents.get(number)
        if parent is not None:
            parent.targets.pop(url, None)
            if not parent.targets:
                del self._parents[number]

    def state(self) -> JsonValue:
        index_of = {url: index for index, url in enumerate(self.linked_urls)}
        return {
            "leads": [
                [
                    url,
                    linked.found_on,
                    linked.anchor,
                    linked.depth,
                    linked.parents,
                    linked.linking_pages,
                    linked.satisfying,
                ]
                for url, linked in self.linked_urls.items()
            ],
            "parents": [
                [
                    number,
                    parent.words.tolist(),
                    [index_of[url] for url in parent.targets],
                    parent.visited,
                    parent.satisfying,
                ]
                for number, parent in self._parents.items()
            ],
            "visited": [list(self._visited), list(self._visited.values())],
            "last_parent": self._last_parent,
        }

    def restore(self, state: JsonValue) -> None:
        self.linked_urls = {url: LinkedUrl(*known) for url, *known in state["leads"]}
        urls = list(self.linked_urls)
        self._parents = {
            number: Parent(np.array(words, np.int64), _urls_at(targets, urls), visited, satisfying)
            for number, words, targets, visited, satisfying in state["parents"]
        }
        self._visited = dict(zip(*state["visited"], strict=True))
        self._last_parent = state["last_parent"]


def _urls_at(indices: Sequence[int], urls: Sequence[Url]) -> dict[Url, None]:
    return dict.fromkeys(urls[index] for index in indices)


class UrlEvidence(Struct, frozen=True):
    """The interest ratio of a URL by the links to it."""

    url: Url
    log_ratio: float
    ratios: Mapping[str, float]  # by factor, without those that are 1
    linked: LinkedUrl


class LinkageEvidence:
    """The interest ratio of URLs by the links to them, learnt during the crawl.

    log ratio = Σ over factors of weight · clip(log of the factor's ratio)

    The factors are *words* of the pages that link to the URL, *tokens* of the URL itself, *links* from pages that
    satisfy the predicate and from others, and *siblings*: visited pages linked from the same pages. Ratios are
    estimated over visited pages, from what was known of each before its visit. A page satisfies the predicate if its
    relevance is at least 0.5.

    How a strategy uses it, at every event:

        evidence.learn(event)             a Visit or a Skip
        evidence.changed                  waiting URLs to score again: links of the page, some siblings, and a few
                                          scored long ago, so that the work per page is bounded
        evidence.evidence_for(urls)       a `UrlEvidence` for each; unknown URLs are left out

    weights: of the factors' logarithms; 0 for a factor that is not named.
    significance: standard deviations by which words and tokens must differ from the base rate to count.
    smoothing: pages at the base rate that are added to the counts of each.
    clip: the largest absolute logarithm of a factor.
    max_waiting, max_pages, max_visited: see `LinkMemory`. A URL that was dropped keeps its priority.

    Aggarwal, Al-Garawi, Yu: Intelligent crawling on the World Wide Web with arbitrary predicates (WWW 2001).
    """

    def __init__(
        self,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        significance: float = 2.0,
        smoothing: float = 10.0,
        clip: float = 5.0,
        max_waiting: int = 20_000,
        max_pages: int = 2_000,
        max_visited: int = 50_000,
    ):
        for name, weight in weights.items():
            if name not in WEIGHTS:
                raise UsageError(f"no factor {name!r} to weigh; there are {', '.join(WEIGHTS)}")
            if not isfinite(weight):
                raise UsageError(f"the weight of {name} must be a number, not {weight}")
        for name, value in (("significance", significance), ("smoothing", smoothing), ("clip", clip)):
            checked_number(name, value, 0.0)
        for name, count in (("max_waiting", max_waiting), ("max_pages", max_pages), ("max_visited", max_visited)):
            checked_number(name, count, 1)
        self._weights = np.array([float(weights.get(name, 0.0)) for name in WEIGHTS])
        self._smoothing = smoothing
        self._clip = clip
        self.tally = Tally()
        self._words = FeatureCounts(significance=significance, min_pages=_MIN_PAGES, smoothing=smoothing)
        self._tokens = FeatureCounts(significance=significance, min_pages=_MIN_PAGES, smoothing=smoothing)
        self._links = LinkCounts(0, 0, 0)  # those found before their target was visited
        self._memory = LinkMemory(max_waiting=max_waiting, max_pages=max_pages, max_visited=max_visited)
        self.changed: Sequence[Url] = ()

    # ------------------------------------------------------------ learning

    def learn(self, event: Visit | Skip) -> None:
        self.changed = ()
        self._memory.trim()
        url = event.candidate.url
        if isinstance(event, Skip):
            if event.reason in _NOT_FINAL:
                self._memory.drop(url)
            else:
                self._memory.settle(url, NO_PAGE)
        elif event.page is None:
            if event.fetch.outcome is Outcome.MOVED and event.fetch.location is not None:
                self._memory.redirect(url, event.fetch.location)
            self._memory.settle(url, NO_PAGE)
        else:
            self._learn_page(event, event.page)

    def _learn_page(self, visit: Visit, page: Page) -> None:
        url, satisfies = visit.candidate.url, clamped(visit.relevance) >= RELEVANT
        siblings: Sequence[Url] = ()
        if self._memory.outcome_of(url) in (None, NO_PAGE):  # counted once, not again when fetched again
            linked = self._memory.linked_urls.get(url)
            parents = self._memory.parents_of(linked)
            self._count(url, linked, parents, satisfies)
            self._memory.settle(url, int(satisfies))
            siblings = self._memory.siblings(parents, _MAX_SIBLINGS)
        links = [(link.target, link.anchor) for link in distinct_links(visit)]
        found: Sequence[Url] = ()
        if links:
            found = self._memory.add_links(url, visit.candidate.depth + 1, links, self._words_of(page), satisfies)
        self.changed = list(dict.fromkeys((*found, *siblings, *self._memory.oldest(_MAX_OLDEST))))
        self._memory.touch(self.changed)

    def _count(self, url: Url, linked: LinkedUrl | None, parents: Sequence[Parent], satisfies: bool) -> None:
        self.tally.learn(satisfies)
        self._tokens.learn(self._tokens_of(url), satisfies)
        self._words.learn(_words_of_pages(parents), satisfies)
        for parent in parents:
            parent.visited += 1
            parent.satisfying += satisfies
        if linked is not None:
            links, from_satisfying, from_others = self._links
            if satisfies:
                from_satisfying += linked.satisfying
                from_others += linked.linking_pages - linked.satisfying
            self._links = LinkCounts(links + linked.linking_pages, from_satisfying, from_others)

    # ------------------------------------------------------------ evidence

    def linked_url(self, url: Url) -> LinkedUrl | None:
        return self._memory.linked_urls.get(url)

    def log_ratio_of(self, url: Url) -> float | None:
        """log of the interest ratio; None for a URL without known links."""
        return next((known.log_ratio for known in self.evidence_for([url])), None)

    def evidence_for(self, urls: Iterable[Url]) -> list[UrlEvidence]:
        """The evidence for those of the URLs that have known links."""
        linked_urls = {url: self._memory.linked_urls[url] for url in urls if url in self._memory.linked_urls}
        if not linked_urls:
            return []
        parents = [self._memory.parents_of(linked) for linked in linked_urls.values()]
        factors = (
            self._word_log_ratios(linked_urls.values(), parents),
            self._token_log_ratios(linked_urls),
            self._link_log_ratios(linked_urls.values()),
            self._sibling_log_ratios(parents),
        )
        logs = self._weights * np.clip(np.column_stack(factors), -self._clip, self._clip)
        ratios = np.exp(np.minimum(logs, _MAX_EXPONENT)).round(3).tolist()
        rows = zip(linked_urls.items(), logs.tolist(), ratios, strict=True)
        return [
            UrlEvidence(
                url,
                sum(row_logs),
                {name: ratio for name, log, ratio in zip(WEIGHTS, row_logs, row_ratios, strict=True) if log},
                linked,
            )
            for (url, linked), row_logs, row_ratios in rows
        ]

    def _word_log_ratios(self, linked_urls: Iterable[LinkedUrl], parents: Sequence[Sequence[Parent]]) -> LogRatios:
        """For each URL, the sum over the distinct words of its parents."""
        row_of: dict[tuple[int, ...], int] = {}  # the links of one page mostly have the same parents
        distinct: list[Sequence[Parent]] = []
        rows = []
        for linked, pages in zip(linked_urls, parents, strict=True):
            row = row_of.setdefault(tuple(linked.parents), len(distinct))
            if row == len(distinct):
                distinct.append(pages)
            rows.append(row)
        words = [[page.words for page in pages] for pages in distinct]
        return self._words.sum_log_ratios(words, self.tally.base_rate)[rows]

    def _token_log_ratios(self, linked_urls: Mapping[Url, LinkedUrl]) -> LogRatios:
        tokens = []
        for url, linked in linked_urls.items():
            if linked.tokens is None:
                linked.tokens = tuple(self._tokens_of(url).tolist())
            tokens.append([np.array(linked.tokens, np.int64)])
        return self._tokens.sum_log_ratios(tokens, self.tally.base_rate)

    def _link_log_ratios(self, linked_urls: Collection[LinkedUrl]) -> LogRatios:
        satisfying = np.array([linked.satisfying for linked in linked_urls])
        others = np.array([linked.linking_pages for linked in linked_urls]) - satisfying
        from_satisfying, from_others = link_log_ratios(self._links, self.tally.base_rate, smoothing=self._smoothing)
        return np.asarray(satisfying * from_satisfying + others * from_others, np.float64)

    def _sibling_log_ratios(self, parents: Sequence[Sequence[Parent]]) -> LogRatios:
        satisfying = np.array([sum(parent.satisfying for parent in pages) for pages in parents], np.float64)
        visited = np.array([sum(parent.visited for parent in pages) for pages in parents], np.float64)
        return log_interest_ratios(satisfying, visited, self.tally.base_rate, smoothing=self._smoothing)

    # ------------------------------------------------------------ words

    def _words_of(self, page: Page) -> Ids:
        codes, counts = page.words.term_counts
        if len(codes) > _MAX_WORDS:
            codes = codes[np.argsort(counts, kind="stable")[-_MAX_WORDS:]]
        return self._words.ids_of_codes(codes)

    def _tokens_of(self, url: Url) -> Ids:
        """The words of a URL without its scheme."""
        if is_node(url):  # of a lab graph: a number without words
            return _NO_IDS
        return self._tokens.ids_of_words(_split_tokens(url.partition("://")[2].lower())[:_MAX_TOKENS])

    # ------------------------------------------------------------ state

    def state(self) -> JsonValue:
        return {
            "tally": [self.tally.pages, self.tally.satisfying],
            "words": self._words.state(),
            "tokens": self._tokens.state(),
            "links": list(self._links),
            "memory": self._memory.state(),
        }

    def restore(self, state: JsonValue) -> None:
        self.tally = Tally(*state["tally"])
        self._words.restore(state["words"])
        self._tokens.restore(state["tokens"])
        self._links = LinkCounts(*state["links"])
        self._memory.restore(state["memory"])
        self.changed = ()


def _words_of_pages(parents: Sequence[Parent]) -> Ids:
    """The distinct words of some pages."""
    if len(parents) > 1:
        return np.unique(np.concatenate([parent.words for parent in parents]))
    return parents[0].words if parents else _NO_IDS


class Intelligent(BaseStrategy):
    """Learns while it crawls which links lead to pages that satisfy the predicate.

    priority = ratio / (1 + ratio), with the interest ratio of `LinkageEvidence`

    A waiting URL is re-ranked when another page links to it or a sibling was visited. Seeds, and URLs without evidence,
    have priority 0.5.

    weights, significance, smoothing, clip: see `LinkageEvidence`.

    Aggarwal, Al-Garawi, Yu: Intelligent crawling on the World Wide Web with arbitrary predicates (WWW 2001).
    """

    name = "intelligent"

    def __init__(
        self,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        significance: float = 2.0,
        smoothing: float = 10.0,
        clip: float = 5.0,
    ):
        self.evidence = LinkageEvidence(weights=weights, significance=significance, smoothing=smoothing, clip=clip)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, NEUTRAL_PRIORITY, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        self.evidence.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [linked_candidate(evidence) for evidence in self.evidence.evidence_for(self.evidence.changed)]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> JsonValue:
        return self.evidence.state()

    def restore(self, state: JsonValue) -> None:
        self.evidence.restore(state)


def linked_candidate(evidence: UrlEvidence) -> Candidate:
    """A URL ranked by the evidence of links."""
    linked = evidence.linked
    because = evidence.ratios or {"links": 1.0}
    return Candidate(evidence.url, logistic(evidence.log_ratio), linked.found_on, linked.anchor, because, linked.depth)
