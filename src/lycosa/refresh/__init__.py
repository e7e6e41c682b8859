"""When to look again: which pages of a collection to fetch anew, within a budget of requests.

One file per policy; `POLICIES` is the one dictionary of names. All of them choose from a `HistoryTable`, which
`history_of` makes of past looks; `change_rates` estimates how fast pages change.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plugins import find_piece

from .crawl_value import CrawlValue
from .expecting import expected_changes
from .fixed import Fixed
from .history import HistoryTable, Look, history_of
from .lambda_crawl import LambdaCrawl
from .link_scores import LinkScoreOrUniform
from .out_links import OutLinks
from .policy import RefreshPolicy
from .rates import change_rates
from .uniform import Uniform
from .yields import Yield, YieldOrUniform

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
    """The policy of this name, Lycosa's own or that of a plug-in; each takes `seed`, some take more."""
    make = find_piece(POLICIES, "lycosa.refresh", name, what="refresh policy")
    known = inspect.signature(make).parameters
    if unknown := [option for option in options if option not in known]:
        raise UsageError(f"the refresh policy {name!r} has no option {unknown[0]!r}; it takes {', '.join(known)}")
    return make(**options)


__all__ = [
    "POLICIES",
    "CrawlValue",
    "HistoryTable",
    "Look",
    "RefreshPolicy",
    "change_rates",
    "expected_changes",
    "history_of",
    "policy_for",
]
