"""The model of standing: trained on tables or built in, and trained again as the collection grows."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from crawling import collection, copied, listing, rows, site
from lycosa.recipe import StandingSource, Topic
from lycosa.run.removal import STANDING_FILE
from lycosa.run.standing_training import StandingTrainer
from lycosa.vocabulary.errors import LycosaError
from sessions import crawl, opened
from worlds import TOPICAL, TOPICAL_SEED, topic_of

BY_EXAMPLES = {"topic": Topic(examples="good.txt")}
HONEY = site("honey.example", leaves=119)  # a hundred and twenty pages


@pytest.fixture(scope="module")
def crawled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("standing") / "bees", [TOPICAL_SEED], topic='keywords = ["hive"]')
    crawl(folder, TOPICAL, 20, strategy="best-first")
    listing(folder / "good.txt", [url for url in TOPICAL if topic_of(url) == "bees"][:6])
    return folder


@pytest.fixture
def crawled(crawled_once: Path, tmp_path: Path) -> Path:
    """Twenty pages, scored by keywords."""
    return copied(crawled_once, tmp_path / "bees")


def standings(folder: Path) -> list[float | None]:
    return [value for (value,) in rows(folder, "SELECT standing FROM pages ORDER BY number")]


def test_without_in_links_the_model_that_comes_with_it_is_used_and_told_of(crawled: Path) -> None:
    messages: list[str] = []
    assert set(standings(crawled)) == {None}
    with opened(crawled, notify=messages.append) as session:
        trainer = StandingTrainer(session)
        trainer.rescore_pages()
        assert messages == [], "there is no model to judge by"
        trainer.learn()
        trainer.rescore_pages()
        archived = [session.pages.page(row.url) for row in session.collection.catalog.pages()]
        expected = [trainer.standing(page) for page in archived if page is not None]
    assert messages[0].startswith("No link data given")
    assert messages[1:] == ["Importance model updated: re-scoring 20 pages."]
    assert standings(crawled) == expected
    assert (crawled / STANDING_FILE).exists()


def test_a_model_of_standing_is_learnt_once_from_the_same_tables(crawled: Path) -> None:
    listing(crawled / "links.csv", [f"{url},{number}" for number, url in enumerate(TOPICAL)])
    source = StandingSource(in_links="links.csv")
    messages: list[str] = []
    for _ in range(2):
        with opened(crawled, notify=messages.append, standing=source, **BY_EXAMPLES) as session:
            trainer = StandingTrainer(session)
            trainer.check()
            trainer.learn()
            trainer.rescore_pages()
    judged = [line for line in messages if "re-scoring" in line]
    assert len(judged) == 1
    listing(crawled / "links.csv", [f"{url},{number % 3}" for number, url in enumerate(TOPICAL)])
    with opened(crawled, notify=messages.append, standing=source, **BY_EXAMPLES) as session:
        trainer = StandingTrainer(session)
        trainer.learn()
        trainer.rescore_pages()
    assert len([line for line in messages if "re-scoring" in line]) == 2, "the table is another one"


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


@pytest.mark.parametrize("damage", ["{", "[]", "[" * 100_000, '"theta":1e300', '"neutral":null'])
def test_a_damaged_model_of_standing_is_trained_again(crawled: Path, damage: str) -> None:
    with opened(crawled) as session:
        trainer = StandingTrainer(session)
        trainer.learn()
        trainer.rescore_pages()
    saved = (crawled / STANDING_FILE).read_text()
    key = damage.partition(":")[0]
    (crawled / STANDING_FILE).write_text(re.sub(rf"{key}:[^,]*", damage, saved) if '":' in damage else damage)
    told: list[str] = []
    with opened(crawled, notify=told.append) as session:
        trainer = StandingTrainer(session)
        trainer.learn()
        trainer.rescore_pages()
    assert len([line for line in told if "is trained again" in line]) == 1
    assert (crawled / STANDING_FILE).read_text() == saved


def test_a_model_of_standing_that_could_not_be_read_again_is_not_saved(crawled: Path) -> None:
    told: list[str] = []
    with opened(crawled, notify=told.append) as session:
        trainer = StandingTrainer(session)
        trainer.learn()
        assert trainer.model is not None
        trainer.model = replace(trainer.model, theta=float("nan"))
        trainer.rescore_pages()
    assert not (crawled / STANDING_FILE).exists()
    assert any("not saved" in line for line in told)


@pytest.mark.slow
def test_with_a_hundred_pages_standing_is_learnt_anew(tmp_path: Path) -> None:
    messages: list[str] = []
    honey = collection(tmp_path / "honey", [next(iter(HONEY))], topic='examples = "good.txt"')
    listing(honey / "good.txt", ["honey bees in their hive", *list(HONEY)[1:4]])
    crawl(honey, HONEY, 99, strategy="adaptive")
    crawl(honey, HONEY, 104, strategy="adaptive", notify=messages.append)
    assert "Importance model updated: re-scoring 100 pages." in messages
    assert None not in standings(honey)
