"""The claims of the paper and open questions, computed, with reasons why a claim fails.

P(U) is the share of the crawled pages that satisfy the predicate of the crawl. Crawls are told apart by their names,
the constants of `shared`; those called *listed* start from pages that the world's directory lists.
"""

from lycosa_lab.results import Claim
from lycosa_lab.statistics import SIGNIFICANT, PairedTest, finite_or_none, holds_or_none, summary

from .shared import (
    BEST_FIRST_LISTED,
    COLLABORATIVE,
    COLLABORATIVE_LISTED,
    COMBINED,
    COMBINED_LISTED,
    DECAYED_LOGS,
    DRAWS,
    GUIDED_LISTED,
    INTELLIGENT,
    INTELLIGENT_LISTED,
    INTELLIGENT_RUNS,
    REDUCED_LOGS,
    SHUFFLED,
    SINGLE_FACTORS,
)
from .tables import CollaborativeTables, first_tenth, second_tenth

STUDY = "collaborative"


def all_claims(tables: CollaborativeTables, *, is_generated: bool) -> list[Claim]:
    """All claims; in a world that is not generated, whether readers are better than links is only reported."""
    return [
        beats_intelligent(tables, is_generated=is_generated),
        combined_best(tables),
        learns(tables),
        factors(tables),
        privacy(tables),
        control(tables),
        listed_starts(tables),
    ]


def beats_intelligent(tables: CollaborativeTables, *, is_generated: bool) -> Claim:
    test = tables.gain(COLLABORATIVE, INTELLIGENT)
    holds = holds_or_none(test.is_gain_or_unknown, test.p)
    run_means = [summary(tables.values(crawl_name)).mean for crawl_name in INTELLIGENT_RUNS]
    fields = "; ".join(
        f"{outcome['aim']} {outcome['crawls'][COLLABORATIVE]['harvest']:.1%} against"
        f" {outcome['crawls'][INTELLIGENT]['harvest']:.1%}"
        for outcome in tables.largest_fields()
    )
    return Claim(
        id=f"{STUDY}.beats-intelligent",
        kind="paper",
        text="One run of the collaborative crawler without seeds ends with a higher P(U) than the best of"
        f" {len(INTELLIGENT_RUNS)} runs of the intelligent crawler from different starts"
        f" (paired over topics, p < {SIGNIFICANT})",
        paper="a single execution significantly more effective than the best of five (SPORTS and ARTS; curves only)",
        measured=f"{_harvest_text(tables, COLLABORATIVE)} against {_harvest_text(tables, INTELLIGENT)}, more for"
        f" {tables.ahead(COLLABORATIVE, INTELLIGENT)} topics; whole fields: {fields}; the mean of the"
        f" {len(INTELLIGENT_RUNS)} runs {summary(run_means).mean:.1%}"
        f"{_other_predicates_text(tables, COLLABORATIVE, INTELLIGENT)}",
        p=finite_or_none(test.p),
        holds=holds if is_generated else None,
        reason="" if holds is not False else _why_not_better(tables, test),
    )


def combined_best(tables: CollaborativeTables) -> Claim:
    tests = tables.tests("combined-best")
    holds = holds_or_none(
        not any(pair.test.difference <= 0 or pair.holm_p >= SIGNIFICANT for pair in tests),
        *(pair.holm_p for pair in tests),
    )
    return Claim(
        id=f"{STUDY}.combined-best",
        kind="paper",
        text="Readers and links together end with a higher P(U) than readers alone, and than the best run by links"
        f" alone (paired over topics, p < {SIGNIFICANT} after Holm)",
        paper="works better than either; figures in a report that is not published",
        measured=f"{_harvest_text(tables, COMBINED)}; {_tests_text(tables, 'combined-best')};"
        f" all three from the same listed pages: {_tests_text(tables, 'same-seeds')}"
        f"{_other_predicates_text(tables, COMBINED, INTELLIGENT)}",
        p=max((pair.holm_p for pair in tests if pair.holm_p == pair.holm_p), default=None),
        holds=holds,
        reason="" if holds is not False else _why_not_best(tables),
    )


def learns(tables: CollaborativeTables) -> Claim:
    test = tables.learnt()
    holds = holds_or_none(test.is_gain_or_unknown, test.p)
    first, second = tables.means_over_draws(first_tenth), tables.means_over_draws(second_tenth)
    more = sum(b > a for a, b in zip(first, second, strict=True))
    shares = [
        outcome["crawls"][crawl_name]["good"] / outcome["targets"]
        for outcome in tables.outcomes
        for crawl_name in DRAWS
    ]
    return Claim(
        id=f"{STUDY}.learns",
        kind="paper",
        text="From an empty set of seeds, P(U) of the second tenth of the pages is above that of the first, before half"
        f" of the pages that satisfy the predicate are found (paired over topics, p < {SIGNIFICANT})",
        paper="random at first; as pages of the predicate are met, performance quickly improves",
        measured=f"{summary(first).mean:.1%} to {summary(second).mean:.1%}, more for {more} of {test.n} topics, each"
        f" the mean of {len(DRAWS)} runs that draw other pages; {max(shares, default=0.0):.0%} of what could be found"
        " was found, at most, by the end",
        p=finite_or_none(test.p),
        holds=holds,
        reason="" if holds is not False else _why_not_learnt(tables, test),
    )


