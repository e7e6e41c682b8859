"""Which collections are trusted to name code, outside files, proxies and headers: those made by this user.

A collection may come from somebody else, and its recipe decides what a crawl does. Therefore these settings are used
only in a folder that `lycosa new` made for this user, or that the user has inspected and trusted (`lycosa trust`). In
any other folder, a recipe can make a crawl more polite than the default, never less.

A folder has a random identifier in the file `.id`; the record of that identifier is kept among the user's own files,
where no collection writes. A folder that was made here stays trusted when its recipe changes, since its user wrote it,
and when it is moved on its disk, as long as `.id` is the file that was written then. A folder that was declared
trusted, or a copy of one made here, is trusted as long as these settings of its recipe, and any code inside it, stay
the same.
"""

import hashlib
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from os import stat_result
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.errors import disk_errors
from lycosa.collection.folder import check_folder
from lycosa.recipe import FILE_NAME, Logs, Map, Recipe, Requests, StandingSource, Topic, load_recipe
from lycosa.relevance.predicates import Predicate, is_regular_expression
from lycosa.relevance.registry import LINEAR
from lycosa.strategies.registry import STRATEGIES
from lycosa.user_config import data_folder, user_contact
from lycosa.vocabulary.errors import LycosaError, RecipeError, UsageError
from lycosa.vocabulary.files import atomic_write, is_inside, read_regular_file
from lycosa.vocabulary.text import printable, quoted

ID_FILE = ".id"
_ID = re.compile("[0-9a-f]{32}")
_MAX_BYTES = 10_000  # bytes of a record
_FOLDERS_OF_USER = ("peer",)  # subfolders that act in the user's name, and so must be the user's own
_HEADERS_WITHOUT_TRUST = ("accept-language",)  # that the recipe of any folder may set
_CODE_SUFFIXES = frozenset((".py", ".pyc", ".so", ".pyd", ".zip"))
_MAX_CODE_FILES = 1_000
_MAX_CODE_BYTES = 20_000_000  # bytes of one file


class _KnownFolder(Struct, frozen=True):
    """The record of a folder in the user's own files."""

    folder: str  # absolute path
    device: int
    inode: int
    made_here: bool
    digest: str  # of the settings that need trust, when it was made or trusted
    id_changed: int = 0  # ctime of its file `.id`, in nanoseconds


def record_made_here(folder: Path) -> None:
    """Records that a folder was made here; if that cannot be written, the folder will not be trusted."""
    with suppress(OSError, UsageError):
        _record(folder, made_here=True, digest=_digest([]))


def trust_collection(folder: Path) -> list[str]:
    """Trusts a collection in its present state; returns what the user thereby accepts: code, outside files, proxies and
    headers of the recipe, code files in the folder, and settings less polite than the defaults."""
    recipe = load_recipe(folder, for_reading=True)
    with disk_errors(folder):
        accepted = _everything_accepted(folder, recipe)
        _record(folder, made_here=False, digest=_digest(accepted))
        for subfolder in (folder / name for name in _FOLDERS_OF_USER):
            if subfolder.is_dir() and not subfolder.is_symlink():
                _record(subfolder, made_here=True, digest=_digest([]))
                accepted.append(f"{subfolder.name}/ = the key, the friends and the settings of a peer")
    return accepted


def is_made_here(folder: Path) -> bool:
    """Whether a folder was made on this machine, according to its record."""
    record = _recorded_folder(folder)
    try:
        return record is not None and record.made_here and _is_same_folder(folder.stat(), folder, record)
    except OSError:
        return False


def is_this_folder(folder: Path) -> bool:
    """Whether exactly this folder, not a copy, was made or trusted on this machine."""
    record = _recorded_folder(folder)
    try:
        return record is not None and _is_same_folder(folder.stat(), folder, record)
    except OSError:
        return False


def is_trusted(folder: Path) -> bool:
    """Whether the settings that need trust may be used."""
    record = _recorded_folder(folder)
    if record is None:
        return False
    try:
        if record.made_here and _is_same_folder(folder.stat(), folder, record):
            return True
        return record.digest == _digest(_everything_accepted(folder, load_recipe(folder, for_reading=True)))
    except (OSError, LycosaError):
        return False


def check_collection(folder: Path) -> None:
    """Raises for a folder that contains links, pipes or devices, except links made by the user."""
    check_folder(folder, links_allowed=lambda: is_this_folder(folder))


def require_trust(folder: Path) -> None:
    """Raises UsageError if the recipe has settings that need trust and the folder is not trusted."""
    if not (folder / FILE_NAME).exists():
        return
    recipe = load_recipe(folder, for_reading=True)
    settings = settings_to_trust(folder, recipe)
    if settings and _names_code(recipe) and not is_made_here(folder):
        sys.dont_write_bytecode = True  # bytecode files would change the code of the folder
    if settings and not is_trusted(folder):
        raise UsageError(
            f"{folder} was not made on this machine, and its {FILE_NAME} names {printable(', '.join(settings), 300)}; "
            f"look at it, and if you want that: lycosa trust {quoted(folder)}"
        )


