"""What is said of one run: every option reaches the recipe, and what makes no sense is refused."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
import typer
from typer.testing import CliRunner

from lycosa.cli.options import program, with_options
from lycosa.frontier.admission import Scope
from lycosa.recipe import Budget, Logs, Map, Recipe, Requests, UtilityOptions, recipe_of, uses_standing, utility_for
from lycosa.run.options import (
    CommandSettings,
    CrawlOptions,
    FetchOptions,
    Flag,
    changed_recipe,
    check_keywords,
    settings_of,
)
from lycosa.vocabulary.errors import LycosaError, UsageError

HERE = Path.cwd()
LOG = Recipe(logs=Logs(file="readers.log"))
MAP = Recipe(map=Map(atlas="bees.atlas"))
ADAPTIVE = Recipe(strategy="adaptive")
REACHES = [  # an option, what is said, and where the recipe has it
    ("pages", 7, "stop.pages", 7),
    ("minutes", 2.5, "stop.minutes", 2.5),
    ("minutes", 0, "stop.minutes", 0),
    ("max_bytes", 9, "stop.bytes", 9),
    ("dry_after", 0, "stop.dry_after", 0),
    ("stop_at_recall", 0.9, "stop.recall", 0.9),
    ("per_host", 50, "stop.per_host", 50),
    ("per_site", "12.5%", "stop.per_site", "12.5%"),
    ("strategy", "best-first", "strategy", "best-first"),
    ("options", {"target": 0.3}, "options", {"target": 0.3}),
    ("target", 0.0, "utility.target", 0.0),
    ("atlas", "bees.atlas", "map.atlas", str(HERE / "bees.atlas")),
    ("map_topic", "bees", "map.topic", "bees"),
    ("map_priority", 0.0, "map.priority", 0.0),
    ("taxonomy", Path("topics"), "map.taxonomy", str(HERE / "topics")),
    ("logs", "readers.log", "logs.file", str(HERE / "readers.log")),
    ("log_half_life", 3.0, "logs.half_life", 3.0),
    ("min_users", 2, "logs.min_users", 2),
    ("hosts", ["Bees.example"], "scope.hosts", ("bees.example",)),
    ("exclude_hosts", ["ships.example"], "scope.exclude_hosts", ("ships.example",)),
    ("urls", ["*/wiki/*"], "scope.urls", ("*/wiki/*",)),
    ("exclude_urls", ["*/login*"], "scope.exclude_urls", ("*/login*",)),
    ("stay", True, "scope.stay_on_sites", True),
    ("languages", ["EN"], "scope.languages", ("en",)),
    ("keep_noindex", True, "scope.keep_noindex", True),
    ("contact", "me@example.org", "contact", "me@example.org"),
    ("delay", 0, "requests.delay", 0),
    ("per_address", 0, "requests.per_address", 0),
    ("concurrency", 3, "requests.concurrency", 3),
]
SETTINGS = [
    ("sitemaps", True),
    ("allow_private", True),
    ("workers", 3),
    ("resolve", ("*=127.0.0.1:8080",)),
    ("seeds", ("http://a.example/",)),
]


def recipe_for(option: str) -> Recipe:
    """A recipe in which the option makes sense."""
    if option.startswith("map") or option == "taxonomy":
        return MAP
    if option in ("options", "target"):
        return ADAPTIVE
    return LOG if option in ("log_half_life", "min_users") else Recipe()


def value_at(recipe: Any, path: str) -> object:
    for name in path.split("."):
        recipe = getattr(recipe, name)
    return recipe


@pytest.mark.parametrize(("option", "said", "path", "expected"), REACHES)
def test_what_is_said_reaches_the_recipe_and_changes_nothing_else(
    option: str, said: object, path: str, expected: object
) -> None:
    recipe = recipe_for(option)
    changed = changed_recipe(recipe, {option: said})  # type: ignore[misc]
    assert value_at(changed, path) == expected
    part = path.partition(".")[0]
    for name in recipe.__struct_fields__:
        assert name == part or getattr(changed, name) == getattr(recipe, name)


@pytest.mark.parametrize(("option", "said"), SETTINGS)
def test_what_is_said_of_how_to_ask_is_among_the_settings(option: str, said: object) -> None:
    assert getattr(settings_of({option: said}), option) == said  # type: ignore[misc]
    assert changed_recipe(Recipe(), {option: said}) == Recipe()  # type: ignore[misc]


def test_every_option_is_tested_here() -> None:
    assert {each[0] for each in REACHES} | {each[0] for each in SETTINGS} == set(CrawlOptions.__annotations__)


def test_nothing_said_is_the_recipe_as_it_is() -> None:
    assert changed_recipe(Recipe(), {}) == Recipe()
    assert changed_recipe(Recipe(), dict.fromkeys(("pages", "target", "strategy", "delay"))) == Recipe()  # type: ignore[arg-type]
    assert settings_of({}) == CommandSettings()


def test_numbers_replace_those_of_the_recipe_and_hosts_join_its_own() -> None:
    recipe = Recipe(stop=Budget(pages=5, minutes=1), scope=Scope(hosts=("bees.example",), stay_on_sites=True))
    changed = changed_recipe(recipe, {"pages": 9, "hosts": ["wax.test"], "stay": False})
    assert changed.stop == Budget(pages=9, minutes=1)
    assert changed.scope == Scope(hosts=("bees.example", "wax.test"), stay_on_sites=True)


def test_options_of_the_recipe_go_with_its_own_strategy_only() -> None:
    recipe = Recipe(strategy="random", options={"seed": 4})
    assert changed_recipe(recipe, {}).options == {"seed": 4}
    assert changed_recipe(recipe, {"options": {"seed": 5}}).options == {"seed": 5}
    assert changed_recipe(recipe, {"strategy": "best-first"}).options == {}


def test_a_target_that_is_said_comes_before_that_of_the_recipe() -> None:
    recipe = Recipe(options={"target": 0.9, "seed": 4}, utility=UtilityOptions(target=0.8))
    changed = changed_recipe(recipe, {"target": 0.3})
    assert (changed.utility.target, changed.options) == (0.3, {"seed": 4})
    assert changed_recipe(recipe, {"target": 0.3, "options": {"target": 0.4}}).options["target"] == 0.4


def test_standing_is_wanted_where_the_target_leaves_room_for_it() -> None:
    assert not uses_standing(Recipe()) and not uses_standing(changed_recipe(Recipe(), {"target": 1.0}))
    assert uses_standing(changed_recipe(Recipe(), {"target": 0.99}))
    assert uses_standing(changed_recipe(Recipe(), {"options": {"target": 0.5}}))
    assert uses_standing(Recipe(strategy="adaptive", utility=UtilityOptions(target=1.0)))
    assert not uses_standing(Recipe(strategy="best-first", utility=UtilityOptions(target=0.5)))


def test_each_strategy_has_its_own_target_unless_one_is_given() -> None:
    assert utility_for("adaptive", UtilityOptions()).target == 0.7
    assert utility_for("hunter", UtilityOptions()).target == 1.0
    assert utility_for("hunter", UtilityOptions(target=0.4)).target == 0.4
    assert utility_for("best-first", UtilityOptions(target=0.4)).target is None


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"delay": math.nan}, "delay must be a number"),
        ({"minutes": math.inf}, "minutes must be a number"),
        ({"strategy": "adaptive", "target": math.nan}, "target must be a number"),
        ({"strategy": "adaptive", "target": 1.5}, "target"),
        ({"target": 1.5}, "target"),
        ({"delay": -1.0}, "delay"),
        ({"concurrency": 0}, "concurrency"),
        ({"pages": 0}, "pages"),
        ({"stop_at_recall": 0}, "^stop_at_recall: write a number above 0 and up to 1$"),
        ({"stop_at_recall": 1.5}, "^stop_at_recall: write a number above 0 and up to 1$"),
        ({"stop_at_recall": math.nan}, "^stop_at_recall must be a number"),
        ({"max_bytes": 0}, "^max_bytes: write a whole number of 1 or more$"),
        ({"strategy": "no-such"}, "no-such"),
        ({"strategy": "best-first", "target": 0.5}, "has no target"),
        ({"options": {"no_such": 1}}, "no_such"),
        ({"hosts": ["http://bees.example/"]}, "not a host"),
        ({"languages": ["english"]}, "not the code of a language"),
        ({"map_priority": 0.5}, "no map given"),
        ({"min_users": 2}, "no access log given"),
        ({"strategy": "collaborative"}, "needs an access log"),
    ],
)
def test_what_makes_no_sense_is_refused(said: Any, complaint: str) -> None:
    with pytest.raises(LycosaError, match=complaint):
        changed_recipe(Recipe(), said)


def test_an_address_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError):
        settings_of({"resolve": ["somewhere"]})


def test_a_keyword_that_is_none_is_a_type_error() -> None:
    check_keywords({"pages": 1}, CrawlOptions)
    with pytest.raises(TypeError, match=r"no keyword 'page'; there are .*pages"):
        check_keywords({"page": 1}, CrawlOptions)
    with pytest.raises(TypeError, match="no keyword 'pages'"):
        check_keywords({"pages": 1}, FetchOptions)


def test_a_refresh_keeps_all_but_how_to_ask() -> None:
    changed = changed_recipe(Recipe(), {"delay": 0.5, "concurrency": 2, "minutes": 1})
    assert changed.requests == Requests(delay=0.5, concurrency=2)
    assert changed.stop == Budget(minutes=1)


# The command line


class Few(TypedDict, total=False):
    pages: Annotated[int | None, Flag("", "N")]
    share: Annotated[float | None, Flag("", "N", min=0, max=1)]
    stay: Annotated[bool, Flag("")]
    hosts: Annotated[Sequence[str], Flag("", name="--host", parse=lambda said, flag: (flag, *said))]


def test_a_flag_has_its_own_name_and_parsers_get_the_name_that_the_user_wrote() -> None:
    class Named(TypedDict, total=False):
        everything: Annotated[bool, Flag("All.", name="--all")]
        some_part: Annotated[str | None, Flag("A part.", "PART", parse=lambda text, name: (name, text))]

    given: dict[str, object] = {}
    app = typer.Typer()

    @app.command()
    @with_options(Named)
    def command(**options: Any) -> None:
        given.update(options)

    assert CliRunner().invoke(app, ["--all", "--some-part", "x"]).exit_code == 0
    assert given == {"everything": True, "some_part": ("--some-part", "x")}


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        ("lycosa", "lycosa"),
        ("./lycosa", "./lycosa"),
        ("../lycosa", "../lycosa"),
        ("{here}/my programs/lycosa", "'my programs/lycosa'"),
        ("/other/lycosa", "/other/lycosa"),
        ("/other/pytest", "lycosa"),
    ],
)
def test_the_program_is_named_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, shown: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", [called.format(here=tmp_path)])
    assert program() == shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {}),
        (("--pages", "0"), {"pages": 0}),
        (("--share", "0"), {"share": 0.0}),
        (("--stay",), {"stay": True}),
        (("--host", "a", "--host", "b"), {"hosts": ("--host", "a", "b")}),
        (("--pages", "3", "--share", "0.5"), {"pages": 3, "share": 0.5}),
    ],
)
def test_a_command_is_given_what_was_said_and_0_was_said(words: tuple[str, ...], expected: dict[str, object]) -> None:
    given: dict[str, object] = {}
    app = typer.Typer()

    @app.command()
    @with_options(Few)
    def command(name: str, **options: Any) -> None:
        given.update(options)

    assert CliRunner().invoke(app, ["bees", *words]).exit_code == 0
    assert given == expected


@pytest.mark.parametrize("option", ["hosts", "exclude_hosts", "urls", "exclude_urls", "languages", "seeds", "resolve"])
def test_a_string_in_place_of_a_list_is_refused(option: str) -> None:
    options: Any = {option: "example.org"}
    with pytest.raises(UsageError, match=rf"^{option}: give a list, such as \['example.org'\]$"):
        changed_recipe(Recipe(), options)
        settings_of(options)


@pytest.mark.parametrize("share", ["20%\n", f"20.{'1' * 6_000}%"])
def test_a_share_that_is_no_number_is_refused_by_its_key(share: str) -> None:
    with pytest.raises(UsageError, match=r"^a recipe: stop\.per_host: write"):
        recipe_of({"stop": {"per_host": share}}, "a recipe")


def test_an_option_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(UsageError, match="sample must be a number from 0 to 1,000, not 1000"):
        changed_recipe(Recipe(), {"options": {"sample": 10**400}})
