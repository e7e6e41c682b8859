"""Pages and their terms, read from the archive."""

from pathlib import Path

import pytest

from lycosa.vocabulary.records import Url
from sessions import opened
from worlds import TOPICAL_SEED


def test_a_page_is_read_again_from_the_archive(crawled: Path) -> None:
    with opened(crawled) as session:
        page = session.pages.page(TOPICAL_SEED)
        assert page is not None and page.title == "Start"
        assert session.pages.page(Url("http://bees.example/none")) is None


def test_terms_are_counted_once_and_then_read_from_the_cache(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(crawled) as session:
        page = session.pages.page(TOPICAL_SEED)
        assert page is not None
        assert dict(session.pages.terms(TOPICAL_SEED)) == dict(page.terms)
        assert session.pages.terms(Url("http://bees.example/none")) is None
    with opened(crawled) as session:
        monkeypatch.setattr(session.pages, "_reader", None)
        assert dict(session.pages.terms(TOPICAL_SEED)) == dict(page.terms)
