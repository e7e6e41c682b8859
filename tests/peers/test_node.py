"""One node, told what happens: how it searches, serves, learns, and what it does not take from strangers."""

import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_peers import rate_limits
from lycosa_peers.content import ItemSummary
from lycosa_peers.messages import (
    DIRECT,
    Contact,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    Hello,
    Index,
    IndexRequest,
    Join,
    Leave,
    PeerHit,
    Ping,
    Pong,
    Query,
    Response,
)
from lycosa_peers.node import Node
from lycosa_peers.options import ALGORITHMS, options_for
from lycosa_peers.search import Failure, ReplyStatus, Stage
from small_networks import carry, node


def befriend(asker: Node, *names: str) -> None:
    for name in reversed(names):
        asker.buddies.answered(Contact(name))


def hold(asker: Node, name: str, *ids: int) -> None:
    """Two checkpoints, and the index of a buddy."""
    asker.checkpoint()
    if Envelope(name, IndexRequest()) not in asker.checkpoint():
        raise AssertionError(f"{name} was not asked")
    asker.receive(name, Index(0, ItemSummary(frozenset(ids)).packed()), 0.0)


def stage(asker: Node, number: int) -> Stage:
    search = asker.answers(number)
    assert search is not None
    return search.stage


# The order of a search


def test_what_is_at_home_is_not_asked_for() -> None:
    asker = node("a", [5])
    befriend(asker, "b")
    number, outgoing = asker.ask(5, 0.0)
    search = asker.answers(number)
    assert outgoing == [] and search is not None
    assert (search.stage, search.found_in_stage, search.provider) == (Stage.DONE, Stage.OWN_CONTENT, "a")


def test_an_index_that_has_it_is_followed_by_the_fetch_alone() -> None:
    asker = node("a")
    befriend(asker, "b", "c")
    hold(asker, "c", 5)
    number, outgoing = asker.ask(5, 0.0)
    assert [(envelope.to, type(envelope.message)) for envelope in outgoing] == [("c", FetchRequest)]
    assert stage(asker, number) is Stage.INDEXES


def test_buddies_are_asked_directly_best_first_and_all_of_them() -> None:
    asker = node("a")
    befriend(asker, "b", "c")
    hold(asker, "b", 9)
    _, outgoing = asker.ask(5, 0.0)
    assert [envelope.to for envelope in outgoing] == ["b", "c"]
    assert {
        (envelope.message.ttl, envelope.message.walker) for envelope in outgoing if isinstance(envelope.message, Query)
    } == {(1, DIRECT)}


def test_the_walk_begins_when_buddies_have_been_silent_for_long_enough() -> None:
    asker = node("a", buddy_wait=0.25)
    asker.connect(["x", "y"])
    befriend(asker, "b")
    number, _ = asker.ask(5, 0.0)
    assert asker.next_deadline() == 0.25
    assert asker.tick(0.2) == [] and stage(asker, number) is Stage.BUDDIES
    walkers = asker.tick(0.25)
    assert [envelope.message.walker for envelope in walkers if isinstance(envelope.message, Query)] == [1, 2]
    assert {envelope.to for envelope in walkers} <= {"x", "y"} and stage(asker, number) is Stage.WALKING


def test_the_walk_begins_at_once_when_every_buddy_has_said_no_or_is_down() -> None:
    asker = node("a")
    asker.connect(["x"])
    befriend(asker, "b", "c", "d")
    number, outgoing = asker.ask(5, 0.0)
    assert asker.receive("b", Response(number, Contact("b")), 0.1) == []
    assert asker.receive("c", Declined("query", number), 0.1) == []
    walkers = asker.undelivered("d", outgoing[2].message, 0.1)
    assert [envelope.to for envelope in walkers] == ["x", "x"]
    search = asker.answers(number)
    assert search is not None
    assert search.asked == {"b": ReplyStatus.LACKS, "c": ReplyStatus.DECLINED, "d": ReplyStatus.DOWN}


