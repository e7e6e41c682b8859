"""The effect of the target T of the strategy `hunter`: maximise standing, subject to a mean relevance of T.

`adaptive`, the strategy of a paper, has such a target too. Status is ln(1 + in-links), standing the same from 0 to 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from lycosa.pictures import Series, line_chart
from lycosa.relevance import train
from lycosa.strategies.hunter import Hunter
from lycosa.strategies.target import WINDOW
from lycosa.strategies.utility import Adaptive
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import JsonValue, Page, Url
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.simulation import crawl
from lycosa_lab.statistics import SIGNIFICANT, finite_or_none, holds_or_none, p_of_trend, summary
from lycosa_lab.study import Size
from lycosa_lab.tables import Scores, mean_rows, nan_if_none, pair_rows, rounded
from lycosa_lab.test_bed import TestBed, examples_of, in_links_of, prepare_test_bed
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld

TARGETS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.0)
TOLERANCE = 0.05  # by which mean relevance may miss a reachable target
RELEVANCE, STATUS = "share of pages on the topic", "mean ln(1 + in-links)"  # both by the truth of the world
# Both as the crawler judges:
JUDGED_RELEVANCE, RECENT_RELEVANCE = "mean relevance", f"mean relevance of the last {WINDOW} pages"
MEASURES = (RELEVANCE, STATUS, JUDGED_RELEVANCE, RECENT_RELEVANCE)


def label(target: float) -> str:
    return f"T={target:g}"


def adaptive(target: float) -> str:
    return f"adaptive {label(target)}"


SETTINGS = [label(target) for target in TARGETS]  # of hunter
ADAPTIVE = [adaptive(target) for target in TARGETS]  # for comparison


class RelevanceTargetStudy:
    """Crawls of one topic at each target by hunter, and by adaptive for comparison, in worlds that differ by seed; in
    worlds that are not synthetic, crawls of several topics. Examples are seeds, and do not count."""

    name = "relevance-target"
    summary = "Whether a lower target of relevance gives pages of higher standing, and whether the target is met."
    scales: Mapping[str, Size] = {
        # explored: pages of each topic from which the scale of standing is taken
        "small": {"worlds": 24, "pages": 500, "examples": 40, "explored": 60, "world_pages": 12_000, "topics": 6},
        "paper": {"worlds": 40, "pages": 2_000, "examples": 60, "explored": 100, "world_pages": 60_000, "topics": 10},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        if isinstance(world, SyntheticWorld):
            return [{"seed": 1_000 * seed + number, "topic": 0} for number in range(size["worlds"])]
        topics = len(examples_of(world, topics=size["worlds"], per_class=size["examples"], seed=seed))
        return [{"seed": seed, "topic": number} for number in range(topics)]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> tuple[Size, TestBed | None]:
        """The size, and the shared test bed if all topics are of one world."""
        if isinstance(world, SyntheticWorld):
            return size, None
        return size, prepare_test_bed(world, size, seed, in_links_of(world), topics=size["worlds"])

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        size, bed = prepared
        if bed is None:
            assert isinstance(world, SyntheticWorld)
            own = SyntheticWorld(**asdict(world.options) | {"seed": job["seed"]})
            bed = prepare_test_bed(own, size, job["seed"], in_links_of(own), topics=2)
        topic = _TopicAtTargets(bed, job["topic"])
        crawls = {label(target): topic.hunter_crawl(target, size["pages"]) for target in TARGETS}
        crawls |= {adaptive(target): topic.adaptive_crawl(target, size["pages"]) for target in TARGETS}
        return {"world": job["seed"], "topic": topic.name, "crawls": crawls}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        scores = {measure: _scores(outcomes, measure) for measure in MEASURES}
        rows: dict[str, list[Row]] = {
            "means": [row for measure in MEASURES for row in mean_rows(measure, scores[measure], seed=seed)],
            "tests": [row for measure in (RELEVANCE, STATUS) for row in pair_rows(measure, scores[measure])],
            "crawls": [
                {"world": outcome["world"], "topic": outcome["topic"], "target": setting, **crawled}
                for outcome in outcomes
                for setting, crawled in outcome["crawls"].items()
            ],
        }
        claims = [
            _trend(RELEVANCE, "falls", [scores[RELEVANCE][setting] for setting in reversed(SETTINGS)], scores),
            _trend(STATUS, "rises", [scores[STATUS][setting] for setting in SETTINGS], scores),
            _kept(outcomes),
            _out_of_reach(outcomes),
        ]
        return Findings(claims=claims, tables=rows, figures={"trade-off": _figure(scores, len(outcomes), size)})


class _ScoredPage(NamedTuple):
    page: Page
    relevance: float
    standing: float


class _TopicAtTargets:
    """One topic, crawled at several targets; scores of pages are cached between crawls."""

    def __init__(self, bed: TestBed, number: int):
        examples = bed.topics[number]
        self.name = examples.topic
        self._bed = bed
        self._examples = examples.good
        self._relevance = train(bed.pages(examples.good), bed.pages(examples.bad), seed=bed.seed)
        self._standing = bed.models.models[examples.topic]
        self._scored: dict[Url, _ScoredPage | None] = {}

    def hunter_crawl(self, target: float, pages: int) -> JsonValue:
        strategy = Hunter(target=target, judge=lambda: self._relevance, example_urls=self._examples)
        measured = self._measured(strategy, pages)
        return {
            **measured,
            # Weight of relevance against standing; `alpha` is None at T = 1, which is relevance alone.
            "α": 1.0 if strategy.alpha is None else rounded(strategy.alpha),
            # Whether the crawl could still meet the target at its end:
            "in reach": strategy.target is not None and strategy.target.is_attainable,
        }

    def adaptive_crawl(self, target: float, pages: int) -> JsonValue:
        return self._measured(Adaptive(target=target, example_urls=self._examples), pages)

    def _measured(self, strategy: Strategy, pages: int) -> dict[str, JsonValue]:
        steps = crawl(
            strategy,
            self._examples,
            read=self._read,
            judge=lambda page: self._scored_page(page.url).relevance,
            standing=lambda page: self._scored_page(page.url).standing,
            pages=pages + len(self._examples),
        )
        example_urls = set(self._examples)
        found = [step for step in steps if step.url not in example_urls]
        status = [known for step in found if (known := self._bed.models.source.status(step.url)) is not None]
        on_topic = [float(self._bed.world.topic(step.url) == self.name) for step in found]
        judged = [step.relevance for step in found]
        return {
            "pages": len(found),
            RELEVANCE: rounded(summary(on_topic).mean),
            STATUS: rounded(summary(status).mean),
            JUDGED_RELEVANCE: rounded(summary(judged).mean),
            RECENT_RELEVANCE: rounded(summary(judged[-WINDOW:]).mean),
        }

    def _read(self, url: Url) -> Page | None:
        if url not in self._scored:
            page = self._bed.cache.read(url)
            self._scored[url] = None
            if page is not None:
                self._scored[url] = _ScoredPage(page, self._relevance.relevance(page), self._standing.standing(page))
        scored = self._scored[url]
        return None if scored is None else scored.page

    def _scored_page(self, url: Url) -> _ScoredPage:
        scored = self._scored[url]
        assert scored is not None  # it was read
        return scored


def _scores(outcomes: Sequence[JsonValue], measure: str) -> Scores:
    return {
        setting: [nan_if_none(outcome["crawls"][setting][measure]) for outcome in outcomes]
        for setting in (*SETTINGS, *ADAPTIVE)
    }


def _trend(measure: str, direction: str, columns: Sequence[Sequence[float]], scores: Mapping[str, Scores]) -> Claim:
    p = p_of_trend(columns)
    means = ", ".join(f"{setting} {summary(scores[measure][setting]):.3f}" for setting in SETTINGS)
    holds = holds_or_none(not p >= SIGNIFICANT, p)
    return Claim(
        id=f"relevance-target.{'relevance' if measure == RELEVANCE else 'standing'}-{direction}",
        kind="beyond",
        text=f"The {measure} {direction} from T = 1 to T = 0, by Page's trend test, p < .05",
        paper=None,
        measured=f"{means}; p {p:.2g}",
        p=finite_or_none(p),
        holds=holds,
        reason="no significant trend" if holds is False else "",
    )


def _kept(outcomes: Sequence[JsonValue]) -> Claim:
    """Whether targets below 1 are met by the crawls for which they are reachable at the end."""
    lines, failures = [], []
    for target in TARGETS[1:]:
        crawls = [outcome["crawls"][label(target)] for outcome in outcomes]
        means = [nan_if_none(crawled[RECENT_RELEVANCE]) for crawled in crawls if crawled["in reach"]]
        if means:
            lines.append(f"{label(target)} {summary(means):.3f} in {len(means)} of {len(crawls)} crawls")
            failures += [label(target)] if not summary(means).mean >= target - TOLERANCE else []
    return Claim(
        id="relevance-target.kept",
        kind="beyond",
        text=f"Where a target is in reach at the end, the last {WINDOW} pages have it as their mean relevance, by the"
        f" crawler's own judgement and in the mean over crawls, or more, or miss it by no more than {TOLERANCE:g}",
        paper=None,
        measured="; ".join(lines) or "no target was in reach",
        holds=None if not lines else not failures,
        reason=f"{' and '.join(failures)} missed" if failures else "",
    )


def _out_of_reach(outcomes: Sequence[JsonValue]) -> Claim:
    counts = {
        setting: sum(not outcome["crawls"][setting]["in reach"] for outcome in outcomes) for setting in SETTINGS[1:]
    }
    return Claim(
        id="relevance-target.out-of-reach",
        kind="beyond",
        text="Crawls at whose end the target is out of reach, so that they go by relevance alone",
        paper=None,
        measured=", ".join(f"{setting} {count} of {len(outcomes)}" for setting, count in counts.items()),
        holds=None,
    )


def _figure(scores: Mapping[str, Scores], crawl_count: int, size: Size) -> Figure:
    series = []
    for name, settings in (("hunter", SETTINGS), ("adaptive", ADAPTIVE)):
        relevance, status = ([summary(scores[measure][each]) for each in settings] for measure in (RELEVANCE, STATUS))
        points = [(one.mean, other.mean) for one, other in zip(relevance, status, strict=True)]
        series.append(Series(name, points, errors=[each.standard_error for each in status]))
    return Figure(
        "Relevance against standing, by target",
        f"{crawl_count} crawls of {size['pages']} pages at each of the targets T = 1 (right), .9, .7, .5, .3 and 0"
        " (left) by each strategy: truth of the world, means, and standard errors of the status; up and to the right is"
        " better.",
        line_chart(series, title="Relevance against standing, by target", x_title=RELEVANCE, y_title=STATUS),
    )
