"""The claims of the paper and open questions, computed, with reasons why a claim fails.

A map has the good pages of an earlier crawl, the first, with portals: pages from which links of the map lead to the
others (the paper's navigation links), and to which pages on a related topic may lead (its redirection links). A page is
good if P(topic | page) is above 0.5, and new if the first crawl did not fetch it. `shared` has the names of the crawls,
the constants; `runs.crawl_counts` defines what is counted of each.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Claim
from lycosa_lab.statistics import SIGNIFICANT, PairedTest, finite_or_none, holds_or_none, holm, paired_t, summary

from .shared import (
    AGAIN,
    BASELINE,
    BASELINE_LATER,
    BOTH_KINDS,
    BY_TEXT,
    CONTENT_CACHED,
    CONTENT_LATER,
    FAR,
    FIRST,
    MAPPED,
    MAPPED_AT_04,
    MAPPED_AT_08,
    MAPPED_LATER,
    NEAR,
    RELATED,
    URLS,
    URLS_LATER,
)
from .tables import MapTables

MAX_RELATED_SHARE = 0.02  # of the pages of a crawl, in the map that it gives for a related topic
STUDY = "topical-map"
NEAR_OPTIMAL = 0.9  # share of good pages at the start from which it counts as near optimal
FADING_POINT = 0.8  # share of a crawl after which a half-year-old map no longer helped with one topic of the paper


def all_claims(tables: MapTables) -> list[Claim]:
    return [
        same_topic_gain(tables),
        near_optimal_start(tables),
        finds_new_pages(tables),
        overlap(tables),
        related_topic_gain(tables),
        survives_change(tables),
        both_kinds(tables),
        reach(tables),
        over_caching(tables),
    ]


def _of_the_paper(
    name: str, *, text: str, paper: str, measured: str, holds: bool | None, p: float | None = None, why: str = ""
) -> Claim:
    """A claim of the paper; `why` is the reason if it does not hold."""
    reason = why if holds is False else ""
    return Claim(f"{STUDY}.{name}", "paper", text, paper, measured, holds, p, reason)


def _beyond_the_paper(name: str, *, text: str, measured: str, p: float | None) -> Claim:
    """A result on a question that the paper leaves open."""
    return Claim(f"{STUDY}.{name}", "beyond", text, None, measured, None, p)


def same_topic_gain(tables: MapTables) -> Claim:
    test, same_seeds = tables.gain(MAPPED, BASELINE), tables.gain(AGAIN, FIRST)
    holds = holds_or_none(test.is_gain_or_unknown, test.p)
    return _of_the_paper(
        "same-topic-gain",
        text=f"A crawl with the map of an earlier one of the same topic brings more good pages than the baseline, for"
        f" {tables.downloads} downloads from the same seeds, which are not those of the earlier crawl (paired over"
        f" topics, p < {SIGNIFICANT})",
        paper="7841 to 10170 good pages of 15000 (+30 %), 7956 to 9360 (+18 %), from the seeds of the earlier crawl",
        measured=f"{_gain_text(tables, MAPPED, BASELINE, test)}; from the seeds of the earlier crawl"
        f" {_gain_text(tables, AGAIN, FIRST, same_seeds)}",
        p=finite_or_none(test.p),
        holds=holds,
        why=_why_no_gain(test),
    )


def near_optimal_start(tables: MapTables) -> Claim:
    starts = {
        crawl_name: summary(tables.values(crawl_name, _start_of))
        for crawl_name in (AGAIN, MAPPED, MAPPED_AT_08, BASELINE)
    }
    holds = starts[AGAIN].mean >= NEAR_OPTIMAL and starts[MAPPED].mean >= NEAR_OPTIMAL
    return _of_the_paper(
        "near-optimal-start",
        text=f"With the map, at least {NEAR_OPTIMAL:.0%} of the first tenth of the pages are good, from the seeds of"
        " the earlier crawl as well as from others",
        paper="at the beginning very close to an optimal crawler, from the seeds of the earlier crawl",
        measured=f"{starts[AGAIN].mean:.1%} from the seeds of the earlier crawl, {starts[MAPPED].mean:.1%} from others"
        f" (baseline {starts[BASELINE].mean:.1%}); with links of the map at 0.8 instead of 0.6,"
        f" {starts[MAPPED_AT_08].mean:.1%}",
        holds=holds,
        why=_why_slow_start(tables),
    )


def finds_new_pages(tables: MapTables) -> Claim:
    ours, theirs = tables.values(MAPPED, _new_share), tables.values(BASELINE, _new_share)
    test = paired_t(ours, theirs)
    all_pages = tables.mean(BASELINE, _good_share)
    holds = test.difference >= 0
    topics = "; ".join(
        f"{topic} {our:.0%} against {their:.0%}"
        for topic, our, their in zip(tables.topics, ours, theirs, strict=True)
        if our == our and their == their
    )
    new = tables.mean(MAPPED, lambda crawl: float(crawl["new"]))
    return _of_the_paper(
        "finds-new-pages",
        text="Of the pages that the first crawl had not seen, at least as many are good with the map as by the"
        " baseline, in the mean over topics",
        paper="70 % of 10000 new pages against the 52 % of the baseline (Basketball); 51 % of 6000 against 52 %"
        " (Economics)",
        measured=f"{summary(ours).mean:.1%} of {new:.0f} new pages against {summary(theirs).mean:.1%} of"
        f" {tables.mean(BASELINE, lambda crawl: float(crawl['new'])):.0f}; so for"
        f" {sum(our >= their for our, their in zip(ours, theirs, strict=True))} of {test.n} topics: {topics}; of all"
        f" pages of the baseline {all_pages:.1%} are good",
        p=finite_or_none(test.p),
        holds=holds,
        why=_why_not_new(tables),
    )


def overlap(tables: MapTables) -> Claim:
    shares = {
        crawl_name: tables.mean(crawl_name, _seen_share)
        for crawl_name in (MAPPED, BASELINE, AGAIN, URLS, MAPPED_AT_08, MAPPED_AT_04)
    }
    topics = "; ".join(
        f"{topic} {share:.0%}" for topic, share in zip(tables.topics, tables.values(MAPPED, _seen_share), strict=True)
    )
    return _of_the_paper(
        "overlap",
        text="The share of the pages with the map that the first crawl had seen",
        paper="4700 of 15000 (Basketball), 9000 of 15000 (Economics), from the seeds of the first crawl",
        measured=f"{shares[MAPPED]:.0%} ({topics}); baseline {shares[BASELINE]:.0%}, with the map from the seeds of the"
        f" first crawl {shares[AGAIN]:.0%}, URLs cached {shares[URLS]:.0%}, map at 0.8 {shares[MAPPED_AT_08]:.0%},"
        f" at 0.4 {shares[MAPPED_AT_04]:.0%}",
        holds=None,
    )


def related_topic_gain(tables: MapTables) -> Claim:
    test = tables.gain(RELATED, BASELINE)
    share = summary(tables.related_shares())
    return _of_the_paper(
        "related-topic-gain",
        text="A map of the pages on a topic that a crawl of a related one came by brings more good pages than the"
        f" baseline (paired over topics, p < {SIGNIFICANT}), though it has fewer than {MAX_RELATED_SHARE:.0%} of the"
        " pages of that crawl in the mean",
        paper="7841 to 9169 good pages (+17 %) from a map of 132 pages, 0.9 % of those crawled",
        measured=f"{_gain_text(tables, RELATED, BASELINE, test)}, from maps of {share.mean * tables.downloads:.0f}"
        f" pages, {share.mean:.1%} of those crawled, in the mean",
        p=finite_or_none(test.p),
        holds=holds_or_none(test.is_gain_or_unknown and not share.mean >= MAX_RELATED_SHARE, test.p),
        why=_why_not_related(tables, test, share.mean),
    )


def survives_change(tables: MapTables) -> Claim:
    claim = _of_the_paper(
        "survives-change",
        text="A map drawn half a year earlier still brings more good pages than the baseline (paired over topics,"
        f" p < {SIGNIFICANT})",
        paper="still a gain (Basketball); a gain that fades after 12000 of 15000 pages (Economics)",
        measured="this world does not change",
        holds=None,
    )
    if not tables.has(MAPPED_LATER):
        return claim
    test, fresh = tables.gain(MAPPED_LATER, BASELINE_LATER), tables.gain(MAPPED, BASELINE)
    index = max(0, round(FADING_POINT * len(tables.points)) - 1)
    before = _paired_gain(tables.outcomes, MAPPED_LATER, BASELINE_LATER, index).difference
    dead = tables.mean(MAPPED_LATER, lambda crawl: crawl["dead"] / max(1, crawl["downloads"]))
    holds = holds_or_none(test.is_gain_or_unknown, test.p)
    return replace(
        claim,
        measured=f"{_gain_text(tables, MAPPED_LATER, BASELINE_LATER, test)}; on the day of the first crawl"
        f" {fresh.difference:+.0f}; the gain is {before:+.0f} after {tables.points[index]} downloads and"
        f" {test.difference:+.0f} at the end; {dead:.0%} of what the crawl with the map asked for was gone",
        p=finite_or_none(test.p),
        holds=holds,
        reason="" if holds is not False else f"{dead:.0%} of what the crawl with the map asked for was gone",
    )


def both_kinds(tables: MapTables) -> Claim:
    tests = {other: tables.gain(BOTH_KINDS, other) for other in (MAPPED, RELATED, BASELINE)}
    return _beyond_the_paper(
        "both-kinds",
        text="Navigation and redirection links together, against each alone",
        measured=f"both kinds {_good_pages(tables, BOTH_KINDS)} good pages, navigation {_good_pages(tables, MAPPED)},"
        f" redirection {_good_pages(tables, RELATED)}, baseline {_good_pages(tables, BASELINE)};"
        f" {_against(BOTH_KINDS, tests)}",
        p=finite_or_none(_corrected(tests)[MAPPED]),
    )


def reach(tables: MapTables) -> Claim:
    tests = {
        f"{one} − {other}": tables.gain(one, other)
        for one, other in ((FAR, NEAR), (NEAR, MAPPED), (FAR, MAPPED), (BY_TEXT, MAPPED))
    }
    corrected = _corrected(tests)
    new = ", ".join(
        f"{crawl_name} {tables.mean(crawl_name, _seen_share):.0%} known pages and"
        f" {tables.mean(crawl_name, _new_share):.1%} of the new ones good"
        for crawl_name in (NEAR, FAR, MAPPED, BY_TEXT)
    )
    return _beyond_the_paper(
        "reach",
        text="Pages tied to portals near them, far from them, to any, or to portals with like texts",
        measured="; ".join(
            (
                ", ".join(
                    f"{crawl_name} {_good_pages(tables, crawl_name)}" for crawl_name in (NEAR, FAR, MAPPED, BY_TEXT)
                ),
                *(f"{name} {test.difference:+.1f}, p {corrected[name]:.2g}" for name, test in tests.items()),
                new,
            )
        ),
        p=finite_or_none(min(corrected.values())),
    )


def over_caching(tables: MapTables) -> Claim:
    tests = {other: tables.gain(MAPPED, other) for other in (URLS, CONTENT_CACHED)}
    high_priority = tables.gain(MAPPED_AT_08, URLS)
    new = ", ".join(
        f"{crawl_name} {tables.mean(crawl_name, lambda crawl: float(crawl['new_good'])):.0f}"
        for crawl_name in (MAPPED, MAPPED_AT_08, URLS, CONTENT_CACHED, BASELINE)
    )
    copies = tables.mean(CONTENT_CACHED, lambda crawl: float(crawl["copies"]))
    later = ""
    if tables.has(CONTENT_LATER):
        outdated = tables.mean(CONTENT_LATER, lambda crawl: crawl["outdated"] / max(1, crawl["copies"]))
        later = (
            f"; half a year on, URLs cached {_good_pages(tables, URLS_LATER)}, map {_good_pages(tables, MAPPED_LATER)},"
            f" and {outdated:.0%} of the copies used are no longer what is there"
        )
    return _beyond_the_paper(
        "over-caching",
        text="What the map adds over remembering all good URLs as seeds, and over stored copies of all pages",
        measured=f"{_against(MAPPED, tests)}; map at 0.8 against {URLS} {high_priority.difference:+.1f},"
        f" p {high_priority.p:.2g}; good pages that are new: {new}; content cached counts {copies:.0f} copies that"
        f" cost no download{later}",
        p=finite_or_none(_corrected(tests)[URLS]),
    )


def _paired_gain(outcomes: Sequence[JsonValue], crawl_name: str, over: str, index: int) -> PairedTest:
    """The gain in good pages at one point of the curves."""
    both = [outcome["crawls"] for outcome in outcomes if crawl_name in outcome["crawls"] and over in outcome["crawls"]]
    first, second = ([crawls[each]["curves"]["good"][index] for crawls in both] for each in (crawl_name, over))
    return paired_t(first, second)


def _good_share(crawl: JsonValue) -> float:
    return float(crawl["good"] / max(1, crawl["seen"] + crawl["new"]))


def _new_share(crawl: JsonValue) -> float:
    """The share of good pages among new ones; NaN if there is none."""
    return float(crawl["new_good"] / crawl["new"]) if crawl["new"] else float("nan")


def _seen_share(crawl: JsonValue) -> float:
    return float(crawl["seen"] / max(1, crawl["seen"] + crawl["new"]))


def _start_of(crawl: JsonValue) -> float:
    return float(crawl["start"])


def _good_pages(tables: MapTables, crawl_name: str) -> str:
    return f"{summary(tables.good(crawl_name)):.0f}"


def _gain_text(tables: MapTables, crawl_name: str, over: str, test: PairedTest) -> str:
    before = tables.mean_good(over)
    share = f" ({test.difference / before:+.1%})" if before > 0 else ""
    good = tables.mean_good(crawl_name)
    return f"{before:.0f} to {good:.0f} good pages{share}, more in {tables.ahead(crawl_name, over)}"


def _against(crawl_name: str, tests: dict[str, PairedTest]) -> str:
    corrected = _corrected(tests)
    return "; ".join(
        f"{crawl_name} against {other} {test.difference:+.1f}, p {corrected[other]:.2g}"
        for other, test in tests.items()
    )


def _corrected(tests: dict[str, PairedTest]) -> dict[str, float]:
    """The p-values of several tests of one question, corrected by Holm's method."""
    return dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))


