from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logs.walking import walk_of
from lycosa.logs import Readings
from lycosa.vocabulary.records import Url

A, B, C = (Url(f"http://{name}.org/") for name in "abc")
DAY = 86_400.0
accesses = st.lists(
    st.tuples(st.sampled_from("uvwxyz"), st.sampled_from([Url(f"http://p{n}.org/") for n in range(8)]), st.floats(0, 9))
)


def test_walks_are_in_order_of_time_and_users_are_numbers():
    readings = Readings.of([("ann", B, 2.0), ("bob", A, 1.0), ("ann", A, 1.0), ("ann", B, 3.0)])
    urls, times = walk_of(readings, 0)
    assert [readings.urls[each] for each in urls] == [A, B, B]
    assert times.tolist() == [1.0, 2.0, 3.0]
    assert (readings.users, readings.accesses, list(readings.urls)) == (2, 4, [B, A])
    assert urls.dtype == np.int32


def test_readers_and_pages_read_stand_once():
    readings = Readings.of([("ann", A, 1.0), ("ann", B, 2.0), ("bob", A, 1.0), ("ann", A, 5.0)])
    first = readings.id_of(A)
    assert readings.readers_of(first).tolist() == [0, 1]
    assert readings.read_by(0).tolist() == [0, 1]
    users, places = readings.places_of(first)
    assert (users.tolist(), places.tolist()) == ([0, 0, 1], [0, 2, 0])
    assert readings.id_of("http://nobody.org/") is None


def test_pages_few_people_read_are_left_out_with_those_who_read_nothing_else():
    readings = Readings.of([("ann", A, 1.0), ("bob", A, 1.0), ("ann", A, 2.0), ("cyd", B, 1.0), ("bob", C, 2.0)])
    seen = readings.with_at_least(2)
    assert (list(seen.urls), seen.users, seen.accesses) == ([A], 2, 3)
    assert readings.with_at_least(1) is readings
    assert readings.with_at_least(9).accesses == 0


def test_an_access_counts_half_at_half_life_against_the_newest():
    readings = Readings.of([("ann", A, 0.0), ("ann", B, 2 * DAY), ("ann", A, 3 * DAY)]).aged(1.0)
    assert readings.weights.tolist() == [0.125, 0.5, 1.0]
    assert readings.reader_weights(readings.id_of(A)).tolist() == [1.0]
    assert readings.read_weights(0).tolist() == [1.0, 0.5]
    assert readings.aged(None).weights.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="half-life"):
        readings.aged(0.0)


def test_an_empty_log_has_nobody_and_nothing():
    nothing = Readings.of([])
    assert (nothing.users, nothing.accesses, len(nothing.urls), nothing.newest) == (0, 0, 0, None)
    assert nothing.with_at_least(2).accesses == nothing.aged(3.0).accesses == 0
    assert nothing.sample(0.5, seed=1).users == 0
    assert nothing.id_of(A) is None


def test_a_time_must_be_one():
    with pytest.raises(ValueError, match="finite"):
        Readings.of([("ann", A, float("nan"))])


def test_urls_are_a_sequence():
    urls = Readings.of([("ann", A, 1.0), ("ann", B, 2.0), ("ann", Url("http://ü.org/ß"), 3.0)]).urls
    assert (urls[-1], urls[:2], list(reversed(urls))[2]) == ("http://ü.org/ß", [A, B], A)
    with pytest.raises(IndexError):
        urls[3]


@given(accesses)
def test_columns_say_what_the_accesses_say(rows):
    readings = Readings.of(rows)
    users = list(dict.fromkeys(user for user, _, _ in rows))
    assert readings.users == len(users)
    for number, user in enumerate(users):
        mine = sorted((at, place, url) for place, (who, url, at) in enumerate(rows) if who == user)
        urls, times = walk_of(readings, number)
        assert [readings.urls[each] for each in urls] == [url for *_, url in mine]
        assert times.tolist() == [at for at, *_ in mine]
        assert [readings.urls[each] for each in readings.read_by(number)] == sorted(
            {url for *_, url in mine}, key=readings.id_of
        )
    for number, url in enumerate(readings.urls):
        assert readings.id_of(url) == number
        assert [users[each] for each in readings.readers_of(number)] == [
            user for user in users if any((who, what) == (user, url) for who, what, _ in rows)
        ]
        who, where = readings.places_of(number)
        assert all(walk_of(readings, user)[0][place] == number for user, place in zip(who, where, strict=True))
        assert len(who) == sum(what == url for _, what, _ in rows)


@given(accesses, st.integers(1, 4))
def test_leaving_pages_out_is_as_if_nobody_had_read_them(rows, least):
    people = Counter(url for _, url in {(user, url) for user, url, _ in rows})
    kept = Readings.of([row for row in rows if people[row[1]] >= least])
    left = Readings.of(rows).with_at_least(least)
    assert (left.users, left.accesses, set(left.urls)) == (kept.users, kept.accesses, set(kept.urls))
    walks = [
        sorted([each.urls[url] for url in walk_of(each, user)[0]] for user in range(each.users))
        for each in (left, kept)
    ]
    assert walks[0] == walks[1]


@given(accesses.filter(bool), st.integers(0, 5))
def test_a_larger_sample_holds_the_smaller_one(rows, seed):
    readings = Readings.of(rows)
    few, many = readings.sample(0.3, seed=seed), readings.sample(0.8, seed=seed)
    assert 1 <= few.users <= many.users <= readings.users
    assert set(few.urls) <= set(many.urls) <= set(readings.urls)
    assert readings.sample(0.3, seed=seed).fingerprint == few.fingerprint


@given(accesses, accesses)
def test_fingerprints_tell_readings_apart(one, other):
    first, second = Readings.of(one), Readings.of(other)
    same = list(first.urls) == list(second.urls) and all(
        np.array_equal(a, b)
        for a, b in ((first.walk_starts, second.walk_starts), (first.walks, second.walks), (first.times, second.times))
    )
    assert (first.fingerprint == second.fingerprint) == same
