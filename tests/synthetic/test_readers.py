from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.synthetic.readers import DAY, user_interests
from synthetic.small_worlds import small


def test_accesses_come_in_the_order_of_time_and_within_the_days() -> None:
    accesses = list(small().accesses(users=60, days=3.0, seed=5))
    assert len(accesses) > 500
    assert all(one.at <= other.at for one, other in pairwise(accesses))
    assert accesses[0].at >= 0.0 and accesses[-1].at < 3.0 * DAY


def test_the_same_seed_gives_the_same_accesses_and_another_gives_others() -> None:
    one, same, other = (list(small().accesses(users=20, days=2.0, seed=seed)) for seed in (5, 5, 6))
    assert one == same and one != other


def test_a_longer_log_begins_with_the_shorter_one() -> None:
    short = list(small().accesses(users=20, days=1.0, seed=5))
    assert list(islice(small().accesses(users=20, days=5.0, seed=5), len(short))) == short


def test_readers_read_what_they_like_far_more_often_than_by_chance() -> None:
    world = small()
    accesses = list(world.accesses(users=80, days=4.0, seed=5))
    liked = {user: {world.topics[topic] for topic in user_interests(user, topic_count=8, seed=5)} for user in range(80)}
    on_interest = np.mean([world.topic(access.url) in liked[access.user] for access in accesses])
    by_chance = np.mean([len(liked[access.user]) / 8 for access in accesses])
    assert by_chance + 0.3 < on_interest < 0.98
    assert {len(topics) for topics in liked.values()} == {1, 2, 3}


def test_reading_goes_along_links_within_sessions() -> None:
    world = small()
    accesses = sorted(world.accesses(users=10, days=10.0, seed=2), key=lambda access: (access.user, access.at))
    followed = [
        other.url in world.out_links(one.url)
        for one, other in pairwise(accesses)
        if one.user == other.user and other.at - one.at < 120.0
    ]
    assert len(followed) > 20 and np.mean(followed) > 0.8


def test_more_is_read_by_day_than_by_night() -> None:
    hours = Counter(int(access.at % DAY // 3600) for access in small().accesses(users=100, days=5.0, seed=1))
    assert sum(hours[hour] for hour in range(10, 22)) > 10 * sum(hours[hour] for hour in range(1, 5))


def test_a_later_world_has_readers_too() -> None:
    later = small().at(50.0)
    accesses = list(later.accesses(users=10, days=2.0, seed=1))
    assert accesses and any(later.page(access.url) is not None for access in accesses)


def test_readers_are_asked_for_sensibly() -> None:
    for users, days in ((0, 1.0), (3, 0.0), (3, float("nan"))):
        with pytest.raises(UsageError, match="at least 1 user"):
            small().accesses(users=users, days=days, seed=1)
