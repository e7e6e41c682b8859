"""Taxonomies of topics: trained on folders of examples, saved, and loaded."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import msgspec

from lycosa.reading import page_of_html, page_of_text
from lycosa.reading.decode import decode
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import is_inside, output_file, read_user_file
from lycosa.vocabulary.records import Page, Url

MAX_EXAMPLE_BYTES = 2_000_000  # bytes read of a file
_MAX_FILES = 100_000  # of one topic
MAX_TAXONOMY_BYTES = 500_000_000  # bytes of a saved taxonomy
_HTML, _TEXT = frozenset((".html", ".htm", ".xhtml")), frozenset((".txt", ".md", ".text"))


def load_taxonomy(path: Path, *, seed: int = 0) -> Taxonomy:
    """The taxonomy saved in a file, or trained on a folder with a subfolder of example pages for each topic.

    seed: of the random choice among the pages of a topic with too many.
    """
    try:
        if path.is_dir():
            return Taxonomy.train(examples_in_folders(path), seed=seed)
        content = read_user_file(path, MAX_TAXONOMY_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read the taxonomy {path}: {error.strerror}") from None
    try:
        saved = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a taxonomy ({error}); learn one with: lycosa map topics FOLDER") from None
    try:
        return Taxonomy.from_plain(saved, source=str(path))
    except LycosaError as error:
        raise UsageError(str(error)) from None


class UnstemmedRelevance:
    """A model of unstemmed words, for pages whose terms may be stemmed."""

    def __init__(self, model: Relevance):
        self._model = model

    def relevance(self, page: Page) -> float:
        return self._model.relevance(page.as_written)


def examples_in_folders(folder: Path) -> Mapping[str, list[Page]]:
    """The pages (.html, .txt) in each subfolder, and below it, by the name of the subfolder."""
    try:
        topics = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        examples = {topic.name: [_page(path) for path in _example_files(topic, folder)] for topic in topics}
    except OSError as error:
        raise UsageError(f"cannot read {error.filename or folder}: {error.strerror}") from None
    for topic, pages in examples.items():
        if not pages:
            raise UsageError(f"{folder / topic} has no example page; put .html or .txt files there")
    if len(examples) < 2:
        raise UsageError(f"{folder} needs a folder of example pages for each of two topics or more")
    return examples


def save_taxonomy(taxonomy: Taxonomy, path: Path) -> None:
    """Saves a taxonomy atomically, for `load_taxonomy`."""
    with output_file(path) as file:
        file.write(msgspec.json.encode(taxonomy.to_plain()))


def _example_files(topic: Path, folder: Path) -> list[Path]:
    """The example pages of a topic; links out of the folder are ignored, since it may be untrusted."""
    if not is_inside(folder, topic):
        return []
    paths = sorted(islice(topic.rglob("*"), _MAX_FILES))
    return [
        path for path in paths if path.suffix.lower() in _HTML | _TEXT and path.is_file() and is_inside(folder, path)
    ]


def _page(path: Path) -> Page:
    with path.open("rb") as file:
        content = file.read(MAX_EXAMPLE_BYTES)
    text = decode(content, "")
    url = Url(f"http://examples.invalid/{path.name}")
    return page_of_html(url, text) if path.suffix.lower() in _HTML else page_of_text(url, "", text)
