from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logs.walking import walk_of
from lycosa.logs import AccessLog
from lycosa.vocabulary.records import Url

A, B, C = (Url(f"http://{name}.org/") for name in "abc")
DAY = 86_400.0
accesses = st.lists(
    st.tuples(st.sampled_from("uvwxyz"), st.sampled_from([Url(f"http://p{n}.org/") for n in range(8)]), st.floats(0, 9))
)


def test_walks_are_in_order_of_time_and_users_are_numbers():
    access_log = AccessLog.of([("ann", B, 2.0), ("bob", A, 1.0), ("ann", A, 1.0), ("ann", B, 3.0)])
    urls, times = walk_of(access_log, 0)
    assert [access_log.urls[each] for each in urls] == [A, B, B]
    assert times.tolist() == [1.0, 2.0, 3.0]
    assert (access_log.users, access_log.access_count, list(access_log.urls)) == (2, 4, [B, A])
    assert urls.dtype == np.int32


def test_readers_and_pages_read_stand_once():
    access_log = AccessLog.of([("ann", A, 1.0), ("ann", B, 2.0), ("bob", A, 1.0), ("ann", A, 5.0)])
    first = access_log.id_of(A)
    assert access_log.users_of(first).tolist() == [0, 1]
    assert access_log.urls_of(0).tolist() == [0, 1]
    users, places = access_log.positions_of(first)
    assert (users.tolist(), places.tolist()) == ([0, 0, 1], [0, 2, 0])
    assert access_log.id_of("http://nobody.org/") is None


def test_pages_few_people_read_are_left_out_with_those_who_read_nothing_else():
    access_log = AccessLog.of([("ann", A, 1.0), ("bob", A, 1.0), ("ann", A, 2.0), ("cyd", B, 1.0), ("bob", C, 2.0)])
    seen = access_log.with_min_users(2)
    assert (list(seen.urls), seen.users, seen.access_count) == ([A], 2, 3)
    assert access_log.with_min_users(1) is access_log
    assert access_log.with_min_users(9).access_count == 0


def test_an_access_counts_half_at_half_life_against_the_newest():
    access_log = AccessLog.of([("ann", A, 0.0), ("ann", B, 2 * DAY), ("ann", A, 3 * DAY)]).decayed(1.0)
    assert access_log.weights.tolist() == [0.125, 0.5, 1.0]
    assert access_log.user_weights(access_log.id_of(A)).tolist() == [1.0]
    assert access_log.url_weights(0).tolist() == [1.0, 0.5]
    assert access_log.decayed(None).weights.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="half-life"):
        access_log.decayed(0.0)


def test_an_empty_log_has_nobody_and_nothing():
    nothing = AccessLog.of([])
    assert (nothing.users, nothing.access_count, len(nothing.urls), nothing.last_access_at) == (0, 0, 0, None)
    assert nothing.with_min_users(2).access_count == nothing.decayed(3.0).access_count == 0
    assert nothing.sample(0.5, seed=1).users == 0
    assert nothing.id_of(A) is None


def test_a_time_must_be_one():
    with pytest.raises(ValueError, match="finite"):
        AccessLog.of([("ann", A, float("nan"))])


def test_urls_are_a_sequence():
    urls = AccessLog.of([("ann", A, 1.0), ("ann", B, 2.0), ("ann", Url("http://ü.org/ß"), 3.0)]).urls
    assert (urls[-1], urls[:2], list(reversed(urls))[2]) == ("http://ü.org/ß", [A, B], A)
    with pytest.raises(IndexError):
        urls[3]


@pytest.mark.slow
@given(accesses)
def test_columns_say_what_the_accesses_say(rows):
    access_log = AccessLog.of(rows)
    users = list(dict.fromkeys(user for user, _, _ in rows))
    assert access_log.users == len(users)
    for number, user in enumerate(users):
        mine = sorted((at, place, url) for place, (who, url, at) in enumerate(rows) if who == user)
        urls, times = walk_of(access_log, number)
        assert [access_log.urls[each] for each in urls] == [url for *_, url in mine]
        assert times.tolist() == [at for at, *_ in mine]
        assert [access_log.urls[each] for each in access_log.urls_of(number)] == sorted(
            {url for *_, url in mine}, key=access_log.id_of
        )
    for number, url in enumerate(access_log.urls):
        assert access_log.id_of(url) == number
        assert [users[each] for each in access_log.users_of(number)] == [
            user for user in users if any((who, what) == (user, url) for who, what, _ in rows)
        ]
        who, where = access_log.positions_of(number)
        assert all(walk_of(access_log, user)[0][place] == number for user, place in zip(who, where, strict=True))
        assert len(who) == sum(what == url for _, what, _ in rows)


@pytest.mark.slow
@given(accesses, st.integers(1, 4))
def test_leaving_pages_out_is_as_if_nobody_had_read_them(rows, least):
    people = Counter(url for _, url in {(user, url) for user, url, _ in rows})
    kept = AccessLog.of([row for row in rows if people[row[1]] >= least])
    left = AccessLog.of(rows).with_min_users(least)
    assert (left.users, left.access_count, set(left.urls)) == (kept.users, kept.access_count, set(kept.urls))
    walks = [
        sorted([each.urls[url] for url in walk_of(each, user)[0]] for user in range(each.users))
        for each in (left, kept)
    ]
    assert walks[0] == walks[1]


@pytest.mark.slow
@given(accesses.filter(bool), st.integers(0, 5))
def test_a_larger_sample_holds_the_smaller_one(rows, seed):
    access_log = AccessLog.of(rows)
    few, many = access_log.sample(0.3, seed=seed), access_log.sample(0.8, seed=seed)
    assert 1 <= few.users <= many.users <= access_log.users
    assert set(few.urls) <= set(many.urls) <= set(access_log.urls)
    assert access_log.sample(0.3, seed=seed).digest == few.digest


@pytest.mark.slow
@given(accesses, accesses)
def test_fingerprints_tell_readings_apart(one, other):
    first, second = AccessLog.of(one), AccessLog.of(other)
    same = list(first.urls) == list(second.urls) and all(
        np.array_equal(a, b)
        for a, b in (
            (first.walk_starts, second.walk_starts),
            (first.url_ids, second.url_ids),
            (first.times, second.times),
        )
    )
    assert (first.digest == second.digest) == same
