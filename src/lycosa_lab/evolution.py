"""Pages of a world that goes on: when each changes, and how fast in the long run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_lab.worlds.synthetic.counter_rng import key, normals, subkey
from lycosa_lab.worlds.synthetic.evolution import CHANGE_SPREAD, CHANGES, MAX_CHANGES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_APART = 1e6  # days between the calendars of two pages, when all are on one axis


def evolving(world: StudyWorld) -> SyntheticWorld:
    """The world, if it is one that goes on."""
    if not isinstance(world, SyntheticWorld):
        raise UsageError(f"the world {world.name} stands still; run this study on --world synthetic")
    return world


def change_rates_in(world: SyntheticWorld, numbers: Ints) -> Floats:
    """Changes a day of these pages in the long run, by the rule by which the world draws them."""
    start = key(world.options.seed, "changes")
    deviates = [normals(subkey(subkey(start, number), 0), 1)[0] for number in numbers.tolist()]
    medians = np.array(CHANGES)[world.plan.kind[numbers]]
    rates: Floats = np.minimum(medians * np.exp(CHANGE_SPREAD * np.array(deviates, dtype=np.float64)), MAX_CHANGES)
    return rates


def standing_weights(world: SyntheticWorld, numbers: Ints) -> Floats:
    """How much the pages are esteemed, 0 to 1: the sigmoid of their status less the median, as crawls reckon it."""
    status = np.log1p(world.plan.in_links[numbers].astype(np.float64))
    weights: Floats = 1.0 / (1.0 + np.exp(np.median(status) - status))
    return weights


@dataclass(frozen=True)
class Evolution:
    """Some pages of a world, by rows, from its start to some day, on which all of them are still there.

    A page changes when its text does; links to new pages, which are added to it without a change of text, do not count.
    """

    world: SyntheticWorld
    days: int
    numbers: Ints
    rates: Floats  # changes a day
    importance: Floats

    @classmethod
    def of(cls, world: SyntheticWorld, *, days: int) -> "Evolution":
        """All pages of the start that live as long."""
        there = world.at(float(days)).numbers()
        numbers = there[there < len(world.plan)]
        return cls(world, days, numbers, change_rates_in(world, numbers), standing_weights(world, numbers))

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def _calendar(self) -> Floats:
        """All changes of all pages on one axis."""
        end = self.world.at(float(self.days))
        own = [end.changes(number) + row * _APART for row, number in enumerate(self.numbers.tolist())]
        return np.concatenate([*own, [np.inf]])

    def next_change(self, rows: Ints, day: float) -> Floats:
        """When each page changes for the first time after a day; infinite if not before the end."""
        following = self._calendar[np.searchsorted(self._calendar, rows * _APART + day, side="right")] - rows * _APART
        return np.where(following <= self.days, following, np.inf)
