"""Refresh: which pages of a collection to fetch again, within a budget of requests.

`POLICIES` lists the policies by name. They choose from a `HistoryTable`, which `history_of` makes from past
observations; `change_rates` estimates how fast pages change.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plugins import find_by_name, instantiate

from .history import HistoryTable, Observation, history_of
from .policies import (
    CrawlValue,
    Fixed,
    LambdaCrawl,
    LinkScoreOrUniform,
    OutLinks,
    RefreshPolicy,
    Uniform,
    Yield,
    YieldOrUniform,
    expected_changes,
)
from .rates import change_rates

POLICIES: Mapping[str, Callable[..., RefreshPolicy]] = {
    Uniform.name: Uniform,
    OutLinks.name: OutLinks,
    Yield.name: Yield,
    YieldOrUniform.name: YieldOrUniform,
    LinkScoreOrUniform.name: LinkScoreOrUniform,
    Fixed.name: Fixed,
    CrawlValue.name: CrawlValue,
    LambdaCrawl.name: LambdaCrawl,
}


def policy_for(name: str, **options: Any) -> RefreshPolicy:
    """The policy of this name, built-in or of a plug-in; each takes `seed`, some take more options."""
    make = find_by_name(POLICIES, "lycosa.refresh", name, what="refresh policy")
    known = inspect.signature(make).parameters
    if unknown := [option for option in options if option not in known]:
        raise UsageError(f"the refresh policy {name!r} has no option {unknown[0]!r}; it takes {', '.join(known)}")
    return instantiate(lambda: make(**options), "lycosa.refresh", name)


__all__ = [
    "POLICIES",
    "CrawlValue",
    "HistoryTable",
    "Observation",
    "RefreshPolicy",
    "change_rates",
    "expected_changes",
    "history_of",
    "policy_for",
]
