"""What the paper says of topical crawl maps, what it leaves open, and whether it is so here."""

from collections.abc import Sequence

from msgspec.structs import replace

from lycosa.lab.comparing import SIGNIFICANT
from lycosa.lab.findings import Claim
from lycosa.lab.statistics import PairedTest, holm, paired_t, summary, told
from lycosa.vocabulary.records import Plain

from .figures import Figures
from .kinds import (
    AGAIN,
    ALIKE,
    BASELINE,
    BASELINE_LATER,
    BOTH,
    CONTENT,
    CONTENT_LATER,
    FAR,
    FIRST,
    KEEN,
    MAPPED,
    MAPPED_LATER,
    NEAR,
    RELATED,
    SHY,
    URLS,
    URLS_LATER,
)
from .wording import (
    SMALL,
    against,
    gained,
    good_pages,
    good_share,
    is_gain,
    new_share,
    seen_share,
    start_of,
    why_no_gain,
    why_not_new,
    why_not_related,
    why_slow,
)

STUDY = "topical-map"
OPTIMAL = 0.9  # share of good pages at the start that is near optimal
FADES = 0.8  # of a crawl, after which a map that is half a year old helped no more with one topic of the paper


def all_claims(figures: Figures) -> list[Claim]:
    return [
        same_topic_gain(figures),
        near_optimal_start(figures),
        finds_new_pages(figures),
        overlap(figures),
        related_topic_gain(figures),
        survives_change(figures),
        both_kinds(figures),
        reach(figures),
        over_caching(figures),
    ]


def _of_the_paper(
    name: str, *, says: str, paper: str, measured: str, holds: bool | None, p: float | None = None, why: str = ""
) -> Claim:
    """A claim of the paper; `why` it fails, should it."""
    reason = why if holds is False else ""
    return Claim(f"{STUDY}.{name}", "paper", says, paper, measured, holds, p, reason)


def _beyond_the_paper(name: str, *, says: str, measured: str, p: float | None) -> Claim:
    """What the paper leaves open, reported."""
    return Claim(f"{STUDY}.{name}", "beyond", says, None, measured, None, p)


def same_topic_gain(figures: Figures) -> Claim:
    test, same_seeds = figures.gain(MAPPED, BASELINE), figures.gain(AGAIN, FIRST)
    holds = is_gain(test)
    return _of_the_paper(
        "same-topic-gain",
        says=f"A crawl with the map of an earlier one of the same topic brings more good pages than the baseline, for"
        f" {figures.downloads} downloads from the same seeds, which are not those of the earlier crawl (paired over"
        f" topics, p < {SIGNIFICANT})",
        paper="7841 to 10170 good pages of 15000 (+30 %), 7956 to 9360 (+18 %), from the seeds of the earlier crawl",
        measured=f"{gained(figures, MAPPED, BASELINE, test)}; from the seeds of the earlier crawl"
        f" {gained(figures, AGAIN, FIRST, same_seeds)}",
        p=told(test.p),
        holds=holds,
        why=why_no_gain(test),
    )


def near_optimal_start(figures: Figures) -> Claim:
    starts = {kind: summary(figures.values(kind, start_of)) for kind in (AGAIN, MAPPED, KEEN, BASELINE)}
    holds = starts[AGAIN].mean >= OPTIMAL and starts[MAPPED].mean >= OPTIMAL
    return _of_the_paper(
        "near-optimal-start",
        says=f"With the map, at least {OPTIMAL:.0%} of the first tenth of the pages are good, from the seeds of the"
        " earlier crawl as well as from others",
        paper="at the beginning very close to an optimal crawler, from the seeds of the earlier crawl",
        measured=f"{starts[AGAIN].mean:.1%} from the seeds of the earlier crawl, {starts[MAPPED].mean:.1%} from others"
        f" (baseline {starts[BASELINE].mean:.1%}); with links of the map at 0.8 instead of 0.6,"
        f" {starts[KEEN].mean:.1%}",
        holds=holds,
        why=why_slow(figures),
    )


