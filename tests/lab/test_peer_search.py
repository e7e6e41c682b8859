"""Peers over crawled collections: what they ask, what they find, and what is claimed of it."""

import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.peers.processes import free_addresses
from lycosa_lab.studies.peer_search import PeerSearch, shared
from lycosa_lab.studies.peer_search.claims import agreement_claim, recall_claim, walk_of_equal_cost
from lycosa_lab.studies.peer_search.collectors import union_of
from lycosa_lab.studies.peer_search.runs import ask_all, network_of, options_of, overlap, overlay_of, run_searches
from lycosa_lab.studies.peer_search.shared import OpenCollections, prepare, top_urls
from lycosa_lab.studies.peer_search.tables import BUDDYNET, EVERYBODY, FLOOD, WALK, recalls_of, summary_rows
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_peers.messages import Contact
from lycosa_peers.search import Answer, Stage

SIZE = {"peers": 5, "topics": 3, "pages": 12, "queries": 40, "limit": 100}
WORLD = SyntheticWorld(pages=600, topics=3, seed=4)


@pytest.fixture(scope="module")
def inputs():
    return prepare(WORLD, SIZE, 4)


@pytest.fixture(scope="module")
def opened(inputs):
    with OpenCollections(inputs, SIZE["peers"]) as opened:
        yield opened


# Collections and questions


def test_peers_with_a_topic_in_common_have_pages_in_common_but_not_all(inputs):
    collectors = inputs.collectors
    assert {collector.topics[0] for collector in collectors} == {0, 1, 2}
    first, second = (collector.relevances.keys() for collector in collectors[:2])
    assert collectors[0].topics[0] == collectors[1].topics[0]
    assert first & second
    assert first != second
    assert len(union_of(collectors)) < sum(len(collector.relevances) for collector in collectors)


def test_the_same_seed_crawls_the_same(inputs):
    again = prepare(WORLD, SIZE, 4)
    assert again.collectors == inputs.collectors


def test_everything_asked_for_is_somewhere(opened):
    questions = opened.questions(30, 1)
    assert questions == opened.questions(30, 1)
    assert questions != opened.questions(30, 2)
    everything = union_of(opened.inputs.collectors)
    for question in questions:
        assert question.relevant
        assert set(question.relevant) <= everything.keys()
        assert any(content.find(question.query, 1).hits for content in opened.contents)


def test_the_last_question_may_come_of_the_last_attempt(opened, monkeypatch):
    monkeypatch.setattr(shared, "_ATTEMPTS", 1)
    monkeypatch.setattr(OpenCollections, "relevant", lambda opened, query: ("http://a.example/",))
    assert [len(opened.questions(count, 1)) for count in (0, 3)] == [0, 3]
    monkeypatch.setattr(OpenCollections, "relevant", lambda opened, query: ())
    with pytest.raises(UsageError, match="choose another world"):
        opened.questions(1, 1)


def test_a_collection_that_is_remembered_answers_as_it_does_itself(opened):
    content = opened.contents[0]
    words = next(each.query for each in opened.questions(40, 1) if len(content.find(each.query, 3).hits) > 1)
    both, one = content.find(words, 2), content.find(words, 1)
    assert one.hits == both.hits[:1]
    assert one.statistics == both.statistics


# Searches


def test_a_flood_among_neighbours_finds_what_asking_everybody_finds(opened):
    everybody = range(SIZE["peers"])
    overlay = [[other for other in everybody if other != peer] for peer in everybody]
    questions = opened.questions(12, 3)
    network = network_of(opened.contents, overlay, options_of(FLOOD), seed=1)
    for question, told in zip(questions, ask_all(network, questions, limit=100), strict=True):
        answers = [
            Answer(Contact(str(peer)), str(peer), Stage.OWN_CONTENT, found.hits, found.statistics)
            for peer, content in enumerate(opened.contents)
            if (found := content.find(question.query, 100)).hits
        ]
        assert set(told.urls) == set(top_urls(question.query, answers, ""))
        assert sum(told.stages.values()) == len(told.urls)


