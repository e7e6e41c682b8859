"""`lycosa explain`: why a page was fetched, skipped, or still waits."""

from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated

import typer

from lycosa import api
from lycosa.collection.rows import FetchRow, LookRow, Omissions, PageRow
from lycosa.run.explanation import fetch_was_made
from lycosa.run.forgotten import FORGOTTEN_FILE
from lycosa.run.reasons import link_in_words, reasons_in_words, shown_priority
from lycosa.vocabulary.records import Candidate, JsonValue, LeftOut, LeftOutReason, Outcome, Url, skip_in_words
from lycosa.vocabulary.text import counted, printable
from lycosa.vocabulary.urls import checked_url
from lycosa.web.outcomes import outcome_in_words

from .options import Json, Name, UrlArgument, print_json, shell_command

_FACTORS_SHOWN = 3  # the strongest of those that make up the priority of a link
_MAX_FETCHES = 10  # latest fetches that are shown
_MAX_LINE = 400  # characters
_MAX_REASONS = 2_000  # characters; reasons have a line of their own
_WHY = "  why: "


def explain(
    name: Name,
    url: UrlArgument,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="All reasons, not three.")] = False,
    as_json: Json = False,
) -> None:
    """Explain why a page was fetched, skipped, or still waits. Lists later fetches of it, too, and what they found."""
    page_url = checked_url(url)
    with api.open(name) as collection:
        facts = collection.explain(page_url)
        omissions = collection.summary().omissions if facts["state"] == "unknown" else None
    if as_json:
        print_json(facts)
    else:
        max_factors = None if verbose else _FACTORS_SHOWN
        for line in [*_lines(facts, str(name), max_factors), *_lines_if_unknown(omissions)]:
            typer.echo(_safe_line(line))
    if facts["state"] == "unknown":
        raise typer.Exit(1)


def explained(collection: api.OpenCollection, url: Url) -> tuple[str, list[str]]:
    """The state of a URL in a word, and its explanation in lines that are safe to print."""
    facts = collection.explain(url)
    unknown = _lines_if_unknown(collection.summary().omissions) if facts["state"] == "unknown" else []
    return facts["state"], [_safe_line(line) for line in [*_lines(facts, str(collection.folder)), *unknown]]


def _safe_line(line: str) -> str:
    margin = len(line) - len(line.lstrip(" "))
    limit = _MAX_REASONS + _MAX_LINE if line.startswith(_WHY) else _MAX_LINE
    return " " * margin + printable(line, limit)


def _lines_if_unknown(omissions: Omissions | None) -> list[str]:
    """Why a URL may be unknown although a page links to it."""
    if omissions is None:
        return []
    lines = ["  not known here: no link to it was found on the pages of the collection"]
    causes = [
        (sum(omissions.truncated.values()), "was truncated", "were truncated"),
        (omissions.pages_of_many_links, "has more links than are read", "have more links than are read"),
        (omissions.needs_script, "needs JavaScript", "need JavaScript"),
    ]
    counts = [
        f"{counted(count, 'page')} {singular if count == 1 else plural}" for count, singular, plural in causes if count
    ]
    if counts:
        lines.append(f"  ({', '.join(counts)}: links of theirs may be missing)")
    if omissions.copies:
        pages = counted(omissions.copies, "page") + (
            " with the text of another" if omissions.copies == 1 else " with the texts of others"
        )
        lines.append(f"  (the links of {pages} were not followed; it may lie behind them)")
    return lines


def _why_left_out(fetches: list[FetchRow], name: str) -> str:
    """Why a page that was fetched is not kept; empty if there was no page."""
    successful = [fetch for fetch in fetches if fetch.outcome is Outcome.OK]
    if not successful:
        return ""
    left_out = LeftOut.parse(successful[-1].left_out)
    if left_out is None:
        return f"an older version did not note why; {shell_command('rebuild', name)} finds out"
    detail = printable(left_out.detail, 100)
    match left_out.reason:
        case LeftOutReason.NOINDEX:
            return f"it asks not to be kept (noindex); {shell_command('crawl', name, '--keep-noindex')} keeps it"
        case LeftOutReason.LANGUAGE:
            return f"its language is {detail}; {shell_command('crawl', name, '--language', detail)} keeps it"
        case LeftOutReason.OTHER:
            return detail