def test_a_search_ends_at_its_deadline_with_what_it_has() -> None:
    asker = node("a", timeout=2.0, downloads=False)
    asker.connect(["x"])
    number, _ = asker.ask(5, 0.0, max_hits=10, sufficient_hits=10)
    asker.receive("x", Response(number, Contact("x"), (PeerHit(5),), walker=1), 0.5)
    assert stage(asker, number) is Stage.WALKING
    asker.tick(2.0)
    search = asker.answers(number)
    assert search is not None
    assert search.stage is Stage.DONE and search.found_in_stage is Stage.WALKING and len(search.answers) == 1


def test_a_search_ends_when_all_walkers_have_told_that_they_did() -> None:
    asker = node("a", downloads=False)
    asker.connect(["x"])
    number, _ = asker.ask(5, 0.0)
    for walker in (1, 2):
        assert stage(asker, number) is Stage.WALKING
        asker.receive("x", Response(number, Contact("x"), walker=walker), 0.5)
    assert stage(asker, number) is Stage.DONE


def test_answers_that_come_after_the_end_are_taken_down_too() -> None:
    asker = node("a", downloads=False)
    asker.connect(["x"])
    number, _ = asker.ask(5, 0.0)
    asker.receive("x", Response(number, Contact("x"), (PeerHit(5),), walker=1), 0.5)
    asker.receive("y", Response(number, Contact("y"), (PeerHit(5),), walker=2), 9.0)
    search = asker.answers(number)
    assert search is not None and [answer.provider.name for answer in search.answers] == ["x", "y"]
    assert asker.buddies.names() == ["x"]


def test_who_is_said_to_have_it_is_asked_directly_and_only_so_many() -> None:
    asker = node("a", downloads=False, referrals=2)
    befriend(asker, "b")
    number, _ = asker.ask("wind", 0.0)
    named = tuple(Contact(name, f"{name}:1") for name in ("a", "c", "b", "d", "e", "f"))
    outgoing = asker.receive("b", Response(number, Contact("b"), referrals=named[1:]), 0.1)
    assert [(envelope.to, envelope.address) for envelope in outgoing] == [
        ("c", "c:1")
    ]  # the second named, b, was asked before
    more = asker.receive("c", Response(number, Contact("c"), referrals=named[3:]), 0.1)
    assert [envelope.to for envelope in more if isinstance(envelope.message, Query)] == ["d"]


def test_what_one_says_of_another_is_asked_of_that_one_where_nothing_is_fetched() -> None:
    asker = node("a", downloads=False)
    befriend(asker, "b")
    number, _ = asker.ask("wind", 0.0)
    outgoing = asker.receive("b", Response(number, Contact("c"), (PeerHit("http://c/", "Buy!"),)), 0.1)
    search = asker.answers(number)
    assert [envelope.to for envelope in outgoing] == ["c"]
    assert search is not None and search.answers == ()


# Serving


def test_a_receiver_answers_from_its_store_then_from_indexes_else_passes_on() -> None:
    peer = node("p", [1])
    peer.connect(["x", "y"])
    befriend(peer, "b")
    hold(peer, "b", 1, 2)
    asker = Contact("a", "a:1")
    (own,) = peer.receive("x", Query(7, 1, asker, ttl=9, walker=1), 0.0)
    assert own == Envelope("a", Response(7, Contact("p"), (PeerHit(1),), walker=1, ttl=9), "a:1")
    (other,) = peer.receive("x", Query(8, 2, asker, ttl=9, walker=1), 0.0)
    assert other == Envelope("a", Response(8, Contact("b"), (PeerHit(2),), walker=1, ttl=9), "a:1")
    (onward,) = peer.receive("x", Query(9, 3, asker, ttl=9, walker=1), 0.0)
    assert onward == Envelope("y", Query(9, 3, asker, ttl=8, walker=1))


