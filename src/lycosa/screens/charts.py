"""Small charts: SVG whose colours come from the style sheet, so that they suit dark mode too."""

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from lycosa.run.reasons import Factor
from lycosa.vocabulary.records import RELEVANT

from .page import PathStep

_WIDTH, _HEIGHT = 760.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 10.0, 28.0
_MAX_LOG_ODDS = 3.0  # of a factor; its bar has the full length
_NODE_WIDTH = 180.0  # of a page and half of the links beside it, in the graph of a path
_MAX_NODES = 12  # pages of a path that are drawn: the first and the last ones
_FIRST_NODES = 3
_MAX_LINK_BARS = 5  # the others are in the list of the path
_MAX_LABEL = 22  # characters


def sparkline(shares: Sequence[float]) -> Markup:
    """Shares from 0 to 1, over time, without axes."""
    if not shares:
        return Markup('<svg class="spark" viewBox="0 0 240 48" aria-hidden="true"></svg>')
    values = list(shares) if len(shares) > 1 else [shares[0], shares[0]]
    step = 240 / (len(values) - 1)
    points = " ".join(f"{number * step:.1f},{45 - 42 * share:.1f}" for number, share in enumerate(values))
    return Markup(
        '<svg class="spark" viewBox="0 0 240 48" preserveAspectRatio="none" role="img">'
        "<title>share of relevant pages over the crawl</title>"
        f'<polygon class="area" points="0,48 {points} 240,48"/><polyline class="line" points="{points}"/></svg>'
    )


def harvest_chart(
    so_far: Sequence[tuple[float, float]], latest: Sequence[tuple[float, float]], *, width: float = _WIDTH
) -> Markup:
    """The share of relevant pages among all so far, and among the latest, as points (number of pages, share)."""
    return _curves(so_far, latest, title="Harvest rate by pages stored", width=width)


def harvest_comparison(
    first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]], *, width: float = _WIDTH
) -> Markup:
    """The harvest rates (shares of relevant pages) of two crawls in one chart, as points (number of pages, rate)."""
    return _curves(first, second, title="Harvest rates of both by pages stored", width=width)


