"""A new collection: what is given becomes its own, and what is wrong is said before anything is written."""

import gzip
import stat
from pathlib import Path

import pytest

from crawling import listing
from lycosa.frontier.admission import Scope
from lycosa.recipe import load_recipe
from lycosa.relevance.examples import read_examples
from lycosa.run.new import new_collection
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError

HIVE = "http://bees.example/hive"


def test_a_recipe_is_all_that_a_collection_needs(tmp_path: Path) -> None:
    path = new_collection(tmp_path / "deep" / "bees", topic="keeping\n  bees", contact="me@example.org")
    recipe = load_recipe(tmp_path / "deep" / "bees")
    assert path == tmp_path / "deep" / "bees" / "lycosa.toml"
    assert (recipe.topic.text, recipe.contact, recipe.seeds) == ("keeping bees", "me@example.org", "")
    assert sorted(each.name for each in path.parent.iterdir()) == [".id", "lycosa.toml"]


def test_files_among_the_examples_are_copied_so_that_the_collection_can_be_moved(tmp_path: Path) -> None:
    (tmp_path / "Hive.HTML").write_text("<title>Hive</title>")
    good = listing(tmp_path / "good.txt", [HIVE, "Hive.HTML", "a text about bees"])
    bad = listing(tmp_path / "bad.txt", ["a text about ships"])
    folder = tmp_path / "bees"
    new_collection(folder, examples=good, negatives=bad)
    for given in (tmp_path / "Hive.HTML", good, bad):
        given.unlink()
    moved = folder.rename(tmp_path / "moved")
    topic = load_recipe(moved).topic
    examples = read_examples(moved / topic.examples)
    assert [example.kind for example in examples] == ["url", "file", "text"]
    assert Path(moved, "examples", examples[1].value).read_text() == "<title>Hive</title>"
    assert [example.value for example in read_examples(moved / topic.negatives)] == ["a text about ships"]


def test_lines_may_be_given_in_place_of_files(tmp_path: Path) -> None:
    new_collection(tmp_path / "bees", examples=["a text\nof two lines"], seeds=["http://BEES.example"])
    assert (tmp_path / "bees" / "examples" / "good.txt").read_text() == "a text of two lines\n"
    assert (tmp_path / "bees" / "seeds.txt").read_text() == "http://bees.example/\n"


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_tables_are_copied_and_named_by_the_recipe(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"given{suffix}"
    with gzip.open(table, "wt") if suffix.endswith("gz") else table.open("w") as file:
        file.write(f"{HIVE},7\n")
    new_collection(tmp_path / "bees", topic="bees", in_links=table)
    source = load_recipe(tmp_path / "bees").standing
    assert source.in_links == f"in-links{suffix}"
    assert (tmp_path / "bees" / source.in_links).read_bytes() == table.read_bytes()
    assert source.traffic == ""


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"negatives": ["ships at sea"]}, "negatives alone do not name a topic"),
        ({"seeds": ["not a url"]}, "seeds:1"),
        ({"topic": "bees \udcff"}, "give it in UTF-8"),
        ({"examples": ["bees and wax \udcff"]}, "give it in UTF-8"),
        ({"scope": Scope(urls=("*\udcff*",))}, "give it in UTF-8"),
        ({"examples": Path("none.txt")}, "none.txt"),
        ({"seeds": Path("none.txt")}, "none.txt"),
        ({"in_links": Path("none.csv")}, "none.csv"),
        ({"traffic": Path("none.csv")}, "none.csv"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path: Path, given: dict, complaint: str) -> None:
    with pytest.raises(LycosaError, match=complaint):
        new_collection(tmp_path / "bees", **{"topic": "bees", **given})
    assert not (tmp_path / "bees").exists()


def test_a_folder_whose_name_is_no_text_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LycosaError, match="give it in UTF-8"):
        new_collection(tmp_path / "bees \udcff", topic="bees")
    assert not any(tmp_path.iterdir())


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bees").mkdir()
    new_collection(tmp_path / "bees", topic="bees")
    before = (tmp_path / "bees" / "lycosa.toml").read_bytes()
    (tmp_path / "file").touch()
    for name in ("bees", "file"):
        with pytest.raises(UsageError, match="is there already"):
            new_collection(tmp_path / name, topic="ships")
    assert (tmp_path / "bees" / "lycosa.toml").read_bytes() == before


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CollectionError, match="cannot write"):
        new_collection(tmp_path / "file" / "bees", topic="bees")


def test_a_scope_is_written_into_the_recipe_for_every_run(tmp_path: Path) -> None:
    scope = Scope(
        hosts=("bees.example",), exclude_urls=('*/"#*',), languages=("en", "de"), stay_on_sites=True, keep_noindex=True
    )
    path = new_collection(tmp_path / "bees", scope=scope)
    assert load_recipe(tmp_path / "bees").scope == scope
    new_collection(tmp_path / "others")
    plain = (tmp_path / "others/lycosa.toml").read_text().splitlines()
    changed = [line for line in path.read_text().splitlines() if line not in plain]
    assert changed[1:] == [
        'hosts = ["bees.example"]  # only these hosts and their subdomains',
        'exclude_urls = ["*/\\"#*"]',
        "stay_on_sites = true  # only the sites of the seeds",
        'languages = ["en","de"]',
        "keep_noindex = true  # keep pages that ask not to be kept: for sites of your own, and legal deposit",
    ]


@pytest.mark.parametrize("name", ["two\nlines", "a\x7fb"])
def test_control_characters_in_names_and_topics_leave_the_recipe_readable(tmp_path: Path, name: str) -> None:
    scope = Scope(urls=("https://a\x7f*",))
    new_collection(tmp_path / name, topic="honey\x7f bees", contact="", scope=scope)
    recipe = load_recipe(tmp_path / name)
    assert recipe.topic.text == "honey\x7f bees"
    assert recipe.scope.urls == scope.urls


def test_a_new_collection_is_for_its_owner_alone(tmp_path: Path) -> None:
    new_collection(tmp_path / "folder" / "bees", topic="honey bees", seeds=["https://bees.example/"])
    assert stat.S_IMODE((tmp_path / "folder" / "bees").stat().st_mode) == 0o700
