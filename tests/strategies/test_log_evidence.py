"""What readers tell of pages: the paper's ratios."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lycosa.logs.access_log import AccessLog
from lycosa.strategies import log_evidence
from lycosa.strategies.log_evidence import FACTORS, LogEvidence
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Change, Fetch, Outcome, Skip, SkipReason, Visit
from strategies.reading_people import Digits, SlowFormulas, log_of, visit_to
from strategies.visits import url_of

WALKS = {"ann": "abc", "bob": "ad", "cat": "de"}
A_GOOD_D_BAD = [("a", True, "01234"), ("d", False, "34567")]


def evidence_of(walks, visits, **options) -> LogEvidence:
    evidence = LogEvidence(log_of(walks), **{"signatures": Digits(), "full_every": 1, **options})
    for name, satisfies, classes in visits:
        evidence.learn(visit_to(name, satisfies, classes=classes))
    return evidence


def ratio(evidence: LogEvidence, name: str) -> float:
    return math.exp(evidence.log_ratio_of(url_of(name)))


def test_frequency_is_the_product_over_readers_of_what_share_of_their_pages_satisfies():
    # N = 2, N_u = 1, so P(U) = 1.5 / 3. Ann read 1 page visited, good; Bob 2, one good; Cat 1, bad.
    # Smoothed by one usual page: (1 + .5) / 2 = .75, (1 + .5) / 3 = .5, (0 + .5) / 2 = .25.
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, factors=["frequency"], significance=0.0)
    assert ratio(evidence, "b") == pytest.approx(1.5)
    assert ratio(evidence, "a") == pytest.approx(1.5 * 1.0)
    assert ratio(evidence, "d") == pytest.approx(1.0 * 0.5)
    assert ratio(evidence, "e") == pytest.approx(0.5)


def test_counts_need_not_be_smoothed():
    options = {"factors": ["frequency"], "significance": 0.0, "smoothing": 0.0}
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, **options)
    assert ratio(evidence, "b") == pytest.approx((1 / 1) / 0.5)
    assert ratio(evidence, "a") == pytest.approx((1 / 1) / 0.5 * (1 / 2) / 0.5)
    assert ratio(evidence, "e") == pytest.approx(math.exp(-10.0))  # none of the pages of Cat satisfies: clipped


@pytest.mark.parametrize(
    ("trials", "significance", "of_b"),
    # |1 - .5| / sqrt(.25 / 2) = 1.414 over all pages visited, |1 - .5| / sqrt(.25 / 1) = 1 over those of the reader
    [("crawl", 1.4, 1.5), ("crawl", 1.42, 1.0), ("reader", 0.99, 1.5), ("reader", 1.01, 1.0)],
)
def test_only_readers_count_who_differ_significantly(trials, significance, of_b):
    options = {"factors": ["frequency"], "trials": trials, "significance": significance}
    assert ratio(evidence_of(WALKS, A_GOOD_D_BAD, **options), "b") == pytest.approx(of_b)


def test_signature_is_the_product_over_readers_of_their_mean_share_over_features():
    # Ann met features 0 to 4, once, good: (1 + .5) / 2 = .75 each, so SF = 1.5. Cat met 3 to 7, bad: .5.
    # Bob met 0 1 2 good, 3 4 once good and once bad, 5 6 7 bad: (3 * .75 + 2 * .5 + 3 * .25) / 8 = .5, SF = 1.
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, factors=["signature"], significance=0.0)
    assert ratio(evidence, "c") == pytest.approx(1.5)
    assert ratio(evidence, "e") == pytest.approx(0.5)
    assert ratio(evidence, "d") == pytest.approx(1.0 * 0.5)


@pytest.mark.parametrize(
    ("smoothing", "of_c", "of_e"),
    # P(V_i) of Ann (1 + .5) / 2, of Cat (0 + .5) / 2; their features (1 + .75) / 2 and (0 + .25) / 2. Bob's SF is 1.
    [(1.0, 0.875 / 0.75, 0.125 / 0.25), (0.0, 1.0, 1.0)],
)
def test_a_signature_may_be_a_multiple_of_what_is_usual_for_its_reader(smoothing, of_c, of_e):
    options = {"factors": ["signature"], "significance": 0.0, "base": "reader", "smoothing": smoothing}
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, **options)
    assert [ratio(evidence, name) for name in "ce"] == pytest.approx([of_c, of_e])
    assert ratio(evidence, "d") == pytest.approx(1.0 * of_e)


# SF are 1.5, 1 and .5: their mean is 1, their deviation .408, so Ann and Cat are 1.22 deviations away.
@pytest.mark.parametrize(("significance", "of_c"), [(1.22, 1.5), (1.23, 1.0), (2.0, 1.0)])
def test_only_signatures_count_that_are_far_from_the_mean(significance, of_c):
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, factors=["signature"], significance=significance)
    assert ratio(evidence, "c") == pytest.approx(of_c)


@pytest.mark.parametrize(("around", "of_b", "of_c", "of_e"), [(1, 0.5, 1.5, 1.5), (2, 0.5, 0.5, 1.5)])
def test_temporal_is_the_share_among_pages_near_in_time_or_among_others(around, of_b, of_c, of_e):
    # Near a: b, and c at a distance of 2, read by Ann; d, by Bob. Of those visited d is inside, bad: (0 + .5) / 2;
    # a is outside, good: (1 + .5) / 2.
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, factors=["temporal"], around=around)
    assert [ratio(evidence, name) for name in "bce"] == pytest.approx([of_b, of_c, of_e])


def test_all_factors_are_multiplied_and_told_by_kind():
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, significance=0.0, around=1)
    assert ratio(evidence, "c") == pytest.approx(1.5**3)
    (told,) = evidence.explain(np.array([evidence.access_log.id_of(url_of("b"))]))
    assert told == {"frequency": 1.5, "signature": 1.5, "temporal": 0.5, "people": 1}


def test_words_are_features_once_three_pages_had_them():
    walks = {"ann": "abcxd", "bob": "efgx"}
    evidence = LogEvidence(log_of(walks), factors=["signature"], significance=0.0, full_every=1)
    for name, satisfies in [("a", True), ("b", True), ("e", False), ("f", False)]:
        evidence.learn(visit_to(name, satisfies, words="sun " + name))
    # "sun" is a feature from the third page on: of e and f, which Bob read; P(U) = 2.5 / 5
    assert ratio(evidence, "g") == pytest.approx((0 + 0.5) / (2 + 1) / 0.5)
    assert ratio(evidence, "c") == 1.0


def test_old_accesses_count_less():
    day = 86_400.0
    rows = [("ann", "a", 0.0), ("ann", "b", 2 * day), ("bob", "d", 2 * day), ("bob", "e", 0.0)]
    access_log = AccessLog.of((who, url_of(name), at) for who, name, at in rows)
    evidence = LogEvidence(access_log, factors=["frequency"], significance=0.0, half_life=1.0, full_every=1)
    for name, satisfies in [("a", True), ("d", False)]:
        evidence.learn(visit_to(name, satisfies))
    # Ann's access to the good page is two half-lives old: (.25 + .5) / 1.25 = .6; Bob's to e: (.25 / .5) ^ .25
    assert ratio(evidence, "b") == pytest.approx(0.6 / 0.5)
    assert ratio(evidence, "e") == pytest.approx(0.5**0.25)


def test_being_near_in_time_ages_too():
    day = 86_400.0
    rows = [("ann", "a", 0.0), ("ann", "b", 0.0), ("bob", "d", 2 * day), ("bob", "e", 2 * day)]
    access_log = AccessLog.of((who, url_of(name), at) for who, name, at in rows)
    evidence = LogEvidence(access_log, factors=["temporal"], half_life=1.0, full_every=1)
    for name, satisfies in [("a", True), ("b", True), ("d", False)]:
        evidence.learn(visit_to(name, satisfies))
    # a and b are near each other, by accesses of weight .25; P(U) = 2.5 / 4
    usual = 0.625
    inside, outside = (0.5 + usual) / 1.5 / usual, (1.5 + usual) / 3.5 / usual
    assert ratio(evidence, "e") == pytest.approx(outside)
    assert ratio(evidence, "a") == pytest.approx(inside**0.25 * outside**0.75)


def test_what_was_read_at_a_url_that_moved_was_read_where_it_has_moved_to():
    evidence = LogEvidence(log_of(WALKS), factors=["frequency"], significance=0.0, full_every=1)
    moved = Fetch(url_of("a"), Outcome.MOVED, 0.0, location=url_of("elsewhere"))
    evidence.learn(Visit(Candidate(url_of("a"), 0.5), moved))
    assert evidence.tally.pages == 0
    evidence.learn(visit_to("elsewhere", True))
    assert ratio(evidence, "b") > 1.0


def test_pages_that_nobody_read_count_for_what_is_usual_alone():
    evidence = LogEvidence(log_of(WALKS), full_every=1)
    evidence.learn(visit_to("unheard-of", True))
    assert (evidence.tally.pages, evidence.tally.satisfying) == (1, 1)
    assert evidence.log_ratio_of(url_of("unheard-of")) is None
    assert not evidence.log_ratios(np.arange(5)).any()


def test_failures_skips_and_pages_seen_again_teach_nothing():
    evidence = evidence_of(WALKS, A_GOOD_D_BAD)
    before = evidence.state()
    evidence.learn(Skip(Candidate(url_of("b"), 0.5), SkipReason.TRAP, "host is full"))
    evidence.learn(Visit(Candidate(url_of("b"), 0.5), Fetch(url_of("b"), Outcome.GONE, 0.0)))
    evidence.learn(replace(visit_to("b", True), change=Change.CHANGED))
    evidence.learn(visit_to("a", False))
    assert evidence.state() == before
    assert len(evidence.changed) == 0


@pytest.mark.parametrize("options", [{"factors": ["colour"]}, {"around": 0}, {"full_every": 0}, {"significance": -1.0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        LogEvidence(log_of(WALKS), **options)


people = st.dictionaries(
    st.sampled_from(["ann", "bob", "cat", "dan", "eve"]), st.text("abcdefgh", min_size=1, max_size=8)
)
visited = st.lists(
    st.tuples(st.sampled_from("abcdefghz"), st.booleans(), st.sampled_from(["01234", "12345", "34567", "02461"])),
    max_size=8,
    unique_by=lambda visit: visit[0],
)
options = st.fixed_dictionaries(
    {
        "significance": st.sampled_from([0.0, 0.7, 1.3]),
        "around": st.integers(1, 3),
        "smoothing": st.sampled_from([0.0, 1.0]),
        "trials": st.sampled_from(["crawl", "reader"]),
        "base": st.sampled_from(["crawl", "reader"]),
    }
)


@pytest.mark.slow
@given(people, visited, options)
@settings(max_examples=150, deadline=None)
def test_after_a_full_pass_lazy_and_full_updates_agree_with_the_formulas(walks, visits, options):
    assume(walks)
    lazy = evidence_of(walks, visits, full_every=1_000, clip=1e9, **options)
    full = evidence_of(walks, visits, full_every=1, clip=1e9, **options)
    lazy.update_all()
    full.update_all()
    ids = np.arange(len(lazy.access_log.urls))
    assert lazy.log_ratios(ids).tolist() == full.log_ratios(ids).tolist()
    assert lazy.explain(ids) == full.explain(ids)
    slow = SlowFormulas(walks, visits, **options)
    for number, url in enumerate(lazy.access_log.urls):
        name = url.removeprefix("http://")[0]
        parts = [float(part[0]) for part in lazy._factor_log_ratios(np.array([number]))]
        expected = [slow.frequency(name), slow.signature(name), slow.temporal(name)]
        assert parts == pytest.approx(expected, abs=1e-6), name


@pytest.mark.slow
@given(people, visited, st.integers(0, 8), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_restored_at_any_moment_it_says_the_same(walks, visits, cut, full_every):
    assume(walks)
    first, second = (
        LogEvidence(log_of(walks), significance=0.5, signatures=Digits(), full_every=full_every) for _ in range(2)
    )
    for name, satisfies, classes in visits[:cut]:
        first.learn(visit_to(name, satisfies, classes=classes))
    second.restore(json.loads(json.dumps(first.state())))
    ids = np.arange(len(first.access_log.urls))
    for name, satisfies, classes in [*visits[cut:], ("a", True, "01234")]:
        assert first.log_ratios(ids).tolist() == second.log_ratios(ids).tolist()
        for evidence in (first, second):
            evidence.learn(visit_to(name, satisfies, classes=classes))
        assert first.changed.tolist() == second.changed.tolist()


def test_a_page_changes_what_its_readers_read_and_no_other():
    evidence = evidence_of(WALKS, [("a", True, "01234")], significance=0.0, full_every=100)
    changed = {evidence.access_log.urls[number] for number in evidence.changed.tolist()}
    assert changed == {url_of(name) for name in "abcd"}


def test_what_other_readers_say_is_stale_until_the_next_full_update():
    options = {"factors": ["frequency"], "significance": 0.0, "full_every": 100}
    evidence = evidence_of(WALKS, A_GOOD_D_BAD, **options)
    assert ratio(evidence, "b") == pytest.approx((1 + 0.75) / 2 / 0.75)  # as of the first page, with P(U) = 1.5 / 2
    assert ratio(evidence, "e") == pytest.approx(0.5)
    evidence.update_all()
    assert ratio(evidence, "b") == pytest.approx(1.5)


def test_full_updates_come_soon_at_first_and_seldom_later():
    evidence = LogEvidence(log_of(WALKS))
    full = []
    for number in range(1, 400):
        evidence.learn(visit_to(f"unread-{number}", number % 3 == 0))
        if evidence.is_full_update:
            full.append(number)
    assert full[:8] == [5, 10, 20, 40, 65, 90, 115, 140]
    assert full[-1] - full[-2] == int(0.2 * full[-2])


def test_without_readings_nothing_is_known():
    evidence = LogEvidence(None, full_every=1)
    evidence.learn(visit_to("a", True))
    assert evidence.log_ratio_of(url_of("a")) is None
    assert set(FACTORS) == {"frequency", "signature", "temporal"}


def test_of_too_many_readers_those_are_looked_at_whose_ratios_changed_most(monkeypatch):
    monkeypatch.setattr(log_evidence, "_MAX_PAIRS", 3)
    walks = {"ann": "abc", "bob": "xyzabd", "cat": "ae"}
    visits = [("x", False, ""), ("y", False, ""), ("a", True, "")]
    options = {"factors": ["frequency"], "significance": 0.0, "full_every": 100}
    evidence = evidence_of(walks, visits, **options)
    assert ratio(evidence, "c") == ratio(evidence, "e") == 1.0  # Bob's ratio changed more than those of Ann and Cat
    whole = evidence_of(walks, visits, **{**options, "full_every": 1})
    assert ratio(evidence, "d") == pytest.approx(ratio(whole, "d"))
    evidence.update_all()
    assert evidence.log_ratios(np.arange(8)).tolist() == whole.log_ratios(np.arange(8)).tolist()
