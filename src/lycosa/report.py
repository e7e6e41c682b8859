"""The report of a collection: one self-contained HTML page without scripts and requests, safe for any content."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from html import escape
from itertools import pairwise, repeat, zip_longest
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec

from lycosa import __version__
from lycosa.collection import Collection
from lycosa.collection.rows import ChangeRow, Freshness, PageRow, RunRow, Summary
from lycosa.frontier.durable import count_waiting
from lycosa.pictures import Bar, Series, VerticalLine, bar_chart, bin_counts, histogram, line_chart
from lycosa.pictures.heat_map import heat_map
from lycosa.pictures.html_page import for_each_screen, html_page, section
from lycosa.recipe import Recipe, Topic, load_recipe
from lycosa.relevance.harvest import Calibration, harvest_interval
from lycosa.run.omissions import omissions_in_words
from lycosa.run.reasons import link_in_words, reasons_in_words
from lycosa.run.removal import REPORT_FILE
from lycosa.run.review import SampleResult, sample_result
from lycosa.run.run_settings import limits_as_flags, scope_of
from lycosa.run.topic import calibration_of
from lycosa.vocabulary.errors import CollectionError, cannot_write
from lycosa.vocabulary.explanations import is_found_by_readers, weight_of_relevance
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import RELEVANT, skip_counts
from lycosa.vocabulary.text import byte_size, grouped, printable, quoted
from lycosa.vocabulary.urls import normalise, site_of
from lycosa.web.outcomes import outcome_counts

SITES_SHOWN = 25  # and hosts
PAGES_SHOWN = 50
POINTS_PER_CURVE = 300
HEAT_MAP_CELLS = 20  # in each direction
_CHANGES_SHOWN = 25  # the latest
_SEEDS_SHOWN = 10
_REASONS_SHOWN = 3  # of a page; lycosa explain has all


class SiteFigures(NamedTuple):
    """The pages of a host or a site (a registered domain with all its hosts). The standing of a page is its importance
    on the Web, from 0 to 1."""

    name: str
    pages: int  # number of stored pages
    relevant: int  # number of relevant ones among these
    standing: float | None = None  # mean over pages with a known standing


class TopPage(NamedTuple):
    title: str
    url: str
    relevance: float | None  # None if not scored yet
    why: str = ""


class RunFigures(NamedTuple):
    started: str  # a formatted date
    strategy: str
    pages: int  # number stored by this run
    seconds: float
    stopped: str = ""  # why it ended


class ChangedPage(NamedTuple):
    when: str  # a formatted date
    change: str
    title: str
    url: str


class FreshnessFigures(NamedTuple):
    """How up to date the pages are. A look is one fetch of a stored page; all numbers are of pages."""

    oldest_look: str  # a formatted date
    latest_look: str
    looked_again: int  # fetched again at least once
    changed: int  # at least once
    vanished: int  # gone now
    latest_changes: Sequence[ChangedPage] = ()


@dataclass(frozen=True)
class ReportData:
    """The content of a report."""

    name: str  # of the collection
    topic: str
    relevances: Sequence[float | None]  # of the stored pages, in the order of the crawl; None if not judged yet
    standings: Sequence[float | None] = ()  # of the same pages, None if unknown
    alphas: Sequence[float | None] = ()  # weight of relevance against standing when the page was chosen
    hosts: Sequence[str] = ()  # of the same pages
    found_by_readers: Sequence[bool] = ()  # whether they were found by an access log and not by a link
    top_pages: Sequence[TopPage] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)  # number of fetches, by how they ended
    skips: Mapping[str, int] = field(default_factory=dict)  # number of URLs that were never fetched, by reason
    left_out: Sequence[tuple[str, str]] = ()  # what is missing, and the remedy
    runs: Sequence[RunFigures] = ()
    freshness: FreshnessFigures | None = None
    waiting: int = 0  # number of URLs
    size: int = 0  # bytes received
    seconds: float = 0.0  # of crawling, over all runs
    made_at: str = ""  # date of the report, formatted
    version: str = ""  # of Lycosa
    recipe: Sequence[tuple[str, str]] = ()  # key and value
    calibration: Calibration = "crawl"  # how relevance is calibrated
    measured: SampleResult | None = None  # the share of relevant pages, if enough random pages were labelled


def write_report(collection: Collection, out: Path | None = None) -> Path:
    """Writes the report of a collection to `out`, by default into its folder; returns the path."""
    path = out or collection.folder / REPORT_FILE
    page = html_report(collection)
    try:
        write_file(path, page)
    except OSError as error:
        if out is None:
            raise CollectionError(f"cannot write {path}: {error.strerror}; make room, or give --out") from None
        raise cannot_write(out, error, advice="give another --out") from None
    return path


def html_report(collection: Collection) -> str:
    """The report of a collection as HTML."""
    return report_page(report_data(collection))


def report_data(collection: Collection) -> ReportData:
    """The content of the report of a collection; scans its pages."""
    folder, recipe = collection.folder, load_recipe(collection.folder, for_reading=True)
    sample = sample_result(folder, collection.catalog)
    catalog = collection.catalog
    summary = catalog.summary()
    relevances: list[float | None] = []
    standings: list[float | None] = []
    alphas: list[float | None] = []
    hosts: list[str] = []
    found_by_readers: list[bool] = []
    for page in catalog.pages():
        relevances.append(page.relevance)
        standings.append(page.standing)
        alphas.append(weight_of_relevance(page.because))
        hosts.append(page.host)
        found_by_readers.append(is_found_by_readers(page.because, page.found_on))
    runs = [
        _run_figures(run, catalog.count_of_run(run.first_page, following.first_page if following else None))
        for run, following in zip_longest(summary.runs, summary.runs[1:])
    ]
    with catalog.reporting_errors():
        waiting = count_waiting(catalog.connection)
    return ReportData(
        name=collection.folder.absolute().name,
        topic=_topic_in_words(recipe.topic),
        relevances=relevances,
        standings=standings,
        alphas=alphas,
        hosts=hosts,
        found_by_readers=found_by_readers,
        top_pages=[_top_page(page) for page in catalog.pages("relevance", min_relevance=RELEVANT, limit=PAGES_SHOWN)],
        outcomes=outcome_counts(catalog.outcomes_and_statuses()),
        left_out=[(each.what, each.remedy) for each in omissions_in_words(summary.omissions, recipe)],
        skips=skip_counts(summary.skipped),
        runs=runs,
        freshness=_freshness_figures(summary.freshness, catalog.latest_changes(_CHANGES_SHOWN)),
        waiting=waiting,
        size=summary.bytes,
        seconds=sum(run.seconds for run in runs),
        made_at=datetime.now().strftime("%Y-%m-%d %H:%M"),
        calibration=calibration_of(recipe.topic, folder),
        measured=sample if sample is not None and sample.is_enough else None,
        version=__version__,
        recipe=[*_recipe_lines(recipe, summary.runs), ("command", _command(collection, recipe, summary))],
    )


def _recipe_lines(recipe: Recipe, runs: Sequence[RunRow]) -> list[tuple[str, str]]:
    """What is needed to repeat the crawl, as keys and values; nothing that may be secret."""
    topic, scope = recipe.topic, msgspec.to_builtins(recipe.scope)
    quotas = (("per_host", recipe.stop.per_host), ("per_site", recipe.stop.per_site))
    seeds = list(dict.fromkeys(seed for run in runs for seed in run.seeds))
    more = f" and {len(seeds) - _SEEDS_SHOWN:,} more" if len(seeds) > _SEEDS_SHOWN else ""
    lines = [
        ("topic", topic.text),
        ("examples", topic.examples),
        ("negatives", topic.negatives),
        ("predicate", msgspec.json.encode(topic.predicate).decode() if topic.predicate is not None else ""),
        ("keywords", ", ".join(topic.keywords)),
        ("function", topic.function),
        ("seeds", ", ".join(seeds[:_SEEDS_SHOWN]) + more),
        ("strategy", recipe.strategy),
        ("target", "" if recipe.utility.target is None else f"{recipe.utility.target:g}"),
        ("quotas", "; ".join(f"{key} = {value}" for key, value in quotas if value is not None)),
        ("scope", "; ".join(f"{key} = {value}" for key, value in scope.items() if value)),
    ]
    return [(key, value) for key, value in lines if value]


def _topic_in_words(topic: Topic) -> str:
    """What the collection is about: what decides, if there is no text."""
    if topic.text:
        return topic.text
    if topic.predicate is not None:
        return "pages that a predicate admits"
    if topic.function:
        return f"pages judged by {topic.function}"
    return ", ".join(topic.keywords) or f"learned from {topic.examples or 'examples'}"


def _command(collection: Collection, recipe: Recipe, summary: Summary) -> str:
    """The command that crawls as the last run did, with what its flags changed in strategy and scope."""
    last = next((run for run in reversed(summary.runs) if not run.refresh), None)
    flags = [] if last is None else limits_as_flags(scope_of(last.scope), unless_in=recipe.scope)
    if last is not None and last.strategy != recipe.strategy:
        flags.append(f"--strategy {quoted(last.strategy)}")
    pages = [f"--pages {summary.pages}"] if summary.pages else []
    return " ".join(["lycosa crawl", quoted(collection.folder.absolute().name), *flags, *pages])


def _run_figures(run: RunRow, pages: int) -> RunFigures:
    return RunFigures(
        started=_format_time(run.at, "%Y-%m-%d %H:%M:%S"),
        strategy=run.strategy,
        pages=pages,
        seconds=max(0.0, (run.stopped_at or run.at) - run.at),
        stopped=run.stop_reason or "not ended",
    )


def _freshness_figures(freshness: Freshness, changes: list[ChangeRow]) -> FreshnessFigures | None:
    if freshness.oldest_look is None or freshness.latest_look is None:
        return None
    return FreshnessFigures(
        oldest_look=_format_time(freshness.oldest_look),
        latest_look=_format_time(freshness.latest_look),
        looked_again=freshness.looked_again,
        changed=freshness.changed,
        vanished=freshness.vanished,
        latest_changes=[ChangedPage(_format_time(each.at), each.change, each.title, each.url) for each in changes],
    )


def _format_time(timestamp: float, pattern: str = "%Y-%m-%d %H:%M") -> str:
    return datetime.fromtimestamp(timestamp).strftime(pattern)


def _top_page(page: PageRow) -> TopPage:
    link = link_in_words(printable(page.found_on or "", 120), printable(page.anchor, 80), page.because)
    why = f"{link}{reasons_in_words(page.because, max_factors=_REASONS_SHOWN)}"
    return TopPage(page.title, page.url, page.relevance, why)


def report_page(data: ReportData) -> str:
    """The report as an HTML page."""
    title = _text(data.name, 120) or "Collection"
    topic = f'<p class="topic">{_text(data.topic, 600)}</p>' if data.topic.strip() else ""
    made = f"Made {_text(data.made_at)} by Lycosa {_text(data.version)}".rstrip() if data.made_at else "Made by Lycosa"
    # Each of these functions gives the HTML of one section.
    charts = (_harvest, _relevance, _readers, _standing, _weight, _freshness, _sites, _hosts)
    parts = (_cards, *charts, _top_pages, _left_out, _outcomes_and_skips, _runs, _recipe)
    body = "".join(part(data) for part in parts)
    return html_page(title, kicker="Focused crawl", lead=topic, body=body, footer=f"{made}.")


def harvest_curves(relevances: Sequence[float | None]) -> tuple[Series, Series]:
    """The share of relevant pages among all judged pages so far, and among the latest, over the crawl."""
    window = max(20, min(500, len(relevances) // 20))
    step = max(1, -(-len(relevances) // POINTS_PER_CURVE))
    cumulative, moving, relevant, judged = [], [], [0], [0]
    for number, relevance in enumerate(relevances, 1):
        relevant.append(relevant[-1] + _is_relevant(relevance))
        judged.append(judged[-1] + (relevance is not None))
        start = max(0, number - window)
        if (number % step == 0 or number == len(relevances)) and judged[-1] > judged[start]:
            cumulative.append((float(number), relevant[-1] / judged[-1]))
            moving.append((float(number), (relevant[-1] - relevant[start]) / (judged[-1] - judged[start])))
    return Series("all pages so far", cumulative), Series(f"latest {window} pages", moving)


def _is_relevant(relevance: float | None) -> bool:
    return relevance is not None and relevance >= RELEVANT


def _not_judged(data: ReportData) -> str:
    """A sentence on the pages that a chart of relevance leaves out; empty if there are none."""
    number = sum(relevance is None for relevance in data.relevances)
    return f" {grouped(number)} {'page' if number == 1 else 'pages'} not judged yet: left out here." if number else ""


def strategy_marks(runs: Sequence[RunFigures]) -> list[VerticalLine]:
    """The page numbers at which a run changed the strategy."""
    marks, pages = [], 0
    for previous, run in pairwise(runs):
        pages += previous.pages
        if run.strategy != previous.strategy:
            marks.append(VerticalLine(float(pages), f"→ {run.strategy}"))
    return marks


def _cards(data: ReportData) -> str:
    pages = len(data.relevances)
    relevant = sum(map(_is_relevant, data.relevances))
    figures = (  # value and label
        _count_card(pages, "page"),
        (grouped(relevant), "relevant" if data.calibration == "rule" else "relevant, says the model"),
        _harvest_card(data, relevant),
        *_standing_card(data),
        _count_card(len(set(map(site_of, data.hosts))), "site"),
        _count_card(len(set(data.hosts)), "host"),
        _count_card(data.waiting, "URL", " waiting"),
        (byte_size(data.size), "received"),
        (_duration(data.seconds), "of crawling"),
    )
    cards = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for value, label in figures)
    columns = next((number for number in (4, 3, 5) if len(figures) % number == 0), 4)  # so that all rows are full
    return f'<dl class="cards in-{columns}">{cards}</dl>\n'


def _count_card(number: int, noun: str, state: str = "") -> tuple[str, str]:
    return grouped(number), f"{noun}{'' if number == 1 else 's'}{state}"


def _harvest_card(data: ReportData, relevant: int) -> tuple[str, str]:
    """The harvest rate: exact for a rule, measured if possible, else estimated."""
    sample, pages = data.measured, len(data.relevances)
    if sample is not None:
        at = f" on {grouped(sample.pages_then)} of {grouped(sample.pages_now)} pages" if sample.is_behind else ""
        return f"{sample.share:.0%}", f"harvest rate, measured{at}; {sample.low:.0%}–{sample.high:.0%} likely"
    rate = f"{relevant / pages:.1%}" if pages else "–"
    if data.calibration == "rule" or not pages:
        return rate, "harvest rate"
    low, high = harvest_interval(relevant, pages, data.calibration)
    return rate, f"harvest rate, estimated; {low:.0%}–{high:.0%} likely"


def _standing_card(data: ReportData) -> list[tuple[str, str]]:
    known = [standing for standing in data.standings if standing is not None]
    return [(f"{sum(known) / len(known):.2f}", "mean importance")] if known else []


def _harvest(data: ReportData) -> str:
    chart = partial(
        line_chart,
        harvest_curves(data.relevances),
        title="Harvest rate over the crawl",
        x_title="pages stored",
        x_range=(0.0, float(max(1, len(data.relevances)))),
        y_range=(0.0, 1.0),
        percent=True,
        marks=strategy_marks(data.runs),
    )
    lead = _harvest_lead(data) + _not_judged(data)
    return section("Harvest rate", lead, for_each_screen(lambda width: chart(width=width)))


def _harvest_lead(data: ReportData) -> str:
    if data.calibration == "rule":
        return "The share of stored pages that are on topic, as the crawl went on."
    lead = "The share of stored pages that the model calls relevant, as the crawl went on: an estimate."
    sample = data.measured
    if sample is None:
        return f"{lead} lycosa review measures it on pages drawn at random."
    labelled = (
        f"{grouped(sample.good)} of {grouped(sample.drawn)} pages drawn at random are on topic, as labelled by hand"
    )
    rate = f"{lead} Measured: {labelled}, so {sample.share:.0%}, probably within {sample.low:.0%}–{sample.high:.0%}"
    return f"{rate}, {sample.growth}: lycosa review measures it again." if sample.is_behind else f"{rate}."


def _relevance(data: ReportData) -> str:
    chart = partial(
        histogram,
        bin_counts([relevance for relevance in data.relevances if relevance is not None]),
        split=RELEVANT,
        split_label="relevant →",
        title="Relevance of the stored pages",
        x_title="relevance",
        y_title="pages",
    )
    lead = f"How well the stored pages fit the topic; {RELEVANT} and more is relevant.{_not_judged(data)}"
    return section("Relevance", lead, for_each_screen(lambda width: chart(width=width)))


def _readers(data: ReportData) -> str:
    """The pages found by an access log, and their share on topic; empty if there are none."""
    if not any(data.found_by_readers):
        return ""
    pages, relevant = Counter[bool](), Counter[bool]()
    for is_read, relevance in zip(data.found_by_readers, data.relevances, strict=False):
        pages[is_read] += 1
        relevant[is_read] += _is_relevant(relevance)
    bars = [
        Bar(name, pages[is_read], relevant[is_read], f"({relevant[is_read] / pages[is_read]:.0%} relevant)")
        for name, is_read in (("through readers", True), ("other pages", False))
        if pages[is_read]
    ]
    lead = "Pages that the access log led to before a link did, and the others; the dark part is relevant."
    return section("Readers", lead, for_each_screen(lambda width: bar_chart(bars, title="Readers", width=width)))


def _standing(data: ReportData) -> str:
    """The standing of pages, and jointly with their relevance; empty if unknown."""
    known = [(r, s) for r, s in zip(data.relevances, data.standings, strict=False) if s is not None]
    if not known:
        return ""
    importance_chart = partial(
        histogram,
        bin_counts([standing for _, standing in known]),
        split=0.5,
        split_label="",
        title="Importance of the stored pages",
        x_title="importance",
        y_title="pages",
    )
    joint_chart = partial(
        heat_map,
        _cell_counts([(relevance, standing) for relevance, standing in known if relevance is not None]),
        title="Relevance and importance",
        x_title="relevance",
        y_title="importance",
        height=380.0,
    )
    return section(
        "Importance",
        "How well the Web at large thinks of each page, from 0 to 1, estimated from page and site.",
        for_each_screen(lambda width: importance_chart(width=width)),
    ) + section(
        "Relevance and importance",
        f"How many pages are both on topic and important; shades by logarithm.{_not_judged(data)}",
        for_each_screen(lambda width: joint_chart(width=width)),
    )


def _weight(data: ReportData) -> str:
    """The weight of relevance against standing; empty if it was not used or never changed."""
    weights = [(float(number), alpha) for number, alpha in enumerate(data.alphas, 1) if alpha is not None]
    if len({alpha for _, alpha in weights}) < 2:
        return ""
    step = max(1, len(weights) // POINTS_PER_CURVE)
    chart = partial(
        line_chart,
        [Series("weight of relevance", weights[::step])],
        title="Weight of relevance over the crawl",
        x_title="pages stored",
        x_range=(0.0, float(max(1, len(data.relevances)))),
        y_range=(0.0, 1.0),
    )
    lead = "The weight of relevance (α) when a page was chosen: it rises when pages stray from the topic."
    return section("Weight of relevance", lead, for_each_screen(lambda width: chart(width=width)))


def _cell_counts(pairs: Sequence[tuple[float, float]]) -> list[list[int]]:
    counts = [[0] * HEAT_MAP_CELLS for _ in range(HEAT_MAP_CELLS)]
    for relevance, standing in pairs:
        counts[_cell(standing)][_cell(relevance)] += 1
    return counts


def _cell(share: float) -> int:
    return min(HEAT_MAP_CELLS - 1, max(0, int(share * HEAT_MAP_CELLS)))


def _freshness(data: ReportData) -> str:
    """When pages were checked, and which had changed; empty before any refresh."""
    freshness = data.freshness
    if freshness is None or not freshness.looked_again:
        return ""
    lead = (
        f"The pages were last checked between {_text(freshness.oldest_look)} and {_text(freshness.latest_look)}. "
        f"{grouped(freshness.looked_again)} were rechecked: {grouped(freshness.changed)} have changed at least once, "
        f"{grouped(freshness.vanished)} are gone."
    )
    rows = "".join(
        f"<tr><td>{_text(page.when)}</td><td>{_text(page.change)}</td>"
        f'<td><div class="title">{_text(page.title, 120) or "(no title)"}</div>'
        f'<div class="url">{_link(page.url)}</div></td></tr>\n'
        for page in freshness.latest_changes
    )
    if not rows:
        return section("Freshness", lead, '<p class="none">nothing has changed</p>')
    head = "<thead><tr><th>Found</th><th>What</th><th>Page</th></tr></thead>"
    return section("Freshness", lead, f"<table>{head}<tbody>\n{rows}</tbody></table>")


def site_figures(
    names: Iterable[str], relevances: Iterable[float | None], standings: Sequence[float | None] = ()
) -> list[SiteFigures]:
    """The hosts or sites of pages, most pages first."""
    pages: Counter[str] = Counter()
    relevant: Counter[str] = Counter()
    known: defaultdict[str, list[float]] = defaultdict(list)
    for name, relevance, standing in zip(names, relevances, standings or repeat(None), strict=False):
        pages[name] += 1
        relevant[name] += _is_relevant(relevance)
        if standing is not None:
            known[name].append(standing)
    return [
        SiteFigures(name, count, relevant[name], fmean(known[name]) if name in known else None)
        for name, count in sorted(pages.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def _sites(data: ReportData) -> str:
    sites = site_figures(map(site_of, data.hosts), data.relevances, data.standings)
    bars = [Bar(site.name, site.pages, site.relevant, _site_note(site, len(data.relevances))) for site in sites]
    order = "by pages stored, with their share of the collection; the dark part is relevant"
    lead = f"{_largest(len(sites), 'sites')}, {order}."
    shown = bars[:SITES_SHOWN]
    return section("Sites", lead, for_each_screen(lambda width: bar_chart(shown, title="Sites", width=width)))


def _site_note(site: SiteFigures, pages: int) -> str:
    standing = "" if site.standing is None else f", importance {site.standing:.2f}"
    return f"({site.pages / pages:.1%}), {site.relevant / site.pages:.0%} relevant{standing}"


def _hosts(data: ReportData) -> str:
    """The section of hosts; empty if each host is a site, as it would repeat the section of sites."""
    hosts = site_figures(data.hosts, data.relevances)
    if len(hosts) == len(set(map(site_of, data.hosts))):
        return ""
    bars = [Bar(host.name, host.pages, host.relevant, f"({host.relevant / host.pages:.0%})") for host in hosts]
    lead = f"{_largest(len(hosts), 'hosts')}, by pages stored; the dark part is relevant."
    shown = bars[:SITES_SHOWN]
    return section("Hosts", lead, for_each_screen(lambda width: bar_chart(shown, title="Hosts", width=width)))


def _largest(number: int, noun: str) -> str:
    return f"The {SITES_SHOWN} largest of {grouped(number)} {noun}" if number > SITES_SHOWN else f"All {noun}"


def _top_pages(data: ReportData) -> str:
    rows = "".join(
        f'<tr><td class="number">{"–" if page.relevance is None else format(page.relevance, ".2f")}</td>'
        f'<td><div class="title">{_text(page.title, 120) or "(no title)"}</div>'
        f'<div class="url">{_link(page.url)}</div></td>'
        f'<td class="why">{_text(page.why, 600)}</td></tr>\n'
        for page in data.top_pages[:PAGES_SHOWN]
    )
    if not rows:
        return section("Top pages", "The most relevant pages.", '<p class="none">no data yet</p>')
    head = '<thead><tr><th class="number">Relevance</th><th>Page</th><th>Why it was fetched</th></tr></thead>'
    return section("Top pages", "The most relevant pages.", f"<table>{head}<tbody>\n{rows}</tbody></table>")


def _left_out(data: ReportData) -> str:
    """What the crawl found and did not keep; empty if it kept everything."""
    if not data.left_out:
        return ""
    rows = "".join(
        f"<tr><td>{_text(what, 300)}</td><td>{_text(remedy, 300)}</td></tr>\n" for what, remedy in data.left_out
    )
    head = "<thead><tr><th>What</th><th>What changes it</th></tr></thead>"
    lead = "What the crawl found but did not store, or stored only in part."
    return section("Left out", lead, f"<table>{head}<tbody>\n{rows}</tbody></table>")


def _outcomes_and_skips(data: ReportData) -> str:
    charts = []
    for heading, lead, counts in (
        ("Outcomes", "How the fetches ended: with a page (ok), elsewhere (moved), or why with none.", data.outcomes),
        ("Skipped", "Why links that were found are not fetched; lycosa explain says it of each.", data.skips),
    ):
        bars = [Bar(label, float(count)) for label, count in sorted(counts.items(), key=lambda pair: -pair[1])[:20]]
        charts.append(section(heading, lead, bar_chart(bars, title=heading, width=440.0)))
    return f'<div class="pair">{"".join(charts)}</div>\n'


def _runs(data: ReportData) -> str:
    rows = "".join(
        f'<tr><td class="short">{_text(run.started)}</td><td class="short">{_text(run.strategy)}</td>'
        f'<td class="number">{grouped(run.pages)}</td><td class="number">{_duration(run.seconds)}</td>'
        f'<td class="why">{_text(run.stopped) or "–"}</td></tr>\n'
        for run in data.runs
    )
    if not rows:
        return section("Runs", "", '<p class="none">no data yet</p>')
    head = (
        '<tr><th>Started</th><th>Strategy</th><th class="number">Pages</th><th class="number">Time</th>'
        "<th>Stopped because</th></tr>"
    )
    return section("Runs", "", f"<table><thead>{head}</thead><tbody>\n{rows}</tbody></table>")


def _recipe(data: ReportData) -> str:
    """How the collection was made; empty if unknown."""
    rows = "".join(
        f'<tr><td class="short">{_text(key)}</td><td>{_text(value, 600)}</td></tr>\n' for key, value in data.recipe
    )
    return section("Recipe", "How the collection was made.", f"<table><tbody>\n{rows}</tbody></table>") if rows else ""


def _text(text: str, limit: int = 200) -> str:
    return escape(printable(text, limit))


def _link(url: str) -> str:
    """A link if the URL is http or https, else plain text."""
    target = normalise(url) if url.startswith(("http://", "https://")) else None
    if target is None:
        return _text(url)
    return f'<a href="{escape(target)}" rel="noopener noreferrer nofollow">{_text(target, 110)}</a>'


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{grouped(whole // 3600)}h {whole % 3600 // 60:02}m"
