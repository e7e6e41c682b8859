"""A made-up world of blogs that post, and link as they do, for some weeks."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Plain

from .blog_links import Chance, Floats, Habits, Ints, drawn_by, heavy_tailed, targets_for
from .timed import DAY, TimedGraph
from .timed_files import TimedLinks, timed_links

ROUNDS_A_DAY = 4
TALK = 2 * ROUNDS_A_DAY  # rounds for which a link is copied
EARLIER = 14.0  # days before the first one, so that some blogs are known by then
NIGHT = 0.6  # how much less is linked at night: 0 not at all less, 1 nothing
FIRST_DAY = 1_146_700_800.0  # 4 May 2006: any will do


class BlogPosts(TimedGraph):
    """Blogs that post over some days; some of them, the linkers, link to blogs as they do.

    A link leads to a blog linked to before (again), to one that a blog read links to (onward), to one that links here
    (back), to one that others linked to in the last two days (copied), so that some get a burst of links and then
    none, or to any, by its renown, every other time a linker; of the last two kinds most stay in the blog's
    community. Some blogs begin after the first day, some end before the last, and are no longer linked to. Less is
    linked at night. What was linked in the two weeks before the first day shapes what comes, but is not told.

    again, onward, back, copied, at_home: shares of links, as `Habits` has them.
    newcomers, departures: shares of the blogs that begin, and that end, while one looks on.
    communities: how many; one for 30 000 blogs unless given.
    linkers: share of the blogs that link at all.
    activity: exponent of the density of how many links linkers make.
    renown: exponent of the density of how well blogs are known, which of every other blog goes with its activity.
    """

    name = "blog-posts"
    settings: Mapping[str, Plain] = MappingProxyType({})  # the keywords it was made with; none if it was loaded

    def __init__(
        self,
        *,
        nodes: int = 3_000_000,
        links: int = 340_000,
        days: float = 24.0,
        seed: int = 1,
        again: float = 0.15,
        onward: float = 0.2,
        back: float = 0.05,
        copied: float = 0.35,
        at_home: float = 0.7,
        newcomers: float = 0.3,
        departures: float = 0.2,
        communities: int | None = None,
        linkers: float = 0.15,
        activity: float = 2.6,
        renown: float = 2.1,
    ):
        if nodes < 2 or links < 2:
            raise ValueError("nodes and links must be 2 or more")
        if not days > 0:
            raise ValueError("days must be more than 0")
        if not (activity > 1 and renown > 1):
            raise ValueError("activity and renown must be more than 1")
        if not (0 <= newcomers <= 1 and 0 <= departures <= 1 and 0 < linkers <= 1):
            raise ValueError("newcomers, departures and linkers must be from 0 to 1")
        many = max(1, nodes // 30_000) if communities is None else communities
        shape = {"again": again, "onward": onward, "back": back, "copied": copied, "at_home": at_home}
        habits = Habits(**shape)
        chance = np.random.default_rng([seed, 6])
        lives = _lives(nodes, days, newcomers, departures, chance)
        places = chance.random((2, nodes))
        fame = heavy_tailed(np.where(chance.random(nodes) < 0.5, places[0], places[1]), renown)
        are_linkers = chance.random(nodes) < linkers
        are_linkers[chance.integers(nodes)] = True  # there is at least one
        linking = np.where(are_linkers, heavy_tailed(places[0], activity), 0.0)
        community = drawn_by(heavy_tailed(chance.random(many), 2.0), nodes, chance)
        made = _posted(links, days, lives, fame, linking, community, habits, chance)
        ways = {"newcomers": newcomers, "departures": departures, "communities": many}
        given: dict[str, Plain] = {"nodes": nodes, "links": links, "days": days, "communities": communities}
        options = {"seed": seed, **shape, **ways, "linkers": linkers, "activity": activity, "renown": renown}
        super().__init__(made, options=options)
        self.settings = {**options, **given}

    def made_again(self, seed: int) -> "BlogPosts":
        """A world made up with the same settings, but by another seed."""
        return BlogPosts(**{**self.settings, "seed": seed})


def _lives(size: int, days: float, newcomers: float, departures: float, chance: Chance) -> tuple[Floats, Floats]:
    """The day on which each blog begins, in order, and that on which it ends."""
    are_new = chance.random(size) < newcomers
    births = np.sort(np.where(are_new, chance.random(size) * days, -EARLIER))
    ends = np.where(chance.random(size) < departures, births + chance.random(size) * (days - births), days)
    return births, ends


def _posted(
    links: int,
    days: float,
    lives: tuple[Floats, Floats],
    fame: Floats,
    linking: Floats,
    community: Ints,
    habits: Habits,
    chance: Chance,
) -> TimedLinks:
    births, ends = lives
    size, lasts = len(births), ends - births
    in_sight = np.minimum(lasts, ends.clip(0.0))  # days from the first on
    made = round(links * float((linking * lasts).sum() / (linking * in_sight).sum()) * 1.02 + 6 * links**0.5) + 10
    sources = drawn_by(linking * lasts, made, chance)
    moments = births[sources] + lasts[sources] * chance.random(made)
    order = np.argsort(moments, kind="stable")
    order = np.delete(order, _too_many(moments[order] >= 0, links, chance))
    sources, moments = sources[order], moments[order]
    rounds = np.arange(-EARLIER, days, 1 / ROUNDS_A_DAY) + 1 / ROUNDS_A_DAY
    closes = np.searchsorted(moments, rounds, side="right")
    closes[-1] = len(order)
    lately = np.concatenate([np.zeros(TALK, np.int64), closes])[: len(closes)]
    born = np.maximum(2, np.searchsorted(births, rounds, side="left"))
    gone = np.where(ends < days, np.searchsorted(rounds, ends), len(rounds) + 1)
    met = [drawn_by(shares, max(1_000, size // 5), chance) for shares in (fame, np.where(linking > 0, fame, 0.0))]
    pool = np.sort(np.concatenate(met))
    targets = targets_for(sources, closes, lately, born, community, pool, gone, habits, chance)
    targets = np.where(targets == sources, (targets + chance.integers(1, size, size=len(targets))) % size, targets)
    shuffled: Ints = chance.permutation(size)
    told = np.flatnonzero(moments >= 0)
    times = np.round(FIRST_DAY + DAY * _by_day(moments[told]))
    return timed_links(shuffled[sources[told]], shuffled[targets[told]], times, size)


def _too_many(are_told: NDArray[np.bool_], links: int, chance: Chance) -> Ints:
    """Which to leave out, by chance, so that as many are told as asked for."""
    told = np.flatnonzero(are_told)
    return chance.choice(told, max(0, len(told) - links), replace=False)


def _by_day(moments: Floats) -> Floats:
    """The same order of moments, but with few in the first hours of each day."""
    whole = np.floor(moments)
    part = moments - whole
    steps = np.linspace(0.0, 1.0, 97)
    density = steps - NIGHT / (2 * np.pi) * np.sin(2 * np.pi * steps)  # its slope is lowest at midnight
    return whole + np.interp(part, density, steps)
