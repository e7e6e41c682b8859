"""An access log in columns, as strategies use it."""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self, overload

import numpy as np
import xxhash

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import is_node

Int32Array = np.ndarray[tuple[int], np.dtype[np.int32]]  # of users, URLs or positions in a walk
Int64Array = np.ndarray[tuple[int], np.dtype[np.int64]]  # offsets, milliseconds, keys
FloatArray = np.ndarray[tuple[int], np.dtype[np.float64]]
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

SECONDS_PER_DAY = 86_400.0


class UrlColumn(Sequence[Url]):
    """Distinct URLs by their numbers 0..n-1, and their numbers by their text.

    They are one text with the offsets where each ends, so that no Python object is made before a URL is asked for.
    """

    def __init__(self, text: bytes, ends: Int64Array):
        self.text = text
        self.ends = ends

    @classmethod
    def of(cls, urls: Iterable[str]) -> "UrlColumn":
        parts = [url.encode("utf-8", "surrogatepass") for url in urls]
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), dtype=np.int64)
        return cls(b"".join(parts), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> Url: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Url]: ...
    def __getitem__(self, index: int | slice) -> Url | Sequence[Url]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return Url(self._bytes_at(index % len(self)).decode("utf-8", "surrogatepass"))

    def take(self, ids: "np.ndarray[Any, np.dtype[Any]]") -> "UrlColumn":
        """The URLs with the given numbers, in the given order."""
        parts = [self._bytes_at(each) for each in ids.tolist()]
        lengths = np.diff(self.ends, prepend=np.int64(0))[ids]
        return UrlColumn(b"".join(parts), np.cumsum(lengths, dtype=np.int64))

    def id_of(self, url: str) -> int | None:
        """The number of a URL, or None if it is not among them."""
        sought = url.encode("utf-8", "surrogatepass")
        keys, ids = self._index
        key = np.uint64(xxhash.xxh3_64_intdigest(sought))
        index = int(keys.searchsorted(key))
        while index < len(keys) and keys[index] == key:
            found = int(ids[index])
            if self._bytes_at(found) == sought:
                return found
            index += 1
        return None

    def _bytes_at(self, index: int) -> bytes:
        start = int(self.ends[index - 1]) if index else 0
        return self.text[start : int(self.ends[index])]

    @cached_property
    def _index(self) -> tuple["np.ndarray[Any, np.dtype[np.uint64]]", "np.ndarray[Any, np.dtype[np.int64]]"]:
        """Sorted hashes and the numbers of their URLs: a dictionary would take ten times the memory."""
        digest, text, start = xxhash.xxh3_64_intdigest, self.text, 0
        keys = np.empty(len(self), np.uint64)
        for number, end in enumerate(self.ends.tolist()):
            keys[number] = digest(text[start:end])
            start = end
        order = np.argsort(keys, kind="stable")
        return keys[order], order


