"""Merges the hits of many collections into one ranking, without duplicates.

Scores of different indexes are not comparable, so hits carry term counts, and the asker scores all of them by BM25
over the union of the collections that answered. Counts from strangers are untrusted: they are limited to possible
values, and BM25 saturates, so that the remaining exaggeration gains little.
"""

import math
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from lycosa.reading.stop_words import STOP_WORDS
from lycosa.vocabulary.hosts import why_url_refused
from lycosa.vocabulary.text import tokens_of

from .addresses import address_group
from .messages import CollectionStatistics, Contact, PeerHit, PeerName
from .search import Answer, Stage, Trust

K1, B = 1.2, 0.75  # the parameters of BM25
MAX_DOCUMENTS = 10_000_000  # that one collection may claim to have
MAX_PAGE_LENGTH = 1_000_000  # words of a page
# Answers of strangers are claims until they were checked, and then confirmed.
# Of the top places, at most one in so many has a page from
NETWORK_ONE_IN = 2  # the strangers of one network
_PEER_ONE_IN = {Trust.BUDDY: 2, Trust.CONFIRMED: 4, Trust.CLAIMED: 4}  # one peer
STRANGERS_ONE_IN = 2  # all strangers together: keys are free, and networks are cheap
_LESS_AND_LESS_TRUSTED = (Trust.TRUSTED, Trust.BUDDY, Trust.CONFIRMED, Trust.CLAIMED)
MAX_WORDS = 16  # of a query that are used
MAX_WORD_LENGTH = 40  # characters; a longer word is truncated and matches nothing, as no index has it


@lru_cache(maxsize=256)
def query_words(query: str) -> tuple[str, ...]:
    """The distinct words of a query in order, without stop words unless there are no others.

    >>> query_words("The bees and the honey")
    ('bees', 'honey')
    >>> query_words("the who")
    ('the', 'who')
    """
    words = tuple(dict.fromkeys(word[:MAX_WORD_LENGTH] for word in tokens_of(query)))
    return (tuple(word for word in words if word not in STOP_WORDS) or words)[:MAX_WORDS]


def has_all_words(words: Sequence[str], statistics: CollectionStatistics | None, hit: PeerHit) -> bool:
    """Whether a page has every word of a query, by the counts that came with it; False for a query without words."""
    counts = dict(zip(statistics.terms, hit.frequencies, strict=False)) if statistics else {}
    return bool(words) and all(counts.get(word, 0) for word in words)


class RankedPage(Struct, frozen=True):
    """A result page with all its providers; the first is that of the copy shown."""

    url: str
    title: str
    snippet: str
    score: float
    standing: float
    relevance: float
    fetched_at: float
    providers: tuple[Contact, ...]
    at_home: bool  # whether our own collection has it
    is_checked: bool = True  # False if it is an unchecked claim of a stranger
    also: tuple[str, ...] = ()  # other URLs of what seems to be the same page


class Ranking(Struct, frozen=True):
    """The merged hits of a search, the best first."""

    hits: tuple[RankedPage, ...]
    refused: int  # number of URLs that may not be crawled, and so are not shown


class _Copy(NamedTuple):
    """A page as one provider has it."""

    score: float
    hit: PeerHit
    provider: Contact
    is_from_walker: bool  # from a peer reached by a walker
    fetched_at: float  # not in the future
    trust: Trust


class _MergedPage(NamedTuple):
    """A page by the copy of it that is shown."""

    page: RankedPage
    digest: str
    trust: Trust

    def may_hide(self, other: "_MergedPage") -> bool:
        """Whether a page that seems to be the same may be left out for this one: the digest is only a claim, by which
        nobody shall hide pages of others who are trusted as much or more."""
        if self.page.at_home or other.page.at_home:
            return self.page.at_home
        if self.trust is not other.trust:
            return _distrust(self.trust) < _distrust(other.trust)
        return self.trust is Trust.TRUSTED or self.page.providers[0] == other.page.providers[0]


