"""Peers as people run them, among strangers who lie: nobody is blamed for what others told, nobody gains by spam."""

import pytest

from lycosa_peers.content import Items, LookupResult
from lycosa_peers.messages import (
    MAX_HITS,
    CollectionStatistics,
    Contact,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    Item,
    PeerHit,
    Query,
    Response,
    Target,
)
from lycosa_peers.node import Node
from lycosa_peers.options import DEFAULTS
from lycosa_peers.rate_limits import RateLimit, Reputation
from lycosa_peers.search import ReplyStatus, Stage
from small_networks import carry, friend


def walker(number: int, origin: str, *, ttl: int = 9, target: int = 5) -> Query:
    return Query(number, target, Contact(origin, f"{origin}:1"), ttl=ttl, walker=1)


def relay(middle: Node, end: Node, sender: str, query: Query, now: float = 0.0) -> list[Envelope]:
    """What `middle` sends to `end` when a query comes to it, which `end` receives."""
    outgoing = [envelope for envelope in middle.receive(sender, query, now) if envelope.to == end.name]
    for envelope in outgoing:
        end.receive(middle.name, envelope.message, now)
    return outgoing


# What others told


def test_who_passes_on_a_walker_in_our_name_is_not_blamed() -> None:
    honest, victim = friend("h"), friend("v")
    honest.connect(["m", "v"])
    victim.connect(["h"])
    relayed = [relay(honest, victim, "m", walker(number, "v")) for number in range(1, 40)]
    assert all(relayed) and victim.counts["forged"] == 39
    assert victim.demerits("h", 0.0) == 0 and "h" in victim.neighbours


def test_who_passes_on_a_walker_that_came_before_is_not_blamed() -> None:
    honest, other = friend("h"), friend("n")
    honest.connect(["m", "n"])
    other.connect(["h", "m"])
    for number in range(1, 40):
        other.receive("m", walker(number, "z", ttl=5), 0.0)
        relay(honest, other, "m", walker(number, "z", ttl=6), 0.0)
    assert other.counts["replayed"] == 39 and other.demerits("h", 0.0) == 0


def test_one_who_asks_the_same_twice_is_blamed() -> None:
    peer = friend("p")
    for _ in range(2):
        peer.receive("s", Query(1, 5, Contact("s")), 0.0)
    assert peer.counts["replayed"] == 1 and peer.demerits("s", 0.0) == 0.5


@pytest.mark.parametrize("origin", ["nobody", "n"])
def test_many_who_send_as_much_as_they_may_through_one_do_not_make_it_send_too_much(origin: str) -> None:
    """Neither as walkers that it passes on nor as answers to one who did not ask."""
    honest, other = friend("h", capacity=1e9), friend("n", capacity=1e9)
    honest.connect(["n"])
    other.connect(["h"])
    for step in range(6 * 200):
        now = step / 200
        for stranger in range(4):
            for envelope in honest.receive(f"s{stranger}", walker(step * 4 + stranger, origin, ttl=step % 2 + 1), now):
                if envelope.to == "n":
                    other.receive("h", envelope.message, now)
    assert honest.counts["held_back"] > 1000 and not any(honest.is_banned(f"s{s}", 6.0) for s in range(4))
    assert other.counts["received"] > 500 and other.counts["too_fast"] == 0


def test_a_walker_that_goes_no_farther_tells_so() -> None:
    peer = friend("p")
    peer.connect(["n"])
    outgoing = [peer.receive(f"s{number % 9}", walker(number, f"a{number}"), 0.0) for number in range(300)]
    onward = [envelope for (envelope,) in outgoing if envelope.to == "n"]
    ended = [envelope for (envelope,) in outgoing if envelope.to != "n"]
    assert len(onward) == 180 and len(ended) == 120 == peer.counts["held_back"]
    assert all(isinstance(envelope.message, Response) and not envelope.message.hits for envelope in ended)


# Who asks much


@pytest.mark.parametrize("searches", [40, DEFAULTS.searches])
@pytest.mark.parametrize("are_buddies", [False, True])
def test_who_begins_as_many_searches_as_can_be_is_not_shunned_and_every_one_asks(
    searches: int, are_buddies: bool
) -> None:
    nodes = {name: friend(name) for name in "ab"}
    asker, other = nodes["a"], nodes["b"]
    asker.connect(["b"])
    other.connect(["a"])
    if are_buddies:
        asker.buddies.answered(Contact("b"))
    asked = [asker.ask(5, 0.0) for _ in range(searches)]
    for _, outgoing in asked:
        carry(nodes, "a", outgoing)
    asker.tick(0.1)
    ended = [asker.answers(number) for number, _ in asked]
    assert all(search is not None and search.issued and search.stage is Stage.DONE for search in ended)
    assert other.counts["too_fast"] == asker.counts["too_fast"] == 0


