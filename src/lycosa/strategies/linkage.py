"""Interest ratios of URLs, estimated from the links to them, and the strategy that uses them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, Candidate, JsonValue, Outcome, Page, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.urls import is_node, key_of

from .base import BaseStrategy, checked_number, clamped, distinct_links
from .interest import Features, Ids, Logs, Tally, link_logs, logistic, share_logs

WEIGHTS: Mapping[str, float] = {"words": 1.0, "tokens": 1.0, "links": 1.0, "siblings": 1.0}
UNKNOWN = 0.5  # priority without evidence: a ratio of 1
NO_PAGE = -1  # instead of 0 or 1, for a URL that was settled without a page
_MAX_PARENTS = 4  # the latest pages linking to a URL that are remembered
_MAX_WORDS = 64  # the most frequent words of a page count
_MAX_TOKENS = 24  # the first tokens of a URL count
_MAX_SIBLINGS = 32  # scored again after a visit
_MAX_OLDEST = 16  # least recently scored URLs that are scored again after a visit
_MIN_PAGES = 3  # that must have a word or token before it counts
_MAX_LOG = 700.0  # above it, exp() overflows
_NOT_FINAL = frozenset(
    (SkipReason.EVICTED, SkipReason.SITE, SkipReason.NOFOLLOW, SkipReason.UNFOLLOWED, SkipReason.REDIRECT)
)
_NO_IDS: Ids = np.empty(0, np.int64)
_tokens = re.compile(r"[^\W\d_]{2,}").findall


class Lead(Struct):
    """A waiting URL and the links to it."""

    found_on: Url
    anchor: str
    depth: int
    parents: list[int]  # the latest pages that link here, by number
    linking: int = 0  # pages that link here
    satisfying: int = 0  # of these
    tokens: tuple[int, ...] | None = None  # of the URL, computed when first needed; not saved


class Parent(Struct):
    """A visited page some of whose links wait."""

    words: Ids
    targets: dict[Url, None]  # links that wait
    seen: int = 0  # linked pages that were visited
    satisfying: int = 0  # of these


class LinkMemory:
    """The URLs that wait, the pages that link to them, and the outcome of those visited.

    waiting, pages, visited: how many of each are remembered; the oldest are dropped.
    """

    def __init__(self, *, waiting: int, pages: int, visited: int):
        self._max_remembered = waiting, pages, visited
        self.leads: dict[Url, Lead] = {}  # least recently scored first
        self._parents: dict[int, Parent] = {}
        self._visited: dict[int, int] = {}  # by key: 1 satisfies, 0 does not, or NO_PAGE
        self._last_parent = 0

    def judged(self, url: Url) -> int | None:
        """1 if the page satisfies the predicate, 0 if not, NO_PAGE, or None if the URL is not settled."""
        return self._visited.get(key_of(url))

    def parents_of(self, lead: Lead | None) -> list[Parent]:
        """The remembered pages that link to a URL."""
        return [self._parents[number] for number in lead.parents if number in self._parents] if lead else []

    def link(self, here: Url, depth: int, links: Iterable[tuple[Url, str]], words: Ids, satisfies: bool) -> list[Url]:
        """Records the links of a page, by URL and anchor; returns the URLs that wait."""
        self._last_parent += 1
        number, parent = self._last_parent, Parent(words, {})
        for target, anchor in links:
            judged = self.judged(target)
            if judged is not None:
                parent.seen += judged != NO_PAGE
                parent.satisfying += judged == 1
                continue
            lead = self.leads.get(target)
            if lead is None:
                lead = self.leads[target] = Lead(here, anchor, depth, [])
            lead.linking += 1
            lead.satisfying += satisfies
            lead.parents.append(number)
            if len(lead.parents) > _MAX_PARENTS:
                self._unlink(lead.parents.pop(0), target)
            parent.targets[target] = None
        if parent.targets:
            self._parents[number] = parent
        return list(parent.targets)

    def settle(self, url: Url, judged: int) -> None:
        """Records the outcome of a URL, which then no longer waits."""
        key = key_of(url)
        self._visited.pop(key, None)
        self._visited[key] = judged
        self.drop(url)

    def drop(self, url: Url) -> None:
        """Forgets a URL, which may be found again."""
        lead = self.leads.pop(url, None)
        for number in lead.parents if lead else ():
            self._unlink(number, url)

    def move(self, url: Url, target: Url) -> None:
        """Copies the links to a URL to the one it has moved to, unless that is known already."""
        lead = self.leads.get(url)
        if lead is None or target in self.leads or self.judged(target) is not None:
            return
        self.leads[target] = replace(lead, parents=list(lead.parents))
        for parent in self.parents_of(lead):
            parent.targets[target] = None

    def siblings(self, parents: Iterable[Parent], limit: int) -> list[Url]:
        """Up to `limit` waiting URLs that are linked from the same pages."""
        found: dict[Url, None] = {}
        for parent in parents:
            found |= dict.fromkeys(islice(parent.targets, limit))
        return list(islice(found, limit))

    def oldest(self, limit: int) -> list[Url]:
        return list(islice(self.leads, limit))

    def touch(self, urls: Iterable[Url]) -> None:
        """Marks URLs as the most recently scored."""
        for url in urls:
            self.leads[url] = self.leads.pop(url)

    def forget(self) -> None:
        """Drops the oldest entries beyond the limits."""
        waiting, pages, visited = self._max_remembered
        while len(self.leads) > waiting:
            self.drop(next(iter(self.leads)))
        while len(self._parents) > pages:
            del self._parents[next(iter(self._parents))]
        while len(self._visited) > visited:
            del self._visited[next(iter(self._visited))]

    def _unlink(self, number: int, url: Url) -> None:
        parent = self._parents.get(number)
        if parent is not None:
            parent.targets.pop(url, None)
            if not parent.targets:
                del self._parents[number]

    def state(self) -> JsonValue:
        places = {url: place for place, url in enumerate(self.leads)}
        return {
            "leads": [
                [url, lead.found_on, lead.anchor, lead.depth, lead.parents, lead.linking, lead.satisfying]
                for url, lead in self.leads.items()
            ],
            "parents": [
                [number, parent.words.tolist(), [places[url] for url in parent.targets], parent.seen, parent.satisfying]
                for number, parent in self._parents.items()
            ],
            "visited": [list(self._visited), list(self._visited.values())],
            "last_parent": self._last_parent,
        }

    def restore(self, state: JsonValue) -> None:
        self.leads = {url: Lead(*known) for url, *known in state["leads"]}
        urls = list(self.leads)
        self._parents = {
            number: Parent(np.array(words, np.int64), _urls_at(targets, urls), seen, satisfying)
            for number, words, targets, seen, satisfying in state["parents"]
        }
        self._visited = dict(zip(*state["visited"], strict=True))
        self._last_parent = state["last_parent"]


def _urls_at(places: Sequence[int], urls: Sequence[Url]) -> dict[Url, None]:
    return dict.fromkeys(urls[place] for place in places)


class LinkEvidence(Struct, frozen=True):
    """The evidence of links for a URL."""

    url: Url
    log_ratio: float
    ratios: Mapping[str, float]  # by factor, those other than 1
    lead: Lead


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
        evidence.evidence_for(urls)       log ratio, ratios by factor and links of each; unknown URLs are left out

    weights: of the factors' logarithms; 0 for a factor that is not named.
    significance: standard deviations by which words and tokens must differ from the base rate to count.
    smoothing: pages at the base rate that are added to the counts of each.
    clip: the largest absolute logarithm of a factor.
    waiting, pages, visited: see `LinkMemory`. A URL that was dropped keeps its priority.

    Aggarwal, Al-Garawi, Yu: Intelligent crawling on the World Wide Web with arbitrary predicates (WWW 2001).
    """

    def __init__(
        self,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        significance: float = 2.0,
        smoothing: float = 10.0,
        clip: float = 5.0,
        waiting: int = 20_000,
        pages: int = 2_000,
        visited: int = 50_000,
    ):
        for name, weight in weights.items():
            if name not in WEIGHTS:
                raise UsageError(f"no factor {name!r} to weigh; there are {', '.join(WEIGHTS)}")
            if not isfinite(weight):
                raise UsageError(f"the weight of {name} must be a number, not {weight}")
        for name, value in (("significance", significance), ("smoothing", smoothing), ("clip", clip)):
            checked_number(name, value, 0.0)
        for name, count in (("waiting", waiting), ("pages", pages), ("visited", visited)):
            checked_number(name, count, 1)
        self._weights = np.array([float(weights.get(name, 0.0)) for name in WEIGHTS])
        self._smoothing = smoothing
        self._clip = clip
        self.tally = Tally()
        self._words = Features(significance=significance, least=_MIN_PAGES, smoothing=smoothing)
        self._tokens = Features(significance=significance, least=_MIN_PAGES, smoothing=smoothing)
        self._links = (0, 0, 0)  # seen before their target was visited: all, good to good, bad to good
        self._memory = LinkMemory(waiting=waiting, pages=pages, visited=visited)
        self.changed: Sequence[Url] = ()

    # ------------------------------------------------------------ learning

    def learn(self, event: Visit | Skip) -> None:
        self.changed = ()
        self._memory.forget()
        url = event.candidate.url
        if isinstance(event, Skip):
            if event.reason in _NOT_FINAL:
                self._memory.drop(url)
            else:
                self._memory.settle(url, NO_PAGE)
        elif event.page is None:
            if event.fetch.outcome is Outcome.MOVED and event.fetch.location is not None:
                self._memory.move(url, event.fetch.location)
            self._memory.settle(url, NO_PAGE)
        else:
            self._learn_page(event, event.page)

    def _learn_page(self, visit: Visit, page: Page) -> None:
        url, satisfies = visit.candidate.url, clamped(visit.relevance) >= RELEVANT
        siblings: Sequence[Url] = ()
        if self._memory.judged(url) in (None, NO_PAGE):  # counted once, not again when fetched again
            lead = self._memory.leads.get(url)
            parents = self._memory.parents_of(lead)
            self._count(url, lead, parents, satisfies)
            self._memory.settle(url, int(satisfies))
            siblings = self._memory.siblings(parents, _MAX_SIBLINGS)
        links = [(link.target, link.anchor) for link in distinct_links(visit)]
        found: Sequence[Url] = ()
        if links:
            found = self._memory.link(url, visit.candidate.depth + 1, links, self._words_of(page), satisfies)
        self.changed = list(dict.fromkeys((*found, *siblings, *self._memory.oldest(_MAX_OLDEST))))
        self._memory.touch(self.changed)

    def _count(self, url: Url, lead: Lead | None, parents: Sequence[Parent], satisfies: bool) -> None:
        self.tally.learn(satisfies)
        self._tokens.learn(self._tokens_of(url), satisfies)
        self._words.learn(_words_around(parents), satisfies)
        for parent in parents:
            parent.seen += 1
            parent.satisfying += satisfies
        if lead is not None:
            links, good, bad = self._links
            if satisfies:
                good, bad = good + lead.satisfying, bad + lead.linking - lead.satisfying
            self._links = links + lead.linking, good, bad

    # ------------------------------------------------------------ evidence

    def lead_to(self, url: Url) -> Lead | None:
        return self._memory.leads.get(url)

    def log_ratio_of(self, url: Url) -> float | None:
        """log of the interest ratio; None for a URL without known links."""
        return next((known.log_ratio for known in self.evidence_for([url])), None)

    def evidence_for(self, urls: Iterable[Url]) -> list[LinkEvidence]:
        """The evidence for those of the URLs that have known links."""
        leads = {url: self._memory.leads[url] for url in urls if url in self._memory.leads}
        if not leads:
            return []
        parents = [self._memory.parents_of(lead) for lead in leads.values()]
        factors = (
            self._words_logs(leads.values(), parents),
            self._tokens_logs(leads),
            self._links_logs(leads.values()),
            self._siblings_logs(parents),
        )
        logs = self._weights * np.clip(np.column_stack(factors), -self._clip, self._clip)
        ratios = np.exp(np.minimum(logs, _MAX_LOG)).round(3).tolist()
        rows = zip(leads.items(), logs.tolist(), ratios, strict=True)
        return [
            LinkEvidence(
                url, sum(row), {name: ratio for name, log, ratio in zip(WEIGHTS, row, shown, strict=True) if log}, lead
            )
            for (url, lead), row, shown in rows
        ]

    def _words_logs(self, leads: Iterable[Lead], parents: Sequence[Sequence[Parent]]) -> Logs:
        """For each URL, the sum over the distinct words of its parents."""
        places: dict[tuple[int, ...], int] = {}  # the links of one page mostly have the same parents
        around: list[Sequence[Parent]] = []
        rows = []
        for lead, pages in zip(leads, parents, strict=True):
            row = places.setdefault(tuple(lead.parents), len(around))
            if row == len(around):
                around.append(pages)
            rows.append(row)
        return self._words.summed([[page.words for page in pages] for pages in around], self.tally.base_rate)[rows]

    def _tokens_logs(self, leads: Mapping[Url, Lead]) -> Logs:
        tokens = []
        for url, lead in leads.items():
            if lead.tokens is None:
                lead.tokens = tuple(self._tokens_of(url).tolist())
            tokens.append([np.array(lead.tokens, np.int64)])
        return self._tokens.summed(tokens, self.tally.base_rate)

    def _links_logs(self, leads: Collection[Lead]) -> Logs:
        satisfying = np.array([lead.satisfying for lead in leads])
        others = np.array([lead.linking for lead in leads]) - satisfying
        good, bad = link_logs(self._links, self.tally.base_rate, smoothing=self._smoothing)
        return np.asarray(satisfying * good + others * bad, np.float64)

    def _siblings_logs(self, parents: Sequence[Sequence[Parent]]) -> Logs:
        satisfying = np.array([sum(parent.satisfying for parent in pages) for pages in parents], np.float64)
        seen = np.array([sum(parent.seen for parent in pages) for pages in parents], np.float64)
        return share_logs(satisfying, seen, self.tally.base_rate, smoothing=self._smoothing)

    # ------------------------------------------------------------ words

    def _words_of(self, page: Page) -> Ids:
        codes, counts = page.words.term_counts
        if len(codes) > _MAX_WORDS:
            codes = codes[np.argsort(counts, kind="stable")[-_MAX_WORDS:]]
        return self._words.folded(codes)

    def _tokens_of(self, url: Url) -> Ids:
        """The words of a URL without its scheme."""
        if is_node(url):
            return _NO_IDS
        return self._tokens.named(_tokens(url.partition("://")[2].lower())[:_MAX_TOKENS])

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
        links, good, bad = state["links"]
        self._links = links, good, bad
        self._memory.restore(state["memory"])
        self.changed = ()


def _words_around(parents: Sequence[Parent]) -> Ids:
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
        return [Candidate(seed, UNKNOWN, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        self.evidence.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [linked_candidate(known) for known in self.evidence.evidence_for(self.evidence.changed)]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> JsonValue:
        return self.evidence.state()

    def restore(self, state: JsonValue) -> None:
        self.evidence.restore(state)


def linked_candidate(known: LinkEvidence) -> Candidate:
    """A URL ranked by the evidence of links."""
    lead = known.lead
    because = known.ratios or {"links": 1.0}
    return Candidate(known.url, logistic(known.log_ratio), lead.found_on, lead.anchor, because, lead.depth)