def _curves(
    first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]], *, title: str, width: float
) -> Markup:
    if not first and not second:
        return Markup('<p class="none">No page yet.</p>')
    right, bottom = width - _RIGHT, _HEIGHT - _BOTTOM
    last_x = max([1.0, *(curve[-1][0] for curve in (first, second) if curve)])

    def points(curve: Sequence[tuple[float, float]]) -> str:
        return " ".join(
            f"{_LEFT + x / last_x * (right - _LEFT):.1f},{bottom - y * (bottom - _TOP):.1f}" for x, y in curve
        )

    grid = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share}%</text>'
        for share in (0, 25, 50, 75, 100)
        for y in [bottom - share / 100 * (bottom - _TOP)]
    )
    ticks = "".join(
        f'<text x="{_LEFT + part * (right - _LEFT):.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">'
        f"{last_x * part:,.0f}</text>"
        for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    return Markup(
        f'<svg class="chart" viewBox="0 0 {width:g} {_HEIGHT:g}" role="img"><title>{title}</title>{grid}{ticks}'
        f'<polyline class="second" points="{points(second)}"/><polyline class="line" points="{points(first)}"/></svg>'
    )


def overlap_bar(only_first: int, both: int, only_second: int) -> Markup:
    """The number of pages of only the first, of both, and of only the second, as a stacked bar."""
    total = max(1, only_first + both + only_second)
    parts, x = [], 0.0
    for kind, count in (("one", only_first), ("both", both), ("two", only_second)):
        parts.append(f'<rect class="{kind}" x="{x:.2f}" width="{100 * count / total:.2f}" height="6"/>')
        x += 100 * count / total
    return Markup(
        '<svg class="overlap" viewBox="0 0 100 6" preserveAspectRatio="none" role="img">'
        f"<title>{only_first} only in the first, {both} in both, {only_second} only in the second</title>"
        f"{''.join(parts)}</svg>"
    )


def path_graph(steps: Sequence[PathStep]) -> Markup:
    """A path of links as a graph: a circle for each page, with its relevance, and an arrow for each link, with its
    anchor, the score it had, and the parts of that as bars."""
    if len(steps) < 2:
        return Markup("")
    shown: list[PathStep | None] = list(steps)
    if len(steps) > _MAX_NODES:
        shown = [*steps[:_FIRST_NODES], None, *steps[_FIRST_NODES - _MAX_NODES :]]
    parts = []
    for index, step in enumerate(shown):
        x = _NODE_WIDTH * (index + 0.5)
        if index:
            parts.append(_link_drawing(x - _NODE_WIDTH, x, step))
        if step is None:
            parts.append(f'<text class="more" x="{x:g}" y="78">{len(steps) - _MAX_NODES} more</text>')
            continue
        kind = "out" if not step.is_stored else "high" if (step.relevance or 0.0) >= RELEVANT else "low"
        here = " here" if step is shown[-1] else ""
        relevance = "–" if step.relevance is None else f"{step.relevance:.2f}"
        name = step.title or step.url.partition("://")[2]
        parts.append(
            f'<g class="page {kind}{here}"><title>{escape(name)}</title><circle cx="{x:g}" cy="74" r="21"/>'
            f'<text x="{x:g}" y="78">{relevance}</text><text x="{x:g}" y="118">{escape(_shortened(name))}</text></g>'
        )
    width = _NODE_WIDTH * len(shown)
    return Markup(
        f'<svg class="path" viewBox="0 0 {width:g} 128" width="{width:g}" height="128" role="img">'
        f"<title>path of {len(steps) - 1} links from {escape(steps[0].url)}</title>{''.join(parts)}</svg>"
    )


def _link_drawing(start: float, end: float, step: PathStep | None) -> str:
    """The arrow to a page."""
    line = f'<path class="link" d="M{start + 24:g} 74H{end - 27:g}m-6 -5 6 5 -6 5"/>'
    if step is None:
        return line
    middle = (start + end) / 2
    drawn = [line, f'<text class="anchor" x="{middle:g}" y="16">{escape(_shortened(step.anchor))}</text>']
    if step.priority is not None:
        drawn.append(f'<text x="{middle:g}" y="92">{step.priority:.3f}</text>')
    factors = [each for each in step.factors if abs(each.log_odds) >= 0.005][:_MAX_LINK_BARS]
    for index, each in enumerate(factors):
        length = max(1.0, min(1.0, abs(each.log_odds) / _MAX_LOG_ODDS) * 34)
        x, kind = (middle, "up") if each.log_odds > 0 else (middle - length, "down")
        drawn.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{26 + 8 * index}" width="{length:.1f}" height="6">'
            f"<title>{each.log_odds:+.2f} {escape(each.words[:120])}</title></rect>"
        )
    if factors:
        drawn.append(f'<line class="grid" x1="{middle:g}" x2="{middle:g}" y1="24" y2="{26 + 8 * len(factors)}"/>')
    return f'<g class="edge">{"".join(drawn)}</g>'


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…"


def factor_bars(factors: Sequence[Factor]) -> Markup:
    """The factors of a priority as bars: to the right those that raise the odds, to the left those that lower them."""
    shown = [each for each in factors if abs(each.log_odds) >= 0.005][:10]
    if not shown:
        return Markup("")
    zero = 60.0 if any(each.log_odds < 0 for each in shown) else 1.0
    rows = []
    for each in shown:
        length = max(1.0, min(1.0, abs(each.log_odds) / _MAX_LOG_ODDS) * 58)
        x, kind = (zero, "up") if each.log_odds > 0 else (zero - length, "down")
        bar = f'<rect class="{kind}" x="{x:.1f}" y="1" width="{length:.1f}" height="12" rx="2"/>'
        axis = f'<line class="grid" x1="{zero:g}" x2="{zero:g}" y1="0" y2="14"/>'
        words = escape(each.words[:120])
        rows.append(
            f'<li><svg viewBox="0 0 {zero + 60:g} 14" width="{zero + 60:g}" height="14" aria-hidden="true">'
            f"{axis}{bar}</svg>"
            f"<span><b>{each.log_odds:+.2f}</b> {words}</span></li>"
        )
    return Markup(f'<ul class="factors" title="parts of the score as logarithms of odds">{"".join(rows)}</ul>')