def test_a_query_asked_directly_or_at_its_end_is_not_passed_on() -> None:
    peer = node("p")
    peer.connect(["x", "y"])
    assert peer.receive("a", Query(7, 1, Contact("a"), ttl=50), 0.0) == []
    assert peer.receive("x", Query(8, 1, Contact("a"), ttl=1, walker=1), 0.0) == []
    assert peer.receive("x", Query(8, 1, Contact("a"), ttl=0, walker=2), 0.0) == []
    assert peer.counts["expired"] == 1


def test_where_that_is_wanted_the_asker_hears_that_there_is_nothing() -> None:
    peer = node("p", sends_empty_responses=True)
    (no,) = peer.receive("a", Query(7, 1, Contact("a")), 0.0)
    assert no == Envelope("a", Response(7, Contact("p"), ttl=1))
    (end,) = peer.receive("x", Query(8, 1, Contact("a"), ttl=5, walker=3), 0.0)
    assert end == Envelope("a", Response(8, Contact("p"), walker=3, ttl=5))


def test_only_the_one_who_asks_asks_buddies() -> None:
    peer = node("p")
    peer.connect(["x", "y"])
    befriend(peer, "b", "c")
    assert [envelope.to for envelope in peer.receive("x", Query(7, 1, Contact("a"), ttl=9, walker=1), 0.0)] == ["y"]


def test_a_walker_that_comes_home_is_sent_on() -> None:
    asker = node("a")
    asker.connect(["x", "y"])
    number, outgoing = asker.ask(5, 0.0)
    assert isinstance(outgoing[0].message, Query)
    home = asker.receive("x", Query(number, 5, Contact("a"), ttl=3, walker=1), 0.1)
    assert [(envelope.to, envelope.message) for envelope in home] == [
        ("y", Query(number, 5, Contact("a"), ttl=2, walker=1))
    ]


def test_a_busy_node_declines_and_passes_walkers_on_without_looking() -> None:
    peer = node("p", [1], capacity=1.0)
    peer.connect(["x", "y"])
    answers = [peer.receive("a", Query(number, 1, Contact("a")), 0.0)[0].message for number in range(4)]
    assert [type(answer) for answer in answers] == [Response, Response, Declined, Declined]
    assert peer.receive("a", FetchRequest(3, 1), 0.0) == [Envelope("a", Declined("fetch", 3))]
    assert peer.receive("a", IndexRequest(), 0.0) == [Envelope("a", Declined("index", 0))]
    (onward,) = peer.receive("x", Query(9, 1, Contact("a"), ttl=5, walker=1), 0.0)
    assert onward.to == "y"
    assert isinstance(peer.receive("a", Query(10, 1, Contact("a")), 1.0)[0].message, Response)


def test_an_index_is_shown_whole_or_as_what_changed() -> None:
    peer = node("p", [1])
    (whole,) = peer.receive("a", IndexRequest(), 0.0)
    peer.content.add(2)  # type: ignore[attr-defined]
    (change,) = peer.receive("a", IndexRequest(since=0), 0.0)
    (unknown,) = peer.receive("a", IndexRequest(since=77), 0.0)
    assert isinstance(whole.message, Index) and whole.message.since is None
    assert isinstance(change.message, Index) and (change.message.since, change.message.version) == (0, 1)
    assert isinstance(unknown.message, Index) and unknown.message.since is None


# Learning


def fetch_from(asker: Node, *providers: str) -> tuple[int, int]:
    """A search that has heard of providers and fetches from the first: its number, and the fetch's."""
    asker.connect(["x"])
    number, _ = asker.ask(5, 0.0)
    asker.tick(0.3)
    outgoing = []
    for walker, name in enumerate(providers, 1):
        outgoing += asker.receive(name, Response(number, Contact(name), (PeerHit(5),), walker=walker), 0.5)
    assert [envelope.to for envelope in outgoing] == [providers[0]] and isinstance(outgoing[0].message, FetchRequest)
    return number, outgoing[0].message.id


