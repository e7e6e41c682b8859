"""Checks the claims of peers: hits of strangers do not count until they are checked.

Keys and claims are free, so a hit of an untrusted peer counts only after two checks: a random page of its answer was
fetched and is as claimed, and the peer found nothing for an unanswerable query: unrelated words of the asker's own
pages and a word that does not exist. That query looks like another walker, and whoever has hits for it makes them up.
A peer that passes in several searches becomes a buddy. Answers of trusted peers count at once; one in
`TRUSTED_CHECKED_ONE_IN` of them is checked in the same way.
"""

from collections import OrderedDict

from msgspec import Struct
from msgspec.structs import replace

from .buddy_policy import BuddyPolicy
from .fetches import Fetches, Nonces
from .forwarding import Forwarding
from .messages import Envelope, PeerHit, PeerName, Query, Response
from .search import Answer, Failure, Search, Trust
from .searches import Searches
from .state import NodeState

PROBE_SECONDS = 5.0  # timeout for the page of a provider
TRUSTED_CHECKED_ONE_IN = 8  # answers of trusted peers, of which one is checked
MAX_PENDING = 256  # traps without an answer; samples are limited as all fetches are
MAX_CONFIRMED = 4096  # peers whose confirmations are counted
_TRAP_MAX_HITS = 3  # hits that a trap asks for


class Probe:
    """An answer that is being checked, by the page of one of its hits (the sample) and by a trap."""

    def __init__(self, search_id: int, answer: Answer, hit: PeerHit):
        self.search_id = search_id
        self.answer = answer
        self.hit = hit
        self.sample_is_true = False
        self.trap_is_passed = False

    @property
    def peer(self) -> PeerName:
        return self.answer.provider.name


class Trap(Struct, frozen=True):
    """An unanswerable query: a peer that has hits for it makes them up."""

    words: str
    probe: Probe


