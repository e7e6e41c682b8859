"""From the lines of a file to columns of numbers: the one loop that sees every line."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from lycosa.vocabulary.records import Url

from .accesses import Accesses
from .dropping import PAGE, SHOWN, Drop, Entry, dropped, shape_of
from .formats import Format
from .groups import MinuteCounts, Minutes
from .lines import LONGEST_LINE
from .page_urls import page_url
from .readings import Numbers, Places, Reals

CACHED = 1 << 19  # spellings of users or URLs that are remembered
EXAMPLES = 2  # of a reason
_NOBODY = {b"": -1, b"-": -1}
_EARLIEST = 631_152_000.0  # 1990: no log is older
_LATEST_AHEAD = 86_400.0  # seconds that a clock may be wrong
_TOO_LONG = dropped(Drop.TOO_LONG)


class UserNumbers:
    """A number for everybody, new ones following those that the log knows."""

    def __init__(self, known: Iterable[bytes], hashed: Callable[[bytes], bytes]):
        self._numbers = {each: number for number, each in enumerate(known)}
        self.known = len(self._numbers)
        self._hashed = hashed
        self.spelt = dict(_NOBODY)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, spelt: bytes) -> int:
        if len(self.spelt) >= CACHED:
            self.spelt.clear()
            self.spelt.update(_NOBODY)
        found = self._numbers.setdefault(self._hashed(spelt), len(self._numbers))
        self.spelt[spelt] = found
        return found

    def new(self) -> list[bytes]:
        """Hashes of the new ones, by their numbers."""
        return list(islice(self._numbers, self.known, None))

    def keep(self) -> None:
        """The new ones are in the log now."""
        self.known = len(self._numbers)


class PageNumbers:
    """A number for every page, new ones following those that the log knows; a Drop for what is none."""

    def __init__(self, known: Iterable[Url], site: str | None):
        self._numbers = {each: number for number, each in enumerate(known)}
        self.known = len(self._numbers)
        self._site = site
        self.told: dict[bytes, int] = {}  # where the log says that it is a page
        self.untold: dict[bytes, int] = {}

    def number(self, spelt: bytes, *, told: bool) -> int:
        cache = self.told if told else self.untold
        if len(cache) >= CACHED:
            cache.clear()
        url = page_url(spelt, site=self._site, by_extension=not told)
        found = url if isinstance(url, Drop) else self._numbers.setdefault(url, len(self._numbers))
        cache[spelt] = int(found)
        return int(found)

    def new(self) -> list[Url]:
        """The new ones, by their numbers."""
        return list(islice(self._numbers, self.known, None))

    def keep(self, read: Iterable[int]) -> None:
        """Some of the new ones are in the log now, and are numbered in this order; the others are forgotten."""
        new = self.new()
        for each in new:
            del self._numbers[each]
        for number in read:
            self._numbers[new[number - self.known]] = len(self._numbers)
        self.known = len(self._numbers)
        self.told.clear()
        self.untold.clear()


@dataclass(frozen=True)
class Example:
    """A line that was dropped, without anything of what it says."""

    line: int
    why: Drop
    shape: str  # of the part that is wrong


@dataclass
class Gathered:
    """What the lines of one file came to."""

    passed_over: int = 0  # lines before the first of these
    lines: int = 0
    out_of_order: int = 0  # lines whose time is before that of the line before them
    dropped: dict[Drop, int] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    minutes: MinuteCounts = field(default_factory=MinuteCounts)
    _blocks: list[Accesses] = field(default_factory=list)
    _before: float = -np.inf  # the time of the last line that had one

    def accesses(self) -> Accesses:
        """All page views, in the order of the lines; what was gathered is handed over, not kept."""
        blocks, self._blocks = self._blocks, []
        return Accesses.joined(*blocks)

    def take(self, lines: Sequence[bytes], read: Format, users: UserNumbers, pages: PageNumbers, *, now: float) -> None:
        """Takes in the next lines."""
        entries: Iterable[Entry] = map(read, lines)
        if max(map(len, lines), default=0) > LONGEST_LINE:
            entries = (read(line) if len(line) <= LONGEST_LINE else _TOO_LONG for line in lines)
        who: list[int] = []
        what: list[int] = []
        when: list[float] = []
        add_who, add_what, add_when = who.append, what.append, when.append
        user_of, told, untold = users.spelt, pages.told, pages.untold
        for user, at, wanted, url in entries:
            number = user_of.get(user)
            add_who(users.number(user) if number is None else number)
            add_when(at)
            if wanted < 0:
                add_what(wanted)
            elif wanted == PAGE:
                page = told.get(url)
                add_what(pages.number(url, told=True) if page is None else page)
            else:
                page = untold.get(url)
                add_what(pages.number(url, told=False) if page is None else page)
        self._add(np.array(who, np.int32), np.array(what, np.int32), np.array(when), lines, read, now)

    def _add(
        self,
        who: Numbers,
        what: Numbers,
        when: Reals,
        lines: Sequence[bytes],
        read: Format,
        now: float,
    ) -> None:
        what[(who < 0) & ((what < Drop.NO_USER) | (what >= 0))] = Drop.NO_USER
        timed = (what < Drop.NO_USER) | (what >= 0)
        possible = (when >= _EARLIEST) & (when <= now + _LATEST_AHEAD)
        what[timed & ~possible] = Drop.DATE
        timed &= possible
        moments = np.rint(when[timed] * 1000).astype(np.int64)
        if len(moments):
            self.out_of_order += int((np.diff(when[timed], prepend=self._before) < 0).sum())
            self._before = float(when[timed][-1])
            self.minutes.add(Minutes.of(who[timed], moments))
        for reason, count in zip(*np.unique(what[what < 0], return_counts=True), strict=True):
            why = Drop(int(reason))
            self.dropped[why] = self.dropped.get(why, 0) + int(count)
            if why in SHOWN:
                self._show(why, np.flatnonzero(what == reason)[:EXAMPLES], lines, read)
        self._blocks.append(Accesses(who[timed], what[timed], moments).only(what[timed] >= 0))
        self.lines += len(lines)

    def _show(self, why: Drop, places: Places, lines: Sequence[bytes], read: Format) -> None:
        shown = sum(example.why == why for example in self.examples)
        for place in places.tolist()[: max(0, EXAMPLES - shown)]:
            self.examples.append(
                Example(self.passed_over + self.lines + place + 1, why, _shown(why, read(lines[place])))
            )


def _shown(why: Drop, entry: Entry) -> str:
    """The part of a line that is wrong: a date as it is, of all else the shape."""
    _, at, _, part = entry
    if why in (Drop.TOO_LONG, Drop.NO_USER):
        return ""
    return f"{at:.10g} seconds after 1970" if why == Drop.DATE else shape_of(part)