def _lines(facts: JsonValue, name: str, max_factors: int | None = None) -> list[str]:
    """The explanation of a URL in lines.

    facts: what is known of it, as `facts_about` returns it. A look is one fetch of a stored page; the original is the
        most important one of a group of near-duplicates.
    name: the folder of the collection, for the commands that are recommended.
    max_factors: how many factors of a priority are shown; None for all.
    """
    lines = [f"{facts['url']}: {facts['state']}"]
    page: PageRow | None = facts["page"]
    waiting: Candidate | None = facts["waiting"]
    if facts["state"] == "unknown":
        return lines
    if facts["state"] == "forgotten":
        return [*lines, f"  by lycosa forget: nothing of it is kept, and it is not fetched again ({FORGOTTEN_FILE})"]
    if page is None and waiting is None and (why := _why_left_out(facts["fetches"], name)):
        lines.append(f"  not kept: {why}")
    if page is not None:
        relevance = "not judged" if page.relevance is None else f"{page.relevance:.3f}"
        standing = "" if page.standing is None else f", importance {page.standing:.3f}"
        lines.append(f"  {page.title or '(no title)'}; page {page.number}, relevance {relevance}{standing}")
        lines.append(_reasons_line(page, max_factors))
        if page.is_copy:
            lines.append(f"  has the same text as {page.duplicate_of}, so its links were not followed")
        elif page.duplicate_of:
            lines.append(f"  nearly the same as {page.duplicate_of}")
        if facts["original"] == page.url:
            lines.append("  other pages are nearly the same; this is the most important of them")
        elif facts["original"] not in (None, page.duplicate_of):
            lines.append(f"  the most important of the pages that are nearly the same: {facts['original']}")
        if page.truncated:
            key = "max_body" if page.truncated == "length" else "timeout"
            lines.append(f"  truncated at {page.bytes:,} bytes (limit: {key} in [requests] of lycosa.toml)")
        if page.links_beyond:
            beyond = f"{page.links_beyond:,} were left out (limit: max_links in [requests] of lycosa.toml)"
            lines.append(f"  has more links than are read of one page: {beyond}")
        if page.needs_script:
            lines.append("  has hardly any text, but scripts: it may need JavaScript, which Lycosa does not run")
        if page.vanished_at is not None:
            lines.append(f"  vanished: found gone {_moment(page.vanished_at)}: {page.vanished_why}")
        lines += _look_lines(facts["looks"])
    if waiting is not None:
        lines.append(_reasons_line(waiting, max_factors))
    if facts["passed_over"]:
        elsewhere = f"{counted(facts['passed_over'], 'request')} made elsewhere first"
        lines.append(f"  its domain of several hosts was over its share: {elsewhere} (site_share in [requests])")
    lines += [f"  {rank}" for rank in facts["ranks"]]
    if facts["skip"] is not None:
        skip = facts["skip"]
        lines.append(f"  skipped: {skip_in_words(skip.reason)}; found on {skip.found_on or 'no page'}")
    if facts["way"]:
        lines.append("  path from a seed:")
        lines += [f"    {url}" for url in facts["way"]]
    if len(facts["fetches"]) > _MAX_FETCHES:
        lines.append(f"  {len(facts['fetches'])} fetches, the latest {_MAX_FETCHES}:")
    for fetch in facts["fetches"][-_MAX_FETCHES:]:
        outcome = outcome_in_words(fetch.outcome, fetch.status, fetch.detail)
        duration = f" in {fetch.elapsed:.2f} s" if fetch.elapsed else ""
        lines.append(f"  {'fetch' if fetch_was_made(fetch) else 'no fetch'} {_moment(fetch.at)}: {outcome}{duration}")
    if facts["parents"]:
        more = f" (the first {len(facts['parents'])}, of more)" if facts["has_more_parents"] else ""
        lines.append(f"  linked from{more}:")
        lines += [f"    {parent.url} “{parent.anchor}”" for parent in facts["parents"]]
    return lines


def _reasons_line(page: PageRow | Candidate, max_factors: int | None) -> str:
    link = link_in_words(page.found_on, page.anchor, page.because)
    reasons = printable(f"{link}{reasons_in_words(page.because, max_factors=max_factors)}", _MAX_REASONS)
    score = shown_priority(page.priority, page.because)
    return f"{_WHY}{reasons}; score {score:.3f}, {counted(page.depth, 'click')} from a seed"


def _look_lines(looks: list[LookRow]) -> list[str]:
    """The checks of a page, one per line; consecutive ones with the same result and no new version share a line."""
    if not looks:
        return []
    versions = sum(look.digest is not None for look in looks)
    lines = [f"  seen {counted(len(looks), 'time')}, {counted(versions, 'version')}:"]
    version: LookRow | None = None  # the latest look so far that found a new version
    for change, group in groupby(looks, key=lambda look: look.change):
        equal_looks = list(group)
        if equal_looks[0].digest is None:
            times = f", {len(equal_looks)} times" if len(equal_looks) > 1 else ""
            until = f" to {_moment(equal_looks[-1].at)}" if len(equal_looks) > 1 else ""
            lines.append(f"    {_moment(equal_looks[0].at)}{until}: {change}{times}")
            continue
        for look in equal_looks:
            lines.append(f"    {_moment(look.at)}: {change}, {_difference(version, look)}")
            version = look
    return lines


def _difference(before: LookRow | None, now: LookRow) -> str:
    digest = f"digest {now.digest:016x}"
    size, links = counted(now.bytes or 0, "byte"), counted(now.links or 0, "link")
    if before is None:
        return f"{size}, {links}, {digest}"
    words = "its words have changed" if now.digest != before.digest else "the same words"
    return f"{before.bytes or 0:,} → {size}, {words}, {links}, {now.new_links or 0:,} new, {digest}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
