"""Tiny named worlds: whole webs small enough to draw, as pages by URL.

CHAIN      a -> b -> c -> d
STAR       a hub that links to eight leaves, each of which links back
LOOP       a -> b -> c -> a
TWO_SITES  two sites of three pages; the first page of one links to the first of the other
TOPICAL    one seed, and behind it twenty pages on bees and twenty on ships, each linking mostly to its own kind
"""

import random
from collections.abc import Sequence

from lycosa.vocabulary.records import Url


def html(title: str, text: str, links: Sequence[str | tuple[str, str]] = ()) -> bytes:
    """A page; a link is a URL, or a URL and its anchor text."""
    pairs = [link if isinstance(link, tuple) else (link, link.rstrip("/").rpartition("/")[2]) for link in links]
    anchors = "".join(f'<li><a href="{target}">{anchor}</a></li>' for target, anchor in pairs)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><h1>{title}</h1><p>{text}</p><ul>{anchors}</ul></body></html>"
    ).encode()


def _chain(names: str, *, closed: bool = False) -> dict[Url, bytes]:
    urls = [Url(f"http://chain.example/{name}") for name in names]
    following = [*urls[1:], urls[0]] if closed else urls[1:]
    pages = {
        url: html(f"Page {url[-1]}", f"The page {url[-1]}, and one link.", [to])
        for url, to in zip(urls, following, strict=False)
    }
    return pages if closed else pages | {urls[-1]: html(f"Page {names[-1]}", "The last page.")}


def _star(leaves: int) -> dict[Url, bytes]:
    hub = Url("http://star.example/")
    urls = [Url(f"http://star.example/leaf{number}") for number in range(leaves)]
    return {hub: html("Hub", "Everything starts here.", urls)} | {
        url: html(f"Leaf {number}", f"Leaf number {number}.", [hub]) for number, url in enumerate(urls)
    }


def _two_sites() -> dict[Url, bytes]:
    first, second = "http://one.example/", "http://two.test/"
    return {
        Url(first): html("One", "The first site.", [first + "a", first + "b", second]),
        Url(first + "a"): html("One a", "A page of the first site.", [first]),
        Url(first + "b"): html("One b", "Another page of the first site.", [first]),
        Url(second): html("Two", "The second site.", [second + "a", second + "b"]),
        Url(second + "a"): html("Two a", "A page of the second site.", [second]),
        Url(second + "b"): html("Two b", "Another page of the second site.", [second]),
    }


_WORDS = {
    "bees": "bee hive honey queen swarm nectar pollen wax comb drone brood keeper smoker apiary mead",
    "ships": "ship sail mast rudder anchor harbour keel deck crew tide rope captain voyage hull compass",
}
_PLAIN = "the of and a in to with for on from every morning some people small good old long between under while near"
TOPICAL_SEED = Url("http://topical.example/")


def topic_of(url: str) -> str | None:
    """What a page of TOPICAL is about: bees, ships, or nothing for the seed."""
    return next((topic for topic in _WORDS if f"://{topic}." in url), None)


def _topical(each: int) -> dict[Url, bytes]:
    chance = random.Random(7)
    urls = {topic: [Url(f"http://{topic}.example/{number}") for number in range(each)] for topic in _WORDS}
    anchor = {url: " ".join(chance.sample(_WORDS[topic].split(), 2)) for topic in urls for url in urls[topic]}
    pages = {}
    for topic, other in (("bees", "ships"), ("ships", "bees")):
        for number, url in enumerate(urls[topic]):
            words = chance.choices(_WORDS[topic].split(), k=40) + chance.choices(_PLAIN.split(), k=60)
            chance.shuffle(words)
            following = urls[topic][(number + 1) % each]
            links = [following, *chance.sample(urls[topic], 3), chance.choice(urls[other])]
            pages[url] = html(anchor[url].title(), " ".join(words) + ".", [(link, anchor[link]) for link in links])
    doors = [urls[topic][number] for number in (0, each // 2) for topic in _WORDS]
    return {TOPICAL_SEED: html("Start", "A few places to begin.", [(door, anchor[door]) for door in doors])} | pages


CHAIN = _chain("abcd")
STAR = _star(8)
LOOP = _chain("abc", closed=True)
TWO_SITES = _two_sites()
TOPICAL = _topical(20)