def polite_recipe(folder: Path, *, notify: Callable[[str], None] | None = None) -> Recipe:
    """The recipe for making requests: unchanged if the folder is trusted, else at least as polite as the defaults.
    Tells the user what was changed.

    Raises UsageError if the recipe has settings that need trust and the folder is not trusted. Every run takes its
    recipe from here, so that no plug-in that an untrusted recipe names is looked up, and thereby imported.
    """
    require_trust(folder)
    recipe = load_recipe(folder, notify=notify)
    if not (impolite := _impolite_settings(recipe)) or is_trusted(folder):
        return recipe
    if notify is not None:
        notify(
            f"{folder} was not made on this machine: {printable(', '.join(impolite), 300)} in its {FILE_NAME} ignored:"
            " less polite than the default, or another person's contact. Check it; to use it:"
            f" lycosa trust {quoted(folder)}"
        )
    requests, default = recipe.requests, Requests()
    limit = requests.address_limit  # requests in flight to one IP address; None for no limit
    return replace(
        recipe,
        contact=recipe.contact if recipe.contact == user_contact() else "",
        scope=replace(recipe.scope, keep_noindex=False),
        requests=replace(
            requests,
            delay=max(requests.delay, default.delay),
            per_address=min(limit or sys.maxsize, default.address_limit or sys.maxsize),
            site_share=min(requests.site_share, default.site_share),
            concurrency=min(requests.concurrency, default.concurrency),
            retries=min(requests.retries, default.retries),
        ),
    )


def _impolite_settings(recipe: Recipe) -> list[str]:
    """The settings that are less polite than the defaults, as key = value."""
    requests, default = recipe.requests, Requests()
    impolite = []
    if recipe.contact and recipe.contact != user_contact():
        impolite.append(f"contact = {recipe.contact}")
    if recipe.scope.keep_noindex:
        impolite.append("scope.keep_noindex = true")
    if requests.delay < default.delay:
        impolite.append(f"requests.delay = {requests.delay:g}")
    if requests.per_address is not None and not 0 < requests.per_address <= (default.address_limit or 0):
        impolite.append(f"requests.per_address = {requests.per_address}")
    if requests.site_share > default.site_share:
        impolite.append(f"requests.site_share = {requests.site_share:g}")
    if requests.concurrency > default.concurrency:
        impolite.append(f"requests.concurrency = {requests.concurrency}")
    if requests.retries > default.retries:
        impolite.append(f"requests.retries = {requests.retries}")
    return impolite


def without_untrusted_settings(folder: Path, recipe: Recipe) -> Recipe:
    """The recipe, without the settings that need trust if the folder is not trusted."""
    if not settings_to_trust(folder, recipe) or is_trusted(folder):
        return recipe
    return replace(
        recipe,
        topic=Topic(stem=recipe.topic.stem),
        standing=StandingSource(),
        map=Map(),
        logs=Logs(),
        seeds="",
        requests=replace(recipe.requests, proxy="", cookies="", headers={}),
        strategy=recipe.strategy if recipe.strategy in STRATEGIES else Recipe().strategy,
        options=recipe.options if recipe.strategy in STRATEGIES else {},
    )


def allowed_file(folder: Path, name: str) -> Path:
    """The file that a collection names; raises UsageError if it is outside the folder, unless that is trusted."""
    path = folder / name
    if not _is_inside_folder(folder, name) and not is_trusted(folder):
        raise RecipeError(
            f"{folder} was not made on this machine, and names {printable(name, 200)}, which is outside of it; "
            f"look at its {FILE_NAME}, and if you want that: lycosa trust {quoted(folder)}"
        )
    return regular_file_or_folder(path)