class _Source(NamedTuple):
    """Who gave a page, for the limits of the top places."""

    peer: PeerName  # empty if there is no limit
    network: str


def merge(
    query: str, answers: Sequence[Answer], *, own_name: PeerName, allow_private: bool = False, now: float = math.inf
) -> Ranking:
    """All hits of a search, the best first. Own hits are facts; those of others are claims, and checked."""
    words = query_words(query)
    statistics = {each.provider.name: each.statistics for each in answers if each.statistics is not None}
    # Each provider counts once, however many walkers met it.
    weights, mean_length = _bm25_parameters(words, statistics.values())
    by_url: dict[str, list[_Copy]] = {}
    refused = 0
    for answer in answers:
        terms, is_own = answer.statistics.terms if answer.statistics else (), answer.stage is Stage.OWN_CONTENT
        for hit in answer.hits:
            counts = dict(zip(terms, hit.frequencies, strict=False))
            if why_url_refused(hit.item, allow_private=allow_private or is_own) is not None:
                refused += 1
            elif is_own or has_all_words(words, answer.statistics, hit):
                score = _score(words, weights, mean_length, counts, hit)
                at, is_from_walker = min(_finite(hit.fetched_at), now), answer.stage is Stage.WALKING
                by_url.setdefault(str(hit.item), []).append(
                    _Copy(score, hit, answer.provider, is_from_walker, at, answer.trust)
                )
    pages = [_merge_copies(copies, own_name) for copies in by_url.values()]
    pages.sort(key=lambda shown: (not shown.page.is_checked, -shown.page.score, shown.page.url))
    peer_one_in = {each.provider.name: _PEER_ONE_IN[each.trust] for each in answers if each.trust is not Trust.TRUSTED}
    strangers = {each.provider.name for each in answers if each.trust is Trust.CONFIRMED}
    networks = {
        each.provider.name: each.network or address_group(each.provider.address.rpartition(":")[0]) for each in answers
    }
    return Ranking(tuple(_limit_shares(_merge_duplicates(pages), peer_one_in, strangers, networks)), refused)


def _limit_shares(
    pages: Sequence[RankedPage],
    peer_one_in: Mapping[PeerName, int],
    strangers: Collection[PeerName],
    networks: Mapping[PeerName, str],
) -> Iterator[RankedPage]:
    """The pages in order, except that of the top places a buddy gets at most half, a stranger a quarter, the strangers
    of one network half, and all strangers together half, as long as there are others; those that have had their share
    take turns if nobody else is left. Unchecked pages come last."""
    for is_checked in (True, False):
        waiting: dict[_Source, deque[tuple[int, RankedPage]]] = {}  # pages with their rank, the best first
        for rank, page in enumerate(pages):
            provider = page.providers[0]
            is_limited = provider.name in peer_one_in and not page.at_home
            network = networks[provider.name] if is_limited else ""
            if page.is_checked == is_checked:
                source = _Source(provider.name if is_limited else "", network)
                waiting.setdefault(source, deque()).append((rank, page))
        shown, by_strangers, by_peer, by_network = 0, 0, Counter[str](), Counter[str]()
        while waiting:
            within_peer_limit = [
                each for each in waiting if not each.peer or by_peer[each.peer] <= shown // peer_one_in[each.peer]
            ]
            allowed = [
                each
                for each in within_peer_limit
                if not each.peer or by_network[each.network] <= shown // NETWORK_ONE_IN
            ]
            if by_strangers > shown // STRANGERS_ONE_IN:
                others = [
                    [each for each in sources if each.peer not in strangers]
                    for sources in (allowed, within_peer_limit, list(waiting))
                ]
                allowed = next((sources for sources in others if sources), allowed)
            if allowed or within_peer_limit:
                source = min(allowed or within_peer_limit, key=lambda each: waiting[each][0][0])
            else:  # only sources that have had their share: in turn
                source = min(waiting, key=lambda each: (by_peer[each.peer], waiting[each][0][0]))
            yield waiting[source].popleft()[1]
            shown += 1
            by_peer[source.peer] += 1
            by_network[source.network] += 1
            by_strangers += source.peer in strangers
            if not waiting[source]:
                del waiting[source]


