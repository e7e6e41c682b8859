"""The three studies of utility: every claim computed, drawn, repeatable, and recomputable from its tables."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

import pytest

from lab.study_runs import copy_with_jobs_missing, run_small_as_json, texts_made_once
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.crawl_tables import CrawlTables
from lycosa_lab.statistics import p_of_trend
from lycosa_lab.studies.adaptive_utility import ADAPTIVE, AdaptiveUtility
from lycosa_lab.studies.adaptive_utility.claims import (
    early_alpha,
    late_alpha,
    status_above_fixed_half,
    status_above_topic_only,
    topicality_comparable,
)
from lycosa_lab.studies.inlinks_benchmark import InlinksBenchmark, _advantage_by_noise
from lycosa_lab.studies.utility_tradeoff import COBB_DOUGLAS, UtilityTradeoff
from lycosa_lab.test_bed import examples_of
from lycosa_lab.worlds.synthetic import SyntheticWorld

TINY = {"topics": 4, "pages": 150, "examples": 30, "explored": 30, "sampled": 30, "of": 50, "world_pages": 12_000}


class TinyTradeoff(UtilityTradeoff):
    scales: ClassVar = {"small": TINY}


class TinyAdaptive(AdaptiveUtility):
    scales: ClassVar = {"small": TINY | {"long_pages": 225}}


class TinyBenchmark(InlinksBenchmark):
    scales: ClassVar = {
        "small": TINY
        | {
            "noises": [0.0, 4.0],
            "noise_topics": 3,
            "noise_pages": 60,
            "noise_world_pages": 4_000,
            "noise_examples": 12,
        }
    }


@pytest.fixture(scope="module")
def world():
    """By default, the three studies have the same one."""
    one, *others = (
        study().default_world(study.scales["small"]) for study in (TinyTradeoff, TinyAdaptive, TinyBenchmark)
    )
    assert others == [one, one]
    made = SyntheticWorld(**one, seed=5)
    with texts_made_once(made):
        yield made


def results_of(study, world, folder):
    return run_small_as_json(study, world, seed=5, out=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def tradeoff(world, folder):
    return results_of(TinyTradeoff(), world, folder / "tradeoff")


@pytest.fixture(scope="module")
def adaptive(world, folder):
    return results_of(TinyAdaptive(), world, folder / "adaptive")


@pytest.fixture(scope="module")
def benchmark(world, folder):
    return results_of(TinyBenchmark(), world, folder / "benchmark")


def claims_of(results):
    return {claim["id"].partition(".")[2]: claim for claim in results["claims"]}


def means_of(results, measure, table="means"):
    return {row["strategy"]: row["mean"] for row in results["tables"][table] if row["measure"] == measure}


def test_of(results, measure, first, second, table="tests"):
    """The row of a pair, the difference being first less second."""
    for row in results["tables"][table]:
        if row["measure"] == measure and {row["first"], row["second"]} == {first, second}:
            return row | {"difference": row["difference"] * (1 if row["first"] == first else -1)}
    raise LookupError(measure)


test_of.__test__ = False


def test_the_tradeoff_computes_all_its_claims_and_draws_its_figures(tradeoff, folder) -> None:
    named = {"topicality-highest-at-one", "status-highest-at-zero", "trend", "half-beats-one-on-status"}
    assert named | {"half-stays-topical", "cobb-douglas-vs-linear", "evaluators"} == set(claims_of(tradeoff))
    for picture in ("topicality", "topicality-by-weight", "status", "status-by-weight", "linear-status", "map-half"):
        assert (folder / "tradeoff" / f"{picture}.svg").read_text().startswith("<svg")


def test_claims_of_the_tradeoff_follow_from_its_tables(tradeoff) -> None:
    claims = claims_of(tradeoff)
    topicality, status = means_of(tradeoff, "topicality"), means_of(tradeoff, "status")
    assert claims["topicality-highest-at-one"]["holds"] == (max(COBB_DOUGLAS, key=topicality.get) == "α=1")
    assert claims["status-highest-at-zero"]["holds"] == (max(COBB_DOUGLAS, key=status.get) == "α=0")
    assert claims["half-stays-topical"]["holds"] == (topicality["α=0.5"] >= 0.85 * topicality["α=1"])
    row = test_of(tradeoff, "status", "α=0.5", "α=1")
    assert claims["half-beats-one-on-status"]["holds"] == (row["difference"] > 0 and row["p"] < 0.05)
    rows = tradeoff["tables"]["topics"]
    rising = p_of_trend([[row["topicality"] for row in rows if row["setting"] == alpha] for alpha in COBB_DOUGLAS])
    falling = p_of_trend([[row["status"] for row in rows if row["setting"] == alpha] for alpha in COBB_DOUGLAS[::-1]])
    assert claims["trend"]["p"] == pytest.approx(max(rising, falling), rel=1e-4)
    assert claims["trend"]["holds"] == (max(rising, falling) < 0.05)


def test_the_extremes_of_the_weights_differ_as_they_must(tradeoff) -> None:
    topicality, status = means_of(tradeoff, "true topicality"), means_of(tradeoff, "status of all pages")
    assert topicality["α=1"] > topicality["α=0"]
    assert status["α=0"] > status["α=1"]


def test_the_adaptive_study_computes_all_its_claims_and_draws_its_figures(adaptive, folder) -> None:
    named = {"status-above-constant-half", "topicality-comparable", "alpha-trajectories", "long-crawl"}
    assert named | {"other-status-source", "ranked", "left-to-gain"} <= set(claims_of(adaptive))
    for picture in ("topicality", "status-by-target", "alpha", "long-status", "map-adaptive", "front"):
        assert (folder / "adaptive" / f"{picture}.svg").read_text().startswith("<svg")


def test_claims_of_the_adaptive_study_follow_from_its_tables(adaptive) -> None:
    claims = claims_of(adaptive)
    rows = [test_of(adaptive, "status", target, "α=0.5") for target in ADAPTIVE[:3]]
    assert claims["status-above-constant-half"]["holds"] == all(r["difference"] > 0 and r["p"] < 0.05 for r in rows)
    alphas = {
        target: [row["alpha"] for row in adaptive["tables"]["alpha"] if row["setting"] == target] for target in ADAPTIVE
    }
    holds = early_alpha(alphas["δ=0.8"]) > 0.5 < early_alpha(alphas["δ=0.9"]) and early_alpha(alphas["δ=0.6"]) < 0.5
    holds &= late_alpha(alphas["δ=0.9"]) > late_alpha(alphas["δ=0.6"])
    assert claims["alpha-trajectories"]["holds"] == holds
    for claim, tables in (("long-crawl", "long_"), ("other-status-source", "other_")):
        row = test_of(adaptive, "status", "δ=0.7", "α=1", f"{tables}tests")
        topicality = means_of(adaptive, "topicality", f"{tables}means")
        kept = topicality["δ=0.7"] >= 0.85 * topicality["α=1"]
        assert claims[claim]["holds"] == (row["difference"] > 0 and row["p"] < 0.05 and kept)


def test_a_higher_target_ends_with_a_higher_weight_on_topicality(adaptive) -> None:
    last = {row["setting"]: row["alpha"] for row in adaptive["tables"]["alpha"]}  # the last row of each stays
    assert last["δ=0.6"] < last["δ=0.9"]
    assert early_alpha([0.5, 0.45, 0.52, *[0.9] * 27]) == 0.45  # of the first three
    assert late_alpha([0.1] * 18 + [0.6, 0.8]) == pytest.approx(0.7)


def made_up_tables(
    *,
    status: Mapping[str, float] | None = None,
    topicality: Mapping[str, float] | None = None,
    alpha: Mapping[str, float] | None = None,
    shift: float = 0.001,
) -> CrawlTables:
    """Tables of three topics in which each setting has these values, give or take little; 1 unless given."""
    settings = ["α=0.5", *ADAPTIVE, "α=1"]
    outcomes = [
        {
            "crawls": {
                setting: {
                    "pages": 10,
                    "curves": {
                        "status": [(status or {}).get(setting, 1.0) + change * number],
                        "topicality": [(topicality or {}).get(setting, 1.0) + change * number],
                    },
                    "alpha": [(alpha or {}).get(setting, 0.5)],
                }
                for number, setting in enumerate(settings)
            }
        }
        for change in (0.0, shift, -shift)
    ]
    return CrawlTables(outcomes, settings, pages=10)


def test_why_a_status_is_not_above_is_told_of_the_settings_that_failed_alone() -> None:
    status = {"α=0.5": 1.0, "δ=0.6": 2.0, "δ=0.7": 0.5, "δ=0.8": 2.0}
    found = status_above_fixed_half(made_up_tables(status=status, alpha={"δ=0.7": 0.3, "δ=0.8": 0.9}))
    assert found.reason == "δ=0.7 not higher, or not significantly; although α does not end above .5"


def test_comparable_topicality_does_not_depend_on_a_target_of_which_it_says_nothing() -> None:
    topicality = {"δ=0.9": 2.0}
    assert topicality_comparable(made_up_tables(topicality=topicality)).holds is True
    assert topicality_comparable(made_up_tables(topicality=topicality | {"δ=0.6": math.nan})).holds is True
    assert topicality_comparable(made_up_tables(topicality=topicality | {"δ=0.8": math.nan})).holds is None


def test_without_a_test_a_claim_is_only_reported() -> None:
    unknown = made_up_tables(status={"δ=0.6": 2.0, "δ=0.7": math.nan, "δ=0.8": 2.0})
    share_unknown = made_up_tables(status={"δ=0.7": 2.0}, topicality={"α=1": 0.0})
    for claim in (
        status_above_fixed_half(unknown),
        unknown.lead_claim("status", "δ=0.7", "α=0.5", id="id", text="text", paper="paper"),
        status_above_topic_only(share_unknown, "long-crawl", "Here", "paper"),
    ):
        assert (claim.holds, claim.reason) == (None, "")


def test_a_claim_that_fails_in_one_setting_has_failed_even_without_a_test_of_another() -> None:
    claim = status_above_fixed_half(made_up_tables(status={"δ=0.6": 0.5, "δ=0.7": math.nan, "δ=0.8": 2.0}))
    assert claim.holds is False
    assert claim.reason.startswith("δ=0.6 not higher")
    low = made_up_tables(status={"δ=0.7": 0.5}, topicality={"α=1": 0.0}, shift=0.0)
    claim = status_above_topic_only(low, "long-crawl", "Here", "paper")
    assert (claim.holds, claim.reason) == (False, "status not higher, or not significantly")


def noise_row(noise: float, difference: float, p: float | None) -> dict[str, Any]:
    return {
        "feature_noise": noise, "status_difference": difference, "status_p": p, "standing_rank_correlation": 0.5
    }  # fmt: skip


def test_the_edge_is_lost_where_it_does_not_come_back() -> None:
    rows = [noise_row(0.5, 1.0, 0.2), noise_row(1.0, 1.0, 0.0), noise_row(2.0, -1.0, 0.0), noise_row(4.0, 1.0, None)]
    assert _advantage_by_noise(rows).measured.startswith("the edge is lost from noise 2 on; noise 0.5: +1.000 (p 0.2;")
    assert "noise 1: +1.000 (p 0;" in _advantage_by_noise(rows).measured
    assert "noise 4: +1.000 (p nan;" in _advantage_by_noise(rows).measured
    assert _advantage_by_noise(rows[:2]).measured.startswith("the edge is not lost")


def test_a_noisy_world_with_fewer_topics_than_asked_for_has_a_job_for_each(world) -> None:
    study = TinyBenchmark()
    size = {**study.scales["small"], "noise_topics": 20, "noise_world_pages": 1_200}
    jobs = [job for job in study.jobs(world, size, 1) if "noise" in job]
    beds = study.prepare(world, {**size, "noises": size["noises"][:1]}, 1)
    topics = len(beds[size["noises"][0]].topics)
    assert 2 <= topics < 20
    assert len(jobs) == topics * len(size["noises"])


def test_one_topic_is_refused_whatever_the_world_has(world) -> None:
    with pytest.raises(UsageError, match="1 topic asked for, and at least 2 are needed"):
        examples_of(world, topics=1, per_class=5, seed=1)


def test_who_knows_the_truth_is_beyond_all_others(adaptive) -> None:
    front = {row["setting"]: row for row in adaptive["tables"]["front"]}
    best = front["oracle α=0.5"]
    assert all(best["true topicality"] >= row["true topicality"] for row in front.values())
    assert front["oracle α=0"]["status of all pages"] > front["α=0"]["status of all pages"]


def test_the_benchmark_computes_all_its_claims_and_draws_its_figures(benchmark, folder) -> None:
    named = {"model-beats-inlinks-on-status", "equal-topicality", "diversity", "reliability", "feature-noise"}
    assert named <= set(claims_of(benchmark))
    for picture in ("topicality", "status", "diversity", "reliability", "noise"):
        drawn = (folder / "benchmark" / f"{picture}.svg").read_text()
        assert "model" in drawn
        assert "in-links" in drawn


def test_claims_of_the_benchmark_follow_from_its_tables(benchmark) -> None:
    claims = claims_of(benchmark)
    status, topicality, reliability = (
        test_of(benchmark, kind, "model", "in-links") for kind in ("status", "topicality", "reliability")
    )
    assert claims["model-beats-inlinks-on-status"]["holds"] == (status["difference"] > 0 and status["p"] < 0.05)
    assert claims["equal-topicality"]["holds"] == (not topicality["p"] < 0.05)
    assert claims["reliability"]["holds"] == (reliability["difference"] > 0 and reliability["p"] < 0.05)
    assert claims["diversity"]["holds"] is None


def test_noise_in_the_features_spoils_the_model(benchmark) -> None:
    clear, noisy = benchmark["tables"]["noise"]
    assert (clear["feature_noise"], noisy["feature_noise"]) == (0.0, 4.0)
    assert clear["standing_rank_correlation"] > noisy["standing_rank_correlation"]
    assert clear["topics"] == noisy["topics"] == 3


def test_the_same_seed_gives_the_same_results(world, tradeoff, benchmark, folder, tmp_path) -> None:
    for study, name, before in (
        (TinyTradeoff(), "tradeoff", tradeoff),
        (TinyBenchmark(), "benchmark", benchmark),
    ):
        again = results_of(
            study, type(world)(**asdict(world.options)), copy_with_jobs_missing(folder / name, tmp_path / name)
        )
        assert {**again, "seconds": 0} == {**before, "seconds": 0}


def test_a_trend_is_told_from_none() -> None:
    rising = [[0.1, 0.2, 0.15, 0.1], [0.3, 0.25, 0.3, 0.2], [0.5, 0.4, 0.6, 0.5]]
    assert p_of_trend(rising) < 0.05
    assert p_of_trend(rising[::-1]) > 0.9
    assert p_of_trend(rising[:2]) != p_of_trend(rising[:2])  # two columns are no trend: not a number
    assert p_of_trend([[*column, float("nan")] for column in rising]) == p_of_trend(rising)
