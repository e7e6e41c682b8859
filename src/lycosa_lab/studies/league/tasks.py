"""The tasks of the league: topics with known pages, the web visible to their crawls, examples and starts.

A topic is held out if it is reserved for the final tables, so that nothing may be fitted to it; parameters may be
fitted to the other topics, for development.
"""

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from time import process_time

import xxhash
from msgspec.structs import replace

from lycosa.reading import Reader
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url
from lycosa.vocabulary.urls import site_of
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.wikipedia_schools import HOME_PAGE, SUBJECT_INDEX, index_pages, without_related_subjects

MIN_PAGES, MAX_PAGES = 30, 600  # of a topic
MIN_REACHABLE = 10  # reachable pages of a topic; a task with fewer is left out
MIN_UNIVERSITY_PAGES = 400  # of a site in WebKB that counts as a university; there are four
START_DISTANCE = 3  # links between the start and the topic, if a world has no front page
CACHED_PAGES = 2_500  # parsed pages, per process
# Topics whose crawls were looked at when constants of the judge and parts of `hunter` were chosen: they are neither for
# development nor held out.
INSPECTED_TOPICS = frozenset(
    (
        "Science/Biology/Dinosaurs",
        "Design_and_Technology/Railway_transport",
        "Everyday_life/Food_and_agriculture",
        "Geography/Geology_and_geophysics",
        "People/Writers_and_critics",
        "Science/Physics/Space_Astronomy",
        "cornell.edu student",
        "cornell.edu course",
        "utexas.edu student",
        "utexas.edu faculty",
    )
)
DEVELOPMENT_SUBJECTS = ("Art", "Business_Studies", "Citizenship", "Countries", "IT", "Religion")
_DEVELOPMENT_DIVISOR = 3  # topics whose names hash to a multiple of it are for development
_EXCLUDED_CLASSES = frozenset(("universities/other", "universities/department"))

WITHIN, AFAR = "within", "afar"  # whether a crawl starts from its examples, or from a page some links away
STARTS = (WITHIN, AFAR)
POSITIVES, NEGATIVES = "positives", "negatives"
GIVEN = (POSITIVES, NEGATIVES)  # what the user gives: only pages on the topic, or also pages off the topic


@dataclass(frozen=True)
class LeagueTopic:
    """A topic of a world.

    hidden: pages that would reveal the topic, such as lists of its pages.
    site: the only site to crawl; None for the whole world.
    front_page: start of a crawl from afar; None for a page some links away.
    """

    name: str
    pages: frozenset[Url]
    is_held_out: bool
    hidden: frozenset[Url] = frozenset()
    site: str | None = None
    front_page: Url | None = None


def is_held_out(world: str, topic: str) -> bool:
    """Whether a topic is reserved for the final table, so that nothing may be fitted to it.

    In Wikipedia for Schools, the topics below six subjects are for development, in WebKB none; in other worlds, those
    whose names hash to a multiple of three.
    """
    if world == "wikipedia-schools":
        return topic.partition("/")[0] not in DEVELOPMENT_SUBJECTS
    return world == "webkb" or xxhash.xxh3_64_intdigest(topic.encode()) % _DEVELOPMENT_DIVISOR != 0


def topics_of(world: StudyWorld, *, held_out: int, development: int, min_pages: int = MIN_PAGES) -> list[LeagueTopic]:
    """The topics of a league, at most so many of each kind, chosen by hashes of their names; none of
    `INSPECTED_TOPICS`.

    min_pages: of a topic.
    """
    candidates = [
        topic
        for topic in _ALL_TOPICS.get(world.name, _labelled_topics)(world)
        if min_pages <= len(topic.pages) <= MAX_PAGES and topic.name not in INSPECTED_TOPICS
    ]
    candidates.sort(key=lambda topic: xxhash.xxh3_64_intdigest(f"order {topic.name}".encode()))
    chosen = [topic for topic in candidates if topic.is_held_out][:held_out]
    if len(chosen) < 2:
        raise UsageError(
            f"the world {world.name} has {len(chosen)} held-out topics of {min_pages} to {MAX_PAGES} pages, and 2"
            " are needed; worlds with topics are synthetic, wikipedia-schools, webkb and debian-docs"
        )
    return chosen + [topic for topic in candidates if not topic.is_held_out][:development]