def test_the_first_who_gives_it_becomes_a_buddy() -> None:
    asker = node("a")
    number, fetch = fetch_from(asker, "p", "q")
    assert asker.receive("p", Fetched(fetch, 5, b"5"), 0.6) == []
    search = asker.answers(number)
    assert search is not None
    assert (search.stage, search.found_in_stage, search.provider) == (Stage.DONE, Stage.WALKING, "p")
    assert [(buddy.contact.name, buddy.count) for buddy in asker.buddies] == [("p", 1)]


@pytest.mark.parametrize("why", Failure)
def test_a_provider_that_fails_is_followed_by_the_next_and_loses_count_unless_it_merely_lacks_it(why: Failure) -> None:
    asker = node("a")
    befriend(asker, "p", "p", "p")
    _, fetch = fetch_from(asker, "p", "q")
    match why:
        case Failure.DOWN:
            outgoing = asker.undelivered("p", FetchRequest(fetch, 5), 0.6)
        case Failure.DECLINED:
            outgoing = asker.receive("p", Declined("fetch", fetch), 0.6)
        case Failure.WRONG:
            outgoing = asker.receive("p", Fetched(fetch, 5, b"Buy!"), 0.6)
        case Failure.LACKS:
            outgoing = asker.receive("p", Fetched(fetch, 5, None), 0.6)
    assert [(envelope.to, type(envelope.message)) for envelope in outgoing] == [("q", FetchRequest)]
    buddy = asker.buddies.get("p")
    assert buddy is not None and buddy.count == (3 if why is Failure.LACKS else 2)
    assert asker.counts[f"failed_{why}"] == 1


def test_a_fetch_that_is_not_answered_in_time_was_to_one_that_is_down() -> None:
    asker = node("a", fetch_wait=1.0)
    befriend(asker, "p", "p")
    number, _ = fetch_from(asker, "p")
    assert asker.next_deadline() == 1.5
    asker.tick(1.5)
    buddy = asker.buddies.get("p")
    assert buddy is not None and buddy.count == 1 and stage(asker, number) is Stage.WALKING


def test_without_adaptation_nobody_loses_count() -> None:
    asker = node("a", algorithm="interest-shortcuts")
    befriend(asker, "p")
    _, fetch = fetch_from(asker, "p")
    asker.undelivered("p", FetchRequest(fetch, 5), 0.6)
    assert asker.buddies.names() == ["p"]


def test_a_buddy_that_declines_loses_count_and_one_that_lacks_it_or_is_not_reached_does_not() -> None:
    asker = node("a")
    befriend(asker, "b", "b", "c", "c", "d", "d")
    number, outgoing = asker.ask(5, 0.0)
    asker.receive("b", Declined("query", number), 0.1)
    asker.receive("c", Response(number, Contact("c")), 0.1)
    asker.undelivered("d", outgoing[-1].message, 0.1)
    assert {buddy.contact.name: buddy.count for buddy in asker.buddies} == {"b": 1, "c": 2, "d": 2}


def test_an_unreachable_buddy_loses_count_where_that_is_wanted() -> None:
    asker = node("a", demotes_unreachable=True)
    befriend(asker, "d", "d")
    _, outgoing = asker.ask(5, 0.0)
    asker.undelivered("d", outgoing[0].message, 0.1)
    assert [buddy.count for buddy in asker.buddies] == [1]


def test_a_buddy_found_down_by_its_index_is_not_asked_again_in_that_search() -> None:
    asker = node("a")
    befriend(asker, "b", "b", "c")
    hold(asker, "b", 5)
    _, outgoing = asker.ask(5, 0.0)
    more = asker.undelivered("b", outgoing[0].message, 0.0)
    assert [(envelope.to, type(envelope.message)) for envelope in more] == [("c", Query)]


def test_an_index_that_was_wrong_is_refreshed() -> None:
    asker = node("a")
    befriend(asker, "b")
    hold(asker, "b", 5)
    _, outgoing = asker.ask(5, 0.0)
    assert isinstance(outgoing[0].message, FetchRequest)
    more = asker.receive("b", Fetched(outgoing[0].message.id, 5, None), 0.1)
    assert Envelope("b", IndexRequest(since=0)) in more and asker.buddies.names() == ["b"]


