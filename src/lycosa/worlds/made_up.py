"""A small web that nobody wrote: sites, sections and articles on a handful of topics, the same for the same seed.

A portal lists the sites. A site has a home page, sections and articles and is mostly, not only, about one topic.
Articles link to their section, to others of their topic on other sites, and to anything at all. The plan (which page
is where, about what) is made once; texts and links are drawn anew, from the page's own number, whenever asked for.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from lycosa.vocabulary.records import Host, Url
from lycosa.vocabulary.urls import host_of

from .prose import Anchor, html, pointers, sentences, title
from .words import COMMON, GENERIC_ANCHORS, PLACES, SECTIONS, TOPICS

PORTAL = Host("portal.example")
SITES_PER_DIRECTORY = 10
LISTED_PER_SECTION = 20


@dataclass(frozen=True, slots=True)
class Place:
    """One page in the plan of the web."""

    url: Url
    topic: str | None  # None for pages about nothing in particular
    title: str
    kind: str  # portal, home, about, section or article
    siblings: range = range(0)  # numbers of the articles of its section
    sections: range = range(0)  # numbers of the section pages of its site
    home: int = 0


class MadeUpWeb:
    """A made-up web of about `hosts` sites and exactly `pages` pages; the first topic is the largest.

    >>> web = MadeUpWeb(seed=3, hosts=5, pages=60)
    >>> web.front_page, len(web.urls()), web.page(Url("http://nowhere.example/")) is None
    ('http://portal.example/', 60, True)
    """

    def __init__(self, *, seed: int = 1, hosts: int = 30, pages: int = 2000, topics: int = 8):
        if not 1 <= topics <= len(TOPICS):
            raise ValueError(f"a made-up web has 1 to {len(TOPICS)} topics, not {topics}")
        if hosts < 2 or pages < 6 * hosts:
            raise ValueError(
                f"a made-up web has 2 or more hosts of at least 6 pages each, not {hosts} and {pages} pages"
            )
        self._seed = seed
        self.topics: tuple[str, ...] = tuple(TOPICS)[:topics]
        self._shares = [1 / math.sqrt(rank) for rank in range(1, topics + 1)]
        self._places: list[Place] = []
        self._plan(hosts, pages)
        self._number = {place.url: number for number, place in enumerate(self._places)}
        self.hosts: tuple[Host, ...] = tuple(dict.fromkeys(host_of(place.url) for place in self._places))
        self._private = frozenset(self.hosts[2::5])
        self._of_topic: dict[str | None, list[int]] = {topic: [] for topic in self.topics}
        for number, place in enumerate(self._places):
            self._of_topic.setdefault(place.topic, []).append(number)
        for numbers in self._of_topic.values():
            random.Random(f"{seed} {len(numbers)}").shuffle(numbers)  # the first in the list become the popular ones

    @property
    def front_page(self) -> Url:
        return self._places[0].url

    def urls(self) -> Sequence[Url]:
        """Every page that a well-behaved visitor can reach, the front page first."""
        return tuple(place.url for place in self._places)

    def topic(self, url: Url) -> str | None:
        """What the page is about; None for pages about nothing and for what is no page."""
        number = self._number.get(url)
        return None if number is None else self._places[number].topic

    def robots(self, host: Host) -> str | None:
        if host not in self.hosts:
            return None
        return f"User-agent: *\nDisallow:{' /private/' if host in self._private else ''}\n"

    def redirect(self, url: Url) -> Url | None:
        """Old addresses lead to the page that was there."""
        name = url.partition("/old/")[2].removesuffix(".html")
        if not (name.isascii() and name.isdigit() and len(name) < 10 and int(name) < len(self._places)):
            return None
        place = self._places[int(name)]
        return place.url if self._old_address(place) == url else None

    def links(self, url: Url) -> tuple[Url, ...]:
        """Where the page links to, in the order of the page, each target once."""
        number = self._number.get(url)
        if number is None:
            return ()
        navigation, body, footer = self._links(number)
        return tuple(dict.fromkeys(target for target, _ in (*navigation, *body, *footer)))

    def page(self, url: Url) -> bytes | None:
        """The HTML of a page, or a few bytes of PDF where a link promises that."""
        number = self._number.get(url)
        if number is not None:
            return self._render(number)
        if host_of(url) in self._private and url.endswith("/private/members.html"):
            return b"<!doctype html><title>Members</title><p>For members of this site only.</p>"
        if host_of(url) in self.hosts[1:2] and url.endswith("/leaflet.pdf"):
            return b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n%%EOF\n"
        return None

    # The plan

    def _plan(self, hosts: int, pages: int) -> None:
        chance = random.Random(f"{self._seed} plan")
        directories = math.ceil((hosts - 1) / SITES_PER_DIRECTORY)
        self._places.append(Place(Url(f"http://{PORTAL}/"), None, "The portal", "portal"))
        for number in range(1, directories + 1):
            url = Url(f"http://{PORTAL}/directory/{number}.html")
            self._places.append(Place(url, None, f"Directory, part {number}", "portal"))
        sizes = _shares_of(pages - len(self._places), [1 / math.sqrt(rank + 2) for rank in range(hosts - 1)], least=4)
        owed = {
            topic: share * pages / sum(self._shares) for topic, share in zip(self.topics, self._shares, strict=True)
        }
        sites: list[tuple[int, str]] = []
        for size in sizes:
            topic = max(owed, key=lambda name: owed[name])
            owed[topic] -= size
            sites.append((size, topic))
        chance.shuffle(sites)
        names: set[str] = {PORTAL}
        for size, topic in sites:
            self._plan_site(_new_name(topic, names, chance), size, topic, chance)

    def _plan_site(self, host: str, size: int, topic: str, chance: random.Random) -> None:
        home = len(self._places)
        count = min(len(SECTIONS), max(1, round(math.sqrt(size) / 1.5)), size - 3)
        sections = range(home + 2, home + 2 + count)
        lengths = _shares_of(size - 2 - count, [chance.uniform(0.5, 1.5) for _ in sections], least=1)
        starts = [sections.stop, *(sections.stop + total for total in accumulate(lengths))]
        name_of_site = host.partition(".")[0].replace("-", " ").title()
        origin = f"http://{host}"
        self._places.append(Place(Url(f"{origin}/"), topic, name_of_site, "home", range(0), sections, home))
        self._places.append(
            Place(Url(f"{origin}/about.html"), None, f"About {name_of_site}", "about", range(0), sections, home)
        )
        names = chance.sample(SECTIONS, count)
        subjects = [
            topic if order == 0 or chance.random() < 0.75 else self._any_topic(chance) for order in range(count)
        ]
        ranges = [range(starts[order], starts[order + 1]) for order in range(count)]
        for name, subject, inside in zip(names, subjects, ranges, strict=True):
            url = Url(f"{origin}/{name}/")
            self._places.append(
                Place(url, subject, f"{name.title()}: {name_of_site}", "section", inside, sections, home)
            )
        for name, subject, inside in zip(names, subjects, ranges, strict=True):
            for number in inside:
                about = subject if chance.random() < 0.85 else self._any_topic(chance)
                heading = title(about, chance)
                url = Url(f"{origin}/{name}/{heading.lower().replace(',', '').replace(' ', '-')}-{number - home}.html")
                self._places.append(Place(url, about, heading, "article", inside, sections, home))

    def _any_topic(self, chance: random.Random) -> str:
        return chance.choices(self.topics, self._shares)[0]

    def _old_address(self, place: Place) -> Url:
        return Url(f"http://{host_of(place.url)}/old/{self._number[place.url]}.html")

    # The pages

    def _links(self, number: int) -> tuple[list[Anchor], list[Anchor], list[Anchor]]:
        """The links of navigation, body and footer."""
        place = self._places[number]
        chance = random.Random(f"{self._seed} {number} links")
        if place.kind == "portal":
            return [(self.front_page, "Home")], self._portal_links(number), []
        navigation = [(self._places[place.home].url, "Home")]
        for section in place.sections:
            url = self._places[section].url
            navigation.append((url, url.rsplit("/", 2)[1].title()))
        origin = self._places[place.home].url
        footer = [(Url(origin + "about.html"), "About us"), (self.front_page, "Part of the portal")]
        if place.kind == "about":
            return navigation, [], footer
        targets: list[int] = []
        if place.kind == "section":
            targets += place.siblings[:LISTED_PER_SECTION]
        if place.kind == "article":
            following = number + 1 if number + 1 in place.siblings else place.siblings[0]
            targets += [following, *chance.choices(place.siblings, k=2)]
        if place.kind == "home":
            targets += [self._places[section].siblings[0] for section in place.sections]
        for _ in range(5 if place.kind == "article" else 3):
            kin = self._of_topic[place.topic]
            targets.append(_popular(kin, chance) if chance.random() < 0.7 else chance.randrange(len(self._places)))
        others = [target for target in dict.fromkeys(targets) if target != number]
        body = [(self._places[target].url, self._anchor(target, chance)) for target in others]
        if chance.random() < 0.05:
            body.append((self._old_address(self._places[chance.randrange(len(self._places))]), "an older note"))
        if chance.random() < 0.04:
            body.append((Url(f"{origin}missing/{number}.html"), "a page that was lost"))
        if place.kind == "home" and host_of(origin) in self._private:
            footer.append((Url(f"{origin}private/members.html"), "Members only"))
        if number == self._number[Url(f"http://{self.hosts[1]}/")]:
            footer.append((Url(f"{origin}leaflet.pdf"), "Our leaflet (PDF)"))
        return navigation, body, footer

    def _portal_links(self, number: int) -> list[Anchor]:
        if number == 0:
            return [(place.url, place.title) for place in self._places[1:] if place.kind == "portal"]
        homes = [Url(f"http://{host}/") for host in self.hosts[1:]]
        listed = homes[(number - 1) * SITES_PER_DIRECTORY : number * SITES_PER_DIRECTORY]
        return [(url, self._places[self._number[url]].title) for url in listed]

    def _anchor(self, target: int, chance: random.Random) -> str:
        return self._places[target].title if chance.random() < 0.65 else chance.choice(GENERIC_ANCHORS)

    def _render(self, number: int) -> bytes:
        place = self._places[number]
        chance = random.Random(f"{self._seed} {number} text")
        count = chance.randint(18, 45) if place.kind == "article" else chance.randint(4, 8)
        text = sentences(count, place.topic, self._any_topic(chance), chance)
        navigation, body, footer = self._links(number)
        if place.kind in ("portal", "section"):
            return html(place.title, text, navigation=navigation, listed=body, footer=footer)
        text[1:] = chance.sample(text[1:] + pointers(body, chance), len(text) - 1 + len(body))
        return html(place.title, text, navigation=navigation, footer=footer)


def _shares_of(total: int, weights: Sequence[float], *, least: int) -> list[int]:
    """Whole numbers that add up to `total`, none under `least`, in proportion to the weights as far as that goes."""
    spare = total - least * len(weights)
    bounds = [round(spare * part / sum(weights)) for part in accumulate(weights, initial=0.0)]
    return [least + high - low for low, high in pairwise(bounds)]


def _popular(numbers: Sequence[int], chance: random.Random) -> int:
    return numbers[int(len(numbers) * chance.random() ** 2)]


def _new_name(topic: str, taken: set[str], chance: random.Random) -> str:
    while True:
        word = chance.choice(TOPICS[topic] if chance.random() < 0.5 else COMMON)
        name = f"{word}-{chance.choice(PLACES)}.{chance.choice(('example', 'test'))}"
        if name not in taken:
            taken.add(name)
            return name
