"""What strangers claim counts when a sample of it was found to be true; who makes pages up is found out."""

import gzip

import pytest

from lycosa_peers import fetches, probes
from lycosa_peers.content import Items, LookupResult
from lycosa_peers.messages import (
    CollectionStatistics,
    Contact,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    PeerHit,
    Query,
    Response,
)
from lycosa_peers.node import Node
from lycosa_peers.options import DEFAULTS
from lycosa_peers.search import Answer, Search, Stage, Trust
from sharing import PUBLIC, add_pages, shared

IN_VAIN = "velorina harbour"


class Wary(Items):
    """Asks in vain before it believes."""

    def unanswerable_query(self, number: int) -> str | None:
        return IN_VAIN

    def is_plausible_hit(self, target, hit, statistics) -> bool:  # type: ignore[no-untyped-def]
        return statistics is None or target in statistics.terms


def asker(**named: bool) -> Node:
    node = Node(Contact("a", "a:1"), Wary(), options=DEFAULTS, seed=1, secret=b"secret")
    node.connect(["s"])
    node.trust([name for name in named if named[name]])
    return node


class Asked:
    """A search that a stranger has answered with two hits; what it is asked then."""

    def __init__(self, node: Node, who: str = "s", now: float = 0.0):
        self.node, self.now, self.who = node, now, who
        self.number, outgoing = node.ask(5, now, max_hits=10, sufficient_hits=2)
        self.walkers = [envelope.message.walker for envelope in outgoing if isinstance(envelope.message, Query)]
        walker = self.walkers[0]
        hits = (PeerHit(5), PeerHit(6))
        self.outgoing = node.receive(who, Response(self.number, Contact(who, f"{who}:1"), hits, walker=walker), now)

    def fetch(self) -> FetchRequest:
        return next(envelope.message for envelope in self.outgoing if isinstance(envelope.message, FetchRequest))

    def in_vain(self) -> Query:
        return next(envelope.message for envelope in self.outgoing if isinstance(envelope.message, Query))

    def sample(self, body: bytes | None) -> list[Envelope]:
        fetch = self.fetch()
        return self.node.receive(self.who, Fetched(fetch.id, fetch.item, body), self.now)

    def true_sample(self) -> None:
        self.sample(str(self.fetch().item).encode())

    def has_nothing(self) -> None:
        query = self.in_vain()
        self.node.receive(self.who, Response(query.id, Contact(self.who), walker=query.walker), self.now)

    @property
    def trust(self) -> list[Trust]:
        search = self.node.answers(self.number)
        assert search is not None
        return [answer.trust for answer in search.answers]

    @property
    def is_over(self) -> bool:
        return self.node.stage(self.number) is Stage.DONE


def test_hits_of_a_stranger_are_enough_only_when_a_sample_is_true_and_it_has_nothing_for_what_nobody_has():
    asked = Asked(asker())
    assert asked.trust == [Trust.CLAIMED] and not asked.is_over
    asked.true_sample()
    assert asked.trust == [Trust.CLAIMED] and not asked.is_over
    asked.has_nothing()
    assert asked.trust == [Trust.CONFIRMED] and asked.is_over


def test_of_a_stranger_its_connection_tells_the_network_and_not_the_address_that_it_claims():
    node = asker()
    node.connected("s", "9.9.9.9")
    asked = Asked(node)
    answers = node.answers(asked.number)
    assert answers is not None and [each.network for each in answers.answers] == ["9.9.9.9"]


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_what_a_stranger_says_in_answers_of_which_no_sample_was_drawn_stays_a_claim(is_confirmed):
    asked = Asked(asker())
    first, other = (PeerHit(5), PeerHit(6)), (PeerHit(5), PeerHit(7))

    def answer_to(walker, hits):
        asked.node.receive("s", Response(asked.number, Contact("s", "s:1"), hits, walker=walker), asked.now)

    if is_confirmed:
        asked.has_nothing()
        asked.true_sample()
    answer_to(asked.walkers[1], other)
    answer_to(asked.walkers[2], first)  # as an honest one does
    if not is_confirmed:
        asked.has_nothing()
        asked.true_sample()
    assert asked.trust == [Trust.CONFIRMED, Trust.CLAIMED, Trust.CONFIRMED]
    search = asked.node.searches.get(asked.number)
    assert search.found == {5, 6}


