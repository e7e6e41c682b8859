"""Two baselines outside the registry: an oracle, and a short script.

Both follow links as the others do, without a session, a judge or an archive.
"""

import heapq
import math
import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from lycosa.reading import Reader
from lycosa.vocabulary.records import Page, Url
from lycosa.vocabulary.text import tokens_of

from .tasks import LeagueTask

ORACLE, SCRIPT = "oracle", "script"
_BACKGROUND = 200  # random pages, from which the script learns which words are common
_WORDS = 60  # of the topic, for the script
_MAX_ANCHOR_SCORE = 2.0  # what an anchor can count
_DENSITY_WEIGHT = 10.0  # of linking pages, relative to anchors


def oracle(task: LeagueTask, pages: int) -> list[Url]:
    """The pages in the order of a crawler that knows the truth but must follow links.

    It fetches a page on the topic if a link leads to one, else the first page on the shortest path to the nearest one.
    """
    links, wanted = task.web.links, set(task.truth)
    order: list[Url] = []
    waiting = dict.fromkeys(task.seeds)  # in the order in which they were found
    known = set(waiting)
    good = deque(url for url in waiting if url in wanted)
    while waiting and len(order) < pages:
        while good and good[0] not in waiting:
            good.popleft()
        url = good.popleft() if good else _next_toward(waiting, wanted, links, known)
        del waiting[url]
        order.append(url)
        wanted.discard(url)
        for target in links[url]:
            if target not in known:
                known.add(target)
                waiting[target] = None
                if target in wanted:
                    good.append(target)
    return order


def _next_toward(waiting: Iterable[Url], wanted: set[Url], links: Mapping[Url, Sequence[Url]], known: set[Url]) -> Url:
    """The waiting page with the shortest path to a wanted one; the first if there is no path."""
    first = {url: url for url in waiting}
    queue = deque(first)
    while queue and wanted:
        url = queue.popleft()
        if url in wanted:
            return first[url]
        for target in links[url]:
            if target not in first and target not in known:
                first[target] = first[url]
                queue.append(target)
    return next(iter(first.values()))


class Script:
    """Best first by words of the topic: in anchors and URLs, and how dense they are on the linking pages.

    The words are the 60 of highest tf·idf over the examples, preferring those that two examples share; it does not
    learn. It is what somebody would write in an hour, and so a minimum standard for every strategy.
    """

    def __init__(self, task: LeagueTask, reader: Reader, *, seed: int):
        self._task = task
        self._reader = reader
        rng = random.Random(f"{seed} {task.web.topic.name} background")
        background = self._pages(rng.sample(task.web.urls, min(_BACKGROUND, len(task.web.urls))))
        document_frequencies = Counter(word for page in background for word in page.terms)
        examples = self._pages(task.examples)
        example_frequencies = Counter(word for page in examples for word in page.terms)
        weights: dict[str, float] = defaultdict(float)
        for page in examples:
            for word, count in page.terms.items():
                if 2 * document_frequencies[word] < len(background):
                    weights[word] += (1 + math.log(count)) * math.log(
                        len(background) / (1 + document_frequencies[word])
                    )
        best = sorted(weights, key=lambda word: (-weights[word] * (example_frequencies[word] > 1), word))[:_WORDS]
        self._weights = {word: weights[word] / weights[best[0]] for word in best}

    def _pages(self, urls: Iterable[Url]) -> list[Page]:
        found = (self._task.web.read(url, self._reader) for url in urls)
        return [page for page in found if page is not None]

    def crawl(self, pages: int) -> list[Url]:
        """The pages in the order in which it fetches them."""
        order: list[Url] = []
        done: set[Url] = set()
        anchors: dict[Url, float] = defaultdict(float)
        parents: dict[Url, list[float]] = defaultdict(list)
        queue = [(-math.inf, number, url) for number, url in enumerate(self._task.seeds)]
        number = len(queue)
        while queue and len(order) < pages:
            _, _, url = heapq.heappop(queue)
            if url in done:
                continue  # an outdated entry of lower priority
            done.add(url)
            page = self._task.web.read(url, self._reader)
            if page is None:
                continue
            order.append(url)
            density = self._density(page)
            for link in page.links:
                target = link.target
                if target in done:
                    continue
                words = set(
                    tokens_of(f"{link.anchor} {target.partition('://')[2].partition('/')[2].replace('_', ' ')}")
                )
                value = sum(self._weights.get(word, 0.0) for word in words)
                anchors[target] = max(anchors[target], min(value, _MAX_ANCHOR_SCORE))
                parents[target].append(density)
                priority = anchors[target] + _DENSITY_WEIGHT * sum(parents[target]) / len(parents[target])
                number += 1
                heapq.heappush(queue, (-priority, number, target))
        return order

    def _density(self, page: Page) -> float:
        found = sum(self._weights.get(word, 0.0) * count for word, count in page.terms.items())
        return found / (page.words.length + 50)
