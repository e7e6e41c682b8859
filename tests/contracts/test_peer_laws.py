"""What every node promises, whatever is sent to it and whoever goes down."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa_peers.buddies import BuddyList
from lycosa_peers.content import Items, ItemSummary
from lycosa_peers.messages import (
    Contact,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    Index,
    IndexRequest,
    Join,
    Leave,
    Message,
    PeerHit,
    Ping,
    Pong,
    Query,
    Response,
    decode,
    encode,
)
from lycosa_peers.node import Node
from lycosa_peers.options import ALGORITHMS
from lycosa_peers.routing import next_hop
from lycosa_peers.search import Failure, Stage
from lycosa_peers.simulation import SimulatedNetwork
from small_networks import carry, friend, network, node, ring

pytestmark = pytest.mark.peers

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
names = st.sampled_from([*"abcdefgh"])
items = st.integers(0, 5)
few = settings(max_examples=60, deadline=None)


# The buddy list


class ByTheBook:
    """The list as the paper describes it: a linked list, the head is the first to go."""

    def __init__(self, size: int):
        self.size = size
        self.entries: list[tuple[str, int]] = []

    def _insert(self, name: str, count: int, *, youngest: bool) -> None:
        at = sum(other <= count if youngest else other < count for _, other in self.entries)
        self.entries.insert(at, (name, count))

    def answered(self, name: str) -> None:
        known = dict(self.entries).get(name)
        if known is not None:
            self.entries.remove((name, known))
        elif len(self.entries) == self.size:
            self.entries.pop(0)
        self._insert(name, (known or 0) + 1, youngest=True)


@few
@given(st.integers(1, 5), st.lists(names, max_size=40))
def test_responses_leave_the_list_that_the_paper_describes(size: int, responses: list[str]) -> None:
    ours, book = BuddyList(size), ByTheBook(size)
    for name in responses:
        full, before = len(ours) == size, {buddy.contact.name: buddy for buddy in ours}
        gone = ours.answered(Contact(name))
        book.answered(name)
        assert [(buddy.contact.name, buddy.count) for buddy in ours] == book.entries[::-1]
        assert len(ours) <= size
        if gone is not None:
            lowest = min(buddy.count for buddy in before.values())
            oldest = min((buddy for buddy in before.values() if buddy.count == lowest), key=lambda buddy: buddy.since)
            assert full and name not in before and oldest.contact.name == gone


@few
@given(st.integers(1, 5), st.lists(st.tuples(names, st.booleans()), max_size=40))
def test_the_list_never_exceeds_its_size_and_holds_nobody_without_count(
    size: int, events: list[tuple[str, bool]]
) -> None:
    buddies = BuddyList(size)
    for name, good in events:
        before = buddies.get(name)
        if good:
            buddies.answered(Contact(name))
        else:
            buddies.failed(name)
        after = buddies.get(name)
        expected = (before.count if before else 0) + (1 if good else -1)
        assert (after.count if after else 0) == max(0, expected)
        assert len(buddies) <= size and all(buddy.count >= 1 for buddy in buddies)


# A node among strangers

numbers = st.integers(0, 3)
contacts = st.builds(Contact, names)
hits = st.lists(st.builds(PeerHit, items), max_size=3).map(tuple)
indexes = st.frozensets(items).map(lambda ids: ItemSummary(ids).packed()) | st.binary(max_size=4)


@st.composite
def happenings(draw: st.DrawFn) -> list[tuple[str, object]]:
    """Anything that can happen to a node; numbers below 4 stand for those of its own searches and fetches."""
    messages: st.SearchStrategy[Message] = st.one_of(
        st.builds(Query, numbers, items, contacts, st.integers(0, 2000), st.integers(0, 3)),
        st.builds(Response, numbers, contacts, hits, st.lists(contacts, max_size=2).map(tuple), st.none(), numbers),
        st.builds(Declined, st.sampled_from(["query", "fetch", "index"]), numbers),
        st.builds(IndexRequest, st.none() | numbers),
        st.builds(Index, numbers, indexes, st.none() | numbers),
        st.builds(FetchRequest, numbers, items),
        st.builds(Fetched, numbers, items, st.none() | items.map(lambda item: str(item).encode()) | st.just(b"Buy!")),
        st.builds(Join, contacts),
        st.builds(Leave),
        st.builds(Ping),
        st.builds(Pong, st.booleans(), st.lists(contacts, max_size=2).map(tuple)),
    )
    happening = st.one_of(
        st.tuples(st.just("ask"), items),
        st.tuples(st.just("message"), st.tuples(names, messages)),
        st.tuples(st.just("reply"), st.tuples(st.integers(0, 20), st.booleans(), items)),
        st.tuples(st.just("undelivered"), st.integers(0, 20)),
        st.tuples(st.just("checkpoint"), st.none()),
        st.tuples(st.just("wait"), st.floats(0, 3)),
        st.tuples(st.just("lost"), names),
    )
    return draw(st.lists(happening, max_size=40))


class Told:
    """A node that is told what happens, and what it sent that nobody has answered."""

    def __init__(self, algorithm: str):
        self.node = node("a", [0], algorithm=algorithm, buddies=3, walkers=2, ttl=8, max_ttl=16, checkpoint=2.0)
        self.node.connect(["b", "c", "d"])
        self.now = 0.0
        self.sent: list[Envelope] = []
        self.searches: list[int] = []

    def happens(self, kind: str, what: object) -> list[Envelope]:
        outgoing: list[Envelope] = []
        match kind, what:
            case "ask", int(item):
                number, outgoing = self.node.ask(item, self.now)
                self.searches.append(number)
            case "message", (str(sender), message):
                outgoing = self.node.receive(sender, self._in_its_words(message), self.now)
            case "reply", (int(which), bool(good), int(item)) if self.sent:
                envelope = self.sent.pop(which % len(self.sent))
                reply = _reply(envelope, good, item)
                outgoing = self.node.receive(envelope.to, reply, self.now) if reply else []
            case "undelivered", int(which) if self.sent:
                envelope = self.sent.pop(which % len(self.sent))
                outgoing = self.node.undelivered(envelope.to, envelope.message, self.now)
            case "checkpoint", _:
                outgoing = self.node.checkpoint()
            case "wait", float(seconds):
                self.now += seconds
                outgoing = self.node.tick(self.now)
            case "lost", str(name):
                self.node.disconnected(name)
        self.sent = (self.sent + outgoing)[-30:]
        return outgoing

    def _in_its_words(self, message: Message) -> Message:
        """Small numbers become those of its own searches."""
        for field in ("id", "query"):
            number = getattr(message, field, None)
            if number is not None and number < len(self.searches):
                return msgspec.structs.replace(message, **{field: self.searches[number]})
        return message


def _reply(envelope: Envelope, good: bool, item: int) -> Message | None:
    match envelope.message:
        case Query(id=number, target=target, walker=walker):
            return Response(number, Contact(envelope.to), (PeerHit(target),) if good else (), walker=walker)
        case FetchRequest(id=number, item=target):
            return Fetched(number, target, str(target).encode() if good else None)
        case IndexRequest():
            return Index(1, ItemSummary(frozenset([item])).packed())
        case Ping() | Join():
            return Pong(good)
        case _:
            return None


@every_algorithm
def test_whatever_happens_a_node_keeps_within_its_bounds(algorithm: str) -> None:
    @few
    @given(happenings())
    def keeps(events: list[tuple[str, object]]) -> None:
        told = Told(algorithm)
        for kind, what in events:
            outgoing = told.happens(kind, what)
            peer = told.node
            assert len(peer.buddies) <= 3
            assert set(peer.held.names()) <= set(peer.index_owners())
            assert len(peer.held) <= 10
            assert all(envelope.to != peer.name or isinstance(envelope.message, Response) for envelope in outgoing)
            assert all(decode(encode(envelope.message)) == envelope.message for envelope in outgoing)
            assert all(envelope.message.ttl <= 16 for envelope in outgoing if isinstance(envelope.message, Query))
            assert peer.next_deadline() > told.now or kind != "wait"
            if kind == "message" and isinstance(what, tuple) and isinstance(what[1], Query):
                onward = [envelope.message for envelope in outgoing if isinstance(envelope.message, Query)]
                assert all(each.ttl < what[1].ttl for each in onward)
        told.happens("wait", 10.0)
        for number in told.searches:
            search = told.node.answers(number)
            assert search is not None and search.stage is Stage.DONE
            assert search.issued <= 3 + 10 + 10 + 3 * 2  # buddies, indexes, those named, walkers or a flood's first
            assert search.received <= search.issued or told.node.options.floods

    keeps()


@every_algorithm
def test_what_is_kept_is_what_was_there(algorithm: str) -> None:
    @few
    @given(happenings())
    def keeps(events: list[tuple[str, object]]) -> None:
        told = Told(algorithm)
        for kind, what in events:
            told.happens(kind, what)
        state = told.node.state()
        other = Node("a", Items([0]), options=told.node.options, seed=1)
        other.restore(msgspec.json.decode(msgspec.json.encode(state)))
        assert other.state() == state
        assert list(other.buddies) == list(told.node.buddies)
        assert other.checkpoint() == told.node.checkpoint() and other.state() == told.node.state()

    keeps()


@few
@given(happenings(), st.integers(0, 5), names, st.sampled_from(Failure))
def test_only_one_that_is_down_wrong_or_declines_loses_count(
    events: list[tuple[str, object]], _: int, name: str, why: Failure
) -> None:
    told = Told("buddynet")
    for kind, what in events:
        told.happens(kind, what)
    before = told.node.buddies.get(name)
    others = {buddy for buddy in told.node.buddies if buddy.contact.name != name}
    told.node.policy.provider_failed(name, why, told.now)
    after = told.node.buddies.get(name)
    if why is Failure.LACKS:
        assert after == before
    elif after is not None:
        assert before is not None and after.count == before.count - 1
    assert {buddy for buddy in told.node.buddies if buddy.contact.name != name} == others


# Networks


@st.composite
def networks(draw: st.DrawFn) -> SimulatedNetwork:
    many = draw(st.integers(2, 12))
    everybody = [f"n{number}" for number in range(many)]
    has = {name: draw(st.lists(items, max_size=3)) for name in everybody}
    return network(
        has,
        ring(everybody, draw(st.integers(1, 3))),
        algorithm=draw(st.sampled_from([*ALGORITHMS])),
        seed=draw(st.integers(0, 100)),
        wire={"loss": draw(st.sampled_from([0.0, 0.0, 0.1]))},
        walkers=draw(st.integers(1, 3)),
        ttl=draw(st.integers(1, 20)),
        buddies=3,
        sends_empty_responses=draw(st.booleans()),
        demotes_unreachable=draw(st.booleans()),
    )


@few
@given(networks(), st.data())
def test_the_messages_of_a_query_are_bounded_and_it_finds_only_what_is_there(
    net: SimulatedNetwork, data: st.DataObject
) -> None:
    everybody = sorted(net.nodes)
    for number in range(data.draw(st.integers(1, 8))):
        net.run(number * 60.0)
        for name in data.draw(st.lists(st.sampled_from(everybody), max_size=3)):
            if data.draw(st.booleans()):
                net.go_down(name)
            else:
                net.come_up(name)
        up = [name for name in everybody if name not in net.down]
        if not up:
            return
        asker, target = data.draw(st.sampled_from(up)), data.draw(items)
        outcome = net.ask(asker, target)
        options = net.nodes[asker].options
        links = sum(len(peer.neighbours) for peer in net.nodes.values())
        walked = links if options.floods else options.walkers * options.ttl
        direct = options.buddies if options.keeps_buddies else 0
        answers = len(everybody) if options.floods else options.walkers
        assert outcome.queries_received <= walked + direct
        assert outcome.messages_received <= walked + direct + answers + direct
        if outcome.found:
            assert outcome.provider is not None and outcome.path_length is not None
            assert net.nodes[outcome.provider].content.find(target, 1).hits
            assert outcome.provider not in net.down and outcome.path_length <= outcome.queries_sent
        for peer in net.nodes.values():
            assert len(peer.buddies) <= options.buddies
            if options.indexes == "buddies":
                assert set(peer.held.names()) <= set(peer.buddies.names())


@few
@given(networks(), st.data())
def test_half_of_the_nodes_killed_at_once_leave_answers_where_anybody_is_left_to_give_them(
    net: SimulatedNetwork, data: st.DataObject
) -> None:
    everybody = sorted(net.nodes)
    for number in range(4):
        net.ask(everybody[number % len(everybody)], number)
    for name in data.draw(st.permutations(everybody))[: len(everybody) // 2]:
        net.go_down(name)
    for asker in everybody:
        if asker in net.down:
            continue
        near = [name for name in net.nodes[asker].neighbours.names if name not in net.down]
        target = data.draw(items)
        everyone_near_has_it = near and all(net.nodes[name].content.find(target, 1).hits for name in near)
        outcome = net.ask(asker, target)
        if everyone_near_has_it and not net._loss:
            assert outcome.found


@few
@given(
    st.lists(
        st.tuples(st.floats(0, 1.5), st.integers(0, 12), st.integers(0, 20), names, st.integers(1, 4)), max_size=12
    )
)
def test_however_much_is_searched_and_whatever_strangers_send_honest_peers_do_not_offend_each_other(
    happens: list[tuple[float, int, int, str, int]],
) -> None:
    nodes = {name: friend(name, [5], capacity_per_peer=10.0) for name in "abc"}
    nodes["a"].buddies.answered(Contact("b", "b:1"))
    for name, peer in nodes.items():
        peer.connect(Contact(other, f"{other}:1") for other in "abc" if other != name)
    now, number = 0.0, 0
    for passed, searches, walkers, origin, ttl in happens:
        now += passed
        for _ in range(searches):
            carry(nodes, "a", nodes["a"].ask(7, now)[1], now)
        for _ in range(walkers):
            number += 1
            walker = Query(number, 7, Contact(origin, f"{origin}:1"), ttl=ttl, walker=1)
            carry(nodes, "b", nodes["b"].receive(f"s{number % 3}", walker, now), now)
    for name, peer in nodes.items():
        assert [peer.demerits(other, now) for other in "abc" if other != name] == [0, 0]


@few
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(1, 50), st.integers(1, 8))
def test_a_walker_ends_after_so_many_hops_and_takes_the_same_way_again(
    seed: int, query: int, ttl: int, many: int
) -> None:
    overlay = ring([f"n{number}" for number in range(many)])

    def way() -> list[str]:
        at, came_from, hops = "n0", None, []
        for left in range(ttl, 0, -1):
            hop = next_hop(seed, query, 1, left, overlay[at], came_from)
            if hop is None:
                break
            assert hop != came_from or len(overlay[at]) == 1
            came_from, at = at, hop
            hops.append(hop)
        return hops

    assert way() == way() and len(way()) <= ttl
