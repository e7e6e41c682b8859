"""`lycosa show`: what a collection holds.

The sample is the pages that `lycosa review` drew at random and the user labelled; it measures the harvest rate, which
is otherwise estimated from the model's scores. A figure is behind if the collection has changed much since it was
taken. Standing is the importance of a page on the Web, 0 to 1. A look is one fetch of a stored page.
"""

from datetime import datetime

import msgspec
import typer

from lycosa import api
from lycosa.collection.export import iso
from lycosa.collection.rows import ChangeRow, Freshness, RunRow
from lycosa.relevance.harvest import wilson_interval
from lycosa.run.overview import Overview
from lycosa.run.recall import RecallEstimate
from lycosa.run.review import SampleResult
from lycosa.run.topic import TOPIC_HAS_CHANGED
from lycosa.vocabulary.records import skip_counts
from lycosa.vocabulary.text import counted, printable

from .options import Json, Name, print_json, shell_command

_CHANGES_SHOWN = 5  # the latest
_OUTCOMES_SHOWN = 12  # kinds, such as denied (403)


def show(name: Name, as_json: Json = False) -> None:
    """Show what a collection holds. Lists pages, harvest rate, freshness, hosts, outcomes, omissions and runs."""
    with api.open(name) as collection:
        overview = collection.overview()
    facts, sample, recall = overview.facts, overview.sample, overview.recall
    if as_json:
        print_json(
            {
                "pages": facts.pages,
                "relevant": facts.relevant,
                "harvest_rate": facts.harvest_rate,
                "harvest_low": overview.harvest_interval[0],
                "harvest_high": overview.harvest_interval[1],
                "harvest_measured": overview.harvest_rate if overview.is_measured else None,
                # The number of pages that the collection had then.
                "harvest_measured_at": sample.pages_then if sample is not None and sample.is_enough else None,
                "harvest_is_behind": sample is not None and sample.is_enough and sample.is_behind,
                "sample": sample and msgspec.to_builtins(sample),
                "recall": recall and recall.recall,
                "recall_low": recall and recall.recall_low,
                "recall_high": recall and recall.recall_high,
                "relevant_left": recall and recall.relevant_left,  # estimated number of relevant pages not found yet
                "recall_is_behind": overview.is_recall_behind,
                "topic_has_changed": overview.has_topic_changed,
                "mean_standing": facts.mean_standing,
                "target": overview.target,  # the mean relevance that the strategy of the latest crawl aims at
                "waiting": overview.waiting,
                "hosts": facts.hosts,
                "outcomes": facts.outcomes,
                "skipped": facts.skipped,
                "left_out": {omission.kind: omission.count for omission in overview.left_out},
                "languages": facts.languages,
                "bytes": facts.bytes,
                "freshness": _freshness_as_json(facts.freshness, overview.changes),
                "runs": facts.runs,
            }
        )
    else:
        typer.echo("\n".join(_lines(str(name), overview)))


def _freshness_as_json(facts: Freshness, changes: list[ChangeRow]) -> dict[str, object]:
    return {
        "looked_again": facts.looked_again,
        "changed": facts.changed,
        "vanished": facts.vanished,
        "oldest_look": None if facts.oldest_look is None else iso(facts.oldest_look),
        "latest_look": None if facts.latest_look is None else iso(facts.latest_look),
        "latest_changes": [
            {"url": change.url, "title": change.title, "change": change.change, "at": iso(change.at)}
            for change in changes
        ],
    }