def test_the_index_goes_with_the_buddy() -> None:
    asker = node("a", buddies=1)
    befriend(asker, "b")
    hold(asker, "b", 7)
    _, fetch = fetch_from(asker, "p")
    asker.receive("p", Fetched(fetch, 5, b"5"), 0.6)
    assert asker.buddies.names() == ["p"] and asker.held.names() == []


def test_either_the_provider_or_the_one_who_answered_for_it_is_credited() -> None:
    for credit, buddy in (("provider", "p"), ("responder", "r")):
        asker = node("a", credit=credit)
        asker.connect(["x"])
        number, _ = asker.ask(5, 0.0)
        (envelope,) = asker.receive("r", Response(number, Contact("p"), (PeerHit(5),), walker=1), 0.5)
        assert envelope.to == "p" and isinstance(envelope.message, FetchRequest)
        asker.receive("p", Fetched(envelope.message.id, 5, b"5"), 0.6)
        assert asker.buddies.names() == [buddy]


def test_indexes_of_neighbours_are_held_where_the_algorithm_says_so() -> None:
    asker = node("a", algorithm="walk+index", neighbour_indexes=2)
    asker.connect(["x", "y", "z"])
    assert asker.checkpoint() == []  # it has not asked anything yet
    asker.ask(6, 0.0)
    assert [envelope.to for envelope in asker.checkpoint()] == ["x", "y"]
    asker.receive("y", Index(0, ItemSummary(frozenset([5])).packed()), 0.0)
    _, outgoing = asker.ask(5, 0.0)
    assert [(envelope.to, type(envelope.message)) for envelope in outgoing] == [("y", FetchRequest)]


def test_a_fetch_of_ones_own_brings_the_thing_or_why_not() -> None:
    asker = node("a", downloads=False)
    number, outgoing = asker.fetch(Contact("p", "p:1"), 5, 0.0)
    assert outgoing == [Envelope("p", FetchRequest(number, 5), "p:1")] and asker.fetch_result(number) is None
    asker.receive("p", Fetched(number, 5, b"5"), 0.1)
    assert asker.fetch_result(number) == b"5" and asker.fetch_result(number) is None
    number, _ = asker.fetch(Contact("p"), 6, 0.2)
    asker.tick(5.0)
    assert asker.fetch_result(number) is Failure.DOWN


# Strangers


def test_a_response_to_what_was_never_asked_is_dropped_and_its_sender_not_blamed() -> None:
    asker = node("a", [1])
    for number in range(50):
        assert asker.receive("s", Response(number, Contact("s"), (PeerHit(5),)), 0.0) == []
    assert asker.counts["unasked"] == 50 and not asker.is_banned("s", 0.0)


def test_a_response_from_one_that_was_not_asked_is_dropped() -> None:
    asker = node("a")
    befriend(asker, "b")
    number, _ = asker.ask(5, 0.0)
    for walker in (DIRECT, 1):
        assert asker.receive("s", Response(number, Contact("s"), (PeerHit(5),), walker=walker), 0.1) == []
    search = asker.answers(number)
    assert search is not None and search.answers == () and search.dropped == 2 and asker.counts["unasked"] == 2


def test_a_walker_ends_only_once_and_there_are_no_more_of_them_than_were_sent() -> None:
    asker = node("a", downloads=False)
    asker.connect(["x"])
    number, _ = asker.ask(5, 0.0)
    for sender in ("p", "q", "r"):
        for walker in (1, 2, 3):
            asker.receive(sender, Response(number, Contact(sender), (PeerHit(5),), walker=walker), 0.1)
    search = asker.answers(number)
    assert search is not None and len(search.answers) == 2 and search.dropped == 7


def test_a_response_may_not_name_the_asker_as_the_one_who_has_it() -> None:
    asker = node("a")
    befriend(asker, "b")
    number, _ = asker.ask(5, 0.0)
    assert asker.receive("b", Response(number, Contact("a"), (PeerHit(5),)), 0.1) == []
    search = asker.answers(number)
    assert search is not None and search.answers == () and search.dropped == 1