def finds_new_pages(figures: Figures) -> Claim:
    ours, theirs = figures.values(MAPPED, new_share), figures.values(BASELINE, new_share)
    test = paired_t(ours, theirs)
    all_pages = figures.mean(BASELINE, good_share)
    holds = test.difference >= 0
    topics = "; ".join(
        f"{topic} {our:.0%} against {their:.0%}"
        for topic, our, their in zip(figures.topics, ours, theirs, strict=True)
        if our == our and their == their
    )
    new = figures.mean(MAPPED, lambda crawl: float(crawl["new"]))
    return _of_the_paper(
        "finds-new-pages",
        says="Of the pages that the first crawl had not seen, at least as many are good with the map as by the"
        " baseline, in the mean over topics",
        paper="70 % of 10000 new pages against the 52 % of the baseline (Basketball); 51 % of 6000 against 52 %"
        " (Economics)",
        measured=f"{summary(ours).mean:.1%} of {new:.0f} new pages against {summary(theirs).mean:.1%} of"
        f" {figures.mean(BASELINE, lambda crawl: float(crawl['new'])):.0f}; so for"
        f" {sum(our >= their for our, their in zip(ours, theirs, strict=True))} of {test.n} topics: {topics}; of all"
        f" pages of the baseline {all_pages:.1%} are good",
        p=told(test.p),
        holds=holds,
        why=why_not_new(figures),
    )


def overlap(figures: Figures) -> Claim:
    shares = {kind: figures.mean(kind, seen_share) for kind in (MAPPED, BASELINE, AGAIN, URLS, KEEN, SHY)}
    topics = "; ".join(
        f"{topic} {share:.0%}" for topic, share in zip(figures.topics, figures.values(MAPPED, seen_share), strict=True)
    )
    return _of_the_paper(
        "overlap",
        says="The share of the pages with the map that the first crawl had seen",
        paper="4700 of 15000 (Basketball), 9000 of 15000 (Economics), from the seeds of the first crawl",
        measured=f"{shares[MAPPED]:.0%} ({topics}); baseline {shares[BASELINE]:.0%}, with the map from the seeds of the"
        f" first crawl {shares[AGAIN]:.0%}, URLs cached {shares[URLS]:.0%}, map at 0.8 {shares[KEEN]:.0%}, at 0.4"
        f" {shares[SHY]:.0%}",
        holds=None,
    )


def related_topic_gain(figures: Figures) -> Claim:
    test = figures.gain(RELATED, BASELINE)
    share = summary(figures.related_shares())
    return _of_the_paper(
        "related-topic-gain",
        says="A map of the pages on a topic that a crawl of a related one came by brings more good pages than the"
        f" baseline (paired over topics, p < {SIGNIFICANT}), though it has fewer than {SMALL:.0%} of the pages of that"
        " crawl in the mean",
        paper="7841 to 9169 good pages (+17 %) from a map of 132 pages, 0.9 % of those crawled",
        measured=f"{gained(figures, RELATED, BASELINE, test)}, from maps of {share.mean * figures.downloads:.0f} pages,"
        f" {share.mean:.1%} of those crawled, in the mean",
        p=told(test.p),
        holds=is_gain(test) and share.mean < SMALL,
        why=why_not_related(figures, test, share.mean),
    )


def survives_change(figures: Figures) -> Claim:
    claim = _of_the_paper(
        "survives-change",
        says="A map drawn half a year earlier still brings more good pages than the baseline (paired over topics,"
        f" p < {SIGNIFICANT})",
        paper="still a gain (Basketball); a gain that fades after 12000 of 15000 pages (Economics)",
        measured="this world does not change",
        holds=None,
    )
    if not figures.has(MAPPED_LATER):
        return claim
    test, fresh = figures.gain(MAPPED_LATER, BASELINE_LATER), figures.gain(MAPPED, BASELINE)
    place = max(0, round(FADES * len(figures.points)) - 1)
    before = paired_gain(figures.outcomes, MAPPED_LATER, BASELINE_LATER, place).difference
    dead = figures.mean(MAPPED_LATER, lambda crawl: crawl["dead"] / max(1, crawl["downloads"]))
    holds = is_gain(test)
    return replace(
        claim,
        measured=f"{gained(figures, MAPPED_LATER, BASELINE_LATER, test)}; on the day of the first crawl"
        f" {fresh.difference:+.0f}; the gain is {before:+.0f} after {figures.points[place]} downloads and"
        f" {test.difference:+.0f} at the end; {dead:.0%} of what the crawl with the map asked for was gone",
        p=told(test.p),
        holds=holds,
        reason="" if holds else f"{dead:.0%} of what the crawl with the map asked for was gone",
    )


