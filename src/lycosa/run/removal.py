"""Removes forgotten pages from every file of a collection."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lycosa.collection.collection import Collection
from lycosa.collection.upkeep_journal import (
    UpkeepTask,
    delete_upkeep_journal,
    read_upkeep_journal,
    write_upkeep_journal,
)
from lycosa.vocabulary.errors import LycosaError

from .crawl_state import CrawlState
from .forgotten import is_forgotten, is_forgotten_name, read_forgotten
from .reranker import Reranker
from .review import drop_from_review_sample
from .run_settings import Notify
from .steering import forget_steering
from .stored_pages import StoredPages
from .topic import MODEL_FILE, TopicJudge, forget_labels

REPORT_FILE = "report.html"
STANDING_FILE = "standing.json"


def remove_forgotten(
    folder: Path,
    collection: Collection,
    state: CrawlState,
    *,
    topic: TopicJudge,
    pages: StoredPages,
    reranker: Reranker,
    checkpoint: Callable[[], None],
    notify: Notify,
) -> int:
    """Removes what the user has asked to forget, unless that was done; returns the number of removed pages.

    The journal of upkeep records this until it is done, so that after a kill the next session does it again. In a
    rebuild, its journal stays instead, so that after a kill the new catalog is deleted.
    """
    catalog, forgotten = collection.catalog, read_forgotten(folder)
    upkeep = read_upkeep_journal(folder)
    was_killed = upkeep is not None and upkeep.completes_removal
    is_done = sorted(forgotten) == (catalog.get_state("forgotten", list[int]) or [])
    if is_done and not was_killed:
        return 0
    if not collection.is_rebuild:
        write_upkeep_journal(folder, UpkeepTask("forget"))
    is_removed = partial(is_forgotten, forgotten=forgotten)
    forget_labels(folder, is_removed)
    drop_from_review_sample(folder, is_removed)
    forget_steering(folder, partial(is_forgotten_name, forgotten=forgotten))
    state.apply_steering()
    topic.read_examples()
    if any(map(is_removed, catalog.known_urls())):  # otherwise, the report does not name it
        (folder / REPORT_FILE).unlink(missing_ok=True)
    removed = collection.forget(is_removed)
    if removed or was_killed:
        _remove_models(folder, topic)
    pages.forget_terms()
    pages.words.forget(is_removed, {page.number for page in catalog.page_scores()})
    state.forget(forgotten)
    reranker.rerank()
    state.save_seeds()
    catalog.put_state("forgotten", sorted(forgotten))
    checkpoint()
    if collection.compact():
        if not collection.is_rebuild:
            delete_upkeep_journal(folder)
    else:
        notify("another program reads the catalog: the next command removes the last of what was forgotten")
    return removed


def _remove_models(folder: Path, topic: TopicJudge) -> None:
    """Deletes models that may contain words of forgotten pages; the next crawl trains new ones."""
    (folder / STANDING_FILE).unlink(missing_ok=True)
    if not topic.learns or topic.uses_background_negatives or not _has_usable_model(topic):
        (folder / MODEL_FILE).unlink(missing_ok=True)


def _has_usable_model(topic: TopicJudge) -> bool:
    """Whether all examples of the saved model still exist."""
    try:
        return topic.load() is not None
    except LycosaError:
        return False
