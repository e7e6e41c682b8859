"""The crawls for one topic by every strategy, the oracle and the script, and the measures of each.

A task is a topic with a start (within the topic, or afar) and with what is given (good examples alone, or bad ones
too); its truth are the pages to be found. A topic is held out if nothing may be fitted to it. The oracle knows the
truth but has to follow links; the script is a short best-first crawler such as anybody could write (`baselines`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from lycosa.reading import Reader
from lycosa.recipe import Recipe, uses_standing
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import JsonValue, Url
from lycosa_lab.live_crawl import LiveTask, live_crawl
from lycosa_lab.measures import at_points, points_along
from lycosa_lab.study import Size
from lycosa_lab.test_bed import InLinkCounts, in_links_of
from lycosa_lab.worlds import StudyWorld

from .baselines import ORACLE, SCRIPT, Script, oracle
from .tasks import GIVEN, STARTS, LeagueTask, LeagueTopic, TopicWeb, WorldPages, task_of, topics_of

POINTS = 40  # of every curve
PRECISION_PAGES = 50  # first pages of which the precision is reported
RECALLS = (0.5, 0.8)  # the pages until each of these is reached are counted


def league_strategies() -> list[str]:
    """The strategies that need neither a log nor a map."""
    return [name for name, entry in STRATEGIES.items() if not entry.needs]


@dataclass(frozen=True)
class LeagueInputs:
    """What all tasks share."""

    topics: Mapping[str, LeagueTopic]
    strategies: Sequence[str]
    pages: WorldPages
    in_links: InLinkCounts
    theta: float  # median ln(1 + in-links), at which standing is 0.5
    size: Size
    seed: int  # of random choices

    def standing(self, url: Url) -> float:
        """The true standing of a page, 1 / (1 + e^(θ - ln(1 + in-links))); 0 if in-links are unknown."""
        status = self.in_links.status(url)
        return 0.0 if status is None else 1.0 / (1.0 + exp(self.theta - status))


def prepare(world: StudyWorld, strategies: Sequence[str], size: Size, seed: int) -> LeagueInputs:
    topics = topics_of(world, held_out=size["held_out"], development=size["development"])
    in_links = in_links_of(world)
    theta = median(status for url in world.urls() if (status := in_links.status(url)) is not None)
    return LeagueInputs(
        {topic.name: topic for topic in topics}, strategies, WorldPages(world), in_links, theta, size, seed
    )


def budgets_of(web_pages: int, size: Size) -> dict[float, int]:
    """The budgets in pages, by share of the web, without those beyond the longest crawl."""
    budgets = {share: round(share * web_pages) for share in size["budgets"]}
    allowed = {share: pages for share, pages in budgets.items() if pages <= size["longest"]}
    return allowed or {min(budgets): size["longest"]}


def run_topic(inputs: LeagueInputs, topic: LeagueTopic) -> JsonValue:
    """All tasks of a topic, in one job, so that they share parsed pages."""
    web, size, seed = TopicWeb(inputs.pages, topic), inputs.size, inputs.seed
    facts = {
        "topic": topic.name,
        "held_out": topic.is_held_out,
        "pages": len(topic.pages),  # of the topic
        "web": len(web.urls),  # pages of the web that its crawls can see
    }
    budgets = budgets_of(len(web.urls), size)
    tasks = []
    for start in STARTS:
        orders: dict[str, Sequence[Url]] = {}  # of the oracle and the script, which use no negatives
        for given in GIVEN:
            task = task_of(web, start, given, examples=size["examples"], negatives=size["negatives"], seed=seed)
            outcome: JsonValue = {**facts, "start": start, "given": given, "truth": 0, "budgets": {}, "crawls": {}}
            if task is not None:
                orders = orders or {
                    ORACLE: oracle(task, max(budgets.values())),
                    SCRIPT: Script(task, Reader(), seed=seed).crawl(max(budgets.values())),
                }
                outcome["truth"] = len(task.truth)  # number of pages to be found
                outcome["budgets"] = {f"{share:g}": count for share, count in budgets.items()}
                outcome["crawls"] = _crawls(inputs, task, orders, budgets)
            tasks.append(outcome)
    return {"tasks": tasks}


def _crawls(
    inputs: LeagueInputs, task: LeagueTask, orders: Mapping[str, Sequence[Url]], budgets: Mapping[float, int]
) -> JsonValue:
    """The measures of the crawls by every strategy, and of the orders of the baselines."""
    live = {name: _live_measures(inputs, task, name, budgets) for name in inputs.strategies}
    return live | {
        name: _crawl_measures(inputs, task, order, frozenset(order), budgets) for name, order in orders.items()
    }


def _live_measures(inputs: LeagueInputs, task: LeagueTask, strategy: str, budgets: Mapping[float, int]) -> JsonValue:
    with TemporaryDirectory(prefix="lycosa-league-") as scratch:
        table = _in_link_table(inputs, task, Path(scratch)) if uses_standing(Recipe(strategy=strategy)) else None
        outcome = live_crawl(
            strategy,
            LiveTask(
                examples=task.examples,
                negatives=task.negatives,
                seeds=() if list(task.seeds) == list(task.examples) else task.seeds,
                in_links=table,
                pages=max(budgets.values()),
            ),
            task.web,
        )
    kept = outcome.kept
    true_harvest = len(kept & task.web.topic.pages) / len(kept) if kept else 0.0
    return {
        **_crawl_measures(inputs, task, outcome.requested, kept, budgets),
        "claimed": outcome.claimed_harvest,  # the harvest rate that the crawl reports
        "true": true_harvest,
        "milliseconds": 1000 * outcome.seconds / max(1, len(outcome.requested)),
    }


def _in_link_table(inputs: LeagueInputs, task: LeagueTask, folder: Path) -> Path:
    """A file with the in-links of all pages of the task's web, as a user would give it."""
    path = folder / "in-links.csv"
    statuses = ((url, inputs.in_links.status(url)) for url in task.web.urls)
    rows = (f'"{url}",{round(expm1(status))}\n' for url, status in statuses if status is not None)
    write_file(path, "url,in_links\n" + "".join(rows), durable=False)
    return path


