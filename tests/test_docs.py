"""What the documents say is true: files exist, keys and dependencies are all there, commands work as written."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, get_type_hints

import msgspec
import pytest

from crawling import PATIENCE, begin, done, kill
from lycosa.cli import COMMANDS
from lycosa.recipe import Recipe, recipe_of, recipe_text
from lycosa.strategies import STRATEGIES

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDE = ROOT / "docs" / "guide"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
IMPORTED_AS = {"pystemmer": "Stemmer", "scikit-learn": "sklearn"}


def said(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_journey_is_one_diagram_and_ten_sentences_that_name_files():
    journey = said(ROOT / "docs" / "journey.md")
    steps = re.findall(r"^(\d+)\. (.+)$", journey, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, 11))
    assert journey.count("```") == 2
    for _, step in steps:
        assert re.findall(r"`(src/[\w/]+\.py)`", step), step


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_files_and_links_in_the_documents_exist(path):
    text = said(path)
    for name in re.findall(r"`?((?:src|tests|benchmarks|docs)/[\w/.-]+\.(?:py|md|svg))`?", text):
        assert (ROOT / name).exists() or (path.parent / name).exists(), name
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_the_documents_name_no_machine(path):
    assert not re.search(r"/(?:home|root|work|tmp|opt)/", said(path))


def keys_of(struct: type, section: str = "") -> list[tuple[str, str, object]]:
    """Section, key and default of everything a recipe may hold."""
    keys = []
    hints = get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        if isinstance(hints[field.name], type) and issubclass(hints[field.name], msgspec.Struct):
            keys += keys_of(hints[field.name], field.name)
        else:
            default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            keys.append((section, field.name, default))
    return keys


@pytest.mark.parametrize(("section", "key", "default"), keys_of(Recipe))
def test_every_key_of_the_recipe_is_documented_with_its_default(section, key, default):
    text = said(GUIDE / "recipe.md")
    part = text.partition(f"## `[{section}]`" if section else "## At the top")[2].partition("\n## ")[0]
    row = re.search(rf"^\| `{key}` \| (.+?) \|", part, re.MULTILINE)
    assert row, f"{section}.{key} is not documented"
    if default is None:
        written = "none"
    elif isinstance(default, tuple):
        written = "`[]`"
    else:
        written = f"`{msgspec.json.encode(default).decode()}`"
    assert row[1] == written


def test_a_new_recipe_has_an_example_of_every_key():
    text = recipe_text(name="bees", topic_text="bees", examples="good.txt", negatives="bad.txt", seeds="seeds.txt")
    as_written = recipe_of(tomllib.loads(text), "as written")
    assert (as_written.topic.text, as_written.seeds) == ("bees", "seeds.txt")
    lines = [line.removeprefix("# ") for line in text.splitlines() if not line.startswith("# The recipe of")]
    table = tomllib.loads("\n".join(lines))
    assert table.pop("options") == {"some_option": 0.5}
    recipe_of(table, "with every example")
    for section, key, _ in keys_of(Recipe):
        assert key in (table[section] if section else {**table, "options": {}}), f"{section}.{key} has no example"


def test_every_documented_key_is_one_of_the_recipe():
    documented = re.findall(r"^\| `(\w+)` \|", said(GUIDE / "recipe.md"), re.MULTILINE)
    assert sorted(documented) == sorted(key for _, key, _ in keys_of(Recipe))


def name_of(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0]


def test_every_dependency_is_explained():
    extras = [name for names in PROJECT["optional-dependencies"].values() for name in names]
    text = said(ROOT / "docs" / "dependencies.md").lower()
    for requirement in [*PROJECT["dependencies"], *extras]:
        assert f"`{name_of(requirement).lower()}`" in text


@pytest.mark.parametrize("name", [name_of(requirement) for requirement in PROJECT["dependencies"]])
def test_every_dependency_is_used(name):
    module = IMPORTED_AS.get(name.lower(), name.replace("-", "_"))
    uses = re.compile(rf"^\s*(?:from|import) {module}\b", re.MULTILINE)
    assert any(uses.search(said(path)) for path in (ROOT / "src").rglob("*.py")), f"nothing imports {module}"


def test_strategies_and_commands_are_documented():
    assert all(f"| `{name}` |" in said(GUIDE / "strategies.md") for name in STRATEGIES)
    changelog = said(ROOT / "CHANGELOG.md")
    assert [name for name in COMMANDS if not re.search(rf"`(lycosa )?{name}\b", changelog)] == []


def test_options_of_strategies_are_documented():
    rows = ["| strategy | options and their defaults |", "|---|---|"]
    for name, entry in STRATEGIES.items():
        options = [f"`{each.name} = {toml(each.default)}`" for each in entry.options.values()]
        rows += [f"| `{name}` | {', '.join(options)} |"] if options else []
    table = said(GUIDE / "strategies.md").partition("<!-- options -->\n")[2].partition("<!-- end -->")[0]
    assert table.strip() == "\n".join(rows)


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return "none" if value is None else msgspec.json.encode(value).decode()


def blocks(path: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", said(path), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", GUIDE / "python.md", GUIDE / "relevance.md", GUIDE / "plugins.md"],
    ids=lambda p: p.name,
)
def test_python_in_the_documents_is_python(path):
    for block in blocks(path, "python"):
        compile(block, path.name, "exec")


class Typed(NamedTuple):
    """A command of a guide, and what it prints."""

    command: str
    printed: list[str]


def typed(path: Path) -> list[Typed]:
    found: list[Typed] = []
    for block in blocks(path, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Typed(line.removeprefix("$ "), []))
            else:
                found[-1].printed.append(line)
    return found


VARIES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?|[\d.]+ pages/s|in [\d.]+ s|\d:\d\d left")
PROGRESS = re.compile(
    r"[\d,]+ visits? of the archive read again|\d+ of \d+ pages, |[a-z ]+: [\d,]+ of [\d,]+$|[a-z ]+ …$"
)  # more where a machine is busy
NUMBER = re.compile(r"\d[\d.,]*")
ROUNDED = 0.1  # share by which a figure may differ, where a processor rounds otherwise


def lines_of(said: Iterable[str]) -> list[str]:
    """What a command prints, without moments, speeds and progress."""
    return [VARIES.sub("…", line).rstrip() for line in said if not PROGRESS.match(line)]


def are_close(one: str, other: str) -> bool:
    """Whether two lines have the same words and, nearly, the same numbers."""
    if NUMBER.sub("", one) != NUMBER.sub("", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    numbers = [(float(a.strip(".,").replace(",", "")), float(b.strip(".,").replace(",", ""))) for a, b in pairs]
    return all(abs(a - b) <= max(1.0, ROUNDED * max(a, b)) for a, b in numbers)


@pytest.mark.slow
def test_the_quick_start_works_as_written_and_prints_what_it_shows(tmp_path, monkeypatch):
    guide = typed(GUIDE / "quick-start.md")
    assert len(guide) >= 12
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    server = begin("world", "practice", "--port", 0)
    try:
        port = server.stdout.readline().strip().rpartition(":")[2]
        server.stdout.readline()  # the files are written
        for command, printed in guide:
            here = command.replace("127.0.0.1:8090", f"127.0.0.1:{port}")
            if "|" in command:
                output = subprocess.check_output(here, shell=True, text=True, timeout=PATIENCE)
            else:
                ran = done(*shlex.split(here)[1:])
                output = ran.err + ran.out
            lines, wanted = lines_of(output.splitlines()), lines_of(printed)
            assert len(lines) == len(wanted), command
            differing = [pair for pair in zip(wanted, lines, strict=True) if not are_close(*pair)]
            assert differing == [], command
    finally:
        kill(server)
