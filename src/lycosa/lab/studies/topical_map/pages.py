"""The pages of a world on one day, each read once and judged once for all topics."""

from collections.abc import Sequence

from msgspec import Struct

from lycosa.maps import sketch_of
from lycosa.reading.reader import page_of_text
from lycosa.relevance.taxonomy import Floats, Taxonomy
from lycosa.vocabulary.records import Link, Page, Url
from lycosa.worlds import StudyWorld

GOOD = 0.5  # P(topic|page) above which a page is good

_NO_WORDS = page_of_text(Url(""), "", "").words


class Judged(Struct, frozen=True, gc=False):
    """What is kept of a page."""

    page: Page  # links and digest alone, no text
    chances: Floats  # of all topics
    sketch: bytes  # of its text


class JudgedPages:
    """Reads what crawls ask for; links that lead to no page on any of the days are left out.

    days: the world on all the days on which it is crawled, this day first.
    """

    def __init__(self, days: Sequence[StudyWorld], taxonomy: Taxonomy):
        self.world, *_ = self._days = tuple(days)
        self._taxonomy = taxonomy
        self._number = {topic: number for number, topic in enumerate(taxonomy.topics)}
        self._judged: dict[Url, Judged | None] = {}
        self._links: dict[Url, Link | None] = {}  # one for each target, None for those left out

    @property
    def count(self) -> int:
        """How many were read so far."""
        return len(self._judged)

    def judged(self, url: Url) -> Judged | None:
        if url in self._judged:
            return self._judged[url]
        judged = self._judged[url] = self._read(url)
        return judged

    def _read(self, url: Url) -> Judged | None:
        page = self.world.read(url)
        if page is None:
            return None
        links = tuple(link for link in map(self._link, (each.target for each in page.links)) if link is not None)
        kept = Page(url, "", "", "", _NO_WORDS, links, digest=page.digest)
        return Judged(kept, self._taxonomy.chances(page), sketch_of(page))

    def _link(self, target: Url) -> Link | None:
        if target not in self._links:
            self._links[target] = Link(target) if any(target in world for world in self._days) else None
        return self._links[target]

    def chance(self, url: Url, topic: str) -> float:
        """P(topic|page), 0 for a page that is not there."""
        judged = self.judged(url)
        return 0.0 if judged is None else float(judged.chances[self._number[topic]])

    def sketch(self, url: Url) -> bytes | None:
        """What tells how much the text of a page resembles others; None for a page that is not there."""
        judged = self.judged(url)
        return None if judged is None else judged.sketch

    def is_good(self, url: Url, topic: str) -> bool:
        return self.chance(url, topic) > GOOD

    def topic(self, url: Url) -> str | None:
        """The topic that a page is on, None where none has more than an even chance."""
        judged = self.judged(url)
        if judged is None:
            return None
        best = int(judged.chances.argmax())
        return self._taxonomy.topics[best] if judged.chances[best] > GOOD else None