def test_who_searches_without_end_is_not_shunned_and_learns_what_was_held_back() -> None:
    nodes = {name: friend(name) for name in "ab"}
    nodes["a"].connect(["b"])
    nodes["b"].connect(["a"])
    held_back = issued = 0
    for step in range(4000):
        number, outgoing = nodes["a"].ask(5, step / 400)
        carry(nodes, "a", outgoing, step / 400)
        search = nodes["a"].answers(number)
        assert search is not None and search.stage is Stage.DONE
        held_back, issued = held_back + search.rate_limited, issued + search.issued
    assert issued > 1500 and issued + held_back == 4000 * DEFAULTS.walkers
    assert nodes["b"].counts["too_fast"] == nodes["a"].counts["too_fast"] == 0


def test_who_asks_itself_is_always_told_that_a_walker_ended() -> None:
    peer = friend("p")
    replies = [peer.receive("a", walker(number, "a", ttl=1), number / 190) for number in range(2000)]
    assert all(len(outgoing) == 1 for outgoing in replies) and peer.counts["held_back"] == 0


def test_a_stranger_who_names_another_as_asker_does_not_keep_the_answers_of_others_from_it() -> None:
    peer = friend("p")
    answered = 0
    for step in range(1800):
        peer.receive("m", walker(2 * step, "v", ttl=1), step / 180)
        if step % 10 == 0:
            answered += len(peer.receive("h", walker(2 * step + 1, "v", ttl=1), step / 180))
    assert answered == 180 and not peer.is_banned("m", 10.0)


def test_what_is_waited_for_never_comes_too_fast() -> None:
    asker = friend("a")
    asker.connect([f"n{number}" for number in range(60)])
    asked = [asker.ask(5, 0.0) for _ in range(100)]
    for number, outgoing in asked:
        for each in _walkers(outgoing):
            asker.receive("b", Response(number, Contact("b"), walker=each), 0.0)
    assert asker.counts["responses"] > 500 and asker.counts["too_fast"] == 0
    for number in range(500):
        asker.receive("b", Response(number, Contact("b")), 0.0)
    assert asker.counts["too_fast"] > 0 and asker.is_banned("b", 0.0)


def test_who_a_walker_met_is_not_blamed_for_an_answer_to_another_question() -> None:
    asker = friend("a")
    asker.connect(["m"])
    number, outgoing = asker.ask(5, 0.0)
    asker.receive("h", Response(number, Contact("h"), (PeerHit(7),), walker=_walkers(outgoing)[0]), 0.1)
    search = asker.answers(number)
    assert search is not None and search.answers == () and search.stage is Stage.WALKING
    assert asker.counts["no_answer"] == 1 and asker.demerits("h", 0.1) == 0


def test_a_buddy_is_asked_where_it_said_it_is_and_nowhere_else() -> None:
    asker = friend("a")
    asker.buddies.answered(Contact("m", "m:1"))
    number, _ = asker.ask(5, 0.0)
    asker.buddies.answered(Contact("b", "b:1"))
    (envelope,) = asker.receive("m", Response(number, Contact("m"), referrals=(Contact("b", "evil:9"),)), 0.1)
    assert (envelope.to, envelope.address) == ("b", "b:1")


@pytest.mark.parametrize("late", [Declined("query", 77), Response(77, Contact("b"))])
def test_who_answers_a_search_that_is_forgotten_is_not_blamed(late: Declined | Response) -> None:
    asker = friend("a")
    for _ in range(30):
        asker.receive("b", late, 0.0)
    assert asker.counts["unasked"] == 30 and asker.demerits("b", 0.0) == 0


def test_one_who_declines_the_same_twice_is_blamed() -> None:
    asker = friend("a")
    asker.buddies.answered(Contact("b"))
    number, _ = asker.ask(5, 0.0)
    for _ in range(2):
        asker.receive("b", Declined("query", number), 0.1)
    assert asker.counts["repeated"] == 1 and asker.demerits("b", 0.1) == 0.5


def test_when_a_search_is_over_nobody_is_asked_because_others_named_them() -> None:
    asker = friend("a")
    for name in "bc":
        asker.buddies.answered(Contact(name))
    number, _ = asker.ask(5, 0.0)
    asker.receive("b", Response(number, Contact("b"), (PeerHit(5),)), 0.1)
    asker.tick(0.3)
    assert asker.stage(number) is Stage.DONE
    assert asker.receive("c", Response(number, Contact("c"), referrals=(Contact("x", "x:1"),)), 0.4) == []


