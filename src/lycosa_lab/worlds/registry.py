"""The kinds of worlds, and how one is opened by its name, by its folder, or by the file it is made of."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import msgspec

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import JsonValue

from .archives import TAR_SUFFIXES
from .blogs import BlogGraph, BlogPosts
from .debian_docs import DebianDocs
from .documents import Documents
from .file_sharing import FileSharing
from .graphs import GraphWorld
from .lastfm import Lastfm
from .synthetic import SyntheticWorld
from .timed_graphs import TimedGraphWorld, has_times
from .webkb import WebKB
from .wikipedia_schools import WikipediaSchools
from .world import StudyWorld

WORLD_FILE = "world.json"


class WorldKind(NamedTuple):
    """A kind of world; the keywords of `make` are the options that users write after its name."""

    summary: str
    make: Callable[..., StudyWorld]
    load: Callable[[Path], StudyWorld]

    def options(self) -> list[str]:
        """The names of its options."""
        return list(inspect.signature(self.make).parameters)


WORLDS: Mapping[str, WorldKind] = {
    "synthetic": WorldKind(
        "a made-up web with topics, sites, importance, a directory, change and readers",
        SyntheticWorld,
        SyntheticWorld.load,
    ),
    "wikipedia-schools": WorldKind(
        "Wikipedia for Schools 2007, with its subjects as topics", WikipediaSchools, WikipediaSchools.load
    ),
    "webkb": WorldKind("pages of computer science departments, 1997, in seven classes", WebKB, WebKB.load),
    "debian-docs": WorldKind(
        "Debian documentation packages, each mounted as the site it documents", DebianDocs, DebianDocs.load
    ),
    "documents": WorldKind("a folder or tar of HTML files, mounted as hosts", Documents, Documents.load),
    "graph": WorldKind("a graph without text, from an edge list", GraphWorld, GraphWorld.load),
    "timed": WorldKind("a graph whose links have times, from an edge list", TimedGraphWorld, TimedGraphWorld.load),
    "blogs": WorldKind("a made-up graph of blogs, without text", BlogGraph, BlogGraph.load),
    "blog-posts": WorldKind("a made-up graph of blogs whose links have times", BlogPosts, BlogPosts.load),
    "file-sharing": WorldKind(
        "made-up peers that share files: who has what, who asks whom", FileSharing, FileSharing.load
    ),
    "lastfm": WorldKind("people who share the music they listen to, from hetrec2011-lastfm-2k", Lastfm, Lastfm.load),
}


def open_world(
    text: str, *, defaults: Mapping[str, JsonValue] | None = None, default_kind: str = "synthetic"
) -> StudyWorld:
    """The world that a text names: `NAME`, `NAME:key=value,…`, a folder made by `world make`, or a file.

    defaults: options of the kind `default_kind`, for those that the text does not name.
    """
    path = Path(text)
    is_folder = is_file = False
    with suppress(OSError):  # a text too long to be a path, such as a long list of packages
        is_folder, is_file = bool(text) and path.is_dir(), path.is_file()  # Path("") would be the current folder
    if is_folder:
        return load_world(path)
    if is_file:
        is_tar = path.name.endswith(TAR_SUFFIXES)
        name = "documents" if is_tar else "timed" if has_times(path) else "graph"
        return make_world(name, {"path": text})
    name, _, listed = text.partition(":")
    options = _parse_options(listed, text)
    if name == default_kind:
        options = {**{key: str(value) for key, value in (defaults or {}).items()}, **options}
    return make_world(name, options)


def make_world(name: str, options: Mapping[str, str]) -> StudyWorld:
    """A new world of a kind, with options as users write them."""
    kind = _kind(name)
    hints = get_type_hints(kind.make.__init__ if inspect.isclass(kind.make) else kind.make)
    values: dict[str, Any] = {}
    for key, value in options.items():
        if key not in kind.options():
            raise UsageError(f"a {name} world has no option {key!r}; it has {', '.join(kind.options()) or 'none'}")
        try:
            values[key] = _convert(value, hints.get(key, str))
        except msgspec.ValidationError as error:
            raise UsageError(f"{name}:{key}={value} cannot be used: {error}") from None
    try:
        return kind.make(**values)
    except ValueError as error:
        raise UsageError(f"no such {name} world: {error}") from None


def _convert(value: str, type_hint: Any) -> Any:
    if type_hint in (Path, Path | None):
        return Path(value)
    return msgspec.convert(value, type_hint, strict=False)


def _parse_options(listed: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    name = ""
    for item in filter(None, listed.split(",")):
        key, equals, value = item.partition("=")
        if name and not equals:  # one more of a list, as in packages=git-doc,sqlite3-doc
            options[name] += f",{item.strip()}"
            continue
        if not equals or not key:
            raise UsageError(f"{text!r}: {item!r} is not key=value; write for example synthetic:pages=40000,seed=5")
        name = key.strip().replace("-", "_")
        if name in options:
            raise UsageError(f"{text!r} says {name} twice; say it once")
        options[name] = value.strip()
    return options


def _kind(name: str) -> WorldKind:
    if name not in WORLDS:
        raise UsageError(
            f"there is no world {name!r}; there are {', '.join(WORLDS)}, folders made by `lycosa world make`,"
            " edge lists and tars of HTML"
        )
    return WORLDS[name]


def require_empty(folder: Path) -> None:
    """Raises an error if the folder is not empty, or is a file."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty; give another --out")


def save_world(world: StudyWorld, folder: Path) -> None:
    """Writes a world into a new or empty folder; `WORLD_FILE` comes last, so that its presence means completeness."""
    require_empty(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        world.save(folder)
        description = {"format": 1, "kind": world.name, "facts": world.facts}
        write_file(folder / WORLD_FILE, msgspec.json.format(msgspec.json.encode(description), indent=1))
    except OSError as error:
        raise LycosaError(f"cannot write {folder}: {error.strerror}; make room or give another --out") from None


def load_world(folder: Path) -> StudyWorld:
    """The world that `save_world` wrote."""
    path = folder / WORLD_FILE
    try:
        description = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"{folder} is no world (it has no {WORLD_FILE}); make one with: lycosa world make synthetic --out {folder},"
            f" or mount a folder of HTML with documents:path={folder}"
        ) from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read ({error}); make the world again") from None
    name = description.get("kind") if isinstance(description, dict) else None
    if not isinstance(name, str) or description.get("format") != 1:
        raise UsageError(f"{path} is of no format that this version knows; make the world again")
    return _kind(name).load(folder)
