"""How blogs come to link: the mechanisms of which both made-up blog worlds are made, in numpy, round by round."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Chance = np.random.Generator


@dataclass(frozen=True)
class Habits:
    """Of all links, the shares that are made in each way; the rest leads to any blog there is.

    again: to a blog that the blog has linked to before.
    onward: to a blog that a blog it links to links to.
    back: to a blog that links to it.
    copied: to whatever a link of late leads to, a blog in the talk of the day.
    at_home: of those that are copied or lead anywhere, the share that stays in the community of the blog.
    """

    again: float = 0.0
    onward: float = 0.3
    back: float = 0.1
    copied: float = 0.4
    at_home: float = 0.7

    def __post_init__(self) -> None:
        if min(self.again, self.onward, self.back, self.copied) < 0 or self.sum > 1:
            raise ValueError("shares of links must not be negative, nor come to more than 1")

    @property
    def sum(self) -> float:
        return self.again + self.onward + self.back + self.copied


class Rows:
    """Some links by one of their ends, of which any may be drawn."""

    def __init__(self, ends: Ints, others: Ints, size: int):
        self._starts = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=size), out=self._starts[1:])
        self._others = others[np.argsort(ends, kind="stable")]

    def drawn(self, nodes: Ints, chance: Chance) -> Ints:
        """For each node any of those at the other end of its links, -1 where it has none."""
        starts = self._starts[nodes]
        counts = self._starts[nodes + 1] - starts
        places = starts + (chance.random(len(nodes)) * counts).astype(np.int64)
        found = np.full(len(nodes), -1, np.int64)
        has_any = counts > 0
        found[has_any] = self._others[places[has_any]]
        return found


def targets_for(
    sources: Ints,
    ends: Ints,
    lately: Ints,
    born: Ints,
    community: Ints,
    pool: Ints,
    gone: Ints | None,
    habits: Habits,
    chance: Chance,
) -> Ints:
    """What each of the links leads to, given who makes them in the order of time.

    ends: where each round of links ends; what a round finds is what the rounds before it made.
    lately: where the links begin that a round may copy.
    born: how many blogs there are in each round; they are numbered by birth.
    community: of each blog, as a number.
    pool: blogs, in their order, each as often as it is likely to be met by a link that leads anywhere.
    gone: the round in which each blog ends, where some do; no link leads there any more.
    """
    targets = np.zeros(len(sources), np.int64)
    size = int(max(born.max(), sources.max() + 1))
    shares = np.cumsum([habits.again, habits.onward, habits.back, habits.copied])
    communities = int(community.max()) + 1
    at_homes = Rows(community[pool], pool, communities)
    begin = 0
    for number, end in enumerate(ends.tolist()):
        by = sources[begin:end]
        home = np.where(chance.random(len(by)) < habits.at_home, community[by], -1)
        found = _anyone(pool, at_homes, home, int(born[number]), chance)
        if begin:
            forth = Rows(sources[:begin], targets[:begin], size)
            back = Rows(targets[:begin], sources[:begin], size)
            start = min(int(lately[number]), begin - 1)
            talk = targets[start:begin]
            by_community = Rows(community[sources[start:begin]], talk, communities)
            ways = np.searchsorted(shares, chance.random(len(by)), side="right")
            again, onward, backward, copied = (np.flatnonzero(ways == way) for way in range(4))
            _put(found, again, forth.drawn(by[again], chance))
            read = forth.drawn(by[onward], chance)
            _put(found, onward, np.where(read < 0, -1, forth.drawn(np.maximum(read, 0), chance)))
            _put(found, backward, back.drawn(by[backward], chance))
            _put(found, copied, _copied(talk, by_community, home[copied], chance))
        if gone is not None:
            is_over = gone[found] <= number
            found[is_over] = _anyone(pool, at_homes, home[is_over], int(born[number]), chance)
        targets[begin:end] = found
        begin = end
    return targets


def _anyone(pool: Ints, by_community: Rows, home: Ints, born: int, chance: Chance) -> Ints:
    """For each number of a community a blog of it, where one was met that is born; else any that is."""
    there = max(1, int(np.searchsorted(pool, born)))
    found = pool[(chance.random(len(home)) * there).astype(np.int64)]
    at_home = np.flatnonzero(home >= 0)
    met = by_community.drawn(home[at_home], chance)
    _put(found, at_home, np.where(met < born, met, -1))
    return found


def _copied(talk: Ints, by_community: Rows, home: Ints, chance: Chance) -> Ints:
    """For each number of a community what one of its links leads to; one of any where it has none, or is -1."""
    found = talk[(chance.random(len(home)) * len(talk)).astype(np.int64)]
    at_home = np.flatnonzero(home >= 0)
    _put(found, at_home, by_community.drawn(home[at_home], chance))
    return found


def _put(found: Ints, places: Ints, values: Ints) -> None:
    """Takes over the values that are known."""
    found[places[values >= 0]] = values[values >= 0]


def heavy_tailed(places: Floats, exponent: float) -> Floats:
    """What each has, from where it stands in the order (0 to 1, the last has most): Pareto, with this
    exponent of the density."""
    return np.asarray((1.0 - places) ** (-1.0 / (exponent - 1.0)), dtype=np.float64)


def drawn_by(shares: Floats, count: int, chance: Chance) -> Ints:
    """So many numbers, each in proportion to its share."""
    sums = np.cumsum(shares)
    drawn: Ints = np.minimum(np.searchsorted(sums, chance.random(count) * sums[-1]), len(shares) - 1)
    return drawn