# Who answers


def _walkers(outgoing: list[Envelope]) -> list[int]:
    return [envelope.message.walker for envelope in outgoing if isinstance(envelope.message, Query)]


def test_only_who_met_a_walker_can_end_it() -> None:
    asker = friend("a")
    asker.connect(["m", "g"])
    number, outgoing = asker.ask(5, 0.0)
    walkers = _walkers(outgoing)
    assert len(set(walkers)) == 8 and not set(walkers) & set(range(1000))
    for guess in [walkers[0], *range(1, 300)]:
        asker.receive("m", Response(number, Contact("m"), walker=guess), 0.01)
    assert asker.stage(number) is Stage.WALKING
    asker.receive("g", Response(number, Contact("g"), (PeerHit(5),), walker=walkers[1]), 0.02)
    search = asker.answers(number)
    assert search is not None and [answer.via for answer in search.answers] == ["g"]


def test_what_several_have_counts_once() -> None:
    asker = friend("a")
    for name in "bcd":
        asker.buddies.answered(Contact(name))
    asker.connect(["x"])
    number, _ = asker.ask(5, 0.0, max_hits=10, sufficient_hits=2)
    for name in "bcd":
        asker.receive(name, Response(number, Contact(name), (PeerHit(5),) * 10), 0.1)
    assert asker.stage(number) is Stage.WALKING


def test_spam_is_not_counted_not_credited_and_costs_a_buddy_its_place() -> None:
    asker = friend("a")
    asker.buddies.answered(Contact("s"))
    number, _ = asker.ask(5, 0.0, max_hits=10, sufficient_hits=1)
    asker.receive("s", Response(number, Contact("s"), (PeerHit(6), PeerHit(7))), 0.1)
    search = asker.answers(number)
    assert search is not None and search.found_in_stage is None and search.asked == {"s": ReplyStatus.ANSWERED}
    assert len(asker.buddies) == 0 and asker.demerits("s", 0.1) == 0.5


class Choosy(Items):
    """May not take what is above 100."""

    def is_plausible_hit(self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None) -> bool:
        return isinstance(hit.item, int) and hit.item % 100 == target

    def may_store(self, item: Item) -> bool:
        return isinstance(item, int) and item <= 100


def choosy() -> Node:
    asker = Node(Contact("a", "a:1"), Choosy(), options=DEFAULTS, seed=1)
    asker.connect(["x"])
    asker.buddies.answered(Contact("b"))
    return asker


def test_who_has_what_we_may_not_take_is_neither_blamed_nor_credited_and_the_search_goes_on() -> None:
    asker = choosy()
    for turn in range(30):
        number, _ = asker.ask(5, float(turn), max_hits=10, sufficient_hits=1)
        asker.receive("b", Response(number, Contact("b"), (PeerHit(105), PeerHit(205))), float(turn))
    search = asker.answers(number)
    assert search is not None and search.stage is Stage.WALKING
    assert [len(answer.hits) for answer in search.answers] == [2] and search.dropped_hits == 0
    assert asker.demerits("b", 30.0) == 0 and [buddy.count for buddy in asker.buddies] == [1]
    asker.tick(60.0)
    ended = asker.answers(number)
    assert ended is not None and ended.stage is Stage.DONE and ended.found_in_stage is None


def test_hits_that_are_no_answers_are_counted() -> None:
    asker = choosy()
    number, _ = asker.ask(5, 0.0, max_hits=10)
    asker.receive("b", Response(number, Contact("b"), (PeerHit(5), PeerHit(6), PeerHit(7), PeerHit(105))), 0.0)
    search = asker.answers(number)
    assert search is not None and [[hit.item for hit in each.hits] for each in search.answers] == [[5, 105]]
    assert search.dropped_hits == asker.counts["dropped_hits"] == 2 and search.dropped == 0


def test_one_who_answers_for_all_walkers_is_credited_once() -> None:
    asker = friend("a", probation=1)
    asker.connect(["m"])
    number, outgoing = asker.ask(5, 0.0, max_hits=10, sufficient_hits=10)
    fetches = []
    for each in _walkers(outgoing):
        fetches += asker.receive("m", Response(number, Contact("m"), (PeerHit(5),), walker=each), 0.1)
    (fetch,) = [envelope.message for envelope in fetches if isinstance(envelope.message, FetchRequest)]
    asker.receive("m", Fetched(fetch.id, 5, b"5"), 0.2)
    assert [(buddy.contact.name, buddy.count) for buddy in asker.buddies] == [("m", 1)]


