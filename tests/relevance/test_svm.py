import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import LinearModel, train
from lycosa.relevance.svm import MAX_TERMS
from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import RELEVANT, JsonValue, Page, Url
from pages import page_of_terms
from relevance.topical_web import TopicalWeb

WEBKB = Path(__file__).parents[3] / "shared/data/pages/webkb-4universities-html.tar.xz"
WORDS = st.sampled_from(["spider", "web", "silk", "ship", "sail", "cake"])
TERMS = st.dictionaries(WORDS, st.integers(1, 2000), min_size=1)


def page(**terms: int) -> Page:
    return page_of_terms(terms)


def share_relevant(model: LinearModel, pages: list[Page]) -> float:
    return sum(model.relevance(one) >= RELEVANT for one in pages) / len(pages)


@pytest.mark.parametrize(("good", "bad"), [(20, 60), (3, 10), (2, 2)])
def test_unseen_pages_of_a_made_up_web_are_told_apart(good: int, bad: int) -> None:
    web = TopicalWeb(seed=good)
    model = train(web.on_topic(good), web.off_topic(bad))
    assert share_relevant(model, web.on_topic(100)) >= 0.97
    assert share_relevant(model, web.off_topic(200)) <= 0.03


def test_two_known_words_do_not_decide_a_page_of_new_ones() -> None:
    model = train([page(spider=5, web=3), page(spider=2, silk=1)], [page(ship=5, sail=3), page(ship=2, tar=1)])
    short, long = page(spider=1, web=1), page(spider=1, web=1, **{f"new{number}": 1 for number in range(300)})
    assert model.relevance(short) > 0.9
    assert abs(model.distance(long.terms)) < 0.3 * model.distance(short.terms)


def test_a_page_without_words_can_be_judged() -> None:
    assert 0.0 < train([page(spider=1)], [page(ship=1)]).relevance(page()) < 1.0


@pytest.mark.slow
@given(st.lists(TERMS, min_size=1, max_size=4), st.lists(TERMS, min_size=1, max_size=4), TERMS)
def test_a_saved_model_judges_as_before(
    good: list[dict[str, int]], bad: list[dict[str, int]], terms: JsonValue
) -> None:
    model = train(good, bad, seed=3)
    plain = json.loads(json.dumps(model.to_plain()))
    loaded = LinearModel.from_plain(plain)
    assert loaded.relevance(page(**terms)) == model.relevance(page(**terms))
    assert loaded.to_plain() == plain == train(good, bad, seed=3).to_plain()


def test_examples_without_words_are_told() -> None:
    with pytest.raises(RecipeError, match="no good example"):
        train([page()], [page(ship=1)])
    with pytest.raises(RecipeError, match="no bad example"):
        train([page(spider=1)], [])


PLAIN: dict[str, JsonValue] = train([page(spider=1)], [page(ship=1)]).to_plain()


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {},
        {**PLAIN, "kind": "pickled"},
        {**PLAIN, "bias": float("nan")},
        {**PLAIN, "bias": "0"},
        {**PLAIN, "bias": 10**400},
        {**PLAIN, "idf_of_new": 1e300},
        {**PLAIN, "idf_of_new": 0.0},
        {**PLAIN, "terms": {"spider": [0.0, 1.0]}},
        {**PLAIN, "terms": {"spider": [1e-200, 1.0]}},
        {**PLAIN, "terms": []},
        {**PLAIN, "terms": {"spider": 1.0}},
        {**PLAIN, "terms": {"spider": [1.0]}},
        {**PLAIN, "terms": {"spider": [1.0, None]}},
        {**PLAIN, "terms": {"spider": [1.0, float("inf")]}},
        {**PLAIN, "terms": {"spider": [True, 1.0]}},
        {**PLAIN, "terms": {"x" * 1000: [1.0, 1.0]}},
    ],
)
def test_a_model_that_cannot_be_is_refused_by_name(plain: JsonValue) -> None:
    _assert_is_refused(plain)


def test_a_model_of_too_many_words_is_refused_by_name() -> None:
    _assert_is_refused({**PLAIN, "terms": {str(number): [1.0, 1.0] for number in range(MAX_TERMS + 1)}})


def _assert_is_refused(plain: JsonValue) -> None:
    with pytest.raises(CollectionError, match=r"model\.json") as told:
        LinearModel.from_plain(plain, source="model.json")
    assert "\n" not in str(told.value)


@pytest.mark.slow
@pytest.mark.skipif(not WEBKB.exists(), reason="the WebKB pages are not on this machine")
def test_course_pages_of_universities_are_told_from_others() -> None:
    from lycosa.reading import page_of_html  # the folders are kept apart only where they are built

    pages: dict[bool, list[Page]] = {True: [], False: []}
    with tarfile.open(WEBKB) as archive:
        for number, member in enumerate(archive):
            if not member.isfile() or number % 8:
                continue
            file = archive.extractfile(member)
            assert file is not None
            html = file.read(50_000).decode("latin-1").partition("\n\n")[2]
            one = page_of_html(Url("http://site.example/"), html)
            if one.terms:
                pages[member.name.startswith("webkb/course/")].append(one)
    courses, others = pages[True], pages[False][::3]
    model = train(courses[:30], others[:90])
    found, wrong = share_relevant(model, courses[30:]), share_relevant(model, others[90:])
    assert found >= 0.7 and wrong <= 0.2


def test_what_the_words_of_a_page_add_is_its_distance_without_the_bias():
    model = LinearModel({"bee": (1.5, 2.0), "ship": (1.0, -1.0)}, bias=0.3, idf_of_new=3.0)
    terms = {"bee": 3, "ship": 1, "unheard": 2}
    parts = model.contributions(terms)
    assert parts.keys() == {"bee", "ship"} and parts["bee"] > 0 > parts["ship"]
    assert sum(parts.values()) + 0.3 == pytest.approx(model.distance(terms))
    assert model.contributions({}) == {}
