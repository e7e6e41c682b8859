"""The interest ratios of links, against the formulas on webs made by hand."""

import json
from math import exp, isfinite, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.strategies import Intelligent
from lycosa.strategies.interest import FeatureCounts, Tally, link_log_ratios, log_interest_ratios, logistic
from lycosa.strategies.linkage import LinkageEvidence
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Skip, SkipReason, Url, Visit
from pages import GivenWords

GOOD, BAD = 1.0, 0.0


def url(name: str) -> Url:
    return Url(f"http://site.example/{name}")


def visit(name: str, relevance: float | None, links: str = "", words: str = "") -> Visit:
    terms = dict.fromkeys(words.split(), 1)
    page = Page(url(name), "", "", "", GivenWords(terms), tuple(Link(url(target)) for target in links.split()))
    return Visit(Candidate(url(name), 0.5), Fetch(url(name), Outcome.OK, 0.0), page, relevance)


def only(factor: str, **options: float) -> LinkageEvidence:
    return LinkageEvidence(weights={factor: 1.0}, **options)


def test_links_are_worth_what_links_from_such_pages_led_to() -> None:
    p, k, m = 0.25, 2, 3
    links = (40, 8, 2)  # 40 links seen: 8 from good to good pages, 2 from others to good ones
    expected = (8 / 40 / p**2) ** k * (2 / 40 / (p * (1 - p))) ** (m - k)
    good, bad = link_log_ratios(links, p, smoothing=0.0)
    assert exp(k * good + (m - k) * bad) == pytest.approx(expected)


def test_siblings_are_worth_the_share_that_satisfies() -> None:
    (told,) = log_interest_ratios(np.array([3]), np.array([4]), 0.25, smoothing=0.0)
    assert exp(told) == pytest.approx(3 / (0.25 * 4))


def test_what_was_never_seen_says_nothing() -> None:
    assert log_interest_ratios(np.array([0]), np.array([0]), 0.3).tolist() == [0.0]
    assert link_log_ratios((0, 0, 0), 0.3) == (0.0, 0.0)


@given(seen=st.integers(1, 60), satisfying=st.integers(0, 60), usual=st.floats(0.02, 0.98))
def test_a_word_counts_only_where_it_differs_by_two_standard_deviations(
    seen: int, satisfying: int, usual: float
) -> None:
    satisfying = min(satisfying, seen)
    features = FeatureCounts(significance=2.0, min_pages=1, smoothing=0.0)
    word = np.array([7])
    for number in range(seen):
        features.learn(word, number < satisfying)
    share = satisfying / seen
    counts = abs(share - usual) >= 2.0 * sqrt(usual * (1 - usual) / seen)
    told = features.log_ratios(word, usual)[0]
    assert told == pytest.approx(log(max(share / usual, 1e-12)) if counts else 0.0)


def test_rare_words_do_not_count() -> None:
    features = FeatureCounts(significance=2.0, min_pages=3, smoothing=1.0)
    for often, word in enumerate((1, 2, 3), 1):
        for _ in range(often):
            features.learn(np.array([word]), satisfies=True)
    assert (features.log_ratios(np.array([1, 2, 3]), 0.1) != 0).tolist() == [False, False, True]


def test_the_words_of_pages_that_link_there_make_a_url_likelier() -> None:
    evidence = only("words")
    targets = [f"g{number}" for number in range(16)] + [f"b{number}" for number in range(16)]
    for number, target in enumerate(targets):
        evidence.learn(visit(f"hub{number}", GOOD, target, "honey" if target[0] == "g" else "rope"))
        evidence.learn(visit(target, GOOD if target[0] == "g" else BAD))
    evidence.learn(visit("one", BAD, "next", "honey"))
    evidence.learn(visit("two", BAD, "last", "rope"))
    likely, unlikely = evidence.log_ratio_of(url("next")), evidence.log_ratio_of(url("last"))
    p = evidence.tally.base_rate
    assert p == (48 + 0.5) / (66 + 1)
    assert likely == pytest.approx(log((16 + 10 * p) / (16 + 10) / p))
    assert unlikely is not None and unlikely < 0
    evidence.learn(visit("three", BAD, "last", "honey"))
    both = evidence.log_ratio_of(url("last"))
    assert both is not None and unlikely < both


