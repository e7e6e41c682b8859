"""One page of the synthetic world: its layout, its HTML, and the `Page` that `Reader` would parse from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lycosa.reading.fingerprint import digest_of, fingerprint_of
from lycosa.reading.words import FoldedWords
from lycosa.vocabulary.records import Link, Page, Url
from lycosa.vocabulary.text import folded

LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class TextLink:
    """A link with its anchor text."""

    target: Url
    text: str


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The content of a page, in order; texts next to links include the blanks between them."""

    url: Url
    title: str
    navigation: Sequence[TextLink]
    paragraphs: Sequence[Sequence[str | TextLink]]
    footer: str


def split_paragraphs(
    words: Sequence[str], ends: Sequence[int], links: Sequence[TextLink], offsets: Sequence[int]
) -> list[list[str | TextLink]]:
    """Words split into paragraphs, with each link at its offset.

    ends, offsets: numbers of words before the end of each paragraph, and before each link.
    """
    found: list[list[str | TextLink]] = []
    start, number = 0, 0
    for end in ends:
        parts: list[str | TextLink] = []
        while number < len(links) and offsets[number] < end:
            before = " ".join(words[start : offsets[number]])
            if parts:
                parts.append(f" {before} " if before else " ")
            elif before:
                parts.append(before + " ")
            parts.append(links[number])
            start = offsets[number]
            number += 1
        rest = " ".join(words[start:end])
        parts.append(f" {rest}" if parts else rest)
        found.append(parts)
        start = end
    return found


def _render_part(part: str | TextLink) -> str:
    return part if isinstance(part, str) else f'<a href="{part.target}">{part.text}</a>'


def render_html(layout: PageLayout) -> bytes:
    """The HTML of a page."""
    body = "".join(f"<p>{''.join(map(_render_part, parts))}</p>" for parts in layout.paragraphs)
    return (
        f'<!doctype html><html lang="{LANGUAGE}"><head><meta charset="utf-8"><title>{layout.title}</title></head>'
        f"<body><nav>{''.join(map(_render_part, layout.navigation))}</nav><main><h1>{layout.title}</h1>{body}</main>"
        f"<footer><p>{layout.footer}</p></footer></body></html>"
    ).encode()


def parsed_page(layout: PageLayout) -> Page:
    """The `Page` that `Reader(stem="porter")` makes of the HTML: texts joined by blanks, one more before a link."""
    texts: list[str] = []
    links: list[Link] = []
    position = 0
    for link in layout.navigation:
        texts += ("", link.text)
        links.append(Link(link.target, link.text, "", position + 1))
        position += len(link.text) + 2
    main_from = position
    texts.append(layout.title)
    position += len(layout.title) + 1
    for parts in layout.paragraphs:
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
                position += len(part) + 1
            else:
                texts += ("", part.text)
                links.append(Link(part.target, part.text, "", position + 1))
                position += len(part.text) + 2
    texts.append(layout.footer)
    text = " ".join(texts)
    words = FoldedWords(folded(f"{layout.title} {text}"), stem="porter")
    codes = words.codes
    return Page(
        url=layout.url,
        title=layout.title,
        text=text,
        main=text[main_from : position - 1],
        words=words,
        links=tuple(links),
        language=LANGUAGE,
        digest=digest_of(codes),
        fingerprint=fingerprint_of(codes),
    )
