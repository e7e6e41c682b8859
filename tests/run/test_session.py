"""A collection opened for writing: caught up with its archive, its strategy and frontier as they were."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from threadpoolctl import threadpool_info, threadpool_limits

from lycosa.recipe import Recipe
from lycosa.run.session import Session
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Url
from sessions import NOW, opened
from worlds import TOPICAL_SEED

BEES = Url("http://bees.example/0")


def test_a_new_collection_opens_empty_and_stays_open_to_one_session(bees: Path) -> None:
    with opened(bees) as session:
        assert (session.status.pages, len(session.frontier), session.collection.catalog.runs()) == (0, 0, [])
        with pytest.raises(CollectionError), opened(bees):
            pass


def test_a_crawl_starts_at_the_seeds_or_else_at_the_good_examples(bees: Path) -> None:
    with opened(bees) as session:
        assert session.recipe_seeds() == [TOPICAL_SEED]
    (bees / "good.txt").write_text(f"{BEES}\na text about bees\n")
    (bees / "bad.txt").write_text("http://ships.example/0\n")
    topic = replace(session.recipe.topic, examples="good.txt", negatives="bad.txt")
    with opened(bees, seeds="", topic=topic) as session:
        assert session.recipe_seeds() == [BEES]
    with opened(bees, seeds="", topic=replace(topic, keywords=("bee",))) as session:
        assert session.recipe_seeds() == [BEES], "a rule decides the topic, and examples are seeds"


def test_a_session_of_a_folder_without_an_archive_starts_one(tmp_path: Path) -> None:
    with Session(tmp_path, Recipe(), clock=SimulatedClock(NOW)) as session:
        session.frontier.put([Candidate(BEES, 0.5)])
    with Session(tmp_path, Recipe(), clock=SimulatedClock(NOW)) as session:
        assert session.frontier.is_known(BEES)


def test_nothing_stays_open_of_a_session_that_cannot_be_opened(bees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Session] = []

    def failing(session: Session) -> None:
        begun.append(session)
        assert session.pages.words.terms(BEES, NOW) is None
        raise RuntimeError

    monkeypatch.setattr(Session, "_catch_up", failing)
    with pytest.raises(RuntimeError), opened(bees):
        pass
    assert begun[0].pages.words._connection is None


def test_matrices_are_multiplied_by_one_thread_while_a_collection_is_open_and_by_as_many_as_before_afterwards(
    bees: Path,
) -> None:
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        with opened(bees):
            assert threads() == {1}
        assert threads() == {2}
        with pytest.raises(RuntimeError), opened(bees):
            raise RuntimeError
        assert threads() == {2}