def both_kinds(figures: Figures) -> Claim:
    tests = {other: figures.gain(BOTH, other) for other in (MAPPED, RELATED, BASELINE)}
    return _beyond_the_paper(
        "both-kinds",
        says="Navigation and redirection links together, against each alone",
        measured=f"both kinds {good_pages(figures, BOTH)} good pages, navigation {good_pages(figures, MAPPED)},"
        f" redirection {good_pages(figures, RELATED)}, baseline {good_pages(figures, BASELINE)};"
        f" {against(BOTH, tests)}",
        p=told(tests[MAPPED].p),
    )


def reach(figures: Figures) -> Claim:
    tests = {
        f"{one} − {other}": figures.gain(one, other)
        for one, other in ((FAR, NEAR), (NEAR, MAPPED), (FAR, MAPPED), (ALIKE, MAPPED))
    }
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    new = ", ".join(
        f"{kind} {figures.mean(kind, seen_share):.0%} known pages and {figures.mean(kind, new_share):.1%} of the new"
        " ones good"
        for kind in (NEAR, FAR, MAPPED, ALIKE)
    )
    return _beyond_the_paper(
        "reach",
        says="Pages tied to portals near them, far from them, to any, or to portals with like texts",
        measured="; ".join(
            (
                ", ".join(f"{kind} {good_pages(figures, kind)}" for kind in (NEAR, FAR, MAPPED, ALIKE)),
                *(f"{name} {test.difference:+.1f}, p {corrected[name]:.2g}" for name, test in tests.items()),
                new,
            )
        ),
        p=told(min(corrected.values())),
    )


def over_caching(figures: Figures) -> Claim:
    tests = {other: figures.gain(MAPPED, other) for other in (URLS, CONTENT)}
    keen = figures.gain(KEEN, URLS)
    new = ", ".join(
        f"{kind} {figures.mean(kind, lambda crawl: float(crawl['new_good'])):.0f}"
        for kind in (MAPPED, KEEN, URLS, CONTENT, BASELINE)
    )
    copies = figures.mean(CONTENT, lambda crawl: float(crawl["copies"]))
    later = ""
    if figures.has(CONTENT_LATER):
        outdated = figures.mean(CONTENT_LATER, lambda crawl: crawl["outdated"] / max(1, crawl["copies"]))
        later = (
            f"; half a year on, URLs cached {good_pages(figures, URLS_LATER)}, map {good_pages(figures, MAPPED_LATER)},"
            f" and {outdated:.0%} of the copies used are no longer what is there"
        )
    return _beyond_the_paper(
        "over-caching",
        says="What the map adds over remembering all good URLs as seeds, and over stored copies of all pages",
        measured=f"{against(MAPPED, tests)}; map at 0.8 against {URLS} {keen.difference:+.1f}, p {keen.p:.2g}; good"
        f" pages that are new: {new}; content cached counts {copies:.0f} copies that cost no download{later}",
        p=told(tests[URLS].p),
    )


def paired_gain(outcomes: Sequence[Plain], kind: str, over: str, place: int) -> PairedTest:
    """The gain in good pages at one point of the curves."""
    both = [outcome["crawls"] for outcome in outcomes if kind in outcome["crawls"] and over in outcome["crawls"]]
    first, second = ([crawls[each]["curves"]["good"][place] for crawls in both] for each in (kind, over))
    return paired_t(first, second)