# How much is served


class Much(Items):
    """Has any number of everything."""

    def find(self, target: Target, max_hits: int) -> LookupResult:
        return LookupResult(tuple(PeerHit(number) for number in range(max_hits)))


def test_a_stranger_gets_fewer_hits_than_a_buddy_and_each_pays_for_what_it_gets() -> None:
    peer = Node("p", Much(), options=DEFAULTS, seed=1)
    peer.buddies.answered(Contact("b"))

    def hits(asker: str, number: int, max_hits: int) -> int | None:
        (envelope,) = peer.receive(asker, Query(number, 5, Contact(asker), max_hits=max_hits), 0.0)
        return len(envelope.message.hits) if isinstance(envelope.message, Response) else None

    assert (hits("s", 1, 10), hits("s", 2, 100), hits("b", 1, 100)) == (10, 30, MAX_HITS)
    served = sum(hits(f"s{number}", number, 100) is not None for number in range(1000))
    left = 2 * 400 - 1 - 3 - 10  # of two seconds' capacity
    assert served == (left - 200 + 2) // 3  # at three for each; a quarter of it is not for strangers
    assert peer.counts["declined"] == 1000 - served
    assert hits("b", 2, 100) == MAX_HITS


def test_what_costs_more_than_is_left_is_owed() -> None:
    allowance = RateLimit(10.0)
    assert allowance.take(0.0)
    allowance.charge(29.0)
    assert not allowance.take(0.9) and allowance.take(1.2)


def test_one_who_asks_in_vain_for_as_much_as_it_may_leaves_others_their_share() -> None:
    peer = friend("p", [7])
    for turn in range(2000):
        peer.receive("s", Query(turn, 5, Contact("s"), max_hits=30), turn / 190)
    (envelope,) = peer.receive("h", Query(1, 7, Contact("h"), max_hits=30), 2000 / 190)
    assert isinstance(envelope.message, Response) and envelope.message.hits
    assert peer.counts["declined"] == peer.counts["too_fast"] == 0


# Slow ones, and bad ones


def test_a_page_that_comes_late_is_not_held_against_who_sends_it() -> None:
    asker = friend("a")
    for turn in range(20):
        now = turn * 30.0
        number, _ = asker.fetch(Contact("p", "p:1"), 5, now)
        asker.tick(now + DEFAULTS.fetch_wait)
        late = Declined("fetch", number) if turn % 2 else Fetched(number, 5, b"5")
        asker.receive("p", late, now + DEFAULTS.fetch_wait + 1)
    assert asker.counts["late"] == 20 and asker.demerits("p", 1000.0) == 0
    asker.receive("p", Fetched(number, 5, b"5"), 1000.0)
    assert asker.counts["unasked"] == 1  # it had come already


@pytest.mark.parametrize("by", [0.125, 0.5, 1.0, 2.0, 20.0])
def test_who_misbehaves_too_often_is_shunned_for_as_long_as_is_said(by: float) -> None:
    reputation, now = Reputation(ban_threshold=8.0, ban_seconds=600.0, per_peer=0.0), 0.0
    while not reputation.penalise("p", now, by):
        assert not reputation.is_banned("p", now)
        now += 0.005
    assert (
        reputation.is_banned("p", now)
        and reputation.is_banned("p", now + 599.9)
        and not reputation.is_banned("p", now + 600.0)
    )


def test_a_restart_does_not_forgive() -> None:
    peer = friend("p")
    peer.penalise("s", "bad", 0.0, demerits=9.0)
    peer.penalise("t", "bad", 0.0, demerits=1.0)
    again = friend("p")
    again.restore(peer.state())
    assert again.receive("s", FetchRequest(1, 5), 0.0) == [] and again.receive("t", FetchRequest(1, 5), 0.0) != []
    peer.tick(601.0)
    later = friend("p")
    later.restore(peer.state())
    assert later.receive("s", FetchRequest(1, 5), 0.0) != []


def test_who_misbehaves_is_neither_buddy_nor_neighbour_any_more() -> None:
    peer = friend("p")
    peer.connect([Contact("s", "s:1")])
    peer.buddies.answered(Contact("s"))
    peer.penalise("s", "oversized", 0.0, demerits=8.0)
    assert peer.counts["oversized"] == 1
    assert "s" not in peer.neighbours and "s" not in peer.buddies and peer.neighbours.known() == []
