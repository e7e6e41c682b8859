"""Hits of many collections in one order: scored alike, each page once.

Scores of different indexes do not compare, so hits come with counts, and the asker scores all of them by BM25 over the
union of the collections that answered. Counts of strangers are claims: they are cut to what is possible, and BM25
grows little with what is left of an exaggeration.
"""

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from lycosa.maps.public_urls import why_left_out

from .asked import words_of
from .messages import Contact, Hit, PeerName, Statistics
from .searching import Answer, Stage

K1, B = 1.2, 0.75
MOST_DOCUMENTS = 10_000_000  # that one collection may claim to have
MOST_LENGTH = 1_000_000  # words of a page


class Ranked(Struct, frozen=True):
    """A page that was found, with everybody who has it, the one whose copy is told first."""

    url: str
    title: str
    snippet: str
    score: float
    standing: float
    relevance: float
    fetched_at: float
    providers: tuple[Contact, ...]
    at_home: bool
    also: tuple[str, ...] = ()  # other URLs of what seems to be the same page


class Merged(Struct, frozen=True):
    hits: tuple[Ranked, ...]
    refused: int  # URLs that may not be crawled, and so are not shown


def merge(query: str, answers: Sequence[Answer], *, me: PeerName, allow_private: bool = False) -> Merged:
    """All hits of a search, the best first."""
    words = words_of(query)
    weights, mean_length = _scale(words, [answer.statistics for answer in answers])
    by_url: dict[str, list[tuple[float, Hit, Contact]]] = {}
    refused = 0
    for answer in answers:
        told = answer.statistics.terms if answer.statistics else ()
        for hit in answer.hits:
            if why_left_out(hit.item, allow_private=allow_private or answer.stage is Stage.HOME) is not None:
                refused += 1
                continue
            score = _score(words, weights, mean_length, told, hit)
            by_url.setdefault(str(hit.item), []).append((score, hit, answer.provider))
    pages = [_page(copies, me) for copies in by_url.values()]
    pages.sort(key=lambda page: (-page[0].score, page[0].url))
    return Merged(tuple(_without_copies(pages)), refused)


def _scale(words: Sequence[str], told: Sequence[Statistics | None]) -> tuple[list[float], float]:
    """What each word weighs, and the mean length of a page, over all collections together."""
    documents = total = 0
    frequencies = [0] * len(words)
    for each in told:
        if each is None:
            continue
        size = min(each.documents, MOST_DOCUMENTS)
        documents += size
        total += min(each.words, size * MOST_LENGTH)
        known = dict(zip(each.terms, each.document_frequencies, strict=False))
        for place, word in enumerate(words):
            frequencies[place] += min(known.get(word, 0), size)
    weights = [math.log(1 + (documents - count + 0.5) / (count + 0.5)) for count in frequencies]
    return weights, total / documents if documents and total else 1.0


def _score(words: Sequence[str], weights: Sequence[float], mean: float, told: Sequence[str], hit: Hit) -> float:
    times = dict(zip(told, hit.frequencies, strict=False))
    length = min(max(hit.length, 1), MOST_LENGTH)
    norm = K1 * (1 - B + B * length / mean)
    score = 0.0
    for word, weight in zip(words, weights, strict=True):
        count = min(times.get(word, 0), length)
        score += weight * count * (K1 + 1) / (count + norm)
    return score


def _page(copies: list[tuple[float, Hit, Contact]], me: PeerName) -> tuple[Ranked, Hit]:
    """One page of which several may have a copy: our own is told, else the one that was fetched last."""
    copies.sort(key=lambda copy: (copy[2].name != me, -_finite(copy[1].fetched_at)))
    score, hit, _ = copies[0]
    providers = tuple(dict.fromkeys(contact for _, _, contact in copies))
    ranked = Ranked(
        url=str(hit.item),
        title=hit.title,
        snippet=hit.snippet,
        score=round(score, 6),
        standing=_unit(hit.standing),
        relevance=_unit(hit.relevance),
        fetched_at=_finite(hit.fetched_at),
        providers=providers,
        at_home=copies[0][2].name == me,
    )
    return ranked, hit


def _without_copies(pages: Sequence[tuple[Ranked, Hit]]) -> list[Ranked]:
    """Pages with the same words as a better one are told with that one."""
    best: dict[str, int] = {}
    kept: list[Ranked] = []
    for page, hit in pages:
        place = best.get(hit.digest) if hit.digest else None
        if place is None:
            if hit.digest:
                best[hit.digest] = len(kept)
            kept.append(page)
        else:
            kept[place] = replace(kept[place], also=(*kept[place].also, page.url))
    return kept


def _unit(number: float) -> float:
    return min(max(number, 0.0), 1.0) if math.isfinite(number) else 0.0


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0
