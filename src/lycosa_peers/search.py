"""One search of a node: its stage, the peers it asked, its answers.

    home -> indexes -> buddies -> walking -> done

A search moves to the next stage when it has not found enough and no answer is pending. Later answers are still
recorded, until the search is forgotten.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from .messages import DIRECT, CollectionStatistics, Contact, Item, PeerHit, PeerName, Target


class Stage(StrEnum):
    """Where a search looks."""

    OWN_CONTENT = "home"  # of the asker
    INDEXES = "indexes"  # those that it holds of other peers
    BUDDIES = "buddies"
    WALKING = "walking"
    DONE = "done"


class ReplyStatus(StrEnum):
    """The outcome of a direct query."""

    WAITING = "waiting"
    ANSWERED = "answered"
    LACKS = "lacks"
    DECLINED = "declined"
    DOWN = "down"


class Failure(StrEnum):
    """Why a provider did not deliver an item."""

    DOWN = "down"
    WRONG = "wrong"
    DECLINED = "declined"
    LACKS = "lacks"


class Trust(StrEnum):
    """Why the hits of an answer are believed."""

    TRUSTED = "trusted"  # from our own collection, or a peer named by the user
    BUDDY = "buddy"  # of a peer that answered well before
    CONFIRMED = "confirmed"  # a sample was fetched and is as claimed, and the provider passed the trap (see `probes`)
    CLAIMED = "claimed"  # not checked, or the check was not completed


class Answer(Struct, frozen=True):
    """A provider and its hits, the peer that named it, and the stage of the search at that time."""

    provider: Contact
    via: PeerName  # the provider itself, or a peer (perhaps the asker) that holds its index
    stage: Stage
    hits: tuple[PeerHit, ...]
    statistics: CollectionStatistics | None = None
    at: float = 0.0  # when it was recorded, by the clock of the node
    walker: int = 0  # that reached `via`
    trust: Trust = Trust.TRUSTED
    network: str = ""  # of the connection on which it came: the address of a provider is only what it says


class Answers(Struct, frozen=True):
    """A snapshot of a search."""

    id: int
    target: Target = field(name="wanted")
    stage: Stage
    answers: tuple[Answer, ...]
    provider: PeerName | None  # that delivered the item, if the node fetches what it finds
    found_in_stage: Stage | None = field(name="found_at")  # that had the answer
    issued: int  # queries the node itself sent
    received: int  # answers that came
    asked: dict[PeerName, ReplyStatus]  # directly
    walkers_still_out: int = field(name="walkers_out")  # not known to have ended
    fetches: int  # attempts
    dropped: int  # rejected answers: forged, repeated, too many, not matching the query
    dropped_hits: int = 0  # not matching the query, including those of accepted answers
    rate_limited: int = field(default=0, name="held_back")  # queries not sent


class Search:
    """The state of one search; `Searches` and `Replies` decide what it does next."""

    def __init__(
        self, query_id: int, target: Target, *, max_hits: int, sufficient_hits: int, now: float, timeout: float
    ):
        self.id = query_id
        self.target = target
        self.max_hits = max_hits
        self.sufficient_hits = sufficient_hits
        self.began = now
        self.deadline = now + timeout
        self.replies_deadline = now  # until then, it waits for replies to direct queries
        self.joining_deadline = now + timeout / 4  # until then, it waits for peers that were asked to join
        self.stage = Stage.OWN_CONTENT
        self.asked: dict[PeerName, ReplyStatus] = {}
        self.asked_in_stage: dict[PeerName, Stage] = {}
        self.waiting_for = 0  # direct queries without a reply
        self.answers: list[Answer] = []
        self.found: set[Item] = set()  # items that count, of all answers
        self._found_by: dict[PeerName, set[Item]] = {}  # the same, by provider
        self.credited: set[PeerName] = set()  # providers whose answers counted for the buddy list
        self.trust: dict[PeerName, Trust] = {}  # of providers that the user has not named
        self.probed: set[PeerName] = set()  # providers of which a check was begun
        self.probes_ended: set[PeerName] = set()  # those that have an outcome
        self.rejected: set[PeerName] = set()  # providers that failed the check
        self.tried_providers: set[PeerName] = set()  # from which the item was to be fetched
        self.fetch_number: int | None = None  # of the fetch under way
        self.provider: PeerName | None = None
        self.found_in_stage: Stage | None = None
        self.walkers: set[int] = set()  # numbers of those not known to have ended
        self.visited: set[PeerName] = set()  # neighbours that were sent a walker of one step
        self.issued = self.received = self.fetches = 0
        self.referrals_asked = 0  # peers that responses named, and that were asked
        self.dropped = self.dropped_hits = self.rate_limited = 0

    @property
    def is_probing(self) -> bool:
        """Whether answers are being checked."""
        return len(self.probed) > len(self.probes_ended)

    @property
    def has_enough(self) -> bool:
        """Whether enough different items were found."""
        return len(self.found) >= self.sufficient_hits

    def add(self, answer: Answer, found: Iterable[Item]) -> None:
        """Records an answer; `found` are the items of it that count."""
        self.answers.append(answer)
        self._count(answer.provider.name, found)

    def _count(self, provider: PeerName, found: Iterable[Item]) -> None:
        items = self._found_by.setdefault(provider, set())
        items.update(found)
        self.found |= items

    def answers_of(self, provider: PeerName) -> list[Answer]:
        """The answers of a provider from which the sample for its check is drawn, or was."""
        return [each for each in self.answers if each.provider.name == provider and each.trust is not Trust.CLAIMED]

    def repeats(self, answer: Answer) -> bool:
        """Whether an answer has nothing that its provider did not say in one answer before."""
        return any(
            set(answer.hits) <= set(each.hits) and _terms(answer) == _terms(each)
            for each in self.answers_of(answer.provider.name)
        )

    def confirm(self, provider: PeerName, may_store: Callable[[Item], bool]) -> None:
        """A provider has passed the check by sample and trap (see `probes`): the hits from which the sample was drawn
        count."""
        if self.trust.get(provider) is Trust.CLAIMED:
            self.trust[provider] = Trust.CONFIRMED
            items = (hit.item for answer in self.answers_of(provider) for hit in answer.hits)
            self._count(provider, filter(may_store, items))

    def reject(self, provider: PeerName) -> None:
        """A provider lacks its sample, delivered another page, or had hits for a trap: its hits are dropped."""
        self.rejected.add(provider)
        self.dropped += sum(answer.provider.name == provider for answer in self.answers)
        self.answers = [answer for answer in self.answers if answer.provider.name != provider]
        if self._found_by.pop(provider, None):
            self.found = set[Item]().union(*self._found_by.values())

    def ask(self, name: PeerName) -> None:
        self.asked[name] = ReplyStatus.WAITING
        self.asked_in_stage[name] = self.stage
        self.waiting_for += 1
        self.issued += 1

    def record_reply(self, name: PeerName, reply: ReplyStatus) -> bool:
        """Records the reply to a direct query; False if none was awaited."""
        if self.asked.get(name) is not ReplyStatus.WAITING:
            return False
        self.asked[name] = reply
        self.waiting_for -= 1
        return True

    def awaits(self, name: PeerName, walker: int) -> bool:
        """Whether an answer of a peer, for a walker or to a direct query, is awaited."""
        return walker in self.walkers if walker != DIRECT else self.asked.get(name) is ReplyStatus.WAITING

    def end_walker(self, walker: int) -> bool:
        """Records that a walker has ended with the peer that answered; False if it was not known to be out."""
        if walker not in self.walkers:
            return False
        self.walkers.discard(walker)
        return True

    def next_to_try(self) -> Answer | None:
        """The first answer from whose provider the item was not to be fetched yet."""
        for answer in self.answers:
            if answer.hits and answer.provider.name not in self.tried_providers:
                return answer
        return None

    def _trust_of(self, answer: Answer) -> Trust:
        return answer.trust if answer.trust is Trust.CLAIMED else self.trust.get(answer.provider.name, answer.trust)

    def snapshot(self) -> Answers:
        return Answers(
            id=self.id,
            target=self.target,
            stage=self.stage,
            answers=tuple(replace(each, trust=self._trust_of(each)) for each in self.answers),
            provider=self.provider,
            found_in_stage=self.found_in_stage,
            issued=self.issued,
            received=self.received,
            asked=dict(self.asked),
            walkers_still_out=len(self.walkers),
            fetches=self.fetches,
            dropped=self.dropped,
            dropped_hits=self.dropped_hits,
            rate_limited=self.rate_limited,
        )


def _terms(answer: Answer) -> tuple[str, ...]:
    """The words that the frequencies of its hits are of."""
    return answer.statistics.terms if answer.statistics is not None else ()
