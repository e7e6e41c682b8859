"""Churn: sessions of peers, with lengths and uptimes as measured in Gnutella."""

import math

import numpy as np
from numpy.typing import NDArray

from lycosa_lab.worlds.peer_networks import Floats, Generator, Ints, Trace

from .records import DOWN, UP

Bools = NDArray[np.bool_]

BEST = 0.2  # of the peers
BEST_UPTIME = 0.45  # are up for this share of the time, or more
SESSION = 3_600.0  # seconds, the median
SESSION_SPREAD = 1.0  # of its logarithm
BEFORE, AFTER = 300.0, 1_800.0  # seconds around a query for which its asker is up
LEAST_UPTIME = 0.01


def uptimes(peers: int, rng: Generator) -> Floats:
    """The share u of the time for which each peer is up: 1 - u has a power law, so that the best fifth has u ≥ .45.

    Saroiu, Gummadi, Gribble: A measurement study of peer-to-peer file sharing systems (MMCN 2002).
    """
    power = math.log(BEST) / math.log(1.0 - BEST_UPTIME)
    shares: Floats = np.maximum(LEAST_UPTIME, 1.0 - (1.0 - rng.random(peers)) ** (1.0 / power))
    return shares


def churn_events(
    shares: Floats, trace: Trace, *, until: float, rng: Generator
) -> tuple[Bools, tuple[Floats, Ints, Ints]]:
    """Which peers are up at first, and then every change in the order of time: time, UP or DOWN, peer.

    Sessions have log-normal lengths, the time between them is exponential, with a mean that gives each peer its share.
    An asker is up from `BEFORE` until `AFTER` its query.
    """
    peers = len(shares)
    begins, ends, owners = _sessions(shares, until, rng)
    begins = np.concatenate([begins, trace.times - BEFORE])
    ends = np.concatenate([ends, trace.times + AFTER])
    owners = np.concatenate([owners, trace.consumers])
    begins, ends, owners = _merged(begins, ends, owners)
    is_up: Bools = np.zeros(peers, np.bool_)
    is_up[owners[begins <= 0.0]] = True
    later = begins > 0.0
    times = np.concatenate([begins[later], ends])
    kinds = np.concatenate([np.full(int(later.sum()), UP), np.full(len(ends), DOWN)])
    who = np.concatenate([owners[later], owners])
    order = np.lexsort((who, times))
    order = order[times[order] <= until]
    return is_up, (times[order], kinds[order], who[order])


def _sessions(shares: Floats, until: float, rng: Generator) -> tuple[Floats, Floats, Ints]:
    """Sessions of all peers that overlap the time from 0 on; each peer is up at 0 with the probability of its share."""
    mean = SESSION * math.exp(SESSION_SPREAD**2 / 2)
    peers = np.arange(len(shares))
    gap = mean * (1.0 - shares) / shares
    is_first_up = rng.random(len(peers)) < shares
    clock = np.where(is_first_up, -rng.random(len(peers)) * mean, rng.exponential(gap))
    parts: list[tuple[Floats, Floats, Ints]] = []
    while len(peers):
        lengths = SESSION * np.exp(SESSION_SPREAD * rng.standard_normal(len(peers)))
        end = clock + lengths
        parts.append((clock, end, peers))
        clock = end + rng.exponential(gap)
        goes_on = clock < until
        peers, clock, gap = peers[goes_on], clock[goes_on], gap[goes_on]
    begins, ends, owners = (np.concatenate(column) for column in zip(*parts, strict=True))
    touches = (ends > 0.0) & (begins < until)
    return begins[touches], ends[touches], owners[touches]


def _merged(begins: Floats, ends: Floats, owners: Ints) -> tuple[Floats, Floats, Ints]:
    """The same times as intervals that do not overlap."""
    order = np.lexsort((begins, owners))
    begins, ends, owners = begins[order], ends[order], owners[order]
    apart = 1e9  # offset between the intervals of two peers, on one axis
    reach = np.maximum.accumulate(ends + owners * apart) - owners * apart
    is_first = np.ones(len(owners), np.bool_)
    is_first[1:] = (owners[1:] != owners[:-1]) | (begins[1:] > reach[:-1])
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(owners)) - 1
    return begins[firsts], reach[lasts], owners[firsts]
