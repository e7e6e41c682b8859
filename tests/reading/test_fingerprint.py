import random
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.fingerprint import MAX_HAMMING_DISTANCE, MIN_WORDS, NearDuplicates, digest_of, fingerprint_of
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import codes_of

SIXTY_FOUR_BITS = st.integers(0, (1 << 64) - 1)


class Topic:
    """Independent pages on one topic: three quarters common words, one quarter the topic's own, both Zipf."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._common = [f"c{number}" for number in range(3000)]
        self._own = [f"t{number}" for number in range(400)]
        self._common_weights = list(accumulate(1 / (rank + 1) for rank in range(3000)))
        self._own_weights = list(accumulate(1 / (rank + 3) for rank in range(400)))

    def page(self, words: int = 300) -> list[str]:
        own = words // 4
        page = self._random.choices(self._common, cum_weights=self._common_weights, k=words - own)
        page += self._random.choices(self._own, cum_weights=self._own_weights, k=own)
        self._random.shuffle(page)
        return page


def _distance(one: int, other: int) -> int:
    return (one ^ other).bit_count()


@pytest.mark.slow
def test_independent_pages_on_one_topic_are_not_taken_for_copies() -> None:
    topic, seen = Topic(1), NearDuplicates()
    flagged = 0
    for number in range(2000):
        fingerprint = fingerprint_of(codes_of(topic.page()))
        flagged += seen.find(fingerprint) is not None
        seen.add(fingerprint, Url(f"http://site.example/{number}"))
    assert flagged <= 1


@pytest.mark.slow
def test_pages_with_another_word_date_or_footer_are_copies() -> None:
    topic, rng = Topic(2), random.Random(3)
    found = {"word": 0, "date": 0, "footer": 0}
    for _ in range(200):
        page = topic.page()
        place = rng.randrange(len(page) - 3)
        changed = {
            "word": [*page[:place], "another", *page[place + 1 :]],
            "date": [*page[:place], "12", "may", "2026", *page[place + 3 :]],
            "footer": [*page[:-5], "updated", "by", "the", "night", "editor"],
        }
        for change, tokens in changed.items():
            found[change] += (
                _distance(fingerprint_of(codes_of(page)), fingerprint_of(codes_of(tokens))) <= MAX_HAMMING_DISTANCE
            )
    assert found["word"] >= 190 and found["date"] >= 170 and found["footer"] >= 170


def test_pages_that_share_half_their_text_are_not_copies() -> None:
    topic = Topic(4)
    template = topic.page(150)
    seen = NearDuplicates()
    for number in range(500):
        fingerprint = fingerprint_of(codes_of(template + topic.page(150)))
        assert seen.find(fingerprint) is None
        seen.add(fingerprint, Url(f"http://site.example/{number}"))


def test_short_pages_have_no_fingerprint() -> None:
    assert fingerprint_of(codes_of(["word"] * (MIN_WORDS - 1))) == 0
    assert fingerprint_of(codes_of(["word"] * MIN_WORDS)) != 0
    seen = NearDuplicates()
    seen.add(0, Url("http://site.example/short"))
    assert seen.find(0) is None


@pytest.mark.slow
@given(SIXTY_FOUR_BITS.filter(bool), st.sets(st.integers(0, 63), max_size=8))
def test_near_means_few_bits(fingerprint: int, bits: set[int]) -> None:
    seen = NearDuplicates()
    seen.add(fingerprint, Url("http://site.example/"))
    other = fingerprint ^ sum(1 << bit for bit in bits)
    if other:
        assert (seen.find(other) is not None) == (len(bits) <= MAX_HAMMING_DISTANCE)


def test_a_block_remembers_a_bounded_number_of_pages() -> None:
    seen, rng = NearDuplicates(max_compared=10), random.Random(5)
    fingerprints = [rng.getrandbits(48) << 16 | 0xBEEF for _ in range(1000)]  # all alike in one block
    for number, fingerprint in enumerate(fingerprints):
        seen.add(fingerprint, Url(f"http://site.example/{number}"))
    assert seen.find(fingerprints[-1]) == "http://site.example/999"


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), max_size=60))
def test_both_fit_in_64_bits(tokens: list[str]) -> None:
    for number in (fingerprint_of(codes_of(tokens)), digest_of(codes_of(tokens))):
        assert 0 <= number < 1 << 64


class _ByDictionary:
    """Near-duplicates as they are defined: of each block, the oldest match among its latest pages."""

    def __init__(self, max_compared: int):
        self._max_compared = max_compared
        self._pages: dict[int, Url] = {}

    def find(self, fingerprint: int) -> Url | None:
        for place in range(0, 64, 16):
            shared = [other for other in self._pages if (other ^ fingerprint) >> place & 0xFFFF == 0]
            near = [
                other
                for other in shared[-self._max_compared :]
                if _distance(fingerprint, other) <= MAX_HAMMING_DISTANCE
            ]
            if near:
                return self._pages[near[0]]
        return None

    def add(self, fingerprint: int, url: Url) -> None:
        if fingerprint:
            self._pages.setdefault(fingerprint, url)


fingerprints = st.lists(st.sampled_from([0, 1, 2, 3, 1 << 63, (1 << 64) - 1]) | st.integers(0, 255), max_size=60)


@pytest.mark.slow
@given(fingerprints=fingerprints, max_compared=st.integers(1, 5))
def test_the_oldest_match_among_the_latest_pages_of_a_block_is_found(
    fingerprints: list[int], max_compared: int
) -> None:
    seen, expected = NearDuplicates(max_compared=max_compared), _ByDictionary(max_compared)
    for number, fingerprint in enumerate(fingerprints):
        if fingerprint:
            assert seen.find(fingerprint) == expected.find(fingerprint)
        seen.add(fingerprint, Url(f"http://a.example/{number}"))
        expected.add(fingerprint, Url(f"http://a.example/{number}"))


def test_copies_of_a_text_are_counted_from_the_second_on() -> None:
    seen, digest, copy = NearDuplicates(), (1 << 64) - 5, Url("http://b.example/")
    seen.add_duplicate(digest, copy, is_followed=True)
    assert not seen.has_text(digest) and seen.copies(digest, copy) == 0
    seen.add(7, Url("http://a.example/"), digest)
    assert seen.has_text(digest) and seen.copies(digest, copy) == 0
    seen.add_duplicate(digest, copy, is_followed=True)
    assert seen.followed_copies(digest) == 1
    seen.add(7, Url("http://b.example/"), digest)
    assert seen.copies(digest, copy) == seen.copies(digest, Url("https://www.b.example/")) == 1  # of one site
    assert seen.copies(digest, Url("http://c.example/")) == 0
    seen.add_duplicate(digest, copy, is_followed=False)
    assert (seen.copies(digest, copy), seen.followed_copies(digest)) == (2, 1)
