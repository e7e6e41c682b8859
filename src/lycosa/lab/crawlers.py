"""Strategies as the lab sets them up for a topic."""

import inspect

from lycosa.strategies import STRATEGIES, InfoSpiders
from lycosa.vocabulary.contracts import Strategy

from .topics import Topic


def strategy_for(name: str, topic: Topic, *, pages: int, buffer: int | None, seed: int) -> Strategy:
    """A strategy with what it can use of the topic and of the limits that hold for all."""
    make = STRATEGIES[name]
    offered = {"topic_words": topic.as_page().terms, "pages": pages, "buffer": buffer, "seed": seed}
    if make is not InfoSpiders:
        del offered["topic_words"]  # others go by pages alone in the lab, as published
    taken = inspect.signature(make).parameters
    return make(**{option: value for option, value in offered.items() if option in taken and value is not None})