def _lines(name: str, overview: Overview) -> list[str]:
    facts, sample, recall, target = overview.facts, overview.sample, overview.recall, overview.target
    low, high = overview.harvest_interval
    if sample is not None and sample.is_enough:
        rate = f"{sample.share:.0%} measured on {sample.drawn} pages drawn at random, probably within "
        rate += f"{low:.0%}–{high:.0%}"
        if sample.is_behind:
            rate += f", {sample.growth} (to measure again: {shell_command('review', name)})"
        rate += f"; the model calls {counted(facts.relevant, 'page')} relevant"
    elif facts.unscored == facts.pages > 0:
        rate = f"unknown, as no page is scored yet; {shell_command('crawl', name)} scores them"
    else:
        estimate = "" if low == high else f"; an estimate, probably within {low:.0%}–{high:.0%}"
        rate = f"{facts.harvest_rate:.1%} ({counted(facts.relevant, 'relevant page')}{estimate})"
    rows = [
        *([("topic", TOPIC_HAS_CHANGED)] if overview.has_topic_changed else []),
        ("harvest rate", rate),
        *([] if sample is None or not sample.called_relevant else [("precision", _precision(sample))]),
        *([] if recall is None else [("recall", _recall(recall, is_behind=overview.is_recall_behind))]),
        *([] if target in (None, 1.0) else [("target", f"mean relevance of {target:g} or more, importance beside it")]),
        *([] if facts.mean_standing is None else [("importance", f"{facts.mean_standing:.2f} on average")]),
        *_freshness_rows(facts.freshness, overview.changes),
        ("waiting", counted(overview.waiting, "URL")),
        ("outcomes", _counts(overview.outcomes, _OUTCOMES_SHOWN)),
        *(("left out", str(omission)) for omission in overview.left_out),
        ("skipped", _counts(skip_counts(facts.skipped))),
        ("languages", _counts(facts.languages)),
        ("hosts", _counts(facts.hosts, 8)),
    ]
    rows += [
        ("run", f"{_moment(run.at)} {_description_of(run)}: {run.stop_reason or 'not ended'}")
        for run in facts.runs[-5:]
    ]
    head = f"{name}: {counted(facts.pages, 'page')} on {counted(len(facts.hosts), 'host')}, {facts.bytes / 1e6:.1f} MB"
    return [printable(head, 300), *(f"{key:14}{printable(value, 300)}" for key, value in rows)]


def _precision(sample: SampleResult) -> str:
    """Of the pages drawn at random that the model called relevant, the share that it rightly called so."""
    low, high = wilson_interval(sample.rightly, sample.called_relevant)
    return (
        f"{sample.rightly / sample.called_relevant:.0%} ({sample.rightly} of {sample.called_relevant} pages drawn at "
        f"random that the model calls relevant; probably within {low:.0%}–{high:.0%})"
    )


def _recall(estimate: RecallEstimate, *, is_behind: bool) -> str:
    left = round(estimate.relevant_left)
    return (
        f"{estimate.recall:.0%} of the relevant pages within reach ({estimate.recall_low:.0%}–"
        f"{estimate.recall_high:.0%}), {f'some {left:,}' if left else 'none'} {'is' if left == 1 else 'are'} left"
        f"{'; as of before the latest changes: the next crawl estimates it again' if is_behind else ''}"
    )


def _freshness_rows(facts: Freshness, changes: list[ChangeRow]) -> list[tuple[str, str]]:
    if facts.oldest_look is None or facts.latest_look is None:
        return []
    seen = f"{_moment(facts.oldest_look)} to {_moment(facts.latest_look)}"
    again = f"{facts.looked_again} rechecked, {facts.changed} changed, {facts.vanished} gone"
    rows = [("checked", f"{seen}; {again}")]
    return rows + [
        (change.change, f"{_moment(change.at)} {change.url} {change.title}") for change in changes[:_CHANGES_SHOWN]
    ]


def _description_of(run: RunRow) -> str:
    return f"refresh by {run.refresh.get('policy')}" if isinstance(run.refresh, dict) else run.strategy


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


def _counts(counts: dict[str, int], limit: int = 6) -> str:
    shown = [f"{name or 'unknown'} {count}" for name, count in list(counts.items())[:limit]]
    if len(counts) > limit:
        shown.append(f"and {len(counts) - limit} more")
    return ", ".join(shown) or "none"
