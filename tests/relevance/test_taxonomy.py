import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import taxonomy as module
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import JsonValue, Page
from pages import page_of_terms

WORDS = ["bee", "hive", "honey", "ship", "sail", "mast", "cake", "sugar", "flour", "and"]
TERMS = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 50), min_size=1)
EXAMPLES = st.fixed_dictionaries(
    {topic: st.lists(TERMS, min_size=1, max_size=4) for topic in ("bees", "ships", "cakes")}
)
THREE = {
    "bees": [{"bee": 3, "hive": 1}, {"bee": 1, "honey": 2}, {"honey": 1, "hive": 1}],
    "ships": [{"ship": 2, "sail": 2}, {"ship": 1, "mast": 1}, {"sail": 3, "mast": 1}],
    "cakes": [{"cake": 2, "sugar": 1, "honey": 1}, {"flour": 1, "cake": 1}],
}


def page(**terms: int) -> Page:
    return page_of_terms(terms)


def pages_of(examples: dict[str, list[dict[str, int]]]) -> dict[str, list[Page]]:
    return {topic: list(map(page_of_terms, pages)) for topic, pages in examples.items()}


def taxonomy_of(examples: dict[str, list[dict[str, int]]], **options: float) -> Taxonomy:
    return Taxonomy.train(pages_of(examples), **options)


@pytest.mark.slow
@given(EXAMPLES, TERMS, st.sampled_from([1.0, 0.1]))
def test_found_are_those_of_another_implementation(
    examples: dict[str, list[dict[str, int]]], terms: dict[str, int], smoothing: float
) -> None:
    from sklearn.naive_bayes import MultinomialNB  # takes a second, which only a process that needs it shall

    known = sorted(set().union(*(page for pages in examples.values() for page in pages)))
    rows = [[page.get(word, 0) for word in known] for pages in examples.values() for page in pages]
    topics = [topic for topic, pages in examples.items() for _ in pages]
    other = MultinomialNB(alpha=smoothing).fit(rows, topics)
    theirs = dict(zip(other.classes_, other.predict_proba([[terms.get(word, 0) for word in known]])[0], strict=True))
    ours = taxonomy_of(examples, smoothing=smoothing)
    assert ours.topics == tuple(examples)
    assert ours.probabilities(page(**terms)) == pytest.approx([theirs[topic] for topic in examples], abs=1e-9)


@pytest.mark.slow
@given(EXAMPLES, TERMS)
def test_probabilities_sum_to_one_and_each_can_be_asked_for_alone(
    examples: dict[str, list[dict[str, int]]], terms: dict[str, int]
) -> None:
    taxonomy, asked = taxonomy_of(examples), page(**terms)
    found = taxonomy.probabilities(asked)
    assert found.sum() == pytest.approx(1.0)
    for topic, probability in zip(taxonomy.topics, found, strict=True):
        assert taxonomy.probability(asked, topic) == taxonomy.relevance_model(topic).relevance(asked) == probability
    assert taxonomy.probability(asked, taxonomy.best(asked)) == found.max()


def test_very_long_pages_are_judged_all_the_same() -> None:
    found = taxonomy_of(THREE).probabilities(page(bee=10**7, ship=10**7 + 1000))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1.0)


def test_words_never_seen_say_nothing() -> None:
    taxonomy = taxonomy_of(THREE)
    assert taxonomy.probabilities(page(unheard=9)) == pytest.approx([3 / 8, 3 / 8, 2 / 8])
    assert (taxonomy.probabilities(page(bee=2, unheard=900)) == taxonomy.probabilities(page(bee=2))).all()
    assert taxonomy.probabilities(page()) == pytest.approx([3 / 8, 3 / 8, 2 / 8])


def many_topics(topics: int, each: int, *, seed: int) -> dict[str, list[Page]]:
    """Topics whose pages share half of their words with all the others."""
    rng = random.Random(seed)
    made = {}
    for topic in range(topics):
        own = [f"t{topic}w{number}" for number in range(30)]
        shared = [f"w{number}" for number in range(200)]
        drawn = ([*rng.choices(own, k=10), *rng.choices(shared, k=30)] for _ in range(each))
        made[f"topic {topic}"] = [page_of_terms({word: words.count(word) for word in words}) for words in drawn]
    return made


def test_accuracy_is_that_on_pages_not_learnt_from() -> None:
    examples = many_topics(6, 12, seed=1)
    accuracy = Taxonomy.recall_by_topic(examples, seed=5)
    assert list(accuracy) == list(examples)
    assert min(accuracy.values()) >= 0.75
    assert accuracy == Taxonomy.recall_by_topic(examples, seed=5)


