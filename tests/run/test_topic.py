"""From what a user says of a topic to a judge: labels, examples, and which of several ways decides."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from crawling import listing
from lycosa.reading import Reader, page_of_text
from lycosa.recipe import Topic
from lycosa.relevance.predicates import Keywords, Predicate
from lycosa.relevance.svm import LinearModel
from lycosa.run.forgotten import add_forgotten
from lycosa.run.topic import (
    LABELS_FILE,
    MODEL_FILE,
    TopicJudge,
    add_labels,
    example_warnings,
    examples_of,
    forget_labels,
    is_rule,
    read_labels,
)
from lycosa.vocabulary.errors import LycosaError, RecipeError, UsageError
from lycosa.vocabulary.records import Page, Url

HIVE, WAX, SHIP = Url("http://bees.example/hive"), Url("http://bees.example/wax"), Url("http://ships.example/")
BY_EXAMPLES = Topic(examples="good.txt", negatives="bad.txt")


def page(text: str) -> Page:
    return page_of_text(Url("http://a.example/"), "", text)


TEXTS = {HIVE: page("bees in their hive with honey"), WAX: page("wax of bees"), SHIP: page("a ship under sail")}


def terms_of(url: Url) -> Mapping[str, int] | None:
    return TEXTS[url].terms if url in TEXTS else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    listing(tmp_path / "good.txt", [HIVE, "a text about bees"])
    listing(tmp_path / "bad.txt", [SHIP])
    return tmp_path


def judge_of(topic: Topic, folder: Path) -> TopicJudge:
    return TopicJudge(topic, folder, Reader())


# Labels


def test_the_last_label_of_a_url_counts(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == {}
    for url, good in ((HIVE, True), (SHIP, False), (HIVE, False)):
        add_labels(tmp_path, {url: good})
    assert read_labels(tmp_path) == {HIVE: False, SHIP: False}


def test_a_label_that_the_user_wrote_counts_for_the_page_of_that_address(tmp_path: Path) -> None:
    (tmp_path / LABELS_FILE).write_text("good HTTP://A.example:80#top\nbad http://b.example/%7Ebees\n")
    assert read_labels(tmp_path) == {"http://a.example/": True, "http://b.example/~bees": False}


def test_a_forgotten_label_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    for url in (HIVE, SHIP, HIVE):
        add_labels(tmp_path, {url: True})
    before = (tmp_path / LABELS_FILE).read_bytes()
    forget_labels(tmp_path, lambda url: url == WAX)
    assert (tmp_path / LABELS_FILE).read_bytes() == before
    forget_labels(tmp_path, lambda url: url == HIVE)
    assert (tmp_path / LABELS_FILE).read_text() == f"good {SHIP}\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"good http://a.example/\nfine http://b.example/\n", ":2: write"), (b"bad\n", ":1: write"), (b"\xff", "UTF-8")],
)
def test_a_file_of_labels_that_makes_no_sense_is_told_by_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / LABELS_FILE).write_bytes(content)
    with pytest.raises(RecipeError, match=complaint):
        read_labels(tmp_path)


# Examples


def test_labels_overrule_the_examples_of_the_recipe(folder: Path) -> None:
    assert examples_of(BY_EXAMPLES, folder).urls == {HIVE: True, SHIP: False}
    add_labels(folder, {HIVE: False})
    add_labels(folder, {WAX: True})
    assert examples_of(BY_EXAMPLES, folder).urls == {HIVE: False, WAX: True, SHIP: False}


def test_what_was_forgotten_is_no_example_any_more(folder: Path) -> None:
    add_forgotten(folder, "ships.example")
    add_forgotten(folder, HIVE)
    examples = examples_of(BY_EXAMPLES, folder)
    assert examples.urls == {}
    assert [example.kind for example in examples.good] == ["text"]
    assert examples.negatives_given, "the recipe names them all the same"


def test_examples_are_the_same_wherever_the_collection_lies_and_others_once_one_is_labelled(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for place in (folder, elsewhere := tmp_path_factory.mktemp("elsewhere")):
        (place / "hive.html").write_text("<title>Hive</title>")
        listing(place / "good.txt", [HIVE, "hive.html"])
        listing(place / "bad.txt", [SHIP])
    digest = examples_of(BY_EXAMPLES, folder).digest
    assert examples_of(BY_EXAMPLES, elsewhere).digest == digest
    add_labels(elsewhere, {WAX: True})
    assert examples_of(BY_EXAMPLES, elsewhere).digest != digest


# Ways to name a topic


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (Topic(text="bees"), False),
        (Topic(examples="good.txt", text="bees"), False),
        (Topic(keywords=("hive",), examples="good.txt"), True),
        (Topic(function="a:b"), True),
        (Topic(predicate=Predicate(url="*/wiki/*")), True),
        (Topic(predicate=Predicate(topic=True), examples="good.txt"), False),
    ],
)
def test_a_rule_is_what_learns_nothing_from_examples(topic: Topic, expected: bool) -> None:
    assert is_rule(topic) is expected


def test_of_several_ways_the_first_decides(folder: Path) -> None:
    assert isinstance(judge_of(Topic(keywords=("hive",), text="bees"), folder).judge(None), Keywords)
    assert not judge_of(Topic(keywords=("hive",), text="bees"), folder).learns
    assert judge_of(Topic(text="bees"), folder).learns
    model = Keywords(["stands for a model"])
    assert judge_of(BY_EXAMPLES, folder).judge(model) is model
    with pytest.raises(UsageError, match="names no topic"):
        judge_of(Topic(), folder).judge(None)


def test_code_of_the_user_is_not_run_where_it_may_not_be(folder: Path) -> None:
    judge = judge_of(Topic(function="no.such:thing"), folder)
    assert judge.runs_code
    assert judge.untrained(may_run_code=False) is None
    with pytest.raises(LycosaError, match=r"no\.such"):
        judge.untrained(may_run_code=True)


def test_a_predicate_that_cannot_judge_is_refused_before_anything_is_fetched(folder: Path) -> None:
    with pytest.raises(LycosaError, match=r"topic\.predicate"):
        judge_of(Topic(predicate=Predicate(function="no.such:thing")), folder).check()
    with pytest.raises(LycosaError, match="cannot read the taxonomy"):
        judge_of(Topic(predicate=Predicate(taxonomy="topics", about="x")), folder).check()
    judge_of(replace(BY_EXAMPLES, predicate=Predicate(topic=True)), folder).check()


def test_a_taxonomy_judges_whole_words_whether_or_not_terms_are_stems(folder: Path) -> None:
    for topic, text in {"bees": "hives of bees", "ships": "ships under sails"}.items():
        (folder / "topics" / topic).mkdir(parents=True)
        (folder / "topics" / topic / "1.txt").write_text(text)
    judge = judge_of(Topic(predicate=Predicate(taxonomy="topics", about="bees")), folder).judge(None)
    whole, stemmed = (page_of_text(HIVE, "", "the hives and the sails of bees", stem=stem) for stem in (False, True))
    assert whole.terms != stemmed.terms
    assert judge.relevance(whole) == judge.relevance(stemmed) > 0.5


# The model of the examples


def test_a_model_is_kept_until_the_examples_are_others(folder: Path) -> None:
    judge = judge_of(BY_EXAMPLES, folder)
    assert judge.load() is None
    model = judge.train(terms_of, [], 0)
    assert model.relevance(TEXTS[HIVE]) > model.relevance(TEXTS[SHIP])
    judge.save(model)
    again = judge_of(BY_EXAMPLES, folder).load()
    assert again is not None and again.relevance(TEXTS[WAX]) == model.relevance(TEXTS[WAX])
    add_labels(folder, {WAX: True})
    assert judge_of(BY_EXAMPLES, folder).load() is None


def test_a_model_of_stems_is_not_taken_for_one_of_words(folder: Path) -> None:
    of_words, of_stems = (replace(BY_EXAMPLES, stem=stem) for stem in (False, True))
    judge = judge_of(of_words, folder)
    judge.save(judge.train(terms_of, [], 0))
    assert judge_of(of_stems, folder).load() is None
    assert judge_of(of_words, folder).load() is not None
    assert msgspec.json.decode((folder / MODEL_FILE).read_bytes())["examples"] == judge.examples.digest, "as ever"


def test_a_model_remembers_how_often_it_was_trained_again(folder: Path) -> None:
    judge = judge_of(Topic(examples="good.txt"), folder)
    assert judge.uses_background_negatives
    judge.save(judge.train(terms_of, [TEXTS[SHIP].terms], 2))
    again = judge_of(Topic(examples="good.txt"), folder)
    assert again.load() is not None and again.rounds == 2


@pytest.mark.parametrize("damage", ["{", "", "[]", "[" * 100_000, '"bias":1e300', '"bias":null', '"kind":"x"'])
def test_a_model_that_cannot_be_read_is_trained_again_and_told_once(folder: Path, damage: str) -> None:
    judge = judge_of(BY_EXAMPLES, folder)
    judge.save(judge.train(terms_of, [], 3))
    saved = (folder / MODEL_FILE).read_text()
    key = damage.partition(":")[0]
    damaged = re.sub(rf"{key}:[^,]*", damage, saved, count=1) if '":' in damage else damage
    assert damaged != saved
    (folder / MODEL_FILE).write_text(damaged)
    told: list[str] = []
    again = TopicJudge(BY_EXAMPLES, folder, Reader(), notify=told.append)
    assert again.load() is None and again.linear_model() is None and not again.has_model
    assert again.rounds == 0
    assert len(told) == 1 and "has to be retrained" in told[0] and "\n" not in told[0]
    again.save(again.train(terms_of, [], 0))
    assert again.has_model and again.load() is not None


@pytest.mark.parametrize("bias", [-2.3e11, float("nan"), float("inf")])
def test_a_model_that_could_not_be_read_again_is_not_saved(folder: Path, bias: float) -> None:
    told: list[str] = []
    judge = TopicJudge(BY_EXAMPLES, folder, Reader(), notify=told.append)
    judge.save(judge.train(terms_of, [], 0))
    judge.save(LinearModel({"bee": (1.0, 1.0)}, bias=bias, idf_of_new=1.0))
    assert not (folder / MODEL_FILE).exists(), "nor is the one before it, which is outdated"
    assert len(told) == 1 and "not saved" in told[0]
    assert judge.load() is None


def test_examples_of_which_none_can_be_read_teach_nothing(folder: Path) -> None:
    assert judge_of(BY_EXAMPLES, folder).train(lambda url: None, [], 0), "a background stands for negatives"
    listing(folder / "good.txt", [HIVE])
    with pytest.raises(LycosaError, match="none of the examples could be read"):
        judge_of(BY_EXAMPLES, folder).train(lambda url: None, [], 0)


def test_examples_are_at_hand_once_every_page_of_them_is(folder: Path) -> None:
    judge = judge_of(BY_EXAMPLES, folder)
    assert judge.are_examples_available(terms_of)
    assert not judge.are_examples_available({HIVE: TEXTS[HIVE].terms}.get)
    assert judge.has_good_page(lambda url: None), "a text needs no fetch"
    listing(folder / "good.txt", [HIVE])
    assert not judge_of(BY_EXAMPLES, folder).has_good_page(lambda url: None)


def test_a_topic_in_words_means_what_its_words_mean_and_not_what_their_stems_do(folder: Path) -> None:
    judge = TopicJudge(Topic(text="diversity"), folder, Reader(stem=True)).train(lambda url: None, [], 0)
    cultures = "people of many races, religions and cultures live together in one city"
    diving = "the scuba gear, the boat and the fins that are needed below the sea"
    of_cultures, of_diving = (judge.relevance(page_of_text(HIVE, "", text, stem=True)) for text in (cultures, diving))
    assert of_cultures > of_diving, "the stem is that of divers"


# ------------------------------------------------------------ examples from which a topic is hard to learn


DIFFERENT = [
    "Bees gather nectar and keep honey in the combs of their hive.",
    "A swarm leaves with the old queen when the colony has grown too large.",
    "Beekeepers look after the health of colonies and fight mites in autumn.",
    "Pollen feeds the brood, and royal jelly feeds the larvae of queens.",
    "Wax is made by glands of young workers, who build new cells with it.",
]


def pages_of(texts, host="a.example"):
    return [page_of_text(f"http://{host}/{number}", "", text, stem=True) for number, text in enumerate(texts)]


def test_five_different_pages_raise_no_doubt():
    assert list(example_warnings(pages_of(DIFFERENT), pages_of(["Ships sail the seas."], "b.example"), topic="")) == []


def test_few_examples_are_told_unless_words_help():
    [line] = example_warnings(pages_of(DIFFERENT[:3]), [], topic="")
    assert line.startswith("only 3 examples: scores are rough")
    assert list(example_warnings(pages_of(DIFFERENT[:3]), [], topic="bees and honey")) == []
    assert list(example_warnings([], [], topic="bees and honey")) == []


def test_the_same_text_called_good_and_bad_is_named():
    [line] = example_warnings(pages_of(DIFFERENT), pages_of(DIFFERENT[3:4], "b.example"), topic="")
    assert "http://a.example/3" in line and "http://b.example/0" in line


def test_examples_in_two_languages_are_counted():
    german = "Die Bienen sammeln Nektar und lagern den Honig in den Waben ihres Stocks, bis der Imker ihn erntet."
    [line] = example_warnings(pages_of([*DIFFERENT, german]), [], topic="")
    assert "5 in en, 1 in de" in line


def test_pages_of_one_template_are_told():
    frame = "home products services imprint contact basket account delivery returns newsletter careers press sitemap "
    [line] = example_warnings(
        pages_of([frame + word for word in ("honey", "hive", "swarm", "queen", "nectar")]), [], topic=""
    )
    assert "as pages of one template do" in line and "--negatives" in line
    several = [pages_of([frame + "honey"], f"{letter}.example")[0] for letter in "abcde"]
    assert list(example_warnings(several, [], topic="")) == []
