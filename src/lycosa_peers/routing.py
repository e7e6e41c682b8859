"""How a query travels, specified exactly, so that compiled code can make the same choices step by step.

**A search** that fetches what it finds (`downloads`) tries one provider after the other, each as soon as it is known
and no other is being tried, until one delivers; then it is done.

1. *Home*: the asker's own content. Nothing is sent, nobody is credited.
2. *Indexes* it holds, in the order of their list: buddies by count, then the most recent first; neighbours in their
   order. Each index that has the item names a provider. Only a node that has begun a search holds any.
3. *Buddies*: a direct query to each buddy in that order, except those that were tried at stage 2 without success (a
   buddy dropped at stage 2 is none any more). The walk begins when all have replied, or are down, or `buddy_wait` has
   passed; a buddy that lacks the item does not reply, unless `sends_empty_responses`.
4. *Walk*, until `timeout`.

The peer that delivers is credited: `BuddyList.answered`, once for a search. A provider that is down, declines or
delivers something wrong is demoted, where the node adapts and has it for a buddy: `BuddyList.failed`. A direct query
that could not be delivered costs its buddy nothing, unless `demotes_unreachable`. At every multiple of
`NodeOptions.checkpoint`, indexes are requested: `HeldIndexes.checkpoint` of the list in its order. A buddy that leaves
the list takes its index with it.

**A direct query** (`walker` is 0, `ttl` is 1) is answered by its receiver or not at all; it is never forwarded.

**A walk.** The asker sends walkers 1 ... `walkers`, in this order, each as one QUERY with its number and `ttl` (with
`secret_walkers` the numbers are random, of 24 bits; the low 16 are used in draws). The receiver answers from its own
content, else from the indexes it holds, in order; then the walker has ended. Else it forwards the query with `ttl - 1`
to one neighbour; with `ttl` 1 the walker has ended. So a walker is received at most `ttl` times, and a query of
`walkers` walkers at most `walkers * ttl` times. A walker that comes back to its asker is forwarded without a lookup.
One that comes to the same peer again is treated as the first time. An asker that cannot be called (it has no address,
where others have) sends a walker of `ttl` 1 to each neighbour instead, as no other peer could answer it.

**A step draws** `k = draw(seed, query, walker, ttl, choices, attempt)` with the `ttl` of the message about to be sent
(the asker's first step: `ttl` itself; the next: `ttl - 1`; ...) and `attempt` 0. The neighbours are in the order in
which the node got them. The neighbour that the walker came from is left out, where there are others: `choices` is then
one less than their number, and where `k` falls on that neighbour, the last one is chosen. Where the chosen one is known
to be down (its connection is closed), `attempt` becomes 1, 2, ... `MAX_ATTEMPTS - 1`, and it is drawn again; no
message was sent for those. After that the walker has ended. A draw depends on no other draw, so the path of each walker
is the same in whatever order walkers move.

**The order of a simulation** with one latency for all: a message arrives one latency after it was sent, those sent at
one moment in the order in which they were sent. Walkers therefore move in lock step, 1 first, in every round. A
response travels straight to the asker. The other walkers go on until each has ended.

**A flood** sends one QUERY (walker 1, `flood_ttl`) to every neighbour not known to be down; a receiver that sees the
query for the first time answers, and the flood stops there, or forwards it with `ttl - 1` to every such neighbour
except the one it came from. A receiver that has seen it before drops it.

**What is counted.** *Messages* are receptions of QUERY, RESPONSE and DECLINED by any peer; *return hops* are the
additional messages if every response went back through all peers that its query came through. A query is *answered*
by the first RESPONSE, even if nothing can be fetched from the provider it names; the asker's own content and summaries
are a response only where the item could be fetched. *Path length* is the number of QUERY messages sent by any peer,
delivered or not, before that first response was sent, in the order above. It is 0 where the asker finds the item at
home or in a summary that it holds, and undefined where nobody answers. Fetches and index transfers are counted apart.

**Random choices** are functions of what they are made for, and not of earlier ones, in unsigned 64-bit arithmetic, so
that compiled code gets the same. `splitmix64` is the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable
pseudorandom number generators, 2014).
"""

from collections.abc import Collection, Sequence

from .messages import PeerName

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, as in splitmix64
MIX_MULTIPLIER_1, MIX_MULTIPLIER_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK_64 = (1 << 64) - 1
MAX_ATTEMPTS = 64  # draws at one step


def splitmix64(number: int) -> int:
    """A hash of 64 bits to 64 bits: the finaliser of splitmix64."""
    number = ((number ^ (number >> 30)) * MIX_MULTIPLIER_1) & _MASK_64
    number = ((number ^ (number >> 27)) * MIX_MULTIPLIER_2) & _MASK_64
    return number ^ (number >> 31)


def draw(seed: int, query: int, walker: int, step: int, choices: int, attempt: int = 0) -> int:
    """A uniform draw from 0 ... choices - 1 for this step of this walker of this query.

    `step` is the time to live of the message that is about to be sent; `attempt` counts the draws at this step
    whose neighbour was down.
    """
    step_key = (walker << 48) | (attempt << 32) | step
    number = splitmix64(((seed ^ query) + GOLDEN) & _MASK_64)
    number = splitmix64(((number ^ step_key) + GOLDEN) & _MASK_64)
    return ((number >> 32) * choices) >> 32


def query_number(seed: int, count: int) -> int:
    """The id of query number `count` of a simulation: 64 bits, different for each count."""
    return splitmix64(((seed ^ GOLDEN) + (count + 1) * GOLDEN) & _MASK_64)


def next_hop(
    seed: int,
    query: int,
    walker: int,
    ttl: int,
    neighbours: Sequence[PeerName],
    came_from: PeerName | None = None,
    down: Collection[PeerName] = (),
) -> PeerName | None:
    """The neighbour that a walker is sent to with this time to live; None if it has ended. `came_from` is one of
    the neighbours, or None if the walker begins here or came from another peer."""
    choices = len(neighbours)
    excludes_sender = came_from is not None and choices > 1
    choices -= excludes_sender
    if not choices:
        return None
    for attempt in range(MAX_ATTEMPTS):
        chosen = neighbours[draw(seed, query, walker, ttl, choices, attempt)]
        if excludes_sender and chosen == came_from:
            chosen = neighbours[choices]
        if chosen not in down:
            return chosen
        if not attempt and all(each in down or each == came_from for each in neighbours):
            return None  # whatever is drawn
    return None


def flood_targets(
    neighbours: Sequence[PeerName], came_from: PeerName | None = None, down: Collection[PeerName] = ()
) -> list[PeerName]:
    """The neighbours that a flood goes to."""
    return [name for name in neighbours if name != came_from and name not in down]


def clamped(ttl: int, max_ttl: int) -> int:
    """The time to live that is accepted from a stranger."""
    return min(ttl, max_ttl)
