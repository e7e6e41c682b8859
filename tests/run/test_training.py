"""The two models of a crawl: learnt from a rule, a file or examples, and learnt again as the collection grows."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawling import collection, listing, rows, site
from lycosa.recipe import StandingSource, load_recipe
from lycosa.relevance.predicates import Predicate
from lycosa.run.session import Session
from lycosa.run.topic import MODEL_FILE
from lycosa.run.training import STANDING_FILE, StandingTrainer, TopicTrainer
from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.records import Page, Url
from sessions import crawl, opened
from worlds import TOPICAL, TOPICAL_SEED, topic_of

GOOD = [url for url in TOPICAL if topic_of(url) == "bees"][:6]
BAD = [url for url in TOPICAL if topic_of(url) == "ships"][:6]
HONEY = site("honey.example", leaves=119)  # a hundred and twenty pages


@pytest.fixture
def crawled(tmp_path: Path) -> Path:
    """Twenty pages, judged by words."""
    folder = collection(tmp_path / "bees", [TOPICAL_SEED], topic='keywords = ["hive"]')
    crawl(folder, TOPICAL, 20, strategy="best-first")
    listing(folder / "good.txt", GOOD)
    listing(folder / "bad.txt", BAD)
    return folder


def by_examples(folder: Path, **more: str) -> dict[str, object]:
    return {"topic": replace(load_recipe(folder).topic, keywords=(), examples="good.txt", **more)}


def learnt(session: Session) -> tuple[TopicTrainer, int]:
    """A trainer that has learnt, and how often it asked for example pages."""
    trainer, asked = TopicTrainer(session), 0

    async def fetch_examples() -> None:
        nonlocal asked
        asked += 1

    asyncio.run(trainer.learn(fetch_examples))
    return trainer, asked


def page_in(session: Session, url: Url) -> Page:
    page = session.page(url)
    assert page is not None
    return page


def good_page(session: Session) -> Page:
    return page_in(session, next(url for url in GOOD if session.page(url)))


def relevances(folder: Path) -> list[float | None]:
    return [value for (value,) in rows(folder, "SELECT relevance FROM pages ORDER BY number")]


# Relevance


def test_a_rule_judges_without_examples_or_a_model(crawled: Path) -> None:
    with opened(crawled) as session:
        trainer, asked = learnt(session)
        assert asked == 0
        assert trainer.relevance(good_page(session)) in (0.0, 1.0)
    assert not (crawled / MODEL_FILE).exists()


def test_examples_are_fetched_and_learnt_from_once(crawled: Path) -> None:
    told: list[str] = []
    with opened(crawled, tell=told.append, **by_examples(crawled, negatives="bad.txt")) as session:
        trainer, asked = learnt(session)
        judged = trainer.relevance(good_page(session))
        assert (asked, judged > 0.5) == (1, True)
        assert told == ["the examples have changed: judging 20 pages anew"]
    with opened(crawled, **by_examples(crawled, negatives="bad.txt")) as session:
        trainer, asked = learnt(session)
        assert (asked, trainer.relevance(good_page(session))) == (0, judged), "by the model that was saved"


def test_other_examples_make_another_model(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled)) as session:
        learnt(session)
    before = relevances(crawled)
    listing(crawled / "good.txt", BAD)
    with opened(crawled, **by_examples(crawled)) as session:
        assert learnt(session)[1] == 1
    assert relevances(crawled) != before


def test_without_negatives_it_is_told_what_stands_for_them(crawled: Path) -> None:
    told: list[str] = []
    with opened(crawled, tell=told.append, **by_examples(crawled)) as session:
        learnt(session)
    assert told[0].startswith("no negatives given: a built-in background stands for them, and at 100, 300")


def test_whoever_interrupts_leaves_no_model_behind(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled)) as session:
        session.status.interrupt()
        learnt(session)
    assert not (crawled / MODEL_FILE).exists()


def test_another_predicate_judges_every_page_anew_and_the_same_one_does_not(crawled: Path) -> None:
    told: list[str] = []
    predicate = Predicate(keywords=("mast",))
    topic = replace(load_recipe(crawled).topic, predicate=predicate)
    for _ in range(2):
        with opened(crawled, tell=told.append, topic=topic) as session:
            learnt(session)
    assert told == ["the predicate has changed: judging 20 pages anew"]
    with opened(crawled, topic=topic) as session:
        for row in session.collection.catalog.pages():
            assert row.relevance == float("mast" in page_in(session, row.url).terms)


@pytest.mark.parametrize("topic", [{"keywords": (), "text": "hives of bees"}, {"keywords": (), "examples": "good.txt"}])
def test_pages_judged_by_whole_words_are_judged_anew_by_stems(crawled: Path, topic: dict[str, object]) -> None:
    told: list[str] = []
    by_words = replace(load_recipe(crawled).topic, stem=False, **topic)
    for used in (by_words, replace(by_words, stem=True), replace(by_words, stem=True)):
        with opened(crawled, tell=told.append, topic=used) as session:
            trainer, _ = learnt(session)
            assert relevances(crawled) == [
                trainer.relevance(page_in(session, row.url)) for row in session.collection.catalog.pages()
            ]
    assert [line for line in told if "anew" in line] == [
        "words are now compared as they are written: judging 20 pages anew",
        "words are now compared by their stems: judging 20 pages anew",
    ]


def test_pages_that_were_imported_unjudged_are_judged_by_the_next_crawl(crawled: Path) -> None:
    with opened(crawled) as session:
        session.collection.catalog.connection.execute("UPDATE pages SET relevance = NULL WHERE number < 4")
    told: list[str] = []
    with opened(crawled, tell=told.append) as session:
        learnt(session)
    assert told == ["some pages were imported: judging 20 pages anew"]
    assert None not in relevances(crawled)


def test_the_judge_at_hand_needs_neither_a_fetch_nor_the_users_code(crawled: Path) -> None:
    with opened(crawled) as session:
        assert TopicTrainer(session).judge_at_hand() is not None
    with opened(crawled, topic=replace(load_recipe(crawled).topic, function="no.such:thing")) as session:
        assert TopicTrainer(session).judge_at_hand() is None
    with opened(crawled, **by_examples(crawled)) as session:
        assert TopicTrainer(session).judge_at_hand() is None, "nothing was learnt yet"
        learnt(session)
        assert TopicTrainer(session).judge_at_hand() is not None


@pytest.fixture
def honey(tmp_path: Path) -> Path:
    """Ninety-nine pages, with examples and no negatives."""
    seeds = list(HONEY)
    folder = collection(tmp_path / "honey", seeds[:1], topic='examples = "good.txt"')
    listing(folder / "good.txt", ["honey bees in their hive", *seeds[1:4]])
    crawl(folder, HONEY, 99, strategy="breadth-first")
    return folder


def test_with_a_hundred_pages_a_model_without_negatives_is_trained_again(honey: Path) -> None:
    told: list[str] = []
    first = (honey / MODEL_FILE).read_bytes()
    with opened(honey, tell=told.append) as session:
        trainer, _ = learnt(session)
        trainer.train_if_due()
        assert (session.topic.rounds, told) == (0, [])
    crawl(honey, HONEY, 104, strategy="breadth-first", tell=told.append)
    assert told == ["100 pages are there to learn from: judging 100 pages anew"]
    assert (honey / MODEL_FILE).read_bytes() != first
    with opened(honey, tell=told.append) as session:
        trainer, _ = learnt(session)
        trainer.train_if_due()
        assert (session.topic.rounds, len(told)) == (1, 1), "once"


def test_a_model_with_negatives_of_the_users_own_is_not_trained_again(honey: Path) -> None:
    listing(honey / "bad.txt", ["ships and their masts at sea"])
    topic = replace(load_recipe(honey).topic, negatives="bad.txt")
    crawl(honey, HONEY, 99, strategy="breadth-first", topic=topic)
    told: list[str] = []
    crawl(honey, HONEY, 104, strategy="breadth-first", topic=topic, tell=told.append)
    assert told == []


def test_training_again_judges_all_pages_by_the_new_model(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled, negatives="bad.txt")) as session:
        trainer, _ = learnt(session)
        trainer.train_again("a test asks for it")
        judged = [trainer.relevance(page_in(session, row.url)) for row in session.collection.catalog.pages()]
    assert relevances(crawled) == judged


# Standing


def standings(folder: Path) -> list[float | None]:
    return [value for (value,) in rows(folder, "SELECT standing FROM pages ORDER BY number")]


def test_without_in_links_the_model_that_comes_with_it_is_used_and_told_of(crawled: Path) -> None:
    told: list[str] = []
    assert set(standings(crawled)) == {None}
    with opened(crawled, tell=told.append) as session:
        trainer = StandingTrainer(session)
        trainer.judge_anew()
        assert told == [], "there is no model to judge by"
        trainer.learn()
        trainer.judge_anew()
        expected = [trainer.standing(page_in(session, row.url)) for row in session.collection.catalog.pages()]
    assert told[0].startswith("no in-links are given")
    assert told[1:] == ["how much pages matter is known better: judging 20 pages anew"]
    assert standings(crawled) == expected
    assert (crawled / STANDING_FILE).exists()


def test_a_model_of_standing_is_learnt_once_from_the_same_tables(crawled: Path) -> None:
    listing(crawled / "links.csv", [f"{url},{number}" for number, url in enumerate(TOPICAL)])
    source = StandingSource(in_links="links.csv")
    told: list[str] = []
    for _ in range(2):
        with opened(crawled, tell=told.append, standing=source, **by_examples(crawled)) as session:
            trainer = StandingTrainer(session)
            trainer.check()
            trainer.learn()
            trainer.judge_anew()
    judged = [line for line in told if "judging" in line]
    assert len(judged) == 1
    listing(crawled / "links.csv", [f"{url},{number % 3}" for number, url in enumerate(TOPICAL)])
    with opened(crawled, tell=told.append, standing=source, **by_examples(crawled)) as session:
        trainer = StandingTrainer(session)
        trainer.learn()
        trainer.judge_anew()
    assert len([line for line in told if "judging" in line]) == 2, "the table is another one"


def test_theta_of_the_recipe_is_kept_to(crawled: Path) -> None:
    with opened(crawled, standing=StandingSource(theta=2.5)) as session:
        trainer = StandingTrainer(session)
        trainer.learn()
        assert trainer.model is not None and trainer.model.theta == 2.5


def test_a_table_that_cannot_be_read_is_refused_before_anything_is_fetched(crawled: Path) -> None:
    with (
        opened(crawled, standing=StandingSource(in_links="none.csv")) as session,
        pytest.raises(LycosaError, match=r"none\.csv"),
    ):
        StandingTrainer(session).check()


def test_a_damaged_model_of_standing_is_told(crawled: Path) -> None:
    (crawled / STANDING_FILE).write_text("{")
    with opened(crawled) as session, pytest.raises(CollectionError, match="delete it to have it learnt again"):
        StandingTrainer(session).learn()


def test_with_a_hundred_pages_standing_is_learnt_anew(honey: Path) -> None:
    told: list[str] = []
    crawl(honey, HONEY, 99, strategy="adaptive")
    crawl(honey, HONEY, 104, strategy="adaptive", tell=told.append)
    assert "how much pages matter is known better: judging 100 pages anew" in told
    assert None not in standings(honey)