class Probes:
    """Checks answers by a sample page and by a trap; those that pass both count, and credit their provider."""

    def __init__(
        self,
        state: NodeState,
        searches: Searches,
        fetches: Fetches,
        forwarding: Forwarding,
        policy: BuddyPolicy,
        nonces: Nonces,
    ):
        self._state = state
        self._searches = searches
        self._fetches = fetches
        self._forwarding = forwarding
        self._policy = policy
        self._nonces = nonces
        self._samples: dict[int, Probe] = {}  # by number of the fetch
        self._traps: OrderedDict[int, Trap] = OrderedDict()  # by number of the query
        self._confirmed: OrderedDict[PeerName, int] = OrderedDict()  # number of searches in which each was confirmed

    def is_sample_fetch(self, fetch_number: int) -> bool:
        return fetch_number in self._samples

    def is_trap_query(self, query_id: int) -> bool:
        """Whether it is the query of a trap that has not ended."""
        return query_id in self._traps

    def check(self, search: Search, answer: Answer, now: float) -> list[Envelope]:
        """Adds an answer to its search. Its hits count at once if the provider is trusted, or was confirmed in this
        search; otherwise the provider is claimed to have them, and a check begins."""
        state, peer = self._state, answer.provider.name
        useful = [hit for hit in answer.hits if state.content.may_store(hit.item)]
        is_trusted = not state.options.max_probes or state.is_trusted(peer)
        if is_trusted:
            search.add(answer, (hit.item for hit in useful))
            if state.options.max_probes and peer not in state.named_by_user:
                search.trust[peer] = Trust.BUDDY
            if useful:
                self._credit(search, answer)
            if not state.options.max_probes or self._nonces.next(size=1) % TRUSTED_CHECKED_ONE_IN:
                return []
        elif peer in search.probed and not search.repeats(answer):
            # The sample was not drawn from these hits: whoever is honest in its first answer could lie in the others.
            search.add(replace(answer, trust=Trust.CLAIMED), ())
            state.counts["claimed_later"] += 1
            return []
        else:
            trust = search.trust.setdefault(peer, Trust.CLAIMED)
            search.add(answer, (hit.item for hit in useful) if trust is Trust.CONFIRMED else ())
        if not useful or peer in search.probed or len(search.probed) >= state.options.max_probes:
            return []
        samples = [
            (each, hit) for each in search.answers_of(peer) for hit in each.hits if state.content.may_store(hit.item)
        ]
        return self._begin(search, Probe(search.id, *samples[self._nonces.next(size=2) % len(samples)]), now)

    def _begin(self, search: Search, probe: Probe, now: float) -> list[Envelope]:
        """Sends the trap, and requests the sample; nothing if the provider is sent as many queries as it accepts."""
        provider, words = probe.answer.provider, self._state.content.unanswerable_query(self._nonces.next())
        trap: list[Envelope] = []
        if words is None:
            probe.trap_is_passed = True
        else:
            ttl = self._state.options.ttl if self._state.is_reachable else 1  # otherwise, only neighbours could answer
            query = Query(
                self._nonces.next(),
                words,
                self._state.own_contact,
                ttl,
                self._nonces.next_walker(),
                max_hits=_TRAP_MAX_HITS,
            )
            trap = self._forwarding.take_allowed([Envelope(provider.name, query, provider.address)], now)
            if not trap:
                return []
            self._traps[query.id] = Trap(words, probe)
        search.probed.add(probe.peer)
        self._state.counts["probes"] += 1
        fetch_number, outgoing = self._fetches.start(provider, probe.hit.item, now, wait=PROBE_SECONDS)
        self._samples[fetch_number] = probe
        outgoing += trap
        while len(self._traps) > MAX_PENDING:
            _, oldest = self._traps.popitem(last=False)  # without a conclusion, as if its answer was lost
            outgoing += self._end(oldest.probe, now)
        return outgoing

    # ------------------------------------------------------------ results

    def sample_fetched(self, fetch_number: int, body: bytes, now: float) -> list[Envelope]:
        """Handles the page of a probe."""
        probe = self._samples.pop(fetch_number)
        search = self._searches.get(probe.search_id)
        if search is None:
            return []
        if not self._state.content.body_matches_hit(search.target, probe.hit, probe.answer.statistics, body):
            return self._end(probe, now, offence="spam", demerits=2.0)
        probe.sample_is_true = True
        return self._end(probe, now) if probe.trap_is_passed else []

    def sample_failed(self, fetch_number: int, reason: Failure, now: float) -> list[Envelope]:
        """Handles a probe whose page was not delivered. If the provider is down or busy, nothing is concluded."""
        probe = self._samples.pop(fetch_number)
        demerits = {Failure.WRONG: 2.0, Failure.LACKS: 1.0}.get(reason, 0.0)
        return self._end(probe, now, offence="spam" if demerits else "", demerits=demerits)

    def trap_answered(self, sender: PeerName, response: Response, now: float) -> list[Envelope]:
        """Handles an answer to a trap, from whichever peer the walker reached. A peer that got a different query from
        those who forwarded it is not blamed."""
        state, trap = self._state, self._traps[response.query]
        probe, demerits = trap.probe, 0.75 * self._state.options.ban_threshold
        is_made_up = any(state.content.is_plausible_hit(trap.words, hit, response.statistics) for hit in response.hits)
        if is_made_up:
            state.buddies.drop(sender)
            state.held.drop(sender)
            if sender == probe.peer:
                del self._traps[response.query]
                return self._end(probe, now, offence="made_up", demerits=demerits)
            state.penalise(sender, "made_up", now, demerits=demerits)
        return self.trap_ended(response.query, now)

    def trap_ended(self, query_id: int, now: float) -> list[Envelope]:
        """Handles a trap for which the checked peer made up no hits: its walker ended, or the answer was another."""
        probe = self._traps.pop(query_id).probe
        probe.trap_is_passed = True
        return self._end(probe, now) if probe.sample_is_true else []

    def _end(self, probe: Probe, now: float, *, offence: str = "", demerits: float = 0.0) -> list[Envelope]:
        """Ends a probe: the provider is confirmed, excluded from the search, or neither."""
        search = self._searches.get(probe.search_id)
        if offence:
            self._state.penalise(probe.peer, offence, now, demerits=demerits)
            self._policy.demote(probe.peer)
        if search is None:
            return []
        if offence:
            search.reject(probe.peer)
        elif probe.sample_is_true and probe.trap_is_passed:
            self._state.counts["confirmed"] += 1
            search.confirm(probe.peer, self._state.content.may_store)
            if self._count_confirmation(probe.peer) >= self._state.options.probation:
                self._credit(search, probe.answer)
        search.probes_ended.add(probe.peer)
        return self._searches.advance(search, now)

    def _count_confirmation(self, peer: PeerName) -> int:
        """Counts a search in which a peer was confirmed; returns the number of all such searches."""
        confirmations = self._confirmed[peer] = self._confirmed.pop(peer, 0) + 1
        while len(self._confirmed) > MAX_CONFIRMED:
            self._confirmed.popitem(last=False)
        return confirmations

    def _credit(self, search: Search, answer: Answer) -> None:
        if len(search.credited) < self._state.options.max_credited and answer.provider.name not in search.credited:
            search.credited.add(answer.provider.name)
            self._policy.credit(answer)
