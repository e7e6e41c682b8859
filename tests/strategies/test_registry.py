"""Strategies by name, and the options that their constructors declare."""

from collections.abc import Iterable

import pytest

from lycosa.recipe import make_strategy, recipe_of
from lycosa.strategies.base import BaseStrategy
from lycosa.strategies.registry import (
    FILLED_IN_BY_CRAWL,
    STRATEGIES,
    Entry,
    check_options,
    find_strategy,
    parse_options,
)
from lycosa.vocabulary.errors import PluginError, UsageError
from lycosa.vocabulary.records import Candidate, Skip, Visit


class Nearest(BaseStrategy):
    name = "nearest"
    needs = frozenset({"log"})

    def __init__(
        self, access_log: object = None, *, reach: int = 3, example_urls: object = (), grace: float | None = None
    ):
        self.reach = reach

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return ()


def test_names_are_those_of_the_classes() -> None:
    assert {name: entry.make.name for name, entry in STRATEGIES.items()} == {name: name for name in STRATEGIES}


def test_needs_are_declared() -> None:
    needing = {name: set(entry.needs) for name, entry in STRATEGIES.items() if entry.needs}
    assert needing == {"collaborative": {"log"}, "combined": {"log"}, "guided": {"log"}, "mapped": {"map"}}


def test_options_are_the_keywords_that_a_user_can_write_down() -> None:
    entry = Entry(Nearest)
    assert {name: (option.type_name, option.default) for name, option in entry.options.items()} == {
        "reach": ("a whole number", 3),
        "grace": ("a number", None),
    }
    assert entry.needs == {"log"}
    assert entry.takes("access_log") and entry.takes("example_urls") and not entry.takes("seed")


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_takes_its_own_defaults(name: str) -> None:
    options = {key: option.default for key, option in find_strategy(name).options.items()}
    assert not FILLED_IN_BY_CRAWL.intersection(options)
    assert STRATEGIES[name](**check_options(name, options)).name == name


def test_options_pass_through_strategies_to_their_evidence() -> None:
    assert "significance" in STRATEGIES["collaborative"].options
    assert STRATEGIES["collaborative"].options["trials"].type_name == "'crawl' or 'reader'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widow": 3}, "the strategy adaptive has no option 'widow'; there are target, ranked_among, window, step,"),
        ({"window": "wide"}, "the option window of the strategy adaptive must be a whole number, not 'wide'"),
        ({"window": 2.5}, "must be a whole number, not 2.5"),
        ({"form": "cubic"}, "must be 'cobb-douglas' or 'linear', not 'cubic'"),
        ({"topic_words": {}}, "no option 'topic_words'"),
    ],
)
def test_a_mistake_is_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as mistake:
        check_options("adaptive", options)
    assert "\n" not in str(mistake.value)


def test_options_on_the_command_line_are_typed_as_in_the_recipe() -> None:
    given = parse_options(["target=0.8", "form=linear", "window = 7", "factors=['temporal']", 'name="a=b"'])
    assert given == {"target": 0.8, "form": "linear", "window": 7, "factors": ["temporal"], "name": "a=b"}
    with pytest.raises(UsageError, match="write it as KEY=VALUE"):
        parse_options(["target"])


def test_options_of_the_recipe_are_checked_and_reach_the_strategy() -> None:
    recipe = recipe_of({"strategy": "adaptive", "options": {"alpha": 0.25}}, "lycosa.toml")
    assert make_strategy("adaptive", topic_words={}, options=recipe.options).alpha == 0.25
    with pytest.raises(UsageError, match=r"lycosa\.toml: options: the strategy pagerank has no option 'alpha'"):
        recipe_of({"strategy": "pagerank", "options": {"alpha": 0.25}}, "lycosa.toml")


def test_a_strategy_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no strategy 'fastest'; there are adaptive, baseline-focused"):
        find_strategy("fastest")


def test_types_that_only_type_checkers_know_are_no_obstacle_but_for_options() -> None:
    class Checked(Nearest):
        def __init__(self, *, access_log: "Unknown | None" = None, reach: int = 3):  # type: ignore[name-defined] # noqa: F821
            self.reach = reach

    class Unreadable(Nearest):
        def __init__(self, *, reach: "Unknown" = 3):  # type: ignore[name-defined] # noqa: F821
            self.reach = reach

    assert list(Entry(Checked).options) == ["reach"]
    with pytest.raises(PluginError, match=r"Unreadable have a type that cannot be read .*'Unknown'"):
        _ = Entry(Unreadable).options
