"""One page of the synthetic world: its words, its layout, its HTML, and the `Page` a reader makes of that HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lycosa.reading.fingerprint import digest_of, fingerprint_of
from lycosa.reading.words import FoldedWords
from lycosa.vocabulary.records import Link, Page, Url
from lycosa.vocabulary.tokens import folded

from .counter_rng import Floats, Ints, key, subkey, uniforms, uniforms_at
from .plan import Options, Plan, topic_looseness
from .vocabulary import BACKGROUND, FUNCTION_WORDS, GENERIC_ANCHORS, NUMBERS, PER_LEAF, PER_TOP, RARE, Vocabulary

GLUE_SHARE = 0.42  # of function words
SITE_SHARE, SITE_WORDS = 0.13, 12  # of words that belong to the site, and how many it has
FOOTER_WORDS = 12
LEAF_SHARE, TOP_SHARE = 0.075, 0.03  # of words of the topic and its field, on a page that shows it with strength 1
STRONGEST, SKEW = 2.4, 3.9  # of the strength with which pages show their topic; many barely do
STRAYING_PAGES = 0.3  # that speak of another topic too
OWN_WORDS = 24  # of each kind that a page uses, and so uses again
TITLE_BETRAYS, ANCHOR_BETRAYS, SURROUNDINGS_BETRAY = 0.35, 0.35, 0.12  # chances of a word to be of the topic
SURROUNDINGS = np.array([-4, -3, -2, -1, 0, 1, 2])  # words near a link that may speak of its target
CHUNK = 40  # words that change together

# Shifts of the laws of Zipf and Mandelbrot: the smaller, the commoner are the first words of a kind.
TOPICAL_SHIFT, BACKGROUND_SHIFT, GLUE_SHIFT, ALIKE = 0.5, 2.0, 3.0, 1e9
_JUST_BELOW = 1.0 - 1e-12  # keeps the last rank within its kind

_SENTENCES = (9, 14, 11, 17, 8, 13, 10)  # words
_PARAGRAPH = 5  # sentences
_MOST_WORDS = 1000
_NEAR = len(SURROUNDINGS)
_EDITION = 4096  # draws kept apart for each edition of a text
_OF_LINK = 32  # draws kept apart for each link of a page
_OF_PAGE = 16  # draws of a page before those of its own words

_GLUE, _NUMBER, _SITE, _RARE, _LEAF, _TOP, _STRAY, _BACKGROUND = range(8)
_SHIFTS = np.array([GLUE_SHIFT, ALIKE, ALIKE, ALIKE, TOPICAL_SHIFT, TOPICAL_SHIFT, TOPICAL_SHIFT, BACKGROUND_SHIFT])


def zipf(u: Floats, size: float, shift: float) -> NDArray[np.int64]:
    """Ranks from 0 to `size` - 1; the chance of rank r falls like 1 / (r + shift)."""
    ranks: NDArray[np.int64] = (shift * _JUST_BELOW * np.expm1(u * np.log1p(size / shift))).astype(np.int64)
    return ranks


def _sentence_pattern() -> tuple[Ints, Ints]:
    ends = np.cumsum(np.resize(_SENTENCES, _MOST_WORDS // min(_SENTENCES)))
    ends = ends[ends < _MOST_WORDS]
    return ends - 1, ends[_PARAGRAPH - 1 :: _PARAGRAPH]


_ENDS, _PARAGRAPH_ENDS = _sentence_pattern()


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of a page, and where its links and paragraphs go."""

    title: str
    words: list[str]
    anchors: list[str]
    offsets: list[int]  # how many words stand before each link
    paragraphs: list[int]  # how many words stand before the end of each paragraph