def test_the_tokens_of_a_url_make_it_likelier() -> None:
    evidence = only("tokens")
    for number in range(6):
        evidence.learn(visit(f"bees/{number}", GOOD))
        evidence.learn(visit(f"ships/{number}", BAD))
    evidence.learn(visit("home", BAD, "bees/9 ships/9 planes/9"))
    bees, ships, planes = (evidence.log_ratio_of(url(f"{kind}/9")) for kind in ("bees", "ships", "planes"))
    assert bees is not None and ships is not None and planes is not None
    assert bees > planes > ships


def test_links_of_pages_that_satisfy_the_predicate_are_counted_when_their_targets_are_visited() -> None:
    evidence = only("links", smoothing=0.0)
    evidence.learn(visit("good", GOOD, "a b c d"))
    evidence.learn(visit("bad", BAD, "c d e"))
    for name, relevance in (("a", GOOD), ("b", GOOD), ("c", BAD), ("e", GOOD)):
        evidence.learn(visit(name, relevance))
    # Links seen: good->a, good->b, good->c, bad->c, bad->e. To good pages: two from a good one, one from a bad one.
    p = evidence.tally.base_rate
    expected = log(2 / 5 / p**2) + log(1 / 5 / (p * (1 - p)))
    assert evidence.log_ratio_of(url("d")) == pytest.approx(expected)


def test_siblings_visited_count_for_those_that_wait_also_where_they_were_visited_first() -> None:
    evidence = only("siblings")
    evidence.learn(visit("early", GOOD))
    evidence.learn(visit("hub", BAD, "early late bad next"))
    evidence.learn(visit("late", GOOD))
    evidence.learn(visit("bad", BAD))
    p = evidence.tally.base_rate
    assert p == (2 + 0.5) / (4 + 1)
    assert evidence.log_ratio_of(url("next")) == pytest.approx(log((2 + 10 * p) / (3 + 10) / p))


def test_a_url_is_told_again_when_another_page_links_to_it_and_when_a_sibling_was_visited() -> None:
    evidence = LinkageEvidence()
    evidence.learn(visit("hub", BAD, "a b c"))
    assert evidence.changed == [url("a"), url("b"), url("c")]
    evidence.learn(visit("a", GOOD, "b d"))
    assert evidence.changed == [url("b"), url("d"), url("c")]
    linked = evidence.linked_url(url("b"))
    assert linked is not None and (linked.found_on, linked.linking_pages, linked.satisfying) == (url("hub"), 2, 1)


def test_nothing_is_told_of_what_no_page_links_to_or_what_is_settled() -> None:
    evidence = LinkageEvidence()
    assert evidence.log_ratio_of(url("a")) is None
    evidence.learn(visit("hub", GOOD, "a b c"))
    evidence.learn(visit("a", GOOD))
    evidence.learn(Skip(Candidate(url("b"), 0.5), SkipReason.SCOPE, "host excluded"))
    assert evidence.linked_url(url("a")) is evidence.linked_url(url("b")) is None
    evidence.learn(visit("other", GOOD, "a b c"))
    assert url("c") in evidence.changed
    assert url("a") not in evidence.changed and url("b") not in evidence.changed


def test_an_evicted_url_may_come_back() -> None:
    evidence = LinkageEvidence()
    evidence.learn(visit("hub", GOOD, "a"))
    evidence.learn(Skip(Candidate(url("a"), 0.5), SkipReason.EVICTED))
    assert evidence.linked_url(url("a")) is None
    evidence.learn(visit("other", GOOD, "a"))
    assert evidence.changed == [url("a")]


def test_what_is_known_of_a_url_moves_with_it() -> None:
    evidence = LinkageEvidence()
    evidence.learn(visit("hub", GOOD, "old b"))
    moved = Fetch(url("old"), Outcome.MOVED, 0.0, location=url("new"))
    evidence.learn(Visit(Candidate(url("old"), 0.5), moved))
    linked = evidence.linked_url(url("new"))
    assert linked is not None and linked.satisfying == 1
    assert evidence.linked_url(url("old")) is None


