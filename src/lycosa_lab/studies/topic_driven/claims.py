"""The claims of the paper, computed."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from lycosa_lab.assessors import LEARNERS
from lycosa_lab.results import Claim, Row
from lycosa_lab.statistics import summary
from lycosa_lab.tables import Scores, by_mean, lead_of

from .runs import BEST_FIRST, CRAWLERS, INFOSPIDERS, PAGERANK
from .tables import TESTED_AT, TopicDrivenTables


def _rows_of(tests: Sequence[Row], measure: str) -> list[Row]:
    return [row for row in tests if row["measure"] == measure]


def _means(scores: Scores) -> str:
    return ", ".join(f"{name} {summary(values).mean:.3g}" for name, values in scores.items())


def _judged_measures() -> list[str]:
    return ["mean similarity", *(f"accepted by {assessor}" for assessor in LEARNERS)]


def bestfirst_first(tables: TopicDrivenTables, tests: Sequence[Row]) -> Claim:
    others = (INFOSPIDERS, PAGERANK)
    found = {measure: lead_of(_rows_of(tests, measure), BEST_FIRST, others) for measure in _judged_measures()}
    ranks = "; ".join(
        f"{(name := tables.rank_name(share))}: {_means(tables.rank_at(share))}"
        f" ({lead_of(_rows_of(tests, name), BEST_FIRST, others, fewer_is_better=True)})"
        for share in TESTED_AT
    )
    measures = tables.measures()
    by_measure = "; ".join(f"{measure}: {_means(measures[measure])} ({lead})" for measure, lead in found.items())
    behind = [measure for measure, lead in found.items() if not lead.is_significant]
    return Claim(
        id="topic-driven.bestfirst-first",
        kind="paper",
        text="Best-first is above InfoSpiders and PageRank by mean similarity and by every classifier, p < .05",
        paper="BestFirst > InfoSpiders > PageRank, every pair significant at 95 %; best precision about 13 %;"
        " by rank at 500 and 1 000 too, at 100 InfoSpiders equal BestFirst",
        measured=f"{by_measure}; {ranks}",
        p=max(lead.p for lead in found.values()),
        holds=not behind,
        reason=f"not ahead, or not significantly, by {', '.join(behind)}" if behind else "",
    )


def pagerank_last(tables: TopicDrivenTables, tests: Sequence[Row], *, hosts: int) -> Claim:
    found = {
        measure: {other: lead_of(_rows_of(tests, measure), other, (PAGERANK,)) for other in (BEST_FIRST, INFOSPIDERS)}
        for measure in _judged_measures()
    }
    measures = tables.measures()
    not_last = [measure for measure, by in found.items() if not all(lead.is_significant for lead in by.values())]
    return Claim(
        id="topic-driven.pagerank-last",
        kind="paper",
        text="PageRank is below best-first and InfoSpiders by mean similarity and by every classifier, p < .05",
        paper="PageRank last on all three methods; it drifts to popular pages whatever the topic",
        measured="; ".join(
            f"{measure}: {_means(measures[measure])} ({', '.join(f'{name} {lead}' for name, lead in by.items())})"
            for measure, by in found.items()
        ),
        p=max(lead.p for by in found.values() for lead in by.values()),
        holds=not not_last,
        reason=f"not last, or not significantly, by {', '.join(not_last)}{_why_not_last(tables, hosts)}"
        if not_last
        else "",
    )


def _why_not_last(tables: TopicDrivenTables, hosts: int) -> str:
    """A likely reason why PageRank is not last, if the outcomes show one."""
    if hosts == 1:
        return (
            "; on one host its rank graph, which leaves out links within a site, has no links,"
            " so that it goes breadth first instead of to popular pages"
        )
    early, late = (by_mean(tables.rank_at(share), fewer_is_better=True) for share in (TESTED_AT[0], TESTED_AT[-1]))
    if early[-1] == PAGERANK != late[-1]:
        return (
            f"; by rank it is last at {tables.points_tested[0]} pages and no longer at {tables.points_tested[-1]}:"
            " it gains with the length of the crawl, as the paper supposes of its own"
        )
    return ""


def methods_agree(tables: TopicDrivenTables, tests: Sequence[Row]) -> Claim:
    orders = {
        "classifiers": by_mean(
            tables.scores(lambda crawled: sum(crawled["accepted"].values()) / len(crawled["accepted"]))
        ),
        "retrieval": by_mean(tables.rank_at(1.0), fewer_is_better=True),
        "similarity": by_mean(tables.similarity()),
    }
    agree = len({tuple(order) for order in orders.values()}) == 1
    return Claim(
        id="topic-driven.methods-agree",
        kind="paper",
        text="The three methods of assessment put the three crawlers in the same order, by means alone, those of the"
        " three classifiers taken together",
        paper="BestFirst, InfoSpiders, PageRank by all three",
        measured="; ".join(f"{method}: {' > '.join(order)}" for method, order in orders.items()),
        holds=agree,
        reason="" if agree else _differences_text(tables, orders, tests),
    )


def _differences_text(tables: TopicDrivenTables, orders: Mapping[str, Sequence[str]], tests: Sequence[Row]) -> str:
    """The pairs of crawlers whose order differs between methods, with the p-value of each method."""
    differences = []
    for pair in combinations(CRAWLERS, 2):
        if len({order.index(pair[0]) < order.index(pair[1]) for order in orders.values()}) > 1:
            sure = [
                f"{row['measure']} p {row['holm_p']:.2g}"
                for row in tests
                if (row["first"], row["second"]) == pair
                and row["measure"] in (*_judged_measures(), tables.rank_name(1.0))
                and row["holm_p"] is not None
            ]
            differences.append(f"{' and '.join(pair)} ({', '.join(sure)})")
    return f"the methods differ on {'; '.join(differences)}"


def cost(tables: TopicDrivenTables) -> Claim:
    measures = tables.measures()
    return Claim(
        id="topic-driven.cost",
        kind="paper",
        text="Processor time of each strategy for a page, and accepted pages for a second of it",
        paper="CPU time was recorded, a quality/cost analysis announced, no figures given",
        measured=f"ms per page: {_means(tables.milliseconds())}; accepted pages per second:"
        f" {_means(measures['accepted pages per processor second'])}",
        holds=None,
    )
