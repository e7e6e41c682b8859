from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import Example, read_examples
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.url_files import MAX_BYTES


def _file(folder: Path, content: str | bytes) -> Path:
    path = folder / "pos.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_urls_files_and_texts_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "page one.html").write_text("<p>x")
    path = _file(
        tmp_path,
        "\ufeff# mine\n\nHTTP://Site.example/a#b\r\npage one.html\n  # no\nWolf spiders hunt; see http://x.y/\n",
    )
    assert read_examples(path) == [
        Example("url", "http://site.example/a", 3),
        Example("file", str(tmp_path / "page one.html"), 4),
        Example("text", "Wolf spiders hunt; see http://x.y/", 6),
    ]


@pytest.mark.parametrize(
    "line", ["http://", "http://bad host/", "missing.html", "word", "https://a.example/b c", "x" * 9999]
)
def test_a_line_that_is_nothing_is_named(tmp_path: Path, line: str) -> None:
    path = _file(tmp_path, f"# first\n{line}\n")
    with pytest.raises(RecipeError) as told:
        read_examples(path)
    assert str(told.value).startswith(f"{path}:2: ")
    assert "\n" not in str(told.value) and len(str(told.value)) < len(str(path)) + 250


@pytest.mark.parametrize("content", ["", "\n# only remarks\n", b"\xff\xfe\xff", b"a b\n" * (MAX_BYTES // 4 + 1)])
def test_files_without_examples_are_told(tmp_path: Path, content: str | bytes) -> None:
    with pytest.raises(RecipeError, match=r"pos\.txt"):
        read_examples(_file(tmp_path, content))


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="cannot read"):
        read_examples(tmp_path / "none.txt")
    with pytest.raises(RecipeError, match="cannot read"):
        read_examples(tmp_path)


@given(content=st.binary(max_size=200))
def test_any_file_gives_examples_or_says_why_not(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = _file(tmp_path_factory.mktemp("any"), content)
    try:
        assert read_examples(path)
    except RecipeError as told:
        assert "pos.txt" in str(told)