def test_a_page_seen_again_is_not_counted_twice_but_its_new_links_join() -> None:
    evidence = LinkageEvidence()
    evidence.learn(visit("hub", GOOD, "a"))
    evidence.learn(visit("hub", GOOD, "b"))
    assert evidence.tally == Tally(1, 1)
    assert url("b") in evidence.changed


def test_what_is_remembered_is_bounded_and_so_is_what_is_done_at_a_page() -> None:
    evidence = LinkageEvidence(max_waiting=50, max_pages=10, max_visited=20)
    for number in range(200):
        links = " ".join(f"{number}/{place}" for place in range(10))
        evidence.learn(visit(f"hub{number}", BAD, links, f"word{number}"))
        assert len(evidence.changed) <= 10 + 32 + 16
    memory = evidence.state()["memory"]
    assert len(memory["leads"]) <= 60
    assert len(memory["parents"]) <= 11
    assert len(memory["visited"][0]) <= 21


def test_restored_it_tells_the_same() -> None:
    evidence, other = LinkageEvidence(), LinkageEvidence()
    for number in range(30):
        links = f"{number + 1} {number + 2} x{number}"
        evidence.learn(visit(str(number), (GOOD, BAD)[number % 3 == 0], links, f"word{number % 4} common"))
    other.restore(json.loads(json.dumps(evidence.state())))
    waiting = [known[0] for known in evidence.state()["memory"]["leads"]]
    assert len(waiting) > 20
    assert other.evidence_for(waiting) == evidence.evidence_for(waiting)


@pytest.mark.slow
@given(st.lists(st.floats() | st.none(), min_size=1, max_size=20))
def test_ratios_are_clipped_whatever_is_judged(judged: list[float | None]) -> None:
    evidence = LinkageEvidence(clip=3.0)
    for number, relevance in enumerate(judged):
        evidence.learn(visit(str(number), relevance, f"{number + 1} {number + 2} {number + 3}", "word"))
    for told in evidence.evidence_for(evidence.changed):
        assert abs(told.log_ratio) <= 4 * 3.0
        assert 0.0 < logistic(told.log_ratio) < 1.0


def test_a_weight_of_nothing_known_is_refused() -> None:
    with pytest.raises(UsageError, match="no factor 'anchors' to weigh; there are words, tokens, links, siblings"):
        LinkageEvidence(weights={"anchors": 1.0})
    with pytest.raises(UsageError, match="the weight of words must be a number"):
        LinkageEvidence(weights={"words": float("nan")})


@pytest.mark.parametrize("option", ["significance", "smoothing", "clip"])
def test_options_below_0_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"{option} must be a number from 0 to 1,000,000,000, not -1"):
        LinkageEvidence(**{option: -1.0})


def test_huge_weights_and_no_smoothing_still_give_finite_priorities() -> None:
    strategy = Intelligent(weights=dict.fromkeys(("words", "tokens", "links", "siblings"), 1e6), smoothing=0.0)
    for number in range(30):
        event = visit(f"t{number % 3}/{number}", float(number % 3 == 0), f"t0/{number + 3} t1/{number + 4}", "word")
        strategy.learn(event)
        for candidate in strategy.propose(event):
            assert 0.0 <= candidate.priority <= 1.0
            assert all(map(isfinite, candidate.because.values()))


def test_a_url_moved_to_has_tokens_of_its_own() -> None:
    evidence = only("tokens")
    for number in range(12):
        name = f"{'bees' if number % 2 else 'ropes'}/{number}"
        evidence.learn(visit(name, GOOD if number % 2 else BAD))
    evidence.learn(visit("hub", BAD, "ropes/moved"))
    before = evidence.log_ratio_of(url("ropes/moved"))
    fetch = Fetch(url("ropes/moved"), Outcome.MOVED, 0.0, status=301, location=url("bees/new"))
    evidence.learn(Visit(Candidate(fetch.url, 0.5), fetch))
    after = evidence.log_ratio_of(url("bees/new"))
    restored = only("tokens")
    restored.restore(json.loads(json.dumps(evidence.state())))
    assert before is not None and after is not None and before < 0.0 < after
    assert restored.log_ratio_of(url("bees/new")) == after
