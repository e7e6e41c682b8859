"""What the paper says of collaborative crawling, what it leaves open, and whether it is so here."""

from lycosa.lab.results import Claim
from lycosa.lab.statistics import PairedTest, finite_or_none, summary
from lycosa.lab.tables import SIGNIFICANT

from .shared import (
    AGED,
    ALONE,
    BEST_FIRST_LISTED,
    COLLABORATIVE,
    COLLABORATIVE_LISTED,
    COMBINED,
    COMBINED_LISTED,
    DRAWS,
    GUIDED_LISTED,
    INTELLIGENT,
    INTELLIGENT_LISTED,
    SCARCE,
    SHUFFLED,
    STARTS,
)
from .tables import CollaborativeTables, first_tenth, second_tenth

STUDY = "collaborative"


def all_claims(figures: CollaborativeTables, *, is_made_up: bool) -> list[Claim]:
    """All claims; in a world that is not made up, whether readers are better than links is only reported."""
    return [
        beats_intelligent(figures, is_made_up=is_made_up),
        combined_best(figures),
        learns(figures),
        factors(figures),
        privacy(figures),
        control(figures),
        listed_starts(figures),
    ]


def beats_intelligent(figures: CollaborativeTables, *, is_made_up: bool) -> Claim:
    test = figures.gain(COLLABORATIVE, INTELLIGENT)
    holds = _is_gain(test)
    runs = [summary(figures.values(start)).mean for start in STARTS]
    fields = "; ".join(
        f"{outcome['aim']} {outcome['crawls'][COLLABORATIVE]['harvest']:.1%} against"
        f" {outcome['crawls'][INTELLIGENT]['harvest']:.1%}"
        for outcome in figures.fields()
    )
    return Claim(
        id=f"{STUDY}.beats-intelligent",
        kind="paper",
        says="One run of the collaborative crawler without seeds ends with a higher P(U) than the best of"
        f" {len(STARTS)} runs of the intelligent crawler from different starts (paired over topics, p < {SIGNIFICANT})",
        paper="a single execution significantly more effective than the best of five (SPORTS and ARTS; curves only)",
        measured=f"{_said(figures, COLLABORATIVE)} against {_said(figures, INTELLIGENT)}, more for"
        f" {figures.ahead(COLLABORATIVE, INTELLIGENT)} topics; whole fields: {fields}; the mean of the"
        f" {len(STARTS)} runs {summary(runs).mean:.1%}{_beside(figures, COLLABORATIVE, INTELLIGENT)}",
        p=finite_or_none(test.p),
        holds=holds if is_made_up else None,
        reason="" if holds else _why_not_better(figures, test),
    )


def combined_best(figures: CollaborativeTables) -> Claim:
    tests = figures.tests("combined-best")
    holds = all(test.difference > 0 and p < SIGNIFICANT for _, _, test, p in tests)
    return Claim(
        id=f"{STUDY}.combined-best",
        kind="paper",
        says="Readers and links together end with a higher P(U) than readers alone, and than the best run by links"
        f" alone (paired over topics, p < {SIGNIFICANT} after Holm)",
        paper="works better than either; figures in a report that is not published",
        measured=f"{_said(figures, COMBINED)}; {_against(figures, 'combined-best')}; all three from the same listed"
        f" pages: {_against(figures, 'same-seeds')}{_beside(figures, COMBINED, INTELLIGENT)}",
        p=max((p for *_, p in tests if p == p), default=None),
        holds=holds,
        reason="" if holds else _why_not_best(figures),
    )


def learns(figures: CollaborativeTables) -> Claim:
    test = figures.learnt()
    holds = _is_gain(test)
    first, second = figures.over_draws(first_tenth), figures.over_draws(second_tenth)
    more = sum(b > a for a, b in zip(first, second, strict=True))
    shares = [outcome["crawls"][kind]["good"] / outcome["targets"] for outcome in figures.outcomes for kind in DRAWS]
    return Claim(
        id=f"{STUDY}.learns",
        kind="paper",
        says="From an empty set of seeds, P(U) of the second tenth of the pages is above that of the first, before half"
        f" of the pages that satisfy the predicate are found (paired over topics, p < {SIGNIFICANT})",
        paper="random at first; as pages of the predicate are met, performance quickly improves",
        measured=f"{summary(first).mean:.1%} to {summary(second).mean:.1%}, more for {more} of {test.n} topics, each"
        f" the mean of {len(DRAWS)} runs that draw other pages; {max(shares, default=0.0):.0%} of what could be found"
        " was found, at most, by the end",
        p=finite_or_none(test.p),
        holds=holds,
        reason="" if holds else _why_not_learnt(figures, test),
    )


def factors(figures: CollaborativeTables) -> Claim:
    tests = figures.tests("factors")
    return Claim(
        id=f"{STUDY}.factors",
        kind="beyond",
        says="P(U) at the end with each of the three interest ratios alone, and with all together",
        paper=None,
        measured=f"together {_said(figures, COLLABORATIVE)}, {', '.join(f'{f} {_said(figures, f)}' for f in ALONE)};"
        f" {_against(figures, 'factors')}",
        p=max((p for *_, p in tests if p == p), default=None),
        holds=None,
    )


