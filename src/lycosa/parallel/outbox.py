"""The frontier of a worker, which sends the URLs of other shards to the workers that own them."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from lycosa.collection.outbox import Outbox, OutboxRow
from lycosa.frontier.wrapper import FrontierWrapper
from lycosa.vocabulary.contracts import Frontier
from lycosa.vocabulary.key_table import KeyTable
from lycosa.vocabulary.records import Candidate, Skip, Url
from lycosa.vocabulary.urls import host_of, key_of, site_of

from .messages import packed

_MAX_BATCH = 500  # URLs sent at once
_PRIORITY_STEPS = 20  # from 0 to 1: a URL that was sent is sent again if its priority rises by a step


def owner_by_domain(shards: int, hash_seed: int) -> Callable[[Url], int]:
    """The shard that owns a URL: by the hash of its registered domain, with a seed that no site knows."""

    @lru_cache(maxsize=10_000)
    def owner_of_host(host: str) -> int:
        return key_of(site_of(host), hash_seed) % shards

    return lambda url: owner_of_host(host_of(url))


class UrlBatch(NamedTuple):
    """URLs to be sent to a shard."""

    receiver: int
    last: int  # number of the last of them in the outbox
    candidates: bytes  # packed


class ShardFrontier(FrontierWrapper):
    """A frontier of the URLs of one shard; others go to the outbox.

    They stay in the outbox until the shard that owns them has saved them.

    owner_of: the shard that owns a URL.
    number: of this shard.
    """

    def __init__(self, frontier: Frontier, outbox: Outbox, *, owner_of: Callable[[Url], int], number: int):
        super().__init__(frontier)
        self._outbox = outbox
        self._owner_of = owner_of
        self.number = number
        self._encode = msgspec.json.Encoder().encode
        self._sent = KeyTable()  # by the hash of a URL: the step of the highest priority at which it was sent, from 1
        self._last = outbox.last_number
        self._to_send: dict[int, list[tuple[int, bytes]]] = {}  # number and JSON of the candidates, by shard
        for row in outbox.rows():
            self._to_send.setdefault(row.shard, []).append((row.number, row.candidate))

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        own: list[Candidate] = []
        rows: list[OutboxRow] = []
        for candidate in candidates:
            owner = self._owner_of(candidate.url)
            if owner == self.number:
                own.append(candidate)
            elif self._is_news(candidate):
                self._last += 1
                encoded = self._encode(candidate)
                rows.append(OutboxRow(self._last, owner, candidate.url, encoded))
                self._to_send.setdefault(owner, []).append((self._last, encoded))
        if rows:
            self._outbox.add(rows)
        return self._frontier.put(own)

    def _is_news(self, candidate: Candidate) -> bool:
        """Whether a URL was not sent yet, or only at a lower priority."""
        key = hash(candidate.url)
        step = 1 + min(max(int(candidate.priority * _PRIORITY_STEPS), 0), _PRIORITY_STEPS)
        if step <= self._sent[key]:
            return False
        self._sent[key] = step
        return True

    def is_known(self, url: Url) -> bool:
        return hash(url) in self._sent or self._frontier.is_known(url)

    def batches(self) -> Iterator[UrlBatch]:
        """What is to be sent; each URL is returned once."""
        to_send, self._to_send = self._to_send, {}
        for receiver, numbered in to_send.items():
            for start in range(0, len(numbered), _MAX_BATCH):
                batch = numbered[start : start + _MAX_BATCH]
                yield UrlBatch(receiver, batch[-1][0], packed([encoded for _, encoded in batch]))

    def arrived(self, receiver: int, last: int) -> None:
        """Removes what a shard has saved, up to a number."""
        self._outbox.confirm(receiver, last)
