"""A network of nodes with simulated time and messages, for studies and tests: the same nodes that run over TCP,
reproducible by a seed.

Messages have latency and get lost, nodes go down and come up, partitions form and heal, clocks are skewed. Events of
the same time are processed in this order: nodes going up or down, then messages in the order of sending, then
deadlines in the order of the nodes. The sender of a message to a node that is down learns it at once, as by a refused
connection, but not if the message is lost, crosses a partition, or its receiver goes down meanwhile.
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from .messages import DIRECT, Declined, Envelope, Message, PeerName, Query, Response, Target
from .node import Node
from .routing import GOLDEN, query_number, splitmix64
from .search import Stage

LATENCY = 2.0**-10  # seconds, so that a thousand hops take about one second
_CHURN, _MESSAGE, _DEADLINE = range(3)
_ALL_BITS = (1 << 64) - 1


class QueryOutcome(Struct, frozen=True):
    """The result of one query, in the measures of the BuddyNet study (see `routing`)."""

    id: int
    asker: PeerName
    target: Target
    asked_at: float
    found_in_stage: Stage | None  # None: not found, or not delivered by any provider where what is found is fetched
    provider: PeerName | None
    messages_received: int  # QUERY, RESPONSE and DECLINED
    return_hops: int  # additional messages if responses went back along the path of the query
    path_length: int | None  # queries sent before the first response; None: no response
    queries_sent: int  # delivered or not
    queries_received: int
    responses_received: int
    fetches: int  # attempts

    @property
    def answered(self) -> bool:
        """Whether there was a response, even if nothing could be fetched from its provider."""
        return self.path_length is not None

    @property
    def found(self) -> bool:
        """Whether it was found, and delivered by its provider if the asker fetches what it finds."""
        return self.found_in_stage is not None

    @property
    def found_by_index_or_buddy(self) -> bool:
        """Whether it was found by an index of the asker or at a buddy, neither in its own content nor by a walk."""
        return self.found_in_stage in (Stage.INDEXES, Stage.BUDDIES)


class _QueryCounters:
    """The counters of one query."""

    def __init__(self, asker: PeerName, target: Target, at: float):
        self.asker, self.target, self.at = asker, target, at
        self.queries_sent = self.in_flight = self.return_hops = 0
        self.received: Counter[type] = Counter()
        self.sent_before_first_response: dict[tuple[PeerName, int], int] = {}  # queries, by responder and walker


class SimulatedNetwork:
    """Nodes, the overlay between them, and simulated time.

    `latency` is that of every message, or its minimum and maximum; `loss` the probability that a message is lost;
    `skew` the seconds by which the clocks of some nodes are ahead.
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
        self._side_of: dict[PeerName, int] = {}  # the side of the partition on which each node is
        self._order = {name: number for number, name in enumerate(self.nodes)}
        self._initial_neighbour_of: dict[PeerName, list[PeerName]] = {}  # the nodes that initially have each as one
        self._events: list[tuple[float, int, int, int, Callable[[], None]]] = []
        self._serial_number = 0  # of the latest event or lost message: breaks ties, and counts the random draws
        self._in_flight = self._search_count = 0  # messages; searches begun
        self._next_deadlines: dict[PeerName, float] = {}
        self._counters: dict[int, _QueryCounters] = {}
        for name, neighbours in (overlay or {}).items():
            self.nodes[name].connect(neighbours)
            for neighbour in neighbours:
                self._initial_neighbour_of.setdefault(neighbour, []).append(name)
        for name, ahead in self._skew.items():
            self.nodes[name].resume(ahead)
        for node in self.nodes.values():
            self._schedule_deadline(node)

    # ------------------------------------------------------------ churn and partitions

    def go_down(self, name: PeerName) -> None:
        """Takes a node down: messages on their way to it get lost, its timers do not run, its connections close."""
        self.down.add(name)
        for neighbour in self._initial_neighbour_of.get(name, ()):
            self.nodes[neighbour].disconnected(name)

    def come_up(self, name: PeerName) -> None:
        """Resumes a node that is down, and connects it to those that it was initially a neighbour of."""
        if name in self.down:
            self.down.remove(name)
            self.nodes[name].resume(self._clock(name))
            self._schedule_deadline(self.nodes[name])
        for neighbour in self._initial_neighbour_of.get(name, ()):
            self.nodes[neighbour].connected(name)

    def schedule(self, changes: Iterable[tuple[float, PeerName, bool]]) -> None:
        """Schedules nodes to go up (True) or down (False)."""
        for at, name, is_up in changes:
            self._push(at, _CHURN, partial(self.come_up if is_up else self.go_down, name))

    def partition(self, *sides: Iterable[PeerName]) -> None:
        """Partitions the network: no message passes between sides; nodes on no given side form another one. Without
        arguments, the partition heals."""
        self._side_of = {name: number for number, side in enumerate(sides, 1) for name in side}

    # ------------------------------------------------------------ searches

    def ask(self, name: PeerName, target: Target, *, max_hits: int = 1, sufficient_hits: int = 1) -> QueryOutcome:
        """One search, started when no message is in flight, until its last message has arrived.

        max_hits, sufficient_hits: as of `Node.ask`.
        """
        self.deliver_all()
        query_id = self.begin(name, target, max_hits=max_hits, sufficient_hits=sufficient_hits)
        counters = self._counters[query_id]
        while counters.in_flight or not self._is_done(name, query_id):
            if not self._step():
                break
        return self.outcome(query_id)

    def begin(self, name: PeerName, target: Target, *, max_hits: int = 1, sufficient_hits: int = 1) -> int:
        """Begins a search without waiting for it."""
        query_id = query_number(self._seed, self._search_count)
        self._search_count += 1
        self._counters[query_id] = _QueryCounters(name, target, self.now)
        node = self.nodes[name]
        _, outgoing = node.ask(
            target, self._clock(name), max_hits=max_hits, sufficient_hits=sufficient_hits, query_id=query_id
        )
        self._dispatch(node, outgoing)
        return query_id

    def outcome(self, query_id: int) -> QueryOutcome:
        """The outcome of a search, once."""
        counters = self._counters.pop(query_id)
        search = self.nodes[counters.asker].answers(query_id)
        if search is None:
            raise LookupError(f"{counters.asker} has forgotten its search for {counters.target!r}")
        remote = (answer for answer in search.answers if answer.via != counters.asker)
        lengths = (counters.sent_before_first_response[answer.via, answer.walker] for answer in remote)
        path_length = 0 if search.found_in_stage in (Stage.OWN_CONTENT, Stage.INDEXES) else next(lengths, None)
        return QueryOutcome(
            id=query_id,
            asker=counters.asker,
            target=counters.target,
            asked_at=counters.at,
            found_in_stage=search.found_in_stage,
            provider=search.provider,
            messages_received=counters.received.total(),
            return_hops=counters.return_hops,
            path_length=path_length,
            queries_sent=counters.queries_sent,
            queries_received=counters.received[Query],
            responses_received=counters.received[Response],
            fetches=search.fetches,
        )

    def run(self, until: float) -> None:
        """Processes all events up to a given time."""
        while self._events and self._events[0][0] <= until:
            self._step()
        self.now = max(self.now, until)

    def deliver_all(self) -> None:
        """Processes events until no message is in flight."""
        while self._in_flight and self._step():
            pass

    def total_event_counts(self) -> Counter[str]:
        """The sums of the event counters of all nodes (`Node.counts`)."""
        return sum((node.counts for node in self.nodes.values()), Counter[str]())

    def _is_done(self, name: PeerName, query_id: int) -> bool:
        stage = self.nodes[name].stage(query_id)
        return stage is None or stage is Stage.DONE or name in self.down

    def _clock(self, name: PeerName) -> float:
        return self.now + self._skew.get(name, 0.0)

    def _push(self, at: float, priority: int, action: Callable[[], None], order: int = 0) -> None:
        self._serial_number += 1
        heapq.heappush(self._events, (at, priority, order, self._serial_number, action))

    def _step(self) -> bool:
        """Processes the next event; False if there is none."""
        if not self._events:
            return False
        at, _, _, _, action = heapq.heappop(self._events)
        self.now = max(self.now, at)
        action()
        return True

    def _deliver(self, sender: PeerName, to: PeerName, message: Message) -> None:
        self._in_flight -= 1
        counters = self._counters_of(message)
        if counters is not None:
            counters.in_flight -= 1
        if to in self.down:
            self.lost_messages += 1
            return
        node = self.nodes[to]
        if counters is not None:
            counters.received[type(message)] += 1
            if isinstance(message, Response) and message.walker != DIRECT:
                ttl = node.options.flood_ttl if node.options.floods else node.options.ttl
                counters.return_hops += ttl - message.ttl
        self._dispatch(
            node,
            node.receive(sender, message, self._clock(to)),
            may_bring_deadline_forward=not isinstance(message, Query),  # these set no timer, and are most of all
        )

    def _on_deadline(self, name: PeerName, at: float) -> None:
        if self._next_deadlines.get(name) != at:
            return  # superseded by an earlier one
        node = self.nodes[name]
        self._next_deadlines.pop(name)
        if name in self.down:
            return
        if node.next_deadline() - self._skew.get(name, 0.0) <= self.now:
            self._dispatch(node, node.tick(self._clock(name)))
        else:
            self._schedule_deadline(node)

    def _schedule_deadline(self, node: Node) -> None:
        """Schedules the next deadline of a node."""
        name = node.name
        at = max(self.now, node.next_deadline() - self._skew.get(name, 0.0))
        if at < self._next_deadlines.get(name, math.inf):
            self._next_deadlines[name] = at
            self._push(at, _DEADLINE, partial(self._on_deadline, name, at), self._order[name])

    def _dispatch(self, node: Node, outgoing: Sequence[Envelope], *, may_bring_deadline_forward: bool = True) -> None:
        """Sends messages; the replacement of an undelivered message takes its place in the order."""
        name, waiting = node.name, [*reversed(outgoing)]
        while waiting:
            envelope = waiting.pop()
            self._count_sent(name, envelope.message)
            if envelope.to in self.nodes and envelope.to not in self.down:
                self._transmit(name, envelope)
            else:
                waiting += reversed(node.undelivered(envelope.to, envelope.message, self._clock(name)))
                may_bring_deadline_forward = True
        if may_bring_deadline_forward and name not in self.down:
            self._schedule_deadline(node)

    def _transmit(self, sender: PeerName, envelope: Envelope) -> None:
        shortest, longest = self._latency
        is_drawn = bool(self._loss) or shortest != longest
        stream_key = self._seed ^ _ALL_BITS  # so that these are not the numbers that `query_number` gives
        random_bits = splitmix64((stream_key + self._serial_number * GOLDEN) & _ALL_BITS) if is_drawn else 0
        is_partitioned = self._side_of and self._side_of.get(sender, 0) != self._side_of.get(envelope.to, 0)
        if is_partitioned or (self._loss and (random_bits >> 32) < self._loss * 2**32):
            self._serial_number += 1  # else the next message would draw the same number, and be lost too
            self.lost_messages += 1
            return
        delay = (
            shortest if shortest == longest else shortest + (longest - shortest) * ((random_bits & 0xFFFFFFFF) / 2**32)
        )
        self._in_flight += 1
        counters = self._counters_of(envelope.message)
        if counters is not None:
            counters.in_flight += 1
        self._push(self.now + delay, _MESSAGE, partial(self._deliver, sender, envelope.to, envelope.message))

    def _counters_of(self, message: Message) -> _QueryCounters | None:
        match message:
            case Query():
                return self._counters.get(message.id)
            case Response():
                return self._counters.get(message.query)
            case Declined(request_kind="query"):
                return self._counters.get(message.id)
            case _:
                return None

    def _count_sent(self, sender: PeerName, message: Message) -> None:
        if isinstance(message, Query):
            counters = self._counters.get(message.id)
            if counters is not None:
                counters.queries_sent += 1
        elif isinstance(message, Response) and (counters := self._counters.get(message.query)) is not None:
            responder = (sender, message.walker)
            counters.sent_before_first_response.setdefault(responder, counters.queries_sent)