def test_topics_without_a_difference_are_told_apart_no_better_than_by_chance() -> None:
    rng = random.Random(3)
    pages = [page_of_terms({f"w{rng.randrange(300)}": 1 for _ in range(20)}) for _ in range(400)]
    accuracy = Taxonomy.recall_by_topic({"one": pages[:200], "two": pages[200:]}, seed=1)
    assert 0.3 < sum(accuracy.values()) / 2 < 0.7


def test_of_very_many_pages_some_are_drawn_and_the_seed_says_which() -> None:
    examples = many_topics(2, 40, seed=2)
    few, again, others = (Taxonomy.train(examples, limit=10, seed=seed).to_plain() for seed in (1, 1, 2))
    assert few == again != others
    assert few["topics"]["topic 0"]["pages"] == 10


def test_rarest_words_are_left_out_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TERMS", 2)
    examples = {"bees": [{"bee": 1, "rare": 9}, {"bee": 1}], "ships": [{"ship": 1}, {"ship": 2, "odd": 5}]}
    taxonomy = taxonomy_of(examples)
    assert len(taxonomy.to_plain()["codes"]) == 2
    assert taxonomy.best(page(bee=1, odd=7)) == "bees"


@pytest.mark.slow
@given(EXAMPLES, TERMS)
def test_a_saved_taxonomy_judges_as_before(examples: dict[str, list[dict[str, int]]], terms: dict[str, int]) -> None:
    taxonomy = taxonomy_of(examples, smoothing=0.5)
    plain = json.loads(json.dumps(taxonomy.to_plain()))
    loaded = Taxonomy.from_plain(plain)
    assert loaded.to_plain() == plain
    assert (loaded.probabilities(page(**terms)) == taxonomy.probabilities(page(**terms))).all()


@pytest.mark.parametrize(
    ("examples", "says"),
    [
        ({}, "2 to"),
        ({"bees": [{"bee": 1}]}, "2 to"),
        ({"bees": [{"bee": 1}], "ships": []}, "'ships'"),
        ({"bees": [{"bee": 1}], "ships": [{}]}, "'ships'"),
    ],
)
def test_topics_that_cannot_be_learnt_are_told(examples: dict[str, list[dict[str, int]]], says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        taxonomy_of(examples)


def test_a_topic_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(RecipeError, match="bees, ships, cakes"):
        taxonomy_of(THREE).relevance_model("trains")


def test_one_page_of_a_topic_cannot_be_learnt_and_tried() -> None:
    with pytest.raises(RecipeError, match="'two'"):
        Taxonomy.recall_by_topic({"one": [page(bee=1), page(bee=2)], "two": [page(ship=1)]})


PLAIN: dict[str, JsonValue] = taxonomy_of({"bees": [{"bee": 1}], "ships": [{"ship": 2}]}).to_plain()
BEES = PLAIN["topics"]["bees"]


def with_bees(**changes: JsonValue) -> JsonValue:
    return {**PLAIN, "topics": {**PLAIN["topics"], "bees": {**BEES, **changes}}}


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {},
        {**PLAIN, "kind": "pickled"},
        {**PLAIN, "smoothing": 0.0},
        {**PLAIN, "smoothing": float("nan")},
        {**PLAIN, "smoothing": "1"},
        {**PLAIN, "codes": []},
        {**PLAIN, "codes": [3, 2]},
        {**PLAIN, "codes": [-1, 2]},
        {**PLAIN, "codes": [1, 1 << 64]},
        {**PLAIN, "codes": [1.5, 2]},
        {**PLAIN, "codes": list(range(module.MAX_TERMS + 1))},
        {**PLAIN, "topics": {"bees": BEES}},
        {**PLAIN, "topics": {f"{n}": BEES for n in range(module.MAX_TOPICS + 1)}},
        {**PLAIN, "topics": [BEES, BEES]},
        {**PLAIN, "topics": {"bees": BEES, "ships": None}},
        with_bees(words=[2]),
        with_bees(words=[-1]),
        with_bees(words=[0, 1]),
        with_bees(words="0"),
        with_bees(counts=[0]),
        with_bees(counts=[1 << 62]),
        with_bees(counts=[True]),
        with_bees(pages=0),
        with_bees(pages=None),
    ],
)
def test_what_is_no_taxonomy_is_refused_with_its_name(plain: JsonValue) -> None:
    with pytest.raises(CollectionError, match="cannot use my topics: "):
        Taxonomy.from_plain(plain, source="my topics")
