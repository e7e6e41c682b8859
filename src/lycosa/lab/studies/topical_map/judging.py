"""What is kept of a crawl: curves over its downloads, and totals."""

from collections.abc import Sequence, Set

from lycosa.vocabulary.records import Plain, Url

from .crawls import Trace
from .pages import JudgedPages

POINTS = 60  # of every curve
START = 0.1  # of the downloads of a crawl, in which it starts
CURVES = ("good", "seen", "new", "new_good")


def points_of(downloads: int) -> list[int]:
    """Where along a crawl curves are drawn."""
    return sorted({max(1, round(downloads * place / POINTS)) for place in range(1, POINTS + 1)})


def judged(trace: Trace, pages: JudgedPages, topic: str, seen: Set[Url], *, downloads: int) -> Plain:
    """Counts of pages after every so many downloads; copies of earlier downloads come free.

    A page is good by what it says now, whatever an old copy of it says; it is new where the first crawl did not have
    it. Pages that are not there are none of these.

    seen: the pages that the first crawl had.
    """
    counts = dict.fromkeys((*CURVES, "true", "dead", "downloads", "copies", "outdated"), 0)
    points = points_of(downloads)
    curves: dict[str, list[int]] = {name: [] for name in CURVES}
    for request in trace:
        url = request.url
        counts["copies" if request.is_copy else "downloads"] += 1
        now = pages.judged(url)
        counts["outdated"] += request.is_copy and (now is None or now.page.digest != request.digest)
        if now is None:
            counts["dead"] += 1
        else:
            is_good, is_seen = pages.is_good(url, topic), url in seen
            counts["good"] += is_good
            counts["seen"] += is_seen
            counts["new"] += not is_seen
            counts["new_good"] += is_good and not is_seen
            counts["true"] += pages.world.topic(url) == topic
        if not request.is_copy and counts["downloads"] == points[min(len(curves["good"]), len(points) - 1)]:
            for name in CURVES:
                curves[name].append(counts[name])
    for name in CURVES:  # a crawl that found no more stays where it was
        curves[name] += [counts[name]] * (len(points) - len(curves[name]))
        curves[name][-1] = counts[name]
    return {**counts, "start": _start(trace, pages, topic, downloads), "curves": curves}


def _start(trace: Trace, pages: JudgedPages, topic: str, downloads: int) -> float:
    """The share of good pages among those asked for first."""
    first: Sequence[Url] = [request.url for request in trace[: max(1, round(START * downloads))]]
    return sum(pages.is_good(url, topic) for url in first) / max(1, len(first))