def _bm25_parameters(words: Sequence[str], statistics: Iterable[CollectionStatistics]) -> tuple[list[float], float]:
    """The BM25 weight of each word, log(1 + (N - n + 0.5) / (n + 0.5)), and the mean length of a page, over all
    collections together."""
    documents = total_words = 0
    frequencies = [0] * len(words)
    for each in statistics:
        size = min(each.documents, MAX_DOCUMENTS)  # pages of this collection
        documents += size
        total_words += min(each.words, size * MAX_PAGE_LENGTH)
        known = dict(zip(each.terms, each.document_frequencies, strict=False))
        for index, word in enumerate(words):
            frequencies[index] += min(known.get(word, 0), size)
    weights = [math.log(1 + (documents - count + 0.5) / (count + 0.5)) for count in frequencies]
    return weights, total_words / documents if documents and total_words else 1.0


def _score(
    words: Sequence[str], weights: Sequence[float], mean: float, counts: Mapping[str, int], hit: PeerHit
) -> float:
    length = min(max(hit.length, 1), MAX_PAGE_LENGTH)
    norm = K1 * (1 - B + B * length / mean)
    score = 0.0
    for word, weight in zip(words, weights, strict=True):
        count = min(counts.get(word, 0), length)
        score += weight * count * (K1 + 1) / (count + norm)
    return score


def _merge_copies(copies: list[_Copy], own_name: PeerName) -> _MergedPage:
    """One page with several copies, of which one is shown: ours, else that of the most trusted provider, not from a
    walker, the newest, in this order of preference. Its score is the highest of the checked copies, if any, unless it
    is ours."""
    copies.sort(
        key=lambda copy: (
            copy.provider.name != own_name,
            _distrust(copy.trust),
            copy.is_from_walker,
            -copy.fetched_at,
        )
    )
    shown = copies[0]
    at_home = shown.provider.name == own_name
    checked = [copy for copy in copies if copy.trust is not Trust.CLAIMED] or copies
    ranked = RankedPage(
        url=str(shown.hit.item),
        title=shown.hit.title,
        snippet=shown.hit.snippet,
        score=round(shown.score if at_home else max(copy.score for copy in checked), 6),
        standing=_clamped(shown.hit.standing),
        relevance=_clamped(shown.hit.relevance or 0.0),
        fetched_at=shown.fetched_at,
        providers=tuple(dict.fromkeys(copy.provider for copy in copies)),
        at_home=at_home,
        is_checked=at_home or shown.trust is not Trust.CLAIMED,
    )
    return _MergedPage(ranked, shown.hit.digest, shown.trust)


def _merge_duplicates(pages: Sequence[_MergedPage]) -> list[RankedPage]:
    """Merges pages with the same digest into the best of those that may hide the others."""
    shown_of: dict[str, list[_MergedPage]] = {}  # by digest, the pages that are shown
    also: dict[str, list[str]] = {each.page.url: [] for each in pages}
    hidden: set[str] = set()
    for each in sorted(pages, key=lambda each: (not each.page.at_home, _distrust(each.trust))):
        others = shown_of.setdefault(each.digest, []) if each.digest else []
        better = next((other for other in others if other.may_hide(each)), None)
        if better is None:
            others.append(each)
        else:
            hidden.add(each.page.url)
            also[better.page.url].append(each.page.url)
    return [replace(each.page, also=tuple(also[each.page.url])) for each in pages if each.page.url not in hidden]


def _distrust(trust: Trust) -> int:
    return _LESS_AND_LESS_TRUSTED.index(trust)


def _clamped(number: float) -> float:
    return min(max(number, 0.0), 1.0) if math.isfinite(number) else 0.0


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0