class TextGenerator:
    """Finds words for pages; the same page in the same edition always says the same."""

    def __init__(self, options: Options, plan: Plan, words: Vocabulary):
        self._plan, self._words = plan, words
        self._topics = options.topics
        self._clearness = 1.0 / topic_looseness(options)  # of each topic: what holds together shows
        self._site_share = SITE_SHARE * options.site_words
        self._footer_words = round(FOOTER_WORDS * options.site_words)
        self._pages, self._tokens, self._sites, self._links, self._entries = (
            key(options.seed, purpose) for purpose in ("pages", "tokens", "sites", "links", "entries")
        )
        self.footer = lru_cache(maxsize=10_000)(self._footer)
        self._words_of_site = lru_cache(maxsize=10_000)(self._draw_words_of_site)
        sizes = [len(FUNCTION_WORDS), NUMBERS, RARE, words.size - words.rare, PER_LEAF, PER_TOP, PER_LEAF, BACKGROUND]
        self._spans = np.log1p(np.array(sizes) / _SHIFTS)

    def passage(self, page: int, targets: Ints, editions: Ints | None = None) -> Passage:
        """What a page with links to `targets` says; `editions` tells how often each chunk of its text was rewritten."""
        count, size = int(self._plan.words[page]), self._words.size
        own = uniforms(subkey(self._pages, page), _OF_PAGE + 4 * OWN_WORDS)
        counters = np.arange(2 * count)
        if editions is not None:
            counters += np.tile(np.repeat(editions, CHUNK)[:count], 2) * _EDITION
        u = uniforms_at(subkey(self._tokens, page), counters)
        strength = float(STRONGEST * own[1] ** SKEW * self._clearness[self._plan.topic[page]])
        ids = self._ids(page, own, strength, u[:count], u[count:])
        anchors, offsets = self._set_links(page, ids, targets, strength)
        ends = _ENDS[: _ENDS.searchsorted(count - 1)]
        ids[ends] += size
        ids[ends + 1] += 2 * size
        ids[0] += 2 * size
        ids[-1] = ids[-1] % size + size
        paragraphs = _PARAGRAPH_ENDS[: _PARAGRAPH_ENDS.searchsorted(count - 20)].tolist()
        return Passage(self._title(page, own, strength), self._words.words(ids), anchors, offsets, [*paragraphs, count])

    def description(self, page: int) -> str:
        """What a directory says of a page: 10 to 25 words, most of them of its topic."""
        u = uniforms(subkey(self._entries, page), 51)
        count = 10 + int(u[0] * 16)
        source, pick = u[1 : 1 + count], u[26 : 26 + count]
        topic = self._plan.topic[page]
        ids = np.select(
            [source < 0.4, source < 0.55, source < 0.85],
            [
                self._words.leaves[topic] + zipf(pick, PER_LEAF, TOPICAL_SHIFT),
                self._words.tops[self._words.top_of_leaf[topic]] + zipf(pick, PER_TOP, TOPICAL_SHIFT),
                zipf(pick, len(FUNCTION_WORDS), GLUE_SHIFT),
            ],
            self._words.background + zipf(pick, BACKGROUND, BACKGROUND_SHIFT),
        )
        return " ".join(self._words.words(ids)).capitalize() + "."

    def _title(self, page: int, own: Floats, strength: float) -> str:
        """Two to four words that often, not always, betray the topic."""
        count = 2 + int(own[4] * 3)
        u = own[5 : 5 + count]
        ids = np.where(
            own[9 : 9 + count] < TITLE_BETRAYS * strength,
            self._words.leaves[self._plan.topic[page]] + zipf(u, PER_LEAF, TOPICAL_SHIFT),
            self._words.background + zipf(u, BACKGROUND, BACKGROUND_SHIFT),
        )
        return " ".join(self._words.words(ids)).capitalize()

    def _footer(self, site: int) -> str:
        """What every page of a site ends with."""
        if not self._footer_words:
            return "All rights reserved."
        u = uniforms(subkey(self._sites, site), SITE_WORDS + self._footer_words)[SITE_WORDS:]
        ids = self._words.background + zipf(u, BACKGROUND, BACKGROUND_SHIFT)
        return f"All rights reserved. Please write to us about {' '.join(self._words.words(ids))}."

    def _draw_words_of_site(self, site: int) -> Floats:
        return uniforms(subkey(self._sites, site), SITE_WORDS)

    def _ids(self, page: int, own: Floats, strength: float, source: Floats, pick: Floats) -> NDArray[np.int64]:
        """Words for the whole text."""
        plan, words = self._plan, self._words
        topic = int(plan.topic[page])
        stray = LEAF_SHARE * own[0] if own[2] < STRAYING_PAGES else 0.0
        shares = (GLUE_SHARE, plan.figures[page], self._site_share, plan.rarity[page], LEAF_SHARE * strength)
        kinds = np.cumsum((*shares, TOP_SHARE * strength, stray)).searchsorted(source, side="right")
        topical = (words.leaves[topic], words.tops[words.top_of_leaf[topic]], words.leaves[int(own[3] * self._topics)])
        bases = np.array((0, words.numbers, words.rare, words.rare, *topical, words.background))
        # Of site, rare and topical words a page has a few of its own and comes back to them.
        few = own[_OF_PAGE:].reshape(4, OWN_WORDS)
        of_site = self._words_of_site(int(plan.site_of_page[page]))
        in_site = (kinds == _SITE).nonzero()[0]
        pick[in_site] = of_site[(pick[in_site] * SITE_WORDS).astype(np.int64)]
        has_few = ((kinds >= _RARE) & (kinds <= _STRAY)).nonzero()[0]
        pick[has_few] = few[kinds[has_few] - _RARE, (pick[has_few] * OWN_WORDS).astype(np.int64)]
        pick *= self._spans.take(kinds)
        ranks = np.expm1(pick) * (_SHIFTS * _JUST_BELOW).take(kinds)
        return bases.take(kinds) + ranks.astype(np.int64)

    def _set_links(
        self, page: int, ids: NDArray[np.int64], targets: Ints, strength: float
    ) -> tuple[list[str], list[int]]:
        """What the links say and where they stand; lets some words near them speak of what they lead to."""
        count = len(targets)
        if not count:
            return [], []
        u = uniforms_at(
            subkey(self._links, page), targets[:, None].astype(np.int64) * _OF_LINK + np.arange(2 * _NEAR + 7)
        )
        offsets = ((np.arange(count) + 0.2 + 0.6 * u[:, -1]) * (len(ids) / count)).astype(np.int64)
        topical = self._words.leaves[self._plan.topic[targets]][:, None]
        topical = topical + zipf(u[:, _NEAR : 2 * _NEAR + 3], PER_LEAF, TOPICAL_SHIFT)
        speaks = u[:, :_NEAR] < SURROUNDINGS_BETRAY * strength
        places = (offsets[:, None] + SURROUNDINGS).clip(0, len(ids) - 1)
        ids[places[speaks]] = topical[:, :_NEAR][speaks]
        words = self._words.table[topical[:, _NEAR:]].tolist()
        betrays = (u[:, 2 * _NEAR + 3] < ANCHOR_BETRAYS * strength).tolist()
        lengths = (1 + u[:, 2 * _NEAR + 4] * 3).astype(np.int64).tolist()
        phrases = (u[:, 2 * _NEAR + 5] * len(GENERIC_ANCHORS)).astype(np.int64).tolist()
        anchors = [
            " ".join(words[:length]) if betrayed else GENERIC_ANCHORS[phrase]
            for words, betrayed, length, phrase in zip(words, betrays, lengths, phrases, strict=True)
        ]
        return anchors, offsets.tolist()


LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link as a page shows it."""

    target: Url
    text: str


@dataclass(frozen=True, slots=True)
class PageLayout:
    """What a page shows, in its order; texts beside links have the blanks that part them."""

    url: Url
    title: str
    navigation: Sequence[Anchor]
    paragraphs: Sequence[Sequence[str | Anchor]]
    footer: str


def paragraphs(
    words: Sequence[str], ends: Sequence[int], anchors: Sequence[Anchor], offsets: Sequence[int]
) -> list[list[str | Anchor]]:
    """Words parted into paragraphs, with each anchor after as many words as its offset says."""
    made: list[list[str | Anchor]] = []
    start, number = 0, 0
    for end in ends:
        parts: list[str | Anchor] = []
        while number < len(anchors) and offsets[number] < end:
            before = " ".join(words[start : offsets[number]])
            if parts:
                parts.append(f" {before} " if before else " ")
            elif before:
                parts.append(before + " ")
            parts.append(anchors[number])
            start = offsets[number]
            number += 1
        rest = " ".join(words[start:end])
        parts.append(f" {rest}" if parts else rest)
        made.append(parts)
        start = end
    return made


def render_html(layout: PageLayout) -> bytes:
    """The page as a server sends it."""
    body = "".join(f"<p>{''.join(map(_shown, parts))}</p>" for parts in layout.paragraphs)
    return (
        f'<!doctype html><html lang="{LANGUAGE}"><head><meta charset="utf-8"><title>{layout.title}</title></head>'
        f"<body><nav>{''.join(map(_shown, layout.navigation))}</nav><main><h1>{layout.title}</h1>{body}</main>"
        f"<footer><p>{layout.footer}</p></footer></body></html>"
    ).encode()


def read(layout: PageLayout) -> Page:
    """The page as `Reader(stem=True)` reads its HTML: one blank between texts, and one more before each link."""
    texts: list[str] = []
    links: list[Link] = []
    place = 0
    for anchor in layout.navigation:
        texts += ("", anchor.text)
        links.append(Link(anchor.target, anchor.text, "", place + 1))
        place += len(anchor.text) + 2
    main_from = place
    texts.append(layout.title)
    place += len(layout.title) + 1
    for parts in layout.paragraphs:
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
                place += len(part) + 1
            else:
                texts += ("", part.text)
                links.append(Link(part.target, part.text, "", place + 1))
                place += len(part.text) + 2
    texts.append(layout.footer)
    text = " ".join(texts)
    words = FoldedWords(folded(f"{layout.title} {text}"), stem=True)
    codes = words.codes
    return Page(
        url=layout.url,
        title=layout.title,
        text=text,
        main=text[main_from : place - 1],
        words=words,
        links=tuple(links),
        language=LANGUAGE,
        digest=digest_of(codes),
        fingerprint=fingerprint_of(codes),
    )


def _shown(part: str | Anchor) -> str:
    return part if isinstance(part, str) else f'<a href="{part.target}">{part.text}</a>'