def test_a_query_in_the_name_of_another_is_dropped_and_its_sender_blamed() -> None:
    peer = node("p", [1])
    assert peer.receive("s", Query(1, 1, Contact("victim")), 0.0) == []
    assert peer.receive("s", Query(1, 1, Contact("p")), 0.0) == []
    assert peer.receive("p", Ping(), 0.0) == []
    assert peer.counts["forged"] == 3 and peer.demerits("s", 0.0) == 2.0


def test_a_query_that_comes_twice_is_answered_once() -> None:
    peer = node("p", [1])
    query = Query(1, 1, Contact("a"), ttl=5, walker=1)
    assert len(peer.receive("x", query, 0.0)) == 1
    assert peer.receive("y", query, 0.0) == [] and peer.counts["replayed"] == 1


def test_a_time_to_live_above_ours_is_cut() -> None:
    peer = node("p", max_ttl=10)
    peer.connect(["x", "y"])
    (envelope,) = peer.receive("x", Query(1, 1, Contact("a"), ttl=2**32 - 1, walker=1), 0.0)
    assert isinstance(envelope.message, Query) and envelope.message.ttl == 9


def test_a_node_handles_only_so_many_messages_of_one_query() -> None:
    peer = node("p", max_per_query=3)
    peer.connect(["x", "y"])
    onward = [peer.receive("x", Query(1, 1, Contact("a"), ttl=9, walker=w), 0.0) for w in range(1, 7)]
    assert [len(outgoing) for outgoing in onward] == [1, 1, 1, 0, 0, 0]
    assert peer.counts["too_many_of_one_query"] == 3


def test_what_is_remembered_of_others_is_bounded() -> None:
    peer = node("p", remembered=50)
    peer.connect(["x", "y"])
    for number in range(500):
        peer.receive(f"s{number}", Query(number, 1, Contact("a"), ttl=9, walker=1), 0.0)
    assert len(peer.forwarding.seen) == 50


def test_messages_of_known_queries_push_out_the_oldest_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_SEEN", 10)
    seen = rate_limits.SeenQueries(remembered=4, max_per_query=100)
    for number in range(4):
        seen.record(("a", number), 1, 9)
    for walker in range(2, 10):
        assert not seen.record(("a", 3), walker, 9)
    assert [("a", number) in seen for number in range(4)] == [False, False, True, True]
    alone = rate_limits.SeenQueries(remembered=4, max_per_query=100)
    assert not any(alone.record(("a", 1), walker, 9) for walker in range(50))
    assert alone.record(("a", 1), 0, 9) == "replayed"


def test_a_peer_that_sends_too_fast_is_not_listened_to() -> None:
    peer = node("p", [1], capacity_per_peer=10.0)
    for number in range(200):
        peer.receive("s", Query(number, 1, Contact("s")), 0.0)
    assert peer.counts["answered"] == 20 and peer.counts["too_fast"] == 64 and peer.is_banned("s", 0.0)
    assert len(peer.receive("b", Query(1, 1, Contact("b")), 0.0)) == 1
    assert len(peer.receive("s", Query(900, 1, Contact("s")), 700.0)) == 1  # forgiven


def test_a_buddy_that_gives_spam_for_everything_is_a_buddy_no_more() -> None:
    asker = node("a")
    befriend(asker, *["s"] * 50)
    for number in range(8):
        query, _ = asker.ask(number, 0.0)
        for envelope in asker.receive("s", Response(query, Contact("s"), (PeerHit(number),)), 0.0):
            if isinstance(envelope.message, FetchRequest):
                asker.receive("s", Fetched(envelope.message.id, number, b"Buy!"), 0.0)
    assert "s" not in asker.buddies and asker.is_banned("s", 0.0)
    assert asker.ask(99, 0.0)[1] == []