def _crawl_measures(
    inputs: LeagueInputs, task: LeagueTask, requested: Sequence[Url], kept: frozenset[Url], budgets: Mapping[float, int]
) -> JsonValue:
    """The measures of a crawl over the pages that it requested, without examples and negatives.

    A budget of n pages includes the examples, which are subtracted. With found(i) the number of true pages among the
    first i,

        area = Σ found(i) / Σ min(i, truth),    recall = found / truth,
        relevant × standing = Σ standing of the pages found / pages.

    A page that was fetched but not kept is not found.
    """
    input_urls = {*task.examples, *task.negatives}
    order = [url for url in requested if url not in input_urls]
    is_found = [url in task.truth and url in kept for url in order]
    length = max(1, max(budgets.values()) - len(task.examples))
    found = [0]  # after each number of pages
    for step in range(length):
        found.append(found[-1] + (step < len(order) and is_found[step]))
    first_count = min(PRECISION_PAGES, length)
    by_budget = {}
    for share, pages in budgets.items():
        steps = max(1, pages - len(task.examples))
        ideal = sum(min(step, len(task.truth)) for step in range(1, steps + 1))
        standing_sum = sum(inputs.standing(url) for url, good in zip(order[:steps], is_found, strict=False) if good)
        by_budget[f"{share:g}"] = {
            "area": sum(found[1 : steps + 1]) / ideal,
            "recall": found[steps] / len(task.truth),
            "relevant x standing": standing_sum / steps,
            **{f"pages to {share:.0%}": _pages_to(share * len(task.truth), found, steps) for share in RECALLS},
        }
    return {
        "requested": len(requested),
        "kept": len(kept),
        "first": found[first_count] / first_count,  # precision of the first pages
        "budgets": by_budget,
        # Recall along the crawl:
        "curve": at_points(points_along(length, POINTS), [each / len(task.truth) for each in found[1:]]),
    }


def _pages_to(wanted: float, found: Sequence[int], steps: int) -> int:
    """The number of pages until so many are found; all pages if they never are."""
    return next((step for step in range(1, steps + 1) if found[step] >= wanted), steps)
