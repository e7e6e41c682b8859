"""How a node learns whom to ask: counts that rise and fall, and indexes of those that stay."""

from .messages import Contact, Index, PeerName, Send
from .search import Answer, Failure
from .state import Parts


class Learning(Parts):
    """Keeps the buddy list and the indexes that go with it (BuddyNet, sections 5.3.2 to 5.3.4)."""

    def fetched(self, provider: Contact, now: float) -> None:
        """What it gave was good."""
        self.manners.behaved(provider.name, now)

    def failed(self, provider: PeerName, why: Failure, now: float, via: PeerName | None = None) -> list[Send]:
        """A provider did not give what it, or `via`, said it had: it loses count unless it merely lacks it, and an
        index that is held of it is looked at again."""
        self.counts[f"failed_{why}"] += 1
        if why is Failure.WRONG:
            self.misbehaved(provider, "wrong", now)
        untrue = why in (Failure.WRONG, Failure.LACKS)
        if untrue and via is not None and via not in (provider, self.name):
            self.misbehaved(via, "misled", now, by=0.5)
        if why is not Failure.LACKS:
            self._demote(provider)
        return self._ask_for_indexes(self.held.refresh(provider)) if untrue else []

    def checkpoint(self) -> list[Send]:
        """Asks those for their index that were and are worth it."""
        self.counts["checkpoints"] += 1
        return self._ask_for_indexes(self.held.checkpoint(self.index_owners()))

    def _demote(self, name: PeerName) -> None:
        if self.options.adapts and name in self.buddies:
            self.counts["demoted"] += 1
            if self.buddies.failed(name):
                self._let_go(name)

    def _let_go(self, name: PeerName | None) -> None:
        if name is not None and self.options.indexes == "buddies":
            self.held.drop(name)

    def _credit(self, answer: Answer) -> None:
        if not self.options.keeps_buddies:
            return
        contact = answer.provider
        if self.options.credit == "responder" and answer.via != self.name:
            contact = self._contact(answer.via) if answer.via != contact.name else contact
        if contact.name != self.name:
            self._let_go(self.buddies.answered(contact))

    def _index(self, sender: PeerName, index: Index, now: float) -> None:
        if len(index.packed) > self.options.most_index_bytes:
            self.misbehaved(sender, "index_oversized", now)
            return
        try:
            taken = self.held.take(sender, index, self.content.unpack, self.content.update)
        except ValueError:
            self.held.not_coming(sender)
            self.misbehaved(sender, "index_malformed", now)
            return
        if not taken:
            self.misbehaved(sender, "unasked", now, by=0.5)
        else:
            self.counts["indexes_taken" if index.since is None else "index_changes_taken"] += 1
