"""The strategy that fetches the URL of the highest PageRank."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from lycosa.vocabulary.records import Candidate, JsonValue, Outcome, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, is_node, site_of

from .base import BaseStrategy, checked_number, checked_share
from .url_sets import SettledUrls

_MAX_ITERATIONS = 1_000
Ranks = np.ndarray[tuple[int], np.dtype[np.float64]]


def pagerank_of_urls(
    links: Mapping[Url, Iterable[Url]], others: Iterable[Url], *, damping: float, tolerance: float
) -> tuple[dict[Url, int], Ranks]:
    """The index and the rank of each page in `links` and each URL in `others`; links to other URLs are ignored."""
    index = {url: number for number, url in enumerate(dict.fromkeys([*links, *others]))}
    sources: list[int] = []
    targets: list[int] = []
    for page, page_links in links.items():
        known = [index[target] for target in page_links if target in index]
        targets += known
        sources += [index[page]] * len(known)
    return index, pagerank(sources, targets, len(index), damping=damping, tolerance=tolerance)


def pagerank(sources: Iterable[int], targets: Iterable[int], count: int, *, damping: float, tolerance: float) -> Ranks:
    """PR(p) = (1 - damping) + damping · Σ PR(d) / |out(d)| over the pages d that link to p; the mean is 1.

    A page without links counts as linking to every page. All ranks start at 1; the iteration ends when no rank changes
    by more than `tolerance`, or after 1,000 rounds, since it need not converge if damping is 1.

    >>> pagerank([0, 1], [1, 2], 3, damping=0.8, tolerance=1e-9).round(3).tolist()
    [0.573, 1.031, 1.397]
    """
    links_from, links_to = np.fromiter(sources, np.intp), np.fromiter(targets, np.intp)
    out_degree = np.bincount(links_from, minlength=count)
    is_dangling = out_degree == 0
    share = damping / out_degree[links_from]
    rank = np.ones(count)
    for _ in range(_MAX_ITERATIONS):
        from_links = np.bincount(links_to, rank[links_from] * share, count)
        from_dangling = damping * rank[is_dangling].sum() / max(count, 1)  # an empty graph has no ranks
        new = from_links + (1 - damping + from_dangling)
        change = np.abs(new - rank).max(initial=0.0)
        rank = new
        if change <= tolerance:
            break
    return rank


class PageRank(BaseStrategy):
    """Fetches the waiting URL with the highest PageRank in the graph crawled so far.

    priority = PageRank, in the graph of the buffered pages and the waiting URLs

    Links within one domain are not in the graph but are proposed, since a crawl of one domain would otherwise end.
    Pages without links in the graph, including waiting URLs, count as linking to all. Between two computations, a new
    URL has the rank from its one known link: lowest rank + damping · rank of the page / number of its links.

    damping: γ of PR(p) = (1 - γ) + γ · Σ PR(d) / |out(d)|.
    tolerance: largest change of a rank at which the iteration ends; the mean rank is 1.
    every: pages between two computations of ranks, after which every waiting URL is proposed again.
    buffer: pages whose links are kept; a new page replaces the least relevant.

    Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001).
    """

    name = "pagerank"
    scale = "order"  # only the order of its priorities is meaningful

    def __init__(self, *, damping: float = 0.8, tolerance: float = 0.01, every: int = 25, buffer: int = 200):
        self._damping = checked_share("damping", damping)
        self._tolerance = checked_number("tolerance", tolerance, 0.0)
        self._every = checked_number("every", every, 1)
        self._buffer = checked_number("buffer", buffer, 1, 1e6)
        self._page_count = 0  # pages visited
        self._min_rank = 1.0  # the lowest rank: that of a URL without recorded in-links
        self._links: dict[Url, list[Url]] = {}  # of the buffered pages, to other domains
        # A heap of the buffered pages: relevance, number of the visit, URL; among equals, older ones first.
        self._least_relevant: list[tuple[float, int, Url]] = []
        self._waiting: dict[Url, Candidate] = {}
        self._settled = SettledUrls()  # visited or rejected
        self._new_candidates: list[Candidate] = []  # new links of the last page

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        found = [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds if seed not in self._settled]
        self._waiting |= {candidate.url: candidate for candidate in found}
        return found

    def learn(self, event: Visit | Skip) -> None:
        self._new_candidates = []
        candidate = event.candidate
        self._waiting.pop(candidate.url, None)
        if isinstance(event, Skip):
            return
        self._settled.visit(candidate.url)
        if event.page is not None:
            self._page_count += 1
            self._learn_links(event)
        elif event.fetch.outcome is Outcome.MOVED and event.fetch.location is not None:
            self._add_waiting(Candidate(event.fetch.location, candidate.priority, candidate.url, depth=candidate.depth))

    def _learn_links(self, visit: Visit) -> None:
        """Adds the links that may be followed to the waiting URLs, and those to other sites to the graph."""
        url, links = visit.candidate.url, visit.open_links()
        site = _site_of(url)
        to_other_sites = dict.fromkeys(link.target for link in links if _site_of(link.target) != site)
        share = self._damping * visit.candidate.priority / max(1, len(to_other_sites))
        depth = visit.candidate.depth + 1
        for link in links:
            rank = self._min_rank + share if link.target in to_other_sites else self._min_rank
            found = Candidate(link.target, rank, url, link.anchor, {"rank": round(rank, 4)}, depth)
            if self._add_waiting(found):
                self._new_candidates.append(found)
        if url in self._links:  # fetched again, with new links
            self._links[url] = list(dict.fromkeys((*self._links[url], *to_other_sites)))
            return
        if len(self._links) >= self._buffer:
            del self._links[heappop(self._least_relevant)[2]]
        self._links[url] = list(to_other_sites)
        heappush(self._least_relevant, (visit.relevance or 0.0, self._page_count, url))

    def _add_waiting(self, candidate: Candidate) -> bool:
        if candidate.url in self._waiting or candidate.url in self._settled:
            return False
        self._waiting[candidate.url] = candidate
        return True

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip) or event.page is None:
            return []
        if self._page_count % self._every == 0:
            self._update_ranks()
            return list(self._waiting.values())
        return self._new_candidates

    def _update_ranks(self) -> None:
        index, computed = pagerank_of_urls(self._links, self._waiting, damping=self._damping, tolerance=self._tolerance)
        ranks = computed.tolist()
        self._min_rank = min(ranks, default=1.0)
        for url, old in self._waiting.items():
            rank = ranks[index[url]]
            because = {"rank": round(rank, 4)}
            self._waiting[url] = Candidate(url, rank, old.found_on, old.anchor, because, old.depth)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> JsonValue:
        return {
            "pages": self._page_count,
            "floor": self._min_rank,
            "buffered": [[*key, self._links[key[2]]] for key in self._least_relevant],
            "waiting": [[c.url, c.priority, c.found_on, c.anchor, c.depth] for c in self._waiting.values()],
            "settled": self._settled.state(),
        }

    def restore(self, state: JsonValue) -> None:
        self._page_count, self._min_rank = state["pages"], state["floor"]
        self._least_relevant = [(relevance, order, url) for relevance, order, url, _ in state["buffered"]]
        self._links = {url: links for _, _, url, links in sorted(state["buffered"], key=lambda row: row[1])}
        self._waiting = {
            url: Candidate(url, rank, found_on, anchor, {"rank": round(rank, 4)}, depth)
            for url, rank, found_on, anchor, depth in state["waiting"]
        }
        self._settled = SettledUrls(state["settled"])

    def restore_visited(self, urls: Iterable[Url]) -> None:
        self._settled.restore_visited(urls)


def _site_of(url: Url) -> str:
    """The registered domain; a node of a lab graph, which has no host, is a site of its own."""
    return url if is_node(url) else site_of(host_of(url))