def test_one_that_names_others_for_everything_is_not_listened_to_and_they_are_not_blamed() -> None:
    asker = node("a", buddies=2)
    befriend(asker, "s", "b", "b")
    for number in range(16):
        query, _ = asker.ask(number, 0.0)
        for envelope in asker.receive("s", Response(query, Contact("b"), (PeerHit(number),)), 0.0):
            if isinstance(envelope.message, FetchRequest):
                asker.receive("b", Fetched(envelope.message.id, number, None), 0.0)
    assert asker.is_banned("s", 0.0) and asker.buddies.names() == ["b"]


def test_junk_for_an_index_or_one_that_is_too_large_is_not_held() -> None:
    asker = node("a", max_index_bytes=100)
    befriend(asker, "b")
    asker.checkpoint()
    asker.checkpoint()
    asker.receive("b", Index(1, bytes(101)), 0.0)
    asker.receive("b", Index(1, b"\xc1"), 0.0)
    asker.receive("s", Index(1, ItemSummary(frozenset([1])).packed()), 0.0)
    assert len(asker.held) == 0
    assert (asker.counts["index_oversized"], asker.counts["index_malformed"], asker.counts["unasked"]) == (1, 1, 1)


def test_a_thing_that_was_not_fetched_or_comes_from_another_is_not_taken() -> None:
    asker = node("a")
    _, fetch = fetch_from(asker, "p")
    asker.receive("s", Fetched(fetch, 5, b"5"), 0.6)
    asker.receive("p", Fetched(fetch + 1, 5, b"5"), 0.6)
    asker.receive("p", Fetched(fetch, 6, b"6"), 0.6)
    asker.receive("s", Declined("fetch", fetch), 0.6)
    assert asker.counts["unasked"] == 4 and len(asker.buddies) == 0


def test_ids_of_queries_cannot_be_told_from_those_before() -> None:
    options = options_for("buddynet")
    one, other = (Node("a", node("a").content, options=options, seed=1, secret=secret) for secret in (b"one", b"other"))
    assert one.ask(1, 0.0)[0] != other.ask(1, 0.0)[0]
    assert one.ask(1, 0.0)[0] != one.ask(1, 0.0)[0]


# The overlay


def test_peers_join_show_each_other_and_leave() -> None:
    nodes = {name: node(name) for name in "abc"}
    assert len(carry(nodes, "b", nodes["b"].join([Contact("a", "a:1")]))) == 2
    carry(nodes, "c", nodes["c"].join([Contact("a", "a:1"), Contact("c")]))
    assert nodes["a"].neighbours.names == ["b", "c"] and nodes["c"].neighbours.names == ["a"]
    assert [contact.name for contact in nodes["c"].neighbours.known()] == ["a", "b"]
    carry(nodes, "b", nodes["b"].leave())
    assert nodes["a"].neighbours.names == ["c"]


def test_a_node_with_too_few_neighbours_joins_those_it_heard_of() -> None:
    nodes = {name: node(name, ping=10.0, neighbours=2) for name in "abc"}
    carry(nodes, "b", nodes["b"].join([Contact("a")]))
    carry(nodes, "c", nodes["c"].join([Contact("a")]))
    carry(nodes, "c", nodes["c"].tick(10.0), 10.0)
    assert set(nodes["c"].neighbours.names) == {"a", "b"} and "c" in nodes["b"].neighbours


def test_no_walker_is_sent_to_a_neighbour_that_does_not_answer_until_it_is_heard_of_again() -> None:
    asker = node("a", ping=10.0)
    asker.connect(["x", "y"])

    def pinged(now: float) -> list[str]:
        names = [envelope.to for envelope in asker.tick(now) if isinstance(envelope.message, Ping)]
        asker.receive("y", Pong(True), now)
        return names

    assert pinged(10.0) == pinged(20.0) == ["x", "y"]
    assert {envelope.to for envelope in asker.ask(5, 21.0)[1]} == {"y"}
    asker.receive("x", Ping(), 22.0)
    assert {envelope.to for number in range(9) for envelope in asker.ask(number, 23.0)[1]} == {"x", "y"}
    for now in range(30, 1100, 10):
        pinged(float(now))
    assert asker.neighbours.names == ["y"]


