import pytest

from lycosa.reading import page_of_text
from lycosa.relevance import Keywords
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import Page, Url


def page(text: str) -> Page:
    return page_of_text(Url("http://site.example/"), "A title", text)


@pytest.mark.parametrize(
    ("rules", "text", "relevance"),
    [
        (["spider"], "the Spider runs", 1.0),
        (["spider"], "the spiders run", 0.0),
        (["Wolf  Spider"], "a wolf and a wolf spider", 1.0),
        (["wolf spider"], "a spider and a wolf", 0.0),
        (["/spiders?\\b/"], "the spiders run", 1.0),
        (["/^a title$/"], "anything", 1.0),
        (["ship", "spider"], "a spider", 1.0),
        (["養蜂家"], "彼は養蜂家です", 1.0),
        (["養蜂家"], "養蜂は家で", 0.0),
        (["蜂"], "彼は養蜂家です", 1.0),
        (["ミツバチ"], "ミツバチ の 巣", 1.0),
        (["น้ำผึ้ง"], "กินน้ำผึ้งดี", 1.0),
        (["मधुमक्खी"], "यह मधुमक्खी है", 1.0),
        (["نَحْل"], "نَحْل", 1.0),
        (["wolf spider"], "werewolf spiders", 0.0),
    ],
)
def test_a_word_a_phrase_or_a_pattern_makes_a_page_relevant(rules: list[str], text: str, relevance: float) -> None:
    assert Keywords(rules).relevance(page(text)) == relevance


def test_all_or_a_share_of_the_rules_can_be_asked_for() -> None:
    rules = ["spider", "web", "silk"]
    assert Keywords(rules, need="all").relevance(page("spider web")) == 0.0
    assert Keywords(rules, need="all").relevance(page("silk of a spider in a web")) == 1.0
    assert Keywords(rules, need="share").relevance(page("spider web")) == pytest.approx(2 / 3)


@pytest.mark.parametrize("rules", [[], ["  "], ["!"], ["/(unclosed/"]])
def test_a_bad_rule_is_told(rules: list[str]) -> None:
    with pytest.raises(RecipeError, match="keyword"):
        Keywords(rules)


def test_an_unknown_need_is_told() -> None:
    with pytest.raises(RecipeError, match="'most'"):
        Keywords(["spider"], need="most")  # type: ignore[arg-type]  # what a recipe may say