def privacy(figures: CollaborativeTables) -> Claim:
    whole = figures.mean(COLLABORATIVE)
    scarce = "; ".join(
        f"{kind} {_said(figures, kind)} ({figures.mean(kind) - whole:+.1%}{_dry(figures, kind)})"
        for kind in (*SCARCE, *AGED)
    )
    return Claim(
        id=f"{STUDY}.privacy",
        kind="beyond",
        says="P(U) at the end where pages read by few are left out, where the log has few of the readers, and where old"
        " accesses fade; what a crawl did not bring since the log ran dry counts as not satisfying",
        paper=None,
        measured=f"whole log {_said(figures, COLLABORATIVE)}; {scarce}",
        holds=None,
    )


def control(figures: CollaborativeTables) -> Claim:
    test = figures.gain(COLLABORATIVE, SHUFFLED)
    chance = figures.by_chance()
    return Claim(
        id=f"{STUDY}.control",
        kind="beyond",
        says="Where what was read is dealt out among the readers by chance, a crawl ends with a lower P(U), which is"
        f" about that of pages drawn by chance (paired over topics, p < {SIGNIFICANT})",
        paper=None,
        measured=f"{_said(figures, SHUFFLED)} against {_said(figures, COLLABORATIVE)}; first and second tenth"
        f" {figures.mean(SHUFFLED, first_tenth):.1%} and {figures.mean(SHUFFLED, second_tenth):.1%}, p"
        f" {figures.learnt_from_chance().p:.2g}; pages drawn by chance {chance:.1%}",
        p=finite_or_none(test.p),
        holds=_is_gain(test),
        reason="" if _is_gain(test) else "readers tell no more than chance does",
    )


def listed_starts(figures: CollaborativeTables) -> Claim:
    kinds = (COLLABORATIVE_LISTED, INTELLIGENT_LISTED, COMBINED_LISTED, BEST_FIRST_LISTED, GUIDED_LISTED)
    return Claim(
        id=f"{STUDY}.listed-starts",
        kind="beyond",
        says="P(U) at the end from pages of the directory that satisfy the predicate, also by best-first with and"
        " without what readers tell",
        paper=None,
        measured=f"{', '.join(f'{kind} {_said(figures, kind)}' for kind in kinds)}; {_against(figures, 'guided')}",
        holds=None,
    )


def _is_gain(test: PairedTest) -> bool:
    return bool(test.difference > 0 and test.p < SIGNIFICANT)


def _said(figures: CollaborativeTables, kind: str) -> str:
    over = summary(figures.values(kind))
    return f"{over.mean:.1%} ± {over.standard_error:.1%}"


def _against(figures: CollaborativeTables, name: str) -> str:
    return "; ".join(
        f"{one} over {other} {test.difference:+.1%}, p {p:.2g}, more for {figures.ahead(one, other)}"
        for one, other, test, p in figures.tests(name)
    )


def _dry(figures: CollaborativeTables, kind: str) -> str:
    """How much of a crawl the log sufficed for, unless for all."""
    crawled = summary(
        outcome["crawls"][kind]["crawled"] / outcome["pages"]
        for outcome in figures.outcomes
        if kind in outcome["crawls"]
    ).mean
    return f", dry after {crawled:.0%} of the pages" if crawled < 0.995 else ""


def _beside(figures: CollaborativeTables, kind: str, over: str) -> str:
    """What is so of predicates that are no topics."""
    return "".join(
        f"; {outcome['aim']}: {outcome['crawls'][kind]['harvest']:.1%} against {outcome['crawls'][over]['harvest']:.1%}"
        for outcome in figures.others
    )


def _why_not_better(figures: CollaborativeTables, test: PairedTest) -> str:
    if test.difference > 0:
        return f"there is a gain, but {test.n} topics do not tell it from chance"
    worst = min(summary(figures.values(start)).mean for start in STARTS)
    return (
        f"the best of {len(STARTS)} starts ends at {figures.mean(INTELLIGENT):.0%}, though the worst start at"
        f" {worst:.0%} in the mean"
    )


def _why_not_learnt(figures: CollaborativeTables, test: PairedTest) -> str:
    first = summary(figures.over_draws(first_tenth)).mean
    begun = f"the first tenth is at {first:.1%}, pages drawn by chance would be at {figures.by_chance():.1%}"
    if test.difference > 0:
        return f"there is a gain, but {test.n} topics do not tell it from chance; {begun}"
    return f"what readers of the first pages read is no better than these; {begun}"


def _why_not_best(figures: CollaborativeTables) -> str:
    ours = figures.mean(COMBINED)
    behind = [kind for kind in (COLLABORATIVE, INTELLIGENT) if figures.mean(kind) >= ours]
    if behind:
        return f"{' and '.join(behind)} alone ends as high"
    return f"ahead of both in the mean, which {len(figures.outcomes)} topics do not tell from chance"
