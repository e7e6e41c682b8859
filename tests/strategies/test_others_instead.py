"""A strategy hears what was skipped and may propose others; that ends whatever it proposes."""

from collections.abc import Iterable, Sequence

from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import MAX_SKIP_ROUNDS
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Skip, SkipReason, Url, Visit
from simulation import crawl_of, urls_of, visits_of
from worlds import STAR

HUB = Url("http://star.example/")


class Stubborn(BreadthFirst):
    """Proposes what was skipped again and again, or another in its place."""

    def __init__(self, instead: Url | None = None) -> None:
        self.heard: list[Skip] = []
        self._instead = instead

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Skip):
            self.heard.append(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return [Candidate(self._instead or event.candidate.url, 0.0, because={"again": True})]
        return super().propose(event)


class Notes:
    """A journal that keeps the skips."""

    def __init__(self) -> None:
        self.skips: list[Skip] = []

    def record(self, event: object) -> None:
        pass

    def record_skips(self, skips: Sequence[Skip]) -> None:
        self.skips += skips


def test_what_is_evicted_and_proposed_again_and_again_ends_by_itself() -> None:
    strategy, notes = Stubborn(), Notes()
    frontier = MemoryFrontier(clock=SimulatedClock(), delay=0.0, limit=1)
    visits = visits_of(crawl_of(STAR, strategy, frontier=frontier, journal=notes), [HUB])
    assert len(visits) > 1
    assert {skip.reason for skip in strategy.heard} == {SkipReason.EVICTED}
    assert strategy.heard == notes.skips
    assert MAX_SKIP_ROUNDS <= len(strategy.heard) <= 8 * MAX_SKIP_ROUNDS * len(visits)


def test_another_may_take_the_place_of_a_seed_that_was_refused() -> None:
    strategy, notes = Stubborn(instead=HUB), Notes()
    admission = Admission(Scope(hosts=("star.example",)))
    frontier = MemoryFrontier(clock=SimulatedClock(), admission=admission, delay=0.0)
    crawl = crawl_of(STAR, strategy, frontier=frontier, journal=notes)
    elsewhere = Url("http://elsewhere.example/")
    assert set(urls_of(visits_of(crawl, [elsewhere]))) == set(STAR)
    assert [skip.candidate.url for skip in notes.skips] == [elsewhere]
