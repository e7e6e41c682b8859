"""The claims of the paper, computed.

A pair is an expansion (how new pages are chosen) and a recrawl policy: OR refetches pages in proportion to their links,
YR in proportion to their yield of new links; YRU half the time so and LDU half the time by link score, otherwise at
random. The lift of pages crawled is how much more likely they are targets than any page with a link; known pages are
those crawled or seen linked to. The rate is the number of crawls (fetches) a day; claims are about the main one.
"""

import math
from collections.abc import Sequence

import numpy as np

from lycosa_lab.results import Claim, ClaimKind
from lycosa_lab.statistics import SIGNIFICANT, PairedTest, finite_or_none, holm, paired_t, summary

from .tables import (
    AI,
    GAI,
    MEASURES,
    PAIRS,
    PAPER_BEST,
    SAMPLE,
    Pair,
    Runs,
    mean_and_error,
    name_of,
    ranked,
    rates_in,
    second_half,
)

COMPARED_POLICIES = ("yr", "yru", "ldu")
PAPER_LIFT = 20.0  # the lift that the paper reports for pages crawled or seen linked to


def gai_or_best(runs: Runs, main_rate: float) -> Claim:
    lifts = {pair: second_half(runs, main_rate, pair, "lift_crawled") for pair in PAIRS}
    best = ranked(runs, main_rate, "lift_crawled")[0][1]
    # Run by run, since runs may differ by their worlds more than by anything else.
    gap = summary([highest - lift for highest, lift in zip(lifts[best], lifts[PAPER_BEST], strict=True)])
    holds = bool(gap.mean <= (0.0 if math.isnan(gap.standard_error) else gap.standard_error))
    others = "; ".join(
        f"by {MEASURES[measure]} {name_of(first[1])} {first[0]:.3g}, {name_of(PAPER_BEST)} in place"
        f" {_rank_of_paper_best(runs, main_rate, measure)} with"
        f" {summary(second_half(runs, main_rate, PAPER_BEST, measure)).mean:.3g}"
        for measure in ("crawl", "discovery", "lift_known")
        for first in ranked(runs, main_rate, measure)[:1]
    )
    conclusion = ", ".join(
        f"{name_of((GAI, policy))} {mean_and_error(lifts[GAI, policy])}" for policy in ("uniform", "yru", "ldu")
    )
    return Claim(
        id="authority-tracking.gai-or-best",
        kind="paper",
        text=f"By the lift of pages crawled over the second half of the time, {name_of(PAPER_BEST)} is the best of"
        f" {len(PAIRS)} combinations, or its runs are behind those of the best by no more than one standard error"
        f" ({main_rate:g} crawls a day)",
        paper="by the figure, expanding by Crawl-GAI and recrawling by OR is best; the conclusion names Crawl-GAI and"
        " Crawl-AI with U and “YDU” instead",
        measured=f"{name_of(PAPER_BEST)} {mean_and_error(lifts[PAPER_BEST])}; best is {name_of(best)}"
        f" {mean_and_error(lifts[best])}; what the conclusion names: {conclusion}; {others}",
        p=None if best == PAPER_BEST else finite_or_none(paired_t(lifts[best], lifts[PAPER_BEST]).p),
        holds=holds,
        reason="" if holds else _why_not_best(runs, main_rate, best),
    )


def _rank_of_paper_best(runs: Runs, main_rate: float, measure: str) -> int:
    return [pair for _, pair in ranked(runs, main_rate, measure)].index(PAPER_BEST) + 1


def _why_not_best(runs: Runs, main_rate: float, best: Pair) -> str:
    crawled_by_paper_best, crawled_by_best = (
        np.mean([run[-1].crawled for run in runs[main_rate, pair]]) for pair in (PAPER_BEST, best)
    )
    if crawled_by_best < 0.95 * crawled_by_paper_best:
        return (
            f"{name_of(best)} ran out of pages to expand to and crawled {crawled_by_best:.0f} pages in all,"
            f" {name_of(PAPER_BEST)} {crawled_by_paper_best:.0f}: of fewer pages a larger share are targets"
        )
    return f"{name_of(best)} reached more targets with as many pages"


