"""How a query travels, exactly enough to be done again elsewhere (compiled code draws the same, step by step).

**A search** that fetches what it finds (`downloads`) tries one provider after the other, each at once when it is
heard of and none is being tried, until one gives it; then it is done.

1. *Home*: the asker's own content. Nothing is sent, nobody is credited.
2. *Indexes* it holds, in the order of the list they are of: buddies by count, then the youngest first; neighbours in
   their order. Each that has it names a provider. Only who has begun a search holds any.
3. *Buddies*: a direct query to each buddy in that order, but for those that were tried at stage 2 and did not give it
   (a buddy dropped at stage 2 is none any more). The walk begins when all have said something, or are down, or
   `buddy_wait` has passed; a buddy that lacks it says nothing, unless `says_no`.
4. *Walk*, until `deadline`.

Who gives it is credited: `BuddyList.answered`, once for a search. A provider that is down, declines or gives something
wrong loses count, where the node adapts and has it for a buddy: `BuddyList.failed`. A direct query that could not be
delivered costs its buddy nothing, unless `demotes_unreachable`. A checkpoint is `HeldIndexes.checkpoint` of the list
in its order; a buddy that leaves the list takes its index with it.

**A query that is asked directly** (`walker` is 0, `ttl` is 1) is answered by its receiver or not at all; nobody passes
it on.

**A walk.** The asker sends walkers 1 ... `walkers`, in this order, each as one QUERY with its number and `ttl` (with
`secret_walkers` the numbers are any of 24 bits; the last 16 count for what is drawn). The
receiver answers from its own content, else from the indexes it holds, in order; then the walker has ended. Else it
sends it on with `ttl - 1`, to one neighbour; with `ttl` 1 the walker has ended. So a walker is received at most `ttl`
times, and a query of `walkers` walkers at most `walkers * ttl` times. A walker that comes back to its asker is sent on
without looking. One that comes to a peer it has been to before is treated as at first. An asker that cannot be called
(it has no address, where others have) sends one of `ttl` 1 to each neighbour instead, as nobody else could answer it.

**A step draws** `k = draw(seed, query, walker, ttl, among, attempt)` with the `ttl` of the message about to be sent
(the asker's first step: `ttl` itself; the next: `ttl - 1`; ...) and `attempt` 0. The neighbours stand in the order in
which the node was given them. The one it came from is left out, where there are others: `among` is then one less than
their number, and where `k` falls on the one it came from, the last of them is meant. Where the one chosen is known to
be down (its connection is closed), `attempt` becomes 1, 2, ... `MOST_ATTEMPTS - 1`, and it is drawn again; no message
was sent for those. After that the walker has ended. A draw depends on nothing drawn before, so each walker's way is
the same in whatever order walkers move.

**The order of a simulation** with one latency for all: a message that is sent arrives one latency later, those sent
at one moment in the order in which they were sent. Walkers therefore move in lock step, 1 first, in every round. A
response travels straight to the asker. Walkers know nothing of it and go on until each has ended.

**A flood** sends one QUERY (walker 1, `flood_ttl`) to every neighbour not known to be down; a receiver that has not
seen the query answers, and there the flood stops; else it sends it on with `ttl - 1` to every such neighbour but the
one it came from. One that has seen it drops it.

**What is counted.** *Messages* are receptions of QUERY, RESPONSE and DECLINED, by anybody; *detours* those there would
be more, if a response went back through all peers that its query came through. A query is *answered* by the first
RESPONSE, even if nothing can be fetched from the peer it names; the asker's own content and indexes are a response
only where they held good. *Path length* is the number of QUERY messages that were issued by anybody, delivered or not,
before that first response was given: up to the moment, in the order above, in which its sender sent it. It is 0 where
the asker finds the thing at home or in an index it holds, and not defined where nobody answers. Fetches and index
transfers are counted apart.
"""

from collections.abc import Collection, Sequence

from .messages import PeerName

GOLDEN = 0x9E3779B97F4A7C15
_ALL = (1 << 64) - 1


def mix(number: int) -> int:
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _ALL
    return number ^ (number >> 31)


def draw(seed: int, query: int, walker: int, step: int, among: int, attempt: int = 0) -> int:
    """One of 0 ... among - 1, each as likely, for this step of this walker of this query.

    `step` is the time to live of the message that is about to be sent; `attempt` counts the choices at this step
    that came to nothing, because the one chosen was down.
    """
    place = (walker << 48) | (attempt << 32) | step
    number = mix(((seed ^ query) + GOLDEN) & _ALL)
    number = mix(((number ^ place) + GOLDEN) & _ALL)
    return ((number >> 32) * among) >> 32


def query_number(seed: int, count: int) -> int:
    """The id of the query that is asked as number `count` of a simulation: any 64 bits, none twice."""
    return mix(((seed ^ GOLDEN) + (count + 1) * GOLDEN) & _ALL)


MOST_ATTEMPTS = 64  # choices at one step


def next_hop(
    seed: int,
    query: int,
    walker: int,
    ttl: int,
    neighbours: Sequence[PeerName],
    came_from: PeerName | None = None,
    down: Collection[PeerName] = (),
) -> PeerName | None:
    """The neighbour a walker is sent to, with this time to live; None where it has ended. `came_from` is one of the
    neighbours, or None where the walker begins here or came from somebody else."""
    among = len(neighbours)
    leaves_out = came_from is not None and among > 1
    among -= leaves_out
    if not among:
        return None
    for attempt in range(MOST_ATTEMPTS):
        chosen = neighbours[draw(seed, query, walker, ttl, among, attempt)]
        if leaves_out and chosen == came_from:
            chosen = neighbours[among]
        if chosen not in down:
            return chosen
    return None


def flooded(
    neighbours: Sequence[PeerName], came_from: PeerName | None = None, down: Collection[PeerName] = ()
) -> list[PeerName]:
    """Everybody a flood goes to."""
    return [name for name in neighbours if name != came_from and name not in down]


def clamped(ttl: int, most: int) -> int:
    """A time to live as it is taken from a stranger: never more than ours may be."""
    return min(ttl, most)