def test_a_stranger_becomes_a_buddy_when_it_has_stood_the_check_in_two_searches():
    node = asker()
    for turn in range(2):
        assert "s" not in node.buddies
        asked = Asked(node, now=float(turn))
        asked.has_nothing()
        asked.true_sample()
    assert "s" in node.buddies


@pytest.mark.parametrize("body", [b"something else", None])
def test_who_does_not_have_what_it_told_is_left_out_and_blamed(body):
    asked = Asked(asker())
    asked.has_nothing()
    asked.sample(body)
    assert asked.trust == [] and "s" not in asked.node.buddies
    assert asked.node.counts["spam"] + asked.node.counts["failed_wrong"] >= 1 and asked.node.demerits("s", 0.0) >= 0.5


def test_who_has_pages_for_what_nobody_has_makes_them_up():
    node = asker()
    for turn in range(2):
        asked = Asked(node, now=float(turn))
        asked.true_sample()
        query = asked.in_vain()
        assert query.target == IN_VAIN and query.ttl == DEFAULTS.ttl and query.walker
        made_up = Response(
            query.id, Contact("s"), (PeerHit(9),), (), CollectionStatistics(1, 1, (IN_VAIN,), (1,)), query.walker
        )
        node.receive("s", made_up, float(turn))
        assert asked.trust == []
    assert node.counts["made_up"] == 2 and node.is_banned("s", 2.0) and "s" not in node.buddies


def test_who_was_asked_something_else_by_those_between_is_not_blamed():
    asked = Asked(asker())
    query = asked.in_vain()
    honest = Response(
        query.id, Contact("h"), (PeerHit(7),), (), CollectionStatistics(1, 1, ("honey",), (1,)), query.walker
    )
    asked.node.receive("h", honest, 0.0)
    assert asked.node.demerits("h", 0.0) == 0 and asked.node.counts["made_up"] == 0


def test_who_is_busy_is_neither_believed_nor_blamed():
    asked = Asked(asker())
    asked.has_nothing()
    asked.node.receive("s", Declined("fetch", asked.fetch().id), 0.0)
    assert asked.trust == [Trust.CLAIMED] and asked.node.demerits("s", 0.0) == 0 and "s" not in asked.node.buddies
    asked.node.tick(60.0)
    assert asked.is_over


def test_one_who_cannot_be_called_asks_in_vain_with_a_walker_of_one_step():
    node = Node(Contact("a"), Wary(), options=DEFAULTS, seed=1, secret=b"secret")
    node.connect([Contact("s", "s:1")])
    asked = Asked(node)
    assert asked.in_vain().ttl == 1
    asked.true_sample()
    asked.has_nothing()
    assert asked.trust == [Trust.CONFIRMED]


def test_a_stranger_that_gets_no_trap_is_not_waited_for():
    """Each peer is sent only as many queries as it accepts; without the trap, a sample alone would conclude nothing."""
    node = asker()
    while node.forwarding.take_allowed([Envelope("s", Query(1, 5, Contact("a")))], 0.0):
        pass
    number, _ = node.ask(5, 0.0, max_hits=10, sufficient_hits=2)
    search = node.searches.get(number)
    search.stage, search.walkers = Stage.WALKING, {9}
    hits = (PeerHit(5), PeerHit(6))
    assert node.receive("s", Response(number, Contact("s", "s:1"), hits, walker=9), 0.0) == []
    assert not search.is_probing and node.counts["probes"] == 0
    assert node.stage(number) is Stage.DONE and search.trust["s"] is Trust.CLAIMED


def test_an_answer_to_a_trap_never_comes_too_fast():
    """Like one to a search: the node has asked for it, and so does not count it with those it did not ask for."""
    asked = Asked(asker())
    node = asked.node
    while node._state.reputation.take_message("s", 0.0, is_answer=True):
        pass
    asked.has_nothing()
    assert node.counts["too_fast"] == 0 and node.demerits("s", 0.0) == 0
    asked.true_sample()
    assert asked.trust == [Trust.CONFIRMED]
    asked.has_nothing()  # once more, which nobody waits for
    assert node.counts["too_fast"] == 1


