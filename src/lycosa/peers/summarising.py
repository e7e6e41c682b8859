"""Making the summary of a collection, page by page, so that whoever makes it can do other things in between."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Protocol

from lycosa.vocabulary.records import Codes

from .summary import PAGES_IN_SEGMENT, Segment, room_for, terms_for

FOLLOW_SECONDS = 60.0  # between two looks at the collection
LEAST_MORE_BYTES, LEAST_MORE_TERMS = 1 << 12, 1 << 14  # that a few new pages may take
LOOKS_BETWEEN = 10  # until even a few new pages are told
_PAGES_AT_ONCE = 4  # read before others have their turn


class Reading:
    """Pages being read for a summary, one with each step, sealed in segments as they become many."""

    def __init__(self, codes_of_page: Callable[[int], Codes], pages: dict[int, int], wanted: list[int], *, anew: bool):
        self.pages = pages
        self.anew = anew
        self.total = len(wanted)
        self.segments: list[Segment] = []
        self._codes_of_page = codes_of_page
        self._wanted = wanted
        self._read: list[Codes] = []

    def __iter__(self) -> Iterator[int]:
        for done, number in enumerate(self._wanted, 1):
            self._read.append(self._codes_of_page(number))
            yield done

    @property
    def is_full(self) -> bool:
        return len(self._read) >= PAGES_IN_SEGMENT

    def seal(self) -> None:
        """Makes a segment of what was read; touches nothing else, so that another thread may do it."""
        if self._read:
            room, terms = room_for(len(self._read), len(self.pages)), terms_for(len(self._read), len(self.pages))
            if not self.anew:
                room, terms = max(room, LEAST_MORE_BYTES), max(terms, LEAST_MORE_TERMS)
            self.segments.append(Segment.of(self._read, room=room, terms=terms))
            self._read = []


class Followed(Protocol):
    """A content whose summary can be brought up to date."""

    def behind(self, *, at_once: bool) -> Reading | None: ...

    def take_over(self, reading: Reading) -> None: ...


class Following:
    """Keeps a summary up to date, look by look: new pages are told at once when they are many, else once in a while."""

    def __init__(self, content: Followed):
        self._content = content
        self._looks = 0

    async def catch_up(self) -> None:
        """One look, which lets others have their turn as it goes."""
        self._looks += 1
        reading = self._content.behind(at_once=self._looks % LOOKS_BETWEEN == 0)
        if reading is None:
            return
        for done in reading:
            if reading.is_full:
                await asyncio.to_thread(reading.seal)
            if done % _PAGES_AT_ONCE == 0:
                await asyncio.sleep(0)
        await asyncio.to_thread(reading.seal)
        self._content.take_over(reading)
