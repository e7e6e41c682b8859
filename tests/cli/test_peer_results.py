"""What a search among peers shows: whatever strangers send, nothing in it steers a terminal."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.run.imports import ImportedPeerPages
from lycosa_peers.cli.results import LiveResults, hit_lines, search_json, summary_lines
from lycosa_peers.messages import Contact, PeerHit
from lycosa_peers.peer import SearchProgress
from lycosa_peers.ranking import RankedPage, Ranking
from lycosa_peers.search import Answer, Answers, ReplyStatus, Stage

pytestmark = pytest.mark.peers

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r\n\x9b31m"


def ranked(**told):
    told = {"title": "T", "snippet": "S", "providers": (Contact("anna"),), "also": ()} | told
    return RankedPage(
        url="http://a.example/", score=1.0, standing=0.5, relevance=0.5, fetched_at=0.0, at_home=False, **told
    )


def searched(asked, answered=(), **told):
    answers = Answers(
        id=1,
        target="bees",
        stage=Stage.DONE,
        answers=tuple(answered),
        provider=None,
        found_in_stage=None,
        issued=3,
        received=1,
        asked=asked,
        walkers_still_out=2,
        fetches=0,
        dropped=0,
        **told,
    )
    return SearchProgress(answers, 0.25, True)


@given(st.text(max_size=60))
def test_lines_hold_nothing_that_steers_a_terminal(text):
    hit = ranked(title=HOSTILE + text, snippet=text + HOSTILE, providers=(Contact(HOSTILE),), also=(HOSTILE,))
    for line in hit_lines(1, hit, "me"):
        assert line.isprintable()


def test_who_was_not_reached_is_told():
    asked = {
        "anna": ReplyStatus.DOWN,
        "bert": ReplyStatus.WAITING,
        "carl": ReplyStatus.DECLINED,
        "dora": ReplyStatus.LACKS,
    }
    lines = summary_lines(searched(asked, dropped_hits=3, rate_limited=5), "me", Ranking((), 2))
    assert lines == [
        "4 messages, 250 ms; answered by nobody",
        "not reached: anna",
        "silent: bert",
        "declined: carl",
        "2 walkers had not returned when the time was up",
        "5 queries not sent because of rate limits; try again",
        "3 hits left out: without the search words",
        "2 hits left out: private address or invalid URL",
    ]


def test_programs_get_all_of_it():
    told = search_json(
        "bees",
        searched({"dora": ReplyStatus.LACKS}),
        "me",
        Ranking((), 0),
        (ranked(),),
        ImportedPeerPages((), (), ()),
        0,
    )
    assert (told["lack_it"], told["messages"], len(told["hits"])) == (["dora"], 4, 1)
    assert "taken" not in told


def test_one_whom_several_walkers_met_is_told_once(capsys):
    answers = [Answer(Contact(who), who, Stage.WALKING, ()) for who in ("anna", "bert", "anna", "anna")]
    with LiveResults(True) as showing:
        for many in (1, 3, 4):
            showing(Ranking((), 0), searched({}, answers[:many]), "me")
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[3] for line in told] == ["anna", "bert"]


def test_one_hit_is_not_called_hits(capsys):
    hit = PeerHit("http://a.example/", "T", "S", relevance=0.5, standing=0.5)
    with LiveResults(True) as showing:
        showing(Ranking((), 0), searched({}, [Answer(Contact("anna"), "anna", Stage.WALKING, (hit,))]), "me")
    assert capsys.readouterr().err.startswith("1 hit from anna")


def test_programs_know_walkers_by_the_key_they_always_had():
    progress = searched({})
    assert search_json("bees", progress, "me", Ranking((), 0), (), ImportedPeerPages((), (), ()), 0)["walkers_out"] == 2
    assert b'"walkers_out":2' in msgspec.json.encode(progress)
