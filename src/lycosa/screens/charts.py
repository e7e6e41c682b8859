"""Small charts: SVG whose colours come from the style sheet, so that they suit dark mode too."""

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from lycosa.run.reasons import Factor

_WIDTH, _HEIGHT = 760.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 10.0, 28.0
_MAX_LOG_ODDS = 3.0  # of a factor; its bar has the full length


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
