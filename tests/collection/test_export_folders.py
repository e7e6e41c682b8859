"""Folders of exports: names, front matter and cards that no title or URL can break out of."""

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath

import pyarrow.parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lycosa.collection import arrow_tables, export_folders
from lycosa.collection.export import COLUMNS
from lycosa.collection.export_folders import (
    CollectionInfo,
    file_name,
    front_matter,
    write_dataset_folder,
    write_markdown_folder,
    yaml_text,
)
from lycosa.testing import random_rows
from lycosa.vocabulary.files import new_folder

TEXTS = st.text(
    st.sampled_from("./\\\\:*?\"<>|-_ \n\r\t\0'{}[]&!%@`#,~aZ0é蜂\x1b\x85\u2028\ufeff\ud800\U0001f41dCON"), max_size=60
) | st.text(max_size=60)
ABOUT = CollectionInfo("bees", "", "Lycosa 0")


@given(st.integers(1, 10**7), TEXTS, TEXTS)
def test_a_file_name_is_one_plain_name_anywhere(number, title, path):
    name = file_name(number, title, f"http://a.example/{path}")
    assert re.fullmatch(r"[0-9]{6,}-[a-z0-9]([a-z0-9-]*[a-z0-9])?\.md", name)
    assert len(name) <= 80
    assert PurePosixPath(name).name == PureWindowsPath(name).name == name
    assert not PureWindowsPath(name).is_reserved()


@given(st.integers(1, 10**7), st.integers(1, 10**7), TEXTS, TEXTS)
def test_no_two_pages_share_a_file(one, other, title, path):
    names = {file_name(number, title, f"http://a.example/{path}").lower() for number in (one, other)}
    assert len(names) == len({one, other})


@given(TEXTS, TEXTS)
def test_front_matter_reads_back_as_it_was_written(title, url):
    facts = {"title": title, "url": url, "relevance": 0.5, "at": "2026-11-16T08:30:00.125+00:00", "label": None}
    text = front_matter(facts)
    lines = text.split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("---", "---", 6)
    assert text.splitlines() == lines, "no line end but ours"
    read = yaml.safe_load("\n".join(lines[1:-1]))
    expected = {name: value.encode("utf-8", "replace").decode() for name, value in (("title", title), ("url", url))}
    assert read == {**expected, "relevance": 0.5, "at": datetime(2026, 11, 16, 8, 30, 0, 125_000, UTC)}


@given(TEXTS)
def test_a_text_in_a_card_is_a_text(text):
    assert yaml.safe_load(f"name: {yaml_text(text)}\nlast: 1") == {
        "name": text.encode("utf-8", "replace").decode(),
        "last": 1,
    }


def test_numbers_that_yaml_has_no_word_for_are_left_out():
    assert front_matter({"relevance": float("nan"), "depth": 2}) == "---\ndepth: 2\n---"


def test_a_file_for_each_row(tmp_path):
    rows = [{**row, "markdown": f"Page {row['number']}"} for row in random_rows(12)]
    write_markdown_folder(iter(rows), tmp_path, (*COLUMNS, "markdown"), ABOUT)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 12
    for row, path in zip(rows, files, strict=True):
        head, body = path.read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n", 1)
        assert yaml.safe_load(head)["url"] == row["url"]
        assert yaml.safe_load(head)["title"] == row["title"]
        assert body == f"\nPage {row['number']}\n"


def test_a_large_dataset_has_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_tables, "_BATCH_ROWS", 10)
    monkeypatch.setattr(export_folders, "_SHARD_BYTES", 1000)
    write_dataset_folder(iter(random_rows(35)), tmp_path, COLUMNS, ABOUT)
    files = sorted((tmp_path / "data").iterdir())
    assert [path.name for path in files] == [f"train-{number:05d}.parquet" for number in range(4)]
    numbers = [number for path in files for number in pyarrow.parquet.read_table(path)["number"].to_pylist()]
    assert numbers == list(range(1, 36))


def test_a_dataset_of_nothing_has_its_columns(tmp_path):
    write_dataset_folder(iter(()), tmp_path, COLUMNS, ABOUT)
    assert tuple(pyarrow.parquet.read_table(tmp_path / "data" / "train-00000.parquet").column_names) == COLUMNS


@pytest.mark.parametrize("topic", ["", "bees <b>&amp;</b>\n---\n# heading [x](y)"])
def test_a_card_says_what_the_user_said(tmp_path, topic):
    write_dataset_folder(iter(random_rows(3)), tmp_path, COLUMNS, CollectionInfo('a "b": c', topic, "Lycosa 0"))
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    _, head, body = card.split("---\n", 2)
    assert yaml.safe_load(head)["pretty_name"] == 'a "b": c'
    assert "<b>" not in body.replace("\\<b>", "")
    assert [line for line in body.splitlines() if line.startswith("#")] == ['# a "b": c']


def test_a_new_folder_is_whole_or_not_there(tmp_path):
    with new_folder(tmp_path / "made") as folder:
        (folder / "x").write_text("x")
        assert not (tmp_path / "made").exists()
    assert (tmp_path / "made" / "x").read_text() == "x"
    with pytest.raises(FileExistsError), new_folder(tmp_path / "made"):
        pass
    with pytest.raises(ValueError, match="midway"), new_folder(tmp_path / "never") as folder:
        (folder / "x").write_text("x")
        raise ValueError("midway")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_no_page_reorders_the_text_of_its_file(tmp_path):
    [row] = random_rows(1)
    write_markdown_folder(
        iter([{**row, "markdown": "a\u202eb\u2066c\u2069\u202c \u05d0\u200f\n\n* d"}]),
        tmp_path,
        (*COLUMNS, "markdown"),
        ABOUT,
    )
    [file] = tmp_path.iterdir()
    body = file.read_text(encoding="utf-8").rpartition("---\n")[2]
    assert body == "\nabc \u05d0\u200f\n\n* d\n"


def test_every_language_of_a_card_is_a_text(tmp_path):
    rows = [
        {**row, "language": language} for row, language in zip(random_rows(4), ["no", "on", "de", "nan"], strict=True)
    ]
    with new_folder(tmp_path / "set") as folder:
        write_dataset_folder(iter(rows), folder, COLUMNS, ABOUT)
    _, head, _ = (tmp_path / "set" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(head)["language"] == ["de", "nan", "no", "on"]