def _labelled_topics(world: StudyWorld) -> Iterator[LeagueTopic]:
    """The topics that the world's own labels give its pages."""
    for name, pages in _pages_by(world, world.topic).items():
        yield LeagueTopic(name, frozenset(pages), is_held_out(world.name, name))


def _subjects(world: StudyWorld) -> Iterator[LeagueTopic]:
    """The subjects of Wikipedia for Schools, each with those below it; their index pages are hidden."""
    directory = world.directory()
    for category in directory:
        included = [
            each for each in directory if each.name == category.name or each.name.startswith(f"{category.name}/")
        ]
        yield LeagueTopic(
            category.name,
            frozenset(entry.url for each in included for entry in each.entries),
            is_held_out(world.name, category.name),
            hidden=frozenset(page for each in included for page in index_pages(each.name)),
            front_page=SUBJECT_INDEX,
        )


def _classes(world: StudyWorld) -> Iterator[LeagueTopic]:
    """The classes of pages of each university of WebKB, seen from its department's home page."""
    universities = [site for site, pages in _pages_by(world, site_of).items() if len(pages) >= MIN_UNIVERSITY_PAGES]
    for name, pages in _pages_by(world, world.topic).items():
        for site in universities if name not in _EXCLUDED_CLASSES else ():
            homes = (url for url in world.urls() if world.topic(url) == "universities/department")
            yield LeagueTopic(
                f"{site} {name.rpartition('/')[2]}",
                frozenset(url for url in pages if site_of(url) == site),
                is_held_out(world.name, name),
                site=site,
                front_page=min((url for url in homes if site_of(url) == site), key=len, default=None),
            )


def _manuals(world: StudyWorld) -> Iterator[LeagueTopic]:
    """The subjects of Debian's manuals, each over all packages on it."""
    for name, pages in _pages_by(world, lambda url: (world.topic(url) or "").partition("/")[0]).items():
        yield LeagueTopic(name, frozenset(pages), is_held_out(world.name, name))


_ALL_TOPICS: Mapping[str, Callable[[StudyWorld], Iterator[LeagueTopic]]] = {
    "wikipedia-schools": _subjects,
    "webkb": _classes,
    "debian-docs": _manuals,
}


def _pages_by(world: StudyWorld, group_of: Callable[[Url], str | None]) -> dict[str, list[Url]]:
    pages: dict[str, list[Url]] = defaultdict(list)
    for url in world.urls():
        name = group_of(url)
        if name:
            pages[name].append(url)
    return pages


class WorldPages:
    """The pages of a world without robots metas, and without lines that reveal subjects.

    cached: parsed pages that are kept.
    """

    def __init__(self, world: StudyWorld, *, cached: int = CACHED_PAGES):
        self.world = world
        self.read = lru_cache(maxsize=cached)(self._read)
        self.seconds_parsing = 0.0

    def html(self, url: Url) -> bytes | None:
        html = self.world.page(url)
        if html is not None and self.world.name == "wikipedia-schools":
            return without_related_subjects(html)
        return html

    def _read(self, url: Url, reader: Reader) -> Page | None:
        began, html = process_time(), self.html(url)
        page = None if html is None else reader(Fetch(url, Outcome.OK, at=0.0, content=html))
        if page is not None:
            links = tuple(link for link in page.links if link.target in self.world)
            page = replace(page, links=links, noindex=False, nofollow=False)
        self.seconds_parsing += process_time() - began
        return page


