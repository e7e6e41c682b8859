"""The options of a node: every search algorithm is the same node with other options."""

from typing import Literal

import msgspec
from msgspec import Struct

from lycosa.vocabulary.errors import UsageError

_REMEMBERED_LIMITS = ("remembered", "searches", "max_per_query")


class NodeOptions(Struct, frozen=True):
    """How a node searches, what it keeps, and how much it accepts from others. Times are in seconds."""

    # The algorithm
    floods: bool = False  # forwards a query to all neighbours instead of one
    keeps_buddies: bool = True
    adapts: bool = True  # a buddy that is down, wrong or declines is demoted
    indexes: Literal["buddies", "neighbours", "nobody"] = "buddies"  # whose indexes it holds
    buddies: int = 10  # size of the list
    neighbour_indexes: int = 10  # number of the first neighbours whose indexes are held, if `indexes` says so
    walkers: int = 16
    ttl: int = 1024  # of each walker
    flood_ttl: int = 7
    max_credited: int = 1  # answers of one search that count for the buddy list
    max_probes: int = 0  # providers of one search that are checked (see `probes`); 0: none are, all are believed
    probation: int = 1  # searches in which a provider must pass the check before it becomes a buddy
    credit: Literal["provider", "responder"] = "provider"  # who is credited when one peer answers for another
    demotes_unreachable: bool = False  # also demotes a buddy to which a query could not be delivered
    downloads: bool = True  # fetches what it finds, from the first provider that delivers
    sends_empty_responses: bool = (
        False  # sends an empty response when it knows no provider, and when a walker ends with it
    )
    secret_walkers: bool = False  # random walker numbers, so that only a peer that met a walker can answer for it

    # Times
    buddy_wait: float = 0.25  # for the answers of buddies, before the walk begins
    fetch_wait: float = 1.0
    timeout: float = 2.0  # of a search
    checkpoint: float = 600.0  # between two requests for indexes
    refresh_checkpoints: int = 1  # checkpoints between two refreshes of an index; 0: only when it was wrong
    ping: float = 0.0  # between two pings of the neighbours; 0: never

    # Bounds
    max_ttl: int = 1024  # larger values in queries are reduced to this
    max_per_query: int = 16 * 1024  # messages of one query that are processed
    remembered: int = 4096  # queries of others that are remembered
    searches: int = 128  # own searches that are remembered
    referrals: int = 10  # peers that a search asks because others referred to them
    neighbours: int = 4  # looks for more if it has fewer
    max_neighbours: int = 64
    max_hits: int = 100  # in an answer to a peer that is not a buddy
    max_index_bytes: int = 4 << 20
    capacity: float = 0.0  # queries (of ten hits) and fetches of others served per second; 0: no limit
    reserved: float = 0.0  # share of the capacity that is reserved for trusted peers
    capacity_per_peer: float = 0.0  # messages accepted from one peer per second, and as many answers; 0: no limit
    ban_threshold: float = 8.0  # demerits at which a peer is banned
    ban_seconds: float = 600.0  # length of a ban, and half-life of demerits

    def __post_init__(self) -> None:
        for name in ("buddies", "walkers", "ttl", "flood_ttl", "max_ttl", "max_hits", *_REMEMBERED_LIMITS):
            if getattr(self, name) < 1:
                raise UsageError(f"a peer's {name} is {getattr(self, name)}; it must be 1 or more")
        if self.walkers >= 1 << 16 or self.max_ttl >= 1 << 32:
            raise UsageError("a peer has fewer than 65 536 walkers and a time to live below 2^32")


ALGORITHMS = {
    "flood": NodeOptions(floods=True, keeps_buddies=False, adapts=False, indexes="nobody"),
    "random-walk": NodeOptions(keeps_buddies=False, adapts=False, indexes="nobody"),
    "interest-shortcuts": NodeOptions(adapts=False, indexes="nobody"),
    "walk+list": NodeOptions(indexes="nobody"),
    "walk+index": NodeOptions(keeps_buddies=False, adapts=False, indexes="neighbours"),
    "buddynet": NodeOptions(),
}


def options_for(algorithm: str, **changes: object) -> NodeOptions:
    """The options of an algorithm, with some of them changed."""
    if algorithm not in ALGORITHMS:
        raise UsageError(f"no peer algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    return msgspec.structs.replace(ALGORITHMS[algorithm], **changes)


# For real peers: a few friends, who answer each other within two seconds.
DEFAULTS = NodeOptions(
    walkers=8,
    ttl=16,  # networks of friends are small
    downloads=False,  # the user chooses what to take
    sends_empty_responses=True,  # so that a search can end before its timeout
    secret_walkers=True,
    demotes_unreachable=True,
    max_credited=3,
    max_probes=8,
    probation=2,
    checkpoint=60.0,
    capacity=400.0,
    reserved=0.25,  # a stranger may have many keys
    capacity_per_peer=200.0,
    fetch_wait=20.0,  # a page of some megabytes over a slow line
    ping=30.0,  # keeps connections open, and finds peers that are up again
    max_hits=30,
    max_ttl=64,
    max_per_query=1024,
)
