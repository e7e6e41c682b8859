"""How fast do peers answer, how much do they take, and how large is what buddies hold of them?

python benchmarks/peer_serving.py [--pages 10000] [--peers 10] [--own 200] [--queries 500] [--seconds 10] [--idle 20]

One peer with `--pages` pages of made-up words is asked by four others at once for `--seconds`, each as often as a peer
may; `--peers` peers of `--own` pages each, all processes of their own on loopback, search each other's pages; then
nobody does anything for `--idle` seconds. Answers by buddies are timed until the first hit is there.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lycosa.reading import Reader
from lycosa.run.open import open_collection
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa.vocabulary.text import codes_of
from lycosa_peers.addresses import Endpoint, parse_endpoint
from lycosa_peers.channel import Channel
from lycosa_peers.control import PeerRequest, ask_running_peer
from lycosa_peers.identity import Identity
from lycosa_peers.messages import Contact, Declined, Query, Response, decode, encode
from lycosa_peers.options import DEFAULTS
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.summary import Segment, SegmentedSummary, byte_budget
from lycosa_peers.wire import Wire

LYCOSA = (sys.executable, "-c", "from lycosa.cli import main; main()")
ASKERS, IN_FLIGHT = 4, 8
PACE = 1 / (0.9 * DEFAULTS.capacity_per_peer)  # seconds between two questions of one asker: who is faster is shunned


class Words:
    """Words as they are spread in texts: the most frequent everywhere, most of them rare."""

    def __init__(self, count: int, chance: random.Random, mark: str = ""):
        self._chance = chance
        self._words = [f"{chance.choice('bcdfgklmnprst')}{number:x}o{mark}" for number in range(count)]
        self._sums = np.cumsum(1 / np.arange(1, count + 1)).tolist()

    def draw(self, count: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._sums, k=count)


def make_collection(folder: Path, name: str, pages: int, words: Words, chance: random.Random) -> list[list[str]]:
    """A collection as a crawl would leave it; returns the words of its pages."""
    folder.mkdir()
    (folder / "lycosa.toml").write_text('[topic]\ntext = "anything"\n')
    reader, texts = Reader(), []
    with open_collection(folder, clock=WallClock(), reader=reader, writable=True) as collection:
        for number in range(pages):
            text = words.draw(chance.randint(100, 500))
            texts.append(text)
            url = Url(f"http://{name}.example/{number}")
            html = f"<title>{' '.join(text[:5])}</title><p>{' '.join(text)}</p>".encode()
            fetch = Fetch(url, Outcome.OK, time.time(), 200, "OK", headers=(("content-type", "text/html"),))
            fetch = Fetch(*(getattr(fetch, field) for field in fetch.__struct_fields__[:8]), body=html, content=html)
            page = reader(fetch)
            collection.record(Visit(Candidate(url, 0.0), fetch, page, relevance=0.5))
    return texts


class Served:
    """`lycosa peer serve` in a process of its own."""

    def __init__(self, folder: Path, *joins: Endpoint):
        self.folder = folder
        options = [part for endpoint in joins for part in ("--join", str(endpoint))]
        self.process = subprocess.Popen(
            [*LYCOSA, "peer", "serve", str(folder), "--listen", "127.0.0.1:0", "--allow-private", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.name, _, rest = line.partition("@")
        endpoint = parse_endpoint(rest.split()[0])
        assert endpoint is not None
        self.endpoint = endpoint

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Asker:
    """Asks one peer as fast as it answers, a few questions at a time and no faster than a peer may."""

    def __init__(self, queries: Sequence[str], chance: random.Random):
        self.identity = Identity.new()
        self.answered = self.declined = 0
        self.times: list[float] = []
        self._queries, self._chance = queries, chance
        self._asked: dict[int, float] = {}
        self._next_at = 0.0
        self._channel: Channel | None = None
        self.wire = Wire(self.identity.context(), self, own_name=self.identity.name, allow_private=True)

    async def run(self, endpoint: Endpoint, until: float) -> None:
        self._channel = await self.wire.connect(endpoint)
        for _ in range(IN_FLIGHT):
            self._ask_in_time()
        await asyncio.sleep(until - time.monotonic())
        await self.wire.close()

    def _ask_in_time(self) -> None:
        now = time.monotonic()
        self._next_at = max(now, self._next_at + PACE)
        asyncio.get_running_loop().call_later(self._next_at - now, self._ask)

    def _ask(self) -> None:
        number = self._chance.getrandbits(60)
        self._asked[number] = time.monotonic()
        query = Query(number, self._chance.choice(self._queries), Contact(self.identity.name), max_hits=10)
        if self._channel is not None:
            self._channel.send(encode(query))

    def connected(self, peer: str, channel: Channel) -> None:
        pass

    def disconnected(self, peer: str) -> None:
        pass

    def refuses(self, peer: str) -> bool:
        return False

    def frame_received(self, peer: str, channel: Channel, frame: bytes) -> None:
        message = decode(frame)
        if isinstance(message, Response):
            self.answered += 1
            self.times.append(time.monotonic() - self._asked.pop(message.query))
            self._ask_in_time()
        elif isinstance(message, Declined):
            self.declined += 1
            self._ask_in_time()


async def ask_hard(endpoint: Endpoint, queries: Sequence[str], seconds: float, chance: random.Random) -> list[Asker]:
    askers = [Asker(queries, chance) for _ in range(ASKERS)]
    until = time.monotonic() + seconds
    await asyncio.gather(*(asker.run(endpoint, until) for asker in askers))
    return askers


async def searched(folder: Path, words: str) -> tuple[float | None, float, bool]:
    """Seconds until another peer's hit was there, until the end, and whether a buddy or its index led there."""
    first, by_buddy, last = None, False, 0.0
    replies = await ask_running_peer(PeerFolder(folder), PeerRequest("search", words, sufficient_hits=1))
    assert replies is not None
    async for reply in replies:
        if reply.progress is not None:
            last = reply.progress.seconds
            if first is None and reply.progress.answers.answers:
                first = last
                by_buddy = reply.progress.answers.answers[0].stage in ("buddies", "indexes")
    return first, last, by_buddy


