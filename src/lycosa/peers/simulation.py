"""A network of nodes on a simulated wire and clock: the same nodes that run over TCP, and the same run from the same
seed. Messages take time and get lost, nodes go down and come back, the network falls apart and heals, clocks differ.

The order of things that happen at one moment: changes of who is up, then messages in the order in which they were
sent, then deadlines in the order of the nodes. A message to a node that is down is told to its sender at once, as a
refused connection is; one that is lost, or crosses a partition, or finds its receiver gone down meanwhile, is not.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from .messages import DIRECT, Declined, Message, PeerName, Query, Response, Send, Wanted
from .node import Node
from .routing import GOLDEN, mix, query_number
from .search import Stage

LATENCY = 2.0**-10  # seconds: a thousand hops take one
_CHANGE, _MESSAGE, _DEADLINE = range(3)
_ALL = (1 << 64) - 1


class Outcome(Struct, frozen=True):
    """What became of one query, in the measures of the paper (see `routing`)."""

    id: int
    asker: PeerName
    wanted: Wanted
    asked_at: float
    found_at: Stage | None  # where the answer was that held good; None: not found
    provider: PeerName | None
    messages: int  # receptions of QUERY, RESPONSE and DECLINED
    detours: int  # messages there would be more, if responses went back the way the query came
    path_length: int | None  # queries issued before the first response was given; None: nobody gave one
    issued: int  # queries, delivered or not
    queries: int  # received
    responses: int  # received
    fetches: int  # tried

    @property
    def answered(self) -> bool:
        """Got a response, even if that led to nothing; one's own content and indexes are one where they held good."""
        return self.path_length is not None

    @property
    def fetched(self) -> bool:
        """Was found, and got from its provider where the asker fetches what it finds."""
        return self.found_at is not None

    @property
    def hit(self) -> bool:
        """Found without a walk, from an index or a buddy."""
        return self.found_at in (Stage.INDEXES, Stage.BUDDIES)


class _Tally:
    """What a network counts of one query."""

    def __init__(self, asker: PeerName, wanted: Wanted, at: float):
        self.asker, self.wanted, self.at = asker, wanted, at
        self.issued = self.under_way = self.detours = 0
        self.received: Counter[type] = Counter()
        self.issued_before: dict[tuple[PeerName, int], int] = {}  # each response: by whom, for which walker


