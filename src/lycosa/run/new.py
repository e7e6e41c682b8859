"""Creates a collection: a folder with a recipe, examples and seeds. Makes no requests."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from lycosa.frontier.admission import Scope
from lycosa.recipe import FILE_NAME, read_seeds, recipe_text, seeds_in, toml_value
from lycosa.relevance.examples import Example, examples_in, read_examples
from lycosa.standing import read_in_links, read_traffic
from lycosa.user_config import checked_contact
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import quoted

from .trust import record_made_here

_PRIVATE = 0o700  # whoever may read a database can hold its locks, too


def new_collection(
    folder: Path,
    *,
    topic: str = "",
    examples: Path | Sequence[str | Path] = (),
    negatives: Path | Sequence[str | Path] = (),
    seeds: Path | Sequence[str | Path] = (),
    contact: str = "",
    in_links: Path | None = None,
    traffic: Path | None = None,
    scope: Scope = Scope(),
    pages: int | None = None,
    target: float | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> Path:
    """Creates the folder, which only its owner may read, and returns the path of its recipe; arguments are checked
    before anything is written.

    Examples, negatives and seeds are files with one entry a line, exported bookmarks or OPML, or the entries
    themselves; in-links and traffic are tables from which the importance of pages is learned.

    scope: the scope of every crawl of the collection; must be valid.
    pages: the size of the collection at which crawls stop; None for no limit.
    target: the mean relevance to maintain while important pages are sought, from 0 to 1; None for the default of the
        strategy.
    notify: called with notes on how input was interpreted, such as a host name as a URL.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is there already; choose another name, or go on with: lycosa crawl {quoted(folder)}"
        )
    checked_contact(contact, "--contact")  # raises if it is none; likewise the tables below
    good = _examples(examples, "examples", notify)
    bad = _examples(negatives, "negatives", notify)
    if bad and not good:
        raise UsageError("negatives alone do not name a topic; give --examples too")
    urls = _seeds(seeds, notify)
    _require_encodable((str(folder.absolute()), topic, *scope.urls, *scope.exclude_urls))
    _require_encodable(example.value for example in good + bad if example.kind != "file")
    if in_links is not None:
        read_in_links(in_links)
    if traffic is not None:
        read_traffic(traffic)
    try:
        folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
        recipe_files = {
            "examples": _copy_examples(folder, "good", good),
            "negatives": _copy_examples(folder, "bad", bad),
            "seeds": "",
        }
        if urls:
            recipe_files["seeds"] = "seeds.txt"
            write_file(folder / "seeds.txt", "".join(f"{url}\n" for url in urls))
        text = recipe_text(
            name=folder.absolute().name, topic_text=" ".join(topic.split()), contact=contact, **recipe_files
        )
        tables = {
            "in_links": _copy_table(folder, "in-links.csv", in_links),
            "traffic": _copy_table(folder, "traffic.csv", traffic),
        }
        text = _uncomment_keys(text, {**msgspec.to_builtins(scope), **tables, "pages": pages or 0, "target": target})
        write_file(folder / FILE_NAME, text)
        record_made_here(folder)  # so that its recipe is trusted
    except OSError as error:
        raise CollectionError(f"cannot write {folder}: {error.strerror}") from None
    return folder / FILE_NAME


def _require_encodable(texts: Iterable[str]) -> None:
    """Raises UsageError for text that is not Unicode, as arguments in another encoding than UTF-8 become."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError(f"not text that can be written: {text[:100]!r}; give it in UTF-8") from None


FilesOrLines = Path | Sequence[str | Path]  # a file; or several files and lines


def _examples(source: FilesOrLines, name: str, notify: Callable[[str], None]) -> list[Example]:
    files, lines = _files_and_lines(source)
    examples = [example for file in files for example in read_examples(file, notify=notify)]
    return examples + examples_in((" ".join(line.split()) for line in lines), Path(name), notify=notify)


def _seeds(source: FilesOrLines, notify: Callable[[str], None]) -> list[Url]:
    files, lines = _files_and_lines(source)
    urls = [url for file in files for url in read_seeds(file, notify=notify)]
    return list(dict.fromkeys(urls + seeds_in(lines, "seeds", notify=notify)))


def _files_and_lines(source: FilesOrLines) -> tuple[list[Path], list[str]]:
    entries = [source] if isinstance(source, Path) else source
    files = [entry for entry in entries if isinstance(entry, Path)]
    return files, [entry for entry in entries if isinstance(entry, str)]


def _copy_examples(folder: Path, name: str, examples: list[Example]) -> str:
    """Copies examples into the collection, including files, so that it can be moved and shared."""
    if not examples:
        return ""
    lines = []
    for number, example in enumerate(examples, 1):
        if example.kind == "file":
            path = Path(example.value)
            copy = f"{name}-{number:04d}{path.suffix.lower()}"
            (folder / "examples").mkdir(exist_ok=True)
            shutil.copyfile(path, folder / "examples" / copy)
            lines.append(copy)
        else:
            lines.append(example.value)
    (folder / "examples").mkdir(exist_ok=True)
    write_file(folder / "examples" / f"{name}.txt", "".join(f"{line}\n" for line in lines))
    return f"examples/{name}.txt"


def _copy_table(folder: Path, name: str, table: Path | None) -> str:
    """Copies a table into the collection, for the same reason."""
    if table is None:
        return ""
    copy = f"{name}.gz" if table.suffix.lower() == ".gz" else name
    shutil.copyfile(table, folder / copy)
    return copy


def _uncomment_keys(text: str, values: Mapping[str, str | bool | float | list[str] | None]) -> str:
    """The recipe with commented-out lines replaced by assignments for the keys that have a value."""
    given = {key: value for key, value in values.items() if value or isinstance(value, float)}
    lines = {f"# {key} ": f"{key} = {toml_value(value)}" for key, value in given.items()}

    def assignment(match: re.Match[str]) -> str:
        if match[1] not in lines:
            return match[0]
        blanks = len(match[2]) - len(match[2].rstrip(" "))  # before a comment
        return lines[match[1]] + " " * blanks

    return re.sub(r"^(# \w+ )= ([^#\n]*)", assignment, text, flags=re.MULTILINE)
