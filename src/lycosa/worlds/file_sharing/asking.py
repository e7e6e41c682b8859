"""Who asks whom for what: people who come back to those who served them, some often, some hardly ever."""

from bisect import bisect_left

import numpy as np

from .sharing import Chance, Floats, Ints, Rows, Trace
from .tastes import Files

ACTIVITY = 0.93  # exponent of the tail of how much people ask: nine of ten ask less than ten times
MOST_QUERIES = 10_000  # of one person
OFTEN = 10  # queries of those who ask often
# Of the beta distributions of how often a person tries somebody new: those who ask often do it more.
NOVELTY, NOVELTY_OF_MANY = (0.21, 0.75), (0.48, 0.75)
WEEK = 7 * 86_400.0  # seconds
PAUSE = 300.0  # seconds between two of them, on average
ATTEMPTS = 12  # at finding something not yet asked for


def activities(people: int, *, least: int, mean: float | None, chance: Chance) -> Ints:
    """How often each person asks: a power law from `least` on; where a mean is given, of the exponent that has it."""
    exponent = ACTIVITY if mean is None else least / (mean - least + 0.5)
    drawn = np.floor(least * (1.0 - chance.random(people)) ** (-1.0 / exponent))
    return np.minimum(drawn, MOST_QUERIES).astype(np.int64)


def asked(
    consumers: int,
    counts: Ints,
    interests: Rows,
    libraries: Rows,
    files: Files,
    *,
    repeats: float,
    sitting: float,
    chance: Chance,
) -> Trace:
    """What consumers (the first of the peers) downloaded from the others, in the order of time.

    A person tries somebody new with a chance of their own, or returns to one who served them, in proportion to how
    often that one did. Somebody new is drawn, in proportion to the files, from those who have files of one of the
    person's interests. What is asked for is any file of that provider in the category, once.

    repeats: 1 as measured, 0 where nobody comes back except by chance.
    sitting: queries that a person asks at a time, on average.
    """
    market = _Market(consumers, libraries, files)
    few, many = (chance.beta(*shape, size=consumers) for shape in (NOVELTY, NOVELTY_OF_MANY))
    novelty = 1.0 - repeats * (1.0 - np.where(counts < OFTEN, few, many))
    who, what, whom, when = [], [], [], []
    for person in range(consumers):
        liked = interests.row(person)
        bought = _bought(int(counts[person]), liked, float(novelty[person]), market, chance)
        who.append(np.full(len(bought), person))
        what.append(np.array([item for item, _ in bought], np.int64))
        whom.append(np.array([provider for _, provider in bought], np.int64))
        when.append(_moments(len(bought), sitting, chance))
    times = np.concatenate(when)
    order = np.argsort(times, kind="stable")
    items, providers = np.concatenate(what)[order], np.concatenate(whom)[order]
    return Trace(np.concatenate(who)[order], items, providers, times[order])


class _Market:
    """Providers by category, and what they have of it."""

    def __init__(self, consumers: int, libraries: Rows, files: Files):
        owners = np.repeat(np.arange(len(libraries)), libraries.lengths())
        category = np.searchsorted(files.firsts, libraries.values, side="right") - 1
        order = np.argsort(category, kind="stable")
        order = order[owners[order] >= consumers]
        begins = np.searchsorted(category[order], np.arange(len(files.firsts)))
        # Reading one number is quicker from these than from arrays.
        self._owners = owners[order].data  # one for each file, so that one with many files is met often
        self._begins, self._firsts = begins.tolist(), files.firsts.tolist()
        self._offsets, self.items = libraries.offsets.data, libraries.values.data

    def stall(self, category: int, share: float) -> tuple[int, int, int] | None:
        """A provider with files of a category, and where those stand among all items; None where nobody has any."""
        low, high = self._begins[category], self._begins[category + 1]
        if low == high:
            return None
        provider = self._owners[low + int(share * (high - low))]
        row = self._offsets[provider], self._offsets[provider + 1]
        begin = bisect_left(self.items, self._firsts[category], *row)
        return provider, begin, bisect_left(self.items, self._firsts[category + 1], begin, row[1])


def _bought(many: int, liked: Ints, novelty: float, market: _Market, chance: Chance) -> list[tuple[int, int]]:
    served: list[tuple[int, int, int]] = []  # by whom, and with what; as often as they did
    bought: list[tuple[int, int]] = []
    had: set[int] = set()
    items, interests = market.items, liked.tolist()
    for own in chance.random((many, ATTEMPTS, 3)).tolist():
        for tried, (new, one, other) in enumerate(own):
            if served and new >= novelty and tried < ATTEMPTS // 2:
                stall: tuple[int, int, int] | None = served[int(one * len(served))]
            else:
                stall = market.stall(interests[int(new * 1e6) % len(interests)], one)
            if stall is None:
                continue
            provider, begin, end = stall
            item = items[begin + int(other * (end - begin))]
            if item not in had:
                had.add(item)
                served.append(stall)
                bought.append((item, provider))
                break
    return bought


def _moments(many: int, at_a_time: float, chance: Chance) -> Floats:
    """When somebody asks within a week: at some sittings, a few times each."""
    begins_sitting = chance.random(many) < 1.0 / at_a_time
    begins_sitting[:1] = True
    sitting = np.cumsum(begins_sitting) - 1
    starts = np.sort(chance.random(int(sitting[-1]) + 1 if many else 0)) * WEEK
    pauses = np.where(begins_sitting, 0.0, chance.exponential(PAUSE, size=many))
    passed = np.cumsum(pauses)
    times: Floats = starts[sitting] + passed - passed[begins_sitting][sitting] if many else np.zeros(0)
    return np.maximum.accumulate(times) if many else times
