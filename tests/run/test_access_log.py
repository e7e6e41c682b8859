"""The log of a run: found again by what the run says of it, and put to use in the strategy."""

from functools import partial
from pathlib import Path

import msgspec
import pytest

from crawling import done
from lycosa.logs import AccessLog
from lycosa.recipe import Logs
from lycosa.run.access_log import LogReference, OpenAccessLog, access_log_of_recipe, access_log_of_run
from lycosa.run.guides import Guide, nested_strategies
from lycosa.strategies import Adaptive, BestFirst, Collaborative, Combined, Guided, Mapped
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url

SQUID = "1700000000.000     45 10.0.0.{} TCP_MISS/200 4321 GET http://a.example/{} - DIRECT/192.0.2.1 text/html\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [SQUID.format(person, page) for person in range(3) for page in range(person, 5)]
    (tmp_path / "access").write_text("".join(lines))
    done("logs", "import", tmp_path / "access", "--into", tmp_path / "readers.log")
    return tmp_path / "readers.log"


def an_open_log() -> OpenAccessLog:
    return OpenAccessLog(LogReference("", None, 1, ""), AccessLog.of([("a", Url("http://a.example/"), 1.0)]))


def test_a_strategy_gets_readers_as_one_more_factor_unless_it_goes_by_them_itself() -> None:
    guided = an_open_log().wrap(Mapped(Adaptive()))
    assert [type(layer) for layer in nested_strategies(guided)] == [Guided, Mapped, Adaptive]
    for strategy in (Collaborative(), Combined(), Mapped(Collaborative()), Guided(BestFirst())):
        assert an_open_log().wrap(strategy) is strategy


def test_a_log_is_known_by_what_is_in_it(log: Path) -> None:
    first = access_log_of_recipe(Logs("readers.log"), log.parent)
    assert first is not None
    said = msgspec.to_builtins(first.reference)
    again = access_log_of_run(said, "collaborative", folder=log.parent)
    assert again is not None and again.reference == first.reference
    assert again.access_log.access_count == first.access_log.access_count > 0
    (log.parent / "more").write_text(SQUID.format(9, 9))
    done("logs", "import", log.parent / "more", "--into", log)
    with pytest.raises(UsageError, match="has changed since"):
        access_log_of_run(said, "collaborative", folder=log.parent)


def test_half_life_and_least_readers_are_part_of_what_a_run_says(log: Path) -> None:
    logs = [Logs("readers.log", half_life, least) for half_life, least in ((None, 1), (3.0, 1), (None, 2))]
    named = {access_log_of_recipe(each, log.parent).reference for each in logs}  # type: ignore[union-attr]
    assert len(named) == 3


@pytest.mark.parametrize(
    ("said", "strategy", "complaint"),
    [
        ({"file": 3}, "collaborative", "is invalid"),
        ("text", "collaborative", "is invalid"),
        ({"file": "none", "half_life": None, "min_users": 1, "stamp": ""}, "adaptive", "there is no log"),
        ({"file": "none", "half_life": None, "min_users": 1, "stamp": ""}, "pagerank", "pagerank cannot use"),
    ],
)
def test_a_run_whose_log_cannot_be_found_goes_on_without(said: object, strategy: str, complaint: str) -> None:
    messages: list[str] = []
    beside = Guide("access log", find=partial(access_log_of_run, folder=Path("bees")), notify=messages.append)
    beside.activate(said, strategy)
    assert beside.reference is beside.active is None
    assert len(messages) == 1 and complaint in messages[0]
    assert messages[0].startswith("continuing without the access log of the last run: ")
    assert isinstance(beside.wrap(BestFirst()), BestFirst)


def test_the_command_for_a_missing_log_makes_it_where_it_is_missing(tmp_path: Path) -> None:
    missing = tmp_path / "my logs" / "readers.log"
    with pytest.raises(UsageError) as raised:
        access_log_of_recipe(Logs("my logs/readers.log"), tmp_path)
    assert str(raised.value).endswith(f"--into '{missing}'")


def test_no_log_is_named_by_a_recipe_that_has_none(tmp_path: Path) -> None:
    assert access_log_of_recipe(Logs(), tmp_path) is None
    assert access_log_of_run(None, "adaptive", folder=Path("bees")) is None