def test_a_neighbour_that_is_silent_makes_room_for_another() -> None:
    peer = node("p", max_neighbours=2, ping=10.0)
    peer.connect(["x", "y"])
    for now in (10.0, 20.0):
        peer.tick(now)
        peer.receive("y", Pong(True), now)
    peer.receive("a", Join(Contact("a")), 21.0)
    assert peer.neighbours.names == ["y", "a"]


def test_a_full_node_takes_no_more_neighbours_but_shows_the_ones_it_has() -> None:
    peer = node("p", max_neighbours=2)
    peer.connect(["x", "y"])
    (envelope,) = peer.receive("a", Join(Contact("a", "a:1")), 0.0)
    assert envelope == Envelope("a", Pong(False, (Contact("y"), Contact("x"))), "a:1")
    assert peer.neighbours.names == ["x", "y"]


def test_where_a_peer_lives_is_not_taken_from_others() -> None:
    asker = node("a")
    asker.receive("b", Hello(Contact("b", "b:1")), 0.0)
    asker.join([Contact("s", "s:1")])
    asker.receive("s", Pong(True, (Contact("b", "s:666"), Contact("c", "c:1"))), 0.0)
    assert asker.neighbours.address("b") == "b:1" and asker.neighbours.address("c") == "c:1"
    asker.receive("s", Join(Contact("b", "s:666")), 0.0)
    assert asker.neighbours.address("b") == "b:1" and asker.counts["forged"] == 1


def test_nobody_is_known_by_a_pong_that_was_not_asked_for() -> None:
    asker = node("a")
    asker.receive("s", Pong(True, (Contact("c", "c:1"),)), 0.0)
    assert len(asker.neighbours) == 0 and asker.neighbours.known() == []


def test_a_walker_that_could_not_be_delivered_takes_another_way() -> None:
    asker = node("a", walkers=1)
    asker.connect(["x", "y"])
    number, (envelope,) = asker.ask(5, 0.0)
    (again,) = asker.undelivered(envelope.to, envelope.message, 0.0)
    assert {envelope.to, again.to} == {"x", "y"} and again.message == envelope.message
    assert asker.undelivered(again.to, again.message, 0.0) == []
    search = asker.answers(number)
    assert search is not None and search.walkers_still_out == 0


def test_one_that_leaves_is_a_neighbour_no_more_but_stays_a_buddy() -> None:
    asker = node("a")
    asker.connect(["b"])
    befriend(asker, "b")
    asker.receive("b", Leave(), 0.0)
    assert len(asker.neighbours) == 0 and asker.buddies.names() == ["b"]


# Options and what is kept


def test_the_algorithms_are_the_same_node_with_other_switches() -> None:
    switches = {
        name: (options.floods, options.keeps_buddies, options.adapts, options.indexes)
        for name, options in ALGORITHMS.items()
    }
    assert len(set(switches.values())) == len(switches) == 6
    assert (options_for("buddynet").walkers, options_for("buddynet").ttl, options_for("buddynet").buddies) == (
        16,
        1024,
        10,
    )


@pytest.mark.parametrize(
    ("name", "changes"), [("gossip", {}), ("buddynet", {"ttl": 0}), ("flood", {"walkers": 70_000})]
)
def test_options_that_make_no_sense_are_refused(name: str, changes: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="peer"):
        options_for(name, **changes)


def test_a_state_that_is_none_is_refused_and_a_broken_index_in_it_left_out() -> None:
    asker = node("a")
    with pytest.raises(ValueError, match="no state of a peer"):
        asker.restore({"buddies": 5})
    befriend(asker, "b")
    hold(asker, "b", 5)
    state = asker.state()
    state["held"]["held"]["b"] = [0, "wQ=="]  # a byte that msgpack never uses
    other = node("a")
    other.restore(state)
    assert other.buddies.names() == ["b"] and len(other.held) == 0