def factors(tables: CollaborativeTables) -> Claim:
    tests = tables.tests("factors")
    return Claim(
        id=f"{STUDY}.factors",
        kind="beyond",
        text="P(U) at the end with each of the three interest ratios alone, and with all together",
        paper=None,
        measured=f"together {_harvest_text(tables, COLLABORATIVE)},"
        f" {', '.join(f'{factor} {_harvest_text(tables, factor)}' for factor in SINGLE_FACTORS)};"
        f" {_tests_text(tables, 'factors')}",
        p=max((pair.holm_p for pair in tests if pair.holm_p == pair.holm_p), default=None),
        holds=None,
    )


def privacy(tables: CollaborativeTables) -> Claim:
    whole = tables.mean(COLLABORATIVE)
    reduced = "; ".join(
        f"{crawl_name} {_harvest_text(tables, crawl_name)}"
        f" ({tables.mean(crawl_name) - whole:+.1%}{_exhausted_text(tables, crawl_name)})"
        for crawl_name in (*REDUCED_LOGS, *DECAYED_LOGS)
    )
    return Claim(
        id=f"{STUDY}.privacy",
        kind="beyond",
        text="P(U) at the end where pages read by few are left out, where the log has few of the readers, and where old"
        " accesses fade; what a crawl did not bring since the log ran dry counts as not satisfying",
        paper=None,
        measured=f"whole log {_harvest_text(tables, COLLABORATIVE)}; {reduced}",
        holds=None,
    )


def control(tables: CollaborativeTables) -> Claim:
    test = tables.gain(COLLABORATIVE, SHUFFLED)
    chance = tables.by_chance()
    holds = holds_or_none(test.is_gain_or_unknown, test.p)
    return Claim(
        id=f"{STUDY}.control",
        kind="beyond",
        text="Where what was read is dealt out among the readers by chance, a crawl ends with a lower P(U), which is"
        f" about that of pages drawn by chance (paired over topics, p < {SIGNIFICANT})",
        paper=None,
        measured=f"{_harvest_text(tables, SHUFFLED)} against {_harvest_text(tables, COLLABORATIVE)}; first and second"
        f" tenth {tables.mean(SHUFFLED, first_tenth):.1%} and {tables.mean(SHUFFLED, second_tenth):.1%}, p"
        f" {tables.learnt_shuffled().p:.2g}; pages drawn by chance {chance:.1%}",
        p=finite_or_none(test.p),
        holds=holds,
        reason="readers tell no more than chance does" if holds is False else "",
    )


def listed_starts(tables: CollaborativeTables) -> Claim:
    crawl_names = (COLLABORATIVE_LISTED, INTELLIGENT_LISTED, COMBINED_LISTED, BEST_FIRST_LISTED, GUIDED_LISTED)
    return Claim(
        id=f"{STUDY}.listed-starts",
        kind="beyond",
        text="P(U) at the end from pages of the directory that satisfy the predicate, also by best-first with and"
        " without what readers tell",
        paper=None,
        measured=", ".join(f"{crawl_name} {_harvest_text(tables, crawl_name)}" for crawl_name in crawl_names)
        + f"; {_tests_text(tables, 'guided')}",
        holds=None,
    )


def _harvest_text(tables: CollaborativeTables, crawl_name: str) -> str:
    return f"{summary(tables.values(crawl_name)):.1%}"


def _tests_text(tables: CollaborativeTables, name: str) -> str:
    return "; ".join(
        f"{pair.first} over {pair.second} {pair.test.difference:+.1%}, p {pair.holm_p:.2g}, more for"
        f" {tables.ahead(pair.first, pair.second)}"
        for pair in tables.tests(name)
    )


def _exhausted_text(tables: CollaborativeTables, crawl_name: str) -> str:
    """The share of a crawl after which the log had no more pages, if that happened, in words."""
    crawled = summary(
        outcome["crawls"][crawl_name]["crawled"] / outcome["pages"]
        for outcome in tables.outcomes
        if crawl_name in outcome["crawls"]
    ).mean
    return f", dry after {crawled:.0%} of the pages" if crawled < 0.995 else ""


def _other_predicates_text(tables: CollaborativeTables, crawl_name: str, over: str) -> str:
    """The same for predicates that are not topics."""
    return "".join(
        f"; {outcome['aim']}: {outcome['crawls'][crawl_name]['harvest']:.1%} against"
        f" {outcome['crawls'][over]['harvest']:.1%}"
        for outcome in tables.others
    )


def _why_not_better(tables: CollaborativeTables, test: PairedTest) -> str:
    if test.difference > 0:
        return f"there is a gain, but {test.n} topics do not tell it from chance"
    worst = min(summary(tables.values(crawl_name)).mean for crawl_name in INTELLIGENT_RUNS)
    return (
        f"the best of {len(INTELLIGENT_RUNS)} starts ends at {tables.mean(INTELLIGENT):.0%}, though the worst start at"
        f" {worst:.0%} in the mean"
    )


def _why_not_learnt(tables: CollaborativeTables, test: PairedTest) -> str:
    first = summary(tables.means_over_draws(first_tenth)).mean
    begun = f"the first tenth is at {first:.1%}, pages drawn by chance would be at {tables.by_chance():.1%}"
    if test.difference > 0:
        return f"there is a gain, but {test.n} topics do not tell it from chance; {begun}"
    return f"what readers of the first pages read is no better than these; {begun}"


def _why_not_best(tables: CollaborativeTables) -> str:
    ours = tables.mean(COMBINED)
    behind = [crawl_name for crawl_name in (COLLABORATIVE, INTELLIGENT) if tables.mean(crawl_name) >= ours]
    if behind:
        return f"{' and '.join(behind)} alone ends as high"
    return f"ahead of both in the mean, which {len(tables.outcomes)} topics do not tell from chance"