class AccessLog:
    """Who read what, when. Users and URLs are numbers from 0; of a user nothing else is known.

    Each user's accesses, in order of time, are a *walk*. Every access has a weight, 1 unless old ones count
    less (`decayed`). A log is immutable; a selection is a new one, in which users and URLs have new numbers.

    >>> access_log = AccessLog.of([("ann", Url("http://a.org/"), 1.0), ("bob", Url("http://a.org/"), 2.0)])
    >>> access_log.users, access_log.users_of(0).tolist()
    (2, [0, 1])
    """

    def __init__(
        self,
        urls: UrlColumn,
        starts: Int64Array,
        walks: Int32Array,
        times: FloatArray,
        weights: FloatArray | None = None,
    ):
        self._urls = urls
        self._starts = starts  # where each user's walk begins, and where the last one ends
        self._walks = walks  # the URLs of all walks, one walk after the other
        self._times = times
        self._weights = weights  # None: all ones

    @classmethod
    def of(cls, accesses: Iterable[tuple[Hashable, Url, float]]) -> Self:
        """From (user, URL, seconds since the epoch) in any order; equal times keep their order."""
        users: dict[Hashable, int] = {}
        urls: dict[Url, int] = {}
        rows = [(users.setdefault(user, len(users)), urls.setdefault(url, len(urls)), at) for user, url, at in accesses]
        user_ids, url_ids, times = zip(*rows, strict=True) if rows else ((), (), ())
        return cls.of_columns(
            UrlColumn.of(urls),
            len(users),
            np.array(user_ids, np.int32),
            np.array(url_ids, np.int32),
            np.array(times, float),
        )

    @classmethod
    def of_columns(
        cls, urls: UrlColumn, users: int, user_ids: Int32Array, url_ids: Int32Array, times: FloatArray
    ) -> Self:
        """From one row for each access, in any order: the numbers of its user and its URL, and its time.

        users: how many there are.
        """
        if not np.isfinite(times).all():
            raise ValueError("a time is not finite")
        is_by_time = bool((np.diff(times) >= 0).all())
        order = np.argsort(user_ids, kind="stable") if is_by_time else np.lexsort((times, user_ids))
        return cls(urls, _starts_of(user_ids, users), url_ids[order].astype(np.int32, copy=False), times[order])

    @property
    def urls(self) -> Sequence[Url]:
        """Every URL at its number."""
        return self._urls

    @property
    def users(self) -> int:
        """The number of users."""
        return len(self._starts) - 1

    @property
    def access_count(self) -> int:
        """The number of accesses."""
        return len(self._walks)

    @property
    def last_access_at(self) -> float | None:
        """The time of the last access, in seconds since the epoch; None for an empty log."""
        return float(self._times.max()) if self.access_count else None

    @property
    def is_decayed(self) -> bool:
        """Whether accesses differ in weight."""
        return self._weights is not None

    @cached_property
    def digest(self) -> str:
        """A digest of all columns."""
        digest = hashlib.blake2b(digest_size=16)
        for column in (self._urls.ends, self._starts, self._walks, self._times, self._weights):
            if column is not None:
                digest.update(np.ascontiguousarray(column).data)
        digest.update(self._urls.text)
        return digest.hexdigest()

    def id_of(self, url: str) -> int | None:
        """The number of a URL, or None if no user read it; integers, as nodes of graphs have, are never in a log."""
        return None if is_node(url) else self._urls.id_of(url)

    def positions_of(self, url_id: int) -> tuple[Int32Array, Int32Array]:
        """The users who read a URL, and its positions in their walks; both once for each access."""
        order, starts = self._by_url
        rows = order[starts[url_id] : starts[url_id + 1]]
        users = self.user_ids[rows]
        return users, (rows - self._starts[users]).astype(np.int32)

    def users_of(self, url_id: int) -> Int32Array:
        """The distinct users who read a URL, in order."""
        starts, users, _ = self._users_by_url
        return users[starts[url_id] : starts[url_id + 1]]

    def user_weights(self, url_id: int) -> FloatArray:
        """For each of `users_of`, the weight of their latest access."""
        starts, _, weights = self._users_by_url
        return weights[starts[url_id] : starts[url_id + 1]]

    def urls_of(self, user: int) -> Int32Array:
        """The distinct URLs that a user read, in order of their numbers."""
        starts, urls, _ = self._urls_by_user
        return urls[starts[user] : starts[user + 1]]

    def url_weights(self, user: int) -> FloatArray:
        """For each of `urls_of`, the weight of its latest access."""
        starts, _, weights = self._urls_by_user
        return weights[starts[user] : starts[user + 1]]

    @property
    def walk_starts(self) -> Int64Array:
        """Where each user's walk begins in the columns of all walks, and where the last one ends."""
        return self._starts

    @property
    def url_ids(self) -> Int32Array:
        """The numbers of the URLs of all walks, one walk after the other: a row for each access."""
        return self._walks

    @property
    def times(self) -> FloatArray:
        """The time of each row of `url_ids`, in seconds since the epoch."""
        return self._times

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each row of `url_ids`."""
        return self._weights if self._weights is not None else np.ones(self.access_count)

    @cached_property
    def user_ids(self) -> Int32Array:
        """The user of each row of `url_ids`."""
        return np.repeat(np.arange(self.users, dtype=np.int32), np.diff(self._starts))

    @property
    def users_by_url(self) -> tuple[Int64Array, Int32Array]:
        """Where each URL's users begin in the second column; and the column of all `users_of`, by URL."""
        return self._users_by_url[:2]

    @property
    def urls_by_user(self) -> tuple[Int64Array, Int32Array]:
        """Where each user's URLs begin in the second column; and the column of all `urls_of`, by user."""
        return self._urls_by_user[:2]

    @property
    def urls_by_user_weights(self) -> FloatArray:
        """The weight of each row of the second column of `urls_by_user`."""
        return self._urls_by_user[2]

    def with_min_users(self, min_users: int) -> "AccessLog":
        """The log without URLs that fewer users read, and without users who then have no access left."""
        if min_users <= 1:
            return self
        enough = np.diff(self._users_by_url[0]) >= min_users
        return self if enough.all() else self._selected(enough[self._walks])

    def sample(self, share: float, *, seed: int) -> "AccessLog":
        """A share of the users, at least one, chosen at random; with one seed, a larger share contains the smaller."""
        if not 0 < share <= 1:
            raise ValueError(f"a share is above 0 and at most 1, not {share}")
        drawn = np.random.default_rng(seed).permutation(self.users)[: max(1, round(share * self.users))]
        chosen = np.zeros(self.users, np.bool_)
        chosen[drawn] = True
        return self if chosen.all() else self._selected(chosen[self.user_ids])

    def decayed(self, half_life_days: float | None) -> "AccessLog":
        """The same with weight 2^(−age / half-life) for each access, ages counted from the last one; all 1 if None."""
        if half_life_days is not None and not half_life_days > 0:
            raise ValueError(f"a half-life is above 0 days, not {half_life_days}")
        last = self.last_access_at
        weights = None
        if half_life_days is not None and last is not None:
            weights = np.exp2((self._times - last) / (half_life_days * SECONDS_PER_DAY))
        decayed = AccessLog(self._urls, self._starts, self._walks, self._times, weights)
        for cached in ("user_ids", "_by_url"):  # do not depend on weights
            if cached in self.__dict__:
                decayed.__dict__[cached] = self.__dict__[cached]
        return decayed

    def without_unused(self) -> "AccessLog":
        """The log without URLs and users that have no access."""
        are_users_used = (np.diff(self._starts) > 0).all()
        are_urls_used = (np.bincount(self._walks, minlength=len(self._urls)) > 0).all()
        return self if are_users_used and are_urls_used else self._selected(np.ones(self.access_count, np.bool_))

    def _selected(self, kept: Mask) -> "AccessLog":
        """The selected accesses, with the users and URLs that have any."""
        lengths = np.bincount(self.user_ids[kept], minlength=self.users)
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[lengths > 0], dtype=np.int64)))
        ids = np.flatnonzero(np.bincount(self._walks[kept], minlength=len(self._urls)))
        renumbered = np.zeros(len(self._urls), np.int32)
        renumbered[ids] = np.arange(len(ids), dtype=np.int32)
        weights = None if self._weights is None else self._weights[kept]
        return AccessLog(self._urls.take(ids), starts, renumbered[self._walks[kept]], self._times[kept], weights)

    @cached_property
    def _by_url(self) -> tuple[Int64Array, Int64Array]:
        """The rows of all walks in order of their URLs, and where the rows of each URL begin."""
        return np.argsort(self._walks, kind="stable"), _starts_of(self._walks, len(self._urls))

    @cached_property
    def _users_by_url(self) -> tuple[Int64Array, Int32Array, FloatArray]:
        order, _ = self._by_url
        urls, users = self._walks[order], self.user_ids[order]
        is_latest = np.ones(len(order), np.bool_)  # of a user's accesses to a URL
        is_latest[:-1] = (urls[1:] != urls[:-1]) | (users[1:] != users[:-1])
        return _starts_of(urls[is_latest], len(self._urls)), users[is_latest], self.weights[order[is_latest]]

    @cached_property
    def _urls_by_user(self) -> tuple[Int64Array, Int32Array, FloatArray]:
        starts, users, weights = self._users_by_url
        urls = np.repeat(np.arange(len(self._urls), dtype=np.int32), np.diff(starts))
        order = np.argsort(users, kind="stable")
        return _starts_of(users, self.users), urls[order], weights[order]


def _starts_of(numbers: "np.ndarray[Any, np.dtype[Any]]", count: int) -> Int64Array:
    """Where the rows of each number from 0 to `count` - 1 begin once the rows are sorted, and where the last end."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=count), out=starts[1:])
    return starts
