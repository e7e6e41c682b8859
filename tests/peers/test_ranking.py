"""Hits of several collections in one order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lycosa_peers.messages import CollectionStatistics, Contact, PeerHit
from lycosa_peers.ranking import merge
from lycosa_peers.search import Answer, Stage, Trust

ME, ANNA, BERT = Contact("me"), Contact("anna"), Contact("bert")


def answer(who, hits, *, documents=100, words=10_000, terms=("bees",), frequencies=(10,), stage=Stage.BUDDIES):
    return Answer(who, who.name, stage, tuple(hits), CollectionStatistics(documents, words, terms, frequencies))


def hit(url, times, **more):
    return PeerHit(url, more.pop("title", url), length=more.pop("length", 100), frequencies=times, **more)


def urls(merged):
    return [page.url for page in merged.hits]


def test_hits_are_scored_alike_whoever_has_them():
    anna = answer(ANNA, [hit("http://a.example/much", (9,)), hit("http://a.example/little", (1,))])
    bert = answer(BERT, [hit("http://b.example/some", (4,))], documents=50_000, frequencies=(3,))
    assert urls(merge("bees", [anna, bert], own_name="me")) == [
        "http://a.example/much",
        "http://b.example/some",
        "http://a.example/little",
    ]


def test_a_word_that_is_rare_in_all_collections_weighs_more():
    terms = ("bees", "propolis")
    anna = answer(ANNA, [hit("http://a.example/bees", (5, 1))], terms=terms, frequencies=(90, 2))
    bert = answer(BERT, [hit("http://b.example/propolis", (1, 5))], terms=terms, frequencies=(80, 1))
    assert urls(merge("bees propolis", [anna, bert], own_name="me"))[0] == "http://b.example/propolis"


def test_a_page_that_several_have_is_one_hit_and_our_copy_is_told():
    old, new = hit("http://x.example/", (3,), fetched_at=5.0), hit("http://x.example/", (4,), fetched_at=9.0)
    mine = hit("http://x.example/", (2,), fetched_at=1.0, title="Mine")
    (page,) = merge("bees", [answer(ANNA, [old]), answer(BERT, [new])], own_name="me").hits
    assert [contact.name for contact in page.providers] == ["bert", "anna"]
    (page,) = merge("bees", [answer(ANNA, [old]), answer(ME, [mine], stage=Stage.OWN_CONTENT)], own_name="me").hits
    assert (page.title, page.at_home, len(page.providers)) == ("Mine", True, 2)


def test_pages_with_the_same_words_are_told_together():
    anna = answer(ANNA, [hit("http://a.example/", (5,), digest="77")])
    bert = answer(BERT, [hit("http://b.example/", (5,), digest="77")])
    (page,) = merge("bees", [anna, bert], own_name="me").hits
    assert {page.url, *page.also} == {"http://a.example/", "http://b.example/"}


def test_urls_that_may_not_be_crawled_are_left_out():
    bad = [
        "http://10.0.0.1/",
        "javascript:alert(1)",
        "http://localhost/",
        "file:///etc/passwd",
        "http://a.example/\x1b[2J",
    ]
    merged = merge(
        "bees", [answer(ANNA, [hit(url, (9,)) for url in bad] + [hit("http://a.example/", (1,))])], own_name="me"
    )
    assert urls(merged) == ["http://a.example/"]
    assert merged.refused == len(bad)


def test_exaggeration_gains_little():
    liar = answer(BERT, [hit("http://b.example/", (1 << 40,), length=1)], documents=1 << 40, words=1 << 47)
    honest = answer(ANNA, [hit("http://a.example/", (8,))])
    merged = merge("bees", [liar, honest], own_name="me")
    scores = {page.url: page.score for page in merged.hits}
    assert scores["http://b.example/"] < 3 * scores["http://a.example/"]


def test_what_others_say_of_their_pages_does_not_hide_ours():
    mine = answer(ME, [hit("http://good.example/", (3,), digest="77", title="Mine")], stage=Stage.OWN_CONTENT)
    spam = answer(BERT, [hit("http://spam.example/", (100,), digest="77")], stage=Stage.WALKING)
    (page,) = merge("bees", [mine, spam], own_name="me").hits
    assert (page.url, page.title, page.also) == ("http://good.example/", "Mine", ("http://spam.example/",))


@pytest.mark.parametrize("friend", [Trust.TRUSTED, Trust.BUDDY, Trust.CONFIRMED])
def test_no_stranger_hides_the_pages_of_others_by_claiming_that_its_own_are_the_same(friend):
    good = answer(ANNA, [hit(f"http://good.example/{n}", (3,), digest=f"{n}") for n in range(8)])
    spam = answer(BERT, [hit(f"http://spam.example/{n}", (90,), digest=f"{n}") for n in range(8)], stage=Stage.WALKING)
    merged = merge("bees", [replace(good, trust=friend), replace(spam, trust=Trust.CONFIRMED)], own_name="me")
    assert {f"http://good.example/{n}" for n in range(8)} <= set(urls(merged))
    assert sum("spam" in url for url in urls(merged)[:8]) <= 4


@pytest.mark.parametrize("friend", [Trust.TRUSTED, Trust.BUDDY])
def test_of_a_page_the_copy_of_a_friend_is_told_however_new_that_of_a_stranger_is(friend):
    good = answer(ANNA, [hit("http://x.example/", (3,), title="Good", fetched_at=5.0)], stage=Stage.WALKING)
    spam = answer(BERT, [hit("http://x.example/", (3,), title="Spam", fetched_at=9.0)])
    (page,) = merge(
        "bees", [replace(spam, trust=Trust.CONFIRMED), replace(good, trust=friend)], own_name="me", now=9.0
    ).hits
    assert (page.title, page.providers) == ("Good", (ANNA, BERT))


@pytest.mark.parametrize(
    ("places", "network"),
    [(["[2001:db8::{}]:7"] * 6, ""), (["8.8.{}.8:7"] * 6, "9.9.9.9")],
    ids=["one network", "claimed addresses"],
)
def test_many_keys_of_one_network_get_half_whatever_addresses_they_claim(places, network):
    keys = [Contact(f"key{n}", place.format(n)) for n, place in enumerate(places)]
    many = [
        replace(answer(key, [hit(f"http://{key.name}.example/{n}", (50,)) for n in range(4)]), network=network)
        for key in keys
    ]
    honest = answer(Contact("honest", "7.7.7.7:7"), [hit(f"http://honest.example/{n}", (1,)) for n in range(4)])
    merged = merge("bees", [replace(each, trust=Trust.CONFIRMED) for each in (*many, honest)], own_name="me")
    assert sum("honest" in url for url in urls(merged)[:8]) >= 2  # as much as one stranger gets
    assert "honest" in urls(merged)[1]


def test_what_one_stranger_has_twice_is_told_once():
    twice = answer(ANNA, [hit(f"http://good.example/{n}", (3,), digest="7") for n in range(2)])
    (page,) = merge("bees", [replace(twice, trust=Trust.CONFIRMED)], own_name="me").hits
    assert (page.url, page.also) == ("http://good.example/0", ("http://good.example/1",))


def test_of_a_page_the_copy_of_one_who_answered_before_is_told_and_no_copy_makes_it_worse():
    good = answer(ANNA, [hit("http://x.example/", (8,), title="Good", fetched_at=5.0)])
    lie = answer(BERT, [hit("http://x.example/", (1,), title="Lie", fetched_at=1e11)], stage=Stage.WALKING)
    (alone,) = merge("bees", [good, answer(BERT, [], stage=Stage.WALKING)], own_name="me", now=9.0).hits
    (page,) = merge("bees", [good, lie], own_name="me", now=9.0).hits
    assert (page.title, page.score, page.fetched_at) == ("Good", alone.score, 5.0)
    assert merge("bees", [lie], own_name="me", now=9.0).hits[0].fetched_at == 9.0


def test_hits_of_others_that_do_not_have_the_words_are_left_out():
    bare = Answer(BERT, BERT.name, Stage.WALKING, (PeerHit("http://spam.example/", "Spam"),))
    half = answer(ANNA, [hit("http://half.example/", (3, 0))], terms=("bees", "honey"), frequencies=(5, 5))
    unsaid = answer(ANNA, [hit("http://other.example/", (3,))])
    assert merge("bees honey", [bare, half, unsaid], own_name="me").hits == ()


def test_a_peer_that_several_walkers_met_weighs_no_more_than_once():
    terms = ("rare", "common")
    home = answer(ME, [hit("http://h.example/", (2, 1))], terms=terms, frequencies=(50, 2), stage=Stage.OWN_CONTENT)
    far = answer(BERT, [hit("http://b.example/", (1, 2))], terms=terms, frequencies=(1, 90), stage=Stage.WALKING)
    unsaid = Answer(BERT, BERT.name, Stage.WALKING, far.hits)
    met_once, met_often = (
        merge("rare common", [home, *of_bert], own_name="me") for of_bert in ([far], [far] * 8 + [unsaid])
    )
    assert [page.score for page in met_once.hits] == [page.score for page in met_often.hits]


counts = st.integers(0, 1 << 48)
anything = st.builds(
    PeerHit,
    st.sampled_from(["http://a.example/", "http://b.example/", "http://192.168.0.1/", "", "no"]) | st.integers(0, 99),
    st.text(max_size=20),
    st.text(max_size=20),
    st.floats(),
    st.floats(),
    st.floats(),
    st.sampled_from(["", "1", "2"]),
    counts,
    st.lists(counts, max_size=4).map(tuple),
)
told = st.none() | st.builds(
    CollectionStatistics,
    counts,
    counts,
    st.lists(st.sampled_from(["bees", "honey", "x"]), max_size=4).map(tuple),
    st.lists(counts, max_size=4).map(tuple),
)


hits = st.lists(anything, max_size=4).map(tuple)
answers_of_strangers = st.builds(
    Answer, st.sampled_from([ANNA, BERT, ME]), st.just("anna"), st.sampled_from(Stage), hits, told
)


@given(st.lists(answers_of_strangers, max_size=5))
def test_whatever_strangers_claim_is_merged(answers):
    pages = merge("bees honey", answers, own_name="me").hits
    assert len({page.url for page in pages}) == len(pages)
    assert [page.score for page in pages] == sorted((page.score for page in pages), reverse=True)
    assert all(0 <= page.standing <= 1 and 0 <= page.relevance <= 1 and page.score >= 0 for page in pages)


def _claims(who: str, count: int, trust: Trust, score: int = 1, address: str = "") -> Answer:
    hits = tuple(
        PeerHit(f"http://{who}.example/{n}", "t", "s", length=100, frequencies=(score,), digest=f"{who}{n}")
        for n in range(count)
    )
    return Answer(
        Contact(who, address or f"{who}:1"),
        who,
        Stage.WALKING,
        hits,
        CollectionStatistics(9, 900, ("honey",), (5,)),
        trust=trust,
    )


def _owners(answers, first=10):
    return [hit.providers[0].name for hit in merge("honey", answers, own_name="me").hits[:first]]


def test_a_stranger_whose_hits_look_best_gets_a_quarter_of_the_first_places():
    answers = [_claims("liar", 30, Trust.CONFIRMED, score=50), *(_claims(who, 9, Trust.CONFIRMED) for who in "abc")]
    owners = _owners(answers)
    assert owners.count("liar") == 3 and owners[0] == "liar"
    assert _owners(answers[:1]).count("liar") == 10  # there are no others


def test_a_buddy_gets_half_of_the_first_places_and_one_that_was_named_all_it_deserves():
    others = [_claims(who, 9, Trust.CONFIRMED) for who in "abc"]
    assert _owners([_claims("buddy", 30, Trust.BUDDY, score=50), *others]).count("buddy") == 5
    assert _owners([_claims("named", 30, Trust.TRUSTED, score=50), *others]).count("named") == 10


def test_many_keys_of_one_network_share_half_of_the_first_places():
    liars = [_claims(f"liar{n}", 9, Trust.CONFIRMED, score=50, address=f"192.0.2.66:{n}") for n in range(9)]
    owners = _owners([*liars, *(_claims(who, 9, Trust.CONFIRMED) for who in "abcd")])
    assert sum(name.startswith("liar") for name in owners) == 5


def test_strangers_of_many_networks_share_half_of_the_first_places_as_long_as_others_are_known():
    liars = [_claims(f"liar{n}", 9, Trust.CONFIRMED, score=50, address=f"{20 + n}.0.2.66:1") for n in range(8)]
    for trust in (Trust.BUDDY, Trust.TRUSTED):
        owners = _owners([*liars, *(_claims(who, 9, trust) for who in "abcd")])
        assert sum(name.startswith("liar") for name in owners) == 5
    assert len(_owners([*liars, _claims("a", 2, Trust.BUDDY)])) == 10  # there are no others
    alone = _owners([*liars, *(_claims(who, 9, Trust.CONFIRMED) for who in "abcd")])
    assert sum(name.startswith("liar") for name in alone) == 10  # where nobody is known, the best


def test_what_nobody_has_checked_does_not_move_a_page_that_others_have_too():
    honest = answer(ANNA, [hit("http://a.example/", (1,)), hit("http://b.example/", (4,))])
    claims = replace(answer(BERT, [hit("http://a.example/", (90,))], stage=Stage.WALKING), trust=Trust.CLAIMED)
    merged = merge("bees", [honest, claims], own_name="me")
    assert urls(merged) == ["http://b.example/", "http://a.example/"]
    assert all(page.is_checked for page in merged.hits)


def test_what_nobody_has_checked_comes_last_and_hides_nothing():
    liar = _claims("liar", 30, Trust.CLAIMED, score=50)
    copy = replace(liar, hits=tuple(replace(hit, digest="a0") for hit in liar.hits))
    ranking = merge("honey", [copy, _claims("a", 3, Trust.CONFIRMED)], own_name="me")
    assert [hit.providers[0].name for hit in ranking.hits] == ["a"] * 3
    assert [hit.is_checked for hit in ranking.hits] == [True] * 3 and len(ranking.hits[0].also) == 30
    assert not any(hit.is_checked for hit in merge("honey", [liar], own_name="me").hits)
