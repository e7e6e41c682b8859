"""Writes the tables of league.md, the first picture of the README, and the claimed harvest rates of the guide to
relevance, from what `lycosa lab run league` left behind.

python docs/studies/league.py lycosa-lab/league [ablation.json ...]

Every finished league below the folder becomes a section; a file of `benchmarks/ablation.py --out` becomes a column of
the table of parts, in which the columns of other worlds stay as they are. A file of some parts alone is refused: its
figures would stand beside those of other crawls. What stands between the marks `<!-- NAME -->`
and `<!-- end -->` is replaced, nothing else.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from lycosa.pictures import Series, line_chart
from lycosa.relevance.harvest import harvest_interval
from lycosa_lab.results import Results, read_results

DEFAULT, ORACLE, SCRIPT, BEST_FIRST = "hunter", "oracle", "script", "best-first"
DRAWN = (ORACLE, DEFAULT, SCRIPT, BEST_FIRST, "breadth-first")
NAMES = {
    "synthetic": "A synthetic world",
    "wikipedia-schools": "Wikipedia for Schools",
    "webkb": "WebKB",
    "debian-docs": "Debian documentation",
}
PICTURED = "wikipedia-schools"
PAGE = Path(__file__).with_suffix(".md")
ROOT = PAGE.parents[2]
PICTURE = ROOT / "docs" / "pictures" / "league.svg"
GUIDE = ROOT / "docs" / "guide" / "relevance.md"
CLAIMS_PICTURE = ROOT / "docs" / "pictures" / "claimed-harvest.svg"
GIVEN = {"positives": "examples only", "negatives": "and negatives"}
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.01)  # of true harvest rates
Row = Mapping[str, Any]


def main() -> None:
    folders = [Path(word) for word in sys.argv[1:] if not word.endswith(".json")]
    leagues = {str(results.world["name"]): results for _, results in read_results(folders, warn=sys.exit)}
    leagues = {name: leagues[name] for name in NAMES if name in leagues}
    ablations = [json.loads(Path(word).read_text()) for word in sys.argv[1:] if word.endswith(".json")]
    for each in ablations:
        if missing := sorted(set(each["all_parts"]) - set(each["parts"])):
            sys.exit(f"the ablation on {each['world']} lacks {', '.join(missing)}; run all parts at once")
    if leagues:
        fill(PAGE, "summary", summary(leagues))
        fill(PAGE, "worlds", "\n\n".join(map(section, leagues.values())))
        fill(GUIDE, "claims", claims_table(leagues))
        CLAIMS_PICTURE.write_text(claims_picture(leagues), encoding="utf-8")
    if ablations:
        fill(PAGE, "parts", parts_table(ablations, columns_of(PAGE)))
    if PICTURED in leagues:
        PICTURE.write_text(picture(leagues[PICTURED]), encoding="utf-8")
        fill(ROOT / "README.md", "league", caption(leagues[PICTURED]))


def fill(path: Path, name: str, text: str) -> None:
    """Replaces what stands between two marks of a file."""
    before = path.read_text(encoding="utf-8")
    after, count = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{text}\n{found[2]}", before, flags=re.DOTALL
    )
    if count != 1:
        sys.exit(f"{path} has no place for <!-- {name} -->")
    path.write_text(after, encoding="utf-8")


def means(results: Results, measure: str, column: str = "mean") -> dict[str, float]:
    return {row["strategy"]: row[column] for row in results.tables["means"] if row["measure"] == measure}


def crawls(results: Results, **settings: str) -> list[Row]:
    """The crawls of the default strategy for held-out topics."""
    return [
        row
        for row in results.tables["crawls"]
        if row["held_out"] and row["strategy"] == DEFAULT and all(row[key] == value for key, value in settings.items())
    ]


def topics_of(results: Results) -> int:
    return len({row["topic"] for row in crawls(results)})


def longest(results: Results) -> str:
    """How many pages the longest crawls have."""
    pages = sorted({row["budget_pages"] for row in crawls(results)})
    return f"{pages[0]}" if len(pages) == 1 else f"{pages[0]} to {pages[-1]}"


def summary(leagues: Mapping[str, Results]) -> str:
    lines = [
        "| world | topics | pages of a crawl | `hunter` | best-first | script | oracle | `hunter` ÷ best-first "
        "| ÷ script | ÷ oracle |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, results in leagues.items():
        area = means(results, "area")
        ours = area[DEFAULT]
        cells = [f"{area[other]:.3f}" for other in (DEFAULT, BEST_FIRST, SCRIPT, ORACLE)]
        cells += [f"{ours / area[other]:.2f}" for other in (BEST_FIRST, SCRIPT, ORACLE)]
        lines.append(f"| {NAMES[name]} | {topics_of(results)} | {longest(results)} | {' | '.join(cells)} |")
    lines += [
        "",
        "By where the crawl starts and what is given, area of `hunter` and best-first, and what `hunter` claims:",
        "",
        "| world | start | given | `hunter` | best-first | claimed | true | off by | truth within the interval |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, results in leagues.items():
        for start in ("within", "afar"):
            for given in ("positives", "negatives"):
                rows = crawls(results, start=start, given=given)
                if rows:
                    lines.append(f"| {NAMES[name]} | {start} | {given} | {setting_cells(results, rows)} |")
    return "\n".join(lines)


def setting_cells(results: Results, rows: Sequence[Row]) -> str:
    places = {(row["topic"], row["start"], row["given"]) for row in rows}
    theirs = [
        row["area"]
        for row in results.tables["crawls"]
        if row["strategy"] == BEST_FIRST and (row["topic"], row["start"], row["given"]) in places
    ]
    columns = ("claimed harvest", "true harvest", "|claimed - true harvest|")
    claims = [f"{fmean(row[column] for row in rows):.2f}" for column in columns]
    claims.append(f"{sum(map(is_held, rows))} of {len(rows)}")
    return " | ".join((f"{fmean(row['area'] for row in rows):.3f}", f"{fmean(theirs):.3f}", *claims))


def is_held(row: Row) -> bool:
    """Whether the truth lies within the interval that the crawl states."""
    relevant = round(row["claimed harvest"] * row["kept"])
    low, high = harvest_interval(relevant, row["kept"], "negatives" if row["given"] == "negatives" else "crawl")
    return low <= row["true harvest"] <= high


def section(results: Results) -> str:
    """The table of a world, its claims, and what the default strategy does with and without negatives."""
    budgets = ", ".join(f"{100 * share:g} %" for share in sorted({row["budget"] for row in results.tables["settings"]}))
    lines = [
        f"### {NAMES[str(results.world['name'])]}",
        f"Scale `{results.scale}`, seed {results.seed}: {topics_of(results)} held-out topics, crawls of"
        f" {longest(results)} pages ({budgets} of the web; the table is of the largest).",
        "",
        "| strategy | area (95 %) | recall | first 50 | pages to 50 % | to 80 % | relevant × standing | claimed | true "
        "| off by | ms | p against `hunter` |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    area, low, high = (means(results, "area", column) for column in ("mean", "low", "high"))
    p = {
        other: row["holm_p"]
        for row in results.tables["tests"]
        if row["measure"] == "area" and DEFAULT in (row["first"], row["second"])
        for other in (row["first"], row["second"])
        if other != DEFAULT
    }
    columns = (
        ("recall", ".2f"),
        ("precision of the first 50", ".2f"),
        ("pages to 50%", ".0f"),
        ("pages to 80%", ".0f"),
        ("relevant x standing", ".3f"),
        ("claimed harvest", ".2f"),
        ("true harvest", ".2f"),
        ("|claimed - true harvest|", ".2f"),
        ("processor ms per page", ".1f"),
    )
    found = [(means(results, measure), form) for measure, form in columns]
    for name in sorted(area, key=lambda name: -area[name]):
        cells = [f"{area[name]:.3f} ({low[name]:.2f}–{high[name]:.2f})"]
        cells += [f"{values[name]:{form}}" if name in values else "" for values, form in found]
        cells.append(f"{p[name]:.3f}" if name in p else "")
        lines.append(f"| {label(name)} | {' | '.join(cells)} |")
    lines += budgets_table(results)
    lines.append("")
    for claim in results.claims:
        verdict = {True: "holds", False: "**does not hold**", None: "reported"}[claim.holds]
        lines.append(f"- `{claim.id.removeprefix('league.')}`: {verdict}; {claim.measured}")
    return "\n".join(lines)


def budgets_table(results: Results) -> list[str]:
    """Area at each budget, with positives alone and from within; nothing where there is one budget."""
    areas = {
        (row["budget"], row["strategy"]): row["mean"]
        for row in results.tables["settings"]
        if (row["measure"], row["start"], row["given"]) == ("area", "within", "positives")
    }
    budgets = sorted({budget for budget, _ in areas})
    if len(budgets) < 2:
        return []
    shown = [name for name in DRAWN if (budgets[0], name) in areas]
    lines = ["", "Area at each budget, from within, with positives alone:", "", f"| budget | {' | '.join(shown)} |"]
    lines.append(f"|---|{'--:|' * len(shown)}")
    for budget in budgets:
        cells = " | ".join(f"{areas[budget, name]:.3f}" for name in shown)
        lines.append(f"| {100 * budget:g} % | {cells} |")
    return lines


def label(strategy: str) -> str:
    return {DEFAULT: f"**`{DEFAULT}`**", ORACLE: f"*{ORACLE}*", SCRIPT: f"*{SCRIPT}*"}.get(strategy, f"`{strategy}`")


Column = dict[str, str]  # of the table of parts: cells by the names of their rows, the head under ""


def columns_of(path: Path) -> dict[str, Column]:
    """The columns that the table of parts has now, by their worlds."""
    found = re.search(r"<!-- parts -->\n(.*?)<!-- end -->", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = found[1].strip().splitlines() if found else []
    if not lines:
        return {}
    heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    worlds = {name: world for world, name in NAMES.items()}
    return {
        worlds[head.rpartition(",")[0]]: {"": head, **{row[0]: row[place] for row in rows}}
        for place, head in enumerate(heads[1:], 1)
    }


def parts_table(ablations: Sequence[Mapping[str, Any]], others: Mapping[str, Column]) -> str:
    """What leaving a part out changes, world by world.

    others: columns of worlds without an ablation.
    """
    columns = {**others, **{each["world"]: column_of(each) for each in ablations}}
    ordered = [columns[name] for name in NAMES if name in columns]
    names = dict.fromkeys(name for column in ordered for name in column if name)
    lines = [f"| {name or 'without'} | {' | '.join(each.get(name, '') for each in ordered)} |" for name in ("", *names)]
    return "\n".join((lines[0], f"|---|{'--:|' * len(ordered)}", *lines[1:]))


def column_of(ablation: Mapping[str, Any]) -> Column:
    return {
        "": f"{NAMES[ablation['world']]}, {len(ablation['tasks'])} crawls",
        "nothing: the area": f"{fmean(areas(ablation, '')):.3f}",
        **{part: change(ablation, part) for part in ablation["parts"] if part},
    }


def areas(ablation: Mapping[str, Any], part: str) -> list[float]:
    return [area for area, _ in ablation["parts"][part]]


def change(ablation: Mapping[str, Any], part: str) -> str:
    """The mean difference of area, crawl by crawl, with its standard error."""
    gaps = [one - whole for one, whole in zip(areas(ablation, part), areas(ablation, ""), strict=True)]
    return f"{fmean(gaps):+.3f} ± {stdev(gaps) / sqrt(len(gaps)):.3f}".replace("-", "−")


def claims_table(leagues: Mapping[str, Results]) -> str:
    """Claimed and true harvest rates of the default strategy, by world and what is given."""
    lines = [
        "| world | given | crawls | claimed | true | off by | truth within the interval |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, results in leagues.items():
        for given, words in GIVEN.items():
            rows = crawls(results, given=given)
            claimed, true = (fmean(row[column] for row in rows) for column in ("claimed harvest", "true harvest"))
            off = fmean(row["|claimed - true harvest|"] for row in rows)
            lines.append(
                f"| {NAMES[name]} | {words} | {len(rows)} | {claimed:.2f} | {true:.2f} | {off:.2f}"
                f" | {sum(map(is_held, rows))} |"
            )
    return "\n".join(lines)


def claims_picture(leagues: Mapping[str, Results]) -> str:
    """The mean claimed harvest rate of crawls with about the same true rate, over all worlds."""
    series = [Series("claimed = true", [(0.0, 0.0), (1.0, 1.0)])]
    for given, words in GIVEN.items():
        rows = [row for results in leagues.values() for row in crawls(results, given=given)]
        bins = [[row for row in rows if low <= row["true harvest"] < high] for low, high in pairwise(BINS)]
        points = [
            (fmean(row["true harvest"] for row in each), [row["claimed harvest"] for row in each])
            for each in bins
            if len(each) > 1
        ]
        errors = [stdev(claimed) for _, claimed in points]
        series.append(Series(words, [(true, fmean(claimed)) for true, claimed in points], errors))
    return line_chart(
        series, x_title="true harvest rate", y_title="claimed harvest rate", x_range=(0.0, 1.0), y_range=(0.0, 1.0)
    )


def picture(results: Results) -> str:
    return line_chart(
        [curve(results.tables["curves"], name) for name in drawn(results)],
        x_title="percent of the budget",
        y_title="share of the topic found",
        y_range=(0.0, 1.0),
        percent=True,
    )


def drawn(results: Results) -> list[str]:
    took_part = {row["strategy"] for row in results.tables["curves"]}
    return [name for name in DRAWN if name in took_part]


def curve(rows: Iterable[Row], strategy: str) -> Series:
    return Series(strategy, [(row["percent_of_budget"], row["recall"]) for row in rows if row["strategy"] == strategy])


def caption(results: Results) -> str:
    recall = means(results, "recall")
    found = ", ".join(f"{name} {recall[name]:.0%}" for name in drawn(results))
    return (
        f"![Share of a topic's pages found along the crawl: {', '.join(drawn(results))}](docs/pictures/league.svg)\n\n"
        "The picture shows the share of a topic's other articles that each crawl finds, given five articles of\n"
        f"{NAMES[PICTURED]} as examples, alone or with 20 others that are off the topic. Each fetches\n"
        f"{longest(results)} of {results.world['pages']} pages; the mean is over {topics_of(results)} topics"
        f" that played no part in development (at the end: {found}).\n"
        "The oracle knows what is on the topic but has to follow links; the script ranks links by the words of the\n"
        "examples.\n"
        "[The league](docs/studies/league.md) has all strategies, four webs, and what fails."
    )


if __name__ == "__main__":
    main()
