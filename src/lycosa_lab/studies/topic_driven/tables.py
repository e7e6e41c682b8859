"""The outcomes of all topics, crawler by crawler."""

from collections.abc import Callable, Sequence

from lycosa.pictures import Series
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.assessors import LEARNERS
from lycosa_lab.comparison import POINTS
from lycosa_lab.measures import points_along
from lycosa_lab.results import Row
from lycosa_lab.study import Size
from lycosa_lab.tables import Scores, mean_curve, rounded

from .runs import CRAWLERS

TESTED_AT = (0.1, 0.5, 1.0)  # shares of the crawl: 100, 500 and 1 000 pages at the paper's scale


class TopicDrivenTables:
    """The outcomes of all topics by crawler; topics in which a crawler fetched nothing are left out."""

    def __init__(self, size: Size, outcomes: Sequence[JsonValue]):
        self.points = points_along(size["pages"], POINTS)
        self.outcomes = [outcome for outcome in outcomes if all(c["pages"] for c in outcome["crawlers"].values())]

    def scores(self, pick: Callable[[JsonValue], float]) -> Scores:
        return {name: [pick(outcome["crawlers"][name]) for outcome in self.outcomes] for name in CRAWLERS}

    def accepted(self, assessor: str) -> Scores:
        return self.scores(lambda crawled: float(crawled["accepted"][assessor]))

    def similarity(self) -> Scores:
        return self.scores(lambda crawled: float(crawled["similarity"][-1]))

    def rank_at(self, share: float) -> Scores:
        place = self._place(share)
        return self.scores(lambda crawled: float(crawled["rank"][place]))

    def _place(self, share: float) -> int:
        wanted = share * self.points[-1]
        return min(range(len(self.points)), key=lambda place: abs(self.points[place] - wanted))

    @property
    def points_tested(self) -> list[int]:
        """Numbers of pages at which ranks are tested."""
        return [self.points[self._place(share)] for share in TESTED_AT]

    def rank_name(self, share: float) -> str:
        return f"mean rank at {self.points[self._place(share)]}"

    def measures(self) -> dict[str, Scores]:
        return {
            **{f"accepted by {assessor}": self.accepted(assessor) for assessor in LEARNERS},
            **{self.rank_name(share): self.rank_at(share) for share in TESTED_AT},
            "mean similarity": self.similarity(),
            "harvest by the world's truth": self.scores(lambda crawled: float(crawled["harvest"])),
            "pages": self.scores(lambda crawled: float(crawled["pages"])),
            "processor ms per page": self.milliseconds(),
            "accepted pages per processor second": self.scores(_good_per_second),
        }

    def milliseconds(self) -> Scores:
        return self.scores(lambda crawled: float(crawled["milliseconds"]))

    def curve(self, name: str, kind: str) -> Series:
        samples = (
            [outcome["crawlers"][name][kind][place] for outcome in self.outcomes] for place in range(len(self.points))
        )
        return mean_curve(name, self.points, samples)

    def curve_rows(self) -> list[Row]:
        rows: list[Row] = []
        for kind in ("rank", "similarity"):
            for name in CRAWLERS:
                curve = self.curve(name, kind)
                rows += [
                    {"curve": kind, "strategy": name, "pages": int(x), "mean": round(y, 6), "standard_error": error}
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
                **{assessor: round(share, 6) for assessor, share in crawled["accepted"].items()},
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