def test_a_check_that_is_dropped_for_later_ones_is_over(monkeypatch):
    monkeypatch.setattr(probes, "MAX_PENDING", 2)
    node = asker()
    first, *others = [Asked(node, now=10.0 * turn) for turn in range(3)]
    search = node.searches.get(first.number)
    assert not search.is_probing and all(node.searches.get(each.number).is_probing for each in others)
    assert node.demerits("s", 0.0) == 0


def test_a_sample_that_is_dropped_for_later_fetches_ends_its_check(monkeypatch):
    monkeypatch.setattr(fetches, "MAX_FETCHES", 2)
    node = asker()
    first, *others = [Asked(node) for _ in range(3)]
    assert node.next_deadline() <= 0.0
    node.tick(0.0)
    assert not node.searches.get(first.number).is_probing
    assert all(node.searches.get(each.number).is_probing for each in others)
    first.true_sample()
    assert node.counts["late"] == 1 and node.demerits("s", 0.0) == 0


def test_one_that_the_user_named_is_believed_at_once():
    asked = Asked(asker(s=True))
    assert asked.trust == [Trust.TRUSTED] and asked.is_over and "s" in asked.node.buddies


def test_a_search_checks_a_few_providers_and_waits_for_none_beyond_its_time():
    node = asker()
    node.connect([f"s{n}" for n in range(30)])
    number, outgoing = node.ask(5, 0.0, max_hits=10, sufficient_hits=99)
    begun = []
    for n, envelope in enumerate(outgoing):
        walker = envelope.message.walker
        begun += node.receive(f"s{n}", Response(number, Contact(f"s{n}"), (PeerHit(5),), walker=walker), 0.1)
    assert sum(isinstance(envelope.message, FetchRequest) for envelope in begun) == DEFAULTS.max_probes
    node.tick(DEFAULTS.timeout)
    assert node.stage(number) is Stage.DONE


def test_nothing_is_checked_where_all_are_believed():
    node = Node(Contact("a", "a:1"), Items(), options=DEFAULTS.__class__(downloads=False), seed=1)
    node.connect(["s"])
    number, outgoing = node.ask(5, 0.0)
    walker = outgoing[0].message.walker
    assert node.receive("s", Response(number, Contact("s"), (PeerHit(5),), walker=walker), 0.0) == []
    assert "s" in node.buddies


# Pages


URL = "http://bees.example/honey"


def record(url: str, html: str) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html.encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789abc>\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: {url}\r\nWARC-IP-Address: {PUBLIC}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + b"\r\n\r\n")


PAGE = f"<title>Honey of the hive</title><p>Bees make honey of nectar. {'They fly from flower to flower. ' * 20}</p>"


@pytest.mark.parametrize(
    ("hit", "is_true"),
    [
        ({}, True),
        ({"frequencies": (30,)}, False),  # more often than it is there
        ({"length": 4}, False),  # shorter than it is
        ({"title": "Buy now, cheap watches and more"}, False),
        ({"snippet": "cheap watches, all brands, best offers, order today"}, False),
        ({"item": "http://bees.example/other"}, False),
    ],
)
def test_a_page_is_as_it_was_told_or_not(tmp_path, hit, is_true):
    with shared(add_pages(tmp_path / "c", {})) as content:
        told = {"item": URL, "title": "Honey of the hive", "snippet": "Bees make honey of nectar", "length": 130}
        claim = PeerHit(**{**told, "frequencies": (3,), **hit})
        assert (
            content.body_matches_hit("honey", claim, CollectionStatistics(1, 1, ("honey",), (1,)), record(URL, PAGE))
            is is_true
        )
        assert not content.body_matches_hit(
            "watches", claim, CollectionStatistics(1, 1, ("watches",), (1,)), record(URL, PAGE)
        )


NO_PAGES = (b"", b"nothing", gzip.compress(b"WARC/1.1\r\n\r\n"), record(URL, "") * 2, record("x", PAGE))


