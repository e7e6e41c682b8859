from pathlib import Path

import pytest

from lycosa.recipe import Recipe
from lycosa.run.options import changed_recipe
from lycosa.user_config import config_file, data_folder, user_contact
from lycosa.vocabulary.errors import RecipeError, UsageError


@pytest.fixture
def config(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "lycosa").mkdir()
    return tmp_path / "lycosa" / "config.toml"


def test_the_contact_is_that_of_the_run_the_recipe_the_environment_or_the_user(config, monkeypatch):
    recipe, empty = Recipe(contact="of@recipe.example"), Recipe()
    assert changed_recipe(empty, {}).contact == ""
    config.write_text('contact = "of@config.example"\n')
    assert changed_recipe(empty, {}).contact == "of@config.example"
    monkeypatch.setenv("LYCOSA_CONTACT", " of@environment.example ")
    assert changed_recipe(empty, {}).contact == "of@environment.example"
    assert changed_recipe(recipe, {}).contact == "of@recipe.example"
    assert changed_recipe(recipe, {"contact": "of@run.example"}).contact == "of@run.example"


def test_the_folders_are_those_of_the_desktop_specification(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for said in ("", "relative/path"):  # which the specification has ignored
        monkeypatch.setenv("XDG_CONFIG_HOME", said)
        monkeypatch.setenv("XDG_DATA_HOME", said)
        assert config_file() == tmp_path / ".config/lycosa/config.toml"
        assert data_folder() == tmp_path / ".local/share/lycosa"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "d"))
    assert data_folder() == tmp_path / "d" / "lycosa"


@pytest.mark.parametrize(
    "content",
    ['contact = "a', 'contcat = "a"', "contact = 3", b"\xff\xfe", 'contact = "a\\r\\nX: y"', "#" * 200_000, "a" * 500],
)
def test_a_mistake_in_it_is_one_line_that_names_it(config, content):
    config.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RecipeError) as told:
        user_contact()
    assert str(told.value).startswith(f"{config}: ") and "\n" not in str(told.value)


@pytest.mark.parametrize("contact", ["me@example.org\r\nX: y", "x" * 201, "Łukasz <me@example.org>"])
def test_a_contact_that_would_break_a_header_is_refused(contact, monkeypatch):
    with pytest.raises((RecipeError, UsageError), match="--contact"):
        changed_recipe(Recipe(), {"contact": contact})
    monkeypatch.setenv("LYCOSA_CONTACT", contact)
    with pytest.raises(RecipeError, match="LYCOSA_CONTACT"):
        changed_recipe(Recipe(), {})
