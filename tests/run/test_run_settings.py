"""The settings of a run: read with suspicion, compared with the run before."""

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from lycosa.collection.events import RunStart
from lycosa.frontier.admission import Scope
from lycosa.frontier.quotas import Quotas
from lycosa.recipe import Recipe, UtilityOptions
from lycosa.run.crawl import NOTHING_LEFT
from lycosa.run.run_settings import RunSettings
from sessions import NOW


def settings(strategy: str = "best-first", **recorded: object) -> tuple[RunSettings, list[str]]:
    """The settings of a run, and what the user is told of them."""
    messages: list[str] = []
    run = RunStart(NOW, strategy, (), **recorded)
    return RunSettings.of_run(run, Recipe(strategy="best-first"), notify=messages.append), messages


def test_a_run_with_the_same_settings_records_the_same() -> None:
    before, _ = settings("random", options={"seed": 3}, scope={"hosts": ["a.example"]}, quotas={"per_host": 5})
    run = before.run_start(NOW, refresh=None, map_=None, access_log=None, rank_lists_digest="")
    after = RunSettings.of_run(run, Recipe(), notify=pytest.fail)
    assert after == before
    assert after.strategy_changes(before) == after.limit_changes(before) == []


@pytest.mark.parametrize(
    ("changes", "strategy", "limits"),
    [
        ({"strategy": "breadth-first"}, ["strategy"], []),
        ({"options": {"seed": 4}}, ["options"], []),
        ({"utility_options": UtilityOptions(target=0.2)}, ["target"], []),
        ({"scope": Scope(hosts=("a.example",))}, [], ["scope"]),
        ({"scope": Scope(keep_noindex=True)}, [], []),
        ({"quotas": Quotas(per_host=5)}, [], ["quotas"]),
    ],
)
def test_what_has_changed_is_named(changes: dict[str, object], strategy: list[str], limits: list[str]) -> None:
    before, _ = settings()
    after = replace(before, **changes)
    assert after.strategy_changes(before) == strategy
    assert after.limit_changes(before) == limits


@pytest.mark.parametrize("field", ["utility", "scope", "quotas"])
def test_settings_that_are_invalid_are_the_defaults(field: str) -> None:
    found, messages = settings(**{field: {"target": "high", "hosts": 3, "per_host": "few"}})
    usual, _ = settings()
    assert to_builtins(found) == to_builtins(usual)
    assert messages == []


def test_invalid_options_are_dropped_and_the_user_is_told() -> None:
    found, messages = settings(options={"no such": 1})
    assert found.options == {}
    assert len(messages) == 1 and messages[0].startswith("continuing without the options of the last run")


def test_a_plug_in_that_the_recipe_does_not_name_is_not_run() -> None:
    found, messages = settings("somebody-elses")
    assert found.strategy == "best-first"
    assert len(messages) == 1 and "somebody-elses" in messages[0]


def test_limits_that_the_next_run_lacks_are_named_as_flags() -> None:
    before, _ = settings(scope={"hosts": ["a.example"], "exclude_urls": ["*.pdf"], "stay_on_sites": True})
    assert before.limits_dropped(Scope(hosts=("a.example",))) == ["--exclude-url '*.pdf'", "--stay"]
    assert before.limits_dropped(before.scope) == []


def test_an_empty_frontier_is_explained_by_quotas_if_they_skipped_links() -> None:
    free, _ = settings()
    limited, _ = settings(quotas={"per_host": 5})
    assert free.empty_frontier_reason(3) == limited.empty_frontier_reason(0) == NOTHING_LEFT
    assert "for which 1 link was skipped" in limited.empty_frontier_reason(1)
    assert "5 a host" in limited.empty_frontier_reason(3) and "--per-host" in limited.empty_frontier_reason(3)
