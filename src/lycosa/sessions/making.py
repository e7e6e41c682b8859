"""A new collection: a folder with a recipe, examples and seeds of its own. Touches no network."""

import shutil
from pathlib import Path

from lycosa.recipe import FILE_NAME, read_seeds, recipe_text
from lycosa.relevance.examples import Example, read_examples
from lycosa.vocabulary.errors import CollectionError, UsageError


def make_collection(
    folder: Path,
    *,
    topic: str = "",
    examples: Path | None = None,
    negatives: Path | None = None,
    seeds: Path | None = None,
    contact: str = "",
) -> Path:
    """Writes the folder and returns the path of its recipe; what is wrong with the files is said before."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; choose another name, or go on with: lycosa crawl {folder}")
    good = read_examples(examples) if examples else []
    bad = read_examples(negatives) if negatives else []
    if bad and not good:
        raise UsageError("negatives alone do not name a topic; give --examples too")
    urls = read_seeds(seeds) if seeds else []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        named = {
            "examples": _keep_examples(folder, "good", good, examples),
            "negatives": _keep_examples(folder, "bad", bad, negatives),
            "seeds": "",
        }
        if urls:
            named["seeds"] = "seeds.txt"
            (folder / "seeds.txt").write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
        text = recipe_text(name=folder.name, topic_text=" ".join(topic.split()), contact=contact, **named)
        (folder / FILE_NAME).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CollectionError(f"cannot write {folder}: {error.strerror}") from None
    return folder / FILE_NAME


def _keep_examples(folder: Path, name: str, examples: list[Example], source: Path | None) -> str:
    """Copies examples into the collection, files included, so that it can be moved and shared."""
    if source is None:
        return ""
    lines = []
    for number, example in enumerate(examples, 1):
        if example.kind == "file":
            path = source.parent / example.value
            copy = f"{name}-{number:04d}{path.suffix.lower()}"
            (folder / "examples").mkdir(exist_ok=True)
            shutil.copyfile(path, folder / "examples" / copy)
            lines.append(copy)
        else:
            lines.append(example.value)
    (folder / "examples").mkdir(exist_ok=True)
    (folder / "examples" / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return f"examples/{name}.txt"