@pytest.mark.parametrize("number", range(len(NO_PAGES)))
def test_what_is_no_page_confirms_nothing(tmp_path, number):
    with shared(add_pages(tmp_path / "c", {})) as content:
        assert not content.body_matches_hit("honey", PeerHit(URL), None, NO_PAGES[number])


def test_every_peer_confirms_what_another_honest_one_tells(tmp_path):
    pages = {
        URL: ("Honey of the hive", "Bees make honey of nectar, and the queen lays eggs. " * 30),
        "http://zh.example/": ("蜂蜜", "人们很早就知道蜂蜜很甜。"),
        "http://de.example/": ("Über Bienen", "Die Bienen fliegen über Blüten & Gräser; Größe zählt nicht."),
    }
    with shared(add_pages(tmp_path / "c", pages)) as theirs, shared(add_pages(tmp_path / "d", {})) as ours:
        for words in ("honey", "queen eggs", "蜂蜜", "bienen über", "grösse", "größe"):
            found: LookupResult = theirs.find(words, 10)
            for hit in found.hits:
                assert ours.body_matches_hit(words, hit, found.statistics, theirs.fetch(hit.item)), (words, hit)
        assert theirs.find("蜂蜜", 1).hits and theirs.find("honey", 1).hits


def test_a_question_in_vain_has_words_of_shared_pages_and_one_of_nobodys(tmp_path):
    folder = add_pages(tmp_path / "c", {f"http://a.example/{n}": (f"Title{n}word", "text") for n in range(9)})
    add_pages(folder, {"http://b.example/": ("Secretword", "text")}, address="10.0.0.1")
    with shared(folder) as content:
        asked = [content.unanswerable_query(number) for number in range(60)]
        assert len(set(asked)) == 60 and "secretword" not in " ".join(asked)
        assert all(2 <= len(words.split()) <= 3 for words in asked)
        assert not any(content.find(words, 1).hits for words in asked)


@pytest.mark.parametrize("is_referred", [False, True])
def test_a_search_that_waits_for_a_sample_alone_has_nothing_to_do_until_then(is_referred):
    asked = Asked(asker())
    node, now = asked.node, 0.0
    for walker in sorted(node.searches.get(asked.number).walkers):
        elsewhere = (Contact("t", "t:1"),) if is_referred else ()
        node.receive("s", Response(asked.number, Contact("s"), referrals=elsewhere, walker=walker), now)
    while not asked.is_over:
        now = node.next_deadline()
        node.tick(now)
        assert node.next_deadline() > now
    assert now == DEFAULTS.timeout


def test_a_search_with_enough_hits_waits_for_a_sample_no_longer_than_for_replies():
    node = asker(t=True)
    node.connect(["t"])
    number, outgoing = node.ask(5, 0.0, max_hits=10, sufficient_hits=1)
    assert any(
        envelope.to == "t" and envelope.message.walker == 0 for envelope in outgoing
    )  # it is asked directly, and is silent
    node.tick(node.next_deadline())
    first, second, *others = sorted(node.searches.get(number).walkers)
    node.receive("s", Response(number, Contact("s", "s:1"), (PeerHit(5),), walker=first), 0.25)
    referral = Response(number, Contact("s"), referrals=(Contact("u", "u:1"),), walker=second)
    node.receive("s", referral, 0.25)
    for walker in others:
        node.receive("s", Response(number, Contact("s"), walker=walker), 0.25)
    assert node.stage(number) is Stage.WALKING
    node.searches.get(number).found.add(5)  # as if another peer had it, too
    assert node.next_deadline() == 0.5
    node.tick(0.5)
    assert node.stage(number) is Stage.DONE


def test_what_only_a_rejected_provider_had_is_not_enough():
    search = Search(1, 5, max_hits=10, sufficient_hits=2, now=0.0, timeout=10.0)
    for provider, items in (("liar", (5, 6)), ("honest", (6,))):
        hits = tuple(PeerHit(item) for item in items)
        search.add(Answer(Contact(provider), provider, Stage.WALKING, hits), items)
    assert search.has_enough
    search.reject("liar")
    assert (search.found, search.has_enough) == ({6}, False)
