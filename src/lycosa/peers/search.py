"""One search of one's own: how far it has come, whom it asked, who has what.

    home -> indexes -> buddies -> walking -> done

A search goes on to the next stage when it is not content with what it has and nobody is left whose answer it waits
for. Answers that come when it is done are still taken down, until it is forgotten.
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from .messages import DIRECT, Contact, Hit, Item, PeerName, Statistics, Wanted


class Stage(StrEnum):
    HOME = "home"
    INDEXES = "indexes"
    BUDDIES = "buddies"
    WALKING = "walking"
    DONE = "done"


class Reply(StrEnum):
    """What became of a query that was sent to somebody directly."""

    WAITING = "waiting"
    ANSWERED = "answered"
    LACKS = "lacks"
    DECLINED = "declined"
    DOWN = "down"


class Failure(StrEnum):
    """Why a provider that was said to have something did not give it."""

    DOWN = "down"
    WRONG = "wrong"
    DECLINED = "declined"
    LACKS = "lacks"


class Answer(Struct, frozen=True):
    """Who has something, who said so, and at which stage of the search it was heard."""

    provider: Contact
    via: PeerName  # the provider itself, one that holds its index, or the asker where it holds it
    stage: Stage
    hits: tuple[Hit, ...]
    statistics: Statistics | None = None
    at: float = 0.0
    walker: int = 0  # that came to who said so


class Answers(Struct, frozen=True):
    """A search so far."""

    id: int
    wanted: Wanted
    stage: Stage
    answers: tuple[Answer, ...]
    provider: PeerName | None  # who gave it, where the node fetches what it finds
    found_at: Stage | None  # the stage that had the answer
    issued: int  # queries the node itself sent
    received: int  # answers that came
    asked: dict[PeerName, Reply]  # directly
    walkers_out: int  # that have not told that they ended
    fetches: int  # providers it was tried to be fetched from
    dropped: int  # answers that were not taken: forged, repeated, too many, none to what was asked
    dropped_hits: int = 0  # that do not answer what was asked, of answers that were taken too
    held_back: int = 0  # queries that were not sent, as their receivers take no more


class Search:
    """The state of one search. Told what happens by its node, which decides what to do."""

    def __init__(self, number: int, wanted: Wanted, *, most: int, enough: int, now: float, deadline: float):
        self.id = number
        self.wanted = wanted
        self.most = most
        self.enough = enough
        self.began = now
        self.deadline = now + deadline
        self.wait_until = now  # for those asked directly
        self.newcomers_until = now + deadline / 4  # for those that are to be neighbours soon
        self.stage = Stage.HOME
        self.asked: dict[PeerName, Reply] = {}
        self.asked_at: dict[PeerName, Stage] = {}
        self.waiting_for = 0  # of those
        self.answers: list[Answer] = []
        self.found: set[Item] = set()  # in any of these
        self.credited: set[PeerName] = set()
        self.tried: set[PeerName] = set()  # providers it was fetched from, or tried to
        self.fetching: int | None = None  # the fetch under way
        self.provider: PeerName | None = None
        self.found_at: Stage | None = None
        self.walkers: set[int] = set()  # that have not ended, as far as is known
        self.visited: set[PeerName] = set()  # neighbours that were sent a walker, where it goes no farther
        self.issued = self.received = self.fetches = self.referred = 0
        self.dropped = self.dropped_hits = self.held_back = 0

    @property
    def has_enough(self) -> bool:
        """A thing that several have counts once."""
        return len(self.found) >= self.enough

    def add(self, answer: Answer, found: Iterable[Item]) -> None:
        """Takes an answer down; `found` of it is what was wanted."""
        self.answers.append(answer)
        self.found.update(found)

    def ask(self, name: PeerName) -> None:
        self.asked[name] = Reply.WAITING
        self.asked_at[name] = self.stage
        self.waiting_for += 1
        self.issued += 1

    def replied(self, name: PeerName, reply: Reply) -> bool:
        """Tells whether it was waited for."""
        if self.asked.get(name) is not Reply.WAITING:
            return False
        self.asked[name] = reply
        self.waiting_for -= 1
        return True

    def awaits(self, name: PeerName, walker: int) -> bool:
        """Whether an answer of a peer, in the name of a walker or its own, is waited for."""
        return walker in self.walkers if walker != DIRECT else self.asked.get(name) is Reply.WAITING

    def takes_from_walker(self, walker: int) -> bool:
        """A walker ends with one peer, so the first response in its name is the only one."""
        if walker not in self.walkers:
            return False
        self.walkers.discard(walker)
        return True

    def next_to_try(self) -> Answer | None:
        """The first that has something and was not tried."""
        for answer in self.answers:
            if answer.hits and answer.provider.name not in self.tried:
                return answer
        return None

    def snapshot(self) -> Answers:
        return Answers(
            id=self.id,
            wanted=self.wanted,
            stage=self.stage,
            answers=tuple(self.answers),
            provider=self.provider,
            found_at=self.found_at,
            issued=self.issued,
            received=self.received,
            asked=dict(self.asked),
            walkers_out=len(self.walkers),
            fetches=self.fetches,
            dropped=self.dropped,
            dropped_hits=self.dropped_hits,
            held_back=self.held_back,
        )
