"""The study of topic-driven crawlers: its claims follow from its tables, and fail where they should."""

from typing import ClassVar

import pytest

from lab.study_runs import copy_with_jobs_missing, run_small_as_json
from lycosa_lab.comparison import POINTS
from lycosa_lab.measures import points_along
from lycosa_lab.statistics import holm
from lycosa_lab.studies.topic_driven import TopicDriven
from lycosa_lab.worlds.synthetic import SyntheticWorld

CLAIMS = ["bestfirst-first", "pagerank-last", "methods-agree", "cost"]


class Tiny(TopicDriven):
    scales: ClassVar = {"small": {"topics": 12, "pages": 100, "buffer": 70, "world_pages": 12_000}}


def results_of(folder, *, seed=5, **options):
    world = SyntheticWorld(pages=12_000, topics=12, seed=seed, **options)
    return run_small_as_json(Tiny(), world, seed=seed, out=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def results(folder):
    return results_of(folder)


def test_every_claim_is_computed_and_every_figure_drawn(results, folder) -> None:
    assert [claim["id"] for claim in results["claims"]] == [f"topic-driven.{name}" for name in CLAIMS]
    for picture in ("classifiers", "ranks", "similarity", "cost"):
        drawn = (folder / f"{picture}.svg").read_text()
        assert all(crawler in drawn for crawler in ("best-first", "infospiders", "pagerank")), picture
    for table in ("means", "tests", "curves", "topics"):
        assert len((folder / f"{table}.csv").read_text().splitlines()) == len(results["tables"][table]) + 1


def test_best_first_leads_where_links_know_topics(results) -> None:
    claim = results["claims"][0]
    assert claim["holds"] is True, claim
    assert claim["p"] < 0.05


def test_it_does_not_lead_where_links_ignore_topics(tmp_path) -> None:
    claim = results_of(tmp_path, topical_homophily=0.0)["claims"][0]
    assert claim["holds"] is False
    assert "not ahead" in claim["reason"]


def test_claims_can_be_recomputed_from_the_tables(results) -> None:
    tests = results["tables"]["tests"]
    judged = ["mean similarity", "accepted by rocchio", "accepted by widrow-hoff", "accepted by eg"]
    for claim, leader_pairs in (
        (results["claims"][0], [("best-first", "infospiders"), ("best-first", "pagerank")]),
        (results["claims"][1], [("best-first", "pagerank"), ("infospiders", "pagerank")]),
    ):
        rows = [r for r in tests if r["measure"] in judged and (r["first"], r["second"]) in leader_pairs]
        assert len(rows) == 8
        assert claim["holds"] == all(row["difference"] > 0 and row["holm_p"] < 0.05 for row in rows)
    for measure in {row["measure"] for row in tests}:
        rows = [row for row in tests if row["measure"] == measure and row["p"] is not None]
        assert [row["holm_p"] for row in rows] == pytest.approx(holm([row["p"] for row in rows]), rel=1e-4)


def test_means_are_those_of_the_topics(results) -> None:
    topics = results["tables"]["topics"]
    for crawler in ("best-first", "infospiders", "pagerank"):
        values = [row["similarity"] for row in topics if row["strategy"] == crawler]
        (row,) = (
            r for r in results["tables"]["means"] if r["measure"] == "mean similarity" and r["strategy"] == crawler
        )
        assert row["mean"] == pytest.approx(sum(values) / len(values), rel=1e-4)
        assert row["topics"] == len(values) == 12


def test_the_same_seed_gives_the_same_results_costs_aside(results, folder, tmp_path) -> None:
    def without_costs(found):
        costly = ("processor ms per page", "accepted pages per processor second")
        tables = {
            name: [row for row in rows if row.get("measure") not in costly] for name, rows in found["tables"].items()
        }
        return found["world"], found["claims"][:3], tables

    again = results_of(copy_with_jobs_missing(folder, tmp_path / "again"))
    assert without_costs(again) == without_costs(results)


def test_curves_are_drawn_at_the_points_where_ranks_are_tested() -> None:
    assert {100, 500, 1_000} <= set(points_along(1_000, POINTS))
    assert {30, 150, 300} <= set(points_along(300, POINTS))
    assert points_along(3, POINTS) == [1, 2, 3]
