"""Three crawlers, evaluated in three ways: by classifiers, by ranks in retrieval, and by similarity to the topic.

Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001). The pool of a topic is the distinct
pages that any of the crawlers has fetched; ranks and similarities are relative to it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from lycosa.pictures import Bar, GroupedBar, Series, bar_chart, grouped_bars, line_chart
from lycosa.vocabulary.records import JsonValue, Url
from lycosa_lab.classifiers import LEARNERS, train_classifiers
from lycosa_lab.comparison import POINTS, ComparisonInputs, Pool, crawls_of, pool_of, truth_of
from lycosa_lab.measures import Harvest, MeanRank, MeanSimilarity, StrategyCpu, at_points, points_along
from lycosa_lab.page_cache import PageCache
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.retrieval import TermCounts, TermMatrix
from lycosa_lab.statistics import summary
from lycosa_lab.study import Size
from lycosa_lab.tables import Scores, lead_of, mean_curve, mean_rows, pair_rows, ranked_by_mean, rounded
from lycosa_lab.topics import DirectoryTopic, topics_of, with_disjoint_seeds
from lycosa_lab.worlds import StudyWorld

BEST_FIRST, INFOSPIDERS, PAGERANK = "best-first", "infospiders", "pagerank"
CRAWLERS = (BEST_FIRST, INFOSPIDERS, PAGERANK)


@dataclass(frozen=True)
class TopicDrivenInputs:
    """The inputs of the crawls of all topics, and the training pages of classifiers."""

    shared: ComparisonInputs
    examples: Mapping[str, Sequence[TermCounts]]  # topic -> its seeds


def prepare(shared: ComparisonInputs) -> TopicDrivenInputs:
    """Reads the seeds of every topic, which train the classifiers."""
    read = shared.cache.read
    examples = {
        topic.name: [page.words.term_counts for url in topic.seeds if (page := read(url))] for topic in shared.topics
    }
    return TopicDrivenInputs(shared, examples)


def run_topic(world: StudyWorld, prepared: TopicDrivenInputs, job: int) -> JsonValue:
    """All crawls of the topic of number `job`, and their measures."""
    shared = prepared.shared
    topic = shared.topics[job]
    crawls = crawls_of(CRAWLERS, topic, shared, job)
    pool = pool_of(topic, shared.cache, crawls.values())
    truth = truth_of(world, topic, pool)
    accepted = _accepted(topic, prepared, pool, job)
    points = points_along(shared.size["pages"], POINTS)
    return {
        "topic": topic.name,
        "pooled": len(pool.urls),  # number of pages
        "crawlers": {
            name: {
                "pages": len(steps),
                "milliseconds": StrategyCpu.value(steps, truth),
                "harvest": Harvest.value(steps, truth),
                "accepted": {  # share of the pages, by classifier
                    classifier: sum(step.url in good for step in steps) / max(1, len(steps))
                    for classifier, good in accepted.items()
                },
                "similarity": at_points(points, MeanSimilarity.over(steps, truth)),
                "rank": at_points(points, MeanRank.over(steps, truth)),
            }
            for name, steps in crawls.items()
        },
    }


def _accepted(topic: DirectoryTopic, prepared: TopicDrivenInputs, pool: Pool, job: int) -> dict[str, set[Url]]:
    """The pooled pages that each classifier accepts as on topic."""
    good = TermMatrix.of(prepared.examples[topic.name])
    others = with_disjoint_seeds(prepared.shared.topics, topic)
    bad = TermMatrix.of(example for other in others for example in prepared.examples[other.name])
    classifiers = train_classifiers(good, bad, seed=prepared.shared.seed + job)
    return {
        name: {
            url for url, is_accepted in zip(pool.urls, classifier.accepts(pool.documents), strict=True) if is_accepted
        }
        for name, classifier in classifiers.items()
    }


# ------------------------------------------------------------ tables

TESTED_AT = (0.1, 0.5, 1.0)  # shares of the crawl: 100, 500 and 1 000 pages at the paper's scale


class TopicDrivenTables:
    """The outcomes of all topics by crawler; topics in which a crawler fetched nothing are left out."""

    def __init__(self, size: Size, outcomes: Sequence[JsonValue]):
        self.points = points_along(size["pages"], POINTS)
        self.outcomes = [outcome for outcome in outcomes if all(c["pages"] for c in outcome["crawlers"].values())]

    def scores(self, value_of: Callable[[JsonValue], float]) -> Scores:
        return {name: [value_of(outcome["crawlers"][name]) for outcome in self.outcomes] for name in CRAWLERS}

    def accepted(self, classifier: str) -> Scores:
        return self.scores(lambda crawled: float(crawled["accepted"][classifier]))

    def similarity(self) -> Scores:
        return self.scores(lambda crawled: float(crawled["similarity"][-1]))

    def rank_at(self, share: float) -> Scores:
        index = self._index_at(share)
        return self.scores(lambda crawled: float(crawled["rank"][index]))

    def _index_at(self, share: float) -> int:
        wanted = share * self.points[-1]
        return min(range(len(self.points)), key=lambda index: abs(self.points[index] - wanted))

    @property
    def points_tested(self) -> list[int]:
        """Numbers of pages at which ranks are tested."""
        return [self.points[self._index_at(share)] for share in TESTED_AT]

    def rank_name(self, share: float) -> str:
        return f"mean rank at {self.points[self._index_at(share)]}"

    def measures(self) -> dict[str, Scores]:
        return {
            **{f"accepted by {classifier}": self.accepted(classifier) for classifier in LEARNERS},
            **{self.rank_name(share): self.rank_at(share) for share in TESTED_AT},
            "mean similarity": self.similarity(),
            "harvest by the world's truth": self.scores(lambda crawled: float(crawled["harvest"])),
            "pages": self.scores(lambda crawled: float(crawled["pages"])),
            "processor ms per page": self.milliseconds(),
            "accepted pages per processor second": self.scores(_good_per_second),
        }

    def milliseconds(self) -> Scores:
        return self.scores(lambda crawled: float(crawled["milliseconds"]))

    def curve(self, name: str, curve_name: str) -> Series:
        samples = (
            [outcome["crawlers"][name][curve_name][index] for outcome in self.outcomes]
            for index in range(len(self.points))
        )
        return mean_curve(name, self.points, samples)

    def curve_rows(self) -> list[Row]:
        rows: list[Row] = []
        for curve_name in ("rank", "similarity"):
            for name in CRAWLERS:
                curve = self.curve(name, curve_name)
                rows += [
                    {
                        "curve": curve_name,
                        "strategy": name,
                        "pages": int(x),
                        "mean": round(y, 6),
                        "standard_error": error,
                    }
                    for (x, y), error in zip(curve.points, map(rounded, curve.errors), strict=True)
                ]
        return rows

    def topic_rows(self) -> list[Row]:
        return [
            {
                "topic": outcome["topic"],
                "pooled": outcome["pooled"],
                "strategy": name,
                "pages": crawled["pages"],
                "similarity": crawled["similarity"][-1],
                "rank": crawled["rank"][-1],
                **{classifier: round(share, 6) for classifier, share in crawled["accepted"].items()},
                "harvest": round(crawled["harvest"], 6),
            }
            for outcome in self.outcomes
            for name, crawled in outcome["crawlers"].items()
        ]


def _good_per_second(crawled: JsonValue) -> float:
    """Pages that the classifiers accept, in their mean, per processor second of the strategy."""
    good = crawled["pages"] * sum(crawled["accepted"].values()) / len(crawled["accepted"])
    seconds = crawled["pages"] * crawled["milliseconds"] / 1000
    return float(good / seconds) if seconds else float("nan")


# ------------------------------------------------------------ claims


def _rows_of(tests: Sequence[Row], measure: str) -> list[Row]:
    return [row for row in tests if row["measure"] == measure]


def _means(scores: Scores) -> str:
    return ", ".join(f"{name} {summary(values).mean:.3g}" for name, values in scores.items())


def _judged_measures() -> list[str]:
    return ["mean similarity", *(f"accepted by {classifier}" for classifier in LEARNERS)]


def bestfirst_first(tables: TopicDrivenTables, tests: Sequence[Row]) -> Claim:
    others = (INFOSPIDERS, PAGERANK)
    found = {measure: lead_of(_rows_of(tests, measure), BEST_FIRST, others) for measure in _judged_measures()}
    ranks = "; ".join(
        f"{(name := tables.rank_name(share))}: {_means(tables.rank_at(share))}"
        f" ({lead_of(_rows_of(tests, name), BEST_FIRST, others, lower_is_better=True)})"
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
    not_last = [measure for measure, leads in found.items() if not all(lead.is_significant for lead in leads.values())]
    return Claim(
        id="topic-driven.pagerank-last",
        kind="paper",
        text="PageRank is below best-first and InfoSpiders by mean similarity and by every classifier, p < .05",
        paper="PageRank last on all three methods; it drifts to popular pages whatever the topic",
        measured="; ".join(
            f"{measure}: {_means(measures[measure])} ({', '.join(f'{name} {lead}' for name, lead in leads.items())})"
            for measure, leads in found.items()
        ),
        p=max(lead.p for leads in found.values() for lead in leads.values()),
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
    early, late = (
        ranked_by_mean(tables.rank_at(share), lower_is_better=True) for share in (TESTED_AT[0], TESTED_AT[-1])
    )
    if early[-1] == PAGERANK != late[-1]:
        return (
            f"; by rank it is last at {tables.points_tested[0]} pages and no longer at {tables.points_tested[-1]}:"
            " it gains with the length of the crawl, as the paper supposes of its own"
        )
    return ""


def methods_agree(tables: TopicDrivenTables, tests: Sequence[Row]) -> Claim:
    orders = {
        "classifiers": ranked_by_mean(
            tables.scores(lambda crawled: sum(crawled["accepted"].values()) / len(crawled["accepted"]))
        ),
        "retrieval": ranked_by_mean(tables.rank_at(1.0), lower_is_better=True),
        "similarity": ranked_by_mean(tables.similarity()),
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
            p_values = [
                f"{row['measure']} p {row['holm_p']:.2g}"
                for row in tests
                if (row["first"], row["second"]) == pair
                and row["measure"] in (*_judged_measures(), tables.rank_name(1.0))
                and row["holm_p"] is not None
            ]
            differences.append(f"{' and '.join(pair)} ({', '.join(p_values)})")
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


# ------------------------------------------------------------ figures


def all_figures(tables: TopicDrivenTables) -> dict[str, Figure]:
    groups = {
        classifier: [
            GroupedBar(name, each.mean, each.standard_error)
            for name, values in tables.accepted(classifier).items()
            for each in [summary(values)]
        ]
        for classifier in LEARNERS
    }
    topics = f"Means over {len(tables.outcomes)} topics; thin bars are standard errors."
    costs = [Bar(name, summary(values).mean) for name, values in tables.milliseconds().items()]
    return {
        "classifiers": Figure(
            "Share of pages accepted by the classifiers",
            f"As figure 5 of the paper. {topics}",
            grouped_bars(groups, title="Share of pages accepted by the classifiers", y_title="share of pages"),
        ),
        "ranks": Figure(
            "Mean rank among the pooled pages",
            f"As figure 6 of the paper: lower is better. {topics}",
            line_chart(
                [tables.curve(name, "rank") for name in CRAWLERS],
                title="Mean rank of the pages fetched so far",
                x_title="pages fetched",
                y_title="mean rank",
            ),
        ),
        "similarity": Figure(
            "Mean similarity to the topic",
            f"As figure 7 of the paper: higher is better. {topics}",
            line_chart(
                [tables.curve(name, "similarity") for name in CRAWLERS],
                title="Mean similarity of the pages fetched so far",
                x_title="pages fetched",
                y_title="mean tf·idf cosine",
            ),
        ),
        "cost": Figure(
            "Cost of the strategies",
            "Processor milliseconds for each page, fetching, reading and similarity not counted.",
            bar_chart(costs, title="Processor ms per page"),
        ),
    }


# ------------------------------------------------------------ the study


class TopicDriven:
    name = "topic-driven"
    summary = "Which of best-first, InfoSpiders and PageRank keeps closest to a topic, judged in three ways."
    scales: Mapping[str, Size] = {
        "small": {"topics": 20, "pages": 300, "buffer": 200, "world_pages": 20_000},
        "paper": {"topics": 100, "pages": 1_000, "buffer": 200, "world_pages": 250_000},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return list(range(len(topics_of(world, size["topics"]))))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> TopicDrivenInputs:
        return prepare(ComparisonInputs(topics_of(world, size["topics"]), PageCache(world), size, seed))

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        return run_topic(world, prepared, job)

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = TopicDrivenTables(size, outcomes)
        means: list[Row] = []
        tests: list[Row] = []
        for measure, scores in tables.measures().items():
            means += mean_rows(measure, scores, seed=seed)
            tests += pair_rows(measure, scores)
        return Findings(
            claims=[
                bestfirst_first(tables, tests),
                pagerank_last(tables, tests, hosts=len(world.hosts)),
                methods_agree(tables, tests),
                cost(tables),
            ],
            tables={
                "means": means,
                "tests": tests,
                "curves": tables.curve_rows(),
                "topics": tables.topic_rows(),
            },
            figures=all_figures(tables),
        )