def rare_pairs(texts: list[list[str]], chance: random.Random, count: int) -> list[str]:
    """Two words that some page has, not the most frequent ones."""
    pairs = []
    while len(pairs) < count:
        words = [word for word in set(chance.choice(texts)) if len(word) > 4]
        if len(words) > 1:
            pairs.append(" ".join(chance.sample(words, 2)))
    return pairs


def row(what: str, value: str, wanted: str) -> None:
    print(f"| {what} | {value} | {wanted} |", flush=True)


def summary_figures(texts: list[list[str]], chance: random.Random) -> None:
    pages = [codes_of(text) for text in texts]
    segment = Segment.from_pages(pages, max_bytes=byte_budget(len(pages), len(pages)))
    summary = SegmentedSummary([segment])
    size = len(summary.packed())
    sets = [set(text) for text in texts]
    everything = sorted(set().union(*sets))
    wrong = absent = missed = present = 0
    for _ in range(2000):
        pair = chance.sample(everything, 2)
        told, true = summary.may_have(pair), any(words.issuperset(pair) for words in sets)
        absent += not true
        wrong += told and not true
    for text in chance.choices(texts, k=2000):
        present += 1
        missed += not summary.may_have(chance.sample(text, 2))
    row("summary, MB for 10 000 pages", f"{size / len(pages) / 100:.2f}", "≤ 2, or 0.06 in all")
    row("false positives, two words", f"{wrong / max(absent, 1):.2%} of {absent}", "≤ 1 %")
    row("pages' own pairs it misses", f"{missed / present:.1%}", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--peers", type=int, default=10)
    parser.add_argument("--own", type=int, default=200)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--idle", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    words = Words(100_000, chance)
    print("| what | measured | wanted |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        texts = make_collection(Path(folder) / "big", "big", options.pages, words, chance)
        summary_figures(texts, chance)
        began = time.monotonic()
        big = Served(Path(folder) / "big")
        row(f"first start with {options.pages} pages, s", f"{time.monotonic() - began:.1f}", "")
        try:
            warm_up = ask_hard(big.endpoint, rare_pairs(texts, chance, 2000), options.seconds / 2, chance)
            asyncio.run(warm_up)
            before = big.cpu()
            askers = asyncio.run(ask_hard(big.endpoint, rare_pairs(texts, chance, 2000), options.seconds, chance))
            answered = sum(asker.answered for asker in askers)
            row("queries a second, one peer", f"{answered / options.seconds:.0f}", "≥ 200")
            row("processor time a query, ms", f"{1000 * (big.cpu() - before) / max(answered, 1):.2f}", "")
            row("declined", f"{sum(asker.declined for asker in askers)}", "")
        finally:
            big.end()
        peers: list[Served] = []
        try:
            own: dict[str, list[list[str]]] = {}
            for number in range(options.peers):
                name = f"p{number}"
                its_words = Words(5_000, chance, mark=name)  # so that only one has what is asked for
                own[name] = make_collection(Path(folder) / name, name, options.own, its_words, chance)
                peers.append(Served(Path(folder) / name, *(peer.endpoint for peer in peers[-3:])))
            time.sleep(2)
            asyncio.run(network_figures(peers, own, chance, options.queries))
            before = [peer.cpu() for peer in peers]
            time.sleep(options.idle)
            used = [peer.cpu() - cpu for peer, cpu in zip(peers, before, strict=True)]
            row("idle, share of a core", f"{max(used) / options.idle:.2%}", "< 1 %")
        finally:
            for peer in peers:
                peer.end()


async def network_figures(
    peers: list[Served], own: dict[str, list[list[str]]], chance: random.Random, count: int
) -> None:
    firsts, ends, found = [], [], 0
    for number in range(count):
        asker, provider = chance.sample(range(len(peers)), 2)
        (query,) = rare_pairs(own[f"p{provider}"], chance, 1)
        first, last, by_buddy = await searched(peers[asker].folder, query)
        if number >= count // 4:  # the first ones learn whom to ask
            ends.append(last)
            found += first is not None
            if by_buddy and first is not None:
                firsts.append(first)
    row(f"median answer of a buddy, ms, {len(peers)} peers", f"{1000 * statistics.median(firsts or [0]):.1f}", "< 50")
    row("answers of buddies", f"{len(firsts)} of {len(ends)}", "")
    row("99 % of searches end within, s", f"{sorted(ends)[int(0.99 * (len(ends) - 1))]:.2f}", "< 2")
    row("searches that found something", f"{found / max(len(ends), 1):.1%}", "")


if __name__ == "__main__":
    main()