class TopicWeb:
    """The web visible to crawls for a topic: the pages of its site or of all sites, without hidden ones."""

    def __init__(self, pages: WorldPages, topic: LeagueTopic):
        self.topic = topic
        self._pages = pages
        self._world = pages.world

    def __contains__(self, url: Url) -> bool:
        topic = self.topic
        return url in self._world and url not in topic.hidden and (topic.site is None or site_of(url) == topic.site)

    @property
    def seconds_parsing(self) -> float:
        return self._pages.seconds_parsing

    @cached_property
    def urls(self) -> list[Url]:
        return [url for url in self._world.urls() if url in self]

    def html(self, url: Url) -> bytes | None:
        return self._pages.html(url) if url in self else None

    def read(self, url: Url, reader: Reader) -> Page | None:
        """The page with those of its links that lead to pages of this web."""
        page = self._pages.read(url, reader) if url in self else None
        if page is None or all(link.target in self for link in page.links):
            return page
        return replace(page, links=tuple(link for link in page.links if link.target in self))

    @cached_property
    def links(self) -> Mapping[Url, Sequence[Url]]:
        """The links between its pages, without parsing them."""
        revealing_links = self._subjects_of_articles()
        return {
            url: [
                target
                for target in self._world.out_links(url)
                if target in self and target not in revealing_links.get(url, ())
            ]
            for url in self.urls
        }

    def _subjects_of_articles(self) -> Mapping[Url, set[Url]]:
        """For each article of Wikipedia for Schools the pages that its line "Related subjects" links to."""
        subjects: dict[Url, set[Url]] = defaultdict(set)
        if self._world.name == "wikipedia-schools":
            for category in self._world.directory():
                for entry in category.entries:
                    subjects[entry.url].update((HOME_PAGE, *index_pages(category.name)))
        return subjects

    def reachable(self, seeds: Iterable[Url]) -> set[Url]:
        """The pages reachable from the seeds, including these."""
        return set(_distances(seeds, self.links))

    def far_page(self, rng: random.Random) -> Url | None:
        """A page `START_DISTANCE` links from the topic, or fewer if there is none, that reaches half of the topic."""
        backward: dict[Url, list[Url]] = defaultdict(list)
        for url, targets in self.links.items():
            for target in targets:
                backward[target].append(url)
        by_distance: dict[int, list[Url]] = defaultdict(list)
        for url, distance in _distances(sorted(self.topic.pages), backward).items():
            by_distance[distance].append(url)
        for distance in range(START_DISTANCE, 0, -1):
            pages = sorted(by_distance[distance])
            for page in rng.sample(pages, min(10, len(pages))):
                if 2 * len(self.reachable([page]) & self.topic.pages) >= len(self.topic.pages):
                    return page
        return None


def _distances(seeds: Iterable[Url], links: Mapping[Url, Sequence[Url]]) -> dict[Url, int]:
    """How many links away from the nearest seed each page is."""
    found = dict.fromkeys(seeds, 0)
    queue = deque(found)
    while queue:
        url = queue.popleft()
        for target in links.get(url, ()):
            if target not in found:
                found[target] = found[url] + 1
                queue.append(target)
    return found


@dataclass(frozen=True)
class LeagueTask:
    """A topic to crawl for, with the input of the crawler.

    start: one of `STARTS`.
    given: one of `GIVEN`.
    truth: the pages to find: those of the topic that are reachable from the seeds, without examples.
    """

    web: TopicWeb
    start: str
    given: str
    examples: Sequence[Url]
    negatives: Sequence[Url]
    seeds: Sequence[Url]
    truth: frozenset[Url]


def task_of(web: TopicWeb, start: str, given: str, *, examples: int, negatives: int, seed: int) -> LeagueTask | None:
    """A task on a topic; None if too few of its pages are reachable. All tasks of a topic share their examples.

    examples, negatives: how many pages the user gives, on the topic and off it, or fewer if there are fewer.
    seed: of random choices.
    """
    topic, rng = web.topic, random.Random(f"{seed} {web.topic.name}")
    linking = sorted(url for url in topic.pages if web.links.get(url))  # examples must have links
    good = sorted(rng.sample(linking, min(examples, len(linking))))
    off_topic = sorted(set(web.urls) - topic.pages)
    bad = sorted(rng.sample(off_topic, min(negatives, len(off_topic))))
    seeds = good
    if start == AFAR:
        far = topic.front_page or web.far_page(rng)
        seeds = [far] if far is not None else []
    truth = frozenset((web.reachable(seeds) & topic.pages) - set(good))
    if len(truth) < MIN_REACHABLE:
        return None
    return LeagueTask(web, start, given, good, bad if given == NEGATIVES else (), seeds, truth)
