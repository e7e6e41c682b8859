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
_BACKGROUND_PAGES = 200  # random pages, from which the script learns which words are common
_TOPIC_WORDS = 60  # of the topic, for the script
_MAX_ANCHOR_SCORE = 2.0  # the highest score of an anchor and its URL
_DENSITY_WEIGHT = 10.0  # of linking pages, relative to anchors
_DENSITY_OFFSET = 50  # words added to the length of a page, so that a short one is not dense by chance


def oracle(task: LeagueTask, pages: int) -> list[Url]:
    """The pages in the order of a crawler that knows the truth but must follow links.

    It fetches a page on the topic if a link leads to one, else the first page on the shortest path to the nearest one.
    """
    links, wanted = task.web.links, set(task.truth)
    order: list[Url] = []
    waiting = dict.fromkeys(task.seeds)  # in the order in which they were found
    known = set(waiting)
    on_topic = deque(url for url in waiting if url in wanted)
    while waiting and len(order) < pages:
        url = on_topic.popleft() if on_topic else _next_toward(waiting, wanted, links, known)
        del waiting[url]
        order.append(url)
        wanted.discard(url)
        for target in links[url]:
            if target not in known:
                known.add(target)
                waiting[target] = None
                if target in wanted:
                    on_topic.append(target)
    return order


def _next_toward(waiting: Iterable[Url], wanted: set[Url], links: Mapping[Url, Sequence[Url]], known: set[Url]) -> Url:
    """The waiting page with the shortest path to a wanted one; the first if there is no path."""
    first_step = {url: url for url in waiting}  # on the shortest path to each page reached
    queue = deque(first_step)
    while queue and wanted:
        url = queue.popleft()
        if url in wanted:
            return first_step[url]
        for target in links[url]:
            if target not in first_step and target not in known:
                first_step[target] = first_step[url]
                queue.append(target)
    return next(iter(first_step.values()))


class Script:
    """Best first by words of the topic: by those in a link's anchor and URL, and by their density on the linking pages.

    The words are the 60 of highest tf·idf summed over the examples; those that at least two examples have come first.
    The words do not change during a crawl. The script is what somebody would write in an hour, and so a minimum
    standard for every strategy.
    """

    def __init__(self, task: LeagueTask, reader: Reader, *, seed: int):
        self._task = task
        self._reader = reader
        rng = random.Random(f"{seed} {task.web.topic.name} background")
        background = self._pages(rng.sample(task.web.urls, min(_BACKGROUND_PAGES, len(task.web.urls))))
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
        best = sorted(weights, key=lambda word: (example_frequencies[word] < 2, -weights[word], word))[:_TOPIC_WORDS]
        self._weights = {word: weights[word] / weights[best[0]] for word in best}

    def _pages(self, urls: Iterable[Url]) -> list[Page]:
        found = (self._task.web.read(url, self._reader) for url in urls)
        return [page for page in found if page is not None]

    def crawl(self, pages: int) -> list[Url]:
        """The pages in the order in which it fetches them."""
        order: list[Url] = []
        ranked_for_good = set(self._task.seeds)  # seeds come first, and pages fetched do not come again
        anchor_scores: dict[Url, float] = defaultdict(float)
        densities: dict[Url, list[float]] = defaultdict(list)  # of the pages that link there
        queue = [(-math.inf, number, url) for number, url in enumerate(dict.fromkeys(self._task.seeds))]
        latest = {url: number for _, number, url in queue}  # the entry that counts for each waiting URL
        number = len(queue)
        while queue and len(order) < pages:
            _, entry_number, url = heapq.heappop(queue)
            if latest.get(url) != entry_number:
                continue  # an outdated entry
            del latest[url]
            ranked_for_good.add(url)
            page = self._task.web.read(url, self._reader)
            if page is None:
                continue
            order.append(url)
            density = self._density(page)
            for link in page.links:
                target = link.target
                if target in ranked_for_good:
                    continue
                words = set(
                    tokens_of(f"{link.anchor} {target.partition('://')[2].partition('/')[2].replace('_', ' ')}")
                )
                score = sum(self._weights.get(word, 0.0) for word in words)
                anchor_scores[target] = max(anchor_scores[target], min(score, _MAX_ANCHOR_SCORE))
                densities[target].append(density)
                priority = anchor_scores[target] + _DENSITY_WEIGHT * sum(densities[target]) / len(densities[target])
                number += 1
                latest[target] = number
                heapq.heappush(queue, (-priority, number, target))
        return order

    def _density(self, page: Page) -> float:
        found = sum(self._weights.get(word, 0.0) * count for word, count in page.terms.items())
        return found / (page.words.length + _DENSITY_OFFSET)
