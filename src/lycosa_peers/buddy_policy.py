"""How a node learns whom to ask: credit for answers, demotion for failures, and indexes of long-term buddies.

A checkpoint is a moment, at regular intervals, at which a node requests the indexes that it wants to hold; nothing is
saved then.
"""

from .messages import Envelope, Index, IndexRequest, PeerName
from .search import Answer, Failure
from .state import NodeState


class BuddyPolicy:
    """Keeps the buddy list and the held indexes up to date (BuddyNet, sections 5.3.2 to 5.3.4)."""

    def __init__(self, state: NodeState):
        self._state = state
        self.next_checkpoint = float("inf")  # the time of it

    # ------------------------------------------------------------ credit

    def credit(self, answer: Answer) -> None:
        """Counts a good answer for its provider, or for the peer that named it (`via`), as the options choose."""
        state = self._state
        if not state.options.keeps_buddies:
            return
        contact = answer.provider
        if state.options.credit == "responder" and answer.via not in (state.name, contact.name):
            contact = state.contact(answer.via)
        if contact.name != state.name:
            self._drop_index(state.buddies.answered(contact))

    def demote(self, name: PeerName) -> None:
        """Lowers the count of a buddy by 1, if the node adapts."""
        state = self._state
        if state.options.adapts and name in state.buddies:
            state.counts["demoted"] += 1
            if state.buddies.failed(name):
                self._drop_index(name)

    def provider_failed(
        self, provider: PeerName, reason: Failure, now: float, via: PeerName | None = None
    ) -> list[Envelope]:
        """Handles a provider that did not deliver what it claimed, or what the peer `via` claimed of it: it is demoted,
        unless it merely lacks the item, and its held index is refreshed if that was wrong."""
        state = self._state
        state.counts[f"failed_{reason}"] += 1
        if reason is Failure.WRONG:
            state.penalise(provider, "wrong", now)
        was_untrue = reason in (Failure.WRONG, Failure.LACKS)
        if was_untrue and via is not None and via not in (provider, state.name):
            state.penalise(via, "misled", now, demerits=0.5)
        if reason is not Failure.LACKS:
            self.demote(provider)
        return self._request_indexes(state.held.refresh(provider)) if was_untrue else []

    def _drop_index(self, name: PeerName | None) -> None:
        if name is not None and self._state.options.indexes == "buddies":
            self._state.held.drop(name)

    # ------------------------------------------------------------ indexes

    def schedule(self, now: float) -> None:
        """Sets the next checkpoint; checkpoints are at the multiples of their interval."""
        interval = self._state.options.checkpoint
        self.next_checkpoint = (now // interval + 1) * interval

    def checkpoint(self) -> list[Envelope]:
        """Requests the indexes wanted at this checkpoint, or the changes of those held."""
        self._state.counts["checkpoints"] += 1
        return self._request_indexes(self._state.held.checkpoint(self._state.index_owners()))

    def receive_index(self, sender: PeerName, index: Index, now: float) -> None:
        """Stores a requested index; penalises the sender of any other."""
        state = self._state
        if len(index.packed) > state.options.max_index_bytes:
            state.penalise(sender, "index_oversized", now)
            return
        try:
            was_requested = state.held.store(sender, index, state.content.unpack, state.content.update)
        except ValueError:
            state.held.request_failed(sender)
            state.penalise(sender, "index_malformed", now)
            return
        if not was_requested:
            state.penalise(sender, "unasked", now, demerits=0.5)
        else:
            state.counts["indexes_taken" if index.since is None else "index_changes_taken"] += 1

    def _request_indexes(self, due: list[tuple[PeerName, int | None]]) -> list[Envelope]:
        self._state.counts["index_requests"] += len(due)
        return [self._state.envelope(name, IndexRequest(since)) for name, since in due]