def test_peers_learn_whose_index_to_look_into(opened):
    overlay = overlay_of(SIZE["peers"], 1)
    questions = opened.questions(60, 3)
    found = {}
    for algorithm in (BUDDYNET, WALK):
        network = network_of(opened.contents, overlay, options_of(algorithm), seed=1)
        told = ask_all(network, questions, limit=100)
        found[algorithm] = {stage for each in told for stage in each.stages}
        assert all(0 <= each.recall <= 1 for each in told)
        assert any(len(node.held) for node in network.nodes.values()) == (algorithm == BUDDYNET)
    assert "indexes" in found[BUDDYNET]
    assert found[WALK] <= {"home", "walking"}


def test_the_same_seed_gives_the_same_run(inputs):
    once = run_searches(inputs, 7)
    assert run_searches(inputs, 7) == once
    rows = summary_rows(once["peers"])
    assert {row["algorithm"] for row in rows} >= {BUDDYNET, WALK, FLOOD, EVERYBODY}
    assert all(row["queries"] == SIZE["queries"] // 2 for row in rows)


# Claims


def rows_with(own: float, walk: float, walk_messages: float = 20.0) -> list[dict]:
    """Ten peers that recall so much, one way and the other."""
    settings = [(BUDDYNET, 8, own, 10.0), (WALK, 2, walk, 5.0), (WALK, 4, walk, walk_messages)]
    return [
        {
            **{"algorithm": algorithm, "walkers": walkers, "limit": 30, "peer": peer, "queries": 4},
            **{"recall": recall + 0.01 * peer, "messages": messages, "seconds": 0.1},
            **{"home": 1.0, "indexes": 0.0, "buddies": 0.0, "walking": 0.0},
        }
        for algorithm, walkers, recall, messages in settings
        for peer in range(10)
    ]


@pytest.mark.parametrize(
    ("rows", "holds", "why"),
    [
        (rows_with(0.85, 0.6), True, ""),
        (rows_with(0.7, 0.5), False, "recall 0.745"),
        (rows_with(0.85, 0.9), False, "not significantly above the walk"),
        (rows_with(0.85, 0.6, walk_messages=9.0), False, "no walk took as many messages"),
    ],
)
def test_recall_is_claimed_where_it_is_high_and_above_walks_that_cost_as_much(rows, holds, why):
    claim = recall_claim(summary_rows(rows), rows, 30)
    assert claim.holds is holds
    assert claim.reason == why


def test_a_peer_counts_once_however_many_runs_there_are():
    rows = rows_with(0.85, 0.6)
    again = [{**row, "recall": row["recall"] - 0.02} for row in rows]
    setting = (BUDDYNET, 8, 30)
    assert recalls_of([*rows, *again], setting) == pytest.approx([0.84 + 0.01 * peer for peer in range(10)])
    once, twice = recall_claim(summary_rows(rows), rows, 30), recall_claim(summary_rows(rows * 2), rows * 2, 30)
    assert once.p == twice.p
    assert summary_rows(rows)[0]["recall_error"] == summary_rows(rows * 2)[0]["recall_error"]


def test_the_walk_to_compare_with_is_no_cheaper():
    rows = summary_rows(rows_with(0.9, 0.5))
    assert walk_of_equal_cost(rows, rows[0], 30)["walkers"] == 4
    assert walk_of_equal_cost(rows, {"messages": 3.0}, 30)["walkers"] == 2


def round_with(overlap: float, messages: float) -> dict:
    return {
        **{"round": "r", "queries": 10, "overlap": overlap, "overlap_by_chance": 1.0, "median_ms_real": 1.0},
        **{"messages_real": messages, "messages_simulated": 20.0},
    }


def test_worlds_agree_by_what_is_found_and_by_what_it_costs():
    assert agreement_claim([round_with(0.85, 20.0), round_with(1.0, 22.0)], "").holds
    assert not agreement_claim([round_with(0.85, 20.0), round_with(0.9, 20.0)], "").holds
    assert not agreement_claim([round_with(1.0, 20.0), round_with(1.0, 25.0)], "").holds


def test_without_loopback_nothing_is_claimed_and_the_reason_is_told():
    claim = agreement_claim([], "no sockets on loopback: Operation not permitted")
    assert claim.holds is None
    assert "no sockets" in claim.reason


def test_overlap_is_the_share_in_common():
    assert overlap(["a", "b"], ["b", "c", "d", "e"]) == 0.25


def test_addresses_differ():
    addresses = free_addresses(5)
    assert len(set(addresses)) == 5


def test_every_scale_asks_ten_processes_and_twenty_peers():
    for size in PeerSearch.scales.values():
        assert size["processes"] == 10
        assert size["peers"] == 20