def _why_no_gain(test: PairedTest) -> str:
    if test.difference <= 0:
        return "what the map leads to is no better than what the hyperlinks of good pages lead to"
    return f"there is a gain, but {test.n} topics do not tell it from chance"


def _why_slow_start(tables: MapTables) -> str:
    certain = summary(outcome["certain"] / max(1, outcome["crawls"][FIRST]["good"]) for outcome in tables.outcomes)
    return (
        f"naive Bayes gives {certain.mean:.0%} of the good pages a chance of exactly 1, so that their hyperlinks, of"
        f" which {tables.mean(BASELINE, _good_share):.0%} lead to good pages, take turns with the links of the map from"
        f" the start; where those of the map come first, {tables.mean(MAPPED_AT_08, _start_of):.0%} of the first"
        " pages are good"
    )


def _why_not_new(tables: MapTables) -> str:
    ours, theirs = (tables.mean(crawl_name, _seen_share) for crawl_name in (MAPPED, BASELINE))
    return (
        "what is new is found by hyperlinks, with the map as without; with it"
        f" {ours:.0%} of the pages are known ones, by the baseline {theirs:.0%}, so that those left to find are harder"
    )


def _why_not_related(tables: MapTables, test: PairedTest, share: float) -> str:
    """Which condition fails: the gain, the size of the maps, or both."""
    reasons = []
    if not test.is_gain_or_unknown:
        seen = (tables.mean(crawl_name, _seen_share) for crawl_name in (RELATED, BASELINE))
        reasons.append(
            "the pages of the map open hardly a part of the topic that hyperlinks do not reach as soon:"
            " {:.0%} of the pages are those of the first crawl, by the baseline {:.0%}".format(*seen)
        )
    if share >= MAX_RELATED_SHARE:
        reasons.append(f"topics under one top are closer here, so that a crawl of one has {share:.1%} on another")
    return "; ".join(reasons)
