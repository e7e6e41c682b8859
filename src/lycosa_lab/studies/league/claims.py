"""Claims about the default strategy, on held-out topics, to which nothing was fitted.

Area is that under the harvest curve: 1 for a crawl that fetches nothing but the pages to be found. The oracle follows
links, but knows the truth; the script is a short crawler by words of the topic, as a minimum standard.
"""

from lycosa_lab.results import Claim
from lycosa_lab.statistics import finite_or_none, holds_or_none, ratio, summary

from .baselines import ORACLE, SCRIPT
from .tables import AREA, CPU, HARVEST_ERROR, STANDING, LeagueTables

BEST_FIRST = "best-first"
MAX_HARVEST_ERROR = 0.10  # largest mean difference between reported and true harvest rate
MIN_SHARE_OF_ORACLE = 0.75  # of the oracle's area
MAX_CPU_RATIO = 1.25  # times that of best-first


def all_claims(tables: LeagueTables, default: str) -> list[Claim]:
    return [
        _beats(tables, default, BEST_FIRST, id="default-beats-best-first"),
        _beats(tables, default, SCRIPT, id="default-beats-script"),
        _near_oracle(tables, default),
        _honest(tables, default),
        _cheap(tables, default),
        _standing(tables, default),
    ]


def _beats(tables: LeagueTables, default: str, other: str, *, id: str) -> Claim:
    test = tables.test(AREA, default, other)
    scores = tables.scores(AREA)
    ahead = sum(a > b for a, b in zip(scores[default], scores[other], strict=True))
    times = f"{tables.mean(AREA, default) / mean:.2f} ×, " if (mean := tables.mean(AREA, other)) else ""
    return Claim(
        id=f"league.{id}",
        kind="beyond",
        text=f"The default strategy has significantly more area than {other} on held-out topics",
        paper=None,
        measured=f"{default} {summary(scores[default]):.3f}, {other} {summary(scores[other]):.3f}: {times}ahead on"
        f" {ahead} of {test.n} topics (p {test.p:.2g})",
        p=finite_or_none(test.p),
        holds=holds_or_none(test.is_gain_or_unknown, test.p),
        reason="not more, or not significantly" if holds_or_none(test.is_gain_or_unknown, test.p) is False else "",
    )


def _near_oracle(tables: LeagueTables, default: str) -> Claim:
    reached = ratio(tables.mean(AREA, default), tables.mean(AREA, ORACLE))
    return Claim(
        id="league.default-near-oracle",
        kind="beyond",
        text=f"The default strategy has at least {MIN_SHARE_OF_ORACLE:.0%} of the area of an oracle that follows links",
        paper=None,
        measured=f"{reached:.1%} of {tables.mean(AREA, ORACLE):.3f}",
        holds=holds_or_none(not reached < MIN_SHARE_OF_ORACLE, reached),
    )


def _honest(tables: LeagueTables, default: str) -> Claim:
    error, claimed, true = (
        tables.mean(measure, default) for measure in (HARVEST_ERROR, "claimed harvest", "true harvest")
    )
    return Claim(
        id="league.claim-honest",
        kind="beyond",
        text=f"The harvest rate that the default crawl states is within {MAX_HARVEST_ERROR:g} of the true one in the"
        " mean",
        paper=None,
        measured=f"off by {error:.3f}: {claimed:.3f} claimed, {true:.3f} true",
        holds=error <= MAX_HARVEST_ERROR,
    )


def _cheap(tables: LeagueTables, default: str) -> Claim:
    ours, theirs = tables.mean(CPU, default), tables.mean(CPU, BEST_FIRST)
    return Claim(
        id="league.default-cost",
        kind="beyond",
        text=f"A page costs the default crawl at most {MAX_CPU_RATIO:g} times the processor time that it costs"
        " best-first",
        paper=None,
        measured=f"{ours:.2f} ms a page, {theirs:.2f} ms by best-first: {ours / theirs:.2f} ×",
        holds=ours <= MAX_CPU_RATIO * theirs,
    )


def _standing(tables: LeagueTables, default: str) -> Claim:
    test = tables.test(STANDING, default, BEST_FIRST)
    return Claim(
        id="league.default-relevant-and-standing",
        kind="beyond",
        text="Relevant × standing, in the mean of all pages fetched, of the default strategy against best-first",
        paper=None,
        measured=f"{tables.mean(STANDING, default):.3f} for {tables.mean(STANDING, BEST_FIRST):.3f} (p {test.p:.2g})",
        p=finite_or_none(test.p),
        holds=None,
    )
