"""The results of a search among peers, as text and as JSON.

Text from peers is untrusted: it is printed only through `printable`.
"""

from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from lycosa.cli.options import notify
from lycosa.run.imports import ImportedPeerPages
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.text import counted, printable
from lycosa_peers.identity import is_peer_name
from lycosa_peers.peer import SearchProgress
from lycosa_peers.ranking import RankedPage, Ranking
from lycosa_peers.search import Answers, ReplyStatus

from .client import NotJoined

_ALL_JOINED = NotJoined()
_SHOWN_LIVE = 10  # hits during a search
_NAMES_SHOWN = 10  # in one line


class LiveResults:
    """The best hits so far: redrawn on a terminal, otherwise one line per answering peer."""

    def __init__(self, is_enabled: bool):
        self._console = Console(stderr=True)
        self._is_enabled = is_enabled
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._reported_peers: set[str] = set()

    def __enter__(self) -> "LiveResults":
        if self._is_enabled and self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, ranking: Ranking, progress: SearchProgress, me: str) -> None:
        if not self._is_enabled:
            return
        if self._console.is_terminal:
            lines = [
                Text(line, overflow="ellipsis", no_wrap=True)
                for number, hit in enumerate(ranking.hits[:_SHOWN_LIVE], 1)
                for line in hit_lines(number, hit, me)[:2]
            ]
            self._live.update(Group(*lines, Text(f"searching: {progress.answers.stage}")), refresh=True)
            return
        for answer in progress.answers.answers:
            if answer.provider.name in self._reported_peers:
                continue  # several walkers met this peer
            self._reported_peers.add(answer.provider.name)
            who = "home" if answer.provider.name == me else f"{answer.provider.name[:8]} ({answer.stage})"
            notify(f"{counted(len(answer.hits), 'hit')} from {who} after {1000 * progress.seconds:.0f} ms")


def hit_lines(number: int, hit: RankedPage, me: str) -> list[str]:
    """A hit as lines of text."""
    who = ", ".join("home" if each.name == me else each.name[:8] for each in hit.providers[:5])
    unchecked = "" if hit.is_checked else " (unchecked)"
    more = f"   also {printable(', '.join(hit.also), 200)}" if hit.also else ""
    return [
        f"{number}. {printable(hit.title, 120) or '(no title)'}   at {printable(who, 80)}{unchecked}",
        f"   {printable(hit.url, 300)}",
        f"   {printable(hit.snippet, 300)}",
        *([more] if more else []),
    ]


def summary_lines(
    progress: SearchProgress, me: str, ranking: Ranking, not_joined: NotJoined = _ALL_JOINED
) -> list[str]:
    """Who answered and what it cost, as lines of text."""
    facts = _search_facts(progress, me, not_joined)
    lines = [
        f"{counted(facts['messages'], 'message')}, {1000 * facts['seconds']:.0f} ms; "
        f"answered by {_names(facts['answered']) or 'nobody'}"
    ]
    without_answer = {why: facts[why] for why in ("not_reached", "silent", "declined") if facts[why]}
    for why, names in without_answer.items():
        lines.append(f"{why.replace('_', ' ')}: {_names(names)}")
    if facts["other_group"]:
        lines.append(f"not of the same group (see --group, --no-group): {_names(facts['other_group'])}")
    if facts["walkers_out"]:
        lines.append(f"{counted(facts['walkers_out'], 'walker')} had not returned when the time was up")
    if facts["held_back"]:
        lines.append(f"{counted(facts['held_back'], 'query', 'queries')} not sent because of rate limits; try again")
    if facts["dropped_hits"]:
        lines.append(f"{counted(facts['dropped_hits'], 'hit')} left out: without the search words")
    if ranking.refused:
        lines.append(f"{counted(ranking.refused, 'hit')} left out: private address or invalid URL")
    return lines


def _names(names: list[str]) -> str:
    """The first names, with names of peers shortened to 8 letters, and the number of others."""
    shown = [printable(name[:8] if is_peer_name(name) else name, 80) for name in names[:_NAMES_SHOWN]]
    return ", ".join([*shown, *([f"{len(names) - len(shown)} more"] if len(names) > len(shown) else [])])


def _search_facts(progress: SearchProgress, me: str, not_joined: NotJoined) -> dict[str, Any]:
    """Who answered, at what cost, and who was not reached: peers by name, and endpoints that could not be joined."""
    answers: Answers = progress.answers
    by_status = {status: [name for name, reply in answers.asked.items() if reply == status] for status in ReplyStatus}
    who = ["home" if each.provider.name == me else each.provider.name for each in answers.answers]
    return {
        "answered": list(dict.fromkeys(who)),
        "messages": answers.issued + answers.received,
        "seconds": round(progress.seconds, 4),
        "stage": answers.stage,
        "not_reached": [*by_status[ReplyStatus.DOWN], *not_joined.not_reached],
        "other_group": list(not_joined.other_group),
        "silent": by_status[ReplyStatus.WAITING],
        "declined": by_status[ReplyStatus.DECLINED],
        "lack_it": by_status[ReplyStatus.LACKS],  # peers that were asked directly and know no such page
        "walkers_out": answers.walkers_still_out,
        "dropped": answers.dropped,  # rejected answers: forged, repeated, too many, or not matching the query
        "dropped_hits": answers.dropped_hits,  # without the search words
        "held_back": answers.rate_limited,  # queries not sent
    }


def search_json(
    query: str,
    progress: SearchProgress,
    me: str,
    ranking: Ranking,
    hits: tuple[RankedPage, ...],
    imported: ImportedPeerPages,
    max_imports: int,
    not_joined: NotJoined = _ALL_JOINED,
) -> JsonValue:
    """The results as JSON."""
    return {
        "query": query,
        "me": me,
        "hits": hits,
        "refused": ranking.refused,
        **_search_facts(progress, me, not_joined),
        **({"taken": imported} if max_imports else {}),
    }


def missing_pages_text(ranking: Ranking, max_imports: int, imported: ImportedPeerPages) -> str:
    """How many of the requested pages could not be fetched or used, in words."""
    requested = min(max_imports, sum(not hit.at_home for hit in ranking.hits))
    return f"{requested - len(imported.pages) - len(imported.known)} could not be fetched or used"