class Network:
    """Nodes, the overlay between them, and the time that has passed.

    `latency` is that of every message, or the least and the most of it; `loss` the share of messages that vanish;
    `skew` what the clocks of some nodes are ahead by, in seconds.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        overlay: Mapping[PeerName, Sequence[PeerName]] | None = None,
        *,
        latency: float | tuple[float, float] = LATENCY,
        loss: float = 0.0,
        seed: int = 0,
        skew: Mapping[PeerName, float] | None = None,
    ):
        self.nodes = {node.name: node for node in nodes}
        self.now = 0.0
        self.down: set[PeerName] = set()
        self.lost_messages = 0
        self._latency = (latency, latency) if isinstance(latency, float | int) else latency
        self._loss, self._seed = loss, seed
        self._skew = dict(skew or {})
        self._side: dict[PeerName, int] = {}  # of a partition
        self._order = {name: number for number, name in enumerate(self.nodes)}
        self._near: dict[PeerName, list[PeerName]] = {}  # those that have somebody for a neighbour at the beginning
        self._events: list[tuple[float, int, int, int, Callable[[], None]]] = []
        self._serial = self._in_flight = self._asked = 0
        self._due: dict[PeerName, float] = {}
        self._tallies: dict[int, _Tally] = {}
        for name, neighbours in (overlay or {}).items():
            self.nodes[name].connect(neighbours)
            for neighbour in neighbours:
                self._near.setdefault(neighbour, []).append(name)
        for name, ahead in self._skew.items():
            self.nodes[name].resume(ahead)
        for node in self.nodes.values():
            self._mind(node)

    # Who is there

    def go_down(self, name: PeerName) -> None:
        """Its neighbours' connections close."""
        self.down.add(name)
        for neighbour in self._near.get(name, ()):
            self.nodes[neighbour].disconnected(name)

    def come_up(self, name: PeerName) -> None:
        if name in self.down:
            self.down.discard(name)
            self.nodes[name].resume(self._clock(name))
            self._mind(self.nodes[name])
        for neighbour in self._near.get(name, ()):
            self.nodes[neighbour].connected(name)

    def schedule(self, changes: Iterable[tuple[float, PeerName, bool]]) -> None:
        """Who is up (True) or down (False) from which moment on."""
        for at, name, is_up in changes:
            self._push(at, _CHANGE, partial(self.come_up if is_up else self.go_down, name))

    def part(self, *sides: Iterable[PeerName]) -> None:
        """No message passes between the sides; who is on none of them is on a side of those. Without sides it heals."""
        self._side = {name: number for number, side in enumerate(sides, 1) for name in side}

    # What happens

    def ask(self, name: PeerName, wanted: Wanted, *, most: int = 1, enough: int = 1) -> Outcome:
        """One search, from when nothing is under way until its last message has come to rest."""
        self.settle()
        number = self.begin(name, wanted, most=most, enough=enough)
        tally = self._tallies[number]
        while tally.under_way or not self._is_done(name, number):
            if not self._step():
                break
        return self.outcome(number)

    def begin(self, name: PeerName, wanted: Wanted, *, most: int = 1, enough: int = 1) -> int:
        """Begins a search, and does not wait."""
        number = query_number(self._seed, self._asked)
        self._asked += 1
        self._tallies[number] = _Tally(name, wanted, self.now)
        node = self.nodes[name]
        _, sends = node.ask(wanted, self._clock(name), most=most, enough=enough, query_id=number)
        self._dispatch(node, sends)
        return number

    def outcome(self, number: int) -> Outcome:
        """What became of a search; asked for once."""
        tally = self._tallies.pop(number)
        search = self.nodes[tally.asker].answers(number)
        if search is None:
            raise LookupError(f"{tally.asker} has forgotten its search for {tally.wanted!r}")
        given = (tally.issued_before[each.via, each.walker] for each in search.answers if each.via != tally.asker)
        path = 0 if search.found_at in (Stage.HOME, Stage.INDEXES) else next(given, None)
        return Outcome(
            id=number,
            asker=tally.asker,
            wanted=tally.wanted,
            asked_at=tally.at,
            found_at=search.found_at,
            provider=search.provider,
            messages=tally.received.total(),
            detours=tally.detours,
            path_length=path,
            issued=tally.issued,
            queries=tally.received[Query],
            responses=tally.received[Response],
            fetches=search.fetches,
        )

    def run(self, until: float) -> None:
        """Everything that happens up to a moment."""
        while self._events and self._events[0][0] <= until:
            self._step()
        self.now = max(self.now, until)

    def settle(self) -> None:
        """Everything that happens until no message is under way."""
        while self._in_flight and self._step():
            pass

    def counts(self) -> Counter[str]:
        """What all nodes counted, together."""
        return sum((node.counts for node in self.nodes.values()), Counter[str]())

    def _is_done(self, name: PeerName, number: int) -> bool:
        search = self.nodes[name].stage(number)
        return search is None or search is Stage.DONE or name in self.down

    def _clock(self, name: PeerName) -> float:
        return self.now + self._skew.get(name, 0.0)

    def _push(self, at: float, rank: int, happen: Callable[[], None], order: int = 0) -> None:
        self._serial += 1
        heapq.heappush(self._events, (at, rank, order, self._serial, happen))

    def _step(self) -> bool:
        """The next thing that happens; False where nothing does any more."""
        if not self._events:
            return False
        at, _, _, _, happen = heapq.heappop(self._events)
        self.now = max(self.now, at)
        happen()
        return True

    def _deliver(self, sender: PeerName, to: PeerName, message: Message) -> None:
        self._in_flight -= 1
        tally = self._tally(message)
        if tally is not None:
            tally.under_way -= 1
        if to in self.down:
            self.lost_messages += 1
            return
        node = self.nodes[to]
        if tally is not None:
            tally.received[type(message)] += 1
            if isinstance(message, Response) and message.walker != DIRECT:
                ttl = node.options.flood_ttl if node.options.floods else node.options.ttl
                tally.detours += ttl - message.ttl
        self._dispatch(node, node.receive(sender, message, self._clock(to)), mind=not isinstance(message, Query))

    def _deadline(self, name: PeerName, at: float) -> None:
        if self._due.get(name) != at:
            return  # an earlier one came instead
        node = self.nodes[name]
        self._due.pop(name)
        if name in self.down:
            return
        if node.next_deadline() - self._skew.get(name, 0.0) <= self.now:
            self._dispatch(node, node.tick(self._clock(name)))
        else:
            self._mind(node)

    def _mind(self, node: Node) -> None:
        """Sees to it that the node is woken when it wants to be."""
        at = max(self.now, node.next_deadline() - self._skew.get(node.name, 0.0))
        if at < self._due.get(node.name, float("inf")):
            self._due[node.name] = at
            self._push(at, _DEADLINE, partial(self._deadline, node.name, at), self._order[node.name])

    def _dispatch(self, node: Node, sends: Sequence[Send], mind: bool = True) -> None:
        """Sends; what a node does about somebody who is down goes in the place of what it sent there."""
        waiting = list(reversed(sends))
        while waiting:
            send = waiting.pop()
            self._count_sent(node.name, send.message)
            if send.to in self.nodes and send.to not in self.down:
                self._transmit(node.name, send)
            else:
                waiting += reversed(node.undelivered(send.to, send.message, self._clock(node.name)))
                mind = True
        if mind and node.name not in self.down:
            self._mind(node)

    def _transmit(self, sender: PeerName, send: Send) -> None:
        chance = mix(((self._seed ^ _ALL) + self._serial * GOLDEN) & _ALL)
        parted = self._side.get(sender, 0) != self._side.get(send.to, 0)
        if parted or (self._loss and (chance >> 32) < self._loss * 2**32):
            self._serial += 1
            self.lost_messages += 1
            return
        least, most = self._latency
        delay = least if least == most else least + (most - least) * ((chance & 0xFFFFFFFF) / 2**32)
        self._in_flight += 1
        tally = self._tally(send.message)
        if tally is not None:
            tally.under_way += 1
        self._push(self.now + delay, _MESSAGE, partial(self._deliver, sender, send.to, send.message))

    def _tally(self, message: Message) -> _Tally | None:
        match message:
            case Query():
                return self._tallies.get(message.id)
            case Response():
                return self._tallies.get(message.query)
            case Declined(about="query"):
                return self._tallies.get(message.id)
            case _:
                return None

    def _count_sent(self, sender: PeerName, message: Message) -> None:
        if isinstance(message, Query):
            tally = self._tallies.get(message.id)
            if tally is not None:
                tally.issued += 1
        elif isinstance(message, Response) and (tally := self._tallies.get(message.query)) is not None:
            tally.issued_before.setdefault((sender, message.walker), tally.issued)
