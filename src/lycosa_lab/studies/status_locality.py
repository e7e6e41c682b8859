"""Whether pages link to pages of similar standing.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), section 3.
Status is ln(1 + in-links) of a page.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.pictures import GroupedBar, grouped_bars
from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.urls import site_of
from lycosa_lab.crawl_tables import CALIBRATED_WORLD
from lycosa_lab.results import Claim, ClaimKind, Figure, Findings, Row
from lycosa_lab.statistics import SIGNIFICANT, Correlation, p_of_larger_correlation, spearman
from lycosa_lab.study import Size
from lycosa_lab.tables import rounded
from lycosa_lab.test_bed import InLinkCounts, in_links_of
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.calibration import DISTANCES, sample_pairs

NEAR, FARTHER, AT_RANDOM = "1", ("2", "3"), "random"  # distances between the pages of a pair, in links
ALL, ACROSS = "all pairs", "across sites"  # which pairs are correlated
NEGLIGIBLE_CORRELATION = 0.05  # a smaller correlation counts as none
MIN_PAIRS = 50  # for a correlation

Pair = tuple[Url, Url]  # a root, and a page that may be reached from it
Correlations = Mapping[str, Correlation]  # by distance


class StatusLocality:
    name = "status-locality"
    summary = "Whether pages link to pages of like standing, and how fast the likeness fades with distance."
    scales: Mapping[str, Size] = {
        "small": {"sample": 5_000, "world_pages": 40_000},
        "paper": {"sample": 5_000, "world_pages": 1_000_000},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": 37}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return [{"sample": size["sample"], "seed": seed}]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> InLinkCounts:
        return in_links_of(world)

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        source: InLinkCounts = prepared
        pairs = pairs_by_distance(world, sample=job["sample"], seed=job["seed"])
        return {
            "source": source.description,
            "pairs": {
                distance: [_statuses(pair, source) for pair in pairs_there] for distance, pairs_there in pairs.items()
            },
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        (outcome,) = outcomes
        found = {ALL: _correlations(outcome["pairs"]), ACROSS: _correlations(outcome["pairs"], across=True)}
        kind: ClaimKind = "calibration" if world.name == CALIBRATED_WORLD else "paper"
        return Findings(
            claims=[_decays(found[ALL], kind, outcome["source"]), _cross_site(found[ACROSS], kind)],
            tables={"correlations": _rows(found), "source": [{"status": outcome["source"]}]},
            figures={"correlations": _figure(found)},
        )


def pairs_by_distance(world: StudyWorld, *, sample: int, seed: int) -> Mapping[str, Sequence[Pair]]:
    """Up to `sample` pairs at each distance, and as many random pairs of roots and pages of all levels.

    Sampled as by Pant and Srinivasan: roots are random pages, and links are drawn from the pages of the previous level,
    so that a distance is an upper bound, and each page belongs to the root that led to it.
    """
    rng = random.Random(seed)
    levels = sample_pairs(world, list(world.urls()), sample, rng)
    pairs: dict[str, Sequence[Pair]] = {str(distance): levels[distance] for distance in DISTANCES}
    roots = list(dict.fromkeys(root for level in pairs.values() for root, _ in level))
    sampled_pages = [*roots, *(page for level in pairs.values() for _, page in level)]
    drawn = rng.sample(sampled_pages, min(sample, len(sampled_pages)))
    pairs[AT_RANDOM] = [(root, page) for page in drawn if (root := rng.choice(roots)) != page]
    return pairs


def lies_across_sites(pair: Pair) -> bool:
    """Whether the two have different registered domains; nodes of a graph without addresses have none."""
    root, page = pair
    return isinstance(root, str) and site_of(root) != site_of(page)


def _statuses(pair: Pair, source: InLinkCounts) -> list[JsonValue]:
    """The status of root and page, and whether they are on different sites."""
    return [source.status(pair[0]), source.status(pair[1]), lies_across_sites(pair)]


def _correlations(pairs: Mapping[str, Sequence[Sequence[JsonValue]]], *, across: bool = False) -> Correlations:
    """The correlations of pairs as `_statuses` gives them; with `across`, only of those on different sites."""
    found = {}
    for distance, rows in pairs.items():
        known = [row for row in rows if row[0] is not None and row[1] is not None and (row[2] or not across)]
        if len(known) >= MIN_PAIRS:
            found[distance] = spearman([row[0] for row in known], [row[1] for row in known])
    return found


def _failures_of(found: Correlations) -> list[str]:
    """The conditions of the claim that do not hold."""
    near, at_random = found[NEAR], found[AT_RANDOM]
    failures = []
    if not (near.rho > 0 and near.p < SIGNIFICANT):
        failures.append("pages one link away are not alike")
    if not p_of_larger_correlation(near, at_random) < SIGNIFICANT:
        failures.append("they are no more alike than random ones")
    failures += [
        f"those {distance} links away are as much alike"
        for distance in FARTHER
        if not p_of_larger_correlation(near, found[distance]) < SIGNIFICANT
    ]
    if not abs(at_random.rho) < NEGLIGIBLE_CORRELATION:
        failures.append(f"random ones correlate by {NEGLIGIBLE_CORRELATION} or more")
    return failures


def _decays(found: Correlations, kind: ClaimKind, source: str) -> Claim:
    failures = _failures_of(found) if _is_complete(found) else ["too few pairs"]
    return Claim(
        id="status-locality.decays",
        kind=kind,
        text="The standing of pages one link apart correlates, significantly more than at two and three links, and that"
        f" of random pages does not (|ρ| < {NEGLIGIBLE_CORRELATION}); p < .05 for each",
        paper="Spearman's ρ .36 at one link, more than 45 % lower at two and three, -.01 at random",
        measured=f"{_correlations_line(found)}; {source}",
        p=_largest_p(found),
        holds=not failures,
        reason="; ".join(failures),
    )


def _cross_site(found: Correlations, kind: ClaimKind) -> Claim:
    is_complete = _is_complete(found)
    failures = _failures_of(found) if is_complete else ["too few links lead to other sites"]
    return Claim(
        id="status-locality.cross-site",
        kind=kind,
        text="The same for pairs of pages on different sites",
        paper="ρ .17 at one link, more than 61 % lower at two and three, about 0 at random",
        measured=_correlations_line(found) or "no pairs",
        p=_largest_p(found),
        holds=not failures if is_complete else None,
        reason="; ".join(failures),
    )


def _is_complete(found: Correlations) -> bool:
    return all(distance in found for distance in (NEAR, *FARTHER, AT_RANDOM))


def _largest_p(found: Correlations) -> float | None:
    """The largest p among the tests that must be significant."""
    if not _is_complete(found):
        return None
    near = found[NEAR]
    tests = [near.p, *(p_of_larger_correlation(near, found[distance]) for distance in (*FARTHER, AT_RANDOM))]
    return None if any(p != p for p in tests) else max(tests)


def _correlations_line(found: Correlations) -> str:
    parts = []
    for distance, each in found.items():
        lower = ""
        if distance in FARTHER and NEAR in found and found[NEAR].p < SIGNIFICANT:
            lower = f", {1 - each.rho / found[NEAR].rho:.0%} lower"
        parts.append(f"{_distance_name(distance)} ρ {each.rho:.3f} (p {each.p:.2g}, n {each.n}{lower})")
    return "; ".join(parts)


def _distance_name(distance: str) -> str:
    return "random" if distance == AT_RANDOM else f"distance {distance}"


def _rows(found: Mapping[str, Correlations]) -> list[Row]:
    return [
        {
            "pairs": which,
            "distance": distance,
            "rho": rounded(each.rho),
            "p": rounded(each.p),
            "n": each.n,
            "p_below_distance_1": None
            if distance == NEAR
            else rounded(p_of_larger_correlation(correlations[NEAR], each)),
        }
        for which, correlations in found.items()
        for distance, each in correlations.items()
        if NEAR in correlations
    ]


def _figure(found: Mapping[str, Correlations]) -> Figure:
    distances = list(found[ALL])
    groups = {
        _distance_name(distance): [
            GroupedBar(which, correlations[distance].rho, 1.03 / max(1, correlations[distance].n - 3) ** 0.5)
            for which, correlations in found.items()
            if distance in correlations
        ]
        for distance in distances
    }
    return Figure(
        "Likeness of standing by distance",
        "As figure 2 of the paper: Spearman's correlation between the standing of a root and that of a page so many"
        " links away. Thin bars are standard errors.",
        grouped_bars(groups, title="Likeness of standing by distance", y_title="Spearman's ρ"),
    )
