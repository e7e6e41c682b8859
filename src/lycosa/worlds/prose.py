"""Sentences, titles and pages for webs that are made up: English in its look, drawn at random from word lists."""

import random
from collections.abc import Sequence
from itertools import accumulate

from lycosa.vocabulary.records import Url

from .words import COMMON, LEADS, SENTENCES, TITLES, TOPICS

Anchor = tuple[Url, str]


def title(topic: str, chance: random.Random) -> str:
    """A heading that often, not always, betrays its topic."""
    words = [chance.choice(TOPICS[topic] if chance.random() < 0.6 else COMMON) for _ in range(2)]
    return _capital(chance.choice(TITLES).format(*words))


def sentences(count: int, topic: str | None, aside: str, chance: random.Random) -> list[str]:
    """Sentences on a topic that now and then stray to another; on nothing in particular where there is no topic."""
    words = chance.sample(COMMON, 60)
    weights = [1.0] * len(words)
    if topic is not None:
        intensity = chance.uniform(0.15, 0.5)  # words of the topic for each common word
        own, other = chance.sample(TOPICS[topic], 28), chance.sample(TOPICS[aside], 8)
        words += own + other
        weights += [intensity * 60 / 28] * len(own) + [0.1 * 60 / 8] * len(other)
    drawn = iter(chance.choices(words, cum_weights=list(accumulate(weights)), k=5 * count))
    patterns = chance.choices(SENTENCES, k=count)
    return [_capital(pattern.format(*(next(drawn) for _ in range(pattern.count("{}"))))) for pattern in patterns]


def pointers(links: Sequence[Anchor], chance: random.Random) -> list[str]:
    """A sentence for each link, as HTML."""
    return [f"{chance.choice(LEADS)} {_a(link)}." for link in links]


def html(
    heading: str,
    text: Sequence[str],
    *,
    navigation: Sequence[Anchor],
    footer: Sequence[Anchor],
    listed: Sequence[Anchor] = (),
) -> bytes:
    """A page with navigation above, paragraphs, a list of links if there is one, and a footer."""
    paragraphs = "".join(f"<p>{' '.join(text[at : at + 5])}</p>\n" for at in range(0, len(text), 5))
    items = "".join(f"<li>{_a(link)}</li>\n" for link in listed)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title></head>\n'
        f"<body>\n<nav>{' | '.join(map(_a, navigation))}</nav>\n"
        f"<main><h1>{heading}</h1>\n{paragraphs}{f'<ul>{items}</ul>' if items else ''}</main>\n"
        f"<footer><p>{' | '.join(map(_a, footer))}</p>\n"
        "<p>All rights reserved. Please write to us with corrections.</p></footer>\n</body></html>\n"
    ).encode()


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _a(link: Anchor) -> str:
    return f'<a href="{link[0]}">{link[1]}</a>'
