"""What a collection may name, by where it was made."""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crawling import done, lycosa
from lycosa.recipe import Requests, load_recipe
from lycosa.run.new import new_collection
from lycosa.run.trust import (
    allowed_file,
    check_collection,
    is_trusted,
    polite_recipe,
    require_trust,
    settings_to_trust,
    trust_collection,
    without_untrusted_settings,
)
from lycosa.run.upkeep import rebuild
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError, RecipeError, UsageError
from sessions import NOW, crawl
from worlds import TOPICAL, TOPICAL_SEED


@pytest.fixture(autouse=True)
def bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether Python writes bytecode is as it was after each test."""
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)


NAMING = {
    "code": '[topic]\nfunction = "os:getcwd"',
    "code in a predicate": '[topic.predicate]\nnot = { function = "os:getcwd" }',
    "a proxy": '[requests]\nproxy = "http://proxy.example:3128"',
    "headers": '[requests]\nheaders = { "X-Token" = "secret" }',
    "cookies": '[requests]\ncookies = "session=1"',
    "a file above": 'seeds = "../seeds.txt"',
    "an absolute file": '[topic]\nexamples = "/etc/hosts"',
    "a log outside": '[logs]\nfile = "../readers.log"',
    "an atlas outside": '[map]\natlas = "/tmp/atlas"',
    "other collections": '[standing]\ncollections = ["../other"]',
    "a regular expression": '[topic]\nkeywords = ["/(a+)+$/"]',
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    new_collection(tmp_path / "bees", topic="keeping bees")
    return tmp_path / "bees"


@pytest.fixture
def foreign(made: Path, tmp_path: Path) -> Path:
    """The same as somebody else would send it, the number of the folder included."""
    return Path(shutil.copytree(made, tmp_path / "from-elsewhere"))


@pytest.mark.parametrize("recipe", NAMING.values(), ids=NAMING)
def test_a_collection_from_elsewhere_may_not_name_this_before_the_user_has_said_so(foreign: Path, recipe: str) -> None:
    (foreign / "lycosa.toml").write_text(recipe)
    assert lycosa("crawl", foreign).is_one_clear_line(2, f"lycosa trust {foreign}", "was not made on this machine")
    assert not (foreign / "archive").exists()
    done("trust", foreign)
    require_trust(foreign)
    (foreign / "lycosa.toml").write_text(f"{recipe}\n\n[scope]\nlanguages = []\n")
    require_trust(foreign)
    (foreign / "lycosa.toml").write_text('[topic]\nfunction = "another:one"\n')
    with pytest.raises(UsageError, match="another:one"):
        require_trust(foreign)


@pytest.mark.parametrize("recipe", NAMING.values(), ids=NAMING)
def test_a_collection_made_here_may_name_anything_also_when_it_was_moved(made: Path, recipe: str) -> None:
    (made / "lycosa.toml").write_text(recipe)
    assert settings_to_trust(made, load_recipe(made, for_reading=True))
    require_trust(made)
    moved = made.rename(made.with_name("moved"))
    require_trust(moved)


def test_the_code_of_a_plug_in_is_named_too(foreign: Path) -> None:
    (foreign / "lycosa.toml").write_text('strategy = "of-a-plug-in"\n[topic]\nmodel = "of-another"\n')
    named = settings_to_trust(foreign, load_recipe(foreign, for_reading=True))
    assert named == ["strategy = of-a-plug-in", "topic.model = of-another"]


def test_a_collection_that_names_nothing_of_it_needs_no_trust(foreign: Path) -> None:
    (foreign / ".id").unlink()
    (foreign / "lycosa.toml").write_text(
        'seeds = "seeds.txt"\n[topic]\nkeywords = ["bee", "hives and swarms"]\n'
        '[requests.headers]\nAccept-Language = "de"\n'
    )
    require_trust(foreign)
    assert not is_trusted(foreign)


def test_a_number_that_nobody_here_has_given_is_worth_nothing(foreign: Path) -> None:
    (foreign / "lycosa.toml").write_text(NAMING["code"])
    for number in ("0" * 32, "../../x", "", "\0" * 32):
        (foreign / ".id").write_text(number)
        assert not is_trusted(foreign)


def test_what_is_trusted_is_listed(foreign: Path) -> None:
    (foreign / "lycosa.toml").write_text(NAMING["a proxy"])
    assert "requests.proxy = http://proxy.example:3128" in done("trust", foreign).out
    assert trust_collection(foreign) == ["requests.proxy = http://proxy.example:3128"]


def test_a_file_outside_is_opened_only_for_a_trusted_collection(foreign: Path) -> None:
    (foreign / ".id").unlink()
    assert allowed_file(foreign, "seeds.txt") == foreign / "seeds.txt"
    (foreign / "away").symlink_to("/etc")
    for name in ("../seeds.txt", "/etc/hosts", "away/hosts", "examples/../../x"):
        with pytest.raises(RecipeError, match="lycosa trust"):
            allowed_file(foreign, name)
    trust_collection(foreign)
    assert allowed_file(foreign, "/etc/hosts") == Path("/etc/hosts")


def test_examples_do_not_bring_files_from_outside_in(foreign: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    (foreign / "good.txt").write_text("../secret.txt\n")
    (foreign / "lycosa.toml").write_text('[topic]\nexamples = "good.txt"\n')
    (foreign / ".id").unlink()
    assert lycosa("crawl", foreign, "--seed", TOPICAL_SEED).is_one_clear_line(2, "secret.txt", "lycosa trust")


def test_a_collection_from_elsewhere_is_rebuilt_without_what_it_names(made: Path, tmp_path: Path) -> None:
    (made / "seeds.txt").write_text(f"{TOPICAL_SEED}\n")
    (made / "lycosa.toml").write_text('seeds = "seeds.txt"\n[topic]\nkeywords = ["hive"]\n')
    crawl(made, TOPICAL, 5, strategy="best-first")
    foreign = Path(shutil.copytree(made, tmp_path / "from-elsewhere"))
    (foreign / "lycosa.toml").write_text('[topic]\nfunction = "no_such_module:f"\n')
    assert without_untrusted_settings(foreign, load_recipe(foreign)).topic.function == ""
    assert rebuild(foreign, clock=SimulatedClock(NOW), notify=lambda line: None) == 5


@pytest.mark.parametrize("name", ["labels.txt", "catalog.sqlite", "archive", "model.json", "search", "report.html"])
def test_links_and_pipes_are_not_followed(foreign: Path, tmp_path: Path, name: str) -> None:
    (foreign / ".id").unlink()
    check_collection(foreign)
    (tmp_path / "elsewhere").mkdir()
    (foreign / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CollectionError, match="is a link"):
        check_collection(foreign)
    assert lycosa("show", foreign).code == 1
    (foreign / name).unlink()
    os.mkfifo(foreign / name)
    with pytest.raises(CollectionError, match="remove it"):
        check_collection(foreign)
    assert lycosa("show", foreign).code == 1


def test_a_link_that_the_user_made_is_followed(made: Path, tmp_path: Path) -> None:
    (tmp_path / "big-disk").mkdir()
    (made / "archive").symlink_to(tmp_path / "big-disk")
    check_collection(made)


def test_a_catalog_cannot_name_files_outside_of_the_archive(made: Path, tmp_path: Path) -> None:
    (made / "seeds.txt").write_text(f"{TOPICAL_SEED}\n")
    (made / "lycosa.toml").write_text('seeds = "seeds.txt"\n[topic]\nkeywords = ["hive"]\n')
    crawl(made, TOPICAL, 3, strategy="best-first")
    (archive,) = (made / "archive").glob("*.warc.gz")
    shutil.copy(archive, tmp_path / "stolen-00001.warc.gz")  # even where it is a record like any other
    for name in (str(tmp_path / "stolen-00001.warc.gz"), "../../stolen-00001.warc.gz", "../peer/key.pem", "/etc/hosts"):
        with closing(sqlite3.connect(made / "catalog.sqlite")) as connection, connection:
            connection.execute("UPDATE pages SET file = ?", (name,))
        said = lycosa("cat", made, TOPICAL_SEED)
        assert said.is_one_clear_line(1, "does not fit its archive", "lycosa rebuild")
    done("rebuild", made)
    done("cat", made, TOPICAL_SEED)


RUDE = (
    'contact = "somebody@else.example"\n[scope]\nkeep_noindex = true\n'
    "[requests]\ndelay = 0.01\nper_address = 0\nconcurrency = 900\nretries = 50\nsite_share = 1.0\n"
)


def test_a_recipe_from_elsewhere_makes_a_crawl_more_polite_never_less(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (foreign / "lycosa.toml").write_text(RUDE)
    messages: list[str] = []
    recipe = polite_recipe(foreign, notify=messages.append)
    assert recipe.requests == Requests(per_address=4)
    assert (recipe.contact, recipe.scope.keep_noindex) == ("", False)
    assert len(messages) == 1
    for named in (
        "contact = somebody@else.example",
        "delay = 0.01",
        "per_address = 0",
        "site_share = 1",
        f"lycosa trust {foreign}",
    ):
        assert named in messages[0]
    monkeypatch.setenv("LYCOSA_CONTACT", "somebody@else.example")  # it is the user's own
    assert polite_recipe(foreign).contact == "somebody@else.example"
    monkeypatch.delenv("LYCOSA_CONTACT")
    assert "requests.delay = 0.01" in done("trust", foreign).out
    assert polite_recipe(foreign, notify=messages.append) == load_recipe(foreign)
    assert len(messages) == 1
    (foreign / "lycosa.toml").write_text(RUDE.replace("0.01", "0"))
    assert polite_recipe(foreign).requests.delay == 1.0


def test_a_recipe_from_elsewhere_may_be_more_polite(foreign: Path) -> None:
    (foreign / "lycosa.toml").write_text(
        "[requests]\ndelay = 9\nper_address = 1\nconcurrency = 2\nretries = 0\nsite_share = 0.1\n"
    )
    assert polite_recipe(foreign, notify=pytest.fail) == load_recipe(foreign)


def test_a_crawl_of_a_recipe_from_elsewhere_says_what_is_not_heeded(foreign: Path) -> None:
    (foreign / "lycosa.toml").write_text(f'strategy = "breadth-first"\n{RUDE}')
    said = lycosa("crawl", foreign, "--seed", "http://127.0.0.1:9/", "--pages", 1)
    assert said.code in (1, 2)
    assert said.err.count("lycosa.toml ignored: less polite than the default") == 1


def test_trust_is_asked_for_before_the_recipe_is_mended(foreign: Path) -> None:
    (foreign / "archive").mkdir(exist_ok=True)
    (foreign / "lycosa.toml").write_text('strategy = "hunterr"\n')
    messages: list[str] = []
    with pytest.raises(UsageError, match="lycosa trust"):
        polite_recipe(foreign, notify=messages.append)
    assert messages == []


def test_the_code_in_a_folder_is_trusted_as_it_was(foreign: Path) -> None:
    (foreign / "lycosa.toml").write_text('[topic]\nfunction = "mine.judge:relevance"\n')
    (foreign / "mine").mkdir()
    code = foreign / "mine" / "judge.py"
    code.write_text("def relevance(page):\n    return 1.0\n")
    assert any("judge.py = code, SHA-256" in named for named in trust_collection(foreign))
    require_trust(foreign)
    (foreign / "notes.txt").write_text("anything else")
    require_trust(foreign)
    code.write_text("def relevance(page):\n    return 0.0\n")
    with pytest.raises(UsageError, match="lycosa trust"):
        require_trust(foreign)
    trust_collection(foreign)
    (foreign / "mine" / "__pycache__").mkdir()
    (foreign / "mine" / "__pycache__" / "judge.cpython-311.pyc").write_bytes(b"anything")
    with pytest.raises(UsageError, match="lycosa trust"):
        require_trust(foreign)
