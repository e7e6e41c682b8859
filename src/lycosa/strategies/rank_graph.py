"""The graph on which pages are ranked, and PageRank on it.

>>> ranks([0, 1], [1, 2], 3, damping=0.8, tolerance=1e-9).round(3).tolist()
[0.573, 1.031, 1.397]
"""

from collections.abc import Iterable, Mapping

import numpy as np

from lycosa.vocabulary.records import Url

Ranks = np.ndarray[tuple[int], np.dtype[np.float64]]


def ranks_in(
    links: Mapping[Url, Iterable[Url]], others: Iterable[Url], *, damping: float, tolerance: float
) -> tuple[dict[Url, int], Ranks]:
    """The numbers and the ranks of pages whose links are known and of other URLs; links to elsewhere do not count."""
    numbers = {url: number for number, url in enumerate(dict.fromkeys([*links, *others]))}
    sources: list[int] = []
    targets: list[int] = []
    for page, its_links in links.items():
        inside = [numbers[target] for target in its_links if target in numbers]
        targets += inside
        sources += [numbers[page]] * len(inside)
    return numbers, ranks(sources, targets, len(numbers), damping=damping, tolerance=tolerance)


def ranks(sources: Iterable[int], targets: Iterable[int], count: int, *, damping: float, tolerance: float) -> Ranks:
    """PR(p) = (1 - damping) + damping · Σ PR(d) / |out(d)| over the pages d that link to p; the mean is 1.

    A page without links counts as linking to every page. All start at 1, and it goes on until no rank changes by more
    than `tolerance` in a round.
    """
    links_from, links_to = np.fromiter(sources, np.intp), np.fromiter(targets, np.intp)
    out_degree = np.bincount(links_from, minlength=count)
    is_dangling = out_degree == 0
    share = damping / out_degree[links_from]
    rank = np.ones(count)
    change = np.inf
    while count and change > tolerance:
        handed_on = np.bincount(links_to, rank[links_from] * share, count)
        everywhere = damping * rank[is_dangling].sum() / count
        new = handed_on + (1 - damping + everywhere)
        change = float(np.abs(new - rank).max())
        rank = new
    return rank
