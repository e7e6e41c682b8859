"""The frontier re-ranked: by the archive, or by new scores alone."""

from pathlib import Path

import pytest

from crawling import pages, waiting
from lycosa.run.reranker import Reranker
from sessions import crawl, opened
from simulation import AboutBees
from worlds import TOPICAL


class AboutShips:
    """A judge of the contrary opinion."""

    def relevance(self, page) -> float:
        return 1.0 - AboutBees().relevance(page)


@pytest.mark.slow
def test_a_new_ranking_is_that_of_a_crawl_that_has_gone_by_the_strategy_from_the_start(crawled: Path) -> None:
    before = waiting(crawled)
    with opened(crawled) as session:
        session.reranker.rerank()
    assert waiting(crawled) == pytest.approx(before)


def test_pages_judged_anew_are_counted_and_ranked_anew(crawled: Path) -> None:
    before = waiting(crawled)
    with opened(crawled) as session:
        relevance, standing = session.reranker.rerank(judge=AboutShips())
        assert standing == {}
        assert set(relevance) == set(pages(crawled))
        assert session.status.relevant == sum(value >= 0.5 for value in relevance.values())
    assert waiting(crawled).keys() == before.keys()
    assert waiting(crawled) != before


def test_a_ranking_left_to_the_next_session_is_done_by_it_once(crawled: Path) -> None:
    before = waiting(crawled)
    with opened(crawled, rerank=False) as session:
        session.state.request_reranking()
        session.frontier.clear_waiting()
    assert waiting(crawled) == {}
    with opened(crawled) as session:
        assert session.state.reranking_due() == "no"
    assert waiting(crawled) == pytest.approx(before)


@pytest.mark.slow
def test_new_scores_re_rank_without_the_archive_if_the_strategy_can(
    bees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl(bees, TOPICAL, 12, strategy="hunter")
    with opened(bees, rerank=False) as session:
        session.state.request_reranking(by_scores=True)
    monkeypatch.setattr(Reranker, "rerank", None)
    with opened(bees) as session:
        assert session.state.reranking_due() == "no"