def lift_over_20(runs: Runs, main_rate: float, kind: ClaimKind) -> Claim:
    lifts = {pair: summary(second_half(runs, main_rate, pair, "lift_known")) for pair in PAIRS}
    values = second_half(runs, main_rate, PAPER_BEST, "lift_known")
    runs_above = sum(lift > PAPER_LIFT for lift in values)
    crawlers = [pair for pair in PAIRS if pair[0] != SAMPLE]
    lowest = min(crawlers, key=lambda pair: lifts[pair].mean)
    holds = lifts[PAPER_BEST].mean > PAPER_LIFT
    known, discovery = (
        np.mean([getattr(run[-1], measure) for run in runs[main_rate, PAPER_BEST]])
        for measure in ("known", "discovery")
    )
    return Claim(
        id="authority-tracking.lift-over-20",
        kind=kind,
        text=f"Over the second half of the time and in the mean of the runs, a page crawled or seen linked to by"
        f" {name_of(PAPER_BEST)} is more than"
        f" {PAPER_LIFT:g} times as likely a target as any page with a link ({main_rate:g} crawls a day)",
        paper="the union of crawled nodes and frontier nodes are more than 20 times more likely to be target nodes",
        measured=f"{name_of(PAPER_BEST)} {mean_and_error(values)}, over {PAPER_LIFT:g} in {runs_above} of"
        f" {len(values)} runs ({', '.join(f'{lift:.1f}' for lift in values)}); least of the crawlers is"
        f" {name_of(lowest)} {lifts[lowest].mean:.3g}; "
        + ", ".join(
            f"at {rate:g} crawls a day {mean_and_error(second_half(runs, rate, PAPER_BEST, 'lift_known'))}"
            for rate in rates_in(runs)
            if rate != main_rate
        ),
        p=finite_or_none(paired_t(values, [PAPER_LIFT] * len(values)).p),
        holds=holds,
        reason=""
        if holds
        else f"in the end {known:.0f} pages are known, with {discovery:.0%} of the targets among them",
    )


def crawled_lift(runs: Runs, main_rate: float, kind: ClaimKind) -> Claim:
    halves = [
        summary([float(np.mean([point.lift_crawled for point in part])) for part in parts])
        for parts in zip(
            *((run[: len(run) // 2], run[len(run) // 2 :]) for run in runs[main_rate, PAPER_BEST]), strict=True
        )
    ]
    rates = ", ".join(
        f"{mean_and_error(second_half(runs, rate, PAPER_BEST, 'lift_crawled'))} at {rate:g}" for rate in rates_in(runs)
    )
    return Claim(
        id="authority-tracking.crawled-lift",
        kind=kind,
        text=f"The lift of pages crawled by {name_of(PAPER_BEST)}, and whether it rises as the graph grows",
        paper="almost 50 for the best algorithm, rising as the graph grows",
        measured=f"{halves[0].mean:.3g} over the first half of the time, {halves[1].mean:.3g} over the second; by"
        f" crawls a day {rates}",
        holds=None,
    )


def clever_not_better(runs: Runs, main_rate: float) -> Claim:
    means: list[str] = []
    tests: dict[str, PairedTest] = {}
    for measure in ("crawl", "lift_crawled"):
        for expansion in (GAI, AI):
            baseline = second_half(runs, main_rate, (expansion, "or"), measure)
            means.append(f"{MEASURES[measure]} of {expansion} + or {mean_and_error(baseline)}")
            for policy in COMPARED_POLICIES:
                values = second_half(runs, main_rate, (expansion, policy), measure)
                tests[f"{expansion} + {policy} by {MEASURES[measure]}"] = paired_t(values, baseline)
                means[-1] += f", {policy} {mean_and_error(values)}"
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    above = {name: p for name, p in corrected.items() if tests[name].difference > 0}
    failures = [f"{name} (p {p:.2g})" for name, p in above.items() if p < SIGNIFICANT]
    return Claim(
        id="authority-tracking.clever-not-better",
        kind="paper",
        text=f"Policies that go by yield or by link score are not significantly above OR ({main_rate:g} crawls a day;"
        f" paired t-tests, corrected by Holm for there being {len(tests)})",
        paper="the more sophisticated algorithms based on yield and link score do not perform better",
        measured="; ".join(means),
        p=finite_or_none(min(above.values(), default=math.nan)),
        holds=not failures,
        reason=_failures_in_words(failures) if failures else "",
    )


def _failures_in_words(failures: Sequence[str]) -> str:
    with_best = [name for name in failures if name.startswith(GAI)]
    return f"above it are {', '.join(failures)}" + ("" if with_best else f"; with {GAI}, none is")