def regular_file_or_folder(path: Path) -> Path:
    """A file or folder that a recipe names; raises for a pipe or a device, which could block for ever."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return path  # whoever reads it reports the error
    except ValueError as error:
        raise RecipeError(f"{printable(str(path), 300)} is no file name ({error}); correct it") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise RecipeError(f"{path} is neither a regular file nor a folder; give one of these")
    return path


def settings_to_trust(folder: Path, recipe: Recipe) -> list[str]:
    """The settings that need trust (code, outside files, proxies, headers), as key = value."""
    return [f"{key} = {value}" for key, value in _settings_to_trust(folder, recipe)]


def _settings_to_trust(folder: Path, recipe: Recipe) -> Iterator[tuple[str, str]]:
    topic, requests, standing = recipe.topic, recipe.requests, recipe.standing
    if recipe.strategy not in STRATEGIES:
        yield "strategy", recipe.strategy
    if topic.function:
        yield "topic.function", topic.function
    if topic.model != LINEAR:
        yield "topic.model", topic.model
    yield from (("topic.keywords", rule) for rule in topic.keywords if is_regular_expression(rule))
    if requests.proxy:
        yield "requests.proxy", requests.proxy
    if requests.cookies:
        yield "requests.cookies", requests.cookies
    for name, value in requests.headers.items():
        if name.lower() not in _HEADERS_WITHOUT_TRUST:
            yield f"requests.headers.{name}", value
    files = [
        ("seeds", recipe.seeds),
        ("topic.examples", topic.examples),
        ("topic.negatives", topic.negatives),
        ("standing.in_links", standing.in_links),
        *(("standing.collections", each) for each in standing.collections),
        ("standing.graph", standing.graph),
        ("standing.traffic", standing.traffic),
        ("map.atlas", recipe.map.atlas),
        ("map.taxonomy", recipe.map.taxonomy),
        ("logs.file", recipe.logs.file),
    ]
    if topic.predicate is not None:
        for subpredicate in _subpredicates(topic.predicate):
            if subpredicate.function:
                yield "topic.predicate.function", subpredicate.function
            rules = [
                *(subpredicate.keywords or ()),
                *([subpredicate.url] if isinstance(subpredicate.url, str) else subpredicate.url or ()),
            ]
            yield from (("topic.predicate", rule) for rule in rules if is_regular_expression(rule))
            files.append(("topic.predicate.taxonomy", subpredicate.taxonomy or ""))
    for key, name in files:
        if name and not _is_inside_folder(folder, name):
            yield key, name


def _names_code(recipe: Recipe) -> bool:
    topic = recipe.topic
    subpredicates = _subpredicates(topic.predicate) if topic.predicate is not None else ()
    return (
        recipe.strategy not in STRATEGIES
        or bool(topic.function)
        or topic.model != LINEAR
        or any(subpredicate.function for subpredicate in subpredicates)
    )


def _everything_accepted(folder: Path, recipe: Recipe) -> list[str]:
    """Everything that a user who trusts a folder accepts."""
    code = _code_files(folder) if _names_code(recipe) else ()
    return [*settings_to_trust(folder, recipe), *_impolite_settings(recipe), *code]


def _code_files(folder: Path) -> Iterator[str]:
    """The code files in a folder, which Python may import, with their digests."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _CODE_SUFFIXES and path.is_file())
    if len(paths) > _MAX_CODE_FILES:
        raise UsageError(f"{folder} holds more than {_MAX_CODE_FILES} files of code; put them elsewhere")
    for path in paths:
        digest = hashlib.sha256(read_regular_file(path, _MAX_CODE_BYTES)).hexdigest()
        yield f"{path.relative_to(folder)} = code, SHA-256 {digest[:16]}"


def _subpredicates(predicate: Predicate) -> Iterator[Predicate]:
    yield predicate
    for _, part in predicate.parts():
        yield from _subpredicates(part)


def _is_inside_folder(folder: Path, name: str) -> bool:
    try:
        return is_inside(folder, folder / name)
    except (OSError, ValueError):  # not a possible file name, or a loop of links
        return False


def _digest(entries: list[str]) -> str:
    return hashlib.sha256(msgspec.json.encode(entries)).hexdigest()


# ---------------------------------------------------------------- the records in the user's own files


def _record(folder: Path, *, made_here: bool, digest: str) -> None:
    folder_id = token_hex(16)  # always new: an identifier chosen by somebody else might be that of two folders
    path = _record_file(folder_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    id_file = folder / ID_FILE
    id_file.unlink(missing_ok=True)  # it may be a link
    with id_file.open("x", encoding="ascii") as file:
        file.write(f"{folder_id}\n")
    folder_status = folder.stat()
    id_changed = id_file.stat().st_ctime_ns
    record = _KnownFolder(
        str(folder.resolve()), folder_status.st_dev, folder_status.st_ino, made_here, digest, id_changed
    )
    with atomic_write(path, private=True) as out:
        out.write(msgspec.json.encode(record))


def _recorded_folder(folder: Path) -> _KnownFolder | None:
    folder_id = _id_of(folder)
    if folder_id is None:
        return None
    try:
        return msgspec.json.decode(read_regular_file(_record_file(folder_id), _MAX_BYTES), type=_KnownFolder)
    except (OSError, UsageError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _id_of(folder: Path) -> str | None:
    try:
        folder_id = read_regular_file(folder / ID_FILE, 100).decode("ascii", "replace").strip()
    except OSError:
        return None
    return folder_id if _ID.fullmatch(folder_id) else None


def _record_file(folder_id: str) -> Path:
    return data_folder() / "collections" / f"{folder_id}.json"


def _is_same_folder(folder_status: stat_result, folder: Path, record: _KnownFolder) -> bool:
    """Whether it is the folder itself, not a copy; the device number may change when a disk is mounted again.

    A copy that replaces the folder often gets the same inode, which is free again. It does not get the ctime of the
    file `.id`, which nobody can set.
    """
    is_at_same_path = str(folder.resolve()) == record.folder
    has_same_id_file = (folder / ID_FILE).lstat().st_ctime_ns == record.id_changed
    return (
        has_same_id_file
        and folder_status.st_ino == record.inode
        and (folder_status.st_dev == record.device or is_at_same_path)
    )
