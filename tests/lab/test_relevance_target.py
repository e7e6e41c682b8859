"""The study of hunter's target: claims that follow from its tables, a picture, and the same results again."""

from dataclasses import replace
from typing import ClassVar

import pytest

from lab.study_runs import copy_with_jobs_missing, run_small_as_json
from lycosa_lab.statistics import p_of_trend
from lycosa_lab.studies import relevance_target
from lycosa_lab.studies.relevance_target import (
    ADAPTIVE,
    RECENT_RELEVANCE,
    RELEVANCE,
    SETTINGS,
    STATUS,
    RelevanceTargetStudy,
)
from lycosa_lab.worlds.synthetic import SyntheticWorld


class Tiny(RelevanceTargetStudy):
    scales: ClassVar = {
        "small": {"worlds": 3, "pages": 101, "examples": 12, "explored": 20, "world_pages": 1_600, "topics": 4}
    }


def results_of(folder):
    study = Tiny()
    world = SyntheticWorld(**study.default_world(study.scales["small"]), seed=5)
    return run_small_as_json(study, world, seed=5, out=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study") / "target"


@pytest.fixture(scope="module")
def results(folder):
    return results_of(folder)


def column(results, measure, setting):
    return [row[measure] for row in results["tables"]["crawls"] if row["target"] == setting]


def test_its_claims_follow_from_its_tables(results) -> None:
    claims = {claim["id"].partition(".")[2]: claim for claim in results["claims"]}
    assert set(claims) == {"relevance-falls", "standing-rises", "kept", "out-of-reach"}
    falls = p_of_trend([column(results, RELEVANCE, setting) for setting in reversed(SETTINGS)])
    rises = p_of_trend([column(results, STATUS, setting) for setting in SETTINGS])
    assert (claims["relevance-falls"]["p"], claims["standing-rises"]["p"]) == (
        pytest.approx(falls),
        pytest.approx(rises),
    )
    assert claims["relevance-falls"]["holds"] == (falls < 0.05)
    assert claims["standing-rises"]["holds"] == (rises < 0.05)
    in_reach = {setting: column(results, "in reach", setting) for setting in SETTINGS[1:]}
    said = ", ".join(f"{setting} {found.count(False)} of 3" for setting, found in in_reach.items())
    assert claims["out-of-reach"]["measured"] == said
    kept = []
    for setting, found in in_reach.items():
        means = [
            mean
            for mean, is_in_reach in zip(column(results, RECENT_RELEVANCE, setting), found, strict=True)
            if is_in_reach
        ]
        kept += [sum(means) / len(means) >= float(setting.partition("=")[2]) - 0.05] if means else []
    assert claims["kept"]["holds"] == all(kept)


def test_each_target_was_crawled_in_each_world_by_both_strategies(results) -> None:
    rows = results["tables"]["crawls"]
    assert len(rows) == 3 * len((*SETTINGS, *ADAPTIVE))
    assert len({row["world"] for row in rows}) == 3
    assert all(row["pages"] == 101 for row in rows)


def test_its_picture_is_drawn_and_the_same_seed_gives_the_same_results(results, folder, tmp_path) -> None:
    assert (folder / "trade-off.svg").read_text().startswith("<svg")
    again = results_of(copy_with_jobs_missing(folder, tmp_path / "again"))
    assert {**again, "seconds": 0} == {**results, "seconds": 0}


def test_worlds_of_other_seeds_keep_the_options_of_the_given_one(monkeypatch) -> None:
    def stop(world, *_, **__):
        worlds.append(world)
        raise KeyboardInterrupt

    worlds: list[SyntheticWorld] = []
    monkeypatch.setattr(relevance_target, "prepare_test_bed", stop)
    given = SyntheticWorld(pages=1_600, topics=4, sites=9, seed=5)
    with pytest.raises(KeyboardInterrupt):
        Tiny().work(given, (Tiny.scales["small"], None), {"seed": 5_001, "topic": 0})
    assert worlds[0].options == replace(given.options, seed=5_001)
