"""Strategies as the lab sets them up for a topic."""

import inspect

from lycosa.recipe import goes_by_log, goes_by_map
from lycosa.strategies import STRATEGIES, InfoSpiders
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError

from .topics import Topic


def check_goes_by_pages_alone(name: str) -> None:
    """Refuses a strategy that is none, and one that is nothing without a log or a map."""
    if name not in STRATEGIES:
        raise UsageError(f"there is no strategy {name!r}; there are {_those_that_go_by_pages_alone()}")
    if _needs(name):
        raise UsageError(
            f"the strategy {name} goes by {_needs(name)}, of which a comparison has none; those that can be compared"
            f" are {_those_that_go_by_pages_alone()}"
        )


def _needs(name: str) -> str:
    return "an access log" if goes_by_log(name) else "a map" if goes_by_map(name) else ""


def _those_that_go_by_pages_alone() -> str:
    return ", ".join(name for name in STRATEGIES if not _needs(name))


def strategy_for(name: str, topic: Topic, *, pages: int, buffer: int | None, seed: int) -> Strategy:
    """A strategy with what it can use of the topic and of the limits that hold for all."""
    make = STRATEGIES[name]
    offered = {"topic_words": topic.as_page().terms, "pages": pages, "buffer": buffer, "seed": seed}
    if make is not InfoSpiders:
        del offered["topic_words"]  # others go by pages alone in the lab, as published
    taken = inspect.signature(make).parameters
    return make(**{option: value for option, value in offered.items() if option in taken and value is not None})
