"""How claims put what they found, and why they fail where they do."""

from lycosa.lab.comparing import SIGNIFICANT
from lycosa.lab.statistics import PairedTest, holm, summary
from lycosa.vocabulary.records import Plain

from .figures import Figures
from .kinds import BASELINE, FIRST, KEEN, MAPPED, RELATED

SMALL = 0.02  # of the pages of a crawl, which a map for a related topic has


def good_share(crawl: Plain) -> float:
    return float(crawl["good"] / max(1, crawl["seen"] + crawl["new"]))


def new_share(crawl: Plain) -> float:
    """The share of good pages among new ones; not known where there is none."""
    return float(crawl["new_good"] / crawl["new"]) if crawl["new"] else float("nan")


def seen_share(crawl: Plain) -> float:
    return float(crawl["seen"] / max(1, crawl["seen"] + crawl["new"]))


def start_of(crawl: Plain) -> float:
    return float(crawl["start"])


def is_gain(test: PairedTest) -> bool:
    return bool(test.difference > 0 and test.p < SIGNIFICANT)


def good_pages(figures: Figures, kind: str) -> str:
    found = summary(figures.good(kind))
    return f"{found.mean:.0f} ± {found.standard_error:.0f}"


def gained(figures: Figures, kind: str, over: str, test: PairedTest) -> str:
    before = figures.mean_good(over)
    share = f" ({test.difference / before:+.1%})" if before > 0 else ""
    return f"{before:.0f} to {figures.mean_good(kind):.0f} good pages{share}, more in {figures.ahead(kind, over)}"


def against(kind: str, tests: dict[str, PairedTest]) -> str:
    corrected = holm([test.p for test in tests.values()])
    return "; ".join(
        f"{kind} against {other} {test.difference:+.1f}, p {p:.2g}"
        for (other, test), p in zip(tests.items(), corrected, strict=True)
    )


def why_no_gain(test: PairedTest) -> str:
    if test.difference <= 0:
        return "what the map leads to is no better than what the hyperlinks of good pages lead to"
    return f"there is a gain, but {test.n} topics do not tell it from chance"


def why_slow(figures: Figures) -> str:
    certain = summary(outcome["certain"] / max(1, outcome["crawls"][FIRST]["good"]) for outcome in figures.outcomes)
    return (
        f"naive Bayes gives {certain.mean:.0%} of the good pages a chance of exactly 1, so that their hyperlinks, of"
        f" which {figures.mean(BASELINE, good_share):.0%} lead to good pages, take turns with the links of the map from"
        f" the start; where those of the map come first, {figures.mean(KEEN, start_of):.0%} of the first pages are good"
    )


def why_not_new(figures: Figures) -> str:
    ours, theirs = (figures.mean(kind, seen_share) for kind in (MAPPED, BASELINE))
    return (
        "what is new is found by hyperlinks, with the map as without; with it"
        f" {ours:.0%} of the pages are known ones, by the baseline {theirs:.0%}, so that those left to find are harder"
    )


def why_not_related(figures: Figures, test: PairedTest, share: float) -> str:
    """What is amiss: the gain, the size of the maps, or both."""
    reasons = []
    if not is_gain(test):
        seen = (figures.mean(kind, seen_share) for kind in (RELATED, BASELINE))
        reasons.append(
            "the pages of the map open hardly a part of the topic that hyperlinks do not reach as soon:"
            " {:.0%} of the pages are those of the first crawl, by the baseline {:.0%}".format(*seen)
        )
    if share >= SMALL:
        reasons.append(f"topics under one top are closer here, so that a crawl of one has {share:.1%} on another")
    return "; ".join(reasons)
