"""Upkeep of a collection between crawls: rebuild, import, label, undo, forget."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from lycosa.collection.collection import lock_collection, recover_rebuild
from lycosa.collection.upkeep_journal import UpkeepTask, read_upkeep_journal, write_upkeep_journal
from lycosa.frontier.durable import waiting_urls
from lycosa.recipe import Recipe, load_recipe
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import host_of, hostname_of, normalise, url_and_host_spellings, without_final_dot

from . import steering
from .forgotten import add_forgotten
from .imports import Importer
from .open import open_for_reading
from .removal import REPORT_FILE
from .run_settings import Notify
from .session import Session, gather_shards
from .topic import PREDICATE_STATE, RULE_STATE, STEM_STATE, TOPIC_HAS_CHANGED, has_topic_changed, is_rule
from .topic_training import LearntLabels, TopicTrainer
from .trust import check_collection, without_untrusted_settings

_MAX_HOSTS = 5  # similar hosts that are named


class ImportedArchive(Struct, frozen=True):
    """The result of an import."""

    pages: int  # number of pages imported
    known: int  # URLs already in the collection, or forgotten
    skipped: int  # records that are not HTML, damaged, or dated in the future
    damage: str  # for people; empty if the file is intact
    left_out: int = 0  # pages that are not kept, because of `noindex` or their language


class Forgotten(Struct, frozen=True):
    """The result of `forget`."""

    name: str  # the URL or host
    pages: int  # number of pages removed
    was_known: bool  # whether the collection had anything of it
    similar_hosts: tuple[str, ...]  # similar hosts of the collection, if the name itself was not known
    report: Path | None  # deleted, because it may name what was forgotten


def rebuild(folder: Path, *, clock: Clock, notify: Notify) -> int:
    """Rebuilds catalog, search index and frontier from the archive; returns the number of pages."""
    recipe = load_recipe(folder, notify=notify)
    scored_by = _scored_by(folder)
    with Session(folder, recipe, clock=clock, notify=notify, rebuild=True, drops_untrusted_settings=True) as session:
        catalog = session.collection.catalog
        for key, value in scored_by.items():
            catalog.put_state(key, value)
        if has_topic_changed(recipe.topic, folder, catalog):
            notify(TOPIC_HAS_CHANGED)
        for file, records in session.collection.archive.unreadable_records.items():
            notify(
                f"{counted(records, 'record')} {'was' if records == 1 else 'were'} left unread in {file}: written by a "
                "newer Lycosa or another program; import its pages with: lycosa import"
            )
        for file, size in session.collection.archive.damaged_bytes.items():
            notify(f"{size:,} bytes of {file} are damaged and unreadable; restore the file from a copy if you have one")
        return session.status.pages


def _scored_by(folder: Path) -> dict[str, JsonValue]:
    """How the pages were scored, by the catalog; the archive has the scores alone. Empty if the catalog is unusable."""
    try:
        with open_for_reading(folder) as collection:
            states = {key: collection.catalog.get_state(key) for key in (STEM_STATE, PREDICATE_STATE, RULE_STATE)}
    except LycosaError:
        return {}
    return {key: value for key, value in states.items() if value is not None}


def import_archive(folder: Path, path: Path, *, clock: Clock, notify: Notify) -> ImportedArchive:
    """Imports the HTML pages of a WARC file, with the time at which they were fetched."""
    with Session(folder, load_recipe(folder, notify=notify), clock=clock, notify=notify) as session:
        importer = Importer(session)
        fetches = importer.pages_in(path)
        read = known = 0
        pages_before = session.status.pages
        for fetch in fetches:
            if importer.is_known(fetch.url):
                known += 1
                continue
            importer.add(fetch, {"imported from": path.name})
            read += 1
            if read % 1_000 == 0:
                notify(f"{read:,} pages read")
        pages = session.status.pages - pages_before
        return ImportedArchive(pages, known, fetches.skipped, fetches.damage, left_out=read - pages)


def label(folder: Path, labels: dict[Url, bool], *, clock: Clock, notify: Notify) -> LearntLabels:
    """Records labels, good and bad, and trains the model once. The labels are saved first."""
    recipe = load_recipe(folder, notify=notify)
    require_learning(folder, recipe)
    with Session(folder, recipe, clock=clock, notify=notify, rerank=False) as session:
        if labels:  # otherwise, those in the file are learnt
            steering.label(folder, labels)
        return TopicTrainer(session).learn_labels("pages were labelled")


def rank_waiting(folder: Path, *, clock: Clock, notify: Notify) -> None:
    """Ranks the waiting URLs by what was learnt, as the next crawl would when it begins."""
    with Session(folder, load_recipe(folder, notify=notify), clock=clock, notify=notify):
        pass


def require_learning(folder: Path, recipe: Recipe) -> None:
    """Raises UsageError if the topic does not learn from labels."""
    if is_rule(recipe.topic):
        raise UsageError(f"{folder}: the recipe's topic is a rule, which learns nothing from labels; change the rule")


def undo(folder: Path, *, clock: Clock, notify: Notify) -> steering.SteeringCommand | None:
    """Undoes the last labels, block or boost and returns it; None if there is none."""
    with Session(folder, load_recipe(folder), clock=clock, notify=notify, rerank=False) as session:
        command = steering.undo(folder)
        if command is not None and command.action == "label":
            TopicTrainer(session).learn_labels("labels were taken back")
        session.state.apply_steering()
        return command


def forget(folder: Path, what: str, *, clock: Clock, notify: Notify) -> Forgotten:
    """Removes a URL, or everything of a host, from all files, and never fetches it again."""
    name = _url_or_host(what)
    recipe = load_recipe(folder, notify=notify)

    def is_named(url: Url) -> bool:
        return name in url_and_host_spellings(url)

    with Session(
        folder, recipe, clock=clock, notify=notify, drops_untrusted_settings=True
    ) as session:  # raises if it is not writable
        catalog = session.collection.catalog
        with catalog.reporting_errors():
            known = [*catalog.known_urls(), *waiting_urls(catalog.connection)]
    was_known = any(map(is_named, known))
    similar_hosts = () if was_known else _hosts_like(name, known)
    if "*" in name and not was_known:
        hint = f"; hosts that it may mean: {', '.join(similar_hosts)}" if similar_hosts else ""
        raise UsageError(f"{what!r} is a pattern, and forget takes a URL or the whole name of a host{hint}")
    report = folder / REPORT_FILE
    has_report = report.exists()
    write_upkeep_journal(folder, UpkeepTask("forget"))  # from here on, it will be forgotten even after a kill
    add_forgotten(folder, name)
    with Session(folder, recipe, clock=clock, notify=notify, drops_untrusted_settings=True) as session:
        pages = session.pages_forgotten
    return Forgotten(name, pages, was_known, similar_hosts, report if has_report and not report.exists() else None)


def finish_upkeep(folder: Path, *, clock: Clock, notify: Notify = lambda line: None) -> None:
    """Finishes a removal that was interrupted by a kill, finishes or undoes a rebuild, and gathers shards; tells the
    user.

    If another process uses the collection or it is not writable, this is left to the next command.
    """
    check_collection(folder)
    upkeep = read_upkeep_journal(folder)
    if upkeep is not None and upkeep.task == "rebuild":
        if message := recover_rebuild(folder):
            notify(message)
        upkeep = read_upkeep_journal(folder)  # of a removal that the rebuild was to complete
    if upkeep is None or upkeep.task == "rebuild":
        return
    if upkeep.task == "shards":
        _gather_unless_crawling(folder, clock=clock, notify=notify)
        return
    try:
        with Session(folder, load_recipe(folder, for_reading=True), clock=clock, drops_untrusted_settings=True):
            pass
    except CollectionError as error:
        notify(f"an interrupted removal cannot be completed yet: {error}")
        return
    notify("the interrupted removal is now complete")


def _gather_unless_crawling(folder: Path, *, clock: Clock, notify: Notify) -> None:
    try:
        lock_collection(folder).close()
    except CollectionError:
        return  # workers are crawling, or the folder cannot be written: the collection is as it was before them
    try:
        recipe = without_untrusted_settings(folder, load_recipe(folder, for_reading=True))
        gather_shards(folder, recipe, clock=clock, notify=notify, drops_untrusted_settings=True)
    except CollectionError as error:
        notify(f"the pages of a crawl by several workers, which was broken off, cannot be gathered yet: {error}")


def _hosts_like(name: str, known: Iterable[Url]) -> tuple[str, ...]:
    """A few hosts that end with a name, or match it as a pattern."""
    host = hostname_of(Url(name)) if "://" in name else name
    hosts = {
        known_host
        for known_host in map(hostname_of, known)
        if fnmatchcase(known_host, host) or known_host.endswith(f".{host}")
    }
    return tuple(sorted(hosts)[:_MAX_HOSTS])


def _url_or_host(text: str) -> str:
    if "://" in text:
        url = normalise(text)
        if url is None:
            raise UsageError(f"not a URL: {text!r}; give a URL, or a host such as example.org")
        return url
    host = without_final_dot(text.strip().lower().strip("/"))
    if "/" in host or not host:
        raise UsageError(f"neither a URL nor a host: {text!r}; write http://… or a host such as example.org")
    url = None if set(host) & set("\\@?#") else normalise(f"http://{host}/")
    return host if url is None else host_of(url)  # as in URLs: xn--bcher-kva.example for bücher.example
