"""Taxonomies: learnt from folders of examples, saved, read again, or refused with the way out."""

from pathlib import Path

import pytest

from lycosa.reading import page_of_text
from lycosa.run.taxonomies import MAX_EXAMPLE_BYTES, examples_in_folders, load_taxonomy, save_taxonomy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url

BEES, SHIPS = "honey bee hive nectar queen swarm", "ship sail mast anchor harbour keel"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    folder = tmp_path / "topics"
    for name, words in (("bees", BEES), ("ships", SHIPS)):
        (folder / name).mkdir(parents=True)
        for number in range(4):
            (folder / name / f"{number}.txt").write_text(f"{words} {words.split()[number]}")
    return folder


def page(text: str):
    return page_of_text(Url("http://a.example/"), "", text)


def test_a_folder_of_examples_for_each_topic_tells_them_apart(topics: Path) -> None:
    taxonomy = load_taxonomy(topics)
    assert tuple(taxonomy.topics)[:2] == ("bees", "ships")
    assert taxonomy.best(page("the queen of the hive")) == "bees"
    assert taxonomy.best(page("an anchor in the harbour")) == "ships"


def test_a_taxonomy_that_was_saved_is_the_same(topics: Path, tmp_path: Path) -> None:
    taxonomy = load_taxonomy(topics)
    save_taxonomy(taxonomy, tmp_path / "saved.json")
    again = load_taxonomy(tmp_path / "saved.json")
    assert again.topics == taxonomy.topics
    for text in (BEES, SHIPS, "the queen on deck"):
        assert again.probabilities(page(text)).tolist() == taxonomy.probabilities(page(text)).tolist()


def test_pages_may_be_html_and_lie_deeper_and_everything_else_is_passed_over(topics: Path) -> None:
    (topics / "bees" / "more").mkdir()
    (topics / "bees" / "more" / "comb.HTM").write_text("<title>Comb</title><p>wax of the comb")
    (topics / "bees" / "picture.png").write_bytes(b"no page")
    (topics / ".git").mkdir()
    (topics / "README").write_text("no topic")
    examples = examples_in_folders(topics)
    assert {topic: len(pages) for topic, pages in examples.items()} == {"bees": 5, "ships": 4}
    assert [each.title for each in examples["bees"] if each.title] == ["Comb"]


def test_of_a_long_example_the_beginning_counts(topics: Path) -> None:
    (topics / "bees" / "long.txt").write_text("honey " * (MAX_EXAMPLE_BYTES // 6 + 1) + "unread")
    long = examples_in_folders(topics)["bees"][-1]
    assert "honey" in long.terms and "unread" not in long.terms


def test_folders_that_cannot_be_learnt_from_are_refused(topics: Path, tmp_path: Path) -> None:
    (topics / "empty").mkdir()
    with pytest.raises(UsageError, match=r"empty has no example page; put \.html or \.txt files there"):
        load_taxonomy(topics)
    with pytest.raises(UsageError, match="two topics or more"):
        load_taxonomy(topics / "bees")
    for name in ("none", "a" * 300):
        with pytest.raises(UsageError, match="cannot read the taxonomy"):
            load_taxonomy(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"{}", b"[1]", b'{"topics": 3}'])
def test_a_file_that_is_no_taxonomy_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match=r"is not a taxonomy|cannot use"):
        load_taxonomy(tmp_path / "file")
