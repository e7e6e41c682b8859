"""The results of a search among peers, as text and as JSON. All of it is untrusted."""

from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from lycosa.cli.options import notify
from lycosa.run.imports import ImportedPeerPages
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.text import counted, visible
from lycosa_peers.identity import is_peer_name
from lycosa_peers.peer import SearchProgress
from lycosa_peers.ranking import RankedPage, Ranking
from lycosa_peers.search import Answers

from .client import NotJoined

_ALL_JOINED = NotJoined()
_SHOWN_LIVE = 10  # hits during a search
_NAMES_SHOWN = 10  # in one line


class LiveResults:
    """The best hits so far: redrawn on a terminal, otherwise one line per answering peer."""

    def __init__(self, shows: bool):
        self._console = Console(stderr=True)
        self._shows = shows
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._shown: set[str] = set()

    def __enter__(self) -> "LiveResults":
        if self._shows and self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, ranking: Ranking, progress: SearchProgress, me: str) -> None:
        if not self._shows:
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
            if answer.provider.name in self._shown:
                continue  # several walkers met this peer
            self._shown.add(answer.provider.name)
            who = "home" if answer.provider.name == me else f"{answer.provider.name[:8]} ({answer.stage})"
            notify(f"{len(answer.hits)} hits from {who} after {1000 * progress.seconds:.0f} ms")


def hit_lines(number: int, hit: RankedPage, me: str) -> list[str]:
    """A hit as lines of text."""
    who = ", ".join("home" if each.name == me else each.name[:8] for each in hit.providers[:5])
    unchecked = "" if hit.is_checked else " (unchecked)"
    more = f"   also {visible(', '.join(hit.also), 200)}" if hit.also else ""
    return [
        f"{number}. {visible(hit.title, 120) or '(no title)'}   at {visible(who, 80)}{unchecked}",
        f"   {visible(hit.url, 300)}",
        f"   {visible(hit.snippet, 300)}",
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
    silent = {what: facts[what] for what in ("not_reached", "silent", "declined") if facts[what]}
    for what, names in silent.items():
        lines.append(f"{what.replace('_', ' ')}: {_names(names)}")
    if facts["other_group"]:
        lines.append(f"not of the same group (see --group, --no-group): {_names(facts['other_group'])}")
    if facts["walkers_out"]:
        lines.append(f"{counted(facts['walkers_out'], 'search', 'searches')} still under way when the time was up")
    if facts["held_back"]:
        lines.append(f"{counted(facts['held_back'], 'query', 'queries')} not sent because of rate limits; try again")
    if facts["dropped_hits"]:
        lines.append(f"{counted(facts['dropped_hits'], 'hit')} left out: without the search words")
    if ranking.refused:
        lines.append(f"{counted(ranking.refused, 'hit')} left out: at private addresses, or no URLs")
    return lines


def _names(names: list[str]) -> str:
    """The first names, with names of peers shortened to 8 letters, and the number of others."""
    shown = [visible(name[:8] if is_peer_name(name) else name, 80) for name in names[:_NAMES_SHOWN]]
    return ", ".join([*shown, *([f"{len(names) - len(shown)} more"] if len(names) > len(shown) else [])])


def _search_facts(progress: SearchProgress, me: str, not_joined: NotJoined) -> dict[str, Any]:
    """Who answered, at what cost, and who was not reached: peers by name, and endpoints that could not be joined."""
    answers: Answers = progress.answers
    by_reply = {what: [name for name, reply in answers.asked.items() if reply == what] for what in _REPLIES}
    who = ["home" if each.provider.name == me else each.provider.name for each in answers.answers]
    return {
        "answered": list(dict.fromkeys(who)),
        "messages": answers.issued + answers.received,
        "seconds": round(progress.seconds, 4),
        "stage": answers.stage,
        "not_reached": [*by_reply["down"], *not_joined.not_reached],
        "other_group": list(not_joined.other_group),
        "silent": by_reply["waiting"],
        "declined": by_reply["declined"],
        "lack_it": by_reply["lacks"],
        "walkers_out": answers.walkers_out,
        "dropped": answers.dropped,
        "dropped_hits": answers.dropped_hits,
        "held_back": answers.rate_limited,
    }


_REPLIES = ("down", "waiting", "declined", "lacks")


def search_json(
    query: str,
    progress: SearchProgress,
    me: str,
    ranking: Ranking,
    shown: tuple[RankedPage, ...],
    taken: ImportedPeerPages,
    take: int,
    not_joined: NotJoined = _ALL_JOINED,
) -> JsonValue:
    """The results as JSON."""
    return {
        "query": query,
        "me": me,
        "hits": shown,
        "refused": ranking.refused,
        **_search_facts(progress, me, not_joined),
        **({"taken": taken} if take else {}),
    }


def missing_pages(ranking: Ranking, take: int, taken: ImportedPeerPages) -> str:
    """The number of requested pages that could not be fetched, in words."""
    wanted = min(take, sum(not hit.at_home for hit in ranking.hits))
    return f"{wanted - len(taken.pages) - len(taken.known)} could not be had"
