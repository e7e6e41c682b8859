"""Guides: found again by what a run says of them, and wrapped around its strategy."""

from dataclasses import dataclass

import pytest
from msgspec import Struct

from lycosa.run.guides import Guide, nested_strategies
from lycosa.strategies import BestFirst, Guided, Mapped
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError


class Reference(Struct, frozen=True):
    name: str


@dataclass(frozen=True)
class Compass:
    """Something to go by that only says where it was found."""

    reference: Reference

    def wrap(self, strategy: Strategy) -> Strategy:
        return Mapped(strategy)


def find(reference: object, strategy: str) -> Compass | None:
    """Finds what was not lost."""
    if not reference:
        return None
    if reference == {"name": "lost"}:
        raise UsageError("it was lost")
    return Compass(Reference("found again"))


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def guide(messages: list[str]) -> Guide[Compass]:
    return Guide("compass", find=find, notify=messages.append)


def test_at_first_there_is_none_and_a_strategy_stays_as_it_is(guide: Guide[Compass]) -> None:
    strategy = BestFirst()
    assert guide.reference is guide.active is None
    assert guide.wrap(strategy) is strategy


def test_what_was_prepared_is_used_by_the_run_that_refers_to_it(guide: Guide[Compass]) -> None:
    compass = Compass(Reference("mine"))
    reference = guide.prepare(compass)
    assert reference == {"name": "mine"}
    assert guide.active is None, "the run has not begun"
    guide.activate(reference, "best-first")
    assert guide.active is compass and guide.reference == reference
    assert [type(layer) for layer in nested_strategies(guide.wrap(BestFirst()))] == [Mapped, BestFirst]


def test_what_another_run_refers_to_is_found_again(guide: Guide[Compass]) -> None:
    guide.prepare(Compass(Reference("mine")))
    guide.activate({"name": "another"}, "best-first")
    assert guide.active == Compass(Reference("found again"))
    assert guide.reference == {"name": "another"}


def test_a_run_that_refers_to_none_goes_by_none(guide: Guide[Compass], messages: list[str]) -> None:
    guide.activate(guide.prepare(Compass(Reference("mine"))), "best-first")
    assert guide.prepare(None) is None
    guide.activate(None, "best-first")
    assert guide.reference is guide.active is None
    assert messages == []


def test_what_is_lost_is_told_and_gone_without(guide: Guide[Compass], messages: list[str]) -> None:
    guide.activate({"name": "lost"}, "best-first")
    assert guide.reference is guide.active is None
    assert messages == ["continuing without the compass of the last run: it was lost"]


def test_layers_are_named_from_the_outermost_to_the_strategy_itself() -> None:
    assert [type(layer) for layer in nested_strategies(Guided(Mapped(BestFirst())))] == [Guided, Mapped, BestFirst]
