"""What a crawl records of its events and skips."""

from pathlib import Path

from lycosa.collection.events import Scores
from lycosa.vocabulary.records import Candidate, Skip, SkipReason, Url
from sessions import NOW, opened


def skip(path: str, reason: SkipReason) -> Skip:
    return Skip(Candidate(Url(f"http://bees.example/{path}"), 0.5), reason)


def test_skips_of_forgotten_urls_leave_no_trace(crawled: Path) -> None:
    with opened(crawled) as session:
        session.journal.record_skips([skip("out", SkipReason.SCOPE), skip("forgotten", SkipReason.FORGOTTEN)])
        urls = list(session.collection.catalog.skipped_for(SkipReason.SCOPE, SkipReason.FORGOTTEN))
    assert "http://bees.example/out" in urls
    assert "http://bees.example/forgotten" not in urls


def test_new_scores_are_recorded_and_recall_is_estimated_anew(crawled: Path) -> None:
    with opened(crawled) as session:
        before = session.recall()
        urls = [str(row.url) for row in session.collection.catalog.pages()]
        session.journal.record(Scores(NOW, "a test", dict.fromkeys(urls, 1.0)))
        after = session.recall()
    assert before is not None and after is not None
    assert after.found == 12 > before.found
