"""Predicates put together from models, rules and patterns, and as a recipe writes them."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading import page_of_text
from lycosa.recipe import load_recipe, recipe_of
from lycosa.relevance import All, Either, Not, UrlPattern
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import Page, Url

SHARES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5)


def page(url: str = "http://site.example/wiki/bees?x=1", text: str = "honey bees in the hive") -> Page:
    return page_of_text(Url(url), "Bees", text)


class Says:
    """Judges every page alike."""

    def __init__(self, value: float):
        self.value = value
        self.asked = 0

    def relevance(self, page: Page) -> float:
        self.asked += 1
        return self.value


@pytest.mark.slow
@given(SHARES)
def test_all_is_the_least_either_the_most_and_not_what_is_missing_to_1(shares: list[float]) -> None:
    parts = [Says(share) for share in shares]
    assert All(parts).relevance(page()) == min(shares)
    assert Either(parts).relevance(page()) == max(shares)
    assert Not(All(parts)).relevance(page()) == 1.0 - min(shares)


@given(SHARES)
def test_not_all_is_either_not(shares: list[float]) -> None:
    parts = [Says(share) for share in shares]
    assert Not(All(parts)).relevance(page()) == Either([Not(part) for part in parts]).relevance(page())


def test_what_can_change_nothing_is_not_asked() -> None:
    last = Says(0.5)
    All([Says(0.0), last]).relevance(page())
    Either([Says(1.0), last]).relevance(page())
    assert last.asked == 0


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*/wiki/*", True),
        ("http://site.example/wiki/bees?x=1", True),
        ("*/wiki", False),  # a pattern is about the whole URL
        ("/wiki/", True),
        ("/^http:.*bees/", True),
        ("/^wiki/", False),
        ("*.example/tag/*", False),
    ],
)
def test_a_url_pattern_is_about_the_whole_url_and_a_regular_expression_is_searched_in_it(
    pattern: str, matches: bool
) -> None:
    assert UrlPattern([pattern]).relevance(page()) == float(matches)
    assert UrlPattern(["no://where", pattern]).relevance(page()) == float(matches)


def predicate(text: str) -> str:
    return f"[topic.predicate]\n{text}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "",
            "topic.predicate: says nothing; write one of topic, keywords, text, url, taxonomy, function, all, any, not",
        ),
        ('url = "*"\nkeywords = ["a"]', "topic.predicate: says both keywords and url; write one of"),
        ('all = [{keywords = ["a"]}, {url = "/(/"}]', "topic.predicate.all[1]: url '/(/' is not a regular expression"),
        ('any = [{not = {url = ""}}]', "topic.predicate.any[0].not: url without a pattern"),
        ('not = {keywords = ["/[/"]}', "topic.predicate.not: keyword /[/ is not a regular expression"),
        (
            'keywords = ["/a{99999999999999999999}/"]',
            "topic.predicate: keyword /a{99999999999999999999}/ is not a regular",
        ),
        ("all = []", "topic.predicate.all: write a list of one or more"),
        ("keywords = 3", "topic.predicate.keywords: write a list"),
        ('colour = "red"', "no key 'colour' in [topic.predicate]; there are topic, keywords, need, text, url"),
        ('not = {colour = "red"}', "no key 'colour' in [topic.predicate.not]; there are topic, keywords"),
        ("topic = false", "topic.predicate: topic = false says nothing; write { not = { topic = true } }"),
        ('url = "*"\nneed = "all"', "topic.predicate: need applies to keywords only"),
        ('taxonomy = "x"', "topic.predicate: taxonomy and about go together"),
        ('topic = true\nabout = "x"', "topic.predicate: taxonomy and about go together"),
    ],
)
def test_a_predicate_that_makes_no_sense_is_refused_with_the_file_and_the_key(text: str, complaint: str) -> None:
    with pytest.raises(RecipeError) as refused:
        recipe_of(tomllib.loads(predicate(text)), "lycosa.toml")
    assert str(refused.value).startswith(f"lycosa.toml: {complaint}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("depth", "complaint"), [(30, "more than 20 predicates within one another"), (2_000, "deep")])
def test_a_predicate_that_is_too_deep_is_refused(tmp_path: Path, depth: int, complaint: str) -> None:
    (tmp_path / "lycosa.toml").write_text(predicate("not = " + "{not = " * depth + '{url = "*"}' + "}" * depth))
    with pytest.raises(RecipeError, match=complaint):
        load_recipe(tmp_path)


def test_a_predicate_that_is_too_deep_by_dotted_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lycosa.toml").write_text("topic = {predicate." + "not." * 5_000 + 'url = "*"}')
    with pytest.raises(RecipeError, match="deep"):
        load_recipe(tmp_path)


def test_a_function_is_not_loaded_by_reading_the_recipe() -> None:
    recipe = recipe_of(tomllib.loads(predicate('function = "no_such_module_here:judge"')), "lycosa.toml")
    assert recipe.topic.predicate is not None and recipe.topic.predicate.runs_code
